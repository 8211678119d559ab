// The k largest elements of each row, the largest first; k is at most 32 and not more than columns. One row a thread,
// which inserts into its own list.

__global__ void top_k(const float *input, float *largest, int rows, int columns, int k)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float *list = largest + row * k;
        for (int i = 0; i < k; i++) {
            list[i] = -INFINITY;
        }
        for (int column = 0; column < columns; column++) {
            float value = input[(size_t)row * columns + column];
            if (value > list[k - 1]) {
                int place = k - 1;
                while (place > 0 && value > list[place - 1]) {
                    list[place] = list[place - 1];
                    place--;
                }
                list[place] = value;
            }
        }
    }
}
