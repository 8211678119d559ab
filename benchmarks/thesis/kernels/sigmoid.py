"""What sigmoid.cu computes, in NumPy and with torch."""

import numpy as np


def sigmoid(x, y, n):
    with np.errstate(over="ignore"):  # of a very negative number it is 0
        return 1 / (1 + np.exp(-x))


def torch_sigmoid(x, y, n):
    import torch

    torch.sigmoid(x, out=y)
