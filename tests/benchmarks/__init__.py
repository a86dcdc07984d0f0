import sys

from ..conftest import ROOT

# The benchmarks are scripts beside each other, and no package.
sys.path.append(str(ROOT / "benchmarks"))
