"""Matrix multiplication in half precision, written in Helion: C = A B, accumulated in single precision.

tuner-tui matmul_helion.py
"""

import helion
import helion.language as hl
import torch

SIZE = 2048


@helion.kernel(static_shapes=True)
def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    m, k = a.size()
    k, n = b.size()
    c = torch.empty([m, n], dtype=a.dtype, device=a.device)
    for tile_m, tile_n in hl.tile([m, n]):
        sums = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            sums = torch.addmm(sums, a[tile_m, tile_k], b[tile_k, tile_n])
        c[tile_m, tile_n] = sums.to(a.dtype)
    return c


def arguments():
    return tuple(torch.randn(SIZE, SIZE, dtype=torch.float16, device="cuda") for _ in range(2))


def reference(a, b):
    return a.float() @ b.float()
