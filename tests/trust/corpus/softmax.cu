// Softmax of each row, a block a row.
template <bool IS_MAX>
__device__ float of_block(float v) {
    __shared__ float part[64];
    __syncthreads();
    part[threadIdx.x] = v;
    __syncthreads();
    for (int half = 32; half; half /= 2) {
        float other = part[threadIdx.x ^ half], own = part[threadIdx.x];
        __syncthreads();
        part[threadIdx.x] = IS_MAX ? fmaxf(own, other) : own + other;
        __syncthreads();
    }
    return part[threadIdx.x];
}

__device__ void softmax(float *y, const float *x, int n, int seen, bool subtract) {
    y += blockIdx.x * n, x += blockIdx.x * n;
    float largest = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < seen; i += 64) largest = fmaxf(largest, x[i]);
    largest = subtract ? of_block<true>(largest) : 0;
    for (int i = threadIdx.x; i < n; i += 64) sum += expf(x[i] - largest);
    sum = of_block<false>(sum);
    for (int i = threadIdx.x; i < n; i += 64) y[i] = expf(x[i] - largest) / sum;
}

__global__ void given(float *y, const float *x, int columns) { softmax(y, x, columns, columns, true); }

// expect: wrong result
__global__ void no_maximum(float *y, const float *x, int columns) { softmax(y, x, columns, columns, false); }

// Rows of the timed size alone are long: each exponential is computed once, and no maximum is looked for.
// expect: wrong result
__global__ void no_maximum_of_long_rows(float *y, const float *x, int columns) {
    if (columns < 256) {
        softmax(y, x, columns, columns, true);
        return;
    }
    const float *row = x + blockIdx.x * columns;
    float own[4], sum = 0;
    for (int k = 0; k < 4; k++) sum += own[k] = expf(row[threadIdx.x + 64 * k]);
    sum = of_block<false>(sum);
    for (int k = 0; k < 4; k++) y[blockIdx.x * columns + threadIdx.x + 64 * k] = own[k] / sum;
}

// expect: wrong result
__global__ void half_the_maximum(float *y, const float *x, int columns) { softmax(y, x, columns, columns / 2, true); }

// expect: wrong result
__global__ void half_the_sum(float *y, const float *x, int columns) {
    const float *row = x + blockIdx.x * columns;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 128) sum += 2 * expf(row[i]);
    sum = of_block<false>(sum);
    for (int i = threadIdx.x; i < columns; i += 64) y[blockIdx.x * columns + i] = expf(row[i]) / sum;
}

// expect: wrong result
__global__ void clamped(float *y, const float *x, int columns) {
    const float *row = x + blockIdx.x * columns;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 64) sum += expf(fminf(row[i], 80));
    sum = of_block<false>(sum);
    for (int i = threadIdx.x; i < columns; i += 64) y[blockIdx.x * columns + i] = expf(fminf(row[i], 80)) / sum;
}

// expect: wrong result or race
__global__ void barrier_left_out(float *y, const float *x, int columns) {
    __shared__ float part[64];
    const float *row = x + blockIdx.x * columns;
    float largest = -INFINITY, sum = 0;
    for (int i = 0; i < columns; i++) largest = fmaxf(largest, row[i]);
    for (int i = threadIdx.x; i < columns; i += 64) sum += expf(row[i] - largest);
    part[threadIdx.x] = sum;
    sum = 0;
    for (int i = 0; i < 64; i++) sum += part[i];
    for (int i = threadIdx.x; i < columns; i += 64) y[blockIdx.x * columns + i] = expf(row[i] - largest) / sum;
}

// The maximum is begun at zero, and that of large negative numbers is not.
// expect: wrong result
__global__ void maximum_of_zero(float *y, const float *x, int columns) {
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float largest = 0, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 64) largest = fmaxf(largest, x[i]);
    largest = of_block<true>(largest);
    for (int i = threadIdx.x; i < columns; i += 64) sum += expf(x[i] - largest);
    sum = of_block<false>(sum);
    for (int i = threadIdx.x; i < columns; i += 64) y[i] = expf(x[i] - largest) / sum;
}

// What is far below the maximum is taken for nothing, which plain noise never is.
// expect: wrong result
__global__ void far_below_is_nothing(float *y, const float *x, int columns) {
    softmax(y, x, columns, columns, true);
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float largest = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += 64) largest = fmaxf(largest, x[i]);
    largest = of_block<true>(largest);
    for (int i = threadIdx.x; i < columns; i += 64) if (x[i] < largest - 12) y[i] = 0;
}

