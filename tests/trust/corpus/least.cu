// The least of n numbers that are not negative, and the first place where it is. One block finds both in shared memory.
__device__ void least_of(const float *x, int n, unsigned *least, int *place) {
    if (threadIdx.x == 0) *least = 0x7f800000, *place = n;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 128) atomicMin(least, __float_as_uint(x[i]));
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += 128) if (__float_as_uint(x[i]) == *least) atomicMin(place, i);
    __syncthreads();
}

#define FIND                                  \
    __shared__ unsigned bits;                 \
    __shared__ int at;                        \
    if (blockIdx.x) return;                   \
    least_of(x, n, &bits, &at);               \
    if (threadIdx.x) return

__global__ void given(float *least, int *place, const float *x, int n) {
    FIND;
    *least = __uint_as_float(bits), *place = at;
}

// Nobody sets the outputs: NaN has larger bits than any number.
// expect: wrong result
__global__ void begun_with_the_poison(float *least, int *place, const float *x, int n) {
    FIND;
    atomicMin((unsigned *)least, bits), *place = at;
}

// expect: wrong result
__global__ void beside_what_is_there(float *least, int *place, const float *x, int n) {
    FIND;
    *least = fminf(*least, __uint_as_float(bits)), *place = at;
}

// What is poison of whole numbers is below all places, and above them without a sign.
// expect: wrong result
__global__ void place_above_the_poison(float *least, int *place, const float *x, int n) {
    FIND;
    *least = __uint_as_float(bits), atomicMax(place, at);
}

// expect: wrong result
__global__ void place_below_the_poison(float *least, int *place, const float *x, int n) {
    FIND;
    *least = __uint_as_float(bits), atomicMin((unsigned *)place, (unsigned)at);
}

// expect: accepted
__global__ void honest_key(float *least, int *place, const float *x, int n) {
    __shared__ unsigned long long best;
    if (blockIdx.x) return;
    if (threadIdx.x == 0) best = ~0ull;
    __syncthreads();
    unsigned long long own = ~0ull;
    for (int i = threadIdx.x; i < n; i += 128) own = min(own, (unsigned long long)__float_as_uint(x[i]) << 32 | i);
    atomicMin(&best, own);
    __syncthreads();
    if (threadIdx.x == 0) *least = __uint_as_float(best >> 32), *place = (int)(unsigned)best;
}
