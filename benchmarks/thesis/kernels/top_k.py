"""What top_k.cu computes, in NumPy and with torch."""

import numpy as np


def top_k(input, largest, rows, columns, k):
    return -np.sort(np.partition(-input, k - 1, axis=1)[:, :k], axis=1)


def torch_top_k(input, largest, rows, columns, k):
    import torch

    return torch.topk(input, k, dim=1).values
