/* Products of many rows with the same weights, which are packed into panels first:

       W (nO, nP, K), b (nO, nP)  ->  vectors of VL outputs, (nO / VL rounded up, nP, 1 + K, VL)

   These vectors are numbered as columns are in product.h, and up to WIDE of them make a panel:
   (1 + K, WIDE, VL), first the biases, then what each of the K inputs is multiplied by. So a sum is
   in one lane, taken in the order of the inputs, and pieces are compared lane by lane. Lanes beyond
   the last output have zeros, and aren't written. */

enum { TALL = VL == 16 ? 8 : 4, WIDE = 3 }; /* rows and vectors of a block, in 32 or 16 registers */

/* Packing pays from so many rows on, as measured on a Xeon with layers of 64 to 300 outputs. With four
   lanes it doesn't pay, and neither do panels that are mostly zeros. */
enum { MANY = VL == 16 ? 32 : 64 };

/* Whether the weights of nO outputs are packed. All parts of a batch ask with the rows of the whole
   batch: dots add in another order, and results mustn't depend on where threads cut a batch. */
INLINE int is_packed(int nO, ptrdiff_t batch) { return VL >= 8 && nO > VL / 2 && batch >= MANY; }

/* The number of floats in the panels. */
INLINE size_t panels_size(int nO, int nP, ptrdiff_t K) {
    return whole_vectors(nO) * nP * (1 + (size_t)K);
}

/* Packs n rows of W (K) and their biases into a vector: (1 + K, VL), `ld` apart. The rows are `by`
   apart, and biases by_b. */
static void pack_vector(const float *W, ptrdiff_t by, const float *b, int by_b, int n, ptrdiff_t K,
                        float *to, int ld) {
    for (int v = 0; v < VL; v++) to[v] = b && v < n ? b[v * by_b] : 0;
    to += ld;
    for (ptrdiff_t k = 0, step; k < K; k += step, W += step, to += step * ld) {
        step = K - k < 4 ? 1 : 4;
        int v = 0;
        if (step == 4)
            for (; v + 4 <= n; v += 4) transpose(W + v * by, by, to + v, ld);
        for (; v < VL; v++)
            for (int i = 0; i < step; i++) to[i * ld + v] = v < n ? W[v * by + i] : 0;
    }
}

/* Packs W (nO, nP, K) and b (nO, nP), or NULL for zeros. */
static void pack_panels(const float *W, const float *b, int nO, int nP, ptrdiff_t K,
                        float *panels) {
    const int total = (int)(whole_vectors(nO) / VL) * nP;
    for (int j = 0, C; j < total; j += C, panels += (1 + K) * C * VL) {
        C = columns_from(j, nP, total, WIDE);
        for (int c = 0; c < C; c++) {
            const int o = (j + c) / nP * VL, row = o * nP + (j + c) % nP;
            pack_vector(W + row * K, nP * K, b ? b + row : NULL, nP, nO - o < VL ? nO - o : VL, K,
                        panels + c * VL, C * VL);
        }
    }
}

/* As `write_columns` in product.h, for sums (R, C, VL) */
APART void write_sums(const float *sums, int R, int C, int nO, int nP, int piece, float *Y,
                      uint8_t *which, ptrdiff_t ld) {
    for (int r = 0; r < R; r++, Y += ld) {
        vec best = zero();
        vec_of_int pieces = {0};
        if (piece > 0) {
            best = load_first(Y, nO < VL ? nO : VL);
            if (which) pieces = load_bytes(which + r * ld, nO < VL ? nO : VL);
        }
        for (int c = 0, p = piece, o = 0; c < C; c++, sums += VL) {
            if (p == 0) {
                const vec_of_int first = {0};
                best = load(sums);
                pieces = first;
            } else
                take_larger(load(sums), p, &best, &pieces);
            if (++p < nP && c + 1 < C) continue;
            store_first(Y + o, best, nO - o < VL ? nO - o : VL);
            if (which) store_bytes(which + r * ld + o, pieces, nO - o < VL ? nO - o : VL);
            o += VL;
            p = 0;
        }
    }
}

/* Multiplies R rows by a panel of C vectors: as `block` in product.h, with vectors of outputs in the
   place of columns. nO outputs are left, from the panel's first on. */
