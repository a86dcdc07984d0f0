// The kernels that gpu.py launches. A block may have any number of threads that is a power of 2.
// The tests compile this file for the CPU as well. It includes no standard headers: NVRTC has none.

typedef unsigned long long uint64;
typedef unsigned int uint32;

__device__ inline uint64 rotate(uint64 x, int bits) { return (x << bits) | (x >> (64 - bits)); }

__device__ inline uint64 mix(uint64 h) {
    h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdULL;
    h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ULL;
    return h ^ (h >> 33);
}

// MurmurHash3 x64 128-bit of the 8 bytes of an id (Appleby, public domain): its word 0, 1, 2 or 3.
__device__ inline uint32 hash_word(uint64 id, uint32 seed, int word) {
    uint64 h1 = seed ^ (rotate(id * 0x87c37b91114253d5ULL, 31) * 0x4cf5ad432745937fULL);
    uint64 h2 = seed;
    h1 ^= 8;  // the length of the key
    h2 ^= 8;
    h1 += h2;
    h2 += h1;
    h1 = mix(h1);
    h2 = mix(h2);
    h1 += h2;
    h2 += h1;
    uint64 half = word < 2 ? h1 : h2;
    return (uint32)(word % 2 ? half >> 32 : half);
}

// Hashes ids and adds up the rows of the tables. There is one block for each type and attribute.
// ids (U, A); tables, nV, num_hashes (A,): the address of each table, its number of rows, and its
// number of hash functions; seeds (A, 4): those of up to four word groups.
// Fills out (U, A * W), and for the way back rows (U, A, 16).
extern "C" __global__ void hash_embed(
    const uint64* ids, const float* const* tables, const uint32* nV, const int* num_hashes,
    const uint32* seeds, int A, int W, int* rows, float* out
) {
    const uint64 u = blockIdx.x;
    const int a = blockIdx.y;
    int row[16];
    for (int k = 0; k < num_hashes[a]; k++) {
        row[k] = hash_word(ids[u * A + a], seeds[a * 4 + k / 4], k % 4) % nV[a];
        if (threadIdx.x == 0) rows[(u * A + a) * 16 + k] = row[k];
    }
    for (int w = threadIdx.x; w < W; w += blockDim.x) {
        float sum = 0;
        for (int k = 0; k < num_hashes[a]; k++) sum += tables[a][(uint64)row[k] * W + w];
        out[(u * A + a) * W + w] = sum;
    }
}

// The way back of hash_embed: adds d_out (U, A * W) to the rows of the gradients of the tables.
// Where types share a row, the order of additions is not fixed, nor are the last bits of the sum.
extern "C" __global__ void hash_embed_backward(
    float* const* gradients, const int* num_hashes, const int* rows, const float* d_out, int A, int W
) {
    const uint64 u = blockIdx.x;
    const int a = blockIdx.y;
    for (int w = threadIdx.x; w < W; w += blockDim.x) {
        const float d = d_out[(u * A + a) * W + w];
        for (int k = 0; k < num_hashes[a]; k++)
            atomicAdd(&gradients[a][(uint64)rows[(u * A + a) * 16 + k] * W + w], d);
    }
}

// Adds up one number from each thread, in a fixed order, and returns the sum to all threads.
__device__ inline float add_up(float value, float* shared) {
    shared[threadIdx.x] = value;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
        __syncthreads();
    }
    const float sum = shared[0];
    __syncthreads();
    return sum;
}

// Takes the largest piece and normalizes. There is one block for each row.
// sums (N, nP * nO), piece by piece, without the bias; b (nO, nP); G, beta (nO,).
// Fills out (N, nO), and Xhat (N, nO), scale (N,) and which (N, nO) unless they are null.
// Shared memory: one float for each thread, and one for each output.
extern "C" __global__ void maxout_norm_forward(
    const float* sums, const float* b, const float* G, const float* beta, int nO, int nP, float* out,
    float* Xhat, float* scale, unsigned char* which
) {
    extern __shared__ float shared[];
    float* largest = shared + blockDim.x;
    const uint64 n = blockIdx.x;
    float total = 0;
    for (int o = threadIdx.x; o < nO; o += blockDim.x) {
        float best = sums[n * nP * nO + o] + b[o * nP];
        int piece = 0;
        for (int p = 1; p < nP; p++) {
            const float value = sums[(n * nP + p) * nO + o] + b[o * nP + p];
            if (value > best) {
                best = value;
                piece = p;
            }
        }
        largest[o] = best;
        total += best;
        if (which) which[n * nO + o] = piece;
    }
    const float mean = add_up(total, shared) / nO;
    total = 0;
    for (int o = threadIdx.x; o < nO; o += blockDim.x)
        total += (largest[o] - mean) * (largest[o] - mean);
    const float inverse = 1 / sqrtf(add_up(total, shared) / nO + 1e-8f);
    for (int o = threadIdx.x; o < nO; o += blockDim.x) {
        const float normalized = (largest[o] - mean) * inverse;
        if (Xhat) Xhat[n * nO + o] = normalized;
        out[n * nO + o] = normalized * G[o] + beta[o];
    }
    if (scale && threadIdx.x == 0) scale[n] = inverse;
}

// The way back of maxout_norm_forward. There is one block for each row.
// dY, Xhat, which (N, nO), scale (N,), G (nO,). Fills d_sums (N, nO * nP), output by output, in the
// order of the rows of W. Shared memory: one float for each thread.
extern "C" __global__ void maxout_norm_backward(
    const float* dY, const float* G, const float* Xhat, const float* scale,
    const unsigned char* which, int nO, int nP, float* d_sums
) {
    extern __shared__ float shared[];
    const uint64 n = blockIdx.x;
    float sum = 0, product = 0;
    for (int o = threadIdx.x; o < nO; o += blockDim.x) {
        const float dXhat = dY[n * nO + o] * G[o];
        sum += dXhat;
        product += dXhat * Xhat[n * nO + o];
    }
    const float mean = add_up(sum, shared) / nO;
    const float share = add_up(product, shared) / nO;
    for (int o = threadIdx.x; o < nO; o += blockDim.x) {
        const float d = (dY[n * nO + o] * G[o] - mean - Xhat[n * nO + o] * share) * scale[n];
        for (int p = 0; p < nP; p++) d_sums[(n * nO + o) * nP + p] = p == which[n * nO + o] ? d : 0;
    }
}
