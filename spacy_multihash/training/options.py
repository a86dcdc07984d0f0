"""The options of `fit`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, Optional, Union

import spacy
from spacy.cli.package import has_build, has_wheel

from ..common.arguments import Seed, checked
from ..common.load import import_code
from ..pipelines.meta import package_name
from .settings import MAX_SIZE, parse_size

# The configs for entities.
EntityConfig = Literal["ner", "batch_ner"]


@checked
@dataclass(frozen=True)
class Options:
    """The options of `fit`.

    lang (str): Language, such as en, or xx for any.
    textcat (bool): Classify texts. Default: predict entities.
    config (str): What predicts entities. ner: tagger_ner, with the best scores. batch_ner: a model
        as spaCy's ner has it, which restore can turn into spaCy's ner.
    vectors (Union[str, Path, None]): Static vectors: a package, or a pipeline's path. For
        tagger_ner, they're used if they have most words.
    max_size (Optional[str]): Maximum parameters of the embedding's tables, such as 500K or 5M.
        Default: 10M.
    group (Optional[str]): What names the document of a text, so that its texts stay together: a key
        of JSON or of doc.user_data, a column of CSV, the number of a column or the key of comments
        of CoNLL. Default: keys such as doc_id, and comments such as newdoc.
    seed (int): Seed of the split and the training.
    baseline (bool): Also train spaCy's own config with the same vectors, to compare.
    cross_validate (bool): Without a dev and a test set, score a corpus of at most 50,000 tokens by
        cross-validation, with five more trainings.
    curve (bool): Also train on 25, 50 and 75 % of train, to tell whether more data would help.
    compress (bool): Make the files of the pipeline small.
    package (Optional[str]): Also build a wheel of this name, such as my_ner, that pip installs.
        spaCy puts the language in front, as in en_my_ner.
    code (Union[str, Path, None]): Python file with registered functions to import.
    settings (Mapping[str, Any]): Other settings of the config, such as {"training.max_steps": 100}.

    Raises ValueError for options that don't apply.
    """

    lang: str
    textcat: bool = False
    config: EntityConfig = "ner"
    vectors: Union[str, Path, None] = None
    max_size: Optional[str] = None
    group: Optional[str] = None
    seed: Seed = 0
    baseline: bool = False
    cross_validate: bool = True
    curve: bool = False
    compress: bool = False
    package: Optional[str] = None
    code: Union[str, Path, None] = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Import the code, and check early what would fail at the end."""
        import_code(self.code)
        try:
            spacy.blank(self.lang)
        except ImportError as error:
            raise ValueError(
                f"--lang must be a language of spaCy, such as en, or xx for any, got {self.lang!r}."
            ) from error
        if self.textcat and self.max_size is not None:
            raise ValueError("--max-size is for entities. Leave it out with --textcat.")
        parse_size(self.max_size or MAX_SIZE)
        for name, value in self.settings.items():
            if "." not in name and isinstance(value, Mapping) and value:
                one = next(iter(value))
                raise ValueError(f"settings: write {name}.{one} as a setting, and not {name}.")
        for name, value in (("textcat", self.textcat), ("max-size", self.max_size)):
            if value and self.config != "ner":
                raise ValueError(
                    f"--{name} has no effect with --config {self.config}. Leave one of them out."
                )
        if self.package is not None:
            package_name(self.package, self.lang, "package")
            if not (has_build() or has_wheel()):
                raise ValueError("--package needs the package build: python -m pip install build")


def options_of(**options: Any) -> Options:  # noqa: ANN401
    """Return the options of a call of `fit`. Raises TypeError, and suggests an option."""
    known = [each.name for each in fields(Options)]
    for name in options.keys() - {*known}:
        near = get_close_matches(name, known, 1, 0.5)
        hint = f" Did you mean {near[0]}?" if near else f" There are {', '.join(known)}."
        raise TypeError(f"fit() has no option {name}.{hint}")
    if "lang" not in options:
        raise TypeError('fit() needs the language, such as lang="en", or lang="xx" for any.')
    return Options(**options)
