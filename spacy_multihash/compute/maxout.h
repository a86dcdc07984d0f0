/* Maxout over windows of rows, with layer norm, residual and ReLU if a layer has them; forward and
   backward. Rows that lie side by side in a window are read where they are. */

/* Finds for n rows from `first` on, with `mine` rows of padding around each doc, which rows with
   `theirs` rows of padding stand at -window * step, ..., window * step from each: (n, 2 * window + 1),
   -1 for rows beyond the padding. */
static void neighbours(const Docs *docs, int mine, int theirs, int window, ptrdiff_t step,
                       ptrdiff_t first, ptrdiff_t n, ptrdiff_t *index) {
    const int S = 2 * window + 1;
    ptrdiff_t row = docs->pad, other = docs->pad, i = 0;
    for (; i < docs->pad - first && i < n; i++)
        for (int s = 0; s < S; s++) *index++ = -1;
    for (ptrdiff_t d = 0; d < docs->D && i < n; d++) {
        const ptrdiff_t here = docs->lengths[d] + 2 * mine, there = docs->lengths[d] + 2 * theirs;
        for (ptrdiff_t p = first + i - row; p < here && i < n; p++, i++)
            for (int s = 0; s < S; s++) {
                const ptrdiff_t q = p - mine + theirs + (s - window) * step;
                *index++ = q >= 0 && q < there ? other + q : -1;
            }
        row += here;
        other += there;
    }
}

static void point_to(const Layer *l, const Docs *docs, const float *X, const float *zeros,
                     ptrdiff_t first, int n, ptrdiff_t *index, const float **rows) {
    neighbours(docs, docs->after, docs->before, l->window, l->dilation, first, n, index);
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n * (2 * l->window + 1); i++)
        rows[i] = index[i] >= 0 ? X + index[i] * l->nI : docs->pad ? X : zeros;
}

typedef struct {
    ptrdiff_t *index;     /* (RUN, 2 * window + 1) */
    const float **rows;   /* likewise */
    float *zeros;         /* (nI) */
} Reads;

static int allocate(const Layer *l, Reads *reads) {
    const size_t S = 2 * (size_t)l->window + 1;
    reads->index = malloc(RUN * S * (sizeof(ptrdiff_t) + sizeof(float *)) + 4 * (size_t)l->nI);
    if (!reads->index) return -1;
    reads->rows = (const float **)(reads->index + RUN * S);
    reads->zeros = (float *)(reads->rows + RUN * S);
    memset(reads->zeros, 0, 4 * (size_t)l->nI);
    return 0;
}

/* y = the largest piece of each output; NaN if one is NaN; which: the first of equals */
static void largest(const Layer *l, const float *const *rows, int n, float *Y, uint8_t *which) {
    const int S = 2 * l->window + 1, nP = l->nP, nO = l->nO;
    const size_t K = (size_t)S * l->nI;
    float sums[COLUMNS][ROWS];
    /* Whether the windows of a block lie in one piece, which is the same sum in fewer steps. */
    uint8_t adjacent[RUN / ROWS];
    for (int i = 0; i + ROWS <= n; i += ROWS) {
        adjacent[i / ROWS] = l->nI % VL == 0;
        for (int j = i * S + 1; j < (i + ROWS) * S; j++)
            if (j % S && rows[j] != rows[j - 1] + l->nI) adjacent[i / ROWS] = 0;
    }
    for (int o = 0; o < nO; o++)
        for (int p = 0; p < nP; p += COLUMNS) {
            const int C = nP - p < COLUMNS ? nP - p : COLUMNS;
            const float *W = l->W + ((size_t)o * nP + p) * K, *b = l->b + (size_t)o * nP + p;
            for (int i = 0; i < n; i += ROWS) {
                const int R = n - i < ROWS ? n - i : ROWS;
                if (i + ROWS <= n && adjacent[i / ROWS]) {
                    const float *firsts[ROWS];
                    for (int r = 0; r < ROWS; r++) firsts[r] = rows[(size_t)(i + r) * S];
                    dots(R, C, firsts, 1, K, W, sums);
                } else
                    dots(R, C, rows + (size_t)i * S, S, l->nI, W, sums);
                float best[ROWS] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
                int32_t piece[ROWS] = {0};
                for (int r = 0; p && r < R; r++) {
                    best[r] = Y[(size_t)(i + r) * nO + o];
                    piece[r] = which ? which[(size_t)(i + r) * nO + o] : 0;
                }
                for (int c = 0; c < C; c++) take_larger(sums[c], b[c], p + c, best, piece);
                for (int r = 0; r < R; r++) {
                    Y[(size_t)(i + r) * nO + o] = best[r];
                    if (which) which[(size_t)(i + r) * nO + o] = (uint8_t)piece[r];
                }
            }
        }
}

