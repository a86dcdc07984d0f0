"""The oldest versions that are allowed, and those that CI installs."""

import re
from configparser import ConfigParser

from tests.helpers.paths import ROOT

# spaCy 3.8.15 needs it, and we do not import it. With later versions, typer 0.16 leaves the
# arguments of commands unexplained.
NOT_OURS = {"click": "8.2.1"}


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
    constraints = [line.split("==") for line in text.splitlines() if not line.startswith("#")]
    assert [name for name, _ in constraints] == sorted(name for name, _ in constraints)
    assert {name: version for name, version in constraints} == oldest | NOT_OURS
