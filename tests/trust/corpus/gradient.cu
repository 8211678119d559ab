// The gradient of a table of rows that were looked up: what belongs to a row is added to it.
#define ARGS float *g, const int *index, const float *d, int rows, int n, int width

__global__ void given(float *g, const int *index, const float *d, int rows, int n, int width) {
    int i = blockIdx.x, t = threadIdx.x;
    if (t < width) atomicAdd(&g[index[i] * width + t], d[i * width + t]);
}

// No two threads of a block meet, but blocks do.
// expect: race or wrong result
__global__ void no_atomics(ARGS) {
    int i = blockIdx.x, t = threadIdx.x;
    if (t < width) g[index[i] * width + t] += d[i * width + t];
}

// expect: wrong result
__global__ void equal_neighbours_once(ARGS) {
    int i = blockIdx.x, t = threadIdx.x;
    if (t < width && (i == 0 || index[i] != index[i - 1])) atomicAdd(&g[index[i] * width + t], d[i * width + t]);
}

// Each block has rows of its own and looks through all that was looked up.
// expect: accepted
__global__ void honest_by_rows(ARGS) {
    int t = threadIdx.x;
    if (t >= width) return;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        float s = 0;
        for (int i = 0; i < n; i++) if (index[i] == r) s += d[i * width + t];
        g[r * width + t] = s;
    }
}

// Who is the first with its row adds all of the others too.
// expect: accepted
__global__ void honest_first_adds_all(ARGS) {
    int i = blockIdx.x, t = threadIdx.x, r = index[i];
    for (int j = 0; j < i; j++) if (index[j] == r) return;
    if (t >= width) return;
    float s = 0, lost = 0;
    for (int j = i; j < n; j++) {
        if (index[j] != r) continue;
        float y = d[j * width + t] - lost, sum = s + y;
        lost = sum - s - y, s = sum;
    }
    g[r * width + t] += s;
}
