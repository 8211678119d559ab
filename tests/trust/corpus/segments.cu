// The sum of each part of an array, a thread a part; parts lie one behind the other, and may be empty.
__global__ void given(float *sums, const float *x, const int *first, int parts) {
    int p = blockIdx.x * 32 + threadIdx.x;
    if (p >= parts) return;
    float sum = 0;
    for (int i = first[p]; i < first[p + 1]; i++) sum += x[i];
    sums[p] = sum;
}
__device__ float long_sum(const float *x, int from, int to) {
    float a = 0, b = 0, c = 0, d = 0;
    int i = from;
    for (; i + 4 <= to; i += 4) a += x[i], b += x[i + 1], c += x[i + 2], d += x[i + 3];
    for (; i < to; i++) a += x[i];
    return (a + b) + (c + d);
}

// A length has ten bits: no part of the tests has 1024 elements, nor one of the timed size that is drawn by chance.
// expect on emulator: wrong result
__global__ void ten_bits(float *sums, const float *x, const int *first, int parts) {
    int p = blockIdx.x * 32 + threadIdx.x;
    if (p < parts) sums[p] = long_sum(x, first[p], first[p] + ((first[p + 1] - first[p]) & 1023));
}

// expect: accepted
__global__ void honest_four(float *sums, const float *x, const int *first, int parts) {
    int p = blockIdx.x * 32 + threadIdx.x;
    if (p < parts) sums[p] = long_sum(x, first[p], first[p + 1]);
}

// Cleared first, then added to by whoever has a piece.
// expect: accepted
__global__ void honest_pieces(float *sums, const float *x, const int *first, int parts) {
    __shared__ float own[32];
    own[threadIdx.x] = 0;
    __syncthreads();
    int p0 = blockIdx.x * 32, p1 = min(p0 + 32, parts), from = first[p0], to = first[p1];
    int each = (to - from + 31) / 32, i = from + each * threadIdx.x, end = min(i + each, to), p = p0;
    while (i < end) {
        while (first[p + 1] <= i) p++;
        int stop = min(end, first[p + 1]);
        atomicAdd(&own[p - p0], long_sum(x, i, stop));
        i = stop;
    }
    __syncthreads();
    if (p0 + threadIdx.x < parts) sums[p0 + threadIdx.x] = own[threadIdx.x];
}
