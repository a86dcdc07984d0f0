"""What MkDocs does beside the pages of docs/: other files of the repository, links to them."""

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
# The page that says what README.md does.
SITE_PAGES = {path: page for page, path in PAGES.items()} | {"README.md": "index.md"}
# Other files that pages link to are copied here.
COPIES = "repository"
ITEM = re.compile(r"(- |\d+\. )")
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s:#]+)(#[^)\s]*)?\)")
# Comments that `python -m experiments collate` reads.
MARKS = re.compile(r"<!-- (?:=|/|begin:|end:).*?-->")
README_END = "\nInstall it from"
INCLUDE = "[README.md](../README.md) lists what this package has."
# A name of the package, linked to its file, as a paragraph of its own.
NAME = re.compile(r"^\[(spacy_multihash[\w.]+)\]\(\.\./spacy_multihash/[\w/]+\.py\)$", re.M)
# Python's Markdown leaves blocks of HTML alone, and GitHub does not.
FOLDED = re.compile(r"^<details>$", re.M)
# Without an address, the first has no styles, and the others are empty.
ADDRESSED = ("404.html", "sitemap.xml", "sitemap.xml.gz")
BUILDER = "    options:\n      show_docstring_parameters: false\n"
DOCTEST = re.compile(r"(?<=\n\n)    >>> .*\n(?:    .*\n|\n(?=    ))*")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Give headings the anchors that GitHub gives them."""
    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and the files from outside of docs/."""
    for page, path in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / path)))
    for file in files.documentation_pages():
        for _, _, target, _ in LINK.findall(NAME.sub("", file.content_string)):
            path = resolve(file.src_uri, target)
            copy = f"{COPIES}/{path}"
            if is_copied(path) and not files.get_file_from_path(copy):
                files.append(File.generated(config, copy, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put in what README.md says, lead links to the site's files, mark tables and examples."""
    uri = page.file.src_uri
    if INCLUDE in markdown:
        readme = (ROOT / "README.md").read_text("utf8")
        markdown = markdown.replace(INCLUDE, first_part(readme))
    markdown = NAME.sub(as_reference, MARKS.sub("", markdown))
    markdown = FOLDED.sub('<details markdown="1">', markdown)
    markdown = LINK.sub(lambda link: lead(link, uri), markdown)
    return DOCTEST.sub(as_pycon, indent_lists(markdown))


def on_post_build(config: MkDocsConfig) -> None:
    """Leave out what needs an address, if the site has none."""
    for name in () if config.site_url else ADDRESSED:
        Path(config.site_dir, name).unlink()


def first_part(readme: str) -> str:
    """Return what README.md says between its title and how to install the package.

    ValueError if that end is not found.
    """
    part, end, _ = readme.partition("\n\n")[2].partition(README_END)
    if not end:
        raise ValueError(
            f"README.md has no line that begins with {README_END.strip()!r}, where the first page "
            "of the site ends what it takes from there. Put it back, or change README_END."
        )
    return part


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


def as_reference(name: re.Match) -> str:
    """Let mkdocstrings put in a docstring. The arguments of builders are those of configs."""
    options = BUILDER if ".build_" in name[1] else ""
    return f"::: {name[1]}\n{options}"


def as_pycon(block: re.Match) -> str:
    """Fence an indented example, so that it is highlighted."""
    lines = block[0].rstrip().split("\n")
    return "\n".join(["```pycon", *(line[4:] for line in lines), "```", "", ""])


def indent_lists(markdown: str) -> str:
    """Mark the items of lists as Python's Markdown asks for.

    What belongs to an item is indented by four columns. If an item has several paragraphs, a blank
    line is put before the next item, which would otherwise be a line of the last paragraph.
    """
    lines, width, in_fence, has_paragraphs = [""], 0, False, False
    for line in markdown.split("\n"):
        in_fence ^= line.startswith("```")
        item = ITEM.match(line)
        if item and not in_fence:
            if has_paragraphs and lines[-1]:
                lines.append("")
            width, has_paragraphs = len(item[1]), False
        elif line.strip() and not line.startswith(" " * width):
            width, has_paragraphs = 0, False
        elif width and line.strip():
            has_paragraphs |= not lines[-1]
            line = f"    {line[width:]}"
        lines.append(line)
    return "\n".join(lines[1:])
