/* Vectors of VL floats, by the vector extension of GCC and Clang. With any other compiler, VL is 1.
   A file defines VL and the name of its set of kernels before it includes this. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define PREFETCH(p) __builtin_prefetch(p)
#define RESTRICT restrict
typedef float vec __attribute__((vector_size(4 * VL), aligned(4), may_alias));
typedef float quad __attribute__((vector_size(16)));
typedef int32_t quad_of_int __attribute__((vector_size(16)));
#else
#define INLINE static __inline
#define PREFETCH(p) ((void)(p))
#define RESTRICT __restrict
typedef float vec;
typedef struct { float lanes[4]; } quad;
typedef struct { int32_t lanes[4]; } quad_of_int;
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
/* The first n < VL floats, and zeros. */
INLINE vec load_first(const float *p, int n) {
    float lanes[VL] = {0};
    for (int i = 0; i < n; i++) lanes[i] = p[i];
    return load(lanes);
}

#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#elif defined(__GNUC__)
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (quad_of_int){i, j, k, l})
#endif

#if defined(__GNUC__)
#define LANE(q, i) (q)[i]
INLINE vec zero(void) { return (vec){0}; }
INLINE quad four(float x) { return (quad){x, x, x, x}; }
INLINE quad plus(quad q, float x) { return q + x; }
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
INLINE quad add_lanes_of(vec v, vec w, vec x, vec y) {
    const quad a = halve(v), b = halve(w), c = halve(x), d = halve(y);
    const quad ab = SHUFFLE(a, b, 0, 4, 1, 5) + SHUFFLE(a, b, 2, 6, 3, 7);
    const quad cd = SHUFFLE(c, d, 0, 4, 1, 5) + SHUFFLE(c, d, 2, 6, 3, 7);
    return SHUFFLE(ab, cd, 0, 1, 4, 5) + SHUFFLE(ab, cd, 2, 3, 6, 7);
}
/* Replaces each best by the sum where that's larger or NaN, without a branch that nobody could
   predict, and notes the piece it is of. */
INLINE void take_larger(quad sum, int piece, quad *best, quad_of_int *pieces) {
    const quad_of_int better = (sum > *best) | (sum != sum);
    *best = (quad)((better & (quad_of_int)sum) | (~better & (quad_of_int)*best));
    *pieces = (better & piece) | (~better & *pieces);
}
#else
#define LANE(q, i) (q).lanes[i]
INLINE vec zero(void) { return 0; }
INLINE quad four(float x) {
    const quad q = {{x, x, x, x}};
    return q;
}
INLINE quad plus(quad q, float x) {
    for (int r = 0; r < 4; r++) q.lanes[r] += x;
    return q;
}
INLINE float add_lanes(vec v) { return v; }
INLINE quad add_lanes_of(vec v, vec w, vec x, vec y) {
    const quad q = {{v, w, x, y}};
    return q;
}
INLINE void take_larger(quad sum, int piece, quad *best, quad_of_int *pieces) {
    for (int r = 0; r < 4; r++)
        if (sum.lanes[r] > best->lanes[r] || sum.lanes[r] != sum.lanes[r]) {
            best->lanes[r] = sum.lanes[r];
            pieces->lanes[r] = piece;
        }
}
#endif
