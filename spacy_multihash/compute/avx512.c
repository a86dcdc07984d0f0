/* The kernels with AVX-512, on x86-64. */
#include "kernels.h"
#if EXTENSIONS_X86_64
#if defined(__clang__)
#pragma clang attribute push( \
    __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")
#endif
#define VL 16
#define TABLE kernels_avx512
#define NAME "avx512"
#include "simd_kernels.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
typedef int no_avx512; /* a file mustn't be empty */
#endif
