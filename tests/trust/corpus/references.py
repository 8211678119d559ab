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


def layer_norm(y, x, columns):
    apart = x - x.mean(axis=1, keepdims=True)
    return apart / np.sqrt((apart**2).mean(axis=1, keepdims=True) + 1e-5)


def dot(out, x, y, n):
    return out + (x * y).sum()


def places_of_maxima(place, x, columns):
    return x.argmax(axis=1).astype(np.int32)
