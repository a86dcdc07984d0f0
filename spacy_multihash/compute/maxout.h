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

typedef struct {
    int most;             /* rows of a run */
    ptrdiff_t *index;     /* (RUN, 2 * window + 1) */
    const float **rows;   /* (most) the windows of rows, (2 * window + 1) * nI each */
    float *copies;        /* (most, (2 * window + 1) * nI) of windows that don't lie in one piece */
} Windows;

static int allocate(const Layer *l, Windows *w) {
    const size_t S = 2 * (size_t)l->window + 1, K = S * l->nI;
    w->most = run_of(l->dilation > 1 ? (int)K : l->nI);
    w->index = malloc(RUN * (S * sizeof(ptrdiff_t) + sizeof(float *)) + 4 * w->most * K);
    if (!w->index) return -1;
    w->rows = (const float **)(w->index + RUN * S);
    w->copies = (float *)(w->rows + RUN);
    return 0;
}

/* Finds the windows of n rows of X, n <= most. */
static void point_to(const Layer *l, const Docs *docs, const float *X, ptrdiff_t first, int n,
                     Windows *w) {
    const int S = 2 * l->window + 1;
    const size_t nI = l->nI;
    const ptrdiff_t *index = w->index;
    neighbours(docs, docs->after, docs->before, l->window, l->dilation, first, n, w->index);
    for (int i = 0; i < n; i++, index += S) {
        int s = 1;
        while (s < S && index[0] >= 0 && index[s] == index[0] + s) s++;
        w->rows[i] = X + index[0] * (ptrdiff_t)nI;
        if (s == S && index[0] >= 0) continue;
        float *copy = w->copies + i * S * nI;
        w->rows[i] = copy;
        for (s = 0; s < S; s++, copy += nI)
            if (index[s] >= 0 || docs->pad)
                memcpy(copy, index[s] >= 0 ? X + index[s] * nI : X, 4 * nI);
            else
                memset(copy, 0, 4 * nI);
    }
}

