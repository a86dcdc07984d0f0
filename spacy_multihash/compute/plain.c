/* Kernels that are the same for every instruction set, and round as plain C does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

enum { LANES = 8 };

#define NAMED(name) name##_any
#include "adam.h"
#undef NAMED

/* The same with AVX2, without FMA, which rounds otherwise */
#if EXTENSIONS_X86_64
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif
#define NAMED(name) name##_avx2
#include "adam.h"
#undef NAMED
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#define CHOOSE(name) (__builtin_cpu_supports("avx2") ? name##_avx2 : name##_any)
#else
#define CHOOSE(name) name##_any
#endif

/* While `adam` runs, numbers below FLT_MIN count as 0. A moment that only decays gets there after 800
   steps, and each step would take thirty times as long from then on. */
#if defined(__SSE2__) || defined(_M_X64)
#include <xmmintrin.h>
enum { FLUSH = 0x8040 };
static unsigned flush_tiny(void) {
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | FLUSH);
    return before;
}
static void restore(unsigned before) { _mm_setcsr(before); }
#else
static unsigned flush_tiny(void) { return 0; }
static void restore(unsigned before) { (void)before; }
#endif

/* Most rows of large tables have no gradient in a step, and many never had one. Of each block,
   `is_zero` says whether the gradient is 0, as `sum_squares` noted: then it stays as it is.
   `has_moments` says whether moments may be other than 0. If not, they aren't read. */
void adam(const Adam *p, ptrdiff_t n, float *weights, float *gradient, float *mom1, float *mom2,
          float *averages, const uint8_t *is_zero, uint8_t *has_moments) {
    const unsigned before = flush_tiny();
    CHOOSE(step_blocks)(p, n, weights, gradient, mom1, mom2, averages, is_zero, has_moments);
    restore(before);
}

double sum_squares(ptrdiff_t n, const float *x, uint8_t *is_zero) {
    return CHOOSE(squares)(n, x, is_zero);
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
