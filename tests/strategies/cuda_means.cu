// Every CUDA means that a default step or the prompt for a rewrite names, used once. Compiled, never run.

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
#include <type_traits>

#define num_stages 3
#define tile_size_x 256
#define min_blocks_per_sm 3
#define loop_unroll_factor 4

using namespace nvcuda;

extern __shared__ float tiles[];

__global__ void async_copy(float *y, const float *__restrict__ x, int count)
{
    for (int next = 0; next < num_stages - 1; next++) {
        __pipeline_memcpy_async(&tiles[next * tile_size_x + 4 * threadIdx.x], &x[next * tile_size_x + 4 * threadIdx.x], 16);
        __pipeline_commit();
    }
    float sum = 0.0f;
    for (int tile = 0; tile < count; tile++) {
        __pipeline_wait_prior(num_stages - 2);
        __syncthreads();
        int next = tile + num_stages - 1;
        if (next < count) {
            float *slot = &tiles[next % num_stages * tile_size_x + 4 * threadIdx.x];
            __pipeline_memcpy_async(slot, &x[next * tile_size_x + 4 * threadIdx.x], 16);
        }
        __pipeline_commit();
        sum += tiles[tile % num_stages * tile_size_x + threadIdx.x];
    }
    y[threadIdx.x] = sum;
}

__global__ void async_copy_in_ptx(float *y, const float *x)
{
    __shared__ __align__(16) float tile[128];
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[4 * threadIdx.x]));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(&x[4 * threadIdx.x]) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x];
}

template <typename Result, typename Element, int M, int N, int K, typename Fragment = Element>
__device__ void multiply(Result *c, const Element *a, const Element *b)
{
    wmma::fragment<wmma::matrix_a, M, N, K, Fragment, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, M, N, K, Fragment, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, M, N, K, Result> sum;
    wmma::fill_fragment(sum, Result(0));
    wmma::load_matrix_sync(left, a, K);
    wmma::load_matrix_sync(right, b, N);
    if constexpr (!std::is_same<Fragment, Element>::value) {
        for (int i = 0; i < left.num_elements; i++) {
            left.x[i] = wmma::__float_to_tf32(left.x[i]);
        }
        for (int i = 0; i < right.num_elements; i++) {
            right.x[i] = wmma::__float_to_tf32(right.x[i]);
        }
    }
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, N, wmma::mem_row_major);
}

__global__ void tensor_cores(float *c, double *d, int *e, const half *a, const __nv_bfloat16 *b, const signed char *i,
                             const double *x, const float *f)
{
    nvcuda::wmma::fragment<wmma::accumulator, 16, 16, 16, half> unused;
    wmma::fill_fragment(unused, half(0.0f));
    multiply<float, half, 16, 16, 16>(c, a, a + 256);
    multiply<float, __nv_bfloat16, 16, 16, 16>(c + 256, b, b + 256);
    multiply<int, signed char, 16, 16, 16>(e, i, i + 256);
    multiply<double, double, 8, 8, 4>(d, x, x + 32);
    multiply<float, float, 16, 16, 8, wmma::precision::tf32>(c + 512, f, f + 128);
}

__global__ void tensor_cores_in_ptx(float *c, const unsigned *a, const unsigned *b)
{
    float d[4] = {};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    c[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

__global__ void __launch_bounds__(256, min_blocks_per_sm) warp_reduction(float *y, const float *x)
{
    float value = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffff, value, offset);
    }
    y[threadIdx.x] = __shfl_xor_sync(0xffffffff, value, 1);
}

__global__ void vectorized_loads(float4 *y, const float *x, const int4 *i, const double *d, const half *h)
{
    float4 four = __ldg(reinterpret_cast<const float4 *>(x) + threadIdx.x);
    double2 two = reinterpret_cast<const double2 *>(d)[threadIdx.x];
    uint4 halves = reinterpret_cast<const uint4 *>(h)[threadIdx.x];
    y[threadIdx.x] = make_float4(four.x + i[threadIdx.x].x, four.y, float(two.x), __half2float(h[halves.x]));
}

__global__ void loop_unrolling(float *y, const float *x, int n)
{
    float sum = 0.0f;
    int i = 0;
    for (; i + loop_unroll_factor <= n; i += loop_unroll_factor) {
#pragma unroll
        for (int j = 0; j < loop_unroll_factor; j++) {
            sum += x[(i + j) * 64 + threadIdx.x];
        }
    }
    for (; i < n; i++) {
        sum += x[i * 64 + threadIdx.x];
    }
    y[threadIdx.x] = sum;
}

#if __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(2, 1, 1) cluster(float *y)
{
    __shared__ float value;
    auto blocks = cooperative_groups::this_cluster();
    if (threadIdx.x == 0) {
        value = blockIdx.x;
    }
    blocks.sync();
    y[blockIdx.x] = *blocks.map_shared_rank(&value, blocks.block_rank() ^ 1);
    blocks.sync();
}

__global__ void bulk_copy(float *y, const float *x)
{
    __shared__ __align__(16) float tile[128];
    __shared__ __align__(8) unsigned long long barrier;
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile));
    unsigned on = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(on));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(on) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];" ::"r"(to),
                     "l"(x), "r"(on)
                     : "memory");
    }
    __syncthreads();
    asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @p bra D; bra W; D: }" ::"r"(on)
                 : "memory");
    y[threadIdx.x] = tile[threadIdx.x];
}
#endif

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
__device__ __align__(128) unsigned char maps[132 * 128];

__global__ void tensor_map(float *y, const float *x, int inner, int outer)
{
    __shared__ __align__(1024) float tile[64 * 32];
    __shared__ __align__(128) unsigned char draft[128];
    __shared__ __align__(8) unsigned long long barrier;
    unsigned char *map = maps + blockIdx.x * 128;
    unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(tile));
    unsigned in = static_cast<unsigned>(__cvta_generic_to_shared(draft));
    unsigned on = static_cast<unsigned>(__cvta_generic_to_shared(&barrier));
    if (threadIdx.x == 0) {
        for (int i = 0; i < 128; i++) {
            draft[i] = 0;
        }
        asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(in), "l"(x) : "memory");
        asm volatile("tensormap.replace.tile.rank.shared::cta.b1024.b32 [%0], 1;" ::"r"(in) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0, 32;" ::"r"(in) : "memory");
        asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 1, 64;" ::"r"(in) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(in), "r"(inner) : "memory");
        asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(in), "r"(outer) : "memory");
        asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(in), "l"(inner * 4ull) : "memory");
        asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%0], 0, 1;" ::"r"(in) : "memory");
        asm volatile("tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%0], 1, 1;" ::"r"(in) : "memory");
        asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 7;" ::"r"(in) : "memory");
        asm volatile("tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%0], 0;" ::"r"(in) : "memory");
        asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 3;" ::"r"(in) : "memory");
        asm volatile("tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%0], 0;" ::"r"(in) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(on) : "memory");
    }
    __syncwarp();
    if (threadIdx.x < 32) {
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(map),
                     "r"(in)
                     : "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 8192;" ::"r"(on) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                     "l"(map), "r"(0), "r"(blockIdx.x * 64), "r"(on)
                     : "memory");
        asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(on) : "memory");
    }
    y[threadIdx.x] = tile[threadIdx.x];
}
#endif
