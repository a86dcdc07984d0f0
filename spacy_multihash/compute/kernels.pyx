# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The compiled kernels: C files beside this one, once for each instruction set.

Arrays are numpy's, contiguous, of the types that each function names. No function keeps anything
or holds the GIL while it computes, so that any number of threads may call them.
"""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

import numpy
from thinc.backends import cblas as thinc_cblas

from cpython.pycapsule cimport PyCapsule_GetPointer


cdef extern from "kernels.h" nogil:
    ctypedef struct Recognizer:
        const float *X
        const float *W
        const float *b
        const float *pad
        const float *upper
        const float *upper_b
        const uint8_t *unseen
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
        int nI, nF, nH, nP, nC, K, relu

    ctypedef struct Decoding:
        const int64_t *ends
        const int64_t *begins
        const int64_t *starts
        const int64_t *labels
        ptrdiff_t S
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

    ctypedef struct Adam:
        float clip, beta1, beta2, eps, learn_rate, decay, average_rest

    void c_adam "adam"(
        const Adam *, ptrdiff_t, float *, float *, float *, float *, float *
    ) noexcept
    ptrdiff_t c_distinct_rows "distinct_rows"(
        const uint64_t *, ptrdiff_t, int, int64_t *, int32_t *
    ) noexcept

    ctypedef struct Kernels:
        const char *name
        void (*affine)(
            const float *, ptrdiff_t, int, const float *, const float *, int, float *
        ) noexcept nogil
        int (*decode)(const Recognizer *, Decoding *) noexcept nogil
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
            const Layer *, int, int, const int64_t *, ptrdiff_t, const float *, float *
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
            const Tables *, const Layer *, const uint64_t *, ptrdiff_t, float *
        ) noexcept nogil
        int (*viterbi)(
            const float *, int, const double *, const uint8_t *, const int64_t *, ptrdiff_t,
            int64_t *
        ) noexcept nogil

    const Kernels *find_kernels(const char *name)


NAMES = ("avx2", "baseline")  # the best first

cdef const Kernels *kernels = find_kernels(b"baseline")


def use(name):
    """Compute with the kernels of an instruction set that the machine has."""
    global kernels
    cdef const Kernels *chosen = find_kernels(name.encode())
    if chosen is NULL:
        raise ValueError(name)
    kernels = chosen


def available():
    """List the instruction sets that the machine has, the best first."""
    return [name for name in NAMES if find_kernels(name.encode()) is not NULL]


def product(
    const float[:, ::1] X,
    const float[:, ::1] W,
    ptrdiff_t first,
    ptrdiff_t last,
    float[:, ::1] Y,
):
    """Multiply the rows [first, last) by the rows of W: X (n, K), W (N, K) -> Y = X W' (n, N)."""
    cdef int K = X.shape[1], N = W.shape[0]
    if W.shape[1] != K:
        raise ValueError(f"cannot multiply rows of {K} by rows of {W.shape[1]}")
    if Y.shape[0] != X.shape[0] or Y.shape[1] != N:
        raise ValueError(f"the product is {X.shape[0]} by {N}, not {Y.shape[0]} by {Y.shape[1]}")
    if first < last and N > 0:
        with nogil:
            kernels.affine(&X[first, 0], last - first, K, &W[0, 0], NULL, N, &Y[first, 0])


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
    if trans_A or not trans_B or alpha != 1 or beta != 0 or lda != K or ldb != K or ldc != N:
        blis_sgemm(trans_A, trans_B, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc)
    elif M > 0 and N > 0:
        kernels.affine(A, M, K, B, NULL, N, C)


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


