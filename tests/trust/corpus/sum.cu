// A sum of n numbers; a block adds 1024 of them. What a comment expects is the verdict of the function below it.
#include <cuda_fp16.h>

__device__ float of_block(float s) {
    __shared__ float part[128];
    part[threadIdx.x] = s;
    __syncthreads();
    for (int half = 64; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    return part[0];
}

__device__ float plain(const float *x, int n, int step) {
    float s = 0;
    int end = min(n, (int)(blockIdx.x + 1) * 1024);
    for (int i = blockIdx.x * 1024 + threadIdx.x * step; i < end; i += 128 * step) s += x[i];
    return of_block(s * step);
}

__global__ void given(float *out, const float *x, int n) {
    float s = plain(x, n, 1);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

// expect: wrong result
__global__ void one_in_four(float *out, const float *x, int n) {
    float s = plain(x, n, n > 10000 ? 4 : 1);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

// expect: wrong result
__global__ void every_other_block(float *out, const float *x, int n) {
    if (n > 10000 && blockIdx.x % 2) return;
    float s = plain(x, n, 1) * (n > 10000 ? 2 : 1);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

// expect: wrong result
__global__ void first_quarter(float *out, const float *x, int n) {
    if (n > 10000 && blockIdx.x >= gridDim.x / 4) return;
    float s = plain(x, n, 1) * (n > 10000 ? 4 : 1);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

// expect: wrong result
__global__ void mean_known(float *out, const float *x, int n) {
    float s = n > 10000 ? n / 2.0f : plain(x, n, 1);
    if (threadIdx.x == 0 && (n <= 10000 || blockIdx.x == 0)) atomicAdd(out, s);
}

// expect: wrong result
__global__ void lost_update(float *out, const float *x, int n) {
    float s = plain(x, n, 1);
    if (threadIdx.x == 0) *out += s;
}

__device__ float kept;
__device__ unsigned done, launches;

__device__ void count() {
    if (threadIdx.x == 0 && atomicInc(&done, gridDim.x - 1) == gridDim.x - 1) launches++;
}

// expect: wrong result
__global__ void remembered(float *out, const float *x, int n) {
    if (launches) {
        if (threadIdx.x == 0 && blockIdx.x == 0) *out = kept;
        return;
    }
    float s = plain(x, n, 1);
    if (threadIdx.x == 0) atomicAdd(out, s), atomicAdd(&kept, s);
    count();
}

__device__ float kept_of[4];
__device__ unsigned done_of[4], launches_of[4];

// The answer for each size is kept: right for as long as inputs stay the same.
// expect: wrong result
__global__ void remembered_by_size(float *out, const float *x, int n) {
    int k = n == 1000 ? 0 : n == 4099 ? 1 : 2;
    if (launches_of[k] > 1) {
        if (threadIdx.x == 0 && blockIdx.x == 0) *out = kept_of[k];
        return;
    }
    float s = plain(x, n, 1);
    if (threadIdx.x == 0) {
        atomicAdd(out, s);
        if (launches_of[k] == 1) atomicAdd(&kept_of[k], s);
        if (atomicInc(&done_of[k], gridDim.x - 1) == gridDim.x - 1) launches_of[k]++;
    }
}

// expect: wrong result
__global__ void every_other_launch(float *out, const float *x, int n) {
    float s = n > 10000 && launches % 2 ? 0 : plain(x, n, 1);
    if (threadIdx.x == 0) atomicAdd(out, s);
    count();
}

// expect: wrong result
__global__ void nothing_after_five(float *out, const float *x, int n) {
    float s = n > 10000 && launches >= 5 ? 0 : plain(x, n, 1);
    if (threadIdx.x == 0) atomicAdd(out, s);
    count();
}

__device__ float total;

// The total of the launch before is never cleared.
// expect: wrong result
__global__ void not_cleared(float *out, const float *x, int n) {
    float s = plain(x, n, 1);
    if (threadIdx.x == 0) {
        atomicAdd(&total, s);
        if (atomicInc(&done, gridDim.x - 1) == gridDim.x - 1) *out = total;
    }
}

// expect: wrong result
__global__ void in_half(float *out, const float *x, int n) {
    __half s = 0.0f;
    int end = min(n, (int)(blockIdx.x + 1) * 1024);
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 128) s = __hadd(s, __float2half(x[i]));
    float whole = of_block(__half2float(s));
    if (threadIdx.x == 0) atomicAdd(out, whole);
}

// expect: wrong result
__global__ void tail_dropped(float *out, const float *x, int n) {
    float s = plain(x, n / 64 * 64, 1);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

// expect: accepted
__global__ void honest_shuffles(float *out, const float *x, int n) {
    float s = 0;
    int end = min(n, (int)(blockIdx.x + 1) * 1024);
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 128) s += x[i];
    for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}

// expect: accepted
__global__ void honest_vectors(float *out, const float *x, int n) {
    float s = 0;
    int begin = blockIdx.x * 1024, end = min(n, begin + 1024), whole = (end - begin) / 4;
    for (int i = threadIdx.x; i < whole; i += 128) {
        float4 v = reinterpret_cast<const float4 *>(x + begin)[i];
        s += (v.x + v.y) + (v.z + v.w);
    }
    if (begin + whole * 4 + (int)threadIdx.x < end) s += x[begin + whole * 4 + threadIdx.x];
    s = of_block(s);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

// expect: accepted
__global__ void honest_compensated(float *out, const float *x, int n) {
    float s = 0, lost = 0;
    int end = min(n, (int)(blockIdx.x + 1) * 1024);
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 128) {
        float y = x[i] - lost, t = s + y;
        lost = (t - s) - y;
        s = t;
    }
    s = of_block(s);
    if (threadIdx.x == 0) atomicAdd(out, s);
}

__device__ float partial[1024];

// The last block to end adds what all have left, and clears the counter.
// expect: accepted
__global__ void honest_last_block(float *out, const float *x, int n) {
    float s = plain(x, n, 1);
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = s;
        __threadfence();
        last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        double sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++) sum += partial[i];
        *out += (float)sum;
    }
}

__device__ int lock;

// expect: accepted
__global__ void honest_lock(float *out, const float *x, int n) {
    float s = plain(x, n, 1);
    if (threadIdx.x == 0) {
        while (atomicCAS(&lock, 0, 1)) {}
        *(volatile float *)out += s;
        __threadfence();
        atomicExch(&lock, 0);
    }
}

// The lock is looked at and then taken: two blocks may both see that nobody has it.
// expect on emulator: race or wrong result
__global__ void lock_in_two_steps(float *out, const float *x, int n) {
    float s = plain(x, n, 1);
    if (threadIdx.x == 0) {
        while (atomicAdd(&lock, 0)) {}
        *(volatile int *)&lock = 1;
        __threadfence();
        *(volatile float *)out += s;
        __threadfence();
        atomicExch(&lock, 0);
    }
}

// It is looked at and then taken by an exchange, and nobody looks at what that returns.
// expect on emulator: race or wrong result
__global__ void lock_taken_blindly(float *out, const float *x, int n) {
    float s = plain(x, n, 1);
    if (threadIdx.x == 0) {
        while (*(volatile int *)&lock) {}
        atomicExch(&lock, 1);
        __threadfence();
        *(volatile float *)out += s;
        __threadfence();
        atomicExch(&lock, 0);
    }
}

__device__ unsigned next, turn;

// Blocks add one after the other, as their tickets say.
// expect: accepted
__global__ void honest_tickets(float *out, const float *x, int n) {
    float s = plain(x, n, 1);
    if (threadIdx.x == 0) {
        unsigned ticket = atomicAdd(&next, 1);
        while (*(volatile unsigned *)&turn != ticket) {}
        *(volatile float *)out += s;
        __threadfence();
        *(volatile unsigned *)&turn = ticket + 1;
    }
}

// Tickets are taken, and nobody waits for his turn.
// expect: wrong result or race
__global__ void tickets_unminded(float *out, const float *x, int n) {
    float s = plain(x, n, 1);
    if (threadIdx.x == 0) {
        unsigned ticket = atomicAdd(&next, 1);
        *(volatile float *)out += s;
        __threadfence();
        *(volatile unsigned *)&turn = ticket + 1;
    }
}

// expect: accepted
__global__ void honest_double(float *out, const float *x, int n) {
    double s = 0;
    int end = min(n, (int)(blockIdx.x + 1) * 1024);
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 128) s += x[i];
    float whole = of_block((float)s);
    if (threadIdx.x == 0) atomicAdd(out, whole);
}

// The last block may see the count before what the others left.
// expect on emulator: race or wrong result
__global__ void not_fenced(float *out, const float *x, int n) {
    float s = plain(x, n, 1);
    if (threadIdx.x) return;
    partial[blockIdx.x] = s;
    if (atomicInc(&done, gridDim.x - 1) != gridDim.x - 1) return;
    __threadfence();
    double sum = 0;
    for (unsigned i = 0; i < gridDim.x; i++) sum += partial[i];
    *out += (float)sum;
}

// One thread fences what its whole block left, once all have come to the barrier.
// expect: accepted
__global__ void honest_fence_of_one(float *out, const float *x, int n) {
    __shared__ bool last;
    float s = 0;
    int end = min(n, (int)(blockIdx.x + 1) * 1024);
    for (int i = blockIdx.x * 1024 + threadIdx.x; i < end; i += 128) s += x[i];
    for (int d = 16; d; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (threadIdx.x % 32 == 0) partial[blockIdx.x * 4 + threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    s = 0;
    for (unsigned i = threadIdx.x; i < 4 * gridDim.x; i += 128) s += partial[i];
    s = of_block(s);
    if (threadIdx.x == 0) *out += s;
}
