"""What to do next, each advice with what was measured."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any, Optional

import numpy
import pytest
import spacy
from spacy.tokens import Doc

from spacy_multihash.corpus.evaluation import Scores
from spacy_multihash.corpus.spans import Entity, Kind
from spacy_multihash.inspection.errors import Errors, Mistake
from spacy_multihash.training import advice as module
from spacy_multihash.training.advice import Advice, advise
from spacy_multihash.training.plan import FitPlan, plan_fit
from spacy_multihash.training.scores import SplitScores
from spacy_multihash.training.texts import TextMistake, TextMistakes
from tests.helpers.packages import installed
from tests.helpers.vectors import write_pipeline

WORDS = "Anna met Bob in Rome .".split()


@pytest.fixture(scope="module")
def plan() -> FitPlan:
    vocab = spacy.blank("en").vocab
    tags = ["B-PER", "O", "B-PER", "O", "B-GPE", "O"]
    docs = [Doc(vocab, words=[*WORDS[:-1], f"{i}."], ents=tags) for i in range(30)]
    return plan_fit(docs, docs[:9], lang="en")


def mistake(kind: Kind, gold: str, predicted: str, **settings: Any) -> Mistake:
    def entity(text: str) -> Optional[Entity]:
        start, end, label = text.split()
        return Entity(int(start), int(end), label, "") if text != "- - -" else None

    words = tuple(f"{word} " for word in WORDS)
    return Mistake(kind, 0, entity(gold), entity(predicted), words=words, **settings)


def found(*mistakes: Mistake, gold: int = 100) -> Errors:
    pairs = {}
    for each in mistakes:
        labels = tuple(side.label if side else None for side in (each.gold, each.predicted))
        pairs[labels] = pairs.get(labels, 0) + 1
    return Errors([], mistakes, gold, gold, gold - len(mistakes), pairs, True)


def scores(f: float = 0.8, **labels: float) -> dict[str, SplitScores]:
    per_label = {x: Scores(9, f, f, f) for x, f in (labels or {"PER": f, "GPE": f}).items()}
    return {"dev": SplitScores("documents", 9, {"all": Scores(99, f, f, f, per_label)}, None)}


def said(plan: FitPlan, mistakes: Any, of: Any = None) -> dict[str, str]:
    given: list[Advice] = advise(plan, of or scores(), mistakes, where="dev", curve=None)
    return {advice.what: advice.why for advice in given}


def of_kind(advice: dict[str, str], word: str) -> str:
    (why,) = [why for what, why in advice.items() if word in what]
    return why


def test_nothing_is_said_without_a_reason(plan: FitPlan) -> None:
    assert said(plan, found()) == {}
    one = mistake("label", "0 1 PER", "0 1 GPE")
    assert said(plan, found(one, gold=1000)) == {}  # a tenth of a point


def test_confused_labels_have_their_number_and_price(plan: FitPlan) -> None:
    one, other = (mistake("label", *sides) for sides in ORDERS)
    why = of_kind(said(plan, found(one, one, other)), "tell labels apart")
    assert "GPE and PER 3 times (3.0 points)" in why


ORDERS = (("0 1 PER", "0 1 GPE"), ("4 5 GPE", "4 5 PER"))


def test_boundaries_have_the_words_that_differ(plan: FitPlan) -> None:
    cut = mistake("cut", "2 3 PER", "1 3 PER")
    why = of_kind(said(plan, found(cut, cut, cut)), "begin and end")
    assert "3 of 3" in why and "3.0 points" in why and "met (3)" in why


def test_doubtful_annotation_is_counted(plan: FitPlan) -> None:
    sure = mistake("label", "0 1 PER", "0 1 GPE", is_suspect=True)
    why = of_kind(said(plan, found(sure, mistake("missed", "0 1 PER", "- - -"))), "may be wrong")
    assert "1 of 2 mistakes on dev" in why


def test_rare_labels_that_score_lower_are_named(plan: FitPlan) -> None:
    why = of_kind(said(plan, found(), scores(0.8, PER=0.8, GPE=0.5)), "rare labels")
    assert "GPE (30 in train, F1 50.0)" in why and "PER" not in why
    assert said(plan, found(), scores(0.8, PER=0.8, GPE=0.75)) == {}


def test_entities_that_train_lacks_are_compared(plan: FitPlan) -> None:
    of = scores(0.8)["dev"]
    parts = {**of.parts, "seen": Scores(60, 0.9, 0.9, 0.9), "unseen": Scores(30, 0.5, 0.5, 0.5)}
    given = {"dev": SplitScores("documents", 9, parts, None)}
    why = of_kind(said(plan, found(), given), "other names")
    assert "90.0" in why and "50.0 on the other 33.3 %" in why


def test_installed_vectors_are_tried_on_the_words_of_train(
    plan: FitPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["en_few", "en_most", "de_most"]
    monkeypatch.setattr(module, "get_installed_models", lambda: names)
    words = {token.text for doc in plan.split.docs["train"] for token in doc}
    for name in names:
        known = WORDS[:5] if name == "en_few" else sorted(words - {"met"})
        data = numpy.ones((len(known), 4), dtype="float32")
        write_pipeline(tmp_path / name, data, known, name[:2])
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(installed(tmp_path / name, name, tmp_path / "site"))
        advice = said(plan, found())
    assert "97.1 % of the words" in of_kind(advice, "Try --vectors en_most") and len(advice) == 1


def test_texts_have_advice(plan: FitPlan) -> None:
    wrong = [TextMistake(0.95, ["A"], ["B"], "x"), TextMistake(0.6, ["A"], ["B"], "y")]
    advice = said(plan, TextMistakes(wrong, 50, 50, {("A", "B"): 2}, []))
    assert "1 of 2 mistakes" in of_kind(advice, "may be wrong")
    assert "A and B 2 times (4.0 points)" in of_kind(advice, "tell labels apart")
