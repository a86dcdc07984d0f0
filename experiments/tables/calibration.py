"""The table of docs/ner.md: how true the probabilities of entities are."""

from collections.abc import Mapping
from pathlib import Path

from experiments.runs.files import read_result
from experiments.tables.markdown import markdown
from spacy_multihash.ner.calibration import Calibration, Quality

SPLITS = ("dev", "test")
NUMBERS = (
    "entities",
    "right, %",
    "error, %",
    "error after, %",
    "log loss",
    "log loss after",
)


def read_calibrations(folder: Path) -> dict[str, dict[str, Calibration]]:
    """Read what was measured of each model, on dev and on test.

    folder (Path): The folder of files MODEL.json, as `python -m experiments calibration` writes
        them.

    Raises ValueError for a damaged file, or one of another format.
    """
    return {
        path.stem: {split: Calibration.from_json(result[split]) for split in SPLITS}
        for path in sorted(folder.glob("*.json"))
        for result in (read_result(path),)
    }


def render_calibration(found: Mapping[str, Mapping[str, Calibration]]) -> str:
    """Render the numbers of all models, and those of each label on test, as Markdown.

    found (Mapping[str, Mapping[str, Calibration]]): Model -> split -> what was measured.
    """
    lines, labels = [], []
    for name, splits in found.items():
        for split in SPLITS:
            one = splits[split]
            numbers = _numbers(one.before, one.after)
            lines.append((*_model(name), split, f"{one.temperature:.2f}", *numbers))
        for label, both in splits["test"].labels.items():
            labels.append((*_model(name), label, *_numbers(*both)))
    body = markdown(("data set", "model", "split", "temperature", *NUMBERS), lines, left=(0, 1, 2))
    of_labels = markdown(("data set", "model", "label", *NUMBERS), labels, left=(0, 1, 2))
    details = f"<details>\n<summary>Each label, on test</summary>\n\n{of_labels}\n\n</details>"
    return f"{body}\n\n{details}"


def _numbers(before: Quality, after: Quality) -> tuple[str, ...]:
    return (
        f"{before.entities:,}",
        f"{100 * before.share:.1f}",
        f"{100 * before.error:.1f}",
        f"{100 * after.error:.1f}",
        f"{before.loss:.3f}",
        f"{after.loss:.3f}",
    )


def _model(name: str) -> tuple[str, str]:
    """Return the data set and the model that the name of a file says."""
    dataset, _, model = name.rpartition("-")
    return dataset, model