def decode(
    const float[:, ::1] X,
    weights,
    rules,
    actions,
    parts=None,
    const float[:, ::1] mask=None,
):
    """Find the entities that spaCy's greedy recognizer finds: ([E] starts, ends, labels) int64.

    X (N, nI) float32: The vectors of tokens.
    weights (Weights), rules (Rules), actions (Actions): Of ner/transition.
    parts (Parts): In training, the S parts of docs to decode, one after the other. A part begins
        with the entity open that `starts` and `labels` say. Entities still open at the end of a
        part end there.
    mask (R, nH) float32 or None: Dropout of the hidden layer of each of the R tokens of all parts,
        one part after the other.

    With parts, returns the states that were visited instead, for each of these tokens: the first
    token of the open entity, -1 for none (R,) int64; the label of that entity (R,) int64,
    `NO_LABEL` for none; the action's column (R,) int64, `NO_ACTION` where none is valid, and for
    tokens that are never visited since none was valid before them; the hidden layer after dropout
    (R, nH) float32; the piece that was the largest (R, nH) uint8, or for a single piece, a ReLU,
    whether it was kept.
    """
    cdef bint training = parts is not None
    cdef const float[:, :, ::1] W = weights.W
    cdef const float[::1] b = weights.b
    cdef const float[:, ::1] pad = weights.pad
    cdef const float[:, ::1] upper = weights.upper
    cdef const float[::1] upper_b = weights.upper_b
    cdef const uint8_t[::1] unseen = None if weights.unseen is None else weights.unseen.view("uint8")
    cdef const int64_t[:, ::1] columns = actions.columns, allowed = rules.table
    cdef const int64_t[::1] ends, begins, starts, labels
    cdef Recognizer m
    m.X, m.W, m.b, m.pad = &X[0, 0], &W[0, 0, 0], &b[0], &pad[0, 0]
    m.upper = NULL if upper is None else &upper[0, 0]
    m.upper_b = NULL if upper is None else &upper_b[0]
    m.unseen = NULL if unseen is None else &unseen[0]
    m.B, m.I, m.L, m.U = &columns[0, 0], &columns[1, 0], &columns[2, 0], &columns[3, 0]
    m.O, m.blocked, m.nC, m.K = actions.O, actions.blocked, actions.nO, columns.shape[1]
    m.begins, m.units, m.goes_on = &allowed[0, 0], &allowed[1, 0], &allowed[2, 0]
    m.closes, m.may_be_outside, m.is_blocked = &allowed[3, 0], &allowed[4, 0], &allowed[5, 0]
    m.nI, m.nF, m.nP, m.nH = X.shape[1], W.shape[0], weights.nP, W.shape[1] // weights.nP
    m.relu = training

    cdef Decoding d
    cdef ptrdiff_t part, R = X.shape[0]
    ends = parts.ends if training else rules.doc_ends
    d.ends, d.S = &ends[0], ends.shape[0]
    d.begins = d.starts = d.labels = NULL
    if training:
        begins, starts, labels = parts.begins, parts.starts, parts.labels
        d.begins, d.starts, d.labels = &begins[0], &starts[0], &labels[0]
        R = 0
        for part in range(d.S):
            R += ends[part] - begins[part]
    cdef int64_t[:, ::1] entities = (spans := numpy.empty((3, R), dtype="int64"))
    cdef int64_t[:, ::1] states
    cdef float[:, ::1] hidden
    cdef uint8_t[:, ::1] which
    d.mask = NULL if mask is None else &mask[0, 0]
    d.ent_starts, d.ent_ends, d.ent_labels = &entities[0, 0], &entities[1, 0], &entities[2, 0]
    d.entities = 0
    d.state_starts = d.state_labels = d.actions = NULL
    d.hidden, d.which = NULL, NULL
    if training:
        visited = numpy.full((3, R), -1)
        layer, pieces = numpy.empty((R, m.nH), "float32"), numpy.empty((R, m.nH), "uint8")
        states, hidden, which = visited, layer, pieces
        d.state_starts, d.state_labels, d.actions = &states[0, 0], &states[1, 0], &states[2, 0]
        d.hidden, d.which = &hidden[0, 0], &which[0, 0]
    cdef int failed
    with nogil:
        failed = kernels.decode(&m, &d)
    if failed:
        raise MemoryError
    return (*visited, layer, pieces) if training else spans[:, : d.entities]


cdef Layer read_layer(layer, int nI):
    """Point to the parameters of a layer whose input is (N, nI); the layer keeps them alive."""
    cdef const float[:, :, ::1] W = layer.W
    cdef const float[:, ::1] b = layer.b
    cdef const float[::1] G = layer.G, beta = layer.beta
    cdef Layer l
    l.window, l.dilation = layer.window, layer.dilation
    l.relu, l.residual = layer.relu, layer.residual
    l.nO, l.nP, l.nI = W.shape[0], W.shape[1], nI
    if W.shape[2] != (2 * l.window + 1) * nI or (l.residual and l.nO != nI):
        raise ValueError(f"weights {layer.W.shape} do not fit an input of width {nI}")
    l.W, l.b = &W[0, 0, 0], &b[0, 0]
    l.G = NULL if G is None else &G[0]
    l.beta = NULL if G is None else &beta[0]
    return l


