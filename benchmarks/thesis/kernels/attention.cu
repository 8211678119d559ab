// Attention of one head: softmax(Q * transpose(K) / sqrt(HEAD)) * V, with rows of HEAD elements in half precision and
// sums in single precision; weights may be rounded to half precision before they meet V, as is usual. One query a
// thread, once over the keys for the maximum and once for the sums.

#include <cuda_fp16.h>

#define HEAD 64

__device__ float score(const float *query, const half *key)
{
    float sum = 0.0f;
    for (int d = 0; d < HEAD; d++) {
        sum += query[d] * __half2float(key[d]);
    }
    return sum * 0.125f;  // 1 / sqrt(HEAD)
}

__global__ void attention(const half *Q, const half *K, const half *V, half *output, int queries, int keys)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < queries) {
        float query[HEAD];
        float sums[HEAD];
        for (int d = 0; d < HEAD; d++) {
            query[d] = __half2float(Q[row * HEAD + d]);
            sums[d] = 0.0f;
        }
        float largest = -3.402823466e+38f;
        for (int key = 0; key < keys; key++) {
            largest = fmaxf(largest, score(query, K + key * HEAD));
        }
        float weights = 0.0f;
        for (int key = 0; key < keys; key++) {
            float weight = expf(score(query, K + key * HEAD) - largest);
            weights += weight;
            for (int d = 0; d < HEAD; d++) {
                sums[d] += weight * __half2float(V[key * HEAD + d]);
            }
        }
        for (int d = 0; d < HEAD; d++) {
            output[row * HEAD + d] = __float2half(sums[d] / weights);
        }
    }
}
