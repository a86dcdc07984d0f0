/* Kernels that are the same for every instruction set, since memory is what they wait for. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

/* Operations, order and rounding are those of thinc's optimizer. */
void adam(const Adam *p, ptrdiff_t n, float *weights, float *gradient, float *mom1, float *mom2,
          float *averages) {
    for (ptrdiff_t i = 0; i < n; i++) {
        const float slope = gradient[i] * p->clip;
        gradient[i] = 0;
        mom1[i] = mom1[i] * p->beta1 + slope * (1 - p->beta1);
        mom2[i] = mom2[i] * p->beta2 + (1 - p->beta2) * (slope * slope);
        const float weight = weights[i] - p->learn_rate * (mom1[i] / (sqrtf(mom2[i]) + p->eps));
        weights[i] = weight - p->decay * weight;
        if (averages) averages[i] = averages[i] - p->average_rest * (averages[i] - weights[i]);
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
