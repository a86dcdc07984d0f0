/* Embeddings: ids to rows of tables to sums of rows. First those of hashed columns, all at once; then
   those of bags of symbols. */

static uint64_t rotate(uint64_t x, int bits) { return (x << bits) | (x >> (64 - bits)); }

static uint64_t finish(uint64_t k) {
    k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdULL;
    k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return k ^ (k >> 33);
}

/* MurmurHash3 x64 128 of the 8 bytes of an id, as thinc's `hash`. */
static void hash_id(uint64_t id, uint32_t seed, uint32_t words[4]) {
    uint64_t h1 = seed, h2 = seed;
    h1 ^= rotate(id * 0x87c37b91114253d5ULL, 31) * 0x4cf5ad432745937fULL;
    h1 ^= 8;
    h2 ^= 8;
    h1 += h2;
    h2 += h1;
    h1 = finish(h1);
    h2 = finish(h2);
    h1 += h2;
    h2 += h1;
    words[0] = (uint32_t)h1;
    words[1] = (uint32_t)(h1 >> 32);
    words[2] = (uint32_t)h2;
    words[3] = (uint32_t)(h2 >> 32);
}

static void hash_embed(const Tables *t, const uint64_t *ids, ptrdiff_t first, ptrdiff_t last,
                       int32_t *rows, float *vectors) {
    for (ptrdiff_t i = first; i < last; i++)
        for (int a = 0; a < t->A; a++) {
            float *RESTRICT to = vectors + (i * t->A + a) * t->W;
            int32_t *row = rows + (i * t->A + a) * MAX_HASHES;
            for (int k = 0; k < t->num_hashes[a]; k += 4) {
                uint32_t words[4];
                hash_id(ids[i * t->A + a], t->seeds[4 * a + k / 4], words);
                for (int j = k; j < k + 4 && j < t->num_hashes[a]; j++)
                    row[j] = (int32_t)(words[j - k] % t->nV[a]);
            }
            for (int k = 0; k < t->num_hashes[a]; k++) {
                const float *from = t->tables[a] + (size_t)row[k] * t->W;
                if (k == 0)
                    memcpy(to, from, sizeof *to * (size_t)t->W);
                else
                    for (int j = 0; j < t->W; j++) to[j] += from[j];
            }
        }
}

/* Adds the gradients of the vectors to the rows of tables [low, high), one vector after the other. */
static void hash_embed_backward(const Tables *t, const int32_t *rows, const float *d_vectors,
                                ptrdiff_t U, int low, int high) {
    for (int a = low; a < high; a++)
        for (ptrdiff_t i = 0; i < U; i++) {
            const int32_t *row = rows + (i * t->A + a) * MAX_HASHES;
            const float *from = d_vectors + (i * t->A + a) * t->W;
            for (int k = 0; k < t->num_hashes[a]; k++) {
                float *RESTRICT to = t->tables[a] + (size_t)row[k] * t->W;
                for (int j = 0; j < t->W; j++) to[j] += from[j];
            }
        }
}

/* The number of symbols of token u, of which the first is noted. */
static ptrdiff_t symbols_of(const Bags *b, ptrdiff_t u, ptrdiff_t *first) {
    *first = !b->ends ? u : u ? b->ends[u - 1] : 0;
    return b->ends ? b->ends[u] - *first : 1;
}

/* The sums for the tokens [first, last), `stride` floats apart. */
static void gather_sum(const Bags *b, const float *table, ptrdiff_t first, ptrdiff_t last,
                       float *out, ptrdiff_t stride) {
    const int W = b->W;
    for (ptrdiff_t u = first; u < last; u++) {
        float *RESTRICT to = out + u * stride;
        ptrdiff_t m;
        const ptrdiff_t number = symbols_of(b, u, &m), end = (m + number) * b->K;
        memset(to, 0, sizeof *to * (size_t)W);
        for (ptrdiff_t i = m * b->K; i < end; i++) {
            const float *from = table + (size_t)b->rows[i] * W;
            if (b->weights) {
                const float weight = b->weights[i];
                for (int j = 0; j < W; j++) to[j] += weight * from[j];
            } else
                for (int j = 0; j < W; j++) to[j] += from[j];
        }
        if (b->mean && number > 1) {
            const float share = (float)(1.0 / number);
            for (int j = 0; j < W; j++) to[j] *= share;
        }
    }
}

