"""The script that tests the source distribution: which combinations it tries again."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.paths import ROOT

SCRIPT = ROOT / ".ci" / "sdist.py"


def test_only_combinations_that_passed_are_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(SCRIPT))["main"]
    outcomes = {"oldest": "passed", "newest": "no python3.12: put it on the PATH"}
    tried = []

    def check(sdist: Path, folder: Path, python: str, versions: str, tests: Any) -> dict:
        tried.append((python, versions))
        return {"outcome": outcomes[versions]}

    fakes = {"check": check, "build_sdist": lambda work: work, "hash_of": lambda sdist: "files"}
    for name, fake in fakes.items():
        monkeypatch.setitem(main.__globals__, name, fake)
    monkeypatch.setattr(sys, "argv", ["sdist.py", "--python", "3.12", "--work", str(tmp_path)])
    with pytest.raises(SystemExit, match="True"):
        main()
    assert tried == [("3.12", "oldest"), ("3.12", "newest")]
    outcomes["newest"] = "passed"
    with pytest.raises(SystemExit, match="False"):
        main()
    assert tried[2:] == [("3.12", "newest")]
    with pytest.raises(SystemExit, match="False"):
        main()
    assert len(tried) == 3
    assert "no python3.12" in capsys.readouterr().out
