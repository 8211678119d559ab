"""256-bin histogram of byte-valued data (uint8 or int32 storage), written in Triton and launched here.

tuner-tui hist256.py
"""

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

NUM_BINS = 256


@triton.jit
def histogram_kernel(data_ptr, hist_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    values = tl.load(data_ptr + offsets, mask=mask, other=0).to(tl.int32)
    ones = tl.full([BLOCK_SIZE], 1, dtype=tl.int32)
    tl.atomic_add(hist_ptr + values, ones, mask=mask)


def histogram(data: torch.Tensor) -> torch.Tensor:
    """Values must lie in [0, 256)."""
    if not data.is_cuda or data.dtype not in (torch.uint8, torch.int32):
        raise ValueError("a CUDA tensor of uint8 or int32 is needed")
    data = data.contiguous().view(-1)
    n = data.numel()
    hist = torch.zeros(NUM_BINS, dtype=torch.int32, device=data.device)
    histogram_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)](data, hist, n, BLOCK_SIZE=256)
    return hist


@dataclass
class Case:
    name: str
    n: int
    dtype: torch.dtype
    skewed: bool = False

    def make(self) -> torch.Tensor:
        if self.skewed:
            # image-like: most values round the middle
            x = torch.randn(self.n, device="cuda") * 20 + 128
            return x.clamp_(0, 255).to(self.dtype)
        return torch.randint(0, NUM_BINS, (self.n,), device="cuda", dtype=self.dtype)


CASES = [
    Case("tiny", 1013, torch.uint8),
    Case("uniform-u8", 6_000_011, torch.uint8),
    Case("uniform-i32", 6_000_011, torch.int32),
    Case("image-u8", 6_000_011, torch.uint8, skewed=True),
]


def main() -> None:
    torch.manual_seed(0)
    for case in CASES:
        data = case.make()
        got = histogram(data)
        want = torch.bincount(data.to(torch.int64), minlength=NUM_BINS)
        if not torch.equal(got.to(torch.int64), want):
            bad = (got.to(torch.int64) != want).nonzero().flatten().tolist()
            raise AssertionError(f"{case.name}: wrong counts in bins {bad[:8]}")


if __name__ == "__main__":
    main()
