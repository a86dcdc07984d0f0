"""The meta of pipelines: names, versions, requirements, and notes on what was done to them."""

import re
from typing import Any, Optional

import spacy
from spacy.language import Language
from spacy.util import get_minor_version_range, get_package_version

PACKAGE = "spacy-multihash"
# Begins the paragraph of the notes that `restore` leaves out.
NEEDS = f"It needs the package {PACKAGE}"
# Where the meta keeps what `restore` puts back.
_FORMER = "before_accelerate"
_NAMES = ("lang", "name", "version")
_KEPT = ("name", "spacy_version", "requirements", "notes")
# As pip takes it.
_NAME = re.compile(r"[a-z0-9]([a-z0-9_]*[a-z0-9])?", re.IGNORECASE)


def package_name(name: str, lang: Optional[str], option: str = "name") -> str:
    """Return the name of a package, without its language, which spaCy puts in front.

    Raises ValueError for names that `spacy package` refuses.
    """
    plain = name.removeprefix(f"{lang}_")
    if not (_NAME.fullmatch(plain) and name.isidentifier()):
        raise ValueError(
            f"--{option} must be a name of letters, digits and _, such as my_ner, which begins "
            f"with a letter and ends without _, got {name!r}."
        )
    return plain


def check_meta(meta: dict[str, Any]) -> None:
    """Raise ValueError if names in a meta aren't texts, or the meta that's kept isn't a dict."""
    former = {} if meta.get(_FORMER) is None else meta[_FORMER]
    values = [(name, meta.get(name), str) for name in _NAMES] + [(_FORMER, former, dict)]
    if isinstance(former, dict) and former:
        values.append((f"{_FORMER}.name", former.get("name"), str))
    for name, value, kind in values:
        if not isinstance(value, kind):
            raise ValueError(
                f"The pipeline's meta: {name} must be a {kind.__name__}, got {value!r:.60}. "
                "Correct its meta.json."
            )


def require(meta: dict[str, Any]) -> None:
    """Set the versions of spaCy and of this package that a pipeline needs, in place."""
    meta["spacy_version"] = get_minor_version_range(spacy.about.__version__)
    version = get_package_version(PACKAGE)  # None in applications without metadata
    ours = PACKAGE if version is None else f"{PACKAGE}>={version},<{int(version.split('.')[0]) + 1}"
    meta["requirements"] = [*_other_requirements(meta), ours]


def _other_requirements(meta: dict[str, Any]) -> list[Any]:
    """List what a meta requires beside this package: names with versions, URLs or anything else."""
    listed = meta.get("requirements") or []
    return [
        required
        for required in (listed if isinstance(listed, list) else [listed])
        if not re.match(rf"{PACKAGE}\s*($|[^\w.\s-])", str(required))
    ]


def mark(meta: dict[str, Any], done: str, name: Optional[str], note: str) -> None:
    """Say in a meta that a pipeline isn't the original any more, in place.

    done (str): "accelerated" or "compressed".
    name (Optional[str]): Its new name. None adds what was done to the former name.
    note (str): What that means.
    """
    suffix, original = _SUFFIXES[done], meta.get(_FORMER) or None
    former = meta["name"].removesuffix(f"_{suffix}")
    title = f"{meta['lang']}_{former} {meta['version']}"
    note = f"This is {title}, {done} by {PACKAGE} {get_package_version(PACKAGE)}{note}"
    for noted in [meta] if original is None else [meta, original]:
        earlier = [text for text in _paragraphs(noted) if f", {done} by {PACKAGE}" not in text]
        noted["notes"] = "\n\n".join([*earlier, note])
    if original is not None:
        original["name"] = f"{original['name'].removesuffix(f'_{suffix}')}_{suffix}"
    meta["name"] = f"{former}_{suffix}" if name is None else package_name(name, meta["lang"])
    require(meta)


_SUFFIXES = {"accelerated": "fast", "compressed": "small"}


def _paragraphs(meta: dict[str, Any]) -> list[str]:
    return [text for text in str(meta.get("notes") or "").split("\n\n") if text]


def mark_accelerated(nlp: Language, name: Optional[str], replaced: bool) -> None:
    """Name an accelerated pipeline, and keep the former meta for `restore`."""
    meta = nlp.meta
    if not replaced:
        if name is not None:
            meta["name"] = package_name(name, meta["lang"])
        return
    former = meta.pop(_FORMER, None) or {key: meta.get(key) for key in _KEPT}
    note = (
        ": it has the same weights, and the same predictions up to rounding. Scores and sources "
        "are from the original."
    )
    mark(meta, "accelerated", name, note)
    meta[_FORMER] = former


def mark_compressed(meta: dict[str, Any], name: Optional[str], precisions: str) -> None:
    """Name a compressed pipeline, in place."""
    note = (
        f" ({precisions}). Scores and sources are from the original: some predictions may differ."
    )
    mark(meta, "compressed", name, note)


def forget_package(nlp: Language) -> None:
    """Give a restored pipeline its former meta, or one without this package."""
    meta = nlp.meta
    former = meta.pop(_FORMER, None)
    for key in _KEPT if former else ():
        if former.get(key) is None:
            meta.pop(key, None)
        else:
            meta[key] = former[key]
    if isinstance(meta.get("notes"), str):
        meta["notes"] = "\n\n".join(t for t in _paragraphs(meta) if not t.startswith(NEEDS))
    if isinstance(meta.get("requirements"), list):
        meta["requirements"] = _other_requirements(meta)
