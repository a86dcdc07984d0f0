/* Vectors of VL floats, by the vector extension of GCC and Clang. With any other compiler, VL is 1.
   A file defines VL and the name of its set of kernels before it includes this. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#if EXTENSIONS
#define INLINE static inline __attribute__((always_inline))
#define APART static __attribute__((noinline)) /* not copied into each block */
#define PREFETCH(p) __builtin_prefetch(p)
typedef float vec __attribute__((vector_size(sizeof(float) * VL), aligned(4), may_alias));
typedef float quad __attribute__((vector_size(16)));
typedef int32_t quad_of_int __attribute__((vector_size(16)));
typedef int32_t vec_of_int __attribute__((vector_size(sizeof(float) * VL), aligned(4), may_alias));
#else
#define INLINE static inline
#define APART static
#define PREFETCH(p) ((void)(p))
typedef float vec;
typedef struct { float lanes[4]; } quad;
typedef struct { int32_t lanes[4]; } quad_of_int;
typedef int32_t vec_of_int;
#endif

#if EXTENSIONS && defined(__clang__)
#define UNROLL _Pragma("unroll")
#elif EXTENSIONS
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

INLINE vec load(const float *p) { return *(const vec *)p; }
INLINE void store(float *p, vec v) { *(vec *)p = v; }
/* The first n floats, at most VL, and zeros. */
APART vec load_first(const float *p, int n) {
    float lanes[VL] = {0};
    for (int i = 0; i < n; i++) lanes[i] = p[i];
    return load(lanes);
}
INLINE void store_first(float *p, vec v, int n) {
    float lanes[VL];
    store(n == VL ? p : lanes, v);
    for (int i = 0; n < VL && i < n; i++) p[i] = lanes[i];
}
/* The same for n bytes. */
APART vec_of_int load_bytes(const uint8_t *p, int n) {
    int32_t lanes[VL] = {0};
    vec_of_int v;
    for (int i = 0; i < n; i++) lanes[i] = p[i];
    memcpy(&v, lanes, sizeof v);
    return v;
}
INLINE void store_bytes(uint8_t *p, vec_of_int v, int n) {
    int32_t lanes[VL];
    memcpy(lanes, &v, sizeof v);
    for (int i = 0; i < n; i++) p[i] = (uint8_t)lanes[i];
}

INLINE size_t whole_vectors(size_t width) { return (width + VL - 1) / VL * VL; }
/* The first place of memory that a line of the cache begins at; `LINE` bytes more are needed. */
enum { LINE = 64 };
INLINE float *aligned(void *memory) {
    return (float *)(((uintptr_t)memory + LINE - 1) & ~(uintptr_t)(LINE - 1));
}

#if EXTENSIONS && (defined(__clang__) || __GNUC__ >= 12)
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#elif EXTENSIONS
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (quad_of_int){i, j, k, l})
#endif

#if EXTENSIONS
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
#define TAKE_LARGER(name, floats, ints)                                          \
    INLINE void name(floats sum, int piece, floats *best, ints *pieces) {        \
        const ints better = (sum > *best) | (sum != sum);                        \
        *best = (floats)((better & (ints)sum) | (~better & (ints)*best));        \
        *pieces = (better & piece) | (~better & *pieces);                        \
    }
TAKE_LARGER(take_larger, vec, vec_of_int)
TAKE_LARGER(take_larger_of_four, quad, quad_of_int)
/* Copies four rows of four numbers, `by` apart, as columns: rows that are `ld` apart. */
INLINE void transpose(const float *from, ptrdiff_t by, float *to, ptrdiff_t ld) {
    quad row[4];
    for (int i = 0; i < 4; i++) memcpy(row + i, from + i * by, sizeof *row);
    const quad a = SHUFFLE(row[0], row[1], 0, 4, 1, 5), b = SHUFFLE(row[0], row[1], 2, 6, 3, 7);
    const quad c = SHUFFLE(row[2], row[3], 0, 4, 1, 5), d = SHUFFLE(row[2], row[3], 2, 6, 3, 7);
    row[0] = SHUFFLE(a, c, 0, 1, 4, 5);
    row[1] = SHUFFLE(a, c, 2, 3, 6, 7);
    row[2] = SHUFFLE(b, d, 0, 1, 4, 5);
    row[3] = SHUFFLE(b, d, 2, 3, 6, 7);
    for (int i = 0; i < 4; i++) memcpy(to + i * ld, row + i, sizeof *row);
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
INLINE void take_larger(vec sum, int piece, vec *best, vec_of_int *pieces) {
    if (sum > *best || sum != sum) {
        *best = sum;
        *pieces = piece;
    }
}
INLINE void take_larger_of_four(quad sum, int piece, quad *best, quad_of_int *pieces) {
    for (int r = 0; r < 4; r++)
        take_larger(sum.lanes[r], piece, &best->lanes[r], &pieces->lanes[r]);
}
INLINE void transpose(const float *from, ptrdiff_t by, float *to, ptrdiff_t ld) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) to[i * ld + j] = from[j * by + i];
}
#endif
