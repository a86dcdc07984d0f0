"""Where the files are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
# Real data and a real pipeline beside a checkout; users have neither.
SHARED = ROOT.parent / "shared"
# spaCy's trained English pipeline, and tweets for it.
TRAINED = SHARED / "pipelines" / "en_core_web_md-3.7.1"
TWEETS = SHARED / "datasets" / "wnut17" / "emerging.dev.conll"


def has_md() -> bool:
    """Return whether the trained pipeline and its texts are there."""
    return TRAINED.is_dir() and TWEETS.is_file()
