/* Dot products: what all products of rows and weights are made of. */

enum { ROWS = 4, COLUMNS = 3, RUN = 64 }; /* of a block in registers; the most rows of a run */

/* The length of a run: its rows stay in the cache next to the core, which has 32 KB or more. */
INLINE int run_of(int width) {
    const int rows = 6144 / (width > 0 ? width : 1) / ROWS * ROWS;
    return rows < 8 ? 8 : rows > RUN ? RUN : rows;
}

/* Multiplies R rows by C rows of weights W (C, K), and adds b (C) unless it's NULL. Each sum is taken
   in an order that depends on K alone. With piece >= 0 the columns are the pieces of one output from
   that number on, and Y gets the largest: NaN if one is NaN; which, unless it's NULL, gets the first
   of equals. Otherwise Y gets all columns. Rows of Y and which are `ld` apart. */
INLINE void block(const int R, const int C, const float *const *rows, ptrdiff_t K, const float *W,
                  const float *b, int piece, float *Y, uint8_t *which, ptrdiff_t ld) {
    const ptrdiff_t whole = K - K % VL;
    vec acc[COLUMNS][ROWS];
    UNROLL for (int c = 0; c < C; c++) UNROLL for (int r = 0; r < ROWS; r++) acc[c][r] = zero();
    for (ptrdiff_t k = 0; k < whole; k += VL) {
        vec w[COLUMNS];
        UNROLL for (int c = 0; c < C; c++) w[c] = load(W + c * K + k);
        UNROLL for (int r = 0; r < R; r++) {
            const vec x = load(rows[r] + k);
            UNROLL for (int c = 0; c < C; c++) acc[c][r] += x * w[c];
        }
    }
    if (whole < K) UNROLL for (int c = 0; c < C; c++) {
        const vec w = load_first(W + c * K + whole, (int)(K - whole));
        UNROLL for (int r = 0; r < R; r++)
            acc[c][r] += load_first(rows[r] + whole, (int)(K - whole)) * w;
    }
    quad best = four(-INFINITY);
    quad_of_int pieces = {0};
    if (piece > 0) UNROLL for (int r = 0; r < R; r++) {
        LANE(best, r) = Y[r * ld];
        if (which) LANE(pieces, r) = which[r * ld];
    }
    UNROLL for (int c = 0; c < C; c++) {
        const quad sum = plus(add_lanes_of(acc[c][0], acc[c][1], acc[c][2], acc[c][3]), b ? b[c] : 0);
        if (piece >= 0)
            take_larger(sum, piece + c, &best, &pieces);
        else
            UNROLL for (int r = 0; r < R; r++) Y[r * ld + c] = LANE(sum, r);
    }
    if (piece < 0) return;
    UNROLL for (int r = 0; r < R; r++) Y[r * ld] = LANE(best, r);
    if (which) UNROLL for (int r = 0; r < R; r++) which[r * ld] = (uint8_t)LANE(pieces, r);
}

/* The same for n rows. */
static void blocks(int n, int C, const float *const *rows, ptrdiff_t K, const float *W,
                   const float *b, int piece, float *Y, uint8_t *which, ptrdiff_t ld) {
    /* Meanwhile the next columns come from a cache that is farther away */
    const ptrdiff_t share = (C * K * ROWS + n - 1) / n;
    const float *next = W + C * K;
    for (int i = 0; i < n; i += ROWS, rows += ROWS, Y += ROWS * ld) {
        for (ptrdiff_t k = 0; k < share; k += 16) PREFETCH(next + k);
        next += share;
        uint8_t *mark = which ? which + i * ld : NULL;
        const int R = n - i < ROWS ? n - i : ROWS;
#define CASE(r, c) \
    case 4 * (r) + (c): block(r, c, rows, K, W, b, piece, Y, mark, ld); break;
        switch (4 * R + C) {
            CASE(4, 3) CASE(4, 2) CASE(4, 1)
            CASE(3, 3) CASE(3, 2) CASE(3, 1)
            CASE(2, 3) CASE(2, 2) CASE(2, 1)
            CASE(1, 3) CASE(1, 2) CASE(1, 1)
        }
#undef CASE
    }
}

/* out (n, N) = X (n, K) W' + b, with W (N, K) and b (N) or NULL */
static void affine(const float *X, ptrdiff_t n, int K, const float *W, const float *b, int N,
                   float *out) {
    const int step = run_of(K);
    const float *rows[RUN];
    for (ptrdiff_t run = 0; run < n; run += step, X += (size_t)step * K, out += (size_t)step * N) {
        const int size = (int)(n - run < step ? n - run : step);
        for (int i = 0; i < size; i++) rows[i] = X + (size_t)i * K;
        for (int j = 0; j < N; j += COLUMNS)
            blocks(size, N - j < COLUMNS ? N - j : COLUMNS, rows, K, W + (size_t)j * K,
                   b ? b + j : NULL, -1, out + j, NULL, N);
    }
}
