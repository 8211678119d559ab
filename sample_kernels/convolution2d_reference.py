"""What convolution2d.cu computes, in NumPy."""

import numpy as np


def convolution2d(input, filter, output, height, width):  # noqa: A002 - the names of the kernel's arguments
    result = np.zeros((height, width))
    for (i, j), weight in np.ndenumerate(filter):
        result += weight * input[i : i + height, j : j + width]
    return result
