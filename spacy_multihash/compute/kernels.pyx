# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The compiled kernels: C files beside this one, once for each instruction set.

This is the border between Python and C. Each function checks, before it computes, that the sizes
of its arrays agree, and that row and label numbers are in range; nothing inside checks again.
`pointer_to` and `rows_of` are the only places where an array becomes a pointer. What doesn't agree
raises ValueError with the layer's name; a number out of range is an IndexError, too.

Classes keep arrays that were checked once, for many calls: see compute/plans.py. No function holds
the GIL while it computes, so that any number of threads may call them.
"""

cimport numpy as cnp
from libc.limits cimport INT_MAX
from libc.math cimport INFINITY
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport INTPTR_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc

import numpy
from thinc.backends import cblas as thinc_cblas

from cpython.dict cimport PyDict_GetItemWithError
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport PyObject

from spacy_multihash.common.checks import OutOfRange
from spacy_multihash.compute.hashing import group_seeds

cnp.import_array()


cdef extern from "kernels.h" nogil:
    enum:
        NO_ACTION, ANY_LABEL, NO_LABEL, MAX_HASHES, BREAK, STARTS, SPACES, OUTSIDE, ADAM_BLOCK

    ctypedef struct StateScorer:
        const float *W
        const float *b
        const float *pad
        const float *upper
        const float *upper_b
        const uint8_t *unseen
        int nI, nF, nH, nP, nO

    ctypedef struct CRecognizer "Recognizer":
        StateScorer scorer
        const float *X
        const int64_t *B
        const int64_t *I
        const int64_t *L
        const int64_t *U
        int64_t O, blocked
        const int64_t *begins
        const int64_t *units
        const int64_t *goes_on
        const int64_t *closes
        const int64_t *may_be_outside
        const int64_t *is_blocked
        int K, relu

    ctypedef struct Decoding:
        const int64_t *ends
        const int64_t *begins
        const int64_t *starts
        const int64_t *labels
        ptrdiff_t S, batch
        const float *mask
        int64_t *state_starts
        int64_t *state_labels
        int64_t *actions
        float *hidden
        uint8_t *which
        int64_t *ent_starts
        int64_t *ent_ends
        int64_t *ent_labels
        ptrdiff_t entities

    ctypedef struct CParser "Parser":
        StateScorer scorer
        const uint8_t *kinds
        const uint8_t *is_subtok
        const uint8_t *is_decorated
        const uint64_t *labels
        uint64_t root

    ctypedef struct Parsing:
        const float *X
        const uint64_t *attrs
        const int64_t *lengths
        ptrdiff_t D
        int64_t *heads
        uint64_t *deps
        uint8_t *is_decorated

    ctypedef struct Layer:
        const float *W
        const float *b
        const float *G
        const float *beta
        int nI, nO, nP, window, dilation, relu, residual

    ctypedef struct Docs:
        const int64_t *lengths
        ptrdiff_t D
        int before, after, pad

    ctypedef struct Tables:
        float **tables
        const uint32_t *nV
        const uint32_t *seeds
        const int32_t *num_hashes
        int A, W

    ctypedef struct Bags:
        const int32_t *rows
        const float *weights
        const int64_t *ends
        int K, W, mean

    ctypedef struct Column:
        const float *table
        const uint64_t *keys
        const int32_t *row_of
        ptrdiff_t V
        const float *importance
        uint32_t nV, importance_rows, importance_seed
        uint32_t seeds[4]
        int K, W, is_bag, mean, is_appended

    ctypedef struct Tokens:
        const uint64_t *ids
        const uint64_t *const *bags
        const int64_t *const *ends
        const float *given
        int width

    ctypedef struct Adam:
        float clip, beta1, beta2, eps, learn_rate, decay, average_rest

    double c_sum_squares "sum_squares"(ptrdiff_t, const float *, uint8_t *) noexcept
    void c_adam "adam"(
        const Adam *, ptrdiff_t, float *, float *, float *, float *, float *, const uint8_t *,
        uint8_t *
    ) noexcept
    ptrdiff_t c_distinct_rows "distinct_rows"(
        const uint64_t *, ptrdiff_t, int, int64_t *, int32_t *
    ) noexcept

    ctypedef struct Kernels:
        const char *name
        int (*affine)(
            const float *, ptrdiff_t, ptrdiff_t, int, const float *, const float *, int, float *
        ) noexcept nogil
        int (*decode)(const CRecognizer *, Decoding *) noexcept nogil
        int (*maxout)(
            const Layer *, const Docs *, const float *, ptrdiff_t, ptrdiff_t, const float *,
            float *, uint8_t *, float *, float *
        ) noexcept nogil
        void (*back_to_sums)(
            const Layer *, ptrdiff_t, const float *, const float *, const float *,
            const uint8_t *, float *
        ) noexcept nogil
        int (*back_to_input)(
            const Layer *, const Docs *, const float *, const uint8_t *, const float *,
            ptrdiff_t, ptrdiff_t, float *
        ) noexcept nogil
        int (*back_to_weights)(
            const Layer *, const Docs *, const float *, ptrdiff_t, const float *,
            const uint8_t *, const float *, const float *, int, int, float *, float *,
            float *, float *
        ) noexcept nogil
        int (*encode)(
            const Layer *, int, int, const int64_t *, ptrdiff_t, ptrdiff_t, const float *, float *
        ) noexcept nogil
        void (*hash_embed)(
            const Tables *, const uint64_t *, ptrdiff_t, ptrdiff_t, int32_t *, float *
        ) noexcept nogil
        void (*hash_embed_backward)(
            const Tables *, const int32_t *, const float *, ptrdiff_t, int, int
        ) noexcept nogil
        void (*gather_sum)(
            const Bags *, const float *, ptrdiff_t, ptrdiff_t, float *, ptrdiff_t
        ) noexcept nogil
        void (*scatter_sum)(
            const Bags *, float *, ptrdiff_t, const float *, ptrdiff_t, int, int
        ) noexcept nogil
        void (*gather_dot)(
            const Bags *, const float *, ptrdiff_t, ptrdiff_t, const float *, ptrdiff_t, float *
        ) noexcept nogil
        void (*hash_rows)(
            const uint64_t *, ptrdiff_t, uint32_t, const uint32_t *, int, int32_t *
        ) noexcept nogil
        void (*hash_ngrams)(
            const uint64_t *, const int64_t *, ptrdiff_t, const int32_t *, int, uint64_t *
        ) noexcept nogil
        void (*look_up)(
            const uint64_t *, ptrdiff_t, const uint64_t *, const int32_t *, ptrdiff_t, int32_t *
        ) noexcept nogil
        int (*mix)(
            const Column *, int, const Layer *, const Tokens *, ptrdiff_t, ptrdiff_t, ptrdiff_t,
            float *
        ) noexcept nogil
        int (*viterbi)(
            const float *, int, const double *, const uint8_t *, const int64_t *, ptrdiff_t,
            int64_t *
        ) noexcept nogil
        int (*parse)(const CParser *, const Parsing *) noexcept nogil

    const Kernels *find_kernels(const char *name)
    const char *best_kernels()


NAMES = ("avx512", "avx2", "baseline")  # the widest vectors first

cdef const Kernels *kernels = find_kernels(b"baseline")


def use(name):
    """Compute with the kernels of an instruction set that the machine has."""
    global kernels
    cdef const Kernels *chosen = find_kernels(name.encode())
    if chosen is NULL:
        raise ValueError(f'This machine has no kernels "{name}"; it has: {", ".join(available())}.')
    kernels = chosen


def best():
    """Name the instruction set that's the fastest on this kind of processor."""
    return best_kernels().decode()


def available():
    """List the instruction sets that the machine has, the widest vectors first."""
    return [name for name in NAMES if find_kernels(name.encode()) is not NULL]


# The border: arrays become pointers here, and nowhere else

cdef enum:
    ABSENT = -1  # in place of the size of a dimension that an array doesn't have


cdef void *pointer_to(
    str where, str name, array, char kind, int size, bint written, ptrdiff_t n, ptrdiff_t m,
    ptrdiff_t k,
) except NULL:
    """Return where the numbers of an array are, which must have the shape (n, m, k) and this type.

    where, name: The layer and the array, for messages.
    kind, size: As in numpy's dtypes: b"f" and 4 for float32.
    written: Whether the array is written to.
    m, k: ABSENT if the array has fewer dimensions.
    """
    cdef ptrdiff_t shape[3]
    cdef int ndim = 1 if m == ABSENT else 2 if k == ABSENT else 3, axis
    cdef cnp.ndarray values
    shape[0], shape[1], shape[2] = n, m, k
    if isinstance(array, numpy.ndarray):
        values = array
        if (
            values.ndim == ndim
            and values.descr.kind == kind
            and cnp.PyArray_ITEMSIZE(values) == size
            and cnp.PyArray_IS_C_CONTIGUOUS(values)
            and (cnp.PyArray_ISBEHAVED(values) if written else cnp.PyArray_ISBEHAVED_RO(values))
        ):
            for axis in range(ndim):
                if values.shape[axis] != shape[axis]:
                    break
            else:
                return cnp.PyArray_DATA(values)
    expected = tuple([shape[axis] for axis in range(ndim)])
    raise ValueError(
        f"Layer '{where}': expected {name} as a contiguous {'writable ' if written else ''}array of "
        f"shape {expected} and type {chr(kind)}{size}, got {_describe(array)}."
    )


