"""What several test files use."""

import logging
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import spacy
from hypothesis import settings
from spacy.lang.en import EnglishDefaults
from spacy.lang.nl import DutchDefaults
from spacy.language import Language
from thinc.api import Ops, fix_random_seed, get_current_ops, require_gpu, set_current_ops
from thinc.util import has_cupy_gpu

from spacy_multihash.compute.dispatch import available_kernels
from tests.helpers.kernels import using_kernels
from tests.helpers.paths import ROOT, SHARED
from tests.helpers.recognizers import trained

# A machine that others share may take any time for an example. Half of the usual examples are
# enough for each run, since each draws others.
settings.register_profile("suite", deadline=None, max_examples=50)
settings.load_profile("suite")

# English has 1,300 exceptions, and to cut them takes most of the time that a new pipeline needs.
# Tests have pipelines by the thousand, and texts with few of the exceptions. Dutch has 4,700.
EnglishDefaults.tokenizer_exceptions = {
    word: EnglishDefaults.tokenizer_exceptions[word]
    for word in ("Can't", "Corp.", "Don't", "Dr.", "It's", "Mr.", "can't", "don't", ":)")
}
DutchDefaults.tokenizer_exceptions = {}


# The files that take longest begin, so that no core waits for one of them at the end.
SLOW = [
    "test_docs.py",
    "cli/test_fit.py",
    "test_spacy_suite.py",
    "test_notebooks.py",
    "corpus/test_published_corpora.py",
    "experiments/test_runs.py",
    "experiments/test_arms.py",
    "benchmarks/test_benchmarks.py",
    "experiments/test_collate.py",
    "scale/test_apply.py",
    "scale/test_cluster.py",
    "scale/test_workers.py",
    "test_pipeline.py",
]


def pytest_configure(config: pytest.Config) -> None:
    # Files go to workers in the order below, rather than by their numbers of tests.
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {ROOT / "tests" / name: place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture
def messages(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], str]]:
    """Give what spaCy's logger says, which does not pass it on."""
    logger = logging.getLogger("spacy")
    logger.addHandler(caplog.handler)
    caplog.set_level(logging.INFO, logger="spacy")
    yield lambda: caplog.text
    logger.removeHandler(caplog.handler)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a new folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def _fixed_seed() -> None:
    fix_random_seed(0)


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"real data is not there: {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def english(shared: Path) -> Language:
    """Load a trained pipeline with all components, and static vectors. No test changes it."""
    # W095: the pipeline was trained with an older minor version of spaCy
    with pytest.warns(UserWarning, match="W095"):
        return spacy.load(shared / "pipelines" / "en_core_web_md-3.7.1")


@pytest.fixture(params=[*available_kernels(), pytest.param("gpu", marks=pytest.mark.gpu)])
def ops(request: pytest.FixtureRequest) -> Iterator[Ops]:
    """Run a test with each of the kernels, with array code, and with CuPy on a CUDA device."""
    if request.param == "gpu":
        yield request.getfixturevalue("gpu")
    else:
        with using_kernels(request.param):
            yield get_current_ops()


@pytest.fixture(params=available_kernels())
def each_kernels(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run a test with each of the kernels, and with array code."""
    with using_kernels(request.param):
        yield


@pytest.fixture
def gpu() -> Iterator[Ops]:
    """Run a test with CuPy. Without a CUDA device, it is skipped."""
    if not has_cupy_gpu:
        pytest.skip("no CUDA device with CuPy")
    before = get_current_ops()
    require_gpu()
    yield get_current_ops()
    set_current_ops(before)


@pytest.fixture(scope="session")
def scheduler() -> Iterator[str]:
    """Start a Dask scheduler with two workers, and give its address."""
    distributed = pytest.importorskip("distributed", reason="there is no Dask: extra dask")
    import dask

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    config = {
        # One lost worker is not enough to give an item up, and two are.
        "distributed.scheduler.allowed-failures": 1,
        # By default, a busy machine may have no time to start a worker again.
        "distributed.deploy.lost-worker-timeout": "10 minutes",
    }
    with dask.config.set(config):
        with distributed.LocalCluster(**settings, silence_logs=50) as cluster:
            yield cluster.scheduler_address


@pytest.fixture(scope="session")
def recognizer(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the folder of a pipeline with tagger_ner or batch_ner, which is only read."""

    @cache
    def folder(factory: str) -> Path:
        path = tmp_path_factory.mktemp("recognizer") / factory
        trained(factory).to_disk(path)
        return path

    return folder
