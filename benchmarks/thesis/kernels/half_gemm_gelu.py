"""What half_gemm_gelu.cu computes, in NumPy, and with cuBLAS by way of torch and a kernel of torch behind it."""

import numpy as np


def half_gemm_gelu(A, B, bias, C, m, n, k):
    x = A @ B + bias
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def torch_half_gemm_gelu(A, B, bias, C, m, n, k):
    import torch

    return torch.nn.functional.gelu(torch.addmm(bias, A, B), approximate="tanh")
