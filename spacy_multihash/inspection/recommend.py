"""Settings for a corpus, decided from what was counted in it, each with its reason.

Pure functions: nothing is read, trained or written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional

from .facts import CorpusFacts, FeatureFacts
from .settings import (
    IN_COLLISION,
    Settings,
    cut_of,
    hash_settings,
    hashed_tables,
    least_rows,
    lookup_rows,
)

WORD = "NORM"
BASE = (WORD, "PREFIX", "SUFFIX", "SHAPE")
SLICES = ("ORTH[:2]", "ORTH[:3]", "ORTH[-2:]", "ORTH[-4:]")
NGRAMS = "LOWER{3,5}"
CANDIDATES = (*BASE, *SLICES, NGRAMS)

# A feature is constant if so many tokens have one value. SHAPE is, if so few have a capital or a
# digit.
CONSTANT, SHAPED = 0.99, 0.01
# A feature with so many of NORM's values says nothing else.
AS_MANY = 0.9
# N-grams are worth their time if NORM is unknown in so many tokens. Without n-grams, further slices
# are if it is in so many entities.
MANY_TOKENS, MANY_ENTITIES = 0.02, 0.2
# A slice has to be known in so many of the entities that NORM does not know.
KNOWN_AGAIN = 0.5
# Further features are given up for hashed tables whose rows would serve more symbols than this, as
# those of NORM do in news with 5,000 rows and 4 hashes.
MOST_LOAD = 20
# Static vectors are taken if so many distinct words have one.
WITH_VECTOR = 0.5
# In the end, batches have so many words, and fewer where an epoch would have fewer batches.
BATCH_WORDS, LEAST_WORDS, LEAST_BATCHES = 1000, 100, 50

TAKEN, LEFT_OUT = "taken", "left out"


@dataclass(frozen=True)
class Choice:
    """A setting, and why it is so.

    name (str): What is chosen.
    value (str): What it is set to, as people read it.
    reason (str): Why, in one line.
    """

    name: str
    value: str
    reason: str


@dataclass(frozen=True)
class Recommendation:
    """Settings, and the choices that made them."""

    settings: Settings
    choices: list[Choice]


def recommend(
    facts: CorpusFacts, *, width: int, max_size: int, vectors: Optional[str] = None
) -> Recommendation:
    """Decide on settings for a corpus.

    facts (CorpusFacts): What was counted, of all CANDIDATES.
    width (int): The width of the tables.
    max_size (int): The most parameters that the tables of the embedding may have together.
    vectors (Optional[str]): The name of the static vectors that were counted, None without.

    Raises ValueError if even the smallest tables have more than max_size parameters.
    """
    judged = {name: judge_feature(facts, name) for name in CANDIDATES}
    wanted = [name for name, (is_taken, _) in judged.items() if is_taken]
    settings, reasons = choose_tables(facts, wanted, width=width, max_size=max_size)
    gave_way = _gave_way(facts, settings)
    for name, (is_taken, reason) in judged.items():
        if is_taken and name not in settings.attrs:
            room = f"no room for its {facts.features[name].symbols:,} symbols"
            reason = f"{'n-grams are taken instead' if name in gave_way else room}; {reason}"
        reasons[name] = reason
    with_vectors, reasons["vectors"] = choose_vectors(facts, vectors)
    batch_words, reasons["batch size"] = choose_batch_words(facts)
    reasons["reduce"] = "adds up the vectors of a word's n-grams; their mean was within noise of it"
    reasons["width"] = "that of the recommended settings, whatever the corpus"
    reasons["dropout"] = "that of the recommended settings, whatever the corpus"
    settings = replace(settings, vectors=with_vectors, batch_words=batch_words)
    values = describe(settings)
    return Recommendation(settings, [Choice(name, values[name], reasons[name]) for name in values])


def describe(settings: Settings) -> dict[str, str]:
    """Write what each choice is set to."""
    values = {name: TAKEN if name in settings.attrs else LEFT_OUT for name in CANDIDATES}
    if settings.reduce is not None:
        values["reduce"] = settings.reduce
    if settings.rows is None:
        cut = settings.max_rows
        rows = {"rows": "all symbols"} if cut is None else {"max_rows": f"{cut:,}"}
        unknown = {"unk_dropout": f"{settings.unk_dropout:g}"}
        values |= {"embedding": "MultiEmbed", **rows, **unknown}
    else:
        values |= {
            "embedding": "MultiHashEmbed",
            "rows": _listed(settings.attrs, settings.rows),
            "hashes": _listed(settings.attrs, settings.num_hashes or ()),
        }
    return values | {
        "vectors": "yes" if settings.vectors else "no",
        "width": str(settings.width),
        "dropout": f"{settings.dropout:g}",
        "batch size": f"{settings.batch_words:,} words",
    }


def adopt(
    recommendation: Recommendation,
    settings: Settings,
    reason: str,
    facts: CorpusFacts,
    *,
    max_size: int,
) -> Recommendation:
    """Take other settings, with a reason for what they change.

    The numbers in reasons for tables are those of the other settings.
    """
    kept = {(choice.name, choice.value): choice.reason for choice in recommendation.choices}
    of_tables = {"embedding": reason, **_reasons_of_tables(facts, settings, max_size)}
    taken_back = _gave_way(facts, recommendation.settings) - _gave_way(facts, settings)
    kept = {key: why for key, why in kept.items() if key[0] not in taken_back}
    changed = [
        Choice(name, value, of_tables.get(name, kept[name, value]))
        if (name, value) in kept
        else Choice(name, value, reason)
        for name, value in describe(settings).items()
    ]
    return Recommendation(settings, changed)


def _gave_way(facts: CorpusFacts, settings: Settings) -> set[str]:
    """Name the slices that would be taken if n-grams were not."""
    if NGRAMS not in settings.attrs:
        return set()
    return {name for name in SLICES if judge_feature(facts, name)[0]}


def judge_feature(facts: CorpusFacts, name: str) -> tuple[bool, str]:
    """Tell whether a feature is worth its table, and why."""
    feature, word = facts.features[name], facts.features[WORD]
    unknown = (
        f"unknown in {_percent(feature.unknown_tokens)} of DEV's tokens, "
        f"{_percent(feature.unknown_entities)} of its entities"
    )
    if name == WORD:
        return True, f"the word itself; {unknown}"
    if feature.top_share >= CONSTANT:
        return False, f"{_percent(feature.top_share)} of TRAIN's tokens have the same value"
    if name == "SHAPE" and facts.shaped < SHAPED:
        return False, f"only {_percent(facts.shaped)} of TRAIN's tokens have a capital or a digit"
    if name not in ("PREFIX", "SHAPE", NGRAMS) and feature.symbols >= AS_MANY * word.symbols:
        return False, f"its {feature.symbols:,} values say what NORM's {word.symbols:,} say"
    if name in BASE:
        return True, unknown
    if name == NGRAMS:
        of_word = f"NORM is unknown in {_percent(word.unknown_tokens)} of DEV's tokens"
        is_taken = word.unknown_tokens >= MANY_TOKENS
        limit = f"{'at least' if is_taken else 'less than'} {_percent(MANY_TOKENS)}"
        return is_taken, f"{of_word}, {limit}"
    if word.unknown_entities < MANY_ENTITIES:
        of_word = f"NORM is unknown in {_percent(word.unknown_entities)} of DEV's entities"
        return False, f"{of_word}, less than {_percent(MANY_ENTITIES)}"
    is_taken = feature.unknown_entities <= (1 - KNOWN_AGAIN) * word.unknown_entities
    return is_taken, f"{unknown}, {'at most' if is_taken else 'more than'} half of NORM's " + (
        _percent(word.unknown_entities)
    )


def choose_tables(
    facts: CorpusFacts, wanted: Sequence[str], *, width: int, max_size: int
) -> tuple[Settings, dict[str, str]]:
    """Decide whether symbols have rows of their own or are hashed, and into how many rows.

    Slices are taken only without n-grams. Rows of their own come first: n-grams are given up for
    them, and then slices.

    Raises ValueError if even the smallest tables have more than max_size parameters.
    """
    features = facts.features
    base = [name for name in wanted if name in BASE]
    choices = [[name for name in wanted if name != NGRAMS], base]
    if NGRAMS in wanted:
        choices.insert(0, [*base, NGRAMS])
    for attrs in choices:
        if width * lookup_rows(features, attrs) <= max_size:
            settings = Settings(tuple(attrs), width, max_rows=cut_of(features, attrs))
            return settings, _reasons_of_tables(facts, settings, max_size)
    for attrs in choices:
        hashed = hash_settings(features, attrs, width=width, max_size=max_size)
        is_last = attrs == base
        if hashed and (is_last or _most_load(features, hashed) <= MOST_LOAD):
            return hashed, _reasons_of_tables(facts, hashed, max_size)
    raise ValueError(
        f"Expected a --max-size of {width * least_rows(features, base):,} parameters or more, was: "
        f"{max_size:,}. The smallest tables of {', '.join(base)} have that many at width {width}. "
        "Give a larger one."
    )


def _reasons_of_tables(facts: CorpusFacts, settings: Settings, max_size: int) -> dict[str, str]:
    """Say how large tables are or would be; nothing of the embedding if hashing is no need."""
    features, limit = facts.features, f"--max-size is {max_size:,}"
    if settings.rows is None:
        size = settings.width * lookup_rows(features, settings.attrs)
        why = f"rows of their own for symbols take {size:,} parameters, and {limit}"
        if settings.max_rows is None:
            rows = "min_freq = 1: rare symbols have rows too, and none shares one (load 1)"
            unknown = "trains the row of unknown symbols, of which TRAIN has none"
            return {"embedding": why, "rows": rows, "unk_dropout": unknown}
        rows = "of each table: its most frequent symbols have one each, and all others share one"
        unknown = "trains the row of unknown symbols more often than the rare ones of TRAIN do"
        return {"embedding": why, "max_rows": rows, "unk_dropout": unknown}
    base = [name for name in settings.attrs if name in BASE]
    size = settings.width * lookup_rows(features, base)
    why = f"rows of their own for {', '.join(base)} take {size:,} parameters, {limit}"
    return ({"embedding": why} if size > max_size else {}) | _of_hashing(facts, settings)


def _of_hashing(facts: CorpusFacts, settings: Settings) -> dict[str, str]:
    """Say what chance makes of hashed tables."""
    found = hashed_tables(facts.features, settings)
    fullest = max(found, key=lambda name: found[name].load)
    worst = max(found, key=lambda name: found[name].in_collision)
    sizes = zip(settings.attrs, settings.rows or (), strict=True)
    few = ", ".join(name for name, rows in sizes if rows > facts.features[name].symbols)
    more = f", more to tell the few of {few} apart" if few else ""
    is_short = found[worst].in_collision > IN_COLLISION
    short = ", or 4 where the rows that fit are too few for that" if is_short else ""
    return {
        "rows": f"at most as many as symbols{more}, and no more than fit; the load of {fullest} is "
        f"the largest: {found[fullest].load:.1f} symbols times hashes for each row",
        "hashes": f"the fewest from 2 to 4 with at most {_percent(IN_COLLISION)} of symbols in "
        f"collision by chance{short}; most are in {worst}: "
        f"{100 * found[worst].in_collision:.2f} %",
    }


def _most_load(features: Mapping[str, FeatureFacts], settings: Settings) -> float:
    return max(table.load for table in hashed_tables(features, settings).values())


def choose_vectors(facts: CorpusFacts, vectors: Optional[str]) -> tuple[bool, str]:
    """Decide on static vectors."""
    if vectors is None or facts.vectors is None:
        return False, "none were given with --vectors"
    found = facts.vectors
    is_taken = found.words >= WITH_VECTOR
    limit = f"{'at least' if is_taken else 'less than'} {_percent(WITH_VECTOR)}"
    return is_taken, (
        f"{vectors} has {_percent(found.words)} of DEV's words, {limit}, and "
        f"{_percent(found.tokens)} of its tokens"
    )


def choose_batch_words(facts: CorpusFacts) -> tuple[int, str]:
    """Decide how many words a batch has in the end."""
    words = min(facts.train_tokens // LEAST_BATCHES // 100 * 100, BATCH_WORDS)
    words = max(words, LEAST_WORDS)
    batches = -(-facts.train_tokens // words)
    reason = (
        f"the final size, with which TRAIN's {facts.train_tokens:,} tokens make {batches:,} "
        "updates an epoch"
    )
    if words == BATCH_WORDS:
        return words, reason
    return words, f"{reason}; larger batches would make fewer than {LEAST_BATCHES} of them"


def _listed(attrs: Sequence[str], sizes: Sequence[int]) -> str:
    return ", ".join(f"{name} {size:,}" for name, size in zip(attrs, sizes, strict=True))


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