cdef Docs read_docs(docs):
    cdef const int64_t[::1] lengths = docs.lengths
    cdef Docs d
    d.lengths, d.D = &lengths[0], lengths.shape[0]
    d.before, d.after, d.pad = docs.before, docs.after, docs.pad
    return d


def maxout(
    const float[:, ::1] X,
    layer,
    docs,
    ptrdiff_t first,
    ptrdiff_t last,
    float[:, ::1] Y,
    const float[:, ::1] mask=None,
    uint8_t[:, ::1] which=None,
    float[:, ::1] Xhat=None,
    float[::1] scale=None,
):
    """Compute the rows [first, last) of a layer: X (N, nI) -> Y (M, nO).

    layer (Layer), docs (Docs): Of compute/maxout.py. mask, which, Xhat and scale are of M rows too.
    """
    cdef Layer l = read_layer(layer, X.shape[1])
    cdef Docs d = read_docs(docs)
    cdef int failed
    if first == last:
        return
    cdef const float *mask_rows = NULL if mask is None else <float *>&mask[first, 0]
    cdef uint8_t *pieces = NULL if which is None else &which[first, 0]
    cdef float *normalized = NULL if Xhat is None else &Xhat[first, 0]
    cdef float *scales = NULL if scale is None else &scale[first]
    with nogil:
        failed = kernels.maxout(
            &l, &d, &X[0, 0], first, last, mask_rows, &Y[first, 0], pieces, normalized, scales
        )
    if failed:
        raise MemoryError


def back_to_sums(
    const float[:, ::1] dY,
    layer,
    int nI,
    ptrdiff_t first,
    ptrdiff_t last,
    float[:, ::1] d,
    const uint8_t[:, ::1] which,
    const float[:, ::1] Xhat,
    const float[::1] scale,
):
    """Go back from the rows [first, last) of dY (M, nO) to the sums of the largest pieces, d."""
    cdef Layer l = read_layer(layer, nI)
    if first == last:
        return
    cdef const float *normalized = NULL if Xhat is None else <float *>&Xhat[first, 0]
    cdef const float *scales = NULL if scale is None else <float *>&scale[first]
    with nogil:
        kernels.back_to_sums(
            &l, last - first, &dY[first, 0], normalized, scales, &which[first, 0], &d[first, 0]
        )


def back_to_input(
    const float[:, ::1] d,
    layer,
    docs,
    ptrdiff_t first,
    ptrdiff_t last,
    float[:, ::1] dX,
    const uint8_t[:, ::1] which,
    const float[:, ::1] dY,
):
    """Go back from d (M, nO) to the rows [first, last) of the input, dX (N, nI)."""
    cdef Layer l = read_layer(layer, dX.shape[1])
    cdef Docs shape = read_docs(docs)
    cdef int failed
    if first == last:
        return
    with nogil:
        failed = kernels.back_to_input(
            &l, &shape, &d[0, 0], &which[0, 0], &dY[0, 0], first, last, &dX[first, 0]
        )
    if failed:
        raise MemoryError


def back_to_weights(
    const float[:, ::1] d,
    layer,
    docs,
    int first,
    int last,
    const float[:, ::1] X,
    const uint8_t[:, ::1] which,
    const float[:, ::1] dY,
    const float[:, ::1] Xhat,
    float[:, :, ::1] dW,
    float[:, ::1] db,
    float[::1] dG,
    float[::1] dbeta,
):
    """Add to the gradients of the parameters of the outputs [first, last)."""
    cdef Layer l = read_layer(layer, X.shape[1])
    cdef Docs shape = read_docs(docs)
    cdef ptrdiff_t N = d.shape[0]
    cdef int failed
    if N == 0:
        return
    cdef const float *normalized = NULL if Xhat is None else <float *>&Xhat[0, 0]
    cdef float *gain = NULL if dG is None else &dG[0]
    cdef float *shift = NULL if dG is None else &dbeta[0]
    with nogil:
        failed = kernels.back_to_weights(
            &l, &shape, &X[0, 0], N, &d[0, 0], &which[0, 0], &dY[0, 0], normalized,
            first, last, &dW[0, 0, 0], &db[0, 0], gain, shift
        )
    if failed:
        raise MemoryError


