// Each group less its mean, over its deviation, which is told as well. A block a group.
__device__ float total(float v) {
    __shared__ float part[128];
    __syncthreads();
    part[threadIdx.x] = v;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    return part[0];
}

__device__ float sum(const float *x, int length) {
    float s = 0;
    for (int i = threadIdx.x; i < length; i += 128) s += x[i];
    return total(s);
}

__device__ float squares(const float *x, int length, float mean) {
    float s = 0;
    for (int i = threadIdx.x; i < length; i += 128) s += (x[i] - mean) * (x[i] - mean);
    return total(s);
}

__device__ void store(float *y, float *rstd, const float *x, int length, float mean, float r) {
    for (int i = threadIdx.x; i < length; i += 128) y[blockIdx.x * length + i] = (x[i] - mean) * r;
    if (threadIdx.x == 0) rstd[blockIdx.x] = r;
}

__global__ void given(float *y, float *rstd, const float *x, float eps, int length) {
    x += blockIdx.x * length;
    float mean = sum(x, length) / length;
    store(y, rstd, x, length, mean, 1 / sqrtf(squares(x, length, mean) / length + eps));
}

// The eps that it is called with today.
// expect: wrong result
__global__ void eps_of_its_own(float *y, float *rstd, const float *x, float eps, int length) {
    x += blockIdx.x * length;
    float mean = sum(x, length) / length;
    store(y, rstd, x, length, mean, 1 / sqrtf(squares(x, length, mean) / length + 1e-5f));
}

// Half of a group tells its deviation, where it is long.
// expect: wrong result
__global__ void half_tells(float *y, float *rstd, const float *x, float eps, int length) {
    x += blockIdx.x * length;
    float mean = sum(x, length) / length;
    int told = length > 300 ? length / 2 : length;
    store(y, rstd, x, length, mean, 1 / sqrtf(squares(x, told, mean) / told + eps));
}

// The mean comes of a product, so that what is left of equal numbers is rounding.
// expect: accepted
__global__ void honest_inverse(float *y, float *rstd, const float *x, float eps, int length) {
    x += blockIdx.x * length;
    float one = 1.0f / length, mean = sum(x, length) * one;
    store(y, rstd, x, length, mean, rsqrtf(squares(x, length, mean) * one + eps));
}
