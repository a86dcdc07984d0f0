/* The kernels with what every machine of the architecture has, and the choice between sets. */
#include "kernels.h"
#if EXTENSIONS
#define VL 4
#else
#define VL 1
#endif
#define TABLE kernels_baseline
#define NAME "baseline"
#include "simd_kernels.h"

#if EXTENSIONS_X86_64
extern const Kernels kernels_avx2, kernels_avx512;
#endif

const Kernels *find_kernels(const char *name) {
    if (!strcmp(name, "baseline")) return &kernels_baseline;
#if EXTENSIONS_X86_64
    __builtin_cpu_init();
    const int has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (!strcmp(name, "avx2") && has_avx2) return &kernels_avx2;
    if (!strcmp(name, "avx512") && has_avx2 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return &kernels_avx512;
#endif
    return NULL;
}

const char *best_kernels(void) {
#if EXTENSIONS_X86_64 && !defined(__clang__)
    if (find_kernels("avx512") && __builtin_cpu_is("intel")) return "avx512";
#endif
    return find_kernels("avx2") ? "avx2" : "baseline";
}
