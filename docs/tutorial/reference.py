import numpy as np


def rms_norm(x, weight, rows, columns, **_):
    table = x.reshape(rows, columns).astype(np.float64)
    scale = np.sqrt(np.mean(table**2, axis=1, keepdims=True) + 1e-6)
    return {"out": (table / scale * weight).astype(np.float32).ravel()}
