import mmh3
import numpy
from hypothesis import given
from hypothesis import strategies as st
from thinc.api import Ops, get_current_ops, to_numpy

from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.compute.ops import operations
from tests.helpers.kernels import using_kernels

IDS = st.integers(0, 2**64 - 1)
DOCS = st.lists(st.lists(IDS, max_size=14), max_size=6)
ORDERS = st.sets(st.integers(1, 10), min_size=1).map(sorted)


def reference(doc: list[int], orders: list[int]) -> list[int]:
    """Hash with mmh3, one n-gram at a time."""
    ngrams = []
    for start in range(len(doc)):
        for order in orders:
            ids = doc[start : start + order]
            if len(ids) == order:
                key = b"".join(i.to_bytes(8, "little") for i in ids)
                hashed = mmh3.hash64(key, 0, x64arch=True, signed=False)[0]
                ngrams.append(ids[0] if order == 1 else hashed)
    return ngrams


def ngrams_of(docs: list[list[int]], orders: list[int]) -> tuple[list[int], list[int]]:
    ids = get_current_ops().asarray(numpy.array(sum(docs, []), dtype="uint64"))
    lengths = numpy.array([len(doc) for doc in docs], dtype="int32")
    ngrams, counts = operations(ids).hash_ngrams(ids, lengths, orders)
    assert ngrams.dtype == "uint64"
    assert counts.dtype == "int32"
    return to_numpy(ngrams).tolist(), counts.tolist()


@given(docs=DOCS, orders=ORDERS)
def test_hash_ngrams_equal_mmh3(docs: list[list[int]], orders: list[int]) -> None:
    expected = [reference(doc, orders) for doc in docs]
    for kernels in available_kernels():
        with using_kernels(kernels):
            found = ngrams_of(docs, orders)
        assert found == (sum(expected, []), [len(ngrams) for ngrams in expected])


def test_ngrams_of_three_tokens_never_change(ops: Ops) -> None:
    ngrams, _ = ngrams_of([[1, 2, 3]], [1, 2, 3])
    two, three, last_two = 16063648466534526982, 13045406365036049729, 9600194020079888885
    assert ngrams == [1, two, three, 2, last_two, 3]


def test_ids_that_are_passed_in_are_not_written_to() -> None:
    ids = numpy.arange(5, dtype="uint64")
    operations(ids).hash_ngrams(ids, numpy.array([5], dtype="int32"), [1, 2, 3])
    assert ids.tolist() == [0, 1, 2, 3, 4]
