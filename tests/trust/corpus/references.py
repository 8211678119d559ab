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


def transposed(y, x, rows, columns):
    return x.T


def sorted_rows(y, x, columns):
    return np.sort(x, axis=1)


def sums_so_far(y, x, n):
    return np.cumsum(x)


def scaled_product(c, a, b, of_row, of_column, n, depth):
    return (a.astype(np.int64) @ b.astype(np.int64).T) * of_row[:, None] * of_column


def row_starts(rows, entries, random):
    inner = entries * random.random(rows - 1) ** 2  # many rows are short or empty, and some are long
    return np.sort(np.append(inner.astype(np.int32), [0, entries])).astype(np.int32)


def sparse_product(y, starts, places, values, x, rows, columns):
    return np.bincount(np.repeat(np.arange(rows), np.diff(starts)), values * x[places], minlength=rows)


def fourier(y, x, n):
    whole = np.fft.fft(x[..., 0] + 1j * x[..., 1], axis=1)
    return np.stack([whole.real, whole.imag], axis=-1)


def convolved(y, x, mask, height, width):
    wide = np.pad(x, 2)
    return sum(wide[k // 5 : k // 5 + height, k % 5 : k % 5 + width] * mask[k] for k in range(25))


def largest_four(y, x, columns):
    return -np.sort(-x, axis=1)[:, :4]


def variance(y, x, columns):
    return x.var(axis=1)


def positive_matrices(m, k, random):
    a = random.standard_normal((m, k, k))
    return (a @ a.transpose(0, 2, 1) + k * np.eye(k)).astype(np.float32)


def cholesky(lower, a, m, k):
    return np.linalg.cholesky(a)


def quantised(y, scale, x, columns):
    most = np.abs(x).max(axis=1)
    s = np.where(most > 0, most / 127, 1)
    return np.rint(x / s[:, None]).astype(np.int8), s


def medians(y, x, n):
    p = np.pad(x, 1, mode="edge")
    return np.median(np.stack([p[:-2], p[1:-1], p[2:]]), axis=0)


def gradient(g, index, d, rows, n, width):
    g = np.array(g)
    np.add.at(g, index, d)
    return g


def column_sums(s, x, rows, columns):
    return s + x.sum(axis=0)


def largest_eight(y, x, columns):
    return -np.sort(-x, axis=1)[:, :8]


def group_norm(y, rstd, x, eps, length):
    deviation = 1 / np.sqrt(x.var(axis=1) + np.float32(eps))
    return {"y": (x - x.mean(axis=1, keepdims=True)) * deviation[:, None], "rstd": deviation}


def scattered(index, value, y, n):
    return y + np.bincount(index, value, len(y))


def rms_norm(y, x, r, w, n, eps):
    both = x + r
    return both / np.sqrt(np.square(both).mean(1, keepdims=True) + eps) * w


def fp8_product(c, a, b, n, k, scale):
    return a @ b.T * scale


def row_quantise(q, s, x, n, bound, least):
    """Not rounded to 8 bits: what each number is to be next to."""
    scale = np.clip(np.abs(x).max(1), np.float32(least), np.float32(bound)) / 448
    return np.clip(x / scale[:, None], -448, 448), scale


def least_and_place(least, place, x, n):
    return x.min(keepdims=True), np.array([x.argmin()], np.int32)


def powers_less_one(y, x, n):
    return np.expm1(x)


def weights_of_keys(y, key, weight, n):
    _, of = np.unique(key, return_inverse=True)
    return np.bincount(of, weight)[of]
