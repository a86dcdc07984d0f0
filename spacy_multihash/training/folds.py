"""Cross-validation of a small corpus: scores to expect on new texts, and doubtful annotation."""

from typing import Any, Optional

from ..common.progress import Progress
from ..corpus.evaluation import predict, read_known_entities
from ..corpus.read import examples_of
from ..inspection.errors import Errors, errors, joined
from ..ner.calibration import find_recognizer
from .plan import FitPlan
from .run import trained_again
from .scores import SplitScores, count_docs, score_folds
from .splits import split_folds


def cross_validate(
    plan: FitPlan, of_test: SplitScores, temperature: float, progress: Progress
) -> Optional[tuple[SplitScores, Errors]]:
    """Train on five folds, score all docs, and find the mistakes on those that aren't in test.

    of_test (SplitScores): The scores of test, to add the scores to expect on new texts to.
    temperature (float): The temperature of the pipeline, which the folds take as well.
    RETURNS: None if no fold has entities in all its splits. The numbers of the mistakes' docs are
        places in the corpus.
    """
    docs, test = plan.split.corpus, {*plan.split.places["test"]}
    counts, regions, parts = list[list[list[int]]](), list[int](), list[Errors]()
    folds = split_folds(plan.split, plan.options.seed)
    for fold in progress(folds, desc="Cross-validation", unit=" folds"):
        with trained_again(plan, fold.docs) as (nlp, paths):
            recognizer: Any = nlp.get_pipe(find_recognizer(nlp))
            recognizer.temperature = temperature
            known = read_known_entities(paths["train"], nlp.vocab)
            examples = list(examples_of(nlp, fold.docs["test"]))
            predict(nlp, examples)
            counts += count_docs(examples, known)
            regions += fold.regions
            pairs = zip(fold.places, fold.docs["test"], strict=True)
            looked_at = {place: doc for place, doc in pairs if place not in test}
            if looked_at:
                found = errors(nlp, looked_at.values(), train=paths["train"])
                for mistake in found.mistakes:
                    mistake.doc = [*looked_at][mistake.doc]
                parts.append(found)
    return (score_folds(of_test, counts, regions), joined(docs, parts)) if parts else None
