/* Dot products of few rows and the rows of weights. (panels.h has products of many rows.) */

/* Rows and columns of a block, in 32 or 16 registers; the most rows of a run. */
enum { ROWS = 4, COLUMNS = VL == 16 ? 6 : 3, RUN = 64 };

/* The length of a run: its rows stay in the cache next to the core, which has 32 KB or more. */
INLINE int run_of(int width) {
    const int rows = 6144 / (width > 0 ? width : 1) / ROWS * ROWS;
    return rows < 8 ? 8 : rows > RUN ? RUN : rows;
}

/* Linear functions of K inputs: nO outputs of nP pieces. */
typedef struct {
    const float *W, *b;     /* (nO, nP, K), (nO, nP) or NULL for zeros */
    const float *panels;    /* both packed (panels.h), or NULL */
    int nO, nP;
    ptrdiff_t K;
} Linear;

/* How many of the columns from j on make a block, which holds at most so many: all pieces of some
   outputs, or some pieces of one. Columns are numbered as (output, piece), `total` of them. */
INLINE int columns_from(int j, int nP, int total, int most) {
    const int left = nP - j % nP, C = nP <= most ? most / nP * nP : left < most ? left : most;
    return C < total - j ? C : total - j;
}

/* Y (R, outputs) = the largest of the sums of each output's pieces: NaN if one is NaN; which, unless
   it's NULL, the first of equals. The sums of C columns are those of nP pieces of one output after the
   other, from `piece` of the first on, to which b is added unless it's NULL. Rows of Y and which are
   `ld` apart. */
APART void write_columns(const quad *sums, int R, int C, const float *b, int nP, int piece, float *Y,
                         uint8_t *which, ptrdiff_t ld) {
    quad best = four(-INFINITY);
    quad_of_int pieces = {0};
    for (int r = 0; piece > 0 && r < R; r++) {
        LANE(best, r) = Y[r * ld];
        if (which) LANE(pieces, r) = which[r * ld];
    }
    for (int c = 0; c < C; c++) {
        const quad_of_int first = {0};
        take_larger_of_four(plus(sums[c], b ? b[c] : 0), piece, &best, &pieces);
        if (++piece < nP && c + 1 < C) continue;
        for (int r = 0; r < R; r++) Y[r * ld] = LANE(best, r);
        for (int r = 0; which && r < R; r++) which[r * ld] = (uint8_t)LANE(pieces, r);
        best = four(-INFINITY);
        pieces = first;
        piece = 0;
        Y++;
        if (which) which++;
    }
}

/* Multiplies R rows by C rows of weights W (C, K), and writes the columns. Each sum is taken in an
   order that depends on K alone. */
INLINE void block(const int R, const int C, const float *const *rows, ptrdiff_t K, const float *W,
                  const float *b, int nP, int piece, float *Y, uint8_t *which, ptrdiff_t ld) {
    const ptrdiff_t rest = K % VL;
    vec acc[COLUMNS][ROWS];
    UNROLL for (int c = 0; c < C; c++) UNROLL for (int r = 0; r < ROWS; r++) acc[c][r] = zero();
    if (rest) {
        float x[ROWS * VL], w[COLUMNS * VL];
        for (int r = 0; r < R; r++) store(x + r * VL, load_first(rows[r] + K - rest, (int)rest));
        for (int c = 0; c < C; c++)
            store(w + c * VL, load_first(W + (c + 1) * K - rest, (int)rest));
        UNROLL for (int c = 0; c < C; c++)
            UNROLL for (int r = 0; r < R; r++) acc[c][r] = load(x + r * VL) * load(w + c * VL);
    }
    for (ptrdiff_t k = 0; k < K - rest; k += VL) {
        vec w[COLUMNS];
        UNROLL for (int c = 0; c < C; c++) w[c] = load(W + c * K + k);
        UNROLL for (int r = 0; r < R; r++) {
            const vec x = load(rows[r] + k);
            UNROLL for (int c = 0; c < C; c++) acc[c][r] += x * w[c];
        }
    }
    quad sums[COLUMNS];
    UNROLL for (int c = 0; c < C; c++)
        sums[c] = add_lanes_of(acc[c][0], acc[c][1], acc[c][2], acc[c][3]);
    write_columns(sums, R, C, b, nP, piece, Y, which, ld);
}

/* The same for n rows. */
static void blocks(int n, int C, const float *const *rows, ptrdiff_t K, const float *W,
                   const float *b, int nP, int piece, float *Y, uint8_t *which, ptrdiff_t ld) {
    /* Meanwhile the next columns come from a cache that is farther away */
    const ptrdiff_t share = (C * K * ROWS + n - 1) / n;
    const float *next = W + C * K;
    for (int i = 0; i < n; i += ROWS, rows += ROWS, Y += ROWS * ld) {
        for (ptrdiff_t k = 0; k < share; k += 16) PREFETCH(next + k);
        next += share;
        uint8_t *mark = which ? which + i * ld : NULL;
        const int R = n - i < ROWS ? n - i : ROWS;
#define CASE(r, c) \
    case 8 * (r) + (c): block(r, c, rows, K, W, b, nP, piece, Y, mark, ld); break;
        switch (8 * R + C) {
            CASE(4, 3) CASE(4, 2) CASE(4, 1)
            CASE(3, 3) CASE(3, 2) CASE(3, 1)
            CASE(2, 3) CASE(2, 2) CASE(2, 1)
            CASE(1, 3) CASE(1, 2) CASE(1, 1)
#if VL == 16
            CASE(4, 6) CASE(4, 5) CASE(4, 4)
            CASE(3, 6) CASE(3, 5) CASE(3, 4)
            CASE(2, 6) CASE(2, 5) CASE(2, 4)
            CASE(1, 6) CASE(1, 5) CASE(1, 4)
#endif
        }
#undef CASE
    }
}

/* Y (n, nO) = of each output the largest piece, for n rows (K), and which it is */
static void multiply_by_dots(const Linear *f, const float *const *rows, int n, float *Y,
                             uint8_t *which) {
    const int nO = f->nO, nP = f->nP, total = nO * nP;
    for (int j = 0, C; j < total; j += C) {
        const int o = j / nP;
        C = columns_from(j, nP, total, COLUMNS);
        blocks(n, C, rows, f->K, f->W + j * f->K, f->b ? f->b + j : NULL, nP, j % nP, Y + o,
               which ? which + o : NULL, nO);
    }
}
