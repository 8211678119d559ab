"""What of a long file a model is shown."""

from __future__ import annotations

from tui_tuner.problem.signature import find_kernel
from tui_tuner.strategies.shown_text import shown_of

OTHERS = "".join(f"static const float other_{n} = {n};  // {'.' * 60}\n" for n in range(400))
KERNEL = """\
__global__ void wanted(float *to,
                       const float *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = doubled(from[i]);
}
"""
CALLED = "__device__ float doubled(float x)\n{\n    return 2 * x;  // what it calls\n}\n"
HOST = "void run(float *a, float *b)\n{\n    int n = 12345;\n    wanted<<<n / 64, 64>>>(a, b, n);\n}\n"


def test_of_a_long_file_a_model_sees_the_kernel_its_launch_and_what_it_calls() -> None:
    source = "// the beginning\n" + OTHERS + CALLED + OTHERS + KERNEL + OTHERS + HOST + OTHERS
    shown = shown_of(source, find_kernel(source, "cuda", "wanted"))
    assert len(shown) < 25_000 < len(source)
    for part in (KERNEL, CALLED, HOST, "// the beginning"):
        assert part in shown
    assert shown.count("[... left out ...]") >= 3


def test_a_short_file_is_shown_whole() -> None:
    source = CALLED + KERNEL + HOST
    assert shown_of(source, find_kernel(source, "cuda", "wanted")) == source.strip()


def test_of_a_long_file_that_does_not_name_the_kernel_the_beginning_is_shown() -> None:
    shown = shown_of(OTHERS, find_kernel(KERNEL, "cuda", "wanted"))
    assert OTHERS.startswith(shown[: shown.index("[... left out")])
