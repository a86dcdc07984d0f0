"""The scorer of seen and unseen entities, for [components.ner.scorer]."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Optional, Union

from spacy.pipeline.ner import ner_score
from spacy.training import Example
from spacy.vocab import Vocab

from .entities import KnownEntities, Matching
from .evaluation import read_known_entities, score_parts


def make_seen_unseen_scorer_v1(
    train: Optional[Union[str, Path]], ignore_case: bool = False, match_label: bool = False
) -> Callable[..., dict[str, Any]]:
    """Make the scorer that adds scores of seen and unseen entities to those of spacy.ner_scorer.v1.

    An entity is seen if its text is that of an entity of the training corpus. The entities of the
    other part count as missing annotation, as in the report "Multi hash embeddings in spaCy"
    (section 4.2), so that a false positive counts in both parts.

    The scores are ents_seen_p, ents_seen_r, ents_seen_f, ents_seen_per_type and the same with
    "unseen". They are None where the corpus has no such entities. spacy train logs the scores that
    [training.score_weights] names, with a weight of 0.0 or more.

    train (Optional[Union[str, Path]]): The training corpus: a .spacy file, or a folder of them. It
        is read when something is first scored. If it is null or missing, as on a machine that only
        uses the trained pipeline, there is a warning, and the scores are those of
        spacy.ner_scorer.v1 alone.
    ignore_case (bool): Compare texts in lower case.
    match_label (bool): An entity with another label than in the training corpus is unseen.

    Raises ValueError, when something is first scored, if the training corpus cannot be read or has
    no entities.
    """
    return SeenUnseenScorer(train, Matching(ignore_case, match_label))


@dataclass
class SeenUnseenScorer:
    """Scores entities, and those of the training corpus and others apart.

    Pipelines are pickled where processes are spawned, and so is this.

    train (Optional[Union[str, Path]]): The training corpus. None scores no parts.
    matching (Matching): Which entities count as one.
    """

    train: Optional[Union[str, Path]]
    matching: Matching
    _known: Optional[KnownEntities] = field(default=None, init=False, repr=False)
    _is_read: bool = field(default=False, init=False, repr=False)

    def __call__(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401
        """Score examples, with the arguments of spacy.ner_scorer.v1."""
        examples = list(examples)
        scores = ner_score(examples, **kwargs)
        if not self._is_read:
            self._known = self._read()
            self._is_read = True
        if self._known is None:
            return scores
        for name, part in score_parts(examples, self._known).items():
            scores.update({f"ents_{name}_{key}": getattr(part, key) for key in "prf"})
            per_type = {
                label: {k: getattr(s, k) for k in "prf"} for label, s in part.per_label.items()
            }
            scores[f"ents_{name}_per_type"] = per_type or None
        return scores

    def _read(self) -> Optional[KnownEntities]:
        if self.train is None:  # as of pipelines whose paths were set to null before publishing
            why = "The scorer's training corpus is null. Set it, such as with --paths.train FILE."
        else:
            try:
                return read_known_entities(self.train, Vocab(), self.matching)
            except FileNotFoundError as error:
                why = str(error)
        warnings.warn(f"Seen and unseen entities are not scored: {why}", stacklevel=3)
        return None
