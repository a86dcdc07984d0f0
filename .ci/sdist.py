"""Test the source distribution with each Python and the oldest and newest versions allowed.

    python .ci/sdist.py [--python 3.12 ...] [--versions newest ...] [-- ARGUMENTS OF PYTEST]

It needs python3.10 to python3.13 on the PATH, or their paths in PYTHON3_10 to PYTHON3_13. With
pyenv, PYENV_VERSION=3.10.13:3.11.7:... puts several on the PATH. Each combination gets a fresh
environment and unpacks the distribution anew. A combination that passed stays in a file. So
another run tries only those that failed or were interrupted, as long as the files that are
distributed are the same.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import venv
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
# What pip and pytest are told, for each choice of versions.
VERSIONS: Mapping[str, tuple[list[str], list[str]]] = {
    # Old packages use what newer ones, which they require without a limit, mean to remove.
    "oldest": (["-c", ".ci/oldest.txt"], ["-W", "ignore::DeprecationWarning"]),
    "newest": ([], []),
}
TESTS = ["-n", "auto", "--dist", "loadfile"]
PASSED = "passed"
COLUMNS = ("python", "versions", "outcome", "passed", "failed", "skipped", "minutes")


def main() -> None:
    """Test the combinations that are asked for, and show a table of all results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", nargs="+", choices=PYTHONS, default=PYTHONS)
    parser.add_argument("--versions", nargs="+", choices=VERSIONS, default=list(VERSIONS))
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "sdist", help="its folder")
    parser.add_argument("tests", nargs="*", help="arguments of pytest, after --")
    args = parser.parse_args()
    work = args.work.resolve()
    sdist = build_sdist(work)
    key = {"files": hash_of(sdist), "tests": args.tests}
    results = []
    for python in args.python:
        for versions in args.versions:
            folder = work / f"{python}-{versions}"
            path = folder / "result.json"
            result = read_result(path)
            if result.get("key") != key or result["outcome"] != PASSED:
                show(f"{python} {versions} ...")
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                result = {"key": key, **check(sdist, folder, python, versions, args.tests)}
                path.write_text(json.dumps(result, indent=2), encoding="utf8")
            results.append({"python": python, "versions": versions, **result})
    show_table(results)
    sys.exit(any(result["outcome"] != PASSED for result in results))


def read_result(path: Path) -> dict[str, Any]:
    """Return what a combination came to, or nothing if it was not completed."""
    with suppress(FileNotFoundError, ValueError):
        return dict(json.loads(path.read_text("utf8")))
    return {}


def build_sdist(work: Path) -> Path:
    """Build the source distribution, in an environment of its own, and return its path.

    Raises CalledProcessError if it cannot be built, or is not as a package index wants it.
    """
    folder = work / "build"
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    run(folder / "log.txt", [python, "-m", "pip", "install", "-q", "build", "twine"])
    run(folder / "log.txt", [python, "-m", "build", "-q", "--sdist", "-o", folder / "dist", ROOT])
    (sdist,) = (folder / "dist").glob("*.tar.gz")
    run(folder / "log.txt", [python, "-m", "twine", "check", "--strict", sdist])
    return sdist


def hash_of(sdist: Path) -> str:
    """Return a hash of the names and contents of all files, whenever they were packed."""
    found = hashlib.sha256()
    with tarfile.open(sdist) as files:
        for member in sorted(files.getmembers(), key=lambda member: member.name):
            if file_ := files.extractfile(member) if member.isfile() else None:
                found.update(repr((member.name, file_.read())).encode("utf8"))
    return found.hexdigest()


def find_python(python: str) -> str | None:
    """Return the path of a version of Python that starts, or None."""
    name = os.environ.get(f"PYTHON{python.replace('.', '_')}", f"python{python}")
    code = "import sys; print(sys.executable, *sys.version_info[:2])"
    with suppress(OSError):
        done = subprocess.run([name, "-c", code], capture_output=True, text=True, check=False)
        path, *version = done.stdout.split() or [""]
        return path if version == python.split(".") else None
    return None


def check(
    sdist: Path, folder: Path, python: str, versions: str, tests: Sequence[str]
) -> dict[str, Any]:
    """Install the distribution in a folder, and run its tests."""
    start = time.monotonic()
    log, report = folder / "log.txt", folder / "report.xml"
    of_pip, of_pytest = VERSIONS[versions]
    if (base := find_python(python)) is None:
        return {"outcome": f"no python{python}: put it on the PATH"}
    with tarfile.open(sdist) as files:
        files.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    command = folder / "venv" / "bin" / "python"
    find = "import spacy_multihash; print(*spacy_multihash.__path__)"
    try:
        run(log, [base, "-m", "venv", folder / "venv"])
        run(log, [command, "-m", "pip", "install", "-q", *of_pip, ".[dev]"], source)
        shutil.rmtree(source / "build", ignore_errors=True)
        installed = subprocess.check_output([command, "-c", find], cwd=folder, text=True).strip()
        run(log, ["diff", "-r", "-x", "__pycache__", installed, source / "spacy_multihash"])
    except subprocess.CalledProcessError:
        return {"outcome": f"not installed: {log}", "minutes": minutes_since(start)}
    arguments = [*TESTS, *of_pytest, f"--junitxml={report}", *tests]
    try:
        run(log, [command, "-m", "pytest", *arguments], source)
    except subprocess.CalledProcessError:
        outcome = f"failed: {log}"
    else:
        outcome = PASSED
        shutil.rmtree(folder / "unpacked")
        shutil.rmtree(folder / "venv")
    return {"outcome": outcome, **read_counts(report), "minutes": minutes_since(start)}


def run(log: Path, command: Sequence[str | Path], folder: Path | None = None) -> None:
    """Run a command, with what it says at the end of a file."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    # What was set for this process, the path of modules above all, is not for that one.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with log.open("a", encoding="utf8") as file_:
        subprocess.run(
            command, cwd=folder, env=env | threads, stdout=file_, stderr=file_, check=True
        )


def read_counts(report: Path) -> dict[str, int]:
    """Return how many tests passed, failed and were skipped; none without a report."""
    if not report.exists():
        return {}
    (suite,) = ElementTree.parse(report).getroot()
    total, failures, errors, skipped = (
        int(suite.attrib[name]) for name in ("tests", "failures", "errors", "skipped")
    )
    failed = failures + errors
    return {"passed": total - failed - skipped, "failed": failed, "skipped": skipped}


def minutes_since(start: float) -> float:
    """Return the minutes since a time."""
    return round((time.monotonic() - start) / 60, 1)


def show_table(results: Sequence[Mapping[str, Any]]) -> None:
    """Show a line for each combination."""
    rows = [COLUMNS, *([str(result.get(name, "")) for name in COLUMNS] for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        show("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def show(line: str) -> None:
    """Write a line to the terminal at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
