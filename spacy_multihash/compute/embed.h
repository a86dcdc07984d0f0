/* Hash embeddings of all columns at once: ids to rows of tables to sums of rows. */

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
                    memcpy(to, from, 4 * (size_t)t->W);
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
