/* Kernels that are the same for every instruction set, and round as plain C does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

enum { BLOCK = 64 };

/* The step of a block of n numbers: moments first, then weights, then averages. Operations, order and
   rounding are those of thinc's optimizer. `RESTRICT`, constants in variables and loops without
   branches let compilers vectorize them. */
static void step_block(const Adam *p, int n, float *RESTRICT weights,
                       const float *RESTRICT gradient, float *RESTRICT mom1,
                       float *RESTRICT mom2) {
    const float clip = p->clip, beta1 = p->beta1, beta2 = p->beta2, eps = p->eps;
    const float rest1 = 1 - beta1, rest2 = 1 - beta2, learn_rate = p->learn_rate;
    const float decay = p->decay;
    for (int i = 0; i < n; i++) {
        const float slope = gradient[i] * clip;
        mom1[i] = mom1[i] * beta1 + slope * rest1;
        mom2[i] = mom2[i] * beta2 + rest2 * (slope * slope);
        const float weight = weights[i] - learn_rate * (mom1[i] / (sqrtf(mom2[i]) + eps));
        weights[i] = weight - decay * weight;
    }
}

/* Whether n numbers are all 0, or -0. */
static int all_zero(int n, const float *x) {
    uint32_t bits = 0;
    for (int i = 0; i < n; i++) {
        uint32_t number;
        memcpy(&number, x + i, sizeof number);
        bits |= number;
    }
    return (bits & 0x7fffffff) == 0;
}

/* Most rows of large tables have no gradient in a step. Their blocks aren't written to where nothing
   changes: the gradient stays 0, and so do moments that are 0, which change no weight. */
void adam(const Adam *p, ptrdiff_t n, float *RESTRICT weights, float *RESTRICT gradient,
          float *RESTRICT mom1, float *RESTRICT mom2, float *RESTRICT averages) {
    const float decay = p->decay, average_rest = p->average_rest;
    for (ptrdiff_t first = 0; first < n; first += BLOCK) {
        const int size = n - first < BLOCK ? (int)(n - first) : BLOCK;
        float *w = weights + first, *g = gradient + first;
        const int is_zero = all_zero(size, g);
        if (is_zero && all_zero(size, mom1 + first) && all_zero(size, mom2 + first)) {
            if (decay == 0 && !averages) continue;
            for (int i = 0; i < size; i++) w[i] = w[i] - decay * w[i];
        } else
            step_block(p, size, w, g, mom1 + first, mom2 + first);
        if (!is_zero) memset(g, 0, sizeof *g * (size_t)size);
        if (averages) {
            float *RESTRICT kept = averages + first;
            for (int i = 0; i < size; i++) kept[i] = kept[i] - average_rest * (kept[i] - w[i]);
        }
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
