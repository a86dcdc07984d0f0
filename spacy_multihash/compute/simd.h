/* Vectors of VL floats, by the vector extension of GCC and Clang. With any other compiler, VL is 1.
   A file defines VL and the name of its set of kernels before it includes this. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define RESTRICT restrict
typedef float vec __attribute__((vector_size(4 * VL), aligned(4), may_alias));
typedef float quad __attribute__((vector_size(16)));
typedef int32_t quad_of_int __attribute__((vector_size(16)));
#else
#define INLINE static __inline
#define RESTRICT __restrict
typedef float vec;
#endif

#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

INLINE vec load(const float *p) { return *(const vec *)p; }
INLINE void store(float *p, vec v) { *(vec *)p = v; }

#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#elif defined(__GNUC__)
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (quad_of_int){i, j, k, l})
#endif

#if defined(__GNUC__)
INLINE vec zero(void) { return (vec){0}; }
INLINE quad halve(vec v) {
    quad parts[VL / 4];
    memcpy(parts, &v, sizeof v);
    for (int i = VL / 8; i >= 1; i /= 2)
        for (int j = 0; j < i; j++) parts[j] += parts[j + i];
    return parts[0];
}
/* Adds the lanes of a vector, and of four at once, always in the same order. */
INLINE float add_lanes(vec v) {
    const quad q = halve(v);
    return (q[0] + q[2]) + (q[1] + q[3]);
}
INLINE void add_lanes_of(const vec v[4], float sums[4]) {
    const quad a = halve(v[0]), b = halve(v[1]), c = halve(v[2]), d = halve(v[3]);
    const quad ab = SHUFFLE(a, b, 0, 4, 1, 5) + SHUFFLE(a, b, 2, 6, 3, 7);
    const quad cd = SHUFFLE(c, d, 0, 4, 1, 5) + SHUFFLE(c, d, 2, 6, 3, 7);
    const quad sum = SHUFFLE(ab, cd, 0, 1, 4, 5) + SHUFFLE(ab, cd, 2, 3, 6, 7);
    memcpy(sums, &sum, sizeof sum);
}
/* Replaces each best by sum + b where that's larger or NaN, without a branch that nobody could
   predict, and notes the piece it is of. */
INLINE void take_larger(const float sums[4], float b, int32_t piece, float best[4],
                        int32_t pieces[4]) {
    quad sum, old;
    quad_of_int better, values, others;
    memcpy(&sum, sums, sizeof sum);
    memcpy(&old, best, sizeof old);
    sum += b;
    better = (sum > old) | (sum != sum);
    memcpy(&values, &sum, sizeof values);
    memcpy(&others, &old, sizeof others);
    values = (better & values) | (~better & others);
    memcpy(best, &values, sizeof values);
    memcpy(&others, pieces, sizeof others);
    others = (better & piece) | (~better & others);
    memcpy(pieces, &others, sizeof others);
}
#else
INLINE void take_larger(const float sums[4], float b, int32_t piece, float best[4],
                        int32_t pieces[4]) {
    for (int r = 0; r < 4; r++) {
        const float sum = sums[r] + b;
        if (sum > best[r] || sum != sum) {
            best[r] = sum;
            pieces[r] = piece;
        }
    }
}
INLINE vec zero(void) { return 0; }
INLINE float add_lanes(vec v) { return v; }
INLINE void add_lanes_of(const vec v[4], float sums[4]) { memcpy(sums, v, 4 * sizeof v[0]); }
#endif
