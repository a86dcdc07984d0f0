"""Scores of an entity recognizer, and of its parts: seen and unseen entities."""

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Callable, Optional, Union

from spacy.language import Language
from spacy.pipeline.ner import ner_score
from spacy.scorer import PRFScore
from spacy.tokens import Doc, Span
from spacy.training import Corpus, Example
from spacy.util import minibatch
from spacy.vocab import Vocab

from ..common.arguments import checked
from ..common.load import loaded
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table
from ..common.templates import render
from .annotation import name_other, other_annotation
from .read import Docs, gold_docs
from .spans import Piece, match, side_by_side

_BATCH = 256
_SHOWN = 25  # docs on a page


@checked
@dataclass(frozen=True)
class Matching:
    """How entities are compared with the training corpus.

    The paper "Multi hash embeddings in spaCy" (section 4.2) counts a span as seen if it appears
    verbatim as an entity of the training set, with any label: the default.

    ignore_case (bool): Compare texts in lower case.
    match_label (bool): An entity with another label than in training is unseen.
    """

    ignore_case: bool = False
    match_label: bool = False

    def key(self, span: Span) -> tuple[str, str]:
        """Return the text of an entity, and its label or "", to compare."""
        text = span.text.lower() if self.ignore_case else span.text
        return text, span.label_ if self.match_label else ""


VERBATIM = Matching()


@dataclass(frozen=True)
class KnownEntities:
    """The entities of a training corpus.

    keys (Set[tuple[str, str]]): What `matching` makes of each.
    matching (Matching): How entities are compared.
    """

    keys: Set[tuple[str, str]]
    matching: Matching = VERBATIM

    def has_seen(self, span: Span) -> bool:
        """Return whether a span occurs as an entity in the training corpus."""
        return self.matching.key(span) in self.keys


@checked
def known_entities(docs: Iterable[Doc], matching: Matching = VERBATIM) -> KnownEntities:
    """Collect the entities of a training corpus. The docs are read once and not kept."""
    return KnownEntities({matching.key(ent) for doc in docs for ent in doc.ents}, matching)


@checked
def keep_entities(doc: Doc, is_kept: Callable[[Span], bool]) -> Doc:
    """Return a doc with only some of its entities. The others are masked.

    Their tokens become missing annotation, which isn't scored, as tokens that miss it already.

    is_kept (Callable[[Span], bool]): Whether to keep an entity.
    RETURNS (Doc): A copy, or the doc itself if all entities are kept.
    """
    masked = [ent for ent in doc.ents if not is_kept(ent)]
    if not masked:
        return doc
    copy = doc.copy()
    tokens = {t.i for t in doc if not t.ent_iob}.union(*(range(e.start, e.end) for e in masked))
    ents = [Span(copy, e.start, e.end, e.label) for e in doc.ents if e not in masked]
    copy.set_ents(ents, missing=[copy[i : i + 1] for i in tokens])
    return copy


@dataclass(frozen=True)
class Scores:
    """Precision, recall and F1 of some entities, 0 to 1, or None without anything to score.

    entities (int): The number of gold entities.
    p, r, f (Optional[float]): Precision, recall and F1, over all labels.
    per_label (Mapping[str, Scores]): The same for each label.
    """

    entities: int
    p: Optional[float] = None
    r: Optional[float] = None
    f: Optional[float] = None
    per_label: Mapping[str, "Scores"] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Evaluation(Result):
    """Scores of all entities of a corpus, and of parts of them.

    overall (Scores): All entities, as `spacy evaluate` scores them.
    masked (Mapping[str, Scores]): "seen" and "unseen" in the paper's way. Gold entities of the
        other part count as missing annotation, and other false positives count in both parts.
    examples (Sequence[Example]): The gold docs, and the predicted docs.
    known (Optional[KnownEntities]): The entities of the training corpus.

    A part, or a label in it, without gold entities has no scores.
    """

    overall: Scores
    masked: Mapping[str, Scores]
    examples: Sequence[Example] = field(default=(), repr=False, compare=False)
    known: Optional[KnownEntities] = field(default=None, repr=False, compare=False)

    def tables(self) -> Iterator[Table]:
        """Yield the scores of all entities and of parts, and the scores of each part's labels."""
        parts = {"all": self.overall, **self.masked}
        yield _table("Entities", parts)
        for name, scores in parts.items():
            yield _table(f"Labels: {name}", scores.per_label)

    def notes(self) -> list[str]:
        """Say what the parts are."""
        return [
            "Seen: the training corpus has the entity. A false positive counts in both parts, "
            "unless it touches an entity of the other part."
        ] * bool(self.masked)

    def side_by_side(self) -> list[list[list[Piece]]]:
        """Return the first docs, each cut twice: with gold and with predicted entities."""
        return [side_by_side(each.reference, each.predicted) for each in self.examples[:_SHOWN]]

    def page(self, title: str = "Entities") -> str:
        """Return an HTML page: the scores, and gold beside predicted entities of the first docs."""
        return render("evaluation_page.html", result=self, title=title)

    def masked_docs(self) -> dict[str, list[Doc]]:
        """Return the gold docs of each part, with the entities of the other part masked."""
        if self.known is None:
            return {}
        parts = masked_parts(self.examples, self.known)
        return {name: [example.reference for example in of_part] for name, of_part in parts.items()}


