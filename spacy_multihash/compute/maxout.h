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

enum { TILE = VL == 16 ? 6 : 12 }; /* the fastest of 2 to 12, for layers of 64 to 128 outputs */

typedef struct {
    ptrdiff_t *index;     /* (most, 2 * window + 1) */
    const float **rows;   /* (most) the windows of rows, (2 * window + 1) * nI each */
    float *copies;        /* (most, (2 * window + 1) * nI) of windows that don't lie in one piece */
} Windows;

static int allocate(const Layer *l, int most, Windows *w) {
    const size_t S = 2 * (size_t)l->window + 1, K = S * l->nI;
    w->index = malloc(most * (S * sizeof(ptrdiff_t) + sizeof(float *) + sizeof(float) * K));
    if (!w->index) return -1;
    w->rows = (const float **)(w->index + most * S);
    w->copies = (float *)(w->rows + most);
    return 0;
}

/* Finds the windows of n rows of X. */
static void point_to(const Layer *l, const Docs *docs, const float *X, ptrdiff_t first, int n,
                     Windows *w) {
    const int S = 2 * l->window + 1;
    const size_t nI = l->nI;
    const ptrdiff_t *index = w->index;
    neighbours(docs, docs->after, docs->before, l->window, l->dilation, first, n, w->index);
    for (int i = 0; i < n; i++, index += S) {
        int s = 1;
        while (s < S && index[0] >= 0 && index[s] == index[0] + s) s++;
        if (s == S && index[0] >= 0) {
            w->rows[i] = X + index[0] * (ptrdiff_t)nI;
            continue;
        }
        float *copy = w->copies + i * S * nI;
        w->rows[i] = copy;
        for (s = 0; s < S; s++, copy += nI)
            if (index[s] >= 0 || docs->pad)
                memcpy(copy, index[s] >= 0 ? X + index[s] * nI : X, sizeof(float) * nI);
            else
                memset(copy, 0, sizeof(float) * nI);
    }
}

/* The rows after the layer. */
static ptrdiff_t rows_of(const Docs *docs) {
    ptrdiff_t rows = docs->pad + 2 * (ptrdiff_t)docs->after * docs->D;
    for (ptrdiff_t d = 0; d < docs->D; d++) rows += docs->lengths[d];
    return rows;
}

