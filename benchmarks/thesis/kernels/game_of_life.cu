// One generation of Conway's game of life on a torus; a living cell is 1, a dead one 0. One cell a thread.

__global__ void game_of_life(const unsigned char *cells, unsigned char *next, int rows, int columns)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        int neighbours = 0;
        for (int dy = -1; dy <= 1; dy++) {
            for (int dx = -1; dx <= 1; dx++) {
                if (dx != 0 || dy != 0) {
                    int y = (row + dy + rows) % rows;
                    int x = (column + dx + columns) % columns;
                    neighbours += cells[y * columns + x];
                }
            }
        }
        unsigned char alive = cells[row * columns + column];
        next[row * columns + column] = neighbours == 3 || (alive && neighbours == 2);
    }
}
