/* The kernels with AVX2 and FMA, on x86-64. */
#include "kernels.h"
#if EXTENSIONS_X86_64
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define VL 8
#define TABLE kernels_avx2
#define NAME "avx2"
#include "simd_kernels.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int no_avx2; /* a file mustn't be empty */
#endif
