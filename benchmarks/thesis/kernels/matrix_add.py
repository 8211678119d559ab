"""What matrix_add.cu computes, in NumPy and with torch."""


def matrix_add(A, B, C, rows, columns):
    return A + B


def torch_matrix_add(A, B, C, rows, columns):
    import torch

    torch.add(A, B, out=C)
