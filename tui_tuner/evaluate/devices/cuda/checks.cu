// What is checked on the device after a launch has ended: outputs, guards and inputs. Only a few numbers come back.
// The same decisions as tui_tuner/evaluate/tolerance.py takes, operation by operation, in double precision.

typedef unsigned long long u64;

#define THREADS 256
#define LARGEST 1.7976931348623157e308
#define TINY 1.1754943508222875e-38

// The numbers of a comparison, in this order; a "first" is a flat index, all ones where there is none.
enum { WORST, OFF, FIRST_OFF, NAN_DIFFERS, FIRST_NAN, INFINITE, FIRST_INFINITE };

__device__ double as_double(double value) { return value; }

__device__ double as_double(float value) { return value; }

// The bits of a type narrower than single precision: exact in double precision. Without infinities all numbers of the
// largest exponent are finite, but for the last, which is none.
template <typename Bits, int EXPONENT, int FRACTION, bool INFINITIES> struct Narrow {
    Bits bits;
};

template <typename Bits, int EXPONENT, int FRACTION, bool INFINITIES>
__device__ double as_double(Narrow<Bits, EXPONENT, FRACTION, INFINITIES> narrow) {
    const int all = (1 << EXPONENT) - 1, fractions = 1 << FRACTION, bias = all / 2;
    int exponent = narrow.bits >> FRACTION & all, fraction = narrow.bits & fractions - 1;
    double size;
    if (exponent == all && (INFINITIES || fraction == fractions - 1)) {
        bool is_nan = !INFINITIES || fraction;
        size = __longlong_as_double(is_nan ? 0x7ff8000000000000LL : 0x7ff0000000000000LL);
    } else {
        int least = exponent ? exponent : 1;  // subnormal ones have no leading one
        size = __longlong_as_double((long long)(least - bias + 1023) << 52);
        size *= (exponent != 0) + (double)fraction / fractions;
    }
    return narrow.bits >> (EXPONENT + FRACTION) & 1 ? -size : size;
}

typedef float float32;
typedef Narrow<unsigned short, 5, 10, true> float16;
typedef Narrow<unsigned short, 8, 7, true> bfloat16;
typedef Narrow<unsigned char, 4, 3, false> float8_e4m3fn;
typedef Narrow<unsigned char, 5, 2, true> float8_e5m2;

__device__ void count(u64 *numbers, int kind, u64 found, u64 first) {
    if (found) {
        atomicAdd(numbers + kind, found);
        atomicMin(numbers + kind + 1, first);
    }
}

template <typename T, typename Expected>
__device__ void tally(const T *got, const Expected *expected, u64 elements, double absolute, double relative,
                      u64 *numbers) {
    u64 off = 0, nan = 0, infinite = 0, first_off = ~0ULL, first_nan = ~0ULL, first_infinite = ~0ULL;
    double worst = 0;
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < elements; i += stride) {
        double one = as_double(got[i]), right = as_double(expected[i]);
        bool is_nan = one != one, is_infinite = fabs(one) > LARGEST;
        if (is_nan != (right != right)) {
            if (!nan++) first_nan = i;
        } else if (is_nan) {
            continue;
        } else if (fabs(right) > LARGEST || is_infinite) {
            if (one != right && !infinite++) first_infinite = i;
        } else {
            double allowed = __dadd_rn(__dadd_rn(absolute, __dmul_rn(relative, fabs(right))), TINY);
            double share = __ddiv_rn(fabs(__dsub_rn(one, right)), allowed);
            worst = share > worst ? share : worst;
            if (share > 1 && !off++) first_off = i;
        }
    }
    __shared__ double largest[THREADS];
    largest[threadIdx.x] = worst;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half && largest[threadIdx.x + half] > largest[threadIdx.x])
            largest[threadIdx.x] = largest[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicMax(numbers + WORST, (u64)__double_as_longlong(largest[0]));
    count(numbers, OFF, off, first_off);
    count(numbers, NAN_DIFFERS, nan, first_nan);
    count(numbers, INFINITE, infinite, first_infinite);
}

template <typename T> __device__ void differences(const T *got, const T *expected, u64 elements, u64 *numbers) {
    u64 off = 0, first = ~0ULL;
    u64 stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < elements; i += stride)
        if (got[i] != expected[i] && !off++) first = i;
    count(numbers, OFF, off, first);
}

#define TALLY(name, T, Expected)                                                                                  \
    extern "C" __global__ void name(const T *got, const Expected *expected, u64 elements, double absolute,        \
                                    double relative, u64 *numbers) {                                              \
        tally<T, Expected>(got, expected, elements, absolute, relative, numbers);                                 \
    }

#define DIFFERENCES(name, T)                                                                                 \
    extern "C" __global__ void name(const T *got, const T *expected, u64 elements, double, double, u64 *numbers) { \
        differences<T>(got, expected, elements, numbers);                                                    \
    }

TALLY(tally_float64, double, double)
#define TALLIES(T)         \
    TALLY(tally_##T, T, T) \
    TALLY(tally_##T##_in_double, T, double)
TALLIES(float32)
TALLIES(float16)
TALLIES(bfloat16)
TALLIES(float8_e4m3fn)
TALLIES(float8_e5m2)

struct Truth {
    unsigned char byte;
    __device__ bool operator!=(Truth other) const { return !byte != !other.byte; }
};

DIFFERENCES(differences_bool, Truth)
DIFFERENCES(differences_1, unsigned char)
DIFFERENCES(differences_2, unsigned short)
DIFFERENCES(differences_4, unsigned int)
DIFFERENCES(differences_8, u64)

__device__ u64 mixed(u64 word) {  // the finaliser of splitmix64
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
    word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
    return word ^ word >> 31;
}

// A keyed sum over 8-byte words that tells whether memory has changed; `numbers[0]` begins at 0.
extern "C" __global__ void digest(const unsigned char *bytes, u64 count, u64 key, u64 *numbers) {
    __shared__ u64 sums[THREADS];
    u64 sum = 0, words = (count + 7) / 8, stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < words; i += stride) {
        u64 word = 0;
        if (8 * i + 8 <= count) {
            word = ((const u64 *)bytes)[i];
        } else {
            for (u64 byte = 8 * i; byte < count; byte++) word = word << 8 | bytes[byte];
        }
        sum += mixed(word ^ mixed(key + i));
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(numbers, sums[0]);
}

// Where bytes differ from a 16-bit pattern that begins at `bytes`: numbers[0] the first place and numbers[1] one more
// than the last; they begin at all ones and 0.
extern "C" __global__ void damage(const unsigned char *bytes, u64 count, unsigned pattern, u64 *numbers) {
    u64 first = ~0ULL, behind = 0, stride = (u64)gridDim.x * THREADS;
    for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count; i += stride) {
        if (bytes[i] != (unsigned char)(pattern >> (i % 2 ? 8 : 0))) {
            if (first == ~0ULL) first = i;
            behind = i + 1;
        }
    }
    if (behind) {
        atomicMin(numbers, first);
        atomicMax(numbers + 1, behind);
    }
}