static void rectify(int n, float *y, uint8_t *which) {
    for (int o = 0; o < n; o++) {
        const int active = y[o] > 0;
        if (which) which[o] = (uint8_t)active;
        if (y[o] <= 0) y[o] = 0; /* NaN stays NaN */
    }
}

static float sum_of(const float *x, int n) {
    vec sum = zero();
    float rest = 0;
    ptrdiff_t k = 0;
    for (; k + VL <= n; k += VL) sum += load(x + k);
    for (; k < n; k++) rest += x[k];
    return add_lanes(sum) + rest;
}

static float sum_of_products(const float *x, const float *y, int n) {
    vec sum = zero();
    float rest = 0;
    ptrdiff_t k = 0;
    for (; k + VL <= n; k += VL) sum += load(x + k) * load(y + k);
    for (; k < n; k++) rest += x[k] * y[k];
    return add_lanes(sum) + rest;
}

/* Y (last - first rows of nO). Training also keeps which, Xhat and scale, of the same rows. */
static int maxout(const Layer *l, const Docs *docs, const float *X, ptrdiff_t first, ptrdiff_t last,
                  const float *mask, float *Y, uint8_t *which, float *Xhat, float *scale) {
    const int nO = l->nO, S = 2 * l->window + 1;
    Reads reads;
    if (allocate(l, &reads)) return -1;
    const int step = run_of(l->nI);
    for (ptrdiff_t run = first; run < last; run += step) {
        const int n = (int)(last - run < step ? last - run : step);
        point_to(l, docs, X, reads.zeros, run, n, reads.index, reads.rows);
        largest(l, reads.rows, n, Y, which);
        for (int i = 0; i < n; i++, Y += nO) {
            const float *x = reads.rows[i * S + l->window];
            if (l->relu) rectify(nO, Y, which ? which + (size_t)i * nO : NULL);
            if (l->G) {
                const float mean = sum_of(Y, nO) / nO;
                for (int o = 0; o < nO; o++) Y[o] -= mean;
                const float factor = 1 / sqrtf(sum_of_products(Y, Y, nO) / nO + 1e-8f);
                for (int o = 0; o < nO; o++) Y[o] *= factor;
                if (Xhat) {
                    memcpy(Xhat, Y, 4 * (size_t)nO);
                    Xhat += nO;
                    *scale++ = factor;
                }
                for (int o = 0; o < nO; o++) Y[o] = Y[o] * l->G[o] + l->beta[o];
            }
            if (mask)
                for (int o = 0; o < nO; o++) Y[o] *= *mask++;
            if (l->residual)
                for (int o = 0; o < nO; o++) Y[o] += x[o];
        }
        if (which) which += (size_t)n * nO;
    }
    free(reads.index);
    return 0;
}

/* Goes back to the sum of each output's largest piece: dY (n, nO) -> d (n, nO) */
static void back_to_sums(const Layer *l, ptrdiff_t n, const float *dY, const float *Xhat,
                         const float *scale, const uint8_t *which, float *d) {
    const int nO = l->nO;
    for (ptrdiff_t i = 0; i < n; i++, dY += nO, d += nO, which += nO) {
        if (l->G) {
            for (int o = 0; o < nO; o++) d[o] = dY[o] * l->G[o];
            const float mean = sum_of(d, nO) / nO, share = sum_of_products(d, Xhat, nO) / nO;
            for (int o = 0; o < nO; o++) d[o] = (d[o] - mean - Xhat[o] * share) * scale[i];
            Xhat += nO;
        } else
            memcpy(d, dY, 4 * (size_t)nO);
        if (l->relu)
            for (int o = 0; o < nO; o++) d[o] *= which[o];
    }
}

