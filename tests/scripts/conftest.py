import sys
from pathlib import Path

# The scripts are run by path and import each other by name: they are found beside each other there.
sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
