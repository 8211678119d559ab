"""A kernel whose tunable `passes` makes it as slow as wanted, so that which configuration wins is never close."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

SOURCE = """\
__global__ void scale(float *y, const float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int pass = 0; pass < 64 * passes; pass++) {
        if (i < n) ((volatile float *)y)[i] = 2.0f * x[i];
    }
}
"""
SLOW_TO_COMPILE = (
    """\
constexpr unsigned long sum(unsigned long n) { unsigned long s = 0; while (n) s += n-- % 7; return s; }
template <int K> struct Sums { static constexpr unsigned long value = sum(200000 + K) + Sums<K - 1>::value; };
template <> struct Sums<0> { static constexpr unsigned long value = 0; };
#if passes < 400
static_assert(Sums<850>::value > 0);
#endif
"""
    + SOURCE
)
"""Takes a compiler most of a minute, except with the default configuration."""
PROBLEM = """\
[kernel]
source = "scale.cu"
name = "scale"

[sizes]
n = 128

[launch]
problem_size = ["n"]

[[arguments]]
name = "y"
dtype = "float32"
shape = ["n"]
output = true

[[arguments]]
name = "x"
dtype = "float32"
shape = ["n"]

[[arguments]]
name = "n"
dtype = "int32"
value = "n"

[tunables]
block_size_x = [64]
passes = [400, 40, 4]

[defaults]
block_size_x = 64
passes = 400
"""


def write_kernel(directory: Path, *, source: str = SOURCE, tests: Sequence[int] = (), **tunables: list[int]) -> Path:
    """`scale.cu` and its problem file; the first value of each tunable is its default.

    Args:
        tests: values of n; without any, a model is asked for some.
    """
    directory.mkdir(exist_ok=True)
    values = {"block_size_x": [64], "passes": [400, 40, 4], **tunables}
    head = PROBLEM.partition("[tunables]")[0]
    lines = [f"{name} = {choice}" for name, choice in values.items()]
    defaults = [f"{name} = {choice[0]}" for name, choice in values.items()]
    tested = [f"\n[[tests]]\nsizes = {{ n = {n} }}" for n in tests]
    text = [f"{head}[tunables]", *lines, "", "[defaults]", *defaults, *tested, ""]
    (directory / "scale.toml").write_text("\n".join(text))
    kernel = directory / "scale.cu"
    kernel.write_text(source)
    return kernel


def rewrite(
    *,
    code: str = SOURCE,
    block_size: tuple[int, ...] = (64, 128),
    passes: tuple[int, ...],
    summary: str = "Fewer passes.",
) -> str:
    """What a model would answer where a kernel is wanted: by default the same with other passes."""
    return json.dumps(
        {
            "summary": summary,
            "code": code,
            "tunables": [
                {"name": "block_size_x", "values": [*block_size], "default": block_size[0]},
                {"name": "passes", "values": [*passes], "default": passes[0]},
            ],
            "restrictions": [],
            "block_size": ["block_size_x"],
            "grid_div_x": ["block_size_x"],
            "grid_div_y": [],
            "grid_div_z": [],
            "grid": [],
            "shared_memory": "0",
        }
    )