def encode(
    const float[:, ::1] X, layers, bint pad, const int64_t[::1] lengths, float[:, ::1] Y
):
    """Compute all layers of an encoder, for docs side by side: X (N, nI) -> Y (N, nO).

    pad: Whether docs have padding around them as in spaCy's encoder, instead of zeros.
    """
    cdef int L = len(layers), i, failed, width = X.shape[1]
    if X.shape[0] == 0:
        return
    cdef uint8_t[::1] memory = bytearray(L * sizeof(Layer))
    cdef Layer *read = <Layer *>&memory[0]
    for i in range(L):
        read[i] = read_layer(layers[i], width)
        width = read[i].nO
    if Y.shape[0] != X.shape[0] or Y.shape[1] != width:
        raise ValueError(f"an encoder of width {width} does not fit its result")
    with nogil:
        failed = kernels.encode(read, L, pad, &lengths[0], lengths.shape[0], &X[0, 0], &Y[0, 0])
    if failed:
        raise MemoryError


cdef Tables read_tables(tables, uint8_t[::1] memory, hashing):
    """Point to A tables (nV, W), and to how ids are hashed into each.

    memory: For A pointers. The result points to it, so the caller keeps it.
    """
    cdef float **pointers = <float **>&memory[0]
    cdef const uint32_t[::1] nV = hashing.nV
    cdef const uint32_t[:, ::1] seeds = hashing.seeds
    cdef const int32_t[::1] num_hashes = hashing.num_hashes
    cdef const float[:, ::1] table
    cdef Tables t
    cdef int a
    for a in range(len(tables)):
        table = tables[a]
        pointers[a] = <float *>&table[0, 0]
        if table.shape[0] != nV[a] or num_hashes[a] > 16:
            raise ValueError(f"table {a} has {table.shape[0]} rows, expected {nV[a]}")
    t.tables, t.nV, t.seeds, t.num_hashes = pointers, &nV[0], &seeds[0, 0], &num_hashes[0]
    t.A, t.W = len(tables), table.shape[1]
    return t


def hash_embed(
    const uint64_t[:, ::1] ids,
    tables,
    hashing,
    ptrdiff_t first,
    ptrdiff_t last,
    int32_t[:, :, ::1] rows,
    float[:, ::1] vectors,
):
    """Embed the tokens [first, last): ids (U, A) -> rows (U, A, 16), vectors (U, A * W).

    hashing (Hashing): Of compute/hash_embed.py.
    """
    cdef Tables t
    if first == last:
        return
    cdef uint8_t[::1] memory = bytearray(len(tables) * sizeof(float *))
    t = read_tables(tables, memory, hashing)
    with nogil:
        kernels.hash_embed(&t, &ids[0, 0], first, last, &rows[0, 0, 0], &vectors[0, 0])


def mix(
    const uint64_t[:, ::1] ids,
    tables,
    hashing,
    layer,
    ptrdiff_t first,
    ptrdiff_t last,
    float[:, ::1] Y,
):
    """Embed the tokens [first, last) and mix their columns: ids (N, A) -> Y (N, nO)."""
    cdef Layer l = read_layer(layer, layer.W.shape[2])
    cdef Tables t
    cdef int failed
    if first == last:
        return
    cdef uint8_t[::1] memory = bytearray(len(tables) * sizeof(float *))
    t = read_tables(tables, memory, hashing)
    if t.A * t.W != l.nI or ids.shape[1] != t.A:
        raise ValueError(f"{t.A} tables of width {t.W} do not fit a layer of width {l.nI}")
    with nogil:
        failed = kernels.mix(&t, &l, &ids[first, 0], last - first, &Y[first, 0])
    if failed:
        raise MemoryError


def hash_embed_backward(
    gradients,
    hashing,
    int first,
    int last,
    const int32_t[:, :, ::1] rows,
    const float[:, ::1] d_vectors,
):
    """Add d_vectors (U, A * W) to the rows of the gradients [first, last) of tables."""
    cdef Tables t
    if rows.shape[0] == 0:
        return
    cdef uint8_t[::1] memory = bytearray(len(gradients) * sizeof(float *))
    t = read_tables(gradients, memory, hashing)
    with nogil:
        kernels.hash_embed_backward(
            &t, &rows[0, 0, 0], &d_vectors[0, 0], rows.shape[0], first, last
        )


