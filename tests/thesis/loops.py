"""What the kernels of benchmarks/thesis compute, element by element over flat lists in plain Python.

Written apart from the references, which are array operations of NumPy.
"""

from __future__ import annotations

import math
import struct
from collections import Counter


def half(value):
    """Rounded to half precision."""
    return struct.unpack("e", struct.pack("e", value))[0]


def single(value):
    """Rounded to single precision."""
    return struct.unpack("f", struct.pack("f", value))[0]


def dot(left, right):
    return math.fsum(a * b for a, b in zip(left, right, strict=True))


def product(A, B):
    return [dot(row, column) for row in A for column in zip(*B, strict=True)]


def matrix_add(A, B, C, rows, columns):
    return [A[r][c] + B[r][c] for r in range(rows) for c in range(columns)]


def matrix_multiply(A, B, C, m, n, k):
    return product(A, B)


def matrix_transpose(input, output, rows, columns):
    return [input[r][c] for c in range(columns) for r in range(rows)]


def sigmoid(x, y, n):
    return [0.5 * (1 + math.tanh(each / 2)) for each in x]


def assign_clusters(points, centroids, labels, n, clusters, dims):
    return [min(range(clusters), key=lambda c: (math.dist(point, centroids[c]), c)) for point in points]


def mandelbrot(steps, width, height, limit, left, top, spacing):
    def escaped(c):
        z = 0j
        for step in range(limit):
            if single(single(z.real * z.real) + single(z.imag * z.imag)) > 4:
                return step
            real = single(single(single(z.real * z.real) - single(z.imag * z.imag)) + c.real)
            z = complex(real, single(single(single(2 * z.real) * z.imag) + c.imag))
        return limit

    def coordinate(start, index):
        return single(start + single(index * spacing))

    return [escaped(complex(coordinate(left, i), coordinate(top, j))) for j in range(height) for i in range(width)]


def game_of_life(cells, next, rows, columns):
    around = Counter()
    living = {(r, c) for r in range(rows) for c in range(columns) if cells[r][c]}
    for r, c in living:
        around.update({((r + i) % rows, (c + j) % columns) for i in (-1, 0, 1) for j in (-1, 0, 1)} - {(r, c)})
    born = {cell for cell, count in around.items() if count == 3 or (count == 2 and cell in living)}
    return [int((r, c) in born) for r in range(rows) for c in range(columns)]


def verlet_integration(positions, velocities, stiffness, field, new_positions, new_velocities, dt, n):
    moved, speeds = [], []
    for position, velocity, spring in zip(positions, velocities, stiffness, strict=True):
        for x, v, g in zip(position, velocity, field, strict=True):
            halfway = v + dt / 2 * (g - spring * x)
            moved.append(x + dt * halfway)
            speeds.append(halfway + dt / 2 * (g - spring * moved[-1]))
    return moved, speeds


def layer_norm(x, weight, bias, y, rows, columns, epsilon):
    result = []
    for row in x:
        mean = math.fsum(row) / columns
        spread = math.sqrt(math.fsum(each * each for each in row) / columns - mean * mean + epsilon)
        result += [(each - mean) / spread * w + b for each, w, b in zip(row, weight, bias, strict=True)]
    return result


def rms_norm_residual(x, weight, residual, y, rows, columns, epsilon):
    kept = [[half(a + b) for a, b in zip(one, other, strict=True)] for one, other in zip(x, residual, strict=True)]
    sizes = [math.hypot(*row, math.sqrt(columns * epsilon)) / math.sqrt(columns) for row in kept]
    return [each for row in kept for each in row], [
        each / size * w for row, size in zip(kept, sizes, strict=True) for each, w in zip(row, weight, strict=True)
    ]


def inclusive_scan(input, output, rows, columns):
    return [math.fsum(row[: end + 1]) for row in input for end in range(columns)]


def histogram(keys, counts, n, bins):
    return [counts[key] + keys.count(key) for key in range(bins)]


def stencil_3d(input, coefficients, output, nx, ny, nz):
    def point(z, y, x):
        near = [coefficients[0] * input[z][y][x]]
        for distance, coefficient in enumerate(coefficients[1:], start=1):
            for by in (-distance, distance):
                near += [coefficient * each for each in (input[z + by][y][x], input[z][y + by][x], input[z][y][x + by])]
        return math.fsum(near)

    return [point(z + 4, y + 4, x + 4) for z in range(nz) for y in range(ny) for x in range(nx)]


def sparse_product(row_starts, columns, values, x, y, rows):
    return [
        math.fsum(values[place] * x[columns[place]] for place in range(row_starts[row], row_starts[row + 1]))
        for row in range(rows)
    ]


def attention(Q, K, V, output, queries, keys):
    result = []
    for query in Q:
        weights = [math.exp(dot(query, key) / math.sqrt(64)) for key in K]
        result += [dot(weights, column) / math.fsum(weights) for column in zip(*V, strict=True)]
    return result


def top_k(input, largest, rows, columns, k):
    return [each for row in input for each in sorted(row, reverse=True)[:k]]


def int8_gemm(A, B, row_scales, column_scales, C, m, n, k):
    return [dot(A[i], B[j]) * row_scales[i] * column_scales[j] for i in range(m) for j in range(n)]


def half_gemm(A, B, C, m, n, k):
    return product(A, B)


def half_gemm_gelu(A, B, bias, C, m, n, k):
    def gelu(x):
        return x / (1 + math.exp(-2 * 0.7978845608 * (x + 0.044715 * x**3)))

    return [gelu(x + bias[place % n]) for place, x in enumerate(product(A, B))]


def depthwise_convolution(input, filters, output, images, channels, height, width):
    def element(image, channel, y, x):
        total = 0.0
        for row in range(height):
            for column in range(width):
                j, i = row - y + 3, column - x + 3
                if 0 <= j < 7 and 0 <= i < 7:
                    total += input[image][channel][row][column] * filters[channel][j][i]
        return total

    return [
        element(image, channel, y, x)
        for image in range(images)
        for channel in range(channels)
        for y in range(height)
        for x in range(width)
    ]
