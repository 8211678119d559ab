"""What depthwise_convolution.cu computes, in NumPy and with cuDNN by way of torch."""

import numpy as np

SIDE = 7


def depthwise_convolution(input, filters, output, images, channels, height, width):
    margin = SIDE // 2
    padded = np.pad(input, ((0, 0), (0, 0), (margin, margin), (margin, margin)))
    total = np.zeros(input.shape)
    for j in range(SIDE):
        for i in range(SIDE):
            total += padded[:, :, j : j + height, i : i + width] * filters[None, :, j, i, None, None]
    return total


def torch_depthwise_convolution(input, filters, output, images, channels, height, width):
    import torch

    torch.backends.cudnn.allow_tf32 = False  # it is by default, and would not be right
    return torch.nn.functional.conv2d(input, filters[:, None], padding=SIDE // 2, groups=channels)
