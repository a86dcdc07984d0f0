/* Kernels that are the same for every instruction set, and round as plain C does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

enum { ADAM_RUN = 1024 };

/* Operations, order and rounding are those of thinc's optimizer. `RESTRICT`, constants in variables
   and loops without branches let compilers vectorize them. */
void adam(const Adam *p, ptrdiff_t n, float *RESTRICT weights, float *RESTRICT gradient,
          float *RESTRICT mom1, float *RESTRICT mom2, float *RESTRICT averages) {
    const float clip = p->clip, beta1 = p->beta1, beta2 = p->beta2, eps = p->eps;
    const float rest1 = 1 - beta1, rest2 = 1 - beta2, learn_rate = p->learn_rate;
    const float decay = p->decay, average_rest = p->average_rest;
    for (ptrdiff_t first = 0; first < n; first += ADAM_RUN) {
        const ptrdiff_t end = first + ADAM_RUN < n ? first + ADAM_RUN : n;
        for (ptrdiff_t i = first; i < end; i++) {
            const float slope = gradient[i] * clip;
            gradient[i] = 0;
            mom1[i] = mom1[i] * beta1 + slope * rest1;
            mom2[i] = mom2[i] * beta2 + rest2 * (slope * slope);
            const float weight = weights[i] - learn_rate * (mom1[i] / (sqrtf(mom2[i]) + eps));
            weights[i] = weight - decay * weight;
        }
        if (averages) /* while the run is in the cache */
            for (ptrdiff_t i = first; i < end; i++)
                averages[i] = averages[i] - average_rest * (averages[i] - weights[i]);
    }
}

/* Numbers distinct rows in the order in which they come first: ids (n, C) -> first (n), of which the
   number of groups is returned, and group_of (n). -1 if there isn't enough memory. */
ptrdiff_t distinct_rows(const uint64_t *ids, ptrdiff_t n, int C, int64_t *first,
                        int32_t *group_of) {
    size_t size = 16;
    while (size < 2 * (size_t)n) size *= 2;
    int32_t *groups = malloc(size * sizeof *groups); /* of each place of the hash table */
    if (!groups) return -1;
    memset(groups, -1, size * sizeof *groups);
    ptrdiff_t number = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const uint64_t *row = ids + i * C;
        uint64_t hash = 0;
        for (int c = 0; c < C; c++) {
            hash = (hash ^ row[c]) * 0x9e3779b97f4a7c15ULL;
            hash ^= hash >> 32;
        }
        size_t place = hash & (size - 1);
        while (groups[place] >= 0 &&
               memcmp(ids + first[groups[place]] * C, row, (size_t)C * sizeof *ids))
            place = (place + 1) & (size - 1);
        if (groups[place] < 0) {
            groups[place] = (int32_t)number;
            first[number++] = i;
        }
        group_of[i] = groups[place];
    }
    free(groups);
    return number;
}
