"""What to do next with a corpus and its pipeline, each advice with what was measured."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Optional, Union

import spacy
from spacy.tokens import Doc
from spacy.util import get_installed_models
from spacy.vocab import Vocab

from ..common.files import read_json_map
from ..common.load import source_path
from ..inspection.errors import SURE, Errors
from ..vectors.files import load_vectors
from .curve import Curve
from .plan import FitPlan
from .report import best_split, labels_of, percent
from .scores import SplitScores
from .settings import MIN_WORDS_WITH_VECTOR, words_with_vector
from .texts import TextMistakes

# What's worth an advice: points of F1, examples of a label, and how far F1 is behind, on so many
# entities.
MIN_POINTS, FEW, GAP, ENOUGH = 1.0, 50, 0.1, 20
_MOST = 3  # labels, or pairs of labels, to name


@dataclass(frozen=True)
class Advice:
    """What to do, and why: with its number."""

    what: str
    why: str

    def __str__(self) -> str:
        """Return both."""
        return f"{self.what}: {self.why}"


def advise(
    plan: FitPlan,
    scores: Mapping[str, SplitScores],
    mistakes: Union[Errors, TextMistakes],
    *,
    where: str,
    curve: Optional[Curve],
) -> list[Advice]:
    """Say what to do next, the corpus first.

    mistakes (Union[Errors, TextMistakes]): On dev, or those of cross-validation.
    where (str): Which texts the mistakes are in.
    curve (Optional[Curve]): If it was measured.
    """
    split = best_split(scores)
    in_train = labels_of(plan.stats.splits["train"])
    advice = [*_doubtful(mistakes, where), *_confused(mistakes, where)]
    if isinstance(mistakes, Errors):
        advice += _boundaries(mistakes, where)
    advice += _few_examples(scores[split], in_train, split)
    if plan.options.vectors is None:
        advice += _vectors(plan.options.lang, plan.split.docs["train"])
    if curve is not None:
        advice.append(Advice(curve.advice, curve.outlook))
    return [*advice, *_unseen(scores[split], split)]


def _doubtful(mistakes: Union[Errors, TextMistakes], where: str) -> Iterator[Advice]:
    """Point to annotation that the model is sure is wrong."""
    doubtful, agrees = mistakes.suspects, ""
    if isinstance(mistakes, Errors):
        agrees = ", and train doesn't annotate these words otherwise"
    if doubtful:
        yield Advice(
            "Look at annotation that may be wrong",
            f"in {len(doubtful):,} of {len(mistakes.mistakes):,} mistakes on {where}, the model is "
            f"at least {100 * SURE:.0f} % sure{agrees}.",
        )


def _confused(mistakes: Union[Errors, TextMistakes], where: str) -> Iterator[Advice]:
    """Name the labels that are taken for each other, and what they cost."""
    pairs: Counter[tuple[str, ...]] = Counter()
    for (gold, predicted), count in mistakes.confusion.items():
        if gold and predicted and gold != predicted:
            pairs[tuple(sorted((gold, predicted)))] += count
    worst = [
        f"{' and '.join(pair)} {count:,} time{'s' * (count > 1)} "
        f"({_points(mistakes, count):.1f} points)"
        for pair, count in pairs.most_common(_MOST)
        if _points(mistakes, count) >= MIN_POINTS
    ]
    if worst:
        yield Advice(
            "Write down how to tell labels apart, and check their annotation",
            f"on {where}, the model confuses {', '.join(worst)}. The points are what F1 there "
            "would gain without these mistakes.",
        )


def _points(mistakes: Union[Errors, TextMistakes], count: int) -> float:
    """Return the points of F1 that so many gold and predicted entities would gain if right."""
    return 200 * count / max(mistakes.gold + mistakes.predicted, 1)


def _boundaries(mistakes: Errors, where: str) -> Iterator[Advice]:
    """Count entities with the right label and other boundaries, and the words that differ."""
    cuts = [m for m in mistakes.mistakes if m.kind == "cut"]
    points = _points(mistakes, len(cuts))
    if points < MIN_POINTS:
        return
    words: Counter[str] = Counter()
    for mistake in cuts:
        gold, predicted = ({*range(e.start, e.end)} for e in mistake.sides.values())
        differ = (place - mistake.first for place in gold ^ predicted)
        inside = (place for place in differ if 0 <= place < len(mistake.words))
        words.update({mistake.words[place].strip() for place in inside})
    common = [f"{word} ({count:,})" for word, count in words.most_common(_MOST) if count > 2]
    often = f" Most often, these words differ: {', '.join(common)}." if common else ""
    yield Advice(
        "Agree on where entities begin and end",
        f"on {where}, {len(cuts):,} of {len(mistakes.mistakes):,} mistakes have the right label "
        f"and other boundaries ({points:.1f} points of F1).{often}",
    )


def _few_examples(scores: SplitScores, in_train: Mapping[str, int], split: str) -> Iterator[Advice]:
    """Name labels that have few examples and lower scores."""
    overall, per_label = scores.parts["all"], scores.parts["all"].per_label
    poor = []
    for label, count in sorted(in_train.items(), key=lambda item: item[1]):
        of_label = per_label.get(label)
        is_behind = of_label is None or (of_label.f or 0) < (overall.f or 0) - GAP
        if count < FEW and is_behind:
            f1 = f"F1 {percent(of_label.f)}" if of_label else f"none in {split}"
            poor.append(f"{label} ({count:,} in train, {f1})")
    if poor:
        more = f", and {len(poor) - _MOST:,} more" if len(poor) > _MOST else ""
        yield Advice(
            "Annotate more examples of rare labels, or join them with others",
            f"{', '.join(poor[:_MOST])}{more}. F1 of all is {percent(overall.f)}.",
        )


def _vectors(lang: str, docs: Sequence[Doc]) -> Iterator[Advice]:
    """Name the installed pipeline whose static vectors know most words of train."""
    shares = {}
    for name in get_installed_models():
        with suppress(OSError, ValueError):  # a damaged package is no reason to fail
            path = source_path(name)
            meta = read_json_map(path / "meta.json", vectors=dict)
            if meta.get("lang") == lang and (meta.get("vectors") or {}).get("vectors"):
                vocab = spacy.blank(lang).vocab
                vocab.vectors = load_vectors(path / "vocab").vectors
                shares[name] = words_with_vector((_moved(doc, vocab) for doc in docs), vocab)
    best = max(shares, key=shares.__getitem__, default=None)
    if best is not None and shares[best] >= MIN_WORDS_WITH_VECTOR:
        yield Advice(
            f"Try --vectors {best}",
            f"its static vectors, which are installed, know {percent(shares[best])} % of the words "
            "of train.",
        )


def _moved(doc: Doc, vocab: Vocab) -> Doc:
    return Doc(vocab, words=[token.text for token in doc])


def _unseen(scores: SplitScores, split: str) -> Iterator[Advice]:
    """Compare entities that train has with others."""
    seen, unseen = (scores.parts.get(part) for part in ("seen", "unseen"))
    if not (seen and unseen and seen.entities >= ENOUGH and unseen.entities >= ENOUGH):
        return
    if (seen.f or 0) - (unseen.f or 0) < GAP:
        return
    share = unseen.entities / (seen.entities + unseen.entities)
    yield Advice(
        "Collect texts with other names rather than more of the same",
        f"on {split}, F1 is {percent(seen.f)} on entities that train has, and {percent(unseen.f)} "
        f"on the other {percent(share)} %.",
    )