static Linear linear_of(const Layer *l) {
    const Linear f = {l->W, l->b, NULL, l->nO, l->nP, (2 * (ptrdiff_t)l->window + 1) * l->nI};
    return f;
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

/* A layer with the functions f: Y (last - first rows of nO). Training also keeps which, Xhat and
   scale, of the same rows. */
static int compute(const Layer *l, const Linear *f, const Docs *docs, const float *X,
                   ptrdiff_t first, ptrdiff_t last, const float *mask, float *Y, uint8_t *which,
                   float *Xhat, float *scale) {
    const int nO = l->nO, copied = l->dilation > 1 ? 2 * l->window + 1 : 1;
    const int most = f->panels ? RUN : run_of(copied * l->nI);
    Windows w;
    if (allocate(l, most, &w)) return -1;
    for (ptrdiff_t run = first; run < last; run += most) {
        const int n = (int)(last - run < most ? last - run : most);
        point_to(l, docs, X, run, n, &w);
        multiply(f, w.rows, n, Y, which);
        for (int i = 0; i < n; i++, Y += nO) {
            const float *x = w.rows[i] + l->window * l->nI;
            if (l->relu) rectify(nO, Y, which ? which + (size_t)i * nO : NULL);
            if (l->G) {
                const float mean = sum_of(Y, nO) / nO;
                for (int o = 0; o < nO; o++) Y[o] -= mean;
                const float factor = 1 / sqrtf(sum_of_products(Y, Y, nO) / nO + 1e-8f);
                for (int o = 0; o < nO; o++) Y[o] *= factor;
                if (Xhat) {
                    memcpy(Xhat, Y, sizeof(float) * (size_t)nO);
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

static int maxout(const Layer *l, const Docs *docs, const float *X, ptrdiff_t first, ptrdiff_t last,
                  const float *mask, float *Y, uint8_t *which, float *Xhat, float *scale) {
    Linear f = linear_of(l);
    void *memory;
    if (pack_all(&f, 1, rows_of(docs), &memory)) return -1;
    const int failed = compute(l, &f, docs, X, first, last, mask, Y, which, Xhat, scale);
    free(memory);
    return failed;
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
            memcpy(d, dY, sizeof(float) * (size_t)nO);
        if (l->relu)
            for (int o = 0; o < nO; o++) d[o] *= which[o];
    }
}

/* Going back, only the largest piece of an output has a gradient, and a ReLU of 0 has none. So all
   gradients are sums of few terms: a number of d times a row of weights or of the input. */
typedef struct {
    int32_t row;
    float d;
} Term;

/* Rows are read in tiles of so many vectors. */
INLINE int tile_of(int width) { return width >= TILE * VL ? TILE : width >= 4 * VL ? 4 : 1; }

/* Copies row i of n to its tiles: one tile of all rows after the other. */
static void pack(const float *row, int i, int n, int width, float *tiles) {
    for (int k = 0, T; k < width; k += T * VL) {
        T = tile_of(width - k);
        const int size = width - k < T * VL ? width - k : T * VL;
        float *tile = tiles + (size_t)k * n + (size_t)i * T * VL;
        memcpy(tile, row + k, sizeof(float) * (size_t)size);
        memset(tile + size, 0, sizeof(float) * (size_t)(T * VL - size));
    }
}

INLINE void sum_tile(const int T, const Term *terms, int m, const float *tile, int width,
                     float *out) {
    vec even[TILE], odd[TILE];
    UNROLL for (int t = 0; t < T; t++) even[t] = odd[t] = zero();
    int j = 0;
    if (T < 12) /* else there are enough sums that don't wait for each other */
        for (; j + 2 <= m; j += 2) {
            const float *x = tile + (ptrdiff_t)terms[j].row * T * VL;
            const float *y = tile + (ptrdiff_t)terms[j + 1].row * T * VL;
            UNROLL for (int t = 0; t < T; t++) even[t] += terms[j].d * load(x + t * VL);
            UNROLL for (int t = 0; t < T; t++) odd[t] += terms[j + 1].d * load(y + t * VL);
        }
    for (; j < m; j++) {
        const float *x = tile + (ptrdiff_t)terms[j].row * T * VL;
        UNROLL for (int t = 0; t < T; t++) even[t] += terms[j].d * load(x + t * VL);
    }
    if (width < VL) {
        float lanes[VL];
        store(lanes, even[0] + odd[0]);
        for (int i = 0; i < width; i++) out[i] += lanes[i];
        return;
    }
    UNROLL for (int t = 0; t < T; t++) store(out + t * VL, load(out + t * VL) + (even[t] + odd[t]));
}

/* out (width, up to a tile) += the sum of m terms */
static void add_terms(const Term *terms, int m, const float *tile, int width, float *out) {
    switch (tile_of(width)) {
        case TILE: sum_tile(TILE, terms, m, tile, width, out); break;
        case 4: sum_tile(4, terms, m, tile, width, out); break;
        default: sum_tile(1, terms, m, tile, width, out);
    }
}

/* Lists the terms of a row of d (nO), whose rows are weights. */
static int terms_of(const Layer *l, const float *d, const uint8_t *which, Term *terms) {
    int m = 0;
    for (int o = 0; o < l->nO; o++) { /* no branch, which nobody could predict */
        terms[m].row = o * l->nP + (l->nP > 1 ? which[o] : 0);
        terms[m].d = d[o];
        m += !l->relu || which[o];
    }
    return m;
}

/* dX[i] += the terms of row index[i * S], for n rows and the weights of one row of the window */
static void add_inputs(const Layer *l, const Term *terms, const int *counts, const float *tiles,
                       const ptrdiff_t *index, int S, int n, float *dX) {
    const int nI = l->nI;
    for (int k = 0; k < nI; k += tile_of(nI - k) * VL)
        for (int i = 0; i < n; i++) {
            const ptrdiff_t row = index[i * S];
            if (row >= 0)
                add_terms(terms + row * l->nO, counts[row], tiles + (size_t)k * l->nO * l->nP,
                          nI - k, dX + (size_t)i * nI + k);
        }
}

/* Goes back to the input: dX (last - first rows of nI). dY is the gradient by the residual. */
static int back_to_input(const Layer *l, const Docs *docs, const float *d, const uint8_t *which,
                         const float *dY, ptrdiff_t first, ptrdiff_t last, float *dX) {
    const int S = 2 * l->window + 1, nI = l->nI, nO = l->nO, rows = nO * l->nP;
    const size_t of_tiles = rows * whole_vectors(nI);
    ptrdiff_t room = 1;
    ptrdiff_t *index = malloc(RUN * S * sizeof *index + 64 + sizeof(float) * S * of_tiles);
    int *counts = malloc(room * (sizeof *counts + nO * sizeof(Term))); /* terms are behind them */
    if (!index || !counts) goto failed;
    float *tiles = aligned(index + RUN * S);
    for (int s = 0; s < S; s++)
        for (int r = 0; r < rows; r++)
            pack(l->W + ((size_t)r * S + s) * nI, r, rows, nI, tiles + s * of_tiles);
    memset(dX, 0, sizeof(float) * (size_t)(last - first) * nI);
    if (docs->pad && first == 0) { /* the padding is read by all windows that reach beyond */
        ptrdiff_t M = 1;
        for (ptrdiff_t doc = 0; doc < docs->D; doc++) M += docs->lengths[doc] + 2 * docs->after;
        for (ptrdiff_t run = 0; run < M; run += RUN) {
            const ptrdiff_t n = M - run < RUN ? M - run : RUN, here = 0;
            neighbours(docs, docs->after, docs->before, l->window, l->dilation, run, n, index);
            for (ptrdiff_t i = 0; i < n * S; i++) {
                const ptrdiff_t row = run + i / S;
                if (index[i] >= 0) continue;
                Term *terms = (Term *)(counts + room);
                *counts = terms_of(l, d + row * nO, which + row * nO, terms);
                add_inputs(l, terms, counts, tiles + i % S * of_tiles, &here, 1, 1, dX);
                for (int k = 0; l->residual && i % S == l->window && k < nI; k++)
                    dX[k] += dY[row * nI + k];
            }
        }
    }
    for (ptrdiff_t run = first; run < last; run += RUN, dX += (size_t)RUN * nI) {
        const int n = (int)(last - run < RUN ? last - run : RUN);
        ptrdiff_t low = PTRDIFF_MAX, high = 0; /* the rows that the run is read by */
        neighbours(docs, docs->before, docs->after, l->window, -(ptrdiff_t)l->dilation, run, n,
                   index);
        for (int i = 0; i < n * S; i++) {
            if (index[i] < 0) continue;
            if (index[i] < low) low = index[i];
            if (index[i] >= high) high = index[i] + 1;
        }
        if (high - low > room) {
            free(counts);
            room = high - low;
            counts = malloc(room * (sizeof *counts + nO * sizeof(Term)));
            if (!counts) goto failed;
        }
        Term *terms = (Term *)(counts + room);
        for (ptrdiff_t row = low; row < high; row++)
            counts[row - low] =
                terms_of(l, d + row * nO, which + row * nO, terms + (row - low) * nO);
        for (int i = 0; i < n * S; i++) {
            if (index[i] < 0) continue;
            for (int k = 0; l->residual && i % S == l->window && k < nI; k++)
                dX[(size_t)(i / S) * nI + k] += dY[index[i] * nI + k];
            index[i] -= low;
        }
        for (int s = 0; s < S; s++)
            add_inputs(l, terms, counts, tiles + s * of_tiles, index + s, S, n, dX);
    }
    free(counts);
    free(index);
    return 0;
failed:
    free(counts);
    free(index);
    return -1;
}

/* Adds to the gradients of the parameters of the outputs [low, high), from N rows. The tiles of a
   run stay in the cache next to the core while all outputs read them. */
static int back_to_weights(const Layer *l, const Docs *docs, const float *X, ptrdiff_t N,
                           const float *d, const uint8_t *which, const float *dY, const float *Xhat,
                           int low, int high, float *dW, float *db, float *dG, float *dbeta) {
    const int nO = l->nO, nP = l->nP, pieces = (high - low) * nP;
    const int K = (2 * l->window + 1) * l->nI;
    Windows w;
    if (allocate(l, RUN, &w)) return -1;
    /* By output and piece: the number of terms, and the terms, whose rows are windows of the run */
    int *counts = malloc(pieces * (sizeof *counts + RUN * sizeof(Term)) + 64 +
                         sizeof(float) * RUN * whole_vectors(K));
    if (!counts) {
        free(w.index);
        return -1;
    }
    Term *terms = (Term *)(counts + pieces);
    float *tiles = aligned(terms + (size_t)pieces * RUN);
    const int all = !l->relu;
    dW += (size_t)low * nP * K;
    db += low * nP;
    for (ptrdiff_t run = 0; run < N; run += RUN) {
        const int n = (int)(N - run < RUN ? N - run : RUN);
        point_to(l, docs, X, run, n, &w);
        for (int i = 0; i < n; i++) pack(w.rows[i], i, n, K, tiles);
        memset(counts, 0, pieces * sizeof *counts);
        for (int i = 0; i < n; i++) {
            const float *row = d + (run + i) * nO + low;
            const uint8_t *piece = which + (run + i) * nO + low;
            for (int o = 0; o < high - low; o++) { /* no branch, which nobody could predict */
                const int g = nP > 1 ? o * nP + piece[o] : o;
                Term *term = terms + (size_t)g * RUN + counts[g];
                term->row = i;
                term->d = row[o];
                counts[g] += all | (piece[o] != 0);
                db[g] += row[o]; /* 0 of a ReLU that has no gradient */
            }
        }
        for (int k = 0; k < K; k += tile_of(K - k) * VL)
            for (int g = 0; g < pieces; g++)
                add_terms(terms + (size_t)g * RUN, counts[g], tiles + (size_t)k * n, K - k,
                          dW + (size_t)g * K + k);
        for (ptrdiff_t i = run; l->G && i < run + n; i++)
            for (int o = low; o < high; o++) {
                dG[o] += dY[i * nO + o] * Xhat[i * nO + o];
                dbeta[o] += dY[i * nO + o];
            }
    }
    free(counts);
    free(w.index);
    return 0;
}

/* All layers of an encoder, for docs side by side: X (N, nI of the first) -> Y (N, nO of the last).
   Around a doc are zeros in every layer; or with `pad`, padding that starts as zeros and goes through
   the layers too. Then, after layer l, no more than l * window rows of it have seen the doc, and no
   more than (L - l) * window are read again; all others are alike, the first row. */
static int encode(const Layer *layers, int L, int pad, const int64_t *lengths, ptrdiff_t D,
                  ptrdiff_t batch, const float *X, float *Y) {
    const int window = layers->window, most = pad ? L / 2 * window : 0;
    const size_t nI = layers->nI, nO = layers[L - 1].nO;
    float *memory = NULL;
    void *panels = NULL;
    int failed = -1;
    size_t size = 0, width = nI;
    Linear *functions = malloc(L * sizeof *functions);
    if (!functions) return -1;
    for (int l = 0; l < L; l++) {
        functions[l] = linear_of(layers + l);
        if ((size_t)layers[l].nO > width) width = layers[l].nO;
    }
    for (ptrdiff_t first = 0, d = 0; first < D; first = d) {
        ptrdiff_t n = 0; /* docs to about a run */
        for (d = first; d < D && n < RUN; d++) n += lengths[d];
        /* If that's all docs, each layer is packed where the one before it was, near the core */
        const int is_all = first == 0 && d == D;
        if (first == 0 && !is_all && pack_all(functions, L, batch, &panels)) goto end;
        const size_t floats = (1 + n + 2 * most * (size_t)(d - first)) * width;
        if (2 * floats > size) {
            free(memory);
            size = 2 * floats;
            memory = malloc(sizeof *memory * size);
            if (!memory) goto end;
        }
        float *before = memory, *after = memory + floats;
        const float *rows = X;
        Docs docs = {lengths + first, d - first, 0, 0, pad};
        if (pad) {
            memset(before, 0, sizeof(float) * nI);
            memcpy(before + nI, X, sizeof(float) * nI * n);
            rows = before;
        }
        for (int l = 1; l <= L; l++) {
            docs.after = pad ? (l < L - l ? l : L - l) * window : 0;
            const ptrdiff_t number = pad + n + 2 * docs.after * docs.D;
            const int last = l == L; /* whose row of padding nobody reads */
            Linear *f = functions + l - 1;
            if (is_all && pack_all(f, 1, batch, &panels)) goto end;
            if (compute(layers + l - 1, f, &docs, rows, last ? pad : 0, number, NULL,
                        last ? Y : after, NULL, NULL, NULL))
                goto end;
            if (is_all) {
                free(panels);
                panels = NULL;
            }
            docs.before = docs.after;
            rows = after;
            after = before;
            before = (float *)rows;
        }
        X += nI * n;
        Y += nO * n;
    }
    failed = 0;
end:
    free(memory);
    free(panels);
    free(functions);
    return failed;
}
