"""The kernels of the scripted session: a naive matrix multiply and two rewrites of it."""

NAIVE = """// C = A * B for n x n matrices in row order.
__global__ void matmul(float *C, const float *A, const float *B, int n) {
    int x = blockIdx.x * block_size_x + threadIdx.x;
    int y = blockIdx.y * block_size_y + threadIdx.y;
    if (x >= n || y >= n) {
        return;
    }
    float sum = 0.0f;
    for (int k = 0; k < n; k++) {
        sum += A[y * n + k] * B[k * n + x];
    }
    C[y * n + x] = sum;
}
"""

TILED = """// C = A * B for n x n matrices in row order, tiled through shared memory.
__global__ void matmul(float *C, const float *A, const float *B, int n) {
    __shared__ float sA[block_size_y][block_size_x];
    __shared__ float sB[block_size_y][block_size_x];
    int x = blockIdx.x * block_size_x + threadIdx.x;
    int y = blockIdx.y * block_size_y + threadIdx.y;
    float sum = 0.0f;
    for (int t = 0; t < n; t += block_size_x) {
        sA[threadIdx.y][threadIdx.x] = A[y * n + t + threadIdx.x];
        sB[threadIdx.y][threadIdx.x] = B[(t + threadIdx.y) * n + x];
        __syncthreads();
        for (int k = 0; k < block_size_x; k++) {
            sum += sA[threadIdx.y][k] * sB[k][threadIdx.x];
        }
        __syncthreads();
    }
    C[y * n + x] = sum;
}
"""

VECTORISED = TILED.replace(
    "        sA[threadIdx.y][threadIdx.x] = A[y * n + t + threadIdx.x];\n",
    "        float4 a = reinterpret_cast<const float4 *>(A)[(y * n + t) / 4 + threadIdx.x];\n"
    "        sA[threadIdx.y][4 * threadIdx.x + 0] = a.x;\n"
    "        sA[threadIdx.y][4 * threadIdx.x + 1] = a.y;\n"
    "        sA[threadIdx.y][4 * threadIdx.x + 2] = a.z;\n"
    "        sA[threadIdx.y][4 * threadIdx.x + 3] = a.w;\n",
)
