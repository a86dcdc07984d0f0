"""Choose the settings of `init-config ner` from the counts of a corpus.

Pure functions: nothing is read, trained or written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import expm1, factorial, log1p
from typing import Optional

from ..embed.features import parse_feature
from .facts import CorpusFacts, FeatureFacts

WORD = "NORM"
BASE = (WORD, "PREFIX", "SUFFIX", "SHAPE")
SLICES = ("LOWER[:2]", "LOWER[:3]", "LOWER[-2:]", "LOWER[-4:]")
NGRAMS = "LOWER{3,5}"
CANDIDATES = (*BASE, *SLICES, NGRAMS)

# With these training settings and slices, corpora of 300 and of 1,000 sentences score higher than
# with n-grams. Learned transitions help where there are few sentences (docs/results.md).
FEW_TOKENS = 25_000
FEW_BATCH_WORDS, FEW_PATIENCE = 200, 600
# A feature is constant if this share of tokens has one value.
CONSTANT = 0.99
# SHAPE isn't informative if fewer tokens have a capital or a digit.
MIN_SHAPED = 0.01
# A feature isn't informative if it has at least this share of NORM's number of values.
SAME_AS_WORD = 0.9
# N-grams pay if NORM is unknown in this share of tokens.
MIN_UNKNOWN_TOKENS = 0.02
# Without n-grams, slices pay if NORM is unknown in this share of entities, and if half of these
# have a known slice.
MIN_UNKNOWN_ENTITIES = 0.2
# Features are dropped before a hashed table has more than this many symbols per row.
MAX_LOAD = 20
# Static vectors pay if they have this share of words.
MIN_WORDS_WITH_VECTOR = 0.5
# Maximum words per batch, and minimum batches per epoch.
MAX_BATCH_WORDS, MIN_BATCHES = 1000, 50
# Maximum share of hashed symbols that collide in all hashes.
MAX_COLLISIONS = 0.01
MIN_HASHES, MAX_HASHES = 2, 4
# Smaller tables aren't worth it, unless there are fewer symbols.
MIN_ROWS = 100
# Most n-grams are rare, and each row takes time in training.
MAX_NGRAM_ROWS = 30_000


@dataclass(frozen=True)
class Settings:
    """Settings of an embedding and of training.

    rows, num_hashes (tuple[int, ...]): For each feature if symbols are hashed. None if each symbol
        has a row.
    max_rows (int): Maximum rows of a table if each frequent symbol has a row. None: no limit.
    batch_words (int): The final batch size.
    patience (int): None keeps the config's own.
    learn_transitions (bool): Whether the recognizer learns scores of neighbouring tags.
    """

    attrs: tuple[str, ...]
    rows: Optional[tuple[int, ...]] = None
    num_hashes: Optional[tuple[int, ...]] = None
    max_rows: Optional[int] = None
    vectors: bool = False
    batch_words: int = MAX_BATCH_WORDS
    patience: Optional[int] = None
    learn_transitions: bool = False


def recommend(
    facts: CorpusFacts, *, width: int, max_size: int, vectors: Optional[str] = None
) -> tuple[Settings, list[str]]:
    """Choose settings for a corpus, and give a reason for each in one line.

    facts (CorpusFacts): The counts of all CANDIDATES.
    max_size (int): Maximum number of parameters of all tables.
    vectors (str): The name of the counted static vectors.

    Raises ValueError if even the smallest tables have more than max_size parameters.
    """
    judged = {name: judge_feature(facts, name) for name in CANDIDATES}
    wanted = [name for name, (is_useful, _) in judged.items() if is_useful]
    settings, tables = choose_tables(facts, wanted, width=width, max_size=max_size)
    reasons = []
    for name, (is_useful, reason) in judged.items():
        if name in settings.attrs:
            reasons.append(f"{name}: {reason}")
        elif is_useful and name in SLICES and NGRAMS in settings.attrs:
            reasons.append(f"no {name}: n-grams are used instead")
        elif is_useful:
            symbols = facts.features[name].symbols
            reasons.append(f"no {name}: there's no room for its {symbols:,} symbols")
        else:
            reasons.append(f"no {name}: {reason}")
    use_vectors, about_vectors = choose_vectors(facts, vectors)
    batch_words, about_batches = choose_batch_words(facts)
    settings = replace(settings, vectors=use_vectors, batch_words=batch_words)
    reasons += [*tables, about_vectors, about_batches]
    if has_few_tokens(facts):
        settings = replace(settings, patience=FEW_PATIENCE, learn_transitions=True)
        size = f"the corpus has {facts.train_tokens:,} tokens"
        reasons += [f"patience {FEW_PATIENCE}: {size}", f"learned transitions: {size}"]
    return settings, reasons


def has_few_tokens(facts: CorpusFacts) -> bool:
    """Return whether a corpus is small enough for the settings for few tokens."""
    return facts.train_tokens <= FEW_TOKENS


def judge_feature(facts: CorpusFacts, name: str) -> tuple[bool, str]:
    """Return whether a feature is worth its table, and why."""
    feature, word = facts.features[name], facts.features[WORD]
    unknown = (
        f"unknown in {_percent(feature.unknown_tokens)} of dev tokens and "
        f"{_percent(feature.unknown_entities)} of dev entities"
    )
    if name == WORD:
        return True, f"the word, {unknown}"
    if feature.top_share >= CONSTANT:
        return False, f"{_percent(feature.top_share)} of tokens have the same value"
    if name == "SHAPE" and facts.shaped < MIN_SHAPED:
        return False, f"only {_percent(facts.shaped)} of tokens have a capital or a digit"
    can_repeat = name not in ("PREFIX", "SHAPE", NGRAMS)
    if can_repeat and feature.symbols >= SAME_AS_WORD * word.symbols:
        return False, f"its {feature.symbols:,} values add nothing to NORM's {word.symbols:,}"
    if name in BASE:
        return True, unknown
    if has_few_tokens(facts):
        about = f"with {FEW_TOKENS:,} tokens or fewer, slices are the safer choice"
        return name in SLICES, unknown if name in SLICES else about
    if name == NGRAMS:
        reason = f"NORM is unknown in {_percent(word.unknown_tokens)} of dev tokens"
        return word.unknown_tokens >= MIN_UNKNOWN_TOKENS, reason
    if word.unknown_entities < MIN_UNKNOWN_ENTITIES:
        return False, f"NORM is unknown in {_percent(word.unknown_entities)} of dev entities only"
    return feature.unknown_entities <= word.unknown_entities / 2, unknown


def choose_tables(
    facts: CorpusFacts, wanted: Sequence[str], *, width: int, max_size: int
) -> tuple[Settings, list[str]]:
    """Choose between a row for each symbol and hashing, and the rows.

    Slices are only used without n-grams. To give each symbol a row, n-grams are dropped first, and
    then slices. Raises ValueError if even the smallest tables have more than max_size parameters.
    """
    features = facts.features
    base = [name for name in wanted if name in BASE]
    choices = [[name for name in wanted if name != NGRAMS], base]
    if NGRAMS in wanted:
        choices.insert(0, [*base, NGRAMS])
    for attrs in choices:
        size = width * lookup_rows(features, attrs)
        if size <= max_size:
            settings = Settings(tuple(attrs), max_rows=row_limit(features, attrs))
            limit = "" if settings.max_rows is None else f" (at most {settings.max_rows:,} a table)"
            return settings, [
                f"MultiEmbed: a row for each symbol{limit} takes {size:,} of {max_size:,} "
                "parameters"
            ]
    for attrs in choices:
        tables = hash_tables(features, attrs, width=width, max_size=max_size)
        if tables is None:
            continue
        rows, num_hashes = tables
        loads = [
            features[name].symbols * hashes / size
            for name, hashes, size in zip(attrs, num_hashes, rows, strict=True)
        ]
        if attrs == base or max(loads) <= MAX_LOAD:
            size = width * lookup_rows(features, base)
            sizes = ", ".join(
                f"{name} {number:,}" for name, number in zip(attrs, rows, strict=True)
            )
            return Settings(tuple(attrs), rows, num_hashes), [
                f"MultiHashEmbed: a row for each symbol of {', '.join(base)} would take {size:,} "
                f"of {max_size:,} parameters",
                f"rows {sizes}: at most {max(loads):.1f} symbols and hashes share a row",
                f"hashes {num_hashes}: the fewest that tell 99 % of symbols apart, 4 at most",
            ]
    least = width * sum(min(features[name].symbols, MIN_ROWS) for name in base)
    raise ValueError(
        f"--max-size must be at least {least:,} parameters, got {max_size:,}: the smallest tables "
        f"of {', '.join(base)} have that many at width {width}."
    )


def row_limit(features: Mapping[str, FeatureFacts], attrs: Sequence[str]) -> Optional[int]:
    """Return the total rows if each symbol has a row, None for no limit."""
    is_large = any(features[name].symbols >= MAX_NGRAM_ROWS for name in attrs)
    return MAX_NGRAM_ROWS if is_large and any(map(has_bags, attrs)) else None


def lookup_rows(features: Mapping[str, FeatureFacts], attrs: Sequence[str]) -> int:
    """Count the rows of tables with a row for each symbol and for unknown symbols."""
    limit = row_limit(features, attrs)
    rows = (features[name].symbols + 1 for name in attrs)
    return sum(number if limit is None else min(number, limit) for number in rows)


def hash_tables(
    features: Mapping[str, FeatureFacts], attrs: Sequence[str], *, width: int, max_size: int
) -> Optional[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Choose rows and hashes of tables that have at most max_size parameters together.

    A table gets as many rows as symbols, and a few more if these are few. If that's too much, the
    largest tables share the rest. Returns the rows and the hashes of each table, or None if even
    the smallest tables are too large.
    """
    rows: dict[str, int] = {}
    by_size = sorted(attrs, key=lambda name: features[name].symbols)
    least = {name: min(features[name].symbols, MIN_ROWS) for name in attrs}
    for i, name in enumerate(by_size):
        left = max_size // width - sum(rows.values())
        free = left - sum(least[other] for other in by_size[i + 1 :])
        if free < least[name]:
            return None
        share = _round_down(left // (len(attrs) - i))
        number = min(_rows_for_max_hashes(features[name].symbols), share, free)
        rows[name] = min(number, MAX_NGRAM_ROWS) if has_bags(name) else number
    num_hashes = tuple(fewest_hashes(features[name].symbols, rows[name]) for name in attrs)
    return tuple(rows[name] for name in attrs), num_hashes


def collisions(num_symbols: int, num_rows: int, num_hashes: int) -> float:
    """Return the share of symbols that have, by chance and in any order, another symbol's rows.

    It's 1 - (1 - 1 / K) ** (V - 1) for V symbols and K possible sets of rows, as in equation (1) of
    Svenstrup et al. 2017, section 4.
    """
    outcomes = num_rows**num_hashes / factorial(num_hashes)
    if num_symbols < 2:
        return 0.0
    return -expm1((num_symbols - 1) * log1p(-1 / outcomes)) if outcomes > 1 else 1.0


def fewest_hashes(num_symbols: int, num_rows: int) -> int:
    """Return the fewest hashes that tell nearly all symbols apart, at most four."""
    for num_hashes in range(MIN_HASHES, MAX_HASHES):
        if collisions(num_symbols, num_rows, num_hashes) <= MAX_COLLISIONS:
            return num_hashes
    return MAX_HASHES


def has_bags(name: str) -> bool:
    """Return whether a token may have several symbols of a feature, as with n-grams."""
    feature = parse_feature(name)
    return feature is not None and feature.has_bags


def _rows_for_max_hashes(num_symbols: int) -> int:
    """Return the rows that the most hashes need to tell symbols apart, at least one per symbol."""
    rows = num_symbols
    while collisions(num_symbols, rows, MAX_HASHES) > MAX_COLLISIONS:
        rows += 1
    return rows


def _round_down(number: int) -> int:
    """Round down to the first two digits."""
    power = 10 ** max(len(str(number)) - 2, 0)
    return number // power * power


def choose_vectors(facts: CorpusFacts, vectors: Optional[str]) -> tuple[bool, str]:
    """Decide on static vectors."""
    if vectors is None or facts.vectors is None:
        return False, "no static vectors: none were given"
    words, tokens = facts.vectors.words, facts.vectors.tokens
    use_them = words >= MIN_WORDS_WITH_VECTOR
    return use_them, (
        f"{'' if use_them else 'no '}static vectors: {vectors} has {_percent(words)} of dev words "
        f"and {_percent(tokens)} of dev tokens"
    )


def choose_batch_words(facts: CorpusFacts) -> tuple[int, str]:
    """Choose the final batch size in words."""
    words = min(facts.train_tokens // MIN_BATCHES // 100 * 100, MAX_BATCH_WORDS)
    words = FEW_BATCH_WORDS if has_few_tokens(facts) else words
    batches = -(-facts.train_tokens // words)
    return words, f"batches of {words:,} words: an epoch has {batches:,} of them"


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
