"""What attention.cu computes, in NumPy and with torch."""

import numpy as np


def attention(Q, K, V, output, queries, keys):
    scores = Q @ K.T / 8
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights @ V / weights.sum(axis=1, keepdims=True)


def torch_attention(Q, K, V, output, queries, keys):
    import torch

    heads = (each.view(1, 1, -1, 64) for each in (Q, K, V))
    return torch.nn.functional.scaled_dot_product_attention(*heads).view(queries, 64)
