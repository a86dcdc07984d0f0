"""What MkDocs does beside the pages of docs/: files of the repository, and links to them."""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

ROOT = Path(__file__).resolve().parents[2]
# Pages of the site that are files elsewhere in the repository.
PAGES = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
SITE_PAGES = {path: page for page, path in PAGES.items()} | {"README.md": "index.md"}
# Other files that pages link to are copied here.
COPIES = "repository"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s:#]+)(#[^)\s]*)?\)")
TABLE_CODE = re.compile(r"(?m)(?<=^\| )`[^`\n]*`")  # in the first cell of a row
# Without an address, the first has no styles, and the others are empty.
ADDRESSED = ("404.html", "sitemap.xml", "sitemap.xml.gz")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give headings the anchors that GitHub gives them."""
    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and the files from outside of docs/."""
    for page, path in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / path)))
    for file in files.documentation_pages():
        for _, _, target, _ in LINK.findall(file.content_string):
            path = resolve(file.src_uri, target)
            copy = f"{COPIES}/{path}"
            if is_copied(path) and not files.get_file_from_path(copy):
                files.append(File.generated(config, copy, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to the site's files. Drop the backslashes that code in tables needs on GitHub."""
    markdown = TABLE_CODE.sub(lambda code: code[0].replace(r"\|", "|"), markdown)
    return LINK.sub(lambda link: lead(link, page.file.src_uri), markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Leave out what needs an address, if the site has none."""
    for name in () if config.site_url else ADDRESSED:
        Path(config.site_dir, name).unlink()


def resolve(uri: str, target: str) -> str:
    """Return what a link of a page leads to, as a path in the repository."""
    folder = PurePosixPath(PAGES.get(uri, f"docs/{uri}")).parent
    return normpath(folder / target)


def is_copied(path: str) -> bool:
    """Tell whether the site has a copy of a file of the repository."""
    return (ROOT / path).is_file() and path not in SITE_PAGES and not path.startswith("docs/")


def lead(link: re.Match, uri: str) -> str:
    """Rewrite a link to a file outside of docs/. Links to folders become text."""
    image, text, target, anchor = link.groups(default="")
    path = resolve(uri, target)
    if (ROOT / path).is_dir():
        return text
    if path in SITE_PAGES:
        path = f"docs/{SITE_PAGES[path]}"
    elif is_copied(path):
        path = f"docs/{COPIES}/{path}"
    inside = relpath(path, normpath(f"docs/{uri}/.."))
    return f"{image}[{text}]({inside}{anchor})"
