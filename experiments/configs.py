"""The configs of configs/report and configs/ablations: complete files, written from the arms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from thinc.api import Config

from experiments.arms import (
    CONFIGS,
    MULTI_EMBED_ROWS,
    configure,
    find_arm,
    language,
    set_rows,
    share_of_rows,
    use_vectors,
)
from experiments.tables import ARCHAEO, ES, HASH, SIX, VECTORS
from spacy_multihash.common.files import write_bytes

REPORT, ABLATIONS = "report", "ablations"
MADE = "Written by `python -m experiments configs` from experiments/configs.py: don't edit it."
# The paper's static vectors, by language.
LARGE = {"en": "en_core_web_lg", "es": "es_core_news_lg", "nl": "nl_core_news_lg"}


@dataclass(frozen=True)
class Source:
    """What a config is written from.

    about (str): What the config is for, as its first line.
    arm (str): The name of the arm.
    dataset (str): The data set that it's for, or "" for any.
    vectors (bool): Whether it embeds static vectors.
    """

    about: str
    arm: str
    dataset: str = ""
    vectors: bool = False


def _hashes(number: int) -> str:
    return f"{('One', 'Two', 'Three', 'Four')[number - 1]} hash function{'s' * (number > 1)}"


_MIN_FREQS = {1: "multi_embed_min1", 5: "multi_embed_min5", 10: "multi_embed"}
_ABLATIONS = {
    "orth": Source("ORTH alone (Tables 2 and 3)", "orth"),
    "norm": Source("NORM alone (Tables 2 and 3)", "norm"),
    "norm-prefix": Source("NORM and PREFIX (Tables 2 and 3)", "norm_prefix"),
    "norm-prefix-suffix": Source("NORM, PREFIX and SUFFIX (Tables 2 and 3)", "norm_prefix_suffix"),
    **{
        f"hashes-{k}": Source(
            f"{_hashes(k)} with our seeds (compare Tables 13 and 14)",
            HASH if k == 4 else f"hashes_{k}",
        )
        for k in (1, 2, 3, 4)
    },
    **{
        f"spacy-seeds-hashes-{k}": Source(
            f"{_hashes(k)} with spaCy's seeds, as in the paper (Tables 13 and 14)",
            f"spacy_seeds_hashes_{k}",
        )
        for k in (1, 2, 3, 4)
    },
    **{
        f"multi-embed-min-freq-{number}": Source(
            f"A row for each symbol that occurs {number} times or more (Table 15)", arm
        )
        for number, arm in _MIN_FREQS.items()
    },
    **{
        f"multi-embed-min-freq-{number}-vectors": Source(
            f"The same for {number} times, with the static vectors of paths.vectors (Table 16)",
            arm,
            vectors=True,
        )
        for number, arm in _MIN_FREQS.items()
    },
    **{
        f"rows-as-multi-embed-{name}": Source(
            f"As many rows as MultiEmbed has on {name} (Tables 1 and 10)",
            "rows_as_multi_embed",
            name,
        )
        for name in SIX
    },
    **{
        f"rows-10-percent-{name}": Source(
            f"10 % of MultiEmbed's rows on {name} (Table 1)", "rows_10_percent", name
        )
        for name in (ES, ARCHAEO)
    },
    "weighted": Source(
        "Weighted hash embeddings (Svenstrup et al. 2017) of as many parameters",
        "weighted_near_zero",
    ),
    "hash-embed": Source(
        "A classifier of weighted hash embeddings of n-grams (Svenstrup et al. 2017)", "hash_embed"
    ),
    "hashing-trick": Source(
        "The same classifier with the hashing trick (Svenstrup et al. 2017)", "hashing_trick"
    ),
    "dilated": Source("batch_ner on iterated dilated convolutions", "dilated"),
    "tagger-dilated": Source(
        "A tagger on iterated dilated convolutions, as in Strubell et al. 2017", "tagger_plain"
    ),
    "tagger-windows": Source("The same tagger on maxout windows", "tagger_maxout"),
}
SOURCES: Mapping[str, Source] = MappingProxyType(
    {f"{REPORT}/{name}": Source(f"The paper's settings for {name}", HASH, name) for name in SIX}
    | {
        f"{REPORT}/{name}-vectors": Source(
            f"The paper's settings for {name}, with static vectors", HASH, name, vectors=True
        )
        for name in VECTORS
    }
    | {f"{ABLATIONS}/{name}": source for name, source in _ABLATIONS.items()}
)


def make_config(source: Source) -> Config:
    """Make the config of a source: the arm's, with the language and the rows of its data set."""
    arm = find_arm(source.arm)
    lang = language(source.dataset)
    config = configure(replace(arm, rows_share=None), lang=lang or "")
    if source.vectors:
        use_vectors(config, lang and LARGE[lang])
    if arm.rows_share is not None:
        set_rows(config, share_of_rows(MULTI_EMBED_ROWS[source.dataset], arm.rows_share))
    return config


def config_text(config: Config, *comments: str) -> str:
    """Write a config as text, below comments."""
    lines = [f"# {comment}" for comment in comments]
    return "\n".join([*lines, *[""] * bool(lines), config.to_str(interpolate=False).strip(), ""])


def texts() -> Iterator[tuple[str, str]]:
    """Yield the name of each config, as a file of configs/ without its ending, and its text."""
    for name, source in SOURCES.items():
        yield name, config_text(make_config(source), f"{source.about}.", MADE)


def write_configs(folder: Path = CONFIGS) -> list[Path]:
    """Write all configs, remove others from their folders, and return the paths that changed."""
    written = {folder / f"{name}.cfg": text.encode("utf8") for name, text in texts()}
    changed = [p for p, data in written.items() if not p.is_file() or p.read_bytes() != data]
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, written[path])
    stale = [p for part in (REPORT, ABLATIONS) for p in (folder / part).glob("*.cfg")]
    for path in {*stale} - written.keys():
        path.unlink()
        changed.append(path)
    return changed
