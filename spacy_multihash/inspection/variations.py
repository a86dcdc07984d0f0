"""Variations of recommended settings that are tried beside them, and what comes of it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from .facts import CorpusFacts
from .halving import MARGIN, best_of
from .recommend import BASE, NGRAMS, SLICES, WORD, Choice, Recommendation, adopt
from .settings import MOST_HASHES, Settings, cut_of, hash_settings, lookup_rows
from .trials import Trials

RECOMMENDED = "recommended"


def make_candidates(
    recommended: Settings, facts: CorpusFacts, *, max_size: int, most: int
) -> dict[str, Settings]:
    """List the recommended settings, and variations of them that fit in max_size parameters.

    most (int): How many to list at most. Those that are likelier to matter come first.
    """
    found = {RECOMMENDED: recommended}
    for name, settings in _variations(recommended, facts, max_size):
        if len(found) < most and settings not in found.values():
            found[name] = settings
    return found


def _variations(
    settings: Settings, facts: CorpusFacts, max_size: int
) -> Iterator[tuple[str, Settings]]:
    features, width = facts.features, settings.width
    base = tuple(name for name in settings.attrs if name in BASE)

    def hashed(attrs: tuple[str, ...]) -> Iterator[Settings]:
        found = hash_settings(features, attrs, width=width, max_size=max_size)
        if found is not None:
            rows, num_hashes = found.rows, found.num_hashes
            yield replace(settings, attrs=attrs, rows=rows, num_hashes=num_hashes, max_rows=None)

    def alike(attrs: tuple[str, ...]) -> Iterator[Settings]:
        if settings.rows is not None:
            yield from hashed(attrs)
        elif width * lookup_rows(features, attrs) <= max_size:
            yield replace(settings, attrs=attrs, max_rows=cut_of(features, attrs))

    if settings.rows is None:
        yield from (("hashing", each) for each in hashed(settings.attrs))
    yield "dropout 0.2", replace(settings, dropout=0.2)
    yield from (("fewer features", each) for each in alike(base))
    yield from (("slices", each) for each in alike((*base, *SLICES)))
    yield from (("n-grams", each) for each in alike((*base, NGRAMS)))
    if settings.rows is None:
        yield "unk_dropout 0.1", replace(settings, unk_dropout=0.1)
    else:
        most = tuple(MOST_HASHES for _ in settings.rows)
        yield "more hashes", replace(settings, num_hashes=most)
    if settings.vectors:
        yield "no vectors", replace(settings, vectors=False)
    with_ngrams = (*settings.attrs, *(() if NGRAMS in settings.attrs else (NGRAMS,)))
    yield from (("n-grams, hashed", each) for each in hashed(with_ngrams))
    yield "dropout 0.4", replace(settings, dropout=0.4)
    yield "width 64", replace(settings, width=64)
    if settings.rows is None:
        yield "unk_dropout 0.5", replace(settings, unk_dropout=0.5)
    yield from (("NORM alone", each) for each in alike((WORD,)))


def conclude(
    recommended: Recommendation,
    candidates: Mapping[str, Settings],
    trials: Trials,
    facts: CorpusFacts,
    *,
    max_size: int,
) -> Recommendation:
    """Take the candidate that won the trials, and say why, as a further choice.

    Where not all rounds are complete, or none is better by more than noise, nothing changes.
    """
    if len(trials.complete) < len(trials.rounds):
        reason = f"the budget ended in round {len(trials.scores)} of {len(trials.rounds)}"
        choice = Choice("trials", "not finished", reason)
        return replace(recommended, choices=[*recommended.choices, choice])
    scores = trials.complete[-1]
    winner = best_of(scores, RECOMMENDED)
    others = {name: score for name, score in scores.items() if name != winner}
    second = max(others, key=lambda name: others[name])
    reason = (
        f"F1 on DEV {scores[winner]:.3f}, and {scores[second]:.3f} of {second}, after "
        f"{trials.rounds[-1].steps:,} steps"
    )
    if winner == RECOMMENDED:
        choice = Choice("trials", winner, f"{reason}: nothing is better by {MARGIN} or more")
        return replace(recommended, choices=[*recommended.choices, choice])
    gain = f"won the trials as '{winner}', {scores[winner] - scores[RECOMMENDED]:+.3f} F1 on DEV"
    adopted = adopt(recommended, candidates[winner], gain, facts, max_size=max_size)
    return replace(adopted, choices=[*adopted.choices, Choice("trials", winner, reason)])
