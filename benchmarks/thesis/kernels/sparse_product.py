"""What sparse_product.cu computes, in NumPy and with cuSPARSE by way of torch, and the rows of its matrix."""

import numpy as np


def sparse_product(row_starts, columns, values, x, y, rows):
    row_of = np.repeat(np.arange(rows), np.diff(row_starts))
    return np.bincount(row_of, values * x[columns], minlength=rows)


def torch_sparse_product(row_starts, columns, values, x, y, rows):
    import torch

    return torch.sparse_csr_tensor(row_starts, columns, values, (rows, x.numel())) @ x


def row_starts(rows, nnz, random):
    shares = np.arange(1, rows + 1) ** (-2 / 3)  # few rows are long, as in the graph of a network
    ends = np.rint(np.cumsum(random.permutation(shares / shares.sum())) * nnz)
    ends[-1] = nnz
    return np.concatenate([[0], ends]).astype(np.int32)
