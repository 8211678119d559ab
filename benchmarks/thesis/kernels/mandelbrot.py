"""What mandelbrot.cu computes, in NumPy, operation by operation: a pixel on the edge shows how each was rounded."""

import numpy as np

F = np.float32


def mandelbrot(steps, width, height, limit, left, top, spacing):
    real = np.tile(F(left) + np.arange(width, dtype=F) * F(spacing), height)
    imaginary = np.repeat(F(top) + np.arange(height, dtype=F) * F(spacing), width)
    taken = np.zeros(width * height, np.int32)
    pixels = np.arange(width * height)
    x = y = np.zeros(width * height, F)
    for _ in range(limit):
        inside = x * x + y * y <= F(4)
        pixels, real, imaginary, x, y = (each[inside] for each in (pixels, real, imaginary, x, y))
        x, y = x * x - y * y + real, F(2) * x * y + imaginary
        taken[pixels] += 1
    return taken.reshape(height, width)
