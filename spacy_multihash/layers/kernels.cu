// The inner loops of the layers on a GPU. cuda.py says what each computes, and launches it.
//
// A block is lanes x groups threads, both powers of two, at most 32 lanes and 256 threads. A group
// of lanes has one row, and a lane every lanes-th column of it. With 32 lanes a group is a warp;
// with a single lane the kernels are plain loops, which run on a CPU as well. The order in which
// numbers are added up depends on nothing but the launch.
//
// NVRTC compiles this file without any header.

typedef long long i64;
typedef unsigned int u32;
typedef unsigned long long u64;

#define MAX_ATTRIBUTES 64  // they travel as an argument, of which CUDA takes 4096 bytes
#define MAX_THREADS 256
#define COLUMNS 4  // that a lane of scatter_add_sorted adds up side by side

struct Attribute {
    const float* table;  // (nV, W)
    u32 nV;
    u32 num_hashes;
    u32 seeds[4];  // of each block of four hashes
    u64 first_row;  // its first column in `rows`
};

struct Attributes {
    Attribute at[MAX_ATTRIBUTES];
};

__device__ __forceinline__ i64 group_row() {
    return (i64)blockIdx.x * blockDim.y + threadIdx.y;
}

// All lanes get the same sum, bit by bit: they add the same pairs.
__device__ __forceinline__ float group_sum(float value) {
    for (int step = blockDim.x / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, step, blockDim.x);
    return value;
}

__device__ __forceinline__ u64 rotate_left(u64 x, int bits) {
    return (x << bits) | (x >> (64 - bits));
}

__device__ __forceinline__ u64 avalanche(u64 x) {
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
    x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
    return x ^ (x >> 33);
}

// MurmurHash3 x64 128-bit (Austin Appleby, public domain) of a key of 8 bytes, all of them tail.
__device__ __forceinline__ void hash_id(u64 id, u32 seed, u32* words) {
    u64 low = seed ^ (rotate_left(id * 0x87c37b91114253d5ull, 31) * 0x4cf5ad432745937full) ^ 8;
    u64 high = seed ^ 8u;
    low += high;
    high += low;
    low = avalanche(low);
    high = avalanche(high);
    low += high;
    high += low;
    words[0] = (u32)low;
    words[1] = (u32)(low >> 32);
    words[2] = (u32)high;
    words[3] = (u32)(high >> 32);
}

// A group per id. Every lane hashes it: that takes no longer than waiting for one that does.
extern "C" __global__ void hash_embed(
    const u64* __restrict__ ids, i64 ids_stride, const Attributes attributes, float* out,
    i64 out_stride, int* rows, i64 rows_stride, i64 U, i64 W) {
    const i64 u = group_row();
    if (u >= U) return;
    const u32 a = blockIdx.y;
    const float* __restrict__ table = attributes.at[a].table;
    const u32 nV = attributes.at[a].nV, num_hashes = attributes.at[a].num_hashes;
    out += u * out_stride + a * W;
    for (u32 first = 0; first < num_hashes; first += 4) {
        u32 row[4];
        hash_id(ids[u * ids_stride + a], attributes.at[a].seeds[first / 4], row);
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            row[i] %= nV;
            if (rows && threadIdx.x == 0 && first + i < num_hashes)
                rows[u * rows_stride + attributes.at[a].first_row + first + i] = (int)row[i];
        }
        for (i64 c = threadIdx.x; c < W; c += blockDim.x) {
            float sum = first ? out[c] : 0.0f;
#pragma unroll
            for (u32 i = 0; i < 4; ++i)
                if (first + i < num_hashes) sum += table[row[i] * W + c];
            out[c] = sum;
        }
    }
}

