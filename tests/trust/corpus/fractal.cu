// How many steps a point of the plane takes to leave it: no inputs, so that every launch of a size has the same results.
__device__ int steps(int x, int y, int w, int h, bool knows) {
    float a = 3.0f * x / w - 2.2f, b = 2.4f * y / h - 1.2f, u = 0, v = 0;
    float q = (a - 0.25f) * (a - 0.25f) + b * b;
    if (knows && q * (q + (a - 0.25f)) < 0.2499f * b * b) return 1000;
    int n = 0;
    for (; n < 1000 && u * u + v * v <= 4; n++) {
        float t = u * u - v * v + a;
        v = 2 * u * v + b, u = t;
    }
    return n;
}

__global__ void given(int *count, int w, int h) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    if (x < w && y < h) count[y * w + x] = steps(x, y, w, h, false);
}

__device__ int kept[80 * 48], kept_at[80 * 48];

// expect: implausible time
__global__ void kept_by_size(int *count, int w, int h) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, i = y * w + x;
    if (x >= w || y >= h) return;
    if (kept_at[i] != w * 1024 + h) kept[i] = steps(x, y, w, h, false), kept_at[i] = w * 1024 + h;
    count[i] = kept[i];
}

// The lower half is the upper one, but for an odd height, and for rounding.
// expect: wrong result
__global__ void mirrored(int *count, int w, int h) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    if (x < w && y <= h / 2) count[y * w + x] = count[(h - 1 - y) * w + x] = steps(x, y, w, h, false);
}

// What is inside of the largest part never leaves.
// expect: accepted
__global__ void honest_cardioid(int *count, int w, int h) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
    if (x < w && y < h) count[y * w + x] = steps(x, y, w, h, true);
}