/* Y = the largest piece of each output, and which it is */
static void largest(const Layer *l, const float *const *rows, int n, float *Y, uint8_t *which) {
    const int nP = l->nP, nO = l->nO, total = nO * nP;
    const int group = nP == 1 ? nO : nP; /* a single piece is a column like any other */
    const size_t K = (2 * (size_t)l->window + 1) * l->nI;
    for (int j = 0, C; j < total; j += C) {
        const int left = group - j % group, o = j / nP;
        C = left < COLUMNS ? left : COLUMNS;
        blocks(n, C, rows, K, l->W + j * K, l->b + j, nP == 1 ? -1 : j % nP, Y + o,
               which ? which + o : NULL, nO);
    }
    if (which && nP == 1) memset(which, 0, (size_t)n * nO);
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
    const int nO = l->nO;
    Windows w;
    if (allocate(l, &w)) return -1;
    for (ptrdiff_t run = first; run < last; run += w.most) {
        const int n = (int)(last - run < w.most ? last - run : w.most);
        point_to(l, docs, X, run, n, &w);
        largest(l, w.rows, n, Y, which);
        for (int i = 0; i < n; i++, Y += nO) {
            const float *x = w.rows[i] + l->window * l->nI;
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
    free(w.index);
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
    Windows w;
    if (allocate(l, &w)) return -1;
    memset(dX, 0, 4 * (size_t)(last - first) * nI);
    if (docs->pad && first == 0) { /* the padding is read by all windows that reach beyond */
        ptrdiff_t rows = 1;
        for (ptrdiff_t doc = 0; doc < docs->D; doc++) rows += docs->lengths[doc] + 2 * docs->after;
        for (ptrdiff_t run = 0; run < rows; run += RUN) {
            const ptrdiff_t n = rows - run < RUN ? rows - run : RUN;
            neighbours(docs, docs->after, docs->before, l->window, l->dilation, run, n,
                       w.index);
            for (ptrdiff_t i = 0; i < n * S; i++) {
                const ptrdiff_t row = run + i / S;
                if (w.index[i] >= 0) continue;
                add_inputs(l, d, which, l->W + i % S * nI, K, &row, 1, 1, dX, nI);
                for (int k = 0; l->residual && i % S == l->window && k < nI; k++)
                    dX[k] += dY[row * nI + k];
            }
        }
    }
    for (ptrdiff_t run = first; run < last; run += RUN, dX += (size_t)RUN * nI) {
        const int n = (int)(last - run < RUN ? last - run : RUN);
        neighbours(docs, docs->before, docs->after, l->window, -(ptrdiff_t)l->dilation, run, n,
                   w.index);
        for (int s = 0; s < S; s++)
            add_inputs(l, d, which, l->W + (size_t)s * nI, K, w.index + s, S, n, dX, nI);
        for (int i = 0; l->residual && i < n; i++) {
            const ptrdiff_t row = w.index[i * S + l->window];
            if (row >= 0)
                for (int k = 0; k < nI; k++) dX[(size_t)i * nI + k] += dY[row * nI + k];
        }
    }
    free(w.index);
    return 0;
}

/* g (T vectors) += sum over n rows of values[j] times rows[places[j]] */
INLINE void weight_tile(const int T, const float *values, const int *places, int n,
                        const float *const *rows, ptrdiff_t k, float *g) {
    vec acc[12];
    UNROLL for (int t = 0; t < T; t++) acc[t] = load(g + t * VL);
    for (int j = 0; j < n; j++) {
        const float *x = rows[places[j]] + k;
        UNROLL for (int t = 0; t < T; t++) acc[t] += values[j] * load(x + t * VL);
    }
    UNROLL for (int t = 0; t < T; t++) store(g + t * VL, acc[t]);
}

/* Adds to the gradients of the parameters of the outputs [low, high), from N rows. */
static int back_to_weights(const Layer *l, const Docs *docs, const float *X, ptrdiff_t N,
                           const float *d, const uint8_t *which, const float *dY, const float *Xhat,
                           int low, int high, float *dW, float *db, float *dG, float *dbeta) {
    const int nO = l->nO, nP = l->nP;
    const ptrdiff_t K = (2 * (ptrdiff_t)l->window + 1) * l->nI;
    int places[RUN];
    float values[RUN];
    Windows w;
    if (allocate(l, &w)) return -1;
    for (ptrdiff_t run = 0; run < N; run += w.most) {
        const int n = (int)(N - run < w.most ? N - run : w.most);
        point_to(l, docs, X, run, n, &w);
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
                float *g = dW + ((size_t)o * nP + p) * K;
                ptrdiff_t k = 0;
                for (; k + 12 * VL <= K; k += 12 * VL)
                    weight_tile(12, values, places, m, w.rows, k, g + k);
                for (; k + 4 * VL <= K; k += 4 * VL)
                    weight_tile(4, values, places, m, w.rows, k, g + k);
                for (; k + VL <= K; k += VL)
                    weight_tile(1, values, places, m, w.rows, k, g + k);
                for (; k < K; k++)
                    for (int j = 0; j < m; j++) g[k] += values[j] * w.rows[places[j]][k];
            }
        for (ptrdiff_t i = run; l->G && i < run + n; i++)
            for (int o = low; o < high; o++) {
                dG[o] += dY[i * nO + o] * Xhat[i * nO + o];
                dbeta[o] += dY[i * nO + o];
            }
    }
    free(w.index);
    return 0;
}

/* All layers of an encoder, for docs side by side: X (N, nI of the first) -> Y (N, nO of the last).
   Around a doc are zeros in every layer; or with `pad`, padding that starts as zeros and goes through
   the layers too. Then, after layer l, no more than l * window rows of it have seen the doc, and no
   more than (L - l) * window are read again; all others are alike, the first row. */
static int encode(const Layer *layers, int L, int pad, const int64_t *lengths, ptrdiff_t D,
                  const float *X, float *Y) {
    const int window = layers->window, most = pad ? L / 2 * window : 0;
    const size_t nI = layers->nI, nO = layers[L - 1].nO;
    float *memory = NULL;
    size_t size = 0, width = nI;
    for (int l = 0; l < L; l++)
        if ((size_t)layers[l].nO > width) width = layers[l].nO;
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
        const float *rows = X;
        Docs docs = {lengths + first, d - first, 0, 0, pad};
        if (pad) {
            memset(before, 0, 4 * nI);
            memcpy(before + nI, X, 4 * nI * n);
            rows = before;
        }
        for (int l = 1; l <= L; l++) {
            docs.after = pad ? (l < L - l ? l : L - l) * window : 0;
            const ptrdiff_t number = pad + n + 2 * docs.after * docs.D;
            const int last = l == L; /* whose row of padding nobody reads */
            if (maxout(layers + l - 1, &docs, rows, last ? pad : 0, number, NULL, last ? Y : after,
                       NULL, NULL, NULL)) {
                free(memory);
                return -1;
            }
            docs.before = docs.after;
            rows = after;
            after = before;
            before = (float *)rows;
        }
        X += nI * n;
        Y += nO * n;
    }
    free(memory);
    return 0;
}
