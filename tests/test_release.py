"""What a release says of itself: its versions, its parts, and the files it is made of."""

import re
from configparser import ConfigParser

import srsly

import spacy_multihash
from tests.helpers.paths import ROOT

SETUP = ConfigParser()
SETUP.read(ROOT / "setup.cfg")


def test_citation_is_of_this_version() -> None:
    citation = srsly.yaml_loads((ROOT / "CITATION.cff").read_text("utf8"))
    metadata = SETUP["metadata"]
    assert citation["version"] == spacy_multihash.__version__
    assert citation["title"] == metadata["name"]
    assert citation["license"] == metadata["license"]
    assert "arXiv:2212.09255" in str(citation["preferred-citation"])
    assert all(paper["authors"] and paper["notes"] for paper in citation["references"])


def test_source_distribution_names_files_that_are_there() -> None:
    lines = (ROOT / "MANIFEST.in").read_text("utf8").splitlines()
    names = [
        name for line in lines for name in line.split()[1:] if line.startswith(("graft", "inc"))
    ]
    assert len(names) > 10
    assert not [name for name in names if not (ROOT / name).exists()]
    folders = {path.name for path in ROOT.glob("*/__init__.py")} | {"configs", "docs", "results"}
    assert folders - {"__init__.py"} <= set(names)


# The oldest versions that are allowed, and those that CI installs


# spaCy 3.8.15 needs it, and we do not import it. With later versions, typer 0.16 leaves the
# arguments of commands unexplained.
NOT_OURS = {"click": "8.2.1"}
# Of some versions, Python 3.13 has no wheels.
EARLIER, LATER = '; python_version < "3.13"', '; python_version >= "3.13"'


def test_constraints_of_ci_are_the_oldest_versions_that_setup_cfg_allows() -> None:
    config = ConfigParser()
    config.read(ROOT / "setup.cfg")
    extras = config["options.extras_require"].values()
    lines = "\n".join([config["options"]["install_requires"], *extras]).split()
    oldest = {}
    for line in lines:
        found = re.fullmatch(r"([\w-]+)>=([\d.]+)(,<[\d.]+)?", line)
        assert found, f"setup.cfg requires {line}: expected NAME>=OLDEST or NAME>=OLDEST,<TOO_NEW"
        name, version, _ = found.groups()
        assert oldest.setdefault(name, version) == version, f"setup.cfg has two floors of {name}"

    text = (ROOT / ".ci" / "oldest.txt").read_text()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    names = [line.partition("==")[0] for line in lines]
    assert names == sorted(names)
    newer = [line.partition(LATER) for line in lines if LATER in line]
    constraints = [line.partition(EARLIER)[0] for line in lines if LATER not in line]
    assert dict(line.split("==") for line in constraints) == oldest | NOT_OURS
    # What a later Python needs is newer, and the version for earlier ones says that it is theirs.
    for name, version in (line.split("==") for line, _, _ in newer):
        assert f"{name}=={oldest[name]}{EARLIER}" in lines
        assert parse(version) > parse(oldest[name])
    assert len(newer) == sum(EARLIER in line for line in lines)


def parse(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]
