// y = transpose(A) * x on the CPU, A of rows x columns, row-major. Walks down TILE columns of A at a time.

#ifndef TILE
#define TILE 1
#endif

void matvec(const float *A, const float *x, float *y, int rows, int columns)
{
    for (int first = 0; first < columns; first += TILE) {
        int last = first + TILE < columns ? first + TILE : columns;
        for (int j = first; j < last; j++) {
            y[j] = 0.0f;
        }
        for (int i = 0; i < rows; i++) {
            for (int j = first; j < last; j++) {
                y[j] += A[(long)i * columns + j] * x[i];
            }
        }
    }
}
