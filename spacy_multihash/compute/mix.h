/* The vectors of tokens before any context: all columns embedded (embed.h) and mixed by a layer of
   maxout (maxout.h). If no column has bags, each distinct token of a batch is computed once. */

enum { FEW = 32 }; /* up to this number of tokens, finding the distinct ones takes longer */

/* Memory for the symbols of a run, of which a column has at most M, and their at most K rows each. */
typedef struct {
    uint64_t *symbols;    /* (M) */
    int64_t *ends;        /* (tokens) */
    int32_t *rows;        /* (M, K) */
    float *factors;       /* (M, K) */
    float *vectors;       /* (tokens, nI) */
} Scratch;

/* Tokens [first, last) of one column: the sums, `stride` floats apart. 1 if a row is out of range. */
static int sum_column(const Column *c, const uint64_t *symbols, ptrdiff_t M, const int64_t *ends,
                      ptrdiff_t n, const Scratch *s, float *out, ptrdiff_t stride) {
    Bags bags = {s->rows, NULL, ends, c->K, c->W, c->mean};
    if (c->keys) {
        look_up(symbols, M, c->keys, c->row_of, c->V, s->rows);
        for (ptrdiff_t m = 0; m < M; m++)
            if ((uint32_t)s->rows[m] >= c->nV) return 1;
    } else
        hash_rows(symbols, M, c->nV, c->seeds, c->K, s->rows);
    for (ptrdiff_t m = 0; m < M * c->K; m++) PREFETCH(c->table + (size_t)s->rows[m] * c->W);
    if (c->importance) {
        for (ptrdiff_t m = 0; m < M; m++) {
            int32_t row;
            hash_rows(symbols + m, 1, c->importance_rows, &c->importance_seed, 1, &row);
            memcpy(s->factors + m * c->K, c->importance + (size_t)row * c->K,
                   sizeof(float) * (size_t)c->K);
        }
        bags.weights = s->factors;
    }
    gather_sum(&bags, c->table, 0, n, out, stride);
    if (c->is_appended) {
        for (ptrdiff_t m = 0; m < M; m++) s->rows[m] = (int32_t)m;
        const Bags factors = {s->rows, NULL, ends, 1, c->K, c->mean};
        gather_sum(&factors, s->factors, 0, n, out + c->W, stride);
    }
    return 0;
}

/* The vectors of tokens [first, first + n), side by side: (n, nI) */
static int embed_run(const Column *columns, int A, const Tokens *t, ptrdiff_t first, ptrdiff_t n,
                     int nI, const Scratch *s) {
    int singles = 0, single = 0, bag = 0, at = 0;
    for (int a = 0; a < A; a++) singles += !columns[a].is_bag;
    for (int a = 0; a < A; a++) {
        const Column *c = columns + a;
        const uint64_t *symbols = s->symbols;
        const int64_t *ends = NULL;
        ptrdiff_t M = n;
        if (c->is_bag) {
            const ptrdiff_t begin = first ? t->ends[bag][first - 1] : 0;
            for (ptrdiff_t i = 0; i < n; i++) s->ends[i] = t->ends[bag][first + i] - begin;
            symbols = t->bags[bag++] + begin;
            ends = s->ends;
            M = n ? ends[n - 1] : 0;
        } else {
            for (ptrdiff_t i = 0; i < n; i++)
                s->symbols[i] = t->ids[(first + i) * singles + single];
            single++;
        }
        if (sum_column(c, symbols, M, ends, n, s, s->vectors + at, nI)) return 1;
        at += c->W + (c->is_appended ? c->K : 0);
    }
    for (ptrdiff_t i = 0; t->given && i < n; i++)
        memcpy(s->vectors + i * nI + at, t->given + (first + i) * t->width,
               sizeof(float) * (size_t)t->width);
    return 0;
}

