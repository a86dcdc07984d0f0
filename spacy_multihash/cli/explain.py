"""`python -m spacy multihash explain`: what makes a pipeline find an entity."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Optional

import typer
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from tqdm import tqdm

from ..common.files import write_bytes
from ..corpus.entities import KnownEntities, known_entities
from ..corpus.read import read_docs
from ..embed.find import hashes_symbols
from ..embed.unknown import features_of
from ..inspection.explain import (
    Effect,
    Explained,
    Explanation,
    Key,
    explain,
    explain_corpus,
)
from ..ner.asked import annotate_before, ask, heard_by
from ._draw import draw_effects
from ._explain_page import render_explanations
from ._explain_tables import show_effects, show_explanations
from ._gold_entities import GoldEntities
from ._messages import msg
from ._util import check_file_output, import_code, load_pipeline, print_json
from .calibrate import find_recognizer
from .show import read_text

# Unknown symbols that are tried where tables are hashed.
_DRAWS = 4
# How far from an entity, and how many entities of a text, are looked at.
WINDOW, MAX_ENTITIES = 3, 20
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
    window: Optional[int] = typer.Option(
        None, min=0, help=f"Tokens to either side of an entity to look at. Default: {WINDOW}"
    ),
    max_entities: Optional[int] = typer.Option(
        None, min=1, help=f"Explain no more entities of a text. Default: {MAX_ENTITIES}"
    ),
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
    bounds. A corpus is read twice for each feature (eight times where tables are hashed), and once
    more.

    DOCS: python -m pydoc spacy_multihash.inspection.explain
    """
    import_code(code)
    try:
        check_options(
            corpus,
            text=text,
            file=file,
            span=span,
            window=window,
            max_entities=max_entities,
            train=train,
            plot=plot,
            page=output,
        )
        inputs = [file, corpus, train, code]
        check_file_output(output, "--output", force=force, inputs=inputs, model=model)
        check_file_output(plot, "--plot", force=force, inputs=inputs, model=model)
        nlp = load_pipeline(model)
        name = find_recognizer(nlp, component)
        if corpus is not None:
            effects = corpus_effects(nlp, name, corpus, train)
            if plot is not None:
                draw_effects(plot, effects)
        else:
            text = read_text(text, file)
            explanations = explain_text(
                nlp,
                name,
                text,
                span,
                window=WINDOW if window is None else window,
                max_entities=max_entities or MAX_ENTITIES,
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
        show_effects(effects)
    else:
        show_explanations(explanations)
    for path, did in ((output, "Wrote"), (plot, "Drew")):
        if path is not None and not as_json:
            msg.good(f"{did} {path}")


def check_options(corpus: Optional[Path], **options: Any) -> None:  # noqa: ANN401
    """Raise ValueError for options that go only with a corpus, or only without one."""
    with_corpus = ("train", "plot")
    for name, value in options.items():
        if value not in (None, []) and (corpus is None) == (name in with_corpus):
            other = {"text": "TEXT", "page": "--output", "max_entities": "--max-entities"}
            option = other.get(name, f"--{name}")
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
    window: int = WINDOW,
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
    doc = nlp.make_doc(text)
    ((doc, _),) = annotate_before(nlp, name, [Example(doc, doc)])
    labels = nlp.get_pipe(name).labels  # type: ignore[attr-defined]
    found = _found(doc, [ent for ent in nlp(text).ents if ent.label_ in labels])
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
    explained, gold = prepare(nlp, name), GoldEntities(nlp, name)
    docs = iter(tqdm(gold.read(corpus), "Explaining", unit=" docs", disable=disable))
    first = next(docs, None)
    if first is None:
        raise ValueError(
            "The corpus has no gold entities to explain. Give one that has some."
            + f" Of those it has, {gold.left_out()}." * bool(gold.left_out())
        )
    effects = explain_corpus(explained, chain([first], docs), known)
    if gold.left_out():
        msg.warn(f"Gold entities are left out: {gold.left_out()}", err=True)
    return effects


def as_dict(found: Explanation | Effect) -> dict[str, Any]:
    """Return what JSON says of an explanation, with its completeness, or of an effect.

    The texts of all tokens are left out, which are the same for each entity of a text.
    """
    if isinstance(found, Effect):
        return asdict(found)
    values = asdict(replace(found, texts=()))
    del values["texts"]
    return {**values, "completeness": found.completeness}


def _found(doc: Doc, entities: Sequence[Span]) -> list[Key]:
    """Find entities in a doc of the same text, whose tokens a later component may have changed."""
    spans = [doc.char_span(ent.start_char, ent.end_char) for ent in entities]
    pairs = zip(spans, entities, strict=True)
    return [(span.start, span.end, ent.label_) for span, ent in pairs if span is not None]


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
