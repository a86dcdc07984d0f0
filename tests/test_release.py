"""What a release says of itself: its version, its parts, and the files it is made of."""

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