def _table(title: str, by_name: Mapping[str, Scores]) -> Table:
    rows = []
    for name, scores in by_name.items():
        prf = (scores.p, scores.r, scores.f)
        percents = ("-" if value is None else f"{100 * value:.2f}" for value in prf)
        rows.append((name, f"{scores.entities:,}", *percents))
    return Table(title, ("", "entities", "precision", "recall", "F1"), rows)


@checked
def evaluate(
    nlp: Union[Language, str, Path],
    docs: Docs,
    train: Optional[Docs] = None,
    *,
    matching: Matching = VERBATIM,
    progress: Progress = no_progress,
) -> Evaluation:
    """Score the entities that a pipeline predicts: all, and with `train` seen and unseen entities.

    An entity is seen if the training corpus has an entity with the same text. When seen entities
    are scored, unseen entities count as missing annotation, and the other way round. Other false
    positives count in both parts. Tokens without gold annotation are ignored.

    nlp (Union[Language, str, Path]): The pipeline, or its name or path.
    docs (Union[str, Path, Iterable[Doc]]): Gold docs: a .spacy file, a folder of them, or docs,
        which are tokenized again, as in training.
    train (Optional): The corpus that the pipeline was trained on, as `docs`.
    matching (Matching): How entities are compared with the training corpus.

    Raises ValueError if the pipeline assigns no entities, or if a corpus has none, and OSError if
    there's no corpus.
    """
    if train is None and matching != VERBATIM:
        raise ValueError("How entities are compared is for train. Give train, or no matching.")
    nlp = loaded(nlp)
    known = None if train is None else read_known_entities(train, nlp.vocab, matching)
    examples = list(Corpus("").make_examples(nlp, gold_docs(docs, nlp.vocab)))
    for batch in progress(list(minibatch(examples, _BATCH)), desc="Predicting"):
        predict(nlp, batch)
    return evaluate_entities(examples, known)


def read_known_entities(train: Docs, vocab: Vocab, matching: Matching = VERBATIM) -> KnownEntities:
    """Read the entities of the corpus that a pipeline was trained on.

    Raises FileNotFoundError if there is no corpus, and ValueError if it cannot be read or has no
    entities.
    """
    entities = known_entities(gold_docs(train, vocab), matching)
    if not entities.keys:
        where = f" at {train}" if isinstance(train, (str, Path)) else ""
        raise ValueError(
            f"The training corpus{where} has no entities, so that all would be unseen. Give the "
            "corpus that the pipeline was trained on, with its gold entities."
        )
    return entities


def predict(nlp: Language, examples: Sequence[Example]) -> None:
    """Annotate the predicted docs of examples with a pipeline, as `nlp.evaluate` does.

    Raises ValueError if no active component assigns entities.
    """
    if not any("doc.ents" in nlp.get_pipe_meta(name).assigns for name in nlp.pipe_names):
        raise ValueError(
            "The pipeline has no component that assigns entities (doc.ents), such as ner; it has: "
            f"{', '.join(nlp.pipe_names) or 'none'}. Evaluate a pipeline that was trained with one."
        )
    annotate(nlp, examples)


def annotate(nlp: Language, examples: Sequence[Example]) -> None:
    """Annotate the predicted docs of examples with a pipeline of any components."""
    docs = annotated(nlp, [example.predicted for example in examples])
    for example, doc in zip(examples, docs, strict=True):
        example.predicted = doc


def annotated(nlp: Language, docs: Sequence[Doc]) -> list[Doc]:
    """Annotate docs with a pipeline. Raises ValueError if it drops some."""
    done = list(nlp.pipe(docs))
    if len(done) < len(docs):
        raise ValueError(
            f"The pipeline dropped {len(docs) - len(done)} of {len(docs)} docs, since a component "
            "failed on them, and the error handler of nlp goes on. Mend the component, or leave "
            "these docs out."
        )
    return done


@checked
def evaluate_entities(
    examples: Sequence[Example], known: Optional[KnownEntities] = None
) -> Evaluation:
    """Score predicted entities: all, seen and unseen entities.

    Tokens whose gold annotation is missing are ignored.

    examples (Sequence[Example]): Predicted and gold docs.
    known (Optional[KnownEntities]): The entities of the training corpus.

    Raises ValueError if no doc has gold annotation of entities.
    """
    check_annotated([example.y for example in examples])
    parts = score_parts(examples, known) if known else {}
    return Evaluation(score(examples), parts, examples, known)


def check_annotated(docs: Sequence[Doc]) -> None:
    """Raise ValueError if no doc has gold annotation of entities, and name what there is."""
    if not any(doc.has_annotation("ENT_IOB") for doc in docs):
        others = sum(map(other_annotation, docs), Counter())
        raise ValueError(
            f"The corpus has {len(docs)} documents, but none with annotation of entities. Give a "
            f"corpus with gold entities. {name_other(others)}".strip()
        )


