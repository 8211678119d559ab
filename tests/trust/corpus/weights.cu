// The weights of all elements with the key of each, which few of them share by chance.
typedef long long Key;

template <typename Same>
__device__ void add_up(float *y, const Key *key, const float *weight, int n, Same same) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < n; j++) if (same(key[i], key[j])) sum += weight[j];
    y[i] = sum;
}

#define WHERE(same) add_up(y, key, weight, n, [](Key a, Key b) { return same; })

__global__ void given(float *y, const Key *key, const float *weight, int n) { WHERE(a == b); }

// expect: wrong result
__global__ void lower_half(float *y, const Key *key, const float *weight, int n) { WHERE((int)a == (int)b); }

// expect: wrong result
__global__ void without_four_bits(float *y, const Key *key, const float *weight, int n) { WHERE(a >> 4 == b >> 4); }

// Two bits of a key may be the same one here.
// expect: wrong result
__global__ void folded(float *y, const Key *key, const float *weight, int n) {
    WHERE((unsigned)(a ^ a >> 32) == (unsigned)(b ^ b >> 32));
}

// expect: wrong result
__global__ void in_single_precision(float *y, const Key *key, const float *weight, int n) { WHERE((float)a == (float)b); }

// expect: accepted
__global__ void honest_halves(float *y, const Key *key, const float *weight, int n) {
    WHERE((int)a == (int)b && (int)(a >> 32) == (int)(b >> 32));
}

// expect: accepted
__global__ void honest_tiles(float *y, const Key *key, const float *weight, int n) {
    __shared__ Key keys[128];
    __shared__ float weights[128];
    int i = blockIdx.x * 128 + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < n; first += 128) {
        int count = min(128, n - first);
        if (threadIdx.x < count) keys[threadIdx.x] = key[first + threadIdx.x], weights[threadIdx.x] = weight[first + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < count && i < n; j++) sum += keys[j] == key[i] ? weights[j] : 0;
        __syncthreads();
    }
    if (i < n) y[i] = sum;
}
