"""How true the probabilities of entities are: of a published pipeline, and of runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Annotated, Any, Optional

import spacy
import typer
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from thinc.api import Config
from wasabi import msg

from experiments.arms.recipe import CHOSEN
from experiments.runs.english import ENGLISH, load_english
from experiments.runs.files import CALIBRATIONS, FORMAT, read_result, results_path
from experiments.runs.grid import CORPUS, RUNS, Run, run_config
from experiments.runs.one import trained_model
from experiments.runs.training import MODEL
from spacy_multihash.common.files import write_json
from spacy_multihash.corpus.read import model_examples
from spacy_multihash.ner.judged import best_temperature, compare, judge_entities

BATCH_NER = "batch_ner"
STEPS = 1500
# What labels of WNUT 2017 and of OntoNotes count as. en_core_web_md has more labels: what it finds
# as one of them, such as a date, WNUT 2017 does not annotate.
WNUT = {
    "person": "PERSON",
    "PERSON": "PERSON",
    "location": "GPE",
    "GPE": "GPE",
    "LOC": "GPE",
    "FAC": "GPE",
    "corporation": "ORG",
    "group": "ORG",
    "ORG": "ORG",
    "product": "PRODUCT",
    "PRODUCT": "PRODUCT",
    "creative-work": "WORK_OF_ART",
    "WORK_OF_ART": "WORK_OF_ART",
}


@dataclass(frozen=True)
class Case:
    """A model to calibrate.

    dataset (str): Its data set: the temperature is fitted on dev.
    component (str): Its recognizer.
    load (Callable): The path of en_core_web_md -> the pipeline.
    same (Optional[Mapping[str, str]]): What each label counts as, as in `judge_entities`.
    run (Optional[Run]): The run whose model it is.
    """

    dataset: str
    component: str
    load: Callable[[str], Language]
    same: Optional[Mapping[str, str]] = None
    run: Optional[Run] = None


def small_config() -> Config:
    """Make the config of the small model: a run of conll-es with few steps."""
    config = run_config(Run("conll-es", BATCH_NER))
    config["training"].update({"max_steps": STEPS, "eval_frequency": 500})
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1", "progress_bar": False}
    return config


def _load_small(_: str) -> Language:
    """Load the small model, and train it first if there is none."""
    folder = RUNS / "calibration" / BATCH_NER
    if not folder.is_dir():
        part = folder.with_suffix(".part")  # of a training that may be interrupted
        part.mkdir(parents=True, exist_ok=True)
        small_config().to_disk(part / "config.cfg", interpolate=False)
        spacy_train(part / "config.cfg", part)
        part.rename(folder)
    return spacy.load(folder / MODEL)


def _case_of_run(run: Run) -> Case:
    """Make the case of the model of a run, which has a `tagger_ner`."""
    return Case(run.dataset, "tagger_ner", lambda _: spacy.load(run.folder / MODEL), run=run)


CASES = {
    f"wnut17-{ENGLISH}": Case("wnut17", "ner", load_english, WNUT),
    f"conll-es-{BATCH_NER}": Case("conll-es", "ner", _load_small),
    **{
        f"{dataset}-recommended": _case_of_run(Run(dataset, CHOSEN))
        for dataset in ("conll-es", "turku-one", "wnut17")
    },
}


def check_case(case: Case) -> None:
    """Raise FileNotFoundError if the corpus of a case is missing, or the model of its run."""
    corpus = CORPUS / case.dataset
    if not (corpus / "dev.spacy").is_file():
        raise FileNotFoundError(
            f"There is no corpus at {corpus}. Make it with: "
            f"python -m experiments convert {case.dataset} assets {corpus}"
        )
    if case.run is None:
        return
    results = results_path(case.run)
    if not results.is_file():
        raise FileNotFoundError(
            f"There is no file {results}. Train the run with: python -m experiments run-one "
            f"{case.run.name}"
        )
    trained_model(case.run, read_result(results))


def calibrate_case(case: Case, nlp: Language, corpus: Path) -> dict[str, Any]:
    """Fit the temperature on dev, and compare it with the former one on dev and on test.

    corpus (Path): The folder with dev.spacy and test.spacy.
    """
    start = process_time()
    examples = list(model_examples(nlp, corpus / "dev.spacy"))
    dev = judge_entities(nlp, case.component, examples, case.same)
    found = process_time()
    temperature = best_temperature(dev)
    fitted = process_time()
    examples = list(model_examples(nlp, corpus / "test.spacy"))
    test = judge_entities(nlp, case.component, examples, case.same)
    return {
        "format": FORMAT,
        "dataset": case.dataset,
        "factory": nlp.get_pipe_meta(case.component).factory,
        "temperature": temperature,
        "find_seconds": round(found - start, 1),
        "fit_seconds": round(fitted - found, 1),
        "dev": compare(dev, temperature).as_json(),
        "test": compare(test, temperature).as_json(),
    }


def calibration(english: str, output: Path) -> dict[str, dict[str, Any]]:
    """Calibrate the models of all cases, and write the results of each to OUTPUT/CASE.json.

    english (str): The path of en_core_web_md, or the name of its package.

    Raises FileNotFoundError if a corpus or the model of a run is missing, and OSError if
    en_core_web_md is.
    """
    results = {}
    for case in CASES.values():
        check_case(case)
    for name, case in CASES.items():
        results[name] = calibrate_case(case, case.load(english), CORPUS / case.dataset)
        write_json(output / f"{name}.json", results[name])
    return results


def calibration_cli(
    english: Annotated[str, typer.Option(help="en_core_web_md: a package, or a path")] = ENGLISH,
    output: Annotated[Path, typer.Option(help="The folder of results")] = CALIBRATIONS,
) -> None:
    """Measure how true probabilities of entities are, before and after calibration.

    A small model with batch_ner is trained first, unless training/calibration/ has it. The models
    with the recommended settings are those of runs, which have to be there.

    DOCS: docs/ner.md
    """
    try:
        results = calibration(english, output)
    except ImportError as error:
        advice = "Install what it needs: python -m pip install -e '.[plots]'"
        msg.fail("Could not calibrate", f"{error}. {advice}", exits=1)
    except (OSError, ValueError) as error:
        msg.fail("Could not calibrate", str(error), exits=1)
    for name, result in results.items():
        old, new = (result["test"][key]["error"] for key in ("before", "after"))
        msg.good(
            f"{name}: temperature {result['temperature']}, error on test {100 * old:.1f} % before "
            f"and {100 * new:.1f} % after"
        )
