"""`python -m spacy multihash explain`: what makes a pipeline find an entity."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Optional

import typer
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import minibatch
from tqdm import tqdm

from ..common.files import write_bytes
from ..corpus.entities import KnownEntities, known_entities
from ..corpus.read import model_examples, read_docs
from ..embed.find import hashes_symbols
from ..embed.unknown import features_of
from ..inspection.explain import (
    EVERYWHERE,
    Effect,
    Explained,
    Explanation,
    Key,
    explain,
    explain_corpus,
)
from ..ner.asked import annotate_before, ask, heard_by
from ._draw import draw_effects
from ._explain_page import completeness_text, render_explanations
from ._messages import msg
from ._show import show_table, signed
from ._util import check_file_output, import_code, load_pipeline, print_json
from .calibrate import find_recognizer
from .show import read_text

# Unknown symbols that are tried where tables are hashed.
_DRAWS = 4
# Docs that the components before the recognizer annotate at once.
_BATCH = 256
_EXTRA = "--plot needs matplotlib: python -m pip install 'spacy-multihash[plots]'"


def explain_cli(
    model: str = typer.Argument(..., help="Trained pipeline: a package's name, or a path"),
    text: Optional[str] = typer.Argument(None, help="The text, or - for standard input"),
    file: Optional[Path] = typer.Option(None, "--file", help="UTF-8 file with the text"),
    span: list[str] = typer.Option(
        [], help="TEXT=LABEL, an entity to explain whether it is found or not. May be repeated"
    ),
    corpus: Optional[Path] = typer.Option(
        None, help="Explain the gold entities of a corpus: a .spacy file, or a folder"
    ),
    train: Optional[Path] = typer.Option(
        None, help="With --corpus: the training corpus, to tell seen from unseen entities"
    ),
    component: Optional[str] = typer.Option(None, help="Recognizer, if the pipeline has several"),
    window: int = typer.Option(3, min=0, help="Tokens to either side of an entity to look at"),
    max_entities: int = typer.Option(20, min=1, help="Explain no more entities of a text"),
    output: Optional[Path] = typer.Option(None, help="HTML page to write"),
    plot: Optional[Path] = typer.Option(None, help="With --corpus: PNG file to draw"),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of tables"),
    force: bool = typer.Option(False, "--force", "-f", help="Replace files that exist"),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file with registered functions to import"
    ),
) -> None:
    """Show what made a pipeline find an entity.

    For each entity: by how much its probability falls if a feature of a token is unknown, or all
    features of a token are. With --corpus: the same for each feature, on average over the gold
    entities. It needs a recognizer that gives probabilities, batch_ner or tagger_ner.

    The recognizer reads the whole text anew for each feature of each token around an entity. So the
    time grows with the length of the text times the number of entities, which --max-entities
    bounds. A corpus is read twice for each feature, and once more.

    DOCS: python -m pydoc spacy_multihash.inspection.explain
    """
    import_code(code)
    try:
        check_options(corpus, text=text, file=file, span=span, train=train, plot=plot, page=output)
        check_file_output(output, "--output", force=force)
        check_file_output(plot, "--plot", force=force)
        nlp = load_pipeline(model)
        name = find_recognizer(nlp, component)
        if corpus is not None:
            effects = corpus_effects(nlp, name, corpus, train)
            if plot is not None:
                draw_effects(plot, effects)
        else:
            text = read_text(text, file)
            explanations = explain_text(
                nlp, name, text, span, window=window, max_entities=max_entities
            )
            if output is not None:
                write_bytes(output, render_explanations(explanations))
    except ModuleNotFoundError as error:
        msg.fail("Cannot explain the entities", f"{error}. {_EXTRA}")
    except (ImportError, OSError, ValueError) as error:
        msg.fail("Cannot explain the entities", str(error))
    if as_json:
        found = effects if corpus is not None else explanations
        print_json([as_dict(each) for each in found])
    elif corpus is not None:
        _show_effects(effects)
    else:
        _show_explanations(explanations)
    for path, did in ((output, "Wrote"), (plot, "Drew")):
        if path is not None and not as_json:
            msg.good(f"{did} {path}")


def check_options(corpus: Optional[Path], **options: Any) -> None:  # noqa: ANN401
    """Raise ValueError for options that go only with a corpus, or only without one."""
    with_corpus = ("train", "plot")
    for name, value in options.items():
        if value not in (None, []) and (corpus is None) == (name in with_corpus):
            option = {"text": "TEXT", "page": "--output"}.get(name, f"--{name}")
            if corpus is None:
                raise ValueError(f"{option} is for a corpus. Give --corpus, or leave it out.")
            raise ValueError(f"{option} is for a text. Leave it out, or --corpus.")


def prepare(nlp: Language, name: str) -> Explained:
    """Find what a recognizer's probabilities depend on.

    name (str): The component.

    Raises ValueError if it embeds no attributes of tokens.
    """
    recognizer: Any = nlp.get_pipe(name)
    models = [*(pipe.model for pipe in heard_by(nlp, name)), recognizer.model]
    features = {
        feature: attr for model in models for feature, attr in features_of(model, nlp.vocab).items()
    }
    if not features:
        raise ValueError(
            f'Component "{name}" embeds no attributes of tokens, and listens to no tok2vec that '
            "does. There is nothing that could be unknown to it."
        )
    draws = _DRAWS if any(map(hashes_symbols, models)) else 1
    return Explained(partial(ask, nlp, name), features, draws)


def explain_text(
    nlp: Language,
    name: str,
    text: str,
    spans: Sequence[str] = (),
    *,
    window: int = 3,
    max_entities: Optional[int] = None,
    show_progress: Optional[bool] = None,
) -> list[Explanation]:
    """Explain the entities of a text.

    name (str): The component that is asked.
    spans (Sequence[str]): Entities, as TEXT=LABEL, to explain in the place of those found.
    window (int): How many tokens to either side are looked at.
    max_entities (Optional[int]): Explain the first so many entities, and say how many more there
        are. None is for all.
    show_progress (Optional[bool]): Show a progress bar on stderr. None shows it on terminals.

    Raises ValueError for a span that the text does not have.
    """
    explained = prepare(nlp, name)
    ((doc, _),) = annotate_before(nlp, name, [(nlp.make_doc(text), None)])
    labels = nlp.get_pipe(name).labels  # type: ignore[attr-defined]
    found = [(ent.start, ent.end, ent.label_) for ent in nlp(text).ents if ent.label_ in labels]
    wanted = [key for span in spans for key in _find_span(doc, span)] if spans else found
    keys = [(key, key in found) for key in wanted[:max_entities]]
    if len(keys) < len(wanted):
        msg.warn(
            f"Only the first {len(keys):,} of {len(wanted):,} entities are explained",
            f"--max-entities {len(wanted)} explains all.",
            err=True,
        )
    each = explain(explained, doc, keys, window=window)
    disable = None if show_progress is None else not show_progress
    return [*tqdm(each, "Explaining", len(keys), unit=" entities", disable=disable)]


def corpus_effects(
    nlp: Language,
    name: str,
    corpus: Path,
    train: Optional[Path] = None,
    *,
    show_progress: Optional[bool] = None,
) -> list[Effect]:
    """Measure how much each feature counts for the gold entities of a corpus.

    name (str): The component that is asked.
    corpus (Path): A .spacy file, or a folder of them.
    train (Optional[Path]): The training corpus, to tell seen from unseen entities.
    show_progress (Optional[bool]): As for `explain_text`.

    Raises ValueError if there are no entities with the component's labels.
    """
    known: Optional[KnownEntities] = None
    if train is not None:
        known = known_entities(read_docs(train, nlp.vocab))
    disable = None if show_progress is None else not show_progress
    docs = tqdm(_gold(nlp, name, corpus), "Explaining", unit=" docs", disable=disable)
    return explain_corpus(prepare(nlp, name), docs, known)


def as_dict(found: Explanation | Effect) -> dict[str, Any]:
    """Return what JSON says of an explanation, with its completeness, or of an effect."""
    extra = {"completeness": found.completeness} if isinstance(found, Explanation) else {}
    return {**asdict(found), **extra}


def _gold(nlp: Language, name: str, corpus: Path) -> Iterator[tuple[Doc, list[Key]]]:
    """Yield docs with what comes before the recognizer, and their gold entities."""
    labels = set(nlp.get_pipe(name).labels)  # type: ignore[attr-defined]
    examples = model_examples(nlp, corpus)
    for batch in minibatch(examples, _BATCH):
        pairs = [(example.predicted, example) for example in batch]
        for doc, example in annotate_before(nlp, name, pairs):
            spans = example.get_aligned_spans_y2x(example.reference.ents)
            keys = [(ent.start, ent.end, ent.label_) for ent in spans if ent.label_ in labels]
            if keys:
                yield doc, keys


def _find_span(doc: Doc, wanted: str) -> list[Key]:
    """Find all places of a TEXT=LABEL in a doc."""
    text, equals, label = wanted.rpartition("=")
    if not (equals and text and label):
        raise ValueError(f"--span must be TEXT=LABEL, such as 'New York=GPE', was: {wanted}")
    found: list[Optional[Span]] = []
    start = doc.text.find(text)
    while start >= 0:
        found.append(doc.char_span(start, start + len(text), label=label))
        start = doc.text.find(text, start + 1)
    keys = [(span.start, span.end, label) for span in found if span is not None]
    if not keys:
        why = "stands within a token" if found else "is not in the text"
        raise ValueError(f"--span {wanted}: {text!r} {why}. Give whole tokens of the text.")
    return keys


def _show_explanations(explanations: Sequence[Explanation]) -> None:
    """Print a table for each entity."""
    if not explanations:
        msg.warn("No entities were found", "Name one to explain: --span TEXT=LABEL")
    for each in explanations:
        found = "" if each.found else ", not found"
        rows = [
            (
                f"[{word}]" if each.start <= token < each.end else word,
                *map(signed, by),
                signed(of),
            )
            for token, word, by, of in zip(
                each.tokens, each.words, each.by_feature, each.by_token, strict=True
            )
        ]
        show_table(
            f"{each.text}, {each.label}: {each.probability:.3f}{found}",
            ("token", *each.features, "all"),
            rows,
            aligns="L",
        )
        msg.text(completeness_text(each))
    if explanations:
        msg.text(
            "Numbers are by how much the probability of the entity falls if the feature of the "
            "token is unknown. Those in brackets are the entity's own tokens."
        )


def _show_effects(effects: Sequence[Effect]) -> None:
    """Print a table of features, by label and part."""
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for each in effects:
        row = rows.setdefault((each.label, each.part, each.feature), {"n": f"{each.entities:,}"})
        row[each.where] = f"{signed(each.mean)} ± {each.error:.3f}"
    show_table(
        "By how much the probability of gold entities falls",
        ("label", "entities", "number", "unknown feature", "everywhere", "in the entity"),
        [
            (label, part, row["n"], feature, row[EVERYWHERE], row["in the entity"])
            for (label, part, feature), row in rows.items()
        ],
        aligns="llrlrr",
    )
    msg.text("Each mean stands with its standard error.")
