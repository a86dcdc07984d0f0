"""Errors of what is loaded."""

import errno

import pytest

from spacy_multihash.common.load import loading


@pytest.mark.parametrize("code", [(), (errno.ENOENT,), (errno.EACCES,)])
def test_missing_files_are_wrong_values_and_others_errors_of_the_disk(code: tuple) -> None:
    kind, message = (OSError, "denied") if errno.EACCES in code else (ValueError, "No x. .*denied")
    with pytest.raises(kind, match=message):
        with loading("the x", "x", "No x."):
            raise OSError(*code, "denied")