/* dx (T vectors) += sum over outputs of d times the weights of the largest piece */
INLINE void input_tile(const int T, const Layer *l, const float *d, const uint8_t *which,
                       const float *W, size_t K, float *dx) {
    const size_t stride = l->nP * K, piece = l->nP > 1 ? K : 0;
    vec even[4], odd[4];
    UNROLL for (int t = 0; t < T; t++) even[t] = odd[t] = zero();
    int o = 0;
    for (; o + 2 <= l->nO; o += 2) {
        const float *w = W + o * stride + which[o] * piece;
        const float *v = W + (o + 1) * stride + which[o + 1] * piece;
        UNROLL for (int t = 0; t < T; t++) even[t] += d[o] * load(w + t * VL);
        UNROLL for (int t = 0; t < T; t++) odd[t] += d[o + 1] * load(v + t * VL);
    }
    if (o < l->nO) {
        const float *w = W + o * stride + which[o] * piece;
        UNROLL for (int t = 0; t < T; t++) even[t] += d[o] * load(w + t * VL);
    }
    UNROLL for (int t = 0; t < T; t++) store(dx + t * VL, load(dx + t * VL) + (even[t] + odd[t]));
}

/* For each of n rows, dX[i] += d[index[i * S]] times the weights of one row of the window */
static void add_inputs(const Layer *l, const float *d, const uint8_t *which, const float *W,
                       size_t K, const ptrdiff_t *index, int S, int n, float *dX, ptrdiff_t ld) {
    const int nI = l->nI, nO = l->nO;
    ptrdiff_t k = 0;
#define TILES(T)                                                                              \
    for (; k + (T) * VL <= nI; k += (T) * VL)                                                 \
        for (int i = 0; i < n; i++)                                                           \
            if (index[i * S] >= 0)                                                            \
                input_tile(T, l, d + index[i * S] * nO, which + index[i * S] * nO, W + k, K,  \
                           dX + i * ld + k);
    TILES(4)
    TILES(1)
#undef TILES
    for (; k < nI; k++)
        for (int i = 0; i < n; i++) {
            if (index[i * S] < 0) continue;
            const float *di = d + index[i * S] * nO;
            const uint8_t *piece = which + index[i * S] * nO;
            float sum = 0;
            for (int o = 0; o < nO; o++)
                sum += di[o] * W[((size_t)o * l->nP + (l->nP > 1 ? piece[o] : 0)) * K + k];
            dX[i * ld + k] += sum;
        }
}

/* Goes back to the input: dX (last - first rows of nI). dY is the gradient by the residual. */
static int back_to_input(const Layer *l, const Docs *docs, const float *d, const uint8_t *which,
                         const float *dY, ptrdiff_t first, ptrdiff_t last, float *dX) {
    const int S = 2 * l->window + 1, nI = l->nI;
    const size_t K = (size_t)S * nI;
    Reads reads;
    if (allocate(l, &reads)) return -1;
    memset(dX, 0, 4 * (size_t)(last - first) * nI);
    if (docs->pad && first == 0) { /* the padding is read by all windows that reach beyond */
        ptrdiff_t rows = 1;
        for (ptrdiff_t doc = 0; doc < docs->D; doc++) rows += docs->lengths[doc] + 2 * docs->after;
        for (ptrdiff_t run = 0; run < rows; run += RUN) {
            const ptrdiff_t n = rows - run < RUN ? rows - run : RUN;
            neighbours(docs, docs->after, docs->before, l->window, l->dilation, run, n,
                       reads.index);
            for (ptrdiff_t i = 0; i < n * S; i++) {
                const ptrdiff_t row = run + i / S;
                if (reads.index[i] >= 0) continue;
                add_inputs(l, d, which, l->W + i % S * nI, K, &row, 1, 1, dX, nI);
                for (int k = 0; l->residual && i % S == l->window && k < nI; k++)
                    dX[k] += dY[row * nI + k];
            }
        }
    }
    for (ptrdiff_t run = first; run < last; run += RUN, dX += (size_t)RUN * nI) {
        const int n = (int)(last - run < RUN ? last - run : RUN);
        neighbours(docs, docs->before, docs->after, l->window, -(ptrdiff_t)l->dilation, run, n,
                   reads.index);
        for (int s = 0; s < S; s++)
            add_inputs(l, d, which, l->W + (size_t)s * nI, K, reads.index + s, S, n, dX, nI);
        for (int i = 0; l->residual && i < n; i++) {
            const ptrdiff_t row = reads.index[i * S + l->window];
            if (row >= 0)
                for (int k = 0; k < nI; k++) dX[(size_t)i * nI + k] += dY[row * nI + k];
        }
    }
    free(reads.index);
    return 0;
}

/* g (T vectors) += sum over n rows of values[j] times rows[places[j] * S] */
INLINE void weight_tile(const int T, const float *values, const int *places, int n,
                        const float *const *rows, ptrdiff_t S, ptrdiff_t k, float *g) {
    vec acc[12];
    UNROLL for (int t = 0; t < T; t++) acc[t] = load(g + t * VL);
    for (int j = 0; j < n; j++) {
        const float *x = rows[places[j] * S] + k;
        UNROLL for (int t = 0; t < T; t++) acc[t] += values[j] * load(x + t * VL);
    }
    UNROLL for (int t = 0; t < T; t++) store(g + t * VL, acc[t]);
}

