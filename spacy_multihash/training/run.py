"""Train the pipeline of a plan on its splits, or on others, and score it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from thinc.api import Config

from ..common.files import write_bytes
from ..common.load import load_pipeline, naming_config, read_config
from ..common.progress import Progress, no_progress
from ..corpus.evaluation import predict, read_known_entities
from ..corpus.read import model_examples, write_corpora
from .loop import History, train
from .plan import FitPlan
from .scores import SplitScores, score_predicted
from .texts import score_texts


def write_splits(folder: Path, docs: Mapping[str, Sequence[Doc]]) -> dict[str, Path]:
    """Write corpora as FOLDER/NAME.spacy, and return their paths."""
    write_corpora(folder, {name: DocBin(docs=of_split) for name, of_split in docs.items()})
    return {name: folder / f"{name}.spacy" for name in docs}


def write_config(path: Path, config: Config, corpus: Path, reasons: Sequence[str]) -> None:
    """Write a config for the corpora in a folder, with reasons as comments."""
    config["paths"].update({name: str(corpus / f"{name}.spacy") for name in ("train", "dev")})
    header = "".join(f"# {line}\n" for line in reasons)
    write_bytes(path, f"{header}\n{config.to_str(interpolate=False)}\n".encode())


def train_config(
    path: Path, model: Path, corpora: Mapping[str, Path], progress: Progress = no_progress
) -> History:
    """Train a config at a path on corpora at others."""
    paths = {f"paths.{name}": str(corpora[name]) for name in ("train", "dev")}
    with naming_config(path):
        return train(read_config(path, paths), model, progress)


@contextmanager
def trained_again(
    plan: FitPlan, docs: Mapping[str, Sequence[Doc]]
) -> Iterator[tuple[Language, dict[str, Path]]]:
    """Train with the plan's settings on other splits. Give the pipeline, and the docs' paths."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        paths = write_splits(folder, docs)
        write_config(folder / "config.cfg", plan.config.copy(), folder, ())
        train_config(folder / "config.cfg", folder / "model", paths)
        yield load_pipeline(folder / "model"), paths


def score_splits(
    plan: FitPlan, nlp: Language, paths: Mapping[str, Path], splits: Sequence[str]
) -> dict[str, SplitScores]:
    """Score a pipeline on dev and test, or on one of them.

    paths (Mapping[str, Path]): The corpora. Entities are seen if train has them.
    """
    examples = {name: list(model_examples(nlp, paths[name])) for name in splits if name in paths}
    if plan.options.textcat:
        return {name: score_texts(nlp, of_split) for name, of_split in examples.items()}
    in_train, split = read_known_entities(paths["train"], nlp.vocab), plan.split
    scores = {}
    for name, of_split in examples.items():
        predict(nlp, of_split)
        regions = split.regions.get(name, ())
        repeats = plan.stats.repeats if name in split.regions else None
        scores[name] = score_predicted(
            of_split, in_train, regions=regions, by=split.by, repeats=repeats
        )
    return scores
