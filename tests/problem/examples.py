"""A small problem that is right, to be spoilt by the tests."""

from __future__ import annotations

from pathlib import Path

from tui_tuner.problem.draft.amendments import NO_AMENDMENTS, Amendments
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.model import Problem

KERNEL = """\
#define unused 3
__global__ void scale(float *out, const float *in, float factor, int n) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) out[i] = factor * in[i];
}
"""

PROBLEM = """\
[kernel]
source = "scale.cu"
name = "scale"

[sizes]
n = 4096

[launch]
problem_size = ["n"]
grid_div_x = ["block_size_x"]

[[arguments]]
name = "out"
dtype = "float32"
shape = ["n"]
output = true

[[arguments]]
name = "in"
dtype = "float32"
shape = ["n"]

[[arguments]]
name = "factor"
dtype = "float32"
value = 1.5

[[arguments]]
name = "n"
dtype = "int32"
value = "n"

[tunables]
block_size_x = [32, 64, 128]
unroll = [1, 2]

[defaults]
unroll = 1

[search]
restrictions = ["block_size_x % unroll == 0"]

[work]
flops = "n"
bytes = "2 * 4 * n"

[[tests]]
sizes = { n = 1000 }

[emulator]
sizes = { n = 256 }
tests = [{ sizes = { n = 100 } }]
"""


def write(directory: Path, problem: str = PROBLEM, kernel: str = KERNEL) -> Path:
    """Write problem and kernel; the path of the problem file."""
    (directory / "scale.cu").write_text(kernel)
    file = directory / "scale.toml"
    file.write_text(problem)
    return file


def drafted(tmp_path: Path, source: str, amendments: Amendments = NO_AMENDMENTS) -> tuple[Problem, str]:
    """The problem that is drafted for the kernel of a source, and its text."""
    kernel = tmp_path / "kernel.cu"
    kernel.write_text(source)
    text = scaffold(kernel, None, amendments)
    kernel.with_suffix(".toml").write_text(text)
    return load_problem(kernel), text