INLINE void panel_block(const int R, const int C, const float *const *rows, ptrdiff_t K,
                        const float *panel, int nO, int nP, int piece, float *Y, uint8_t *which,
                        ptrdiff_t ld) {
    vec acc[TALL][WIDE], w[WIDE];
    float sums[TALL * WIDE * VL];
    UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int c = 0; c < C; c++) acc[r][c] = load(panel + c * VL);
    for (ptrdiff_t k = 0; k < K; k++) {
        panel += C * VL;
        UNROLL for (int c = 0; c < C; c++) w[c] = load(panel + c * VL);
        UNROLL for (int r = 0; r < R; r++) {
            const float x = rows[r][k];
            UNROLL for (int c = 0; c < C; c++) acc[r][c] += x * w[c];
        }
    }
    UNROLL for (int r = 0; r < R; r++)
        UNROLL for (int c = 0; c < C; c++) store(sums + (r * C + c) * VL, acc[r][c]);
    write_sums(sums, R, C, nO, nP, piece, Y, which, ld);
}

/* Packs the weights of those of `number` functions for which it pays with a batch of so many rows. The
   panels are in *memory, which the caller frees. Then call `multiply`. */
static int pack_all(Linear *f, int number, ptrdiff_t batch, void **memory) {
    size_t size = 0;
    *memory = NULL;
    for (int i = 0; i < number; i++)
        if (is_packed(f[i].nO, batch)) size += panels_size(f[i].nO, f[i].nP, f[i].K);
    if (size == 0) return 0;
    *memory = malloc(size * sizeof(float) + LINE);
    if (!*memory) return -1;
    float *panels = aligned(*memory);
    for (int i = 0; i < number; i++, f++) {
        if (!is_packed(f->nO, batch)) continue;
        pack_panels(f->W, f->b, f->nO, f->nP, f->K, panels);
        f->panels = panels;
        panels += panels_size(f->nO, f->nP, f->K);
    }
    return 0;
}

/* Y (n, nO) = of each output the largest piece, for n rows (K), and which it is */
static void multiply_by_panels(const Linear *f, const float *const *rows, int n, float *Y,
                               uint8_t *which) {
    const int nO = f->nO, nP = f->nP, total = (int)(whole_vectors(nO) / VL) * nP;
    const ptrdiff_t K = f->K;
    const float *panel = f->panels;
    for (int j = 0, C; j < total; j += C, panel += (1 + K) * C * VL) {
        const int o = j / nP * VL;
        C = columns_from(j, nP, total, WIDE);
        for (int i = 0; i < n; i += TALL) {
            const size_t at = (size_t)i * nO + o;
            uint8_t *mark = which ? which + at : NULL;
#define CASE(r, c)                                                                             \
    case 4 * (r) + (c):                                                                        \
        panel_block(r, c, rows + i, K, panel, nO - o, nP, j % nP, Y + at, mark, nO);          \
        break;
            switch (4 * (n - i < TALL ? n - i : TALL) + C) {
                CASE(4, 3) CASE(4, 2) CASE(4, 1)
                CASE(3, 3) CASE(3, 2) CASE(3, 1)
                CASE(2, 3) CASE(2, 2) CASE(2, 1)
                CASE(1, 3) CASE(1, 2) CASE(1, 1)
#if VL == 16
                CASE(8, 3) CASE(8, 2) CASE(8, 1)
                CASE(7, 3) CASE(7, 2) CASE(7, 1)
                CASE(6, 3) CASE(6, 2) CASE(6, 1)
                CASE(5, 3) CASE(5, 2) CASE(5, 1)
#endif
            }
#undef CASE
        }
    }
}

/* Y (n, nO) = of each output the largest piece, for n rows (K): NaN if one is NaN; which (n, nO),
   unless it's NULL: the first of equals */
static void multiply(const Linear *f, const float *const *rows, int n, float *Y, uint8_t *which) {
    (f->panels ? multiply_by_panels : multiply_by_dots)(f, rows, n, Y, which);
}

/* The same for X (n, K) and functions of one piece: out (n, nO) = X W' + b */
static void multiply_rows(const Linear *f, const float *X, ptrdiff_t n, float *out) {
    const float *rows[RUN];
    const int step = f->panels ? RUN : run_of((int)f->K);
    for (ptrdiff_t run = 0; run < n; run += step) {
        const int size = (int)(n - run < step ? n - run : step);
        for (int i = 0; i < size; i++) rows[i] = X + (run + i) * f->K;
        multiply(f, rows, size, out + run * f->nO, NULL);
    }
}

/* out (n, N) = X (n, K) W' + b, with W (N, K) and b (N) or NULL, for n of a batch's rows */
static int affine(const float *X, ptrdiff_t n, ptrdiff_t batch, int K, const float *W,
                  const float *b, int N, float *out) {
    Linear f = {W, b, NULL, N, 1, K};
    void *memory;
    if (pack_all(&f, 1, batch, &memory)) return -1;
    multiply_rows(&f, X, n, out);
    free(memory);
    return 0;
}
