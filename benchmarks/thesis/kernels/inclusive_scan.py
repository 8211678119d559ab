"""What inclusive_scan.cu computes, in NumPy and with torch."""


def inclusive_scan(input, output, rows, columns):
    return input.cumsum(axis=1)


def torch_inclusive_scan(input, output, rows, columns):
    import torch

    torch.cumsum(input, 1, out=output)
