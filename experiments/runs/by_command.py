"""The config of a run that the package's own command makes of a corpus."""

import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from thinc.api import Config

COMMAND = (sys.executable, "-m", "spacy", "multihash", "recommend", "--output", "-")


def recommended_config(train: Path, dev: Path, lang: str) -> Config:
    """Make the config that `python -m spacy multihash recommend TRAIN DEV --lang LANG` writes.

    Raises ValueError with what the command says, if it fails.
    """
    return Config().from_str(_recommended_text(Path.cwd(), train, dev, lang), interpolate=False)


@lru_cache
def _recommended_text(folder: Path, train: Path, dev: Path, lang: str) -> str:
    """Run the command in a folder, once for all seeds."""
    command = [*COMMAND, str(train), str(dev), "--lang", lang]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if result.returncode:
        raise ValueError(f"{' '.join(command)}: {result.stderr.strip()}")
    return result.stdout
