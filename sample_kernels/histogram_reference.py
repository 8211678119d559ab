"""What histogram.cu computes, in NumPy."""

import numpy as np


def histogram(data, counts, n):
    return counts + np.bincount(data, minlength=256)