/* Adds to the gradients of the parameters of the outputs [low, high), from N rows. */
static int back_to_weights(const Layer *l, const Docs *docs, const float *X, ptrdiff_t N,
                           const float *d, const uint8_t *which, const float *dY, const float *Xhat,
                           int low, int high, float *dW, float *db, float *dG, float *dbeta) {
    const int S = 2 * l->window + 1, nI = l->nI, nO = l->nO, nP = l->nP;
    const size_t K = (size_t)S * nI;
    int places[RUN];
    float values[RUN];
    Reads reads;
    if (allocate(l, &reads)) return -1;
    const int step = run_of(l->nI);
    for (ptrdiff_t run = 0; run < N; run += step) {
        const int n = (int)(N - run < step ? N - run : step);
        point_to(l, docs, X, reads.zeros, run, n, reads.index, reads.rows);
        for (int o = low; o < high; o++)
            for (int p = 0; p < nP; p++) {
                int m = 0;
                for (int i = 0; i < n; i++) { /* no branch, which nobody could predict */
                    const size_t place = (size_t)(run + i) * nO + o;
                    places[m] = i;
                    values[m] = d[place];
                    m += nP == 1 || which[place] == p;
                }
                for (int j = 0; j < m; j++) db[(size_t)o * nP + p] += values[j];
                for (int s = 0; s < S; s++) {
                    const float *const *rows = reads.rows + s;
                    float *g = dW + ((size_t)o * nP + p) * K + (size_t)s * nI;
                    ptrdiff_t k = 0;
                    for (; k + 12 * VL <= nI; k += 12 * VL)
                        weight_tile(12, values, places, m, rows, S, k, g + k);
                    for (; k + 4 * VL <= nI; k += 4 * VL)
                        weight_tile(4, values, places, m, rows, S, k, g + k);
                    for (; k + VL <= nI; k += VL)
                        weight_tile(1, values, places, m, rows, S, k, g + k);
                    for (; k < nI; k++)
                        for (int j = 0; j < m; j++) g[k] += values[j] * rows[places[j] * S][k];
                }
            }
        for (ptrdiff_t i = run; l->G && i < run + n; i++)
            for (int o = low; o < high; o++) {
                dG[o] += dY[i * nO + o] * Xhat[i * nO + o];
                dbeta[o] += dY[i * nO + o];
            }
    }
    free(reads.index);
    return 0;
}

/* All layers of an encoder, for docs side by side: X (N, nI) -> Y (N, nI). Around a doc lies padding
   that starts as zeros and goes through the layers too. After layer l, no more than l * window rows
   of it have seen the doc, and no more than (L - l) * window are read again; all others are alike,
   the first row. */
static int encode(const Layer *layers, int L, const int64_t *lengths, ptrdiff_t D, const float *X,
                  float *Y) {
    const int window = layers->window, most = L / 2 * window;
    const size_t width = layers->nI;
    float *memory = NULL;
    size_t size = 0;
    for (ptrdiff_t first = 0, d = 0; first < D; first = d) {
        ptrdiff_t n = 0; /* docs to about a run */
        for (d = first; d < D && n < RUN; d++) n += lengths[d];
        const size_t floats = (1 + n + 2 * most * (size_t)(d - first)) * width;
        if (2 * floats > size) {
            free(memory);
            size = 2 * floats;
            memory = malloc(4 * size);
            if (!memory) return -1;
        }
        float *before = memory, *after = memory + floats;
        Docs docs = {lengths + first, d - first, 0, 0, 1};
        memset(before, 0, 4 * width);
        memcpy(before + width, X, 4 * width * n);
        for (int l = 1; l <= L; l++) {
            docs.after = (l < L - l ? l : L - l) * window;
            const ptrdiff_t rows = 1 + n + 2 * docs.after * docs.D;
            if (maxout(layers + l - 1, &docs, before, 0, rows, NULL, after, NULL, NULL, NULL)) {
                free(memory);
                return -1;
            }
            docs.before = docs.after;
            float *swap = before;
            before = after;
            after = swap;
        }
        memcpy(Y, before + width, 4 * width * n);
        X += width * n;
        Y += width * n;
    }
    free(memory);
    return 0;
}