/* Tokens [first, last) -> Y (last - first, nO), run by run; f are the functions of the layer */
static int mix_all(const Column *columns, int A, const Layer *l, const Linear *f, const Tokens *t,
                   ptrdiff_t first, ptrdiff_t last, float *Y) {
    const ptrdiff_t step = f->panels ? RUN : run_of(l->nI);
    ptrdiff_t M = step;
    int K = 1;
    for (int a = 0, bag = 0; a < A; a++) {
        if (columns[a].K > K) K = columns[a].K;
        if (!columns[a].is_bag) continue;
        const int64_t *ends = t->ends[bag++];
        for (ptrdiff_t run = first; run < last; run += step) {
            const ptrdiff_t end = (last - run < step ? last : run + step) - 1;
            const ptrdiff_t number = ends[end] - (run ? ends[run - 1] : 0);
            if (number > M) M = number;
        }
    }
    Scratch s;
    s.symbols = malloc(sizeof *s.symbols * M + sizeof *s.ends * step +
                       (sizeof *s.rows + sizeof *s.factors) * (size_t)M * K +
                       sizeof *s.vectors * (size_t)step * l->nI);
    if (!s.symbols) return -1;
    s.ends = (int64_t *)(s.symbols + M);
    s.rows = (int32_t *)(s.ends + step);
    s.factors = (float *)(s.rows + M * K);
    s.vectors = s.factors + M * K;
    int failed = 0;
    for (ptrdiff_t run = first; run < last && !failed; run += step, Y += step * l->nO) {
        const int64_t size = last - run < step ? last - run : step;
        const Docs docs = {&size, 1, 0, 0, 0};
        failed = embed_run(columns, A, t, run, size, l->nI, &s);
        if (!failed) failed = compute(l, f, &docs, s.vectors, 0, size, NULL, Y, NULL, NULL, NULL);
    }
    free(s.symbols);
    return failed;
}

/* ids (n, A) -> Y (n, nO), each distinct token once */
static int mix_distinct(const Column *columns, int A, const Layer *l, const Linear *f,
                        const uint64_t *ids, ptrdiff_t n, float *Y) {
    const size_t of_ids = sizeof *ids * A, of_row = sizeof(float) * (size_t)l->nO;
    int64_t *first = malloc(n * (sizeof *first + sizeof(int32_t) + of_ids + of_row));
    if (!first) return -1;
    uint64_t *distinct = (uint64_t *)(first + n);
    int32_t *group_of = (int32_t *)(distinct + n * A);
    float *mixed = (float *)(group_of + n);
    const Tokens tokens = {distinct, NULL, NULL, NULL, 0};
    const ptrdiff_t groups = distinct_rows(ids, n, A, first, group_of);
    for (ptrdiff_t g = 0; g < groups; g++)
        memcpy(distinct + g * A, ids + first[g] * A, of_ids);
    const int failed = groups < 0 ? -1 : mix_all(columns, A, l, f, &tokens, 0, groups, mixed);
    for (ptrdiff_t i = 0; i < n && !failed; i++)
        memcpy(Y + i * l->nO, mixed + (ptrdiff_t)group_of[i] * l->nO, of_row);
    free(first);
    return failed;
}

/* Tokens [first, last) of a batch -> Y (last - first, nO) */
static int mix(const Column *columns, int A, const Layer *l, const Tokens *t, ptrdiff_t first,
               ptrdiff_t last, ptrdiff_t batch, float *Y) {
    Linear f = linear_of(l);
    void *panels;
    int only_ids = !t->given, failed;
    for (int a = 0; a < A; a++) only_ids &= !columns[a].is_bag;
    if (pack_all(&f, 1, batch, &panels)) return -1;
    if (only_ids && last - first > FEW)
        failed = mix_distinct(columns, A, l, &f, t->ids + first * A, last - first, Y);
    else
        failed = mix_all(columns, A, l, &f, t, first, last, Y);
    free(panels);
    return failed;
}
