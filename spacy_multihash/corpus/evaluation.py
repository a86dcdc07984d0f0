"""Scores of an entity recognizer on seen and unseen entities."""

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Callable, Optional, Union

from spacy.language import Language
from spacy.pipeline.ner import ner_score
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from .read import read_docs


@dataclass(frozen=True)
class Matching:
    """How entities are compared with the training corpus.

    The report "Multi hash embeddings in spaCy" (section 4.2) counts a span as seen if it appears
    verbatim as an entity of the training set, with any label: the default.

    ignore_case (bool): Compare the texts in lower case.
    match_label (bool): Also compare the labels.
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


def known_entities(docs: Iterable[Doc], matching: Matching = VERBATIM) -> KnownEntities:
    """Collect the entities of a training corpus. The docs are read once and not kept.

    docs (Iterable[Doc]): The docs, with gold entities.
    matching (Matching): How to compare entities.
    """
    return KnownEntities({matching.key(ent) for doc in docs for ent in doc.ents}, matching)


def keep_entities(doc: Doc, is_kept: Callable[[Span], bool]) -> Doc:
    """Return a doc with only some of its entities. The others are masked.

    Their tokens become missing annotation, which isn't scored.

    doc (Doc): The doc. Tokens whose annotation is missing stay missing.
    is_kept (Callable[[Span], bool]): Whether to keep an entity.
    RETURNS (Doc): A copy, or the doc itself if all entities are kept.
    """
    ents, missing = [], [(t.i, t.i + 1) for t in doc if t.ent_iob == 0]
    for ent in doc.ents:
        if is_kept(ent):
            ents.append((ent.start, ent.end, ent.label))
        else:
            missing.append((ent.start, ent.end))
    if len(ents) == len(doc.ents):
        return doc
    copy = doc.copy()
    copy.set_ents([Span(copy, *ent) for ent in ents], missing=[Span(copy, *m) for m in missing])
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


@dataclass(frozen=True)
class Evaluation:
    """Scores of all entities of a corpus, and of parts of them.

    overall (Scores): All entities, as `spacy evaluate` scores them.
    masked (Mapping[str, Scores]): "seen" and "unseen" in the report's way. Gold entities of the
        other part count as missing annotation, and other false positives count in both parts.

    A part, or a label in it, without gold entities has no scores.
    """

    overall: Scores
    masked: Mapping[str, Scores]


def read_known_entities(
    train: Union[str, Path], vocab: Vocab, matching: Matching = VERBATIM
) -> KnownEntities:
    """Read the entities of the corpus that a pipeline was trained on.

    Raises FileNotFoundError if there is no corpus, and ValueError if it cannot be read or has no
    entities.
    """
    entities = known_entities(read_docs(train, vocab), matching)
    if not entities.keys:
        raise ValueError(
            f"The training corpus at {train} has no entities, so that all would be unseen. Give "
            "the corpus that the pipeline was trained on, with its gold entities."
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
    docs = nlp.pipe([example.predicted for example in examples])
    for example, doc in zip(examples, docs, strict=True):
        example.predicted = doc


def evaluate_entities(examples: Sequence[Example], known: KnownEntities) -> Evaluation:
    """Score predicted entities: all, seen and unseen entities.

    Tokens whose gold annotation is missing are ignored.

    examples (Sequence[Example]): Predicted and gold docs.
    known (KnownEntities): The entities of the training corpus.

    Raises ValueError if no doc has gold annotation of entities.
    """
    if not any(example.y.has_annotation("ENT_IOB") for example in examples):
        raise ValueError(
            f"The corpus to evaluate on has {len(examples)} documents, but none with annotation of "
            "entities. Evaluate on a corpus with gold entities."
        )
    return Evaluation(overall=score(examples), masked=score_parts(examples, known))


def score_parts(examples: Sequence[Example], known: KnownEntities) -> dict[str, Scores]:
    """Score "seen" and "unseen" entities in the report's way only.

    A part without gold entities has no scores.
    """
    return {name: _score_part(masked) for name, masked in masked_parts(examples, known).items()}


def masked_parts(examples: Sequence[Example], known: KnownEntities) -> dict[str, list[Example]]:
    """Return the examples of "seen" and of "unseen", with the entities of the other part masked.

    examples (Sequence[Example]): Predicted and gold docs.
    known (KnownEntities): The entities of the training corpus.
    """
    return {
        name: [Example(e.x, keep_entities(e.y, is_part)) for e in examples]
        for name, is_part in _parts(known).items()
    }


def score(examples: Iterable[Example]) -> Scores:
    """Score predicted entities as spaCy does, and count the gold entities."""
    examples = list(examples)
    prf = get_ner_prf(examples)
    golds = Counter(ent.label_ for example in examples for ent in example.y.ents)
    per_label = {
        label: Scores(golds[label], **values)
        for label, values in sorted((prf["ents_per_type"] or {}).items())
    }
    return Scores(golds.total(), prf["ents_p"], prf["ents_r"], prf["ents_f"], per_label)


def _score_part(examples: Iterable[Example]) -> Scores:
    scores = score(examples)
    if not scores.entities:
        return Scores(0)
    per_label = {
        label: of_label if of_label.entities else Scores(0)
        for label, of_label in scores.per_label.items()
    }
    return replace(scores, per_label=per_label)


def _parts(known: KnownEntities) -> dict[str, Callable[[Span], bool]]:
    return {"seen": known.has_seen, "unseen": lambda span: not known.has_seen(span)}


def make_seen_unseen_scorer_v1(
    train: Optional[Union[str, Path]], ignore_case: bool = False, match_label: bool = False
) -> Callable[..., dict[str, Any]]:
    """Make the scorer that adds scores of seen and unseen entities to spacy.ner_scorer.v1.

    An entity is seen if the training corpus has an entity with the same text. When one part is
    scored, entities of the other part count as missing annotation, as in the report "Multi hash
    embeddings in spaCy" (section 4.2), so false positives count in both parts.

    The scores are ents_seen_p, ents_seen_r, ents_seen_f, ents_seen_per_type and the same with
    "unseen". They're None if the corpus has no such entities. To see a score in the log of spacy
    train, give it a weight of 0.0 or more in [training.score_weights].

    train (Optional[Union[str, Path]]): The training corpus: a .spacy file, or a folder of them. The
        first scoring reads it. If it's null or missing, for example on a machine that only uses the
        trained pipeline, you get a warning and only the scores of spacy.ner_scorer.v1.
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
            scores.update({f"ents_{name}_{key}": getattr(of_part, key) for key in "prf"})
            per_type = {
                label: {k: getattr(s, k) for k in "prf"} for label, s in of_part.per_label.items()
            }
            scores[f"ents_{name}_per_type"] = per_type or None
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