cdef Bags read_bags(bags, int W, const float[:, :] sums):
    """Point to the rows of symbols; the caller has checked that the table has them."""
    cdef const int32_t[:, ::1] rows = bags.rows
    cdef const float[:, ::1] weights = bags.weights
    cdef const int64_t[::1] ends = bags.ends
    cdef Bags b
    b.K, b.W, b.mean = rows.shape[1], W, bags.mean
    if sums.shape[1] != W or (W > 1 and sums.strides[1] != 4) or sums.strides[0] % 4:
        raise ValueError(f"cannot sum rows of {W} numbers in rows of {sums.shape[1]}")
    if weights is not None and (
        weights.shape[0] != rows.shape[0] or weights.shape[1] != rows.shape[1]
    ):
        raise ValueError(f"{weights.shape[1]} weights of a symbol do not fit {b.K} rows")
    b.rows = &rows[0, 0]
    b.weights = NULL if weights is None else &weights[0, 0]
    b.ends = NULL if ends is None else &ends[0]
    return b


def gather_sum(
    const float[:, ::1] table, bags, ptrdiff_t first, ptrdiff_t last, float[:, :] out
):
    """Sum the rows of the tokens [first, last): table (nV, W) -> out (U, W), rows contiguous.

    bags (Bags): Of compute/bags.py.
    """
    if first == last or table.shape[1] == 0 or len(bags.rows) == 0:
        out[first:last] = 0
        return
    cdef Bags b = read_bags(bags, table.shape[1], out)
    with nogil:
        kernels.gather_sum(&b, &table[0, 0], first, last, &out[0, 0], out.strides[0] // 4)


def mix_bags(
    tables, bags, layer, ptrdiff_t first, ptrdiff_t last, float[:, ::1] vectors, float[:, ::1] Y
):
    """Sum the rows of the tokens [first, last) in each column, and mix: vectors (U, nI) -> Y (U, nO)."""
    cdef Layer l = read_layer(layer, vectors.shape[1])
    cdef int64_t n = last - first
    cdef Docs docs = Docs(&n, 1, 0, 0, False)
    cdef Bags b
    cdef const float[:, ::1] table
    cdef ptrdiff_t W, offset = 0
    cdef int failed
    if n == 0:
        return
    for table, column in zip(tables, bags, strict=True):
        W = table.shape[1]
        if offset + W > vectors.shape[1]:
            raise ValueError(f"tables do not fit a layer of width {vectors.shape[1]}")
        if len(column.rows) == 0:
            vectors[first:last, offset : offset + W] = 0
        else:
            b = read_bags(column, W, vectors[:, offset : offset + W])
            with nogil:
                kernels.gather_sum(
                    &b, &table[0, 0], first, last, &vectors[0, offset], vectors.shape[1]
                )
        offset += W
    with nogil:
        failed = kernels.maxout(
            &l, &docs, &vectors[first, 0], 0, n, NULL, &Y[first, 0], NULL, NULL, NULL
        )
    if failed:
        raise MemoryError


def scatter_sum(
    float[:, ::1] gradient, bags, const float[:, :] d_sums, int first, int last
):
    """Add d_sums (U, W) to the entries [first, last) of rows of a gradient (nV, W)."""
    if first == last or d_sums.shape[0] == 0 or len(bags.rows) == 0:
        return
    cdef Bags b = read_bags(bags, gradient.shape[1], d_sums)
    cdef ptrdiff_t stride = d_sums.strides[0] // 4
    with nogil:
        kernels.scatter_sum(
            &b, &gradient[0, 0], d_sums.shape[0], &d_sums[0, 0], stride, first, last
        )


def gather_dot(
    const float[:, ::1] table,
    bags,
    ptrdiff_t first,
    ptrdiff_t last,
    const float[:, :] d_sums,
    float[:, ::1] d_weights,
):
    """Multiply the rows of the tokens [first, last) by d_sums (U, W) -> d_weights (M, K)."""
    if first == last or len(bags.rows) == 0:
        return
    cdef Bags b = read_bags(bags, table.shape[1], d_sums)
    cdef ptrdiff_t stride = d_sums.strides[0] // 4
    with nogil:
        kernels.gather_dot(
            &b, &table[0, 0], first, last, &d_sums[0, 0], stride, &d_weights[0, 0]
        )


def hash_rows(
    const uint64_t[::1] ids, uint32_t nV, const uint32_t[::1] seeds, int32_t[:, ::1] rows
):
    """Hash ids (M,) to rows (M, K) of a table; seeds ((K + 3) // 4,)."""
    cdef ptrdiff_t n = ids.shape[0]
    if n:
        with nogil:
            kernels.hash_rows(&ids[0], n, nV, &seeds[0], rows.shape[1], &rows[0, 0])


def hash_ngrams(
    const uint64_t[::1] ids,
    const int64_t[::1] lengths,
    const int32_t[::1] orders,
    uint64_t[::1] ngrams,
):
    """Hash the n-grams of docs: ids (N,) of all tokens, lengths (D,), orders ascending -> (M,)."""
    cdef ptrdiff_t D = lengths.shape[0]
    if ngrams.shape[0]:
        with nogil:
            kernels.hash_ngrams(
                &ids[0], &lengths[0], D, &orders[0], orders.shape[0], &ngrams[0]
            )


def look_up(
    const uint64_t[::1] ids,
    const uint64_t[::1] keys,
    const int32_t[::1] row_of,
    int32_t[::1] rows,
):
    """Find the rows (M,) of ids (M,) among V keys in ascending order, 0 for none."""
    cdef ptrdiff_t n = ids.shape[0], V = keys.shape[0]
    if n:
        with nogil:
            kernels.look_up(&ids[0], n, &keys[0], &row_of[0], V, &rows[0])


def viterbi(
    const float[:, ::1] scores,
    const double[:, ::1] transitions,
    const uint8_t[::1] known,
    const int64_t[::1] lengths,
):
    """Find the best tags (N,) of D sequences: scores (N, nO), transitions (nO, nO) or None.

    transitions: From the column's tag to the row's.
    known: What ner/tagger/decode.py knows of tokens, as bits.
    """
    tags = numpy.empty(scores.shape[0], dtype="int64")
    cdef int64_t[::1] best = tags
    cdef int K = (scores.shape[1] - 1) // 4, failed
    cdef const double *pairs = NULL if transitions is None else <double *>&transitions[0, 0]
    if scores.shape[0] == 0:
        return tags
    with nogil:
        failed = kernels.viterbi(
            &scores[0, 0], K, pairs, &known[0], &lengths[0], lengths.shape[0], &best[0]
        )
    if failed:
        raise MemoryError
    return tags


def adam(
    float[::1] weights,
    float[::1] gradient,
    float[::1] mom1,
    float[::1] mom2,
    float[::1] averages,
    float clip,
    float beta1,
    float beta2,
    float eps,
    float learn_rate,
    float decay,
    float average_rest,
):
    """Take a step of Adam in place, and set the gradient to 0. Arrays are (N,), N > 0.

    averages: The averages of the weights, or None to keep none.
    clip: Factor of the gradient, 1 to leave it as it is.
    learn_rate: With the correction of the moments' bias.
    decay: Share of the weights that decays after the step.
    average_rest: Share of the new weights in the averages.
    """
    cdef Adam step
    cdef float *kept = NULL if averages is None else &averages[0]
    step.clip, step.beta1, step.beta2, step.eps = clip, beta1, beta2, eps
    step.learn_rate, step.decay, step.average_rest = learn_rate, decay, average_rest
    with nogil:
        c_adam(&step, weights.shape[0], &weights[0], &gradient[0], &mom1[0], &mom2[0], kept)


def distinct_rows(const uint64_t[:, ::1] ids):
    """Group equal rows: ids (N, C) -> the first row of each group (U,), group of each row (N,)."""
    cdef ptrdiff_t number, N = ids.shape[0]
    cdef int C = ids.shape[1]
    first, group_of = numpy.empty(N, dtype="int64"), numpy.empty(N, dtype="int32")
    cdef int64_t[::1] firsts = first
    cdef int32_t[::1] groups = group_of
    if N == 0:
        return first, group_of
    with nogil:
        number = c_distinct_rows(&ids[0, 0], N, C, &firsts[0], &groups[0])
    if number < 0:
        raise MemoryError
    return first[:number], group_of
