"""Where the files are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
# Real data and a real pipeline beside a checkout; users have neither.
SHARED = ROOT.parent / "shared"
