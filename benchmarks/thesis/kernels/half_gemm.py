"""What half_gemm.cu computes, in NumPy and with cuBLAS by way of torch."""


def half_gemm(A, B, C, m, n, k):
    return A @ B


def torch_half_gemm(A, B, C, m, n, k):
    import torch

    torch.mm(A, B, out=C)