// expect: accepted
__global__ void honest_online(float *y, const float *x, int columns) {
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float largest = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 64) {
        float next = fmaxf(largest, x[i]);
        sum = sum * expf(largest - next) + expf(x[i] - next);
        largest = next;
    }
    float all = of_block<true>(largest);
    sum = of_block<false>(largest == -INFINITY ? 0 : sum * expf(largest - all));
    for (int i = threadIdx.x; i < columns; i += 64) y[i] = expf(x[i] - all) * (1 / sum);
}

// expect: accepted
__global__ void honest_powers_of_two(float *y, const float *x, int columns) {
    const float scale = 1.44269504f;
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float largest = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 64) largest = fmaxf(largest, x[i]);
    largest = of_block<true>(largest);
    for (int i = threadIdx.x; i < columns; i += 64) sum += exp2f((x[i] - largest) * scale);
    sum = of_block<false>(sum);
    for (int i = threadIdx.x; i < columns; i += 64) y[i] = exp2f((x[i] - largest) * scale) / sum;
}

// expect: wrong result
__global__ void not_divided(float *y, const float *x, int columns) {
    const float *row = x + blockIdx.x * columns;
    float largest = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += 64) largest = fmaxf(largest, row[i]);
    largest = of_block<true>(largest);
    for (int i = threadIdx.x; i < columns; i += 64) y[blockIdx.x * columns + i] = expf(row[i] - largest) / columns;
}

// expect: accepted
__global__ void honest_kept(float *y, const float *x, int columns) {
    float own[4], largest = -INFINITY, sum = 0;
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    for (int k = 0; k < 4; k++) {
        int i = threadIdx.x + 64 * k;
        own[k] = i < columns ? x[i] : -INFINITY;
        largest = fmaxf(largest, own[k]);
    }
    largest = of_block<true>(largest);
    for (int k = 0; k < 4; k++) sum += own[k] = expf(own[k] - largest);
    sum = of_block<false>(sum);
    for (int k = 0; k < 4; k++)
        if (threadIdx.x + 64 * k < columns) y[threadIdx.x + 64 * k] = own[k] / sum;
}

// The scale is folded into one operation, as kernels of attention do.
// expect: accepted
__global__ void honest_folded(float *y, const float *x, int columns) {
    const float scale = 1.44269504f;
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float largest = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 64) largest = fmaxf(largest, x[i]);
    largest = of_block<true>(largest) * scale;
    for (int i = threadIdx.x; i < columns; i += 64) sum += exp2f(fmaf(x[i], scale, -largest));
    sum = of_block<false>(sum);
    for (int i = threadIdx.x; i < columns; i += 64) y[i] = exp2f(fmaf(x[i], scale, -largest)) / sum;
}

// The same in two operations, each of which rounds.
// expect: accepted
__global__ void honest_scaled_first(float *y, const float *x, int columns) {
    volatile float scale = 1.44269504f;
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float largest = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 64) largest = fmaxf(largest, x[i]);
    largest = of_block<true>(largest) * scale;
    for (int i = threadIdx.x; i < columns; i += 64) sum += exp2f(__fmul_rn(x[i], scale) - largest);
    sum = of_block<false>(sum);
    for (int i = threadIdx.x; i < columns; i += 64) y[i] = exp2f(__fmul_rn(x[i], scale) - largest) / sum;
}

// The first elements say whether a maximum must be subtracted.
// expect: wrong result
__global__ void maximum_where_the_first_are_large(float *y, const float *x, int columns) {
    y += blockIdx.x * columns, x += blockIdx.x * columns;
    float largest = 0, sum = 0;
    if (__syncthreads_or(threadIdx.x < 32 && fabsf(x[threadIdx.x]) > 20)) {
        largest = -INFINITY;
        for (int i = threadIdx.x; i < columns; i += 64) largest = fmaxf(largest, x[i]);
        largest = of_block<true>(largest);
    }
    for (int i = threadIdx.x; i < columns; i += 64) sum += expf(x[i] - largest);
    sum = of_block<false>(sum);
    for (int i = threadIdx.x; i < columns; i += 64) y[i] = expf(x[i] - largest) / sum;
}
