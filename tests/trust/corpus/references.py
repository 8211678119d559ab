import numpy as np


def total(out, x, n):
    return out + x.sum()


def softmax(y, x, columns):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def product(c, a, b, n):
    return a @ b


def counts(bins, x, n):
    return bins + np.bincount(x, minlength=64).astype(np.uint32)


def prefix_sums(y, x, columns):
    return np.cumsum(x, axis=1)