// A block per key, of which the first one of a row does the work. Key: row, and place in (N, K).
extern "C" __global__ void scatter_add_sorted(
    float* dE, const u64* __restrict__ keys, const float* __restrict__ d_vectors, i64 stride,
    i64 M, i64 K, i64 W) {
    __shared__ float parts[COLUMNS][MAX_THREADS];  // the sum of each group's share
    const i64 start = blockIdx.x;
    const u64 row = keys[start] >> 32;
    if (start > 0 && keys[start - 1] >> 32 == row) return;
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    for (i64 first = threadIdx.x; first - threadIdx.x < W; first += COLUMNS * blockDim.x) {
        float sums[COLUMNS] = {0.0f};
        for (i64 i = start + threadIdx.y; i < M && keys[i] >> 32 == row; i += blockDim.y) {
            const float* d_vector = d_vectors + ((u32)keys[i] / (u32)K) * stride;
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
                const i64 c = first + j * blockDim.x;
                if (c < W) sums[j] += d_vector[c];
            }
        }
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) parts[j][thread] = sums[j];
        __syncthreads();
        for (int j = threadIdx.y; j < COLUMNS; j += blockDim.y) {
            const i64 c = first + j * blockDim.x;
            float sum = 0.0f;
            for (u32 group = 0; group < blockDim.y; ++group)
                sum += parts[j][group * blockDim.x + threadIdx.x];
            if (c < W) dE[row * W + c] += sum;
        }
        __syncthreads();
    }
}

extern "C" __global__ void maxout_norm_forward(
    const float* __restrict__ pre, const float* __restrict__ b, const float* __restrict__ G,
    const float* __restrict__ beta, const float* __restrict__ residual, i64 residual_stride,
    float* out, unsigned char* which, float* xhat, float* inv, i64 N, i64 nO, i64 nP) {
    const i64 n = group_row();
    if (n >= N) return;
    pre += n * nP * nO;
    out += n * nO;
    // The largest pieces wait where the result will be. A lane reads only what it wrote itself.
    float* y = xhat ? xhat + n * nO : out;
    float sum = 0.0f;
    for (i64 o = threadIdx.x; o < nO; o += blockDim.x) {
        float largest = pre[o] + b[o];
        int piece = 0;
        for (int p = 1; p < nP; ++p) {
            const float value = pre[p * nO + o] + b[p * nO + o];
            if (value > largest) {
                largest = value;
                piece = p;
            }
        }
        y[o] = largest;
        sum += largest;
        if (which) which[n * nO + o] = (unsigned char)piece;
    }
    const float mean = group_sum(sum) / nO;
    float squares = 0.0f;
    for (i64 o = threadIdx.x; o < nO; o += blockDim.x) {
        const float difference = y[o] - mean;
        squares += difference * difference;
    }
    const float scale = 1.0f / sqrtf(group_sum(squares) / nO + 1e-8f);
    for (i64 o = threadIdx.x; o < nO; o += blockDim.x) {
        const float normalized = (y[o] - mean) * scale;
        y[o] = normalized;
        const float result = normalized * G[o] + beta[o];
        out[o] = residual ? result + residual[n * residual_stride + o] : result;
    }
    if (inv && threadIdx.x == 0) inv[n] = scale;
}

extern "C" __global__ void maxout_norm_backward(
    const float* __restrict__ dY, i64 dY_stride, const float* __restrict__ xhat,
    const float* __restrict__ inv, const unsigned char* __restrict__ which,
    const float* __restrict__ G, float* __restrict__ d_pre, i64 N, i64 nO, i64 nP) {
    const i64 n = group_row();
    if (n >= N) return;
    dY += n * dY_stride;
    xhat += n * nO;
    which += n * nO;
    d_pre += n * nP * nO;
    float sum = 0.0f, product = 0.0f;
    for (i64 o = threadIdx.x; o < nO; o += blockDim.x) {
        const float d_xhat = dY[o] * G[o];
        sum += d_xhat;
        product += d_xhat * xhat[o];
    }
    const float mean = group_sum(sum) / nO, share = group_sum(product) / nO;
    const float scale = inv[n];
    for (i64 o = threadIdx.x; o < nO; o += blockDim.x) {
        const float d_y = (dY[o] * G[o] - mean - xhat[o] * share) * scale;
        for (int p = 0; p < nP; ++p) d_pre[p * nO + o] = p == which[o] ? d_y : 0.0f;
    }
}

extern "C" __global__ void gather_windows(
    const float* __restrict__ X, i64 stride, const i64* __restrict__ index,
    float* __restrict__ out, i64 M, i64 W) {
    const i64 m = group_row();
    if (m >= M) return;
    const float* x = X + index[m] * stride;
    for (i64 c = threadIdx.x; c < W; c += blockDim.x) out[m * W + c] = x[c];
}
