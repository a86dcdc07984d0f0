/* The best sequences of BILUO tags. Tags are numbered as in ner/biluo.py: O, then K each of B, I, L
   and U. Outside of entities after O, L and U, and before O, B and U. */

static int is_allowed(int known, int tag, int K) {
    const int kind = tag ? (tag - 1) / K : 4; /* B, I, L, U, O */
    return !((known & STARTS && (kind == 1 || kind == 2)) ||
             (known & SPACES && (kind == 0 || kind == 3)) || (known & OUTSIDE && tag));
}

/* Of O, L and U, the tag that's the best to come before another one; the first of equals. */
static int best_closing(const double *sums, const double *transitions, int K, double *best) {
    int from = 0;
    *best = sums[0] + (transitions ? transitions[0] : 0);
    for (int tag = 2 * K + 1; tag <= 4 * K; tag++) {
        const double sum = sums[tag] + (transitions ? transitions[tag] : 0);
        if (sum > *best) {
            *best = sum;
            from = tag;
        }
    }
    return from;
}

/* scores (n, 4 K + 1), transitions (4 K + 1, 4 K + 1) from the column's tag to the row's, or NULL for
   zeros, known (n), of sequences one after the other -> tags (n) */
static int viterbi(const float *scores, int K, const double *transitions, const uint8_t *known,
                   const int64_t *lengths, ptrdiff_t D, int64_t *tags) {
    const int nO = 4 * K + 1;
    int64_t longest = 1;
    for (ptrdiff_t d = 0; d < D; d++)
        if (lengths[d] > longest) longest = lengths[d];
    double *memory = malloc(2 * nO * sizeof *memory + longest * nO * sizeof(int32_t));
    if (!memory) return -1;
    double *sums = memory, *next = sums + nO;
    int32_t *from = (int32_t *)(next + nO); /* (longest, nO) the tag before */
    for (ptrdiff_t d = 0; d < D; d++) {
        const int64_t n = lengths[d];
        for (int64_t i = 0; i < n; i++) {
            int32_t *before = from + i * nO;
            double outside = 0; /* the best sum before O; at first, nothing */
            const int closing = i ? best_closing(sums, transitions, K, &outside) : 0;
            for (int tag = 0; tag < nO; tag++) {
                const double *row = transitions ? transitions + (size_t)tag * nO : NULL;
                const int kind = tag ? (tag - 1) / K : 4, B = tag - kind * K, I = B + K;
                if (kind == 1 || kind == 2) { /* after B and I of its label */
                    const double of_B = i ? sums[B] + (row ? row[B] : 0) : -INFINITY;
                    const double of_I = i ? sums[I] + (row ? row[I] : 0) : -INFINITY;
                    before[tag] = of_I > of_B ? I : B;
                    next[tag] = of_I > of_B ? of_I : of_B;
                } else if (i && tag && row) {
                    before[tag] = best_closing(sums, row, K, next + tag);
                } else { /* O; without transitions, B and U as O */
                    before[tag] = closing;
                    next[tag] = outside;
                }
            }
            for (int tag = 0; tag < nO; tag++)
                next[tag] = is_allowed(known[i], tag, K) ? next[tag] + scores[i * nO + tag] : -INFINITY;
            double *swap = sums;
            sums = next;
            next = swap;
        }
        double best;
        int tag = n ? best_closing(sums, NULL, K, &best) : 0;
        for (int64_t i = n - 1; i >= 0; i--) {
            tags[i] = tag;
            tag = from[i * nO + tag];
        }
        scores += n * nO;
        known += n;
        tags += n;
    }
    free(memory);
    return 0;
}
