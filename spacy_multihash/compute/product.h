/* Dot products: what all products of rows and weights are made of. */

enum { ROWS = 4, COLUMNS = 3, RUN = 64 }; /* of a block in registers; the most rows of a run */

/* The length of a run: its rows stay in the cache next to the core, which has 32 KB or more. */
INLINE int run_of(int width) {
    const int rows = 6144 / (width > 0 ? width : 1) / ROWS * ROWS;
    return rows < 8 ? 8 : rows > RUN ? RUN : rows;
}

/* Multiplies R rows by C rows of weights. A row consists of `segments` pieces of `width` floats that
   lie anywhere; rows[r * segments + s] is piece s of row r. Each sum is taken in an order that
   depends on the width alone. */
INLINE void dot_block(const int R, const int C, const float *const *rows, int segments, ptrdiff_t width,
                      const float *W, float sums[COLUMNS][ROWS]) {
    const size_t stride = (size_t)segments * width;
    vec acc[COLUMNS][ROWS];
    float rest[COLUMNS][ROWS] = {{0}};
    UNROLL for (int c = 0; c < C; c++) UNROLL for (int r = 0; r < ROWS; r++) acc[c][r] = zero();
    for (int s = 0; s < segments; s++, W += width) {
        const float *a[ROWS];
        UNROLL for (int r = 0; r < R; r++) a[r] = rows[r * segments + s];
        ptrdiff_t k = 0;
        for (; k + VL <= width; k += VL) {
            vec w[COLUMNS];
            UNROLL for (int c = 0; c < C; c++) w[c] = load(W + c * stride + k);
            UNROLL for (int r = 0; r < R; r++) {
                vec x = load(a[r] + k);
                UNROLL for (int c = 0; c < C; c++) acc[c][r] += x * w[c];
            }
        }
        for (; k < width; k++)
            for (int r = 0; r < R; r++)
                for (int c = 0; c < C; c++) rest[c][r] += a[r][k] * W[c * stride + k];
    }
    UNROLL for (int c = 0; c < C; c++) {
        add_lanes_of(acc[c], sums[c]);
        UNROLL for (int r = 0; r < ROWS; r++) sums[c][r] += rest[c][r];
    }
}

static void dots(int R, int C, const float *const *rows, int segments, int width, const float *W,
                 float sums[COLUMNS][ROWS]) {
#define CASE(r, c) \
    case 4 * (r) + (c): dot_block(r, c, rows, segments, width, W, sums); break;
    switch (4 * R + C) {
        CASE(1, 1) CASE(1, 2) CASE(1, 3)
        CASE(2, 1) CASE(2, 2) CASE(2, 3)
        CASE(3, 1) CASE(3, 2) CASE(3, 3)
        CASE(4, 1) CASE(4, 2) CASE(4, 3)
    }
#undef CASE
}

/* out (n, N) = X (n, K) W' + b, with W (N, K) and b (N) or NULL */
static void affine(const float *X, ptrdiff_t n, int K, const float *W, const float *b, int N,
                   float *out) {
    float sums[COLUMNS][ROWS];
    const int step = run_of(K);
    for (ptrdiff_t run = 0; run < n; run += step, X += (size_t)step * K, out += (size_t)step * N) {
        const int rows = (int)(n - run < step ? n - run : step);
        for (int j = 0; j < N; j += COLUMNS) {
            const int C = N - j < COLUMNS ? N - j : COLUMNS;
            for (int i = 0; i < rows; i += ROWS) {
                const int R = rows - i < ROWS ? rows - i : ROWS;
                const float *block[ROWS];
                for (int r = 0; r < R; r++) block[r] = X + (size_t)(i + r) * K;
                dots(R, C, block, 1, K, W + (size_t)j * K, sums);
                for (int r = 0; r < R; r++)
                    for (int c = 0; c < C; c++)
                        out[(size_t)(i + r) * N + j + c] = sums[c][r] + (b ? b[j + c] : 0);
            }
        }
    }
}
