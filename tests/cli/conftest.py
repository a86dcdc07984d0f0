"""Trained recognizers, each trained once for all commands."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.helpers.recognizers import trained


@pytest.fixture(scope="session")
def recognizer(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the folder of a pipeline with tagger_ner or batch_ner, which is only read."""

    @cache
    def folder(factory: str) -> Path:
        path = tmp_path_factory.mktemp("recognizer") / factory
        trained(factory).to_disk(path)
        return path

    return folder
