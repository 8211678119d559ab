from __future__ import annotations

import asyncio

import pytest

from tui_tuner.app.drafting import _amended, assumptions, confirmed
from tui_tuner.app.named import problem_of
from tui_tuner.errors import ProblemError, SettingsError
from tui_tuner.problem.drafted_sizes import Amendments
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

OPTIONS = SessionOptions(device="emulator")
COLOURS = """\
#include "screen.h"
#define WIDTH 96
struct Screen { int *pixels; };
__global__ void dream(Screen *screen, int n) { for (;;) { for (;;) nowhere(screen); } }
__global__ void paint(unsigned char *to, const float *from)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    for (int c = 0; c < 4; c++) to[4 * (y * WIDTH + x) + c] = c == 3 ? 255 : x + y + c + from[x];
}
int main()
{
    dream<<<1, 1>>>(0, 3);
    Screen screen(WIDTH);
    dim3 blocks(WIDTH / 16, WIDTH / 16), threads(16, 16);
    paint<<<blocks, threads>>>(screen.pixels(), screen.colours());
}
"""


def drafted(file):
    return asyncio.run(confirmed(problem_of(file), OPTIONS, Settings()))


def test_a_draft_is_run_amended_and_of_the_first_kernel_that_builds(tmp_path):
    file = tmp_path / "colours.cu"
    file.write_text(COLOURS)
    written = drafted(file)
    shapes = {one.name: one.shape for one in written.problem.arguments}
    assert written.problem.kernel.name == "paint"
    assert written.problem.launch.problem_size == ["96", "96"]
    assert shapes["to"] == ["36864"]
    told = "\n".join(assumptions(written))
    assert "run on the emulator as given at its only size" in told
    assert "as in dream" in told


def test_what_a_kernel_lacks_is_named_with_what_to_write(tmp_path):
    file = tmp_path / "lacking.cu"
    file.write_text(
        '#include "ours.h"\n__global__ void k(number *to, int n) { if (threadIdx.x < n) to[threadIdx.x] = n; }\n'
        "int main() { k<<<1, 32>>>(0, 32); }\n"
    )
    with pytest.raises(ProblemError, match=r"number is not known; not found: ours\.h") as caught:
        drafted(file)
    assert 'compiler_options = ["-I' in caught.value.hint
    assert f"tuner-tui init {file} --kernel k" in caught.value.hint


@pytest.fixture
def problem(tmp_path):
    file = tmp_path / "scale.cu"
    file.write_text(
        "__global__ void k(float *to, const float *from, int n, int m) { if (n) to[threadIdx.x] = from[m]; }\n"
    )
    return problem_of(file).problem.model_copy(update={"sizes": {"n": 100, "m": 30}})


@pytest.mark.parametrize(
    ("reason", "amendments"),
    [
        ("touched memory 0 bytes past the end of argument 2 (block", Amendments(shapes={"from": "2 * n * m"})),
        ("leaves 3 of 9 elements of 'to' unwritten", Amendments(filled=frozenset({"to"}))),
        ("no element of 'to' is a finite number", Amendments(filled=frozenset({"to"}))),
        ("time-out: did not end within 10 s", Amendments(halvings=2)),
        ("touched memory 999999999999 bytes past the end of argument 2 (block", None),
        ("a kernel that computes nothing would pass the check of 'to'", None),
    ],
)
def test_what_running_a_draft_says_amends_it(problem, reason, amendments):
    assert _amended(Amendments(), reason, problem) == amendments


def test_another_file_with_the_hosts_code_is_read_for_a_draft_only(tmp_path):
    file, host = tmp_path / "scale.cu", tmp_path / "main.cpp"
    file.write_text("__global__ void k(float *to, int n) { if (threadIdx.x < n) to[threadIdx.x] = n; }\n")
    host.write_text("int main() { int count = 70000; k<<<(count + 127) / 128, 128>>>(out, count); }\n")
    written = problem_of(file, host=host)
    assert (written.problem.sizes, written.problem.defaults) == ({"n": 70000}, {"block_size_x": 128})
    assert f"--host {host}" in next(assumptions(written))
    file.with_suffix(".toml").write_text(written.text)
    with pytest.raises(SettingsError, match="has a problem file"):
        problem_of(file, host=host)