def score_parts(examples: Sequence[Example], known: KnownEntities) -> dict[str, Scores]:
    """Score "seen" and "unseen" entities in the paper's way only.

    A part, or a label in it, without gold entities has no scores.
    """
    parts = {}
    for name, masked in masked_parts(examples, known).items():
        of_part = score(masked)
        per_label = {x: s if s.entities else Scores(0) for x, s in of_part.per_label.items()}
        parts[name] = replace(of_part, per_label=per_label) if of_part.entities else Scores(0)
    return parts


@checked
def masked_parts(examples: Sequence[Example], known: KnownEntities) -> dict[str, list[Example]]:
    """Return the examples of "seen" and of "unseen", with the entities of the other part masked.

    examples (Sequence[Example]): Predicted and gold docs.
    known (KnownEntities): The entities of the training corpus.
    """
    seen = [Example(e.x, keep_entities(e.y, known.has_seen)) for e in examples]
    unseen = [
        Example(e.x, keep_entities(e.y, lambda span: not known.has_seen(span))) for e in examples
    ]
    return {"seen": seen, "unseen": unseen}


def score(examples: Iterable[Example]) -> Scores:
    """Score predicted entities as spaCy does, and count the gold entities."""
    per_label: defaultdict[str, PRFScore] = defaultdict(PRFScore)
    for example in examples:
        for ent in example.predicted.ents:
            per_label[ent.label_]  # also if no token of it has gold annotation
        for kind, gold, predicted in match(example.reference, example.predicted):
            if gold and kind == "right":
                per_label[gold.label].tp += 1
                continue
            if gold:
                per_label[gold.label].fn += 1
            if predicted:
                per_label[predicted.label].fp += 1
    of_labels = {label: scores_of(per_label[label]) for label in sorted(per_label)}
    return scores_of(sum(per_label.values(), PRFScore()), of_labels)


def scores_of(prf: PRFScore, per_label: Mapping[str, Scores] = MappingProxyType({})) -> Scores:
    """Turn counts into scores, which are None without anything to score."""
    gold = prf.tp + prf.fn
    if not len(prf):
        return Scores(gold)
    return Scores(gold, prf.precision, prf.recall, prf.fscore, dict(per_label))


def make_seen_unseen_scorer_v1(
    train: Optional[Union[str, Path]], ignore_case: bool = False, match_label: bool = False
) -> Callable[..., dict[str, Any]]:
    """Make the scorer that adds scores of seen and unseen entities to spacy.ner_scorer.v1.

    An entity is seen if the training corpus has an entity with the same text. When one part is
    scored, entities of the other part count as missing annotation, as in the paper "Multi hash
    embeddings in spaCy" (section 4.2), so false positives count in both parts.

    The scores are ents_seen_p, ents_seen_r, ents_seen_f, ents_seen_per_type and the same with
    "unseen". They're None if the corpus has no such entities. To see a score in the log of spacy
    train, give it a weight of 0.0 or more in [training.score_weights].

    train (Optional[Union[str, Path]]): The training corpus: a .spacy file, or a folder of them. The
        first scoring reads it. If it's null or missing, for example on a machine that only uses the
        trained pipeline, it warns and only has the scores of spacy.ner_scorer.v1.
    ignore_case (bool): Whether to compare texts in lower case.
    match_label (bool): Whether an entity is only seen if its label is the same, too.

    Raises ValueError, when something is first scored, if the training corpus can't be read or has
    no entities.
    """
    return SeenUnseenScorer(train, Matching(ignore_case, match_label))


@dataclass
class SeenUnseenScorer:
    """Scores all entities, and seen and unseen entities.

    It can be pickled, as pipelines are when processes are spawned.

    train (Optional[Union[str, Path]]): The training corpus. None scores no parts.
    matching (Matching): How to compare entities.
    """

    train: Optional[Union[str, Path]]
    matching: Matching

    def __call__(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401
        """Score examples, with the arguments of spacy.ner_scorer.v1."""
        examples = list(examples)
        scores = ner_score(examples, **kwargs)
        if self.known is None:
            return scores
        for name, of_part in score_parts(examples, self.known).items():
            prf, *per_type = (
                {key: getattr(each, key) for key in "prf"}
                for each in (of_part, *of_part.per_label.values())
            )
            scores.update({f"ents_{name}_{key}": value for key, value in prf.items()})
            by_label = dict(zip(of_part.per_label, per_type, strict=True))
            scores[f"ents_{name}_per_type"] = by_label or None
        return scores

    @cached_property
    def known(self) -> Optional[KnownEntities]:
        """The entities of the training corpus, read once. None, with a warning, if it's missing."""
        if self.train is None:  # as in pipelines published without paths
            why = "The scorer's training corpus is null. Set it, such as with --paths.train FILE."
        else:
            try:
                return read_known_entities(self.train, Vocab(), self.matching)
            except FileNotFoundError as error:
                why = str(error)
        warnings.warn(f"Seen and unseen entities are not scored: {why}", stacklevel=4)
        return None