/* Adds the gradients of U sums to the entries [low, high) of their rows, one after the other. */
static void scatter_sum(const Bags *b, float *table, ptrdiff_t U, const float *d, ptrdiff_t stride,
                        int low, int high) {
    for (ptrdiff_t u = 0; u < U; u++) {
        const float *RESTRICT from = d + u * stride;
        ptrdiff_t m;
        const ptrdiff_t number = symbols_of(b, u, &m), end = (m + number) * b->K;
        const float share = b->mean && number > 1 ? (float)(1.0 / number) : 1;
        for (ptrdiff_t i = m * b->K; i < end; i++) {
            float *RESTRICT to = table + (size_t)b->rows[i] * b->W;
            const float weight = b->weights ? b->weights[i] * share : share;
            for (int j = low; j < high; j++) to[j] += weight * from[j];
        }
    }
}

/* The gradients of the weights of tokens [first, last): products of rows and gradients of sums. */
static void gather_dot(const Bags *b, const float *table, ptrdiff_t first, ptrdiff_t last,
                       const float *d, ptrdiff_t stride, float *d_weights) {
    for (ptrdiff_t u = first; u < last; u++) {
        const float *from = d + u * stride;
        ptrdiff_t m;
        const ptrdiff_t number = symbols_of(b, u, &m), end = (m + number) * b->K;
        const float share = b->mean && number > 1 ? (float)(1.0 / number) : 1;
        for (ptrdiff_t i = m * b->K; i < end; i++) {
            const float *row = table + (size_t)b->rows[i] * b->W;
            vec sums = zero();
            int j = 0;
            for (; j + VL <= b->W; j += VL) sums += load(row + j) * load(from + j);
            float sum = add_lanes(sums);
            for (; j < b->W; j++) sum += row[j] * from[j];
            d_weights[i] = share * sum;
        }
    }
}

/* ids (n) -> rows (n, K) of a table of nV rows, by hashing; a seed for each four hash functions */
static void hash_rows(const uint64_t *ids, ptrdiff_t n, uint32_t nV, const uint32_t *seeds, int K,
                      int32_t *rows) {
    for (ptrdiff_t i = 0; i < n; i++)
        for (int k = 0; k < K; k += 4) {
            uint32_t words[4];
            hash_id(ids[i], seeds[k / 4], words);
            for (int j = k; j < k + 4 && j < K; j++) *rows++ = (int32_t)(words[j - k] % nV);
        }
}

/* ids (n) -> the rows of V keys in ascending order, 0 for an id that isn't among them */
static void look_up(const uint64_t *ids, ptrdiff_t n, const uint64_t *keys, const int32_t *row_of,
                    ptrdiff_t V, int32_t *rows) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const uint64_t *low = keys;
        for (ptrdiff_t size = V; size > 1; size -= size / 2) /* no branch that could be mispredicted */
            low = low[size / 2] <= ids[i] ? low + size / 2 : low;
        rows[i] = V && *low == ids[i] ? row_of[low - keys] : 0;
    }
}

/* The first 64 bits of MurmurHash3 x64 128, with seed 0, of n ids. */
static uint64_t hash_ngram(const uint64_t *ids, int n) {
    const uint64_t c1 = 0x87c37b91114253d5ULL, c2 = 0x4cf5ad432745937fULL;
    uint64_t h1 = 0, h2 = 0;
    for (int i = 0; i + 1 < n; i += 2) {
        h1 = (rotate(h1 ^ rotate(ids[i] * c1, 31) * c2, 27) + h2) * 5 + 0x52dce729;
        h2 = (rotate(h2 ^ rotate(ids[i + 1] * c2, 33) * c1, 31) + h1) * 5 + 0x38495ab5;
    }
    if (n % 2) h1 ^= rotate(ids[n - 1] * c1, 31) * c2;
    h1 ^= 8 * (uint64_t)n;
    h2 ^= 8 * (uint64_t)n;
    h1 += h2;
    h2 += h1;
    return finish(h1) + finish(h2);
}

/* The n-grams of D docs, ordered by doc, first token and order; those of order 1 are ids. */
static void hash_ngrams(const uint64_t *ids, const int64_t *lengths, ptrdiff_t D,
                        const int32_t *orders, int num_orders, uint64_t *ngrams) {
    for (ptrdiff_t d = 0; d < D; ids += lengths[d++])
        for (int64_t i = 0; i < lengths[d]; i++)
            for (int o = 0; o < num_orders && i + orders[o] <= lengths[d]; o++)
                *ngrams++ = orders[o] == 1 ? ids[i] : hash_ngram(ids + i, orders[o]);
}
