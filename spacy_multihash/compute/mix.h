/* The vectors of tokens before any context: all columns embedded (embed.h) and mixed by a layer of
   maxout (maxout.h), each distinct token of a batch once. */

enum { FEW = 32 }; /* up to this number of tokens, finding the distinct ones takes longer */

/* ids (n, A) -> Y (n, nO), run by run; f are the functions of the layer */
static int mix_all(const Tables *t, const Layer *l, const Linear *f, const uint64_t *ids,
                   ptrdiff_t n, float *Y) {
    const ptrdiff_t step = f->panels ? RUN : run_of(l->nI);
    int32_t *rows = malloc(sizeof *rows * step * ((size_t)t->A * MAX_HASHES + l->nI));
    if (!rows) return -1;
    float *vectors = (float *)(rows + step * t->A * MAX_HASHES);
    int failed = 0;
    for (ptrdiff_t run = 0; run < n && !failed; run += step) {
        const int64_t size = n - run < step ? n - run : step;
        const Docs docs = {&size, 1, 0, 0, 0};
        hash_embed(t, ids + run * t->A, 0, size, rows, vectors);
        failed = compute(l, f, &docs, vectors, 0, size, NULL, Y + run * l->nO, NULL, NULL, NULL);
    }
    free(rows);
    return failed;
}

/* The same, each distinct token once */
static int mix_distinct(const Tables *t, const Layer *l, const Linear *f, const uint64_t *ids,
                        ptrdiff_t n, float *Y) {
    if (n <= FEW) return mix_all(t, l, f, ids, n, Y);
    const size_t of_ids = sizeof *ids * t->A, of_row = sizeof(float) * (size_t)l->nO;
    int64_t *first = malloc(n * (sizeof *first + sizeof(int32_t) + of_ids + of_row));
    if (!first) return -1;
    uint64_t *distinct = (uint64_t *)(first + n);
    int32_t *group_of = (int32_t *)(distinct + n * t->A);
    float *mixed = (float *)(group_of + n);
    const ptrdiff_t groups = distinct_rows(ids, n, t->A, first, group_of);
    for (ptrdiff_t g = 0; g < groups; g++)
        memcpy(distinct + g * t->A, ids + first[g] * t->A, of_ids);
    const int failed = groups < 0 || mix_all(t, l, f, distinct, groups, mixed);
    for (ptrdiff_t i = 0; i < n && !failed; i++)
        memcpy(Y + i * l->nO, mixed + (ptrdiff_t)group_of[i] * l->nO, of_row);
    free(first);
    return failed ? -1 : 0;
}

/* The same, for n of a batch's tokens */
static int mix(const Tables *t, const Layer *l, const uint64_t *ids, ptrdiff_t n, ptrdiff_t batch,
               float *Y) {
    Linear f = linear_of(l);
    void *panels;
    if (pack_all(&f, 1, batch, &panels)) return -1;
    const int failed = mix_distinct(t, l, &f, ids, n, Y);
    free(panels);
    return failed;
}
