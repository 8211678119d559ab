// The step of k-means that gives each point the nearest centroid, of equally near ones the first. Coordinates are whole
// numbers below 256 and dims is at most 64, so every distance is exact, in any order of additions. One point a thread.

__global__ void assign_clusters(const float *points, const float *centroids, int *labels, int n, int clusters, int dims)
{
    int point = blockIdx.x * blockDim.x + threadIdx.x;
    if (point < n) {
        float least = 3.402823466e+38f;
        int nearest = 0;
        for (int cluster = 0; cluster < clusters; cluster++) {
            float distance = 0.0f;
            for (int d = 0; d < dims; d++) {
                float difference = points[point * dims + d] - centroids[cluster * dims + d];
                distance += difference * difference;
            }
            if (distance < least) {
                least = distance;
                nearest = cluster;
            }
        }
        labels[point] = nearest;
    }
}
