"""What layer_norm.cu computes, in NumPy and with torch."""

import numpy as np


def layer_norm(x, weight, bias, y, rows, columns, epsilon):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + epsilon) * weight + bias


def torch_layer_norm(x, weight, bias, y, rows, columns, epsilon):
    import torch

    return torch.nn.functional.layer_norm(x, (columns,), weight, bias, epsilon)