def _describe(array):
    if not isinstance(array, numpy.ndarray):
        return f"{type(array).__name__}"
    flags = [
        word
        for word, is_so in (
            ("not contiguous", not array.flags.c_contiguous),
            ("not aligned", not array.flags.aligned),
            ("read-only", not array.flags.writeable),
        )
        if is_so
    ]
    return ", ".join([f"shape {array.shape} and type {array.dtype.str.lstrip('<=|')}", *flags])


cdef float *rows_of(
    str where, str name, array, bint written, ptrdiff_t n, ptrdiff_t W, ptrdiff_t *stride
) except NULL:
    """Return where n rows of W float32 numbers begin, and how many numbers they are apart.

    Each row must be contiguous. They may be columns of a wider array.
    """
    cdef cnp.ndarray values
    cdef ptrdiff_t size = sizeof(float), apart
    if isinstance(array, numpy.ndarray):
        values = array
        if (
            values.ndim == 2
            and values.descr.kind == b"f"
            and cnp.PyArray_ITEMSIZE(values) == size
            and (cnp.PyArray_ISBEHAVED(values) if written else cnp.PyArray_ISBEHAVED_RO(values))
            and values.shape[0] == n
            and values.shape[1] == W
            and (n == 0 or W < 2 or values.strides[1] == size)
        ):
            apart = values.strides[0] if n > 1 else W * size
            if apart % size == 0 and apart >= (W * size if written else 0):
                stride[0] = apart // size
                return <float *>cnp.PyArray_DATA(values)
    raise ValueError(
        f"Layer '{where}': expected {name} of shape {(n, W)} and type f4 with contiguous rows, "
        f"got {_describe(array)}."
    )


cdef const float *floats(
    str where, str name, array, ptrdiff_t n, ptrdiff_t m=ABSENT, ptrdiff_t k=ABSENT
) except NULL:
    return <const float *>pointer_to(where, name, array, b"f", 4, False, n, m, k)


cdef float *floats_out(
    str where, str name, array, ptrdiff_t n, ptrdiff_t m=ABSENT, ptrdiff_t k=ABSENT
) except NULL:
    return <float *>pointer_to(where, name, array, b"f", 4, True, n, m, k)


cdef const uint8_t *bytes_of(
    str where, str name, array, ptrdiff_t n, ptrdiff_t m=ABSENT
) except NULL:
    return <const uint8_t *>pointer_to(where, name, array, b"u", 1, False, n, m, ABSENT)


cdef uint8_t *bytes_out(str where, str name, array, ptrdiff_t n, ptrdiff_t m) except NULL:
    return <uint8_t *>pointer_to(where, name, array, b"u", 1, True, n, m, ABSENT)


cdef const int64_t *int64s(
    str where, str name, array, ptrdiff_t n, ptrdiff_t m=ABSENT
) except NULL:
    return <const int64_t *>pointer_to(where, name, array, b"i", 8, False, n, m, ABSENT)


cdef int64_t *int64s_out(
    str where, str name, array, ptrdiff_t n, ptrdiff_t m=ABSENT
) except NULL:
    return <int64_t *>pointer_to(where, name, array, b"i", 8, True, n, m, ABSENT)


cdef const int32_t *int32s(
    str where, str name, array, ptrdiff_t n, ptrdiff_t m=ABSENT, ptrdiff_t k=ABSENT
) except NULL:
    return <const int32_t *>pointer_to(where, name, array, b"i", 4, False, n, m, k)


cdef int32_t *int32s_out(
    str where, str name, array, ptrdiff_t n, ptrdiff_t m=ABSENT, ptrdiff_t k=ABSENT
) except NULL:
    return <int32_t *>pointer_to(where, name, array, b"i", 4, True, n, m, k)


cdef const uint64_t *uint64s(
    str where, str name, array, ptrdiff_t n, ptrdiff_t m=ABSENT
) except NULL:
    return <const uint64_t *>pointer_to(where, name, array, b"u", 8, False, n, m, ABSENT)


cdef uint64_t *uint64s_out(str where, str name, array, ptrdiff_t n) except NULL:
    return <uint64_t *>pointer_to(where, name, array, b"u", 8, True, n, ABSENT, ABSENT)


cdef const uint32_t *uint32s(
    str where, str name, array, ptrdiff_t n, ptrdiff_t m=ABSENT
) except NULL:
    return <const uint32_t *>pointer_to(where, name, array, b"u", 4, False, n, m, ABSENT)


cdef const Py_ssize_t *shape_of(str where, str name, array, int ndim) except NULL:
    """Return the shape of an array with so many dimensions."""
    if not isinstance(array, numpy.ndarray) or (<cnp.ndarray>array).ndim != ndim:
        raise ValueError(
            f"Layer '{where}': expected {name} as an array of {ndim} dimensions, "
            f"got {_describe(array)}."
        )
    return <const Py_ssize_t *>(<cnp.ndarray>array).shape


cdef enum:
    MOST = INT_MAX // 64  # of a width: 64 rows, a run's, are counted in C's int


cdef int as_int(
    str where, str name, ptrdiff_t size, ptrdiff_t least=0, ptrdiff_t most=MOST
) except? -1:
    """Return a size as C's int."""
    if not least <= size <= most:
        raise ValueError(f"Layer '{where}': {name} must be from {least} to {most}, got {size}.")
    return <int>size


cdef ptrdiff_t times(str where, str name, ptrdiff_t a, ptrdiff_t b) except -1:
    """Multiply two sizes."""
    if a < 0 or b < 0 or (a and b > INTPTR_MAX // a):
        raise ValueError(f"Layer '{where}': {name} is too large: {a} times {b}.")
    return a * b


cdef int check_part(str where, ptrdiff_t first, ptrdiff_t last, ptrdiff_t n) except -1:
    """Check that [first, last) is a part of n rows."""
    if not 0 <= first <= last <= n:
        raise ValueError(f"Layer '{where}': rows {first} to {last} are not among {n} rows.")
    return 0


cdef int check_lengths(
    str where, const int64_t *lengths, ptrdiff_t D, ptrdiff_t rows, ptrdiff_t around=0,
    ptrdiff_t pad=0,
) except -1:
    """Check that docs with `around` more rows on each side, and `pad` more in all, have `rows`."""
    cdef ptrdiff_t total = pad, d, padding = times(where, "the padding", 2 * around, D)
    for d in range(D):
        if not 0 <= lengths[d] <= rows - total:
            total = -1
            break
        total += lengths[d]
    if total < 0 or rows - total != padding:
        raise ValueError(
            f"Layer '{where}': lengths of {D} docs, with {padding + pad} rows of padding, do not "
            f"add up to {rows} rows."
        )
    return 0


cdef int check_numbers(
    str where, str name, const int64_t *numbers, ptrdiff_t n, int64_t low, int64_t high
) except -1:
    """Check that all numbers are in [low, high)."""
    cdef ptrdiff_t i
    for i in range(n):
        if not low <= numbers[i] < high:
            raise OutOfRange(
                f"Layer '{where}': {name} must be from {low} to {high - 1}, got {numbers[i]}."
            )
    return 0


# Products


def product(X, W, ptrdiff_t first, ptrdiff_t last, Y, b=None):
    """Multiply the rows [first, last) by the rows of W: X (n, K), W (N, K) -> Y = X W' + b (n, N).

    b (N,) float32 or None.
    """
    cdef str where = "product"
    cdef const Py_ssize_t *of_X = shape_of(where, "X", X, 2)
    cdef ptrdiff_t n = of_X[0]
    cdef int K = as_int(where, "the width of X", of_X[1])
    cdef int N = as_int(where, "the rows of W", shape_of(where, "W", W, 2)[0])
    cdef const float *x = floats(where, "X", X, n, K)
    cdef const float *w = floats(where, "W", W, N, K)
    cdef const float *bias = NULL
    if b is not None:
        bias = floats(where, "b", b, N)
    cdef float *y = floats_out(where, "Y", Y, n, N)
    check_part(where, first, last, n)
    cdef int failed = 0
    if first < last and N > 0:
        with nogil:
            failed = kernels.affine(x + first * K, last - first, n, K, w, bias, N, y + first * N)
    if failed:
        raise MemoryError


# Functions of thinc's CBlas: C = alpha A B + beta C, A and B transposed if asked for; Y += alpha X.
ctypedef void (*Sgemm)(
    bint, bint, int, int, int, float, const float *, int, const float *, int, float, float *, int
) noexcept nogil
ctypedef void (*Saxpy)(int, float, const float *, int, float *, int) noexcept nogil

cdef Sgemm blis_sgemm
cdef Saxpy blis_saxpy


cdef void sgemm(
    bint trans_A, bint trans_B, int M, int N, int K, float alpha, const float *A, int lda,
    const float *B, int ldb, float beta, float *C, int ldc
) noexcept nogil:
    cdef bint is_other = (
        trans_A or not trans_B or alpha != 1 or beta != 0 or lda != K or ldb != K or ldc != N
    )
    if not is_other and (M <= 0 or N <= 0):
        return
    if is_other or kernels.affine(A, M, M, K, B, NULL, N, C):  # if there's no memory for panels
        blis_sgemm(trans_A, trans_B, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)


cdef void saxpy(int N, float alpha, const float *X, int by_X, float *Y, int by_Y) noexcept nogil:
    cdef int i
    if by_X != 1 or by_Y != 1:
        blis_saxpy(N, alpha, X, by_X, Y, by_Y)
    else:
        for i in range(N):
            Y[i] += alpha * X[i]


cdef void *thinc_function(str name, str signature) except NULL:
    """Find a function of thinc's CBlas as `cimport` does, which needs no thinc to compile."""
    parts = {
        "cblas": "struct __pyx_obj_5thinc_8backends_5cblas_CBlas *",
        "function": f"__pyx_t_5thinc_8backends_5cblas_{name.removeprefix('set_')}_ptr",
    }
    expected = signature.format_map(parts).encode()
    return PyCapsule_GetPointer(thinc_cblas.__pyx_capi__[name], expected)


def make_cblas():
    """Make a CBlas of thinc's that multiplies rows by the rows of weights with the kernels.

    All other products stay BLIS's.
    """
    global blis_sgemm, blis_saxpy
    cblas = thinc_cblas.CBlas()
    blis_sgemm = (<Sgemm (*)(object) noexcept>thinc_function("sgemm", "{function} ({cblas})"))(cblas)
    blis_saxpy = (<Saxpy (*)(object) noexcept>thinc_function("saxpy", "{function} ({cblas})"))(cblas)
    setter = "void ({cblas}, {function})"
    (<void (*)(object, Sgemm) noexcept>thinc_function("set_sgemm", setter))(cblas, sgemm)
    (<void (*)(object, Saxpy) noexcept>thinc_function("set_saxpy", setter))(cblas, saxpy)
    return cblas


cdef int read_scorer(weights, int nO, StateScorer *m) except -1:
    """Point to the weights that score states by nO actions."""
    cdef str where = "lower", last = "upper"
    cdef const Py_ssize_t *of_W = shape_of(where, "W", weights.W, 3)
    m.nI, m.nF = as_int(where, "the width of X", of_W[2], 1), as_int(where, "nF", of_W[0], 1)
    m.nP, m.nO = as_int(where, "nP", weights.nP, 1), nO
    m.nH = as_int(where, "nH", of_W[1] // m.nP, 1)
    cdef int nS = as_int(where, "nH times nP", times(where, "nH times nP", m.nH, m.nP))
    m.W = floats(where, "W", weights.W, m.nF, nS, m.nI)
    m.b, m.pad = floats(where, "b", weights.b, nS), floats(where, "pad", weights.pad, m.nF, nS)
    m.upper, m.upper_b, m.unseen = NULL, NULL, NULL
    if weights.upper is not None:
        m.upper = floats(last, "W", weights.upper, nO, m.nH)
        m.upper_b = floats(last, "b", weights.upper_b, nO)
    elif nO != m.nH:
        raise ValueError(f"Layer '{where}': {m.nH} hidden units do not score {nO} actions.")
    if weights.unseen is not None:
        m.unseen = bytes_of(last, "unseen", weights.unseen.view("uint8"), nO)
    return 0


cdef class Recognizer:
    """The weights and actions of spaCy's greedy recognizer, checked. It keeps their arrays alive.

    weights (Weights), actions (Actions): Of ner/transition.
    """

    cdef CRecognizer m
    cdef tuple kept

    def __init__(self, weights, actions):
        cdef str last = "upper"
        cdef CRecognizer *m = &self.m
        cdef int nO = as_int(last, "the number of actions", actions.nO, 1)
        read_scorer(weights, nO, &m.scorer)
        if m.scorer.nF < 2:
            raise ValueError(f"Layer 'lower': expected 2 or more features, got {m.scorer.nF}.")
        m.K = as_int(last, "the number of labels", shape_of(last, "columns of actions", actions.columns, 2)[1])
        cdef const int64_t *columns = int64s(last, "columns of actions", actions.columns, 4, m.K)
        check_numbers(last, "columns of actions", columns, 4 * <ptrdiff_t>m.K, NO_ACTION, nO)
        m.B, m.I, m.L, m.U = columns, columns + m.K, columns + 2 * m.K, columns + 3 * m.K
        m.O, m.blocked = actions.O, actions.blocked
        check_numbers(last, "the column of O", &m.O, 1, NO_ACTION, nO)
        check_numbers(last, "the column of U-", &m.blocked, 1, NO_ACTION, nO)
        self.kept = weights, actions

    def decode(self, X, rules, parts=None, mask=None):
        """Find the entities of docs: ([E] starts, ends, labels) int64.

        X (N, nI) float32: The vectors of tokens.
        rules (Rules): Of ner/transition.
        parts (Parts): In training, the S parts of docs to decode, one after the other. A part
            begins with the entity open that `starts` and `labels` say. Entities still open at the
            end of a part end there.
        mask (R, nH) float32 or None: Dropout of the hidden layer of each of the R tokens of all
            parts, one part after the other.

        With parts, returns the states that were visited instead, for each of these tokens: the
        first token of the open entity, -1 for none (R,) int64; the label of that entity (R,) int64,
        `NO_LABEL` for none; the action's column (R,) int64, `NO_ACTION` where none is valid, and
        for tokens that are never visited since none was valid before them; the hidden layer after
        dropout (R, nH) float32; the piece that was the largest (R, nH) uint8, or for a single
        piece, a ReLU, whether it was kept.
        """
        cdef str where = "lower"
        cdef bint training = parts is not None
        cdef CRecognizer m = self.m
        cdef ptrdiff_t N = shape_of(where, "X", X, 2)[0]
        m.X = floats(where, "X", X, N, m.scorer.nI)
        cdef const int64_t *table = int64s(where, "rules", rules.table, 6, N)
        check_numbers(where, "labels of rules", table, 4 * N, NO_LABEL, m.K)
        use_rules(&m, table, N)
        m.relu = training

        cdef Decoding d
        cdef ptrdiff_t part, R = N
        cdef int64_t before = 0
        d.begins = d.starts = d.labels = NULL
        if training:
            d.S = shape_of(where, "ends", parts.ends, 1)[0]
            d.ends = int64s(where, "ends", parts.ends, d.S)
            d.begins = int64s(where, "begins", parts.begins, d.S)
            d.starts = int64s(where, "starts", parts.starts, d.S)
            d.labels = int64s(where, "labels", parts.labels, d.S)
            R = 0
            for part in range(d.S):
                if not 0 <= d.starts[part] <= d.begins[part] <= d.ends[part] <= N:
                    raise ValueError(f"Layer '{where}': part {part} is not among {N} tokens.")
                if d.labels[part] != NO_LABEL:
                    check_numbers(where, "labels of parts", d.labels + part, 1, 0, m.K)
                R += d.ends[part] - d.begins[part]
        else:
            d.S = shape_of(where, "doc_ends", rules.doc_ends, 1)[0]
            d.ends = int64s(where, "doc_ends", rules.doc_ends, d.S)
            for part in range(d.S):
                if not before <= d.ends[part] <= N:
                    before = -1
                    break
                before = d.ends[part]
            if before != N:
                raise ValueError(f"Layer '{where}': docs do not end within {N} tokens, at the last.")
        d.mask = NULL
        if mask is not None:
            d.mask = floats(where, "mask", mask, R, m.scorer.nH)
        if not training:
            return find(&m, &d, R, R)
        spans = numpy.empty((3, R), dtype="int64")
        visited = numpy.full((3, R), -1, dtype="int64")
        layer, pieces = numpy.empty((R, m.scorer.nH), "float32"), numpy.empty((R, m.scorer.nH), "uint8")
        point_to_spans(&d, spans, R)
        cdef int64_t *states = int64s_out(where, "states", visited, 3, R)
        d.state_starts, d.state_labels, d.actions = states, states + R, states + 2 * R
        d.hidden = floats_out(where, "hidden", layer, R, m.scorer.nH)
        d.which = bytes_out(where, "which", pieces, R, m.scorer.nH)
        d.batch = R
        run(&m, &d)
        return *visited, layer, pieces

    def find(self, X, attrs, lengths, ptrdiff_t batch):
        """Find the entities of docs without any, by their tokens' attributes: (3, E) int64.

        X (N, nI) float32: The vectors of tokens.
        attrs (N, 4) uint64: SENT_START, IS_SPACE, ENT_IOB and ENT_TYPE.
        lengths (D,) int64: How many tokens each doc has.
        batch: The number of tokens of the batch that the N tokens are a part of.

        Returns None if a token has an entity, is blocked or outside.
        """
        cdef str where = "lower"
        cdef CRecognizer m = self.m
        cdef Decoding d
        cdef ptrdiff_t N = shape_of(where, "X", X, 2)[0], part, i = 0
        m.X, m.relu = floats(where, "X", X, N, m.scorer.nI), False
        cdef const uint64_t *of_tokens = uint64s(where, "attrs", attrs, N, 4)
        d.S = shape_of(where, "lengths", lengths, 1)[0]
        cdef const int64_t *of_docs = int64s(where, "lengths", lengths, d.S)
        check_lengths(where, of_docs, d.S, N)
        rules, doc_ends = numpy.empty((6, N), dtype="int64"), numpy.empty(d.S, dtype="int64")
        cdef int64_t *table = int64s_out(where, "rules", rules, 6, N)
        cdef int64_t *ends = int64s_out(where, "ends", doc_ends, d.S)
        for part in range(d.S):
            ends[part] = i + of_docs[part]
            while i < ends[part]:
                if of_tokens[4 * i + 2] or of_tokens[4 * i + 3]:
                    return None
                allow(table, N, i, of_tokens[4 * i + 1] != 0, (
                    i + 1 == ends[part] or of_tokens[4 * (i + 1)] == 1
                ))
                i += 1
        d.ends = ends
        d.begins = d.starts = d.labels = NULL
        d.mask = NULL
        use_rules(&m, table, N)
        return find(&m, &d, N, batch)


cdef void allow(int64_t *table, ptrdiff_t N, ptrdiff_t i, bint is_space, bint is_last) noexcept:
    """Write the rules of a token without annotation: see ner/transition/rules.py."""
    table[i] = NO_LABEL if is_space or is_last else ANY_LABEL  # B
    table[N + i] = NO_LABEL if is_space else ANY_LABEL  # U
    table[2 * N + i] = NO_LABEL if is_last else ANY_LABEL  # I
    table[3 * N + i] = ANY_LABEL  # L
    table[4 * N + i] = True
    table[5 * N + i] = False


cdef void use_rules(CRecognizer *m, const int64_t *table, ptrdiff_t N) noexcept:
    m.begins, m.units, m.goes_on, m.closes = table, table + N, table + 2 * N, table + 3 * N
    m.may_be_outside, m.is_blocked = table + 4 * N, table + 5 * N


cdef int point_to_spans(Decoding *d, spans, ptrdiff_t R) except -1:
    cdef int64_t *entities = int64s_out("lower", "entities", spans, 3, R)
    d.ent_starts, d.ent_ends, d.ent_labels = entities, entities + R, entities + 2 * R
    d.entities = 0
    return 0


cdef find(const CRecognizer *m, Decoding *d, ptrdiff_t R, ptrdiff_t batch):
    """Decode parts with R tokens in all, and return their entities."""
    spans = numpy.empty((3, R), dtype="int64")
    point_to_spans(d, spans, R)
    d.state_starts = d.state_labels = d.actions = NULL
    d.hidden, d.which = NULL, NULL
    d.batch = batch
    run(m, d)
    return spans[:, : d.entities]


cdef int run(const CRecognizer *m, Decoding *d) except -1:
    cdef int failed
    with nogil:
        failed = kernels.decode(m, d)
    if failed:
        raise MemoryError
    return 0


# Layers over windows of rows


cdef int read_layer(layer, ptrdiff_t width, Layer *l) except -1:
    """Point to the parameters of a layer whose input has this width; the layer keeps them alive."""
    cdef str where = layer.name
    cdef const Py_ssize_t *of_W = shape_of(where, "W", layer.W, 3)
    cdef ptrdiff_t K
    l.nI, l.nO = as_int(where, "nI", width, 1), as_int(where, "nO", of_W[0], 1)
    l.nP, l.window = as_int(where, "nP", of_W[1], 1), as_int(where, "window", layer.window)
    l.dilation, l.relu, l.residual = layer.dilation, layer.relu, layer.residual
    K = times(where, "the window", 2 * <ptrdiff_t>l.window + 1, width)
    as_int(where, "the width of a window", K)
    as_int(where, "nO times nP", times(where, "nO times nP", l.nO, l.nP))
    if l.residual and l.nO != l.nI:
        raise ValueError(f"Layer '{where}': cannot add an input of width {l.nI} to {l.nO} outputs.")
    l.W, l.b = floats(where, "W", layer.W, l.nO, l.nP, K), floats(where, "b", layer.b, l.nO, l.nP)
    l.G = l.beta = NULL
    if layer.G is not None:
        l.G, l.beta = floats(where, "G", layer.G, l.nO), floats(where, "beta", layer.beta, l.nO)
    return 0


cdef int read_docs(docs, str where, ptrdiff_t before, ptrdiff_t after, Docs *d) except -1:
    """Point to the lengths of docs that have so many rows before a layer and after it."""
    d.D = shape_of(where, "lengths", docs.lengths, 1)[0]
    d.lengths = int64s(where, "lengths", docs.lengths, d.D)
    d.before, d.after = as_int(where, "before", docs.before), as_int(where, "after", docs.after)
    d.pad = bool(docs.pad)
    check_lengths(where, d.lengths, d.D, before, d.before, d.pad)
    check_lengths(where, d.lengths, d.D, after, d.after, d.pad)
    return 0


cdef int check_pieces(str where, const Layer *l) except -1:
    if l.nP > 256:
        raise ValueError(f"Layer '{where}': training takes at most 256 pieces, got {l.nP}.")
    return 0


def maxout(
    X, layer, docs, ptrdiff_t first, ptrdiff_t last, Y, mask=None, which=None, Xhat=None, scale=None
):
    """Compute the rows [first, last) of a layer: X (N, nI) -> Y (M, nO).

    layer (Layer), docs (Docs): Of compute/array_ops.py. mask (M, nO), which (M, nO) uint8, Xhat (M, nO)
    and scale (M,), each None or of M rows too.
    """
    cdef str where = layer.name
    cdef Layer l
    cdef Docs d
    cdef int failed
    cdef const Py_ssize_t *of_X = shape_of(where, "X", X, 2)
    cdef ptrdiff_t N = of_X[0], M = shape_of(where, "Y", Y, 2)[0]
    read_layer(layer, of_X[1], &l)
    read_docs(docs, where, N, M, &d)
    check_part(where, first, last, M)
    cdef const float *x = floats(where, "X", X, N, l.nI)
    cdef float *y = floats_out(where, "Y", Y, M, l.nO)
    cdef const float *m = NULL
    cdef uint8_t *pieces = NULL
    cdef float *normalized = NULL
    cdef float *scales = NULL
    if mask is not None:
        m = floats(where, "mask", mask, M, l.nO) + first * l.nO
    if which is not None:
        check_pieces(where, &l)
        pieces = bytes_out(where, "which", which, M, l.nO) + first * l.nO
    if Xhat is not None:
        normalized = floats_out(where, "Xhat", Xhat, M, l.nO) + first * l.nO
        scales = floats_out(where, "scale", scale, M) + first
    if first == last:
        return
    with nogil:
        failed = kernels.maxout(
            &l, &d, x, first, last, m, y + first * l.nO, pieces, normalized, scales
        )
    if failed:
        raise MemoryError


def back_to_sums(
    dY, layer, ptrdiff_t nI, ptrdiff_t first, ptrdiff_t last, d, which, Xhat, scale
):
    """Go back from the rows [first, last) of dY (M, nO) to the sums of the largest pieces, d."""
    cdef str where = layer.name
    cdef Layer l
    cdef ptrdiff_t M = shape_of(where, "dY", dY, 2)[0]
    read_layer(layer, nI, &l)
    check_part(where, first, last, M)
    cdef ptrdiff_t at = first * l.nO
    cdef const float *dy = floats(where, "dY", dY, M, l.nO) + at
    cdef float *sums = floats_out(where, "d", d, M, l.nO) + at
    cdef const uint8_t *pieces = bytes_of(where, "which", which, M, l.nO) + at
    cdef const float *normalized = NULL
    cdef const float *scales = NULL
    if l.G is not NULL:
        normalized = floats(where, "Xhat", Xhat, M, l.nO) + at
        scales = floats(where, "scale", scale, M) + first
    if first == last:
        return
    with nogil:
        kernels.back_to_sums(&l, last - first, dy, normalized, scales, pieces, sums)


cdef int check_largest(
    str where, const uint8_t *which, ptrdiff_t n, const Layer *l
) except -1:
    """Check that the largest pieces are pieces; with a single one they say whether it was kept."""
    cdef ptrdiff_t i
    cdef uint8_t most = 0
    check_pieces(where, l)
    for i in range(n):
        most = max(most, which[i])
    if n and most >= max(l.nP, 2):
        raise OutOfRange(f"Layer '{where}': which must be below {l.nP}, got {most}.")
    return 0


def back_to_input(d, layer, docs, ptrdiff_t first, ptrdiff_t last, dX, which, dY):
    """Go back from d (M, nO) to the rows [first, last) of the input, dX (N, nI)."""
    cdef str where = layer.name
    cdef Layer l
    cdef Docs shape
    cdef int failed
    cdef const Py_ssize_t *of_dX = shape_of(where, "dX", dX, 2)
    cdef ptrdiff_t N = of_dX[0], M = shape_of(where, "d", d, 2)[0]
    read_layer(layer, of_dX[1], &l)
    read_docs(docs, where, N, M, &shape)
    check_part(where, first, last, N)
    cdef const float *sums = floats(where, "d", d, M, l.nO)
    cdef const float *dy = floats(where, "dY", dY, M, l.nO)
    cdef const uint8_t *pieces = bytes_of(where, "which", which, M, l.nO)
    cdef float *dx = floats_out(where, "dX", dX, N, l.nI)
    check_largest(where, pieces, M * l.nO, &l)
    if first == last:
        return
    with nogil:
        failed = kernels.back_to_input(
            &l, &shape, sums, pieces, dy, first, last, dx + first * l.nI
        )
    if failed:
        raise MemoryError


def back_to_weights(
    d, layer, docs, ptrdiff_t first, ptrdiff_t last, X, which, dY, Xhat, dW, db, dG, dbeta
):
    """Add to the gradients of the parameters of the outputs [first, last)."""
    cdef str where = layer.name
    cdef Layer l
    cdef Docs shape
    cdef int failed
    cdef const Py_ssize_t *of_X = shape_of(where, "X", X, 2)
    cdef ptrdiff_t N = of_X[0], M = shape_of(where, "d", d, 2)[0]
    read_layer(layer, of_X[1], &l)
    read_docs(docs, where, N, M, &shape)
    check_part(where, first, last, l.nO)
    cdef ptrdiff_t K = (2 * <ptrdiff_t>l.window + 1) * l.nI
    cdef const float *x = floats(where, "X", X, N, l.nI)
    cdef const float *sums = floats(where, "d", d, M, l.nO)
    cdef const float *dy = floats(where, "dY", dY, M, l.nO)
    cdef const uint8_t *pieces = bytes_of(where, "which", which, M, l.nO)
    cdef float *of_W = floats_out(where, "dW", dW, l.nO, l.nP, K)
    cdef float *of_b = floats_out(where, "db", db, l.nO, l.nP)
    cdef const float *normalized = NULL
    cdef float *gain = NULL
    cdef float *shift = NULL
    if l.G is not NULL:
        normalized = floats(where, "Xhat", Xhat, M, l.nO)
        gain, shift = floats_out(where, "dG", dG, l.nO), floats_out(where, "dbeta", dbeta, l.nO)
    check_largest(where, pieces, M * l.nO, &l)
    if M == 0 or first == last:
        return
    with nogil:
        failed = kernels.back_to_weights(
            &l, &shape, x, M, sums, pieces, dy, normalized, <int>first, <int>last,
            of_W, of_b, gain, shift
        )
    if failed:
        raise MemoryError


cdef class Encoder:
    """The layers of an encoder, checked. It keeps their arrays alive.

    layers: A list of `Layer`, of compute/array_ops.py.
    pad: Whether docs have padding around them as in spaCy's encoder, instead of zeros.
    """

    cdef Layer *layers
    cdef int L
    cdef bint pad
    cdef readonly int nI, nO
    cdef tuple kept

    def __init__(self, layers, bint pad):
        cdef str where = "encoder"
        cdef int i, width
        self.L, self.pad = as_int(where, "the number of layers", len(layers), 1), pad
        memory = numpy.empty((self.L, sizeof(Layer)), dtype="uint8")
        self.layers = <Layer *>bytes_out(where, "layers", memory, self.L, sizeof(Layer))
        width = self.nI = width_of(layers[0])
        for i in range(self.L):
            read_layer(layers[i], width, self.layers + i)
            width = self.layers[i].nO
            if pad and self.layers[i].window != self.layers[0].window:
                raise ValueError(f"Layer '{layers[i].name}': all layers must have the same window.")
        self.nO = width
        as_int(where, "the padding", times(where, "the padding", self.L, self.layers[0].window))
        self.kept = memory, list(layers)

    def encode(self, X, lengths, ptrdiff_t batch, Y):
        """Compute all layers, for docs side by side: X (N, nI) -> Y (N, nO).

        batch: The number of rows of the batch that the N rows are a part of.
        """
        cdef str where = "encoder"
        cdef int failed
        cdef ptrdiff_t N = shape_of(where, "X", X, 2)[0]
        cdef ptrdiff_t D = shape_of(where, "lengths", lengths, 1)[0]
        cdef const float *x = floats(where, "X", X, N, self.nI)
        cdef float *y = floats_out(where, "Y", Y, N, self.nO)
        cdef const int64_t *of_docs = int64s(where, "lengths", lengths, D)
        check_lengths(where, of_docs, D, N)
        if N == 0:
            return
        with nogil:
            failed = kernels.encode(self.layers, self.L, self.pad, of_docs, D, batch, x, y)
        if failed:
            raise MemoryError


cdef int width_of(layer) except -1:
    """Return the width of a layer's input."""
    cdef ptrdiff_t columns = shape_of(layer.name, "W", layer.W, 3)[2]
    cdef int window = as_int(layer.name, "window", layer.window)
    return as_int(layer.name, "nI", columns // (2 * <ptrdiff_t>window + 1), 1)


# Embeddings


cdef object read_tables(str where, tables, hashing, bint written, Tables *t):
    """Point to A tables (nV, W), and to how ids are hashed into each.

    Returns an array of A pointers, to which the result points: the caller keeps it.
    """
    cdef int A = as_int(where, "the number of tables", len(tables), 1), a
    cdef ptrdiff_t W = shape_of(where, "E", tables[0], 2)[1]
    pointers = numpy.empty((A, sizeof(float *)), dtype="uint8")
    cdef float **pointer = <float **>bytes_out(where, "tables", pointers, A, sizeof(float *))
    t.A, t.W = A, as_int(where, "the width of tables", W)
    as_int(where, "the width of all tables", times(where, "the width of all tables", A, W))
    t.nV = uint32s(where, "nV", hashing.nV, A)
    t.num_hashes = int32s(where, "num_hashes", hashing.num_hashes, A)
    t.seeds = uint32s(where, "seeds", hashing.seeds, A, MAX_HASHES // 4)
    for a in range(A):
        as_int(where, "nV", t.nV[a], 1, INT_MAX)
        if not 1 <= t.num_hashes[a] <= MAX_HASHES:
            raise ValueError(
                f"Layer '{where}': expected 1 to {MAX_HASHES} hash functions, got {t.num_hashes[a]}."
            )
        name = f"E of column {a}"
        if written:
            pointer[a] = floats_out(where, name, tables[a], t.nV[a], W)
        else:
            pointer[a] = <float *>floats(where, name, tables[a], t.nV[a], W)
    t.tables = pointer
    return pointers


def hash_embed(ids, tables, hashing, ptrdiff_t first, ptrdiff_t last, rows, vectors):
    """Embed the tokens [first, last): ids (U, A) -> rows (U, A, 16), vectors (U, A * W).

    hashing (Hashing): Of compute/hashing.py.
    """
    cdef str where = "hash_embed"
    cdef Tables t
    cdef ptrdiff_t U = shape_of(where, "ids", ids, 2)[0]
    pointers = read_tables(where, tables, hashing, False, &t)
    check_part(where, first, last, U)
    cdef const uint64_t *of_ids = uint64s(where, "ids", ids, U, t.A)
    cdef int32_t *of_rows = int32s_out(where, "rows", rows, U, t.A, MAX_HASHES)
    cdef float *sums = floats_out(where, "vectors", vectors, U, t.A * t.W)
    if first == last:
        return
    with nogil:
        kernels.hash_embed(&t, of_ids, first, last, of_rows, sums)


cdef int read_column(column, Column *c) except -1:
    """Point to the table of a column, and to how symbols become its rows."""
    cdef str where = "table_embed"
    cdef const Py_ssize_t *of_E = shape_of(where, "E", column.table, 2)
    cdef int g
    as_int(where, "nV", of_E[0], 1, INT_MAX)
    c.W, c.nV = as_int(where, "the width of E", of_E[1]), <uint32_t>of_E[0]
    c.table = floats(where, "E", column.table, of_E[0], of_E[1])
    c.is_bag, c.mean, c.is_appended = column.is_bag, column.mean, column.is_appended
    c.keys, c.row_of, c.importance, c.V, c.K = NULL, NULL, NULL, 0, 1
    if column.keys is not None:
        c.V = shape_of(where, "keys", column.keys, 1)[0]
        c.keys = uint64s(where, "keys", column.keys, c.V)
        c.row_of = int32s(where, "rows of keys", column.row_of, c.V)
    else:
        nV, c.K, seed = column.hashing
        if nV != c.nV or not 1 <= c.K <= MAX_HASHES:
            raise ValueError(
                f"Layer '{where}': cannot hash to {nV} rows of {c.nV}, {c.K} times."
            )
        for g, seed in enumerate(group_seeds(seed, c.K)):
            c.seeds[g] = seed
    if column.importance is not None:
        c.importance_rows, c.importance_seed = column.importance_hashing
        as_int(where, "the rows of importance", c.importance_rows, 1, INT_MAX)
        c.importance = floats(where, "the importance", column.importance, c.importance_rows, c.K)
    elif c.is_appended:
        raise ValueError(f"Layer '{where}': cannot append the importance, as there is none.")
    return 0


cdef class Mixer:
    """Columns of tokens and the layer that mixes their vectors, checked. It keeps arrays alive.

    columns: A list of `ColumnTable`, layer (Layer): Of compute/array_ops.py.
    """

    cdef Column *columns
    cdef Layer layer
    cdef int A, bags, width
    cdef tuple kept

    def __init__(self, columns, layer):
        cdef str where = "table_embed"
        cdef int a
        self.A, self.bags, self.width = as_int(where, "the number of columns", len(columns), 1), 0, 0
        memory = numpy.empty((self.A, sizeof(Column)), dtype="uint8")
        self.columns = <Column *>bytes_out(where, "columns", memory, self.A, sizeof(Column))
        for a in range(self.A):
            read_column(columns[a], self.columns + a)
            self.bags += self.columns[a].is_bag
            self.width = as_int(where, "the width of all columns", (
                <ptrdiff_t>self.width + self.columns[a].W
                + (self.columns[a].K if self.columns[a].is_appended else 0)
            ))
        read_layer(layer, width_of(layer), &self.layer)
        if self.layer.window:
            raise ValueError(f"Layer '{layer.name}': a mix has no window, got {self.layer.window}.")
        self.kept = memory, list(columns), layer

    @property
    def nO(self):
        """The width of the result."""
        return self.layer.nO

    def mix(self, ids, bags, given, ptrdiff_t first, ptrdiff_t last, Y):
        """Embed the tokens [first, last) of U and mix their columns: Y (U, nO).

        ids (U, columns with one symbol a token) uint64.
        bags: For each other column, symbols (M,) uint64, and where those of each token end (U,).
        given (U, width) float32: More vectors, or None.
        """
        cdef str where = "table_embed"
        cdef int failed, nO = self.layer.nO, bag
        cdef Tokens t
        cdef ptrdiff_t U = shape_of(where, "ids", ids, 2)[0], width = self.width
        cdef const uint64_t *symbols[64]
        cdef const int64_t *ends[64]
        as_int(where, "the number of tokens", U, 0, INT_MAX)
        check_part(where, first, last, U)
        t.ids = uint64s(where, "ids", ids, U, self.A - self.bags)
        t.bags, t.ends, t.given, t.width = symbols, ends, NULL, 0
        if len(bags) != self.bags or self.bags > 64:
            raise ValueError(f"Layer '{where}': expected {self.bags} bags, up to 64, got {len(bags)}.")
        for bag in range(self.bags):
            M = shape_of(where, "symbols", bags[bag][0], 1)[0]
            symbols[bag] = uint64s(where, "symbols", bags[bag][0], M)
            ends[bag] = int64s(where, "ends", bags[bag][1], U)
            check_ends(where, ends[bag], U, M)
        if given is not None:
            t.width = as_int(where, "the width of vectors", shape_of(where, "vectors", given, 2)[1])
            t.given = floats(where, "vectors", given, U, t.width)
            width += t.width
        if width != self.layer.nI:
            raise ValueError(
                f"Layer '{where}': columns of width {width} do not fill {self.layer.nI} numbers."
            )
        cdef float *y = floats_out(where, "Y", Y, U, nO)
        if first == last:
            return
        with nogil:
            failed = kernels.mix(
                self.columns, self.A, &self.layer, &t, first, last, U, y + first * nO
            )
        if failed > 0:
            raise OutOfRange(
                f"Layer '{where}': a symbol was looked up to a row that its table lacks. Build "
                "both with the same number of rows."
            )
        if failed:
            raise MemoryError


cdef int check_ends(str where, const int64_t *ends, ptrdiff_t U, ptrdiff_t M) except -1:
    """Check that the symbols of U tokens end one after the other, the last ones at the end of M."""
    cdef int64_t before = 0
    cdef ptrdiff_t u
    for u in range(U):
        if not before <= ends[u] <= M:
            before = -1
            break
        before = ends[u]
    if before != M:
        raise ValueError(f"Layer '{where}': ends of tokens do not end within {M} symbols.")
    return 0


def hash_embed_backward(gradients, hashing, ptrdiff_t first, ptrdiff_t last, rows, d_vectors):
    """Add d_vectors (U, A * W) to the rows of the gradients [first, last) of tables."""
    cdef str where = "hash_embed"
    cdef Tables t
    cdef ptrdiff_t U = shape_of(where, "rows", rows, 3)[0], i
    cdef int a, k
    pointers = read_tables(where, gradients, hashing, True, &t)
    check_part(where, first, last, t.A)
    cdef const int32_t *of_rows = int32s(where, "rows", rows, U, t.A, MAX_HASHES)
    cdef const float *d = floats(where, "d_vectors", d_vectors, U, t.A * t.W)
    for i in range(U):
        for a in range(first, last):
            for k in range(t.num_hashes[a]):
                if <uint32_t>of_rows[(i * t.A + a) * MAX_HASHES + k] >= t.nV[a]:
                    raise OutOfRange(f"Layer '{where}': a row is not among the {t.nV[a]} of E.")
    if U == 0:
        return
    with nogil:
        kernels.hash_embed_backward(&t, of_rows, d, U, <int>first, <int>last)


cdef ptrdiff_t read_bags(
    str where, bags, ptrdiff_t nV, ptrdiff_t W, ptrdiff_t first, ptrdiff_t last, Bags *b
) except -1:
    """Point to the rows of symbols, which a table must have; returns the number of tokens, U.

    Checks the rows of the tokens [first, last); with last < 0, of all.
    """
    cdef const Py_ssize_t *of_rows = shape_of(where, "rows", bags.rows, 2)
    cdef ptrdiff_t M = of_rows[0], U = M, i, begin, end
    b.K, b.W = as_int(where, "the rows of a symbol", of_rows[1]), as_int(where, "the width", W)
    b.mean = bool(bags.mean)
    b.rows = int32s(where, "rows", bags.rows, M, b.K)
    b.weights, b.ends = NULL, NULL
    if bags.weights is not None:
        b.weights = floats(where, "weights", bags.weights, M, b.K)
    if bags.ends is not None:
        U = shape_of(where, "ends", bags.ends, 1)[0]
        b.ends = int64s(where, "ends", bags.ends, U)
        check_ends(where, b.ends, U, M)
    if last < 0:
        last = U
    check_part(where, first, last, U)
    begin, end = first, last
    if b.ends is not NULL:
        begin = b.ends[first - 1] if first else 0
        end = b.ends[last - 1] if last else 0
    for i in range(begin * b.K, end * b.K):
        if not 0 <= b.rows[i] < nV:
            raise OutOfRange(
                f"Layer '{where}' has {nV} rows (0 to {nV - 1}), but was asked for row {b.rows[i]}."
            )
    return U


def gather_sum(table, bags, ptrdiff_t first, ptrdiff_t last, out):
    """Sum the rows of the tokens [first, last): table (nV, W) -> out (U, W), rows contiguous.

    bags (Bags): Of compute/array_ops.py.
    """
    cdef str where = "table_embed"
    cdef Bags b
    cdef const Py_ssize_t *of_E = shape_of(where, "E", table, 2)
    cdef ptrdiff_t U = read_bags(where, bags, of_E[0], of_E[1], first, last, &b), stride
    cdef const float *E = floats(where, "E", table, of_E[0], b.W)
    cdef float *sums = rows_of(where, "out", out, True, U, b.W, &stride)
    if first == last or b.W == 0:
        return
    with nogil:
        kernels.gather_sum(&b, E, first, last, sums, stride)


def scatter_sum(gradient, bags, d_sums, ptrdiff_t first, ptrdiff_t last):
    """Add d_sums (U, W) to the entries [first, last) of rows of a gradient (nV, W)."""
    cdef str where = "table_embed"
    cdef Bags b
    cdef const Py_ssize_t *of_E = shape_of(where, "dE", gradient, 2)
    cdef ptrdiff_t U = read_bags(where, bags, of_E[0], of_E[1], 0, -1, &b), stride
    cdef float *dE = floats_out(where, "dE", gradient, of_E[0], b.W)
    cdef const float *d = rows_of(where, "d_sums", d_sums, False, U, b.W, &stride)
    check_part(where, first, last, b.W)
    if first == last or U == 0:
        return
    with nogil:
        kernels.scatter_sum(&b, dE, U, d, stride, <int>first, <int>last)


def gather_dot(table, bags, ptrdiff_t first, ptrdiff_t last, d_sums, d_weights):
    """Multiply the rows of the tokens [first, last) by d_sums (U, W) -> d_weights (M, K)."""
    cdef str where = "table_embed"
    cdef Bags b
    cdef const Py_ssize_t *of_E = shape_of(where, "E", table, 2)
    cdef ptrdiff_t U = read_bags(where, bags, of_E[0], of_E[1], first, last, &b), stride
    cdef const float *E = floats(where, "E", table, of_E[0], b.W)
    cdef const float *d = rows_of(where, "d_sums", d_sums, False, U, b.W, &stride)
    cdef float *products = floats_out(where, "d_weights", d_weights, shape_of(where, "rows", bags.rows, 2)[0], b.K)
    if first == last:
        return
    with nogil:
        kernels.gather_dot(&b, E, first, last, d, stride, products)


def hash_rows(ids, ptrdiff_t nV, seeds, rows):
    """Hash ids (M,) to rows (M, K) of a table; seeds ((K + 3) // 4,) or more."""
    cdef str where = "hash_rows"
    cdef ptrdiff_t n = shape_of(where, "ids", ids, 1)[0], num_seeds = shape_of(where, "seeds", seeds, 1)[0]
    cdef int K = as_int(where, "the rows of an id", shape_of(where, "rows", rows, 2)[1])
    cdef const uint64_t *of_ids = uint64s(where, "ids", ids, n)
    cdef const uint32_t *of_seeds = uint32s(where, "seeds", seeds, num_seeds)
    cdef int32_t *of_rows = int32s_out(where, "rows", rows, n, K)
    as_int(where, "nV", nV, 1, INT_MAX)
    if 4 * num_seeds < K:
        raise ValueError(f"Layer '{where}': {num_seeds} seeds do not make {K} hash functions.")
    if n:
        with nogil:
            kernels.hash_rows(of_ids, n, <uint32_t>nV, of_seeds, K, of_rows)


def hash_ngrams(ids, lengths, orders, ngrams):
    """Hash the n-grams of docs: ids (N,) of all tokens, lengths (D,), orders ascending -> (M,)."""
    cdef str where = "hash_ngrams"
    cdef ptrdiff_t N = shape_of(where, "ids", ids, 1)[0], D = shape_of(where, "lengths", lengths, 1)[0]
    cdef int num_orders = as_int(where, "orders", shape_of(where, "orders", orders, 1)[0]), o
    cdef ptrdiff_t M = 0, d
    cdef const uint64_t *of_ids = uint64s(where, "ids", ids, N)
    cdef const int64_t *of_docs = int64s(where, "lengths", lengths, D)
    cdef const int32_t *of_orders = int32s(where, "orders", orders, num_orders)
    check_lengths(where, of_docs, D, N)
    for o in range(num_orders):
        if of_orders[o] <= (of_orders[o - 1] if o else 0):
            raise ValueError(f"Layer '{where}': orders must be positive and ascending, got {orders}.")
        for d in range(D):
            M += max(of_docs[d] - of_orders[o] + 1, 0)
    cdef uint64_t *of_ngrams = <uint64_t *>pointer_to(
        where, "ngrams", ngrams, b"u", 8, True, M, ABSENT, ABSENT
    )
    if M:
        with nogil:
            kernels.hash_ngrams(of_ids, of_docs, D, of_orders, num_orders, of_ngrams)


def look_up(ids, keys, row_of, rows):
    """Find the rows (M,) of ids (M,) among V keys in ascending order, 0 for none."""
    cdef str where = "lookup_rows"
    cdef ptrdiff_t n = shape_of(where, "ids", ids, 1)[0], V = shape_of(where, "keys", keys, 1)[0]
    cdef const uint64_t *of_ids = uint64s(where, "ids", ids, n)
    cdef const uint64_t *of_keys = uint64s(where, "keys", keys, V)
    cdef const int32_t *of_rows = int32s(where, "rows of keys", row_of, V)
    cdef int32_t *out = int32s_out(where, "rows", rows, n)
    if n:
        with nogil:
            kernels.look_up(of_ids, n, of_keys, of_rows, V, out)


# Tags, optimizer, unique rows


def viterbi(scores, transitions, known, lengths):
    """Find the best tags (N,) of D sequences: scores (N, nO), transitions (nO, nO) or None.

    transitions: From the column's tag to the row's.
    known: What is known of tokens, as bits: see compute/viterbi.py.
    """
    cdef str where = "token_tagger"
    cdef const Py_ssize_t *of_scores = shape_of(where, "scores", scores, 2)
    cdef ptrdiff_t N = of_scores[0]
    cdef int nO = as_int(where, "the number of tags", of_scores[1], 1), failed
    cdef ptrdiff_t D = shape_of(where, "lengths", lengths, 1)[0]
    cdef const float *of_tags = floats(where, "scores", scores, N, nO)
    cdef const uint8_t *bits = bytes_of(where, "known", known, N)
    cdef const int64_t *of_docs = int64s(where, "lengths", lengths, D)
    cdef const double *pairs = NULL
    if nO % 4 != 1:
        raise ValueError(f"Layer '{where}': expected O and four tags a label, got {nO} tags.")
    if transitions is not None:
        pairs = <const double *>pointer_to(
            where, "transitions", transitions, b"f", 8, False, nO, nO, ABSENT
        )
    check_lengths(where, of_docs, D, N)
    tags = numpy.empty(N, dtype="int64")
    cdef int64_t *best = int64s_out(where, "tags", tags, N)
    if N == 0:
        return tags
    with nogil:
        failed = kernels.viterbi(of_tags, nO // 4, pairs, bits, of_docs, D, best)
    if failed:
        raise MemoryError
    return tags


cdef class Tagger:
    """The layer that scores BILUO tags, checked. It keeps its arrays alive.

    W (nO, nI), b (nO,): Its parameters. unseen (nO,) uint8: Tags that are never taken, or None.
    transitions (nO, nO): The scores of consecutive tags, from the row's to the column's, or None.
        Without them, sentences are sequences; with them, docs.
    """

    cdef int nI, nO
    cdef const float *W
    cdef const float *b
    cdef const float *transitions
    cdef const uint8_t *unseen
    cdef tuple kept

    def __init__(self, W, b, unseen, transitions):
        cdef str where = "token_tagger"
        cdef const Py_ssize_t *of_W = shape_of(where, "W", W, 2)
        self.nO = as_int(where, "the number of tags", of_W[0], 1)
        self.nI = as_int(where, "the width of X", of_W[1], 1)
        if self.nO % 4 != 1:
            raise ValueError(f"Layer '{where}': expected O and four tags a label, got {self.nO}.")
        self.W, self.b = floats(where, "W", W, self.nO, self.nI), floats(where, "b", b, self.nO)
        self.unseen, self.transitions = NULL, NULL
        if unseen is not None:
            self.unseen = bytes_of(where, "unseen", unseen, self.nO)
        if transitions is not None:
            self.transitions = floats(where, "transitions", transitions, self.nO, self.nO)
        self.kept = W, b, unseen, transitions

    def find(self, X, attrs, lengths, ptrdiff_t batch):
        """Find the entities of docs: starts, ends and labels (3, E) int64.

        X (N, nI) float32: The vectors of tokens.
        attrs (N, 3) uint64: SENT_START, IS_SPACE and ENT_IOB.
        lengths (D,) int64: How many tokens each doc has.
        batch: The number of tokens of the batch that the N tokens are a part of.

        Returns None if a score is NaN or infinite; of transitions, -inf is fine.
        """
        cdef str where = "token_tagger"
        cdef int nO = self.nO, failed, t, f
        cdef ptrdiff_t N = shape_of(where, "X", X, 2)[0], d, i = 0, S = 0, E = 0
        cdef ptrdiff_t D = shape_of(where, "lengths", lengths, 1)[0]
        cdef const float *x = floats(where, "X", X, N, self.nI)
        cdef const uint64_t *of_tokens = uint64s(where, "attrs", attrs, N, 3)
        cdef const int64_t *of_docs = int64s(where, "lengths", lengths, D)
        check_lengths(where, of_docs, D, N)
        spans, numbers = numpy.empty((3, N), dtype="int64"), numpy.empty((2, N + D), dtype="int64")
        table, bits = numpy.empty((N, nO), dtype="float32"), numpy.empty(N, dtype="uint8")
        cdef int64_t *tags = int64s_out(where, "tags", numbers, 2, N + D)
        cdef int64_t *sequences = tags + N + D
        cdef int64_t *entities = int64s_out(where, "entities", spans, 3, N)
        cdef float *scores = floats_out(where, "scores", table, N, nO)
        cdef uint8_t *known = bytes_out(where, "known", bits, N, ABSENT)
        cdef uint32_t largest = 0, bound = 0x7f800000
        cdef double *into = NULL
        if self.transitions is not NULL:
            pairs = numpy.empty((nO, nO), dtype="float64")
            into = <double *>pointer_to(where, "transitions", pairs, b"f", 8, True, nO, nO, ABSENT)
            for f in range(nO):
                for t in range(nO):
                    into[t * nO + f] = self.transitions[f * nO + t]
                    if not self.transitions[f * nO + t] < INFINITY:
                        return None
        with nogil:
            failed = kernels.affine(x, N, batch, self.nI, self.W, self.b, nO, scores)
            for i in range(N * nO):
                largest = max(largest, (<uint32_t *>scores)[i] & bound)
            if not failed and largest < bound:
                i = 0
                for d in range(D):
                    begin_sequences(of_tokens + 3 * i, of_docs[d], into is NULL, sequences, &S, known + i)
                    i += of_docs[d]
                if self.unseen is not NULL:
                    for i in range(N * nO):
                        if self.unseen[i % nO]:
                            scores[i] = -INFINITY
                failed = kernels.viterbi(scores, nO // 4, into, known, sequences, S, tags)
                if not failed:
                    E = entities_of(tags, N, nO // 4, entities)
        if failed:
            raise MemoryError
        return spans[:, :E] if largest < bound else None


cdef void begin_sequences(
    const uint64_t *attrs, int64_t n, bint at_sentences, int64_t *sequences, ptrdiff_t *S, uint8_t *known
) noexcept nogil:
    """Add the lengths of the sequences of a doc, and write what is known of its tokens.

    As `constraints_of` in ner/docs.py: nothing goes on into a sentence, begins with a space, or
    covers a token of an entity.
    """
    cdef int64_t i
    for i in range(n):
        known[i] = STARTS * (i == 0 or attrs[3 * i] == 1) + SPACES * (attrs[3 * i + 1] == 1)
        known[i] += OUTSIDE * (attrs[3 * i + 2] == 1 or attrs[3 * i + 2] == 3)
        if i == 0 or (at_sentences and known[i] & STARTS):
            sequences[S[0]] = 0
            S[0] += 1
        sequences[S[0] - 1] += 1


cdef ptrdiff_t entities_of(const int64_t *tags, ptrdiff_t N, int K, int64_t *entities) noexcept nogil:
    """Write the starts, ends and labels (3, N) of valid tags, and return how many there are."""
    cdef ptrdiff_t i, E = 0
    cdef int64_t kind
    for i in range(N):
        if tags[i] == 0:
            continue
        kind = (tags[i] - 1) // K
        if kind == 0 or kind == 3:
            entities[E] = i
        if kind >= 2:
            entities[N + E], entities[2 * N + E] = i + 1, (tags[i] - 1) % K
            E += 1
    return E


def num_blocks(ptrdiff_t n):
    """Return how many blocks `adam` cuts n numbers into."""
    return (n + ADAM_BLOCK - 1) // ADAM_BLOCK


def sum_squares(gradient, is_zero):
    """Sum the squares of a gradient (N,), and note which blocks are all 0, (num_blocks(N),) uint8."""
    cdef str where = "Adam"
    cdef ptrdiff_t n = shape_of(where, "gradient", gradient, 1)[0]
    cdef const float *g = floats(where, "gradient", gradient, n)
    cdef uint8_t *zeros = bytes_out(where, "is_zero", is_zero, num_blocks(n), ABSENT)
    cdef double squares
    with nogil:
        squares = c_sum_squares(n, g, zeros)
    return squares


def adam(
    weights,
    gradient,
    mom1,
    mom2,
    averages,
    is_zero,
    has_moments,
    ptrdiff_t first,
    ptrdiff_t last,
    float clip,
    float beta1,
    float beta2,
    float eps,
    float learn_rate,
    float decay,
    float average_rest,
):
    """Take a step of Adam in place, and set the gradient to 0, in the blocks [first, last).

    Arrays are (N,) float32. Numbers below 1e-38 count as 0.

    averages: The averages of the weights, or None to keep none.
    is_zero (num_blocks(N),) uint8: Whether the gradient is 0, by `sum_squares`.
    has_moments (num_blocks(N),) uint8: Whether moments may be other than 0; kept from step to step.
    clip: Factor of the gradient, 1 to leave it as it is.
    learn_rate: With the correction of the moments' bias.
    decay: Share of the weights that decays after the step.
    average_rest: Share of the new weights in the averages.
    """
    cdef str where = "Adam"
    cdef ptrdiff_t n = shape_of(where, "weights", weights, 1)[0], blocks = num_blocks(n)
    cdef Adam step
    cdef float *w = floats_out(where, "weights", weights, n)
    cdef float *g = floats_out(where, "gradient", gradient, n)
    cdef float *m1 = floats_out(where, "mom1", mom1, n)
    cdef float *m2 = floats_out(where, "mom2", mom2, n)
    cdef float *kept = NULL
    cdef const uint8_t *zeros = bytes_of(where, "is_zero", is_zero, blocks)
    cdef uint8_t *moving = bytes_out(where, "has_moments", has_moments, blocks, ABSENT)
    check_part(where, first, last, blocks)
    if averages is not None:
        kept = floats_out(where, "averages", averages, n) + first * ADAM_BLOCK
    step.clip, step.beta1, step.beta2, step.eps = clip, beta1, beta2, eps
    step.learn_rate, step.decay, step.average_rest = learn_rate, decay, average_rest
    if first == last:
        return
    n = min(n, last * ADAM_BLOCK)
    with nogil:
        c_adam(
            &step, n - first * ADAM_BLOCK, w + first * ADAM_BLOCK, g + first * ADAM_BLOCK, m1 + first * ADAM_BLOCK,
            m2 + first * ADAM_BLOCK, kept, zeros + first, moving + first
        )


def distinct_rows(ids):
    """Group equal rows: ids (N, C) -> the first row of each group (U,), group of each row (N,)."""
    cdef str where = "unique_tokens"
    cdef const Py_ssize_t *shape = shape_of(where, "ids", ids, 2)
    cdef int N = as_int(where, "the number of tokens", shape[0], 0, INT_MAX)
    cdef int C = as_int(where, "the number of columns", shape[1])
    cdef ptrdiff_t number
    first, group_of = numpy.empty(N, dtype="int64"), numpy.empty(N, dtype="int32")
    cdef const uint64_t *of_ids = uint64s(where, "ids", ids, N, C)
    cdef int64_t *firsts = int64s_out(where, "first", first, N)
    cdef int32_t *groups = int32s_out(where, "groups", group_of, N)
    if N == 0:
        return first, group_of
    with nogil:
        number = c_distinct_rows(of_ids, N, C, firsts, groups)
    if number < 0:
        raise MemoryError
    return first[:number], group_of



# Parses


cdef class Parser:
    """The weights and actions of spaCy's greedy parser, checked. It keeps their arrays alive.

    weights (Weights): Of ner/transition/states.py, for 8 or 13 features.
    actions (Actions): Of parse/actions.py.
    """

    cdef CParser m
    cdef tuple kept

    def __init__(self, weights, actions):
        cdef str last = "upper"
        cdef CParser *m = &self.m
        cdef ptrdiff_t o
        cdef int nO = as_int(
            last, "the number of actions", shape_of(last, "kinds", actions.kinds, 1)[0], 1
        )
        read_scorer(weights, nO, &m.scorer)
        if m.scorer.nF != 8 and m.scorer.nF != 13:
            raise ValueError(f"Layer 'lower': expected 8 or 13 features, got {m.scorer.nF}.")
        m.kinds = bytes_of(last, "kinds", actions.kinds, nO)
        for o in range(nO):
            if m.kinds[o] > BREAK:
                raise OutOfRange(
                    f"Layer '{last}': kinds must be from 0 to {BREAK}, got {m.kinds[o]}."
                )
        m.labels = uint64s(last, "labels", actions.labels, nO)
        m.is_subtok = bytes_of(last, "is_subtok", actions.is_subtok, nO)
        m.is_decorated = bytes_of(last, "is_decorated", actions.is_decorated, nO)
        m.root = actions.root
        self.kept = weights, actions

    def parse(self, X, attrs, lengths, heads, deps, is_decorated):
        """Parse D docs with N tokens in all, as spaCy's greedy parser does.

        X (N, nI) float32: The vectors of tokens.
        attrs (N, 3) uint64: SENT_START, HEAD and DEP of the tokens.
        lengths (D,) int64: How many tokens each doc has.
        heads (N,) int64, deps (N,) uint64, is_decorated (N,) uint8: The results: HEAD, DEP, and
            whether the token may have a label that spaCy's `deprojectivize` splits.
        """
        cdef str where = "lower"
        cdef Parsing d
        cdef ptrdiff_t N = shape_of(where, "X", X, 2)[0]
        d.X, d.attrs = floats(where, "X", X, N, self.m.scorer.nI), uint64s(where, "attrs", attrs, N, 3)
        d.D = shape_of(where, "lengths", lengths, 1)[0]
        d.lengths = int64s(where, "lengths", lengths, d.D)
        check_lengths(where, d.lengths, d.D, N)
        check_numbers(where, "lengths", d.lengths, d.D, 0, <int64_t>INT_MAX + 1)
        d.heads, d.deps = int64s_out(where, "heads", heads, N), uint64s_out(where, "deps", deps, N)
        d.is_decorated = bytes_out(where, "is_decorated", is_decorated, N, ABSENT)
        cdef int failed
        with nogil:
            failed = kernels.parse(&self.m, &d)
        if failed:
            raise MemoryError


# What plans are made from


cdef struct Place:
    PyObject *owner
    PyObject *key
    PyObject *value


cdef class Reading:
    """What was read from the nodes of a model, and where it was.

    What's made from nothing else holds while `is_current`: while each place has the same object, or
    an equal number. An array that's changed in place stays the same object. numpy gives no other
    memory to an array that is referred to from here. Of lists and sets, the contents are compared.
    """

    cdef list kept, lists, sets
    cdef set known  # places, so that each is noted once
    cdef bint is_remote
    cdef Place *entries  # of dicts; `kept` keeps all objects alive
    cdef Place *attributes
    cdef int num_entries, num_attributes

    def __init__(self):
        self.kept, self.lists, self.sets, self.known = [], [], [], set()
        self.is_remote = False

    def __dealloc__(self):
        free(self.entries)
        free(self.attributes)

    cdef object of_dict(self, dict owner, key):
        value = owner[key]
        if (id(owner), key) not in self.known:
            self.known.add((id(owner), key))
            (own,) = [other for other in owner if other == key]  # found by identity
            note(&self.entries, &self.num_entries, owner, own, value)
            self.kept.append((owner, own, value))
            if isinstance(value, set):
                self.sets.append((value, frozenset(value)))
        return value

    def entry(self, dict owner, key):
        """Read a list that a dict may have: its items, or none. They may change in place."""
        if key in owner:
            return self.items(self.of_dict(owner, key))
        note(&self.entries, &self.num_entries, owner, key, None)
        self.entries[self.num_entries - 1].value = NULL
        self.kept.append((owner, key))
        return ()

    cdef list items(self, list values):
        if id(values) not in self.known:
            self.known.add(id(values))
            self.lists.append((values, tuple(values)))
        return values

    def attribute(self, owner, name):
        """Read an attribute of an object."""
        value = getattr(owner, name)
        if (id(owner), name) not in self.known:
            self.known.add((id(owner), name))
            note(&self.attributes, &self.num_attributes, owner, name, value)
            self.kept.append((owner, name, value))
        return value

    def param(self, node, name):
        """Read a parameter. Raises KeyError if the node lacks it, or if it was never set."""
        node.get_param(name)
        server = self.attribute(node, "_params")
        self.is_remote |= self.attribute(server, "proxy") is not None
        key = self.attribute(node, "id"), name
        return self.of_dict(self.attribute(server, "_params"), key)

    def has_param(self, node, name):
        """Return whether a parameter is set. thinc keeps its array when it's set to None."""
        return self.of_dict(self.attribute(node, "_has_params"), name) is not None

    def attr(self, node, name):
        """Read an entry of `node.attrs`."""
        return self.of_dict(self.attribute(node, "_attrs"), name)

    def ref(self, node, name):
        """Read a reference to another node."""
        return self.of_dict(self.attribute(node, "_refs"), name)

    def layers(self, node):
        """Read the layers of a node."""
        return self.items(self.attribute(node, "_layers"))

    def is_current(self):
        """Return whether all that was read is still there."""
        cdef PyObject *found
        cdef Place *place
        cdef list layers
        cdef tuple noted
        cdef Py_ssize_t i
        if self.is_remote:
            return False
        for i in range(self.num_entries):
            place = self.entries + i
            found = PyDict_GetItemWithError(<object>place.owner, <object>place.key)
            if found is not place.value:
                return False
        for i in range(self.num_attributes):
            place = self.attributes + i
            current = getattr(<object>place.owner, <object>place.key)
            if <PyObject *>current is not place.value and not (
                type(current) is int and current == <object>place.value
            ):
                return False
        for layers, noted in self.lists:
            if len(layers) != len(noted):
                return False
            for i in range(len(noted)):
                if layers[i] is not noted[i]:
                    return False
        for current, value in self.sets:
            if current != value:
                return False
        return True


cdef int note(Place **places, int *number, owner, key, value) except -1:
    cdef Place *longer = <Place *>realloc(places[0], (number[0] + 1) * sizeof(Place))
    if longer is NULL:
        raise MemoryError
    longer[number[0]] = Place(<PyObject *>owner, <PyObject *>key, <PyObject *>value)
    places[0], number[0] = longer, number[0] + 1
    return 0
