from __future__ import annotations

import asyncio
import json
import math
import re
import threading
from dataclasses import replace

import pytest

from tui_tuner.api import prepare
from tui_tuner.app.amending import Amending
from tui_tuner.app.assumptions import assumptions
from tui_tuner.app.draft_by_model import AskedModel, Tried, by_model, to_draft
from tui_tuner.app.drafting import as_begun, confirmed
from tui_tuner.app.first_draft import Doing, Unloaded, draft_of, off_the_loop
from tui_tuner.app.named import problem_of
from tui_tuner.app.needed import amended_for, needed
from tui_tuner.app.sessions import new_session, time_taken, what_is_left
from tui_tuner.errors import ProblemError, SettingsError
from tui_tuner.evaluate.given_fault import GivenFault, GivenFaultKind
from tui_tuner.evaluate.trials import TrialResult
from tui_tuner.llm import Chunk, Stop, Usage
from tui_tuner.problem.draft.amendments import Amendments
from tui_tuner.problem.draft.arithmetic.worked_out import extents_of
from tui_tuner.problem.inputs import shape_of
from tui_tuner.problem.load import problem_in_text
from tui_tuner.session.run_directory import create, open_run
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.strategies.draft_reply import DraftReply
from tui_tuner.strategies.propose_problem import facts_of, faults_of

OPTIONS = SessionOptions(device="emulator")


def fault_of(kind: GivenFaultKind, argument: str = "", nbytes: int = 0) -> GivenFault:
    return GivenFault(message=f"it {kind}: {argument}", kind=kind, argument=argument, nbytes=nbytes)


LATE, RACY = fault_of(GivenFaultKind.LATE), fault_of(GivenFaultKind.RACY)
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_takes_long_for_a_draft_is_told_until_it_is_there(tmp_path, monkeypatch):
    monkeypatch.setattr("tui_tuner.app.first_draft._TOLD_EACH_S", 0.01)
    file = tmp_path / "colours.cu"
    file.write_text(COLOURS)
    told = []
    asyncio.run(confirmed(problem_of(file), OPTIONS, Settings(), tell=told.append))
    assert told[-1] == "still at it: running paint to see whether its draft holds"


def test_a_script_beside_a_kernel_that_tunes_it_is_told_where_no_host_was_given(tmp_path):
    file, script = tmp_path / "add.cu", tmp_path / "tune.py"
    file.write_text(
        "__global__ void add(float *x, int n) { int i = blockIdx.x * 64 + threadIdx.x; if (i < n) x[i] += 1; }"
    )
    (tmp_path / "other.py").write_text("tune_kernel('add', 'my_add.cu', 4096, [], {})\n")
    (tmp_path / "binary.py").write_bytes(b"\xff")
    told = f"script      tune.py tunes it; to take over what it says: --host {script}"
    assert told not in "\n".join(assumptions(draft_of(file, None)))
    script.write_text(
        "from kernel_tuner import tune_kernel\ntune_kernel('add', './add.cu', 4096, [], {'tile': [1, 2]})\n"
    )
    assert told in "\n".join(assumptions(draft_of(file, None)))
    assert told not in "\n".join(assumptions(draft_of(file, None, script)))


def test_a_launch_in_a_comment_is_no_host_and_no_file_is_its_own(tmp_path):
    file, host = tmp_path / "add.cu", tmp_path / "main.cpp"
    launch = "add<<<(n + 63) / 64, 64>>>(x, n);"
    file.write_text(
        f"// {launch}\n__global__ void add(float *x, int n) {{ int i = blockIdx.x * 64 + threadIdx.x;"
        f" if (i < n) x[i] += 1; }}\n#define RUN {launch}\n"
    )
    host.write_text(f"// {launch}\n/* as {launch} */\nint main() {{ return 0; }}\n")
    assert "\n  host " not in "\n".join(assumptions(draft_of(file, None)))
    host.write_text(f"int main() {{ {launch} }}\n")
    assert f"--host {host}" in "\n".join(assumptions(draft_of(file, None)))


def test_a_script_of_cupy_beside_a_kernel_is_told_to_launch_it(tmp_path):
    file, script = tmp_path / "add.cu", tmp_path / "run.py"
    file.write_text("__global__ void add(float *x) { x[threadIdx.x] += 1; }")
    script.write_text("import cupy as cp\nadd = cp.RawKernel(open('add.cu').read(), 'add')\nx = cp.ones(64, 'f')\n")
    told = "\n".join(assumptions(draft_of(file, None)))
    assert f"script      run.py launches it; to take over what it says: --host {script}" in told


def test_arrays_of_a_list_are_told_together_and_two_apart(tmp_path):
    file = tmp_path / "add.cu"
    file.write_text(
        "struct List { float *at[8]; };\n__global__ void add(List list, const float *x1, const float *x2, int n) {\n"
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) list.at[blockIdx.y][i] += x1[i] * x2[i]; }\n"
        "int main() { List list; float *x1, *x2; int n = 6000; for (int k = 0; k < 8; k++)"
        " cudaMalloc(&list.at[k], n * sizeof(float)); cudaMalloc(&x1, n * sizeof(float));"
        " cudaMalloc(&x2, n * sizeof(float)); add<<<dim3((n + 63) / 64, 8), 64>>>(list, x1, x2, n); }\n"
    )
    told = "\n".join(assumptions(problem_of(file)))
    assert "\n  outputs     list_at_0 to list_at_7 float32[n] (as the host allocates it)\n" in told
    assert (
        "\n  inputs      x1 float32[n] (as the host allocates it), x2 float32[n] (as the host allocates it)\n" in told
    )
    assert "\n  structures  list.at[0] = list_at_0 to list.at[7] = list_at_7" in told


@pytest.mark.slow
def test_a_kernel_in_a_header_is_drafted_with_the_file_that_is_named_as_its_host(tmp_path):
    (tmp_path / "steps.cuh").write_text(
        "#pragma once\n__global__ void step(float *to, const float *from, int n) {\n"
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) to[i] = 2 * from[i]; }\n"
    )
    file = tmp_path / "main.cu"
    file.write_text(
        '#include "steps.cuh"\nint main() { float *a, *b; int n = 6000; cudaMalloc(&a, n * sizeof(float));'
        " cudaMalloc(&b, n * sizeof(float)); step<<<(n + 63) / 64, 64>>>(a, b, n); }\n"
    )
    written = drafted(file)
    problem = written.problem
    assert (problem.kernel.source.name, problem.sizes) == ("steps.cuh", {"n": 6000})
    told = "\n".join(assumptions(written))
    assert f"tuner-tui init steps.cuh --kernel step --host {file}" in told
    (tmp_path / "steps.toml").write_text(written.text.replace("6000", "7000"))
    assert problem_of(file).problem.sizes == {"n": 7000}


@pytest.mark.slow
def test_a_kernel_that_can_do_no_more_than_a_toy_of_its_host_is_drafted_for_that(tmp_path):
    file = tmp_path / "scan.cu"
    file.write_text(
        "__global__ void k(const int *from, int *to, int n) { __shared__ int all[64];"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) all[i] = from[i]; __syncthreads();"
        " if (i < n) to[i] = all[n - 1 - i]; }\n"
        "int main() { int *a, *b; int n = 16; cudaMalloc(&a, n * sizeof(int)); cudaMalloc(&b, n * sizeof(int));"
        " k<<<(n + 63) / 64, 64>>>(a, b, n); }\n"
    )
    written = drafted(file)
    assert written.problem.sizes == {"n": 16}
    assert "n = 16  # as the host has it" in written.text


@pytest.mark.slow
def test_a_launch_that_changes_next_to_nothing_is_told(tmp_path):
    file = tmp_path / "few.cu"
    file.write_text(
        "__global__ void k(int *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < 3) a[i] += n; }\n"
        "int main() { int *a; int n = 4096; cudaMalloc(&a, n * sizeof(int)); k<<<n / 64, 64>>>(a, n); }\n"
    )
    told = "\n".join(assumptions(drafted(file)))
    assert re.search(r"but +a launch changes 3 of \d+ elements of a", told)


SMALL = (
    "__global__ void k(int *a, const int *b, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
    " if (i < n) a[i] = b[i]; }\n"
    "int main() { int *a, *b; const int n = NUMBER; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);"
    " k<<<(n + 7) / 8, 8>>>(a, b, n); }\n"
)

STATED = (
    "#define N 20\n__global__ void k(int *a) { int i = blockIdx.x * blockDim.x + threadIdx.x;"
    " if (i < N) a[i] += i + 1; }\n"
    "int main() { int *a; cudaMalloc(&a, N * 4); k<<<(N + 7) / 8, 8>>>(a); }\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            SMALL.replace("(n + 7) / 8, 8", "1, 32").replace("NUMBER", "20"),
            "32 threads over 40 elements end .*; make \\[sizes\\] larger \\(n = 20\\) in small",
        ),
        (STATED, "make the numbers larger that small.cu states"),
        (SMALL.replace("NUMBER", "5000"), None),
        (SMALL.replace("(n + 7) / 8, 8", "n, 256").replace("NUMBER", "20"), None),
    ],
    ids=["sizes", "no sizes", "large", "a block each"],
)
def test_a_launch_that_is_too_small_to_be_timed_is_told_with_what_to_change(tmp_path, source, told):
    file = tmp_path / "small.cu"
    file.write_text(source)
    doubts = [one for one in drafted(file).doubts if "too small to be timed" in one]
    assert len(doubts) == (told is not None)
    assert told is None or re.search(told, doubts[0]), doubts


@pytest.mark.slow
def test_a_launch_of_a_script_that_is_too_small_is_told_with_the_name_of_the_script(tmp_path):
    file, script = tmp_path / "small.cu", tmp_path / "run.py"
    file.write_text("__global__ void k(int *a) { a[threadIdx.x] += 1; }")
    script.write_text("a = cp.zeros(20, cp.int32)\nk = cp.RawKernel(source, 'k')\nk((1,), (20,), (a,))\n")
    doubts = asyncio.run(confirmed(draft_of(file, None, script), OPTIONS, Settings())).doubts
    assert any("make the numbers larger that run.py states" in one for one in doubts), doubts


@pytest.mark.slow
def test_whole_numbers_are_0_or_1_where_outputs_of_larger_ones_held_one_value(tmp_path):
    file = tmp_path / "all.cu"
    file.write_text(
        "__global__ void all(const int *from, int *to, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;"
        " to[i] = from[i] * from[(i + 1) % n] * from[(i + 2) % n] * from[(i + 3) % n] == 1; }\n"
    )
    written = drafted(file)
    assert written.problem.arguments[0].high == 2
    assert "high = 2  # a guess, for outputs held one value where numbers were larger: check" in written.text


@pytest.mark.slow
def test_no_more_kernels_of_a_file_are_tried_than_there_is_time_for(tmp_path, monkeypatch):
    file = tmp_path / "several.cu"
    one = "__global__ void NAME(int *a) { AT a[blockIdx.x * blockDim.x + threadIdx.x] = 3 * threadIdx.x; }\n"
    far = "a[1 << 30] = 1; a[1 << 29] = 1;"
    file.write_text(one.replace("NAME", "far").replace("AT", far) + one.replace("NAME", "near").replace("AT", ""))
    assert "near" in drafted(file).problem.kernel.name
    monkeypatch.setattr("tui_tuner.app.drafting._MOST_SECONDS", 0)
    with pytest.raises(ProblemError, match=r"far\(\)"):
        drafted(file)


@pytest.mark.slow
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
    assert (caught.value.file, caught.value.line) == (file, 2)


@pytest.mark.slow
def test_what_differs_since_a_kernel_reads_before_an_array_is_told_as_that(tmp_path):
    file = tmp_path / "step.cu"
    file.write_text(
        "__global__ void step(double *to, const double *x, const double *y, int n)\n{\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;\n"
        "  if (i < n && j > 0 && j < n)\n"
        "    to[i * n + j] += 0.5 * (y[i * n + j] - y[(i - 1) * n + j] - x[i * n + j] + x[i * n + j - 1]);\n}\n"
        "int main() { int n = 60; double *a, *b, *c; cudaMalloc(&a, n * n * 8); cudaMalloc(&b, n * n * 8);"
        " cudaMalloc(&c, n * n * 8); step<<<dim3(2, 2), dim3(32, 32)>>>(a, b, c, n); }\n"
    )
    with pytest.raises(ProblemError, match=r"before the start of argument 3 .*, which is 'y'; at n = \d+"):
        drafted(file)


@pytest.mark.slow
def test_a_kernel_that_reads_what_is_before_an_array_is_no_draft_though_that_does_not_show(tmp_path):
    file = tmp_path / "step.cu"
    file.write_text(
        "__global__ void step(float *to, const float *from, int n)\n{\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) to[i] = from[i] + (from[i - 1] > 1e38f ? 1 : 0);\n}\n"
        "int main() { int n = 8192; float *a, *b; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);"
        " step<<<n / 64, 64>>>(a, b, n); }\n"
    )
    with pytest.raises(ProblemError, match=r"before the start of argument 2 .*, which is 'from'; at n = \d+"):
        drafted(file)


@pytest.mark.slow
def test_a_kernel_in_hip_that_is_written_as_cuda_has_it_is_drafted_and_another_is_told_what_to_write(tmp_path):
    file = tmp_path / "ours.cu"
    file.write_text(
        "#include <hip/hip_runtime.h>\n__global__ void k(int *a, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < n) a[i] += i + 1; }\n"
        "void run(int n) { int *a; hipMalloc(&a, n * sizeof(int));\n"
        " hipLaunchKernelGGL(k, dim3((n + 63) / 64), dim3(64), 0, 0, a, n); hipDeviceSynchronize(); }\n"
    )
    written = drafted(file)
    assert "run on the emulator as given" in written.doubts[0]
    assert written.problem.defaults == {"block_size_x": 64}
    file.write_text(file.read_text().replace("threadIdx.x", "hipThreadIdx_x"))
    with pytest.raises(ProblemError, match=r"hipThreadIdx_x is not known; not found: hip/hip_runtime\.h") as caught:
        drafted(file)
    assert "threadIdx.x for hipThreadIdx_x" in caught.value.hint


@pytest.mark.slow
def test_headers_are_found_from_where_a_project_names_them(tmp_path):
    """As `#include "solver/gpu/convert.h"` in solver/gpu/x.cu, and what such a header takes from include/ above it."""
    (tmp_path / "solver" / "gpu").mkdir(parents=True)
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "types.h").write_text("typedef float number;\n")
    (tmp_path / "solver" / "gpu" / "convert.h").write_text('#include "types.h"\n#include "solver/gpu/near.h"\n')
    (tmp_path / "solver" / "gpu" / "near.h").write_text("#define HALF number(.5)\n")
    file = tmp_path / "solver" / "gpu" / "halve.cu"
    file.write_text(
        '#include "solver/gpu/convert.h"\n__global__ void halve(number *to, const number *from, int n)\n{\n'
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) to[i] = from[i] * HALF;\n}\n"
        "void run(number *to, number *from, int n) { halve<<<(n + 127) / 128, 128>>>(to, from, n); }\n"
    )

    written = drafted(file)

    assert 'compiler_options = ["-I../..", "-I../../include"]' in written.text
    assert written.problem.kernel.compiler_options == [f"-I{tmp_path}", f"-I{tmp_path / 'include'}"]
    assert "run on the emulator as given" in written.doubts[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("header", "hint"),
    [
        ("theirs.h", "put the header beside the kernel"),
        ("cudnn_of_nobody.h", "use a CUDA GPU, or keep the header and what"),
    ],
)
def test_a_header_that_another_lacks_is_named(tmp_path, header, hint):
    (tmp_path / "ours.h").write_text(f'#include "{header}"\n#define FIRST 0\n')
    file = tmp_path / "lacking.cu"
    file.write_text(
        '#include "ours.h"\n__global__ void k(int *to, int n) { if (threadIdx.x < n) to[FIRST + threadIdx.x] = n; }\n'
        "int main() { k<<<1, 32>>>(0, 32); }\n"
    )
    with pytest.raises(ProblemError, match=rf"k\(\) does not build; not found: {re.escape(header)}") as caught:
        drafted(file)
    assert hint in caught.value.hint


def test_what_a_compiler_says_of_a_draft_names_the_users_file(tmp_path):
    file = tmp_path / "copied.cu"
    file.write_text(
        "https://example.org/copied\n#include <cstdio>\n"
        "__global__ void k(int *to, int n) { if (threadIdx.x < n) to[threadIdx.x] = n; }\n"
        "int main() { k<<<1, 32>>>(0, 32); }\n"
    )
    assert re.match(r"not run before: .* cannot build it \(copied\.cu:1:", drafted(file).doubts[0])


GEMM = """
void gemm(int n, int m, int k, const float *a, const float *b, float *c)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++) sum += a[i * k + l] * b[l * m + j];
            c[i * m + j] = sum;
        }
}
"""


@pytest.mark.slow
def test_a_function_of_c_is_run_as_given_at_two_sizes_too(tmp_path):
    file = tmp_path / "gemm.c"
    file.write_text(GEMM)
    written = drafted(file)
    assert max(written.problem.sizes.values()) <= 512
    told = "\n".join(assumptions(written))
    assert re.search(r"run on this processor as given at n = \d+, m = \d+, k = \d+ and n = \d+", told)


@pytest.mark.slow
def test_a_function_of_c_that_touches_more_than_was_drafted_has_its_arrays_grown(tmp_path):
    file = tmp_path / "twice.c"
    file.write_text("void twice(int n, const float *x, float *y) { for (int i = 0; i < 2 * n; i++) y[i] = x[i]; }\n")
    shapes = {one.name: one.shape for one in drafted(file).problem.arguments}
    assert (shapes["x"], shapes["y"]) == (["2 * n"], ["2 * n"])


class Processor:
    """Trials of a session without a GPU."""

    async def doublings(self, problem, drafted):
        return 0, math.inf


def test_a_function_of_c_that_takes_long_is_timed_at_smaller_sizes(tmp_path):
    file = tmp_path / "gemm.c"
    file.write_text(GEMM)

    class Slow(Processor):
        where, long_s = "this processor", 0.3

        async def outcome(self, problem, _):
            return TrialResult(None, seconds=9.0 if problem.sizes["n"] > 100 else 0.1)

    held = asyncio.run(Amending(file, problem_of(file), Slow()).held())
    assert (held.problem.sizes["n"], held.problem.tests[0].sizes["n"]) == (64, 32)


@pytest.mark.parametrize(("helps", "fill"), [(True, "uniform"), (False, None)])
def test_inputs_are_not_negative_where_fewer_outputs_are_no_number_then(tmp_path, helps, fill):
    file = tmp_path / "root.c"
    file.write_text("void root(int n, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] = sqrtf(x[i]); }\n")

    class Rooted(Processor):
        where, long_s = "this processor", 1.0

        async def outcome(self, problem, _):
            is_positive = problem.arguments[1].fill == "uniform"
            return TrialResult(None, seconds=0.1, no_numbers=frozenset() if helps and is_positive else frozenset({"y"}))

    held = asyncio.run(Amending(file, problem_of(file), Rooted()).held())
    assert held.problem.arguments[1].fill == fill


def test_an_index_of_a_fraction_below_zero_may_show_at_the_second_size_only(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "tui_tuner.app.needed._MOST_ELEMENTS_ALIKE", 1
    )  # as if arrays had been made large for it before
    file = tmp_path / "pick.c"
    file.write_text(
        "void pick(int n, const float *at, float *y) { for (int i = 0; i < n; i++) y[i] = y[(int)at[i]]; }\n"
    )
    seen = []

    class Picked(Processor):
        where, long_s = "this processor", 1.0

        async def outcome(self, problem, tests):
            seen.append((not tests[0].sizes, problem.arguments[1].fill))
            fault = GivenFault(message="touched", kind=GivenFaultKind.BEFORE, argument="y", nbytes=8)
            return TrialResult(fault if seen[-1] == (False, None) else None, seconds=0.1)

    held = asyncio.run(Amending(file, problem_of(file), Picked()).held())
    assert held.problem.arguments[1].fill == "uniform"
    assert seen == [(True, None), *[(False, None)] * 3, (True, "uniform"), (False, "uniform")]


def test_a_draft_that_took_as_many_trials_as_there_are_and_holds_is_taken(tmp_path):
    file = tmp_path / "gemm.c"
    file.write_text(GEMM)

    class Slow(Processor):
        where, long_s, asked = "this processor", 0.3, 0

        async def outcome(self, problem, _):
            self.asked += 1
            name = problem.arguments[3 + self.asked % 3].name
            grows = GivenFault(message="touched", kind=GivenFaultKind.BEHIND, argument=name, nbytes=4)
            return TrialResult(grows if self.asked < 12 else None, seconds=9.0)

    held = asyncio.run(Amending(file, problem_of(file), Slow()).held())
    assert held.doubts[0].startswith("run on this processor")


STATED = """\
#define N 4096
__global__ void k(float *to, const float *from)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) for (int j = 0; j < N; j++) to[i] += from[i * N + j];
}
int main()
{
    cudaMalloc(&to, N * sizeof(float));
    cudaMalloc(&from, N * N * sizeof(float));
    k<<<(N + 127) / 128, 128>>>(to, from);
}
"""


@pytest.mark.parametrize("slow", [TrialResult(LATE), TrialResult(None, seconds=9.0)])
def test_numbers_that_the_source_states_are_made_smaller_where_they_take_long(tmp_path, slow):
    file = tmp_path / "rows.cu"
    file.write_text(STATED)

    class Slow(Processor):
        where, long_s = "the emulator", 1.0

        async def outcome(self, problem, _):
            return TrialResult(None, seconds=0.1) if problem.sizes else slow

    held = asyncio.run(Amending(file, problem_of(file), Slow()).held()).problem
    assert (held.sizes, held.tests[0].sizes) == ({"N": 4096}, {"N": 4096})
    assert held.emulator.macros == held.emulator.sizes == {"N": 512}


def test_a_size_at_which_outputs_are_no_number_is_given_up(tmp_path):
    file = tmp_path / "scale.cu"
    file.write_text(
        "__global__ void k(float *to, int n) { int i = blockIdx.x * 128 + threadIdx.x; if (i < n) to[i] = i; }\n"
        "int main() { int n = 8192; k<<<(n + 127) / 128, 128>>>(to, n); }\n"
    )

    class Odd(Processor):
        where, long_s = "the emulator", 1.0

        async def outcome(self, problem, tests):
            n = {**problem.sizes, **tests[0].sizes}["n"]
            return TrialResult(None, no_numbers=frozenset({"to"} if n % 128 else ()))

    held = asyncio.run(Amending(file, problem_of(file), Odd()).held())
    assert held.problem.tests[0].sizes == {"n": 4096}
    assert "elements of 'to' are no number" in held.doubts[1]


TILES = """\
#define TILE 64
__global__ void sums(float *to, const float *from, int n)
{
    __shared__ float tile[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    if (i < n) {
        float sum = 0;
        for (int t = 0; t < n; t += TILE) {
            if (t + threadIdx.x < n) tile[threadIdx.x] = from[t + threadIdx.x];
            __syncthreads();
            for (int j = 0; j < TILE; j++) sum += tile[j] * from[i];
            __syncthreads();
        }
        to[i] = sum;
    }
}
int main(int c, char **v)
{
    int n = 5000;
    cudaMalloc(&to, n * sizeof(float));
    cudaMalloc(&from, n * sizeof(float));
    sums<<<(n + TILE - 1) / TILE, TILE>>>(to, from, n);
}
"""


@pytest.mark.slow
def test_a_kernel_whose_last_block_reads_shared_memory_that_nobody_wrote_is_drafted_at_whole_blocks(tmp_path):
    file = tmp_path / "sums.cu"
    file.write_text(TILES)
    held = drafted(file)
    sizes = [held.problem.sizes, held.problem.on_emulator().sizes, held.problem.on_emulator().tests[0].sizes]
    assert {one["n"] % 1024 for one in sizes} == {0}
    assert "sizes are whole multiples of any block: with others it makes what is no number" in held.doubts


def test_outputs_with_elements_that_are_no_number_are_told(tmp_path):
    file = tmp_path / "root.c"
    file.write_text("void root(int n, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] = sqrtf(x[i]); }\n")

    class Never(Processor):
        where, long_s = "this processor", 1.0

        async def outcome(self, *_):
            return TrialResult(None, seconds=0.1, no_numbers=frozenset({"y"}))

    held = asyncio.run(Amending(file, problem_of(file), Never()).held())
    assert "elements of y are no number, as of negative roots, or of shared memory that nobody wrote" in held.doubts


ROOTS = """\
namespace ours { namespace inner {
template <typename T> __device__ void step(T *to, T *from, int i, int n)
{
    for (int k = 0; k < 20; k++) // all of them positive by chance: never
        if (i < n && from[i] < 9) to[i] += sqrtf(from[i]) + sqrtf(from[k]);
}
template <typename T> __global__ void roots(T *to, T *from, int n)
{
    step(to, from, blockIdx.x * blockDim.x + threadIdx.x, n);
}
} }
int main() { int n = 1 << 14; ours::inner::roots<<<n / 256, 256>>>(to, from, n); }
"""


@pytest.mark.slow
def test_a_kernel_in_a_namespace_whose_work_a_function_does_and_that_takes_roots_is_drafted(tmp_path):
    file = tmp_path / "roots.cu"
    file.write_text(ROOTS)
    written = drafted(file)
    to, source = written.problem.arguments[:2]
    assert (to.output, source.output, source.fill) == (True, False, "uniform")
    assert written.problem.defaults == {"block_size_x": 256}
    assert "negative numbers gave what is no number" in written.text


@pytest.fixture
def problem(tmp_path):
    file = tmp_path / "scale.cu"
    file.write_text(
        "__global__ void k(float *to, const float *from, int n, int m) { int i = threadIdx.x;"
        " if (n) to[i] = from[m * i]; }\n"
    )
    return problem_of(file).problem.model_copy(update={"sizes": {"n": 100, "m": 30}})


@pytest.mark.parametrize(
    ("fault", "amendments"),
    [
        (fault_of(GivenFaultKind.BEHIND, "from"), Amendments(shapes={"from": "2 * n * m"})),
        (
            fault_of(GivenFaultKind.BEFORE, "to", nbytes=40000),
            Amendments(shapes={"to": "3 * n * m", "from": "3 * n * m"}),
        ),
        (fault_of(GivenFaultKind.UNWRITTEN, "to"), Amendments(filled=frozenset({"to"}))),
        (fault_of(GivenFaultKind.NOT_FINITE, "to"), Amendments(filled=frozenset({"to"}))),
        (LATE, Amendments(halvings=2)),
        (fault_of(GivenFaultKind.TOO_LARGE), Amendments(halvings=1)),
        (fault_of(GivenFaultKind.BEHIND, "from", nbytes=999999999999), None),
        (fault_of(GivenFaultKind.CONSTANT, "to"), None),
        (fault_of(GivenFaultKind.OUTSIDE), None),
    ],
)
def test_what_running_a_draft_says_amends_it(problem, fault, amendments):
    assert amended_for(Amendments(), fault, problem) == amendments


def test_an_array_is_grown_by_a_size_before_a_number_that_comes_to_the_same(tmp_path):
    file = tmp_path / "scale.cu"
    file.write_text(
        "__global__ void k(float *to, const float *from, int n, int m, int s) { int i = threadIdx.x;"
        " if (n) to[i] = from[m * i + s]; }\n"
    )
    with_three = problem_of(file).problem.model_copy(update={"sizes": {"n": 100, "m": 32, "s": 8}})
    held = math.prod(shape_of(with_three.arguments[1], with_three.sizes))
    fault = fault_of(GivenFaultKind.BEHIND, "from", nbytes=(100 * 32 * 8 - held - 1) * 4)
    assert amended_for(Amendments(), fault, with_three) == Amendments(shapes={"from": "n * m * s"})


@pytest.mark.parametrize(("elements", "grown"), [(8, "8 * n * m"), (9, "16 * n * m"), (27, "32 * n * m")])
def test_an_array_of_several_numbers_for_each_place_stays_as_large_where_sizes_grow(problem, elements, grown):
    held = math.prod(shape_of(problem.arguments[1], problem.sizes))
    fault = fault_of(GivenFaultKind.BEHIND, "from", nbytes=(elements * 100 * 30 - held - 1) * 4)
    assert amended_for(Amendments(), fault, problem) == Amendments(shapes={"from": grown})


PRODUCT = """
__global__ void product(int m, int n, int k, const float *a, const float *b, float *c)
{
    __shared__ float as[256], bs[256];
    const int column = threadIdx.x % 16, row = threadIdx.x / 16;
    a += blockIdx.y * 16 * k;
    b += blockIdx.x * 16;
    c += blockIdx.y * 16 * n + blockIdx.x * 16;
    float sum = 0;
    for (int at = 0; at < k; at += 16, a += 16, b += 16 * n) {
        as[row * 16 + column] = a[row * k + column];
        bs[row * 16 + column] = b[row * n + column];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += as[row * 16 + i] * bs[i * 16 + column];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
void run(int m, int n, int k, const float *a, const float *b, float *c)
{
    product<<<dim3((n + 15) / 16, (m + 15) / 16), 256>>>(m, n, k, a, b, c);
}
"""


@pytest.mark.slow
def test_arrays_that_pointers_walk_through_are_grown_by_how_long_their_rows_are(tmp_path):
    file = tmp_path / "product.cu"
    file.write_text(PRODUCT)
    shapes = {one.name: one.shape for one in drafted(file).problem.arguments}
    assert (shapes["a"], shapes["b"], shapes["c"]) == (["m * k"], ["n * k"], ["n * m"])


LAYERS = """
__global__ void most(const float *x, int *at, int outer, int n, int inner)
{
    int all = blockIdx.x * blockDim.x + threadIdx.x;
    if (all >= outer * inner) return;
    int o = all / inner, i = all % inner, best = 0;
    for (int k = 1; k < n; ++k)
        if (x[(o * n + k) * inner + i] > x[(o * n + best) * inner + i]) best = k;
    at[all] = best;
}
void run(const float *x, int *at, int outer, int n, int inner)
{
    most<<<(outer * inner + 255) / 256, 256>>>(x, at, outer, n, inner);
}
"""


@pytest.mark.slow
def test_an_array_of_layers_is_grown_by_all_of_its_lengths_at_once(tmp_path):
    file = tmp_path / "most.cu"
    file.write_text(LAYERS)
    shapes = {one.name: one.shape for one in drafted(file).problem.arguments}
    assert (shapes["x"], shapes["at"]) == (["outer * n * inner"], ["inner * outer"])


HEADS = """
__global__ void turned(const float *x, const int *slot, float *y, int batch, int heads, int rows, int width)
{
    const float *own = x + ((blockIdx.z * heads + blockIdx.y) * rows + blockIdx.x) * width;
    int at = slot[blockIdx.x];
    int begin = ((blockIdx.z * heads + blockIdx.y) * rows + at) * width;
    for (int i = threadIdx.x; i < width; i += blockDim.x) y[begin + i] = 2.0f * own[(i + 1) % width];
}
void run(const float *x, const int *slot, float *y, int batch, int heads, int rows, int width)
{
    turned<<<dim3(rows, heads, batch), 64>>>(x, slot, y, batch, heads, rows, width);
}
"""


@pytest.mark.slow
def test_an_array_is_grown_by_the_lengths_in_what_an_index_or_a_pointer_begins_at(tmp_path):
    file = tmp_path / "turned.cu"
    file.write_text(HEADS)
    shapes = {one.name: one.shape for one in drafted(file).problem.arguments}
    assert [*map(sorted, (shapes["x"][0].split(" * "), shapes["y"][0].split(" * ")))] == [
        ["batch", "heads", "rows", "width"]
    ] * 2


def test_arrays_that_are_large_already_are_not_grown_for_an_index_that_is_wrong(problem):
    large = problem.model_copy(update={"sizes": {"n": 4096, "m": 4096}})
    before = fault_of(GivenFaultKind.BEFORE, "to", nbytes=9)
    positive = amended_for(Amendments(shapes={"to": "9 * n"}), before, large)
    assert positive == Amendments(positive=True)  # of a fraction below zero it may make an index
    assert amended_for(positive, before, large) is None


STRAY = fault_of(GivenFaultKind.BEHIND, "at", nbytes=9)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (
            fault_of(GivenFaultKind.CONSTANT, "mask"),
            "'mask' is a flag (line 5 sets it to false, line 6 sets it to 1) that holds one value",
        ),
        (fault_of(GivenFaultKind.CONSTANT, "to"), "with these 'to' holds one value"),
        (fault_of(GivenFaultKind.CONSTANT, "seen"), "fill, low and high say what inputs hold: with these 'seen'"),
        (fault_of(GivenFaultKind.CONSTANT, "kept"), "fill, low and high say what inputs hold: with these 'kept'"),
        (fault_of(GivenFaultKind.CONSTANT, "left"), "its text does not name 'left' between its braces"),
        (fault_of(GivenFaultKind.NOT_FINITE, "to"), "a division by zero, as scalars may lead to"),
        (RACY, "its threads race"),
        (STRAY, "'at' is an array of Cell (int first, float weight): fill, low and high of its members"),
    ],
)
def test_what_to_write_is_told_with_the_lines_that_say_why(tmp_path, fault, told):
    file = tmp_path / "cells.cu"
    file.write_text(
        "#define KEPT(i) kept[i]\nstruct Cell { int first; float weight; }; struct Pair { float a, b; };\n"
        "__global__ void k(float *to, const Cell *at, const Pair *of, bool *mask, float *left, int *seen,"
        " float *kept)\n"
        "{\n    mask[threadIdx.x] = false;\n"
        "    if (to[0]) mask[0] = 1;\n    to[threadIdx.x] = at[threadIdx.x].weight + of[0].a;\n"
        "    seen[threadIdx.x] = -1;\n    if (to[1]) seen[0] = threadIdx.x;\n    KEPT(threadIdx.x) = to[2];\n}\n"
    )
    assert told in needed(fault, problem_of(file).problem)


def test_whole_numbers_that_may_say_where_a_kernel_reads_are_named(tmp_path):
    file = tmp_path / "gather.cu"
    file.write_text(
        "__global__ void k(float *to, const float *from, const int *where, const int *rows, int n) {"
        " int i = threadIdx.x; for (int j = rows[i]; j < rows[i + 1]; j++) to[i] += from[where[i] - 1]; }\n"
    )
    told = needed(STRAY, problem_of(file).problem)
    assert told.endswith("low and high what numbers are in it, as in 'where', or function = \"make_where\" makes it")


def test_a_draft_that_holds_only_since_its_arrays_were_grown_and_that_computes_next_to_nothing_is_refused(tmp_path):
    file = tmp_path / "walls.cu"
    file.write_text(
        "__global__ void k(float *to, const unsigned char *wall, int n)\n{\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n || wall[i] % 64) return;\n"
        "  to[i] = wall[i - 1] ? 1 : 2;\n}\n"
        "int main() { int n = 8192; float *a; unsigned char *w; cudaMalloc(&a, n * 4); cudaMalloc(&w, n);"
        " k<<<n / 64, 64>>>(a, w, n); }\n"
    )
    trial = TrialResult(None, hardly_changed={"to": (3, 8192)})
    outside = TrialResult(fault_of(GivenFaultKind.BEFORE, "wall", nbytes=1))
    with pytest.raises(ProblemError, match="it touches what is before an array: wall") as error:
        asyncio.run(Amending(file, problem_of(file), Told(outside, trial, trial)).held())
    assert "'wall', or function = \"make_wall\" makes it" in error.value.hint


def test_a_launch_that_nobody_states_and_that_leaves_no_numbers_in_next_to_all_elements_is_refused(tmp_path):
    file = tmp_path / "rows.cu"
    text = "__global__ void k(float *to, const float *from, int m, int n)\n{ to[blockIdx.x * n] = from[blockIdx.x]; }\n"
    host = "int main() { int n = 64, r = 128; float *a, *b; k<<<r, 32>>>(a, b, r, n); }\n"
    trial = TrialResult(None, hardly_changed={"to": (3, 8192)}, no_numbers=frozenset({"to"}))
    file.write_text(text)
    with pytest.raises(ProblemError, match=r"a launch changes 3 of 8192 elements of 'to'") as error:
        asyncio.run(Amending(file, problem_of(file), Told(trial, trial, trial, trial)).held())
    assert "[launch] says how many threads run" in error.value.hint
    file.write_text(text + host)
    assert asyncio.run(Amending(file, problem_of(file), Told(trial, trial, trial, trial)).held())


FLOYD = """\
__global__ void relax(float *ways, int n, int k)
{
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n && c < n) ways[r * n + c] = fminf(ways[r * n + c], ways[r * n + k] + ways[k * n + c]);
}
void solve(float *ways, int n)
{
    for (int k = 0; k < n; k++) relax<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(ways, n, k);
}
"""


@pytest.mark.slow
def test_ways_that_are_made_shorter_in_their_place_are_none_of_them_negative(tmp_path):
    file = tmp_path / "ways.cu"
    file.write_text(FLOYD)
    (ways,) = [one for one in drafted(file).problem.arguments if one.name == "ways"]
    assert ways.fill == "uniform"


def test_a_kernel_that_races_is_tried_without_negative_numbers(tmp_path):
    file = tmp_path / "ways.cu"
    file.write_text(
        "__global__ void k(float *to, const float *from, int n)\n{\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) to[i] = from[i] + from[n - 1 - i];\n}\n"
        "int main() { int n = 8192; float *a, *b; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);"
        " k<<<n / 64, 64>>>(a, b, n); }\n"
    )
    well, racing = TrialResult(None), TrialResult(RACY)
    written = asyncio.run(Amending(file, problem_of(file), Told(well, racing, well, well)).held())
    assert 'fill = "uniform"' in written.text
    with pytest.raises(ProblemError, match="it differs from itself"):
        asyncio.run(Amending(file, problem_of(file), Told(racing, racing)).held())


NEAREST = (
    "__global__ void nearest(const float *x, float *best, int n, int k)\n{\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i >= n) return;\n  float held[8];\n"
    "  for (int j = 0; j < k; j++) held[j] = 1e30f;\n"
    "  for (int j = 0; j < 64; j++) { float d = fabsf(x[i] - x[j]); for (int l = 0; l < k; l++)"
    " if (d < held[l]) { float t = held[l]; held[l] = d; d = t; } }\n"
    "  for (int j = 0; j < k; j++) best[i * k + j] = held[j];\n  ALSO\n}\n"
    "void run(int n, int k) { float *x, *best; cudaMalloc(&x, n * 4); cudaMalloc(&best, n * k * 4);"
    " nearest<<<(n + 255) / 256, 256>>>(x, best, n, k); }\n"
)


@pytest.mark.slow
@pytest.mark.parametrize(("also", "tested"), [("", 5), ("for (int j = k; j < 8; j++) best[i * 8 + j] = 0;", 8)])
def test_how_many_are_chosen_is_another_number_in_tests_where_the_kernel_can_do_it(tmp_path, also, tested):
    file = tmp_path / "nearest.cu"
    file.write_text(NEAREST.replace("ALSO", also))
    problem = drafted(file).problem
    assert problem.sizes["k"] == 8
    assert {test.sizes["k"] for test in (*problem.tests, *problem.emulator.tests)} == {tested}


def test_scalars_that_are_guesses_are_named_where_a_draft_does_not_hold(tmp_path):
    file = tmp_path / "turned.cu"
    file.write_text(
        "__global__ void k(float *to, const float *from, int n, int bits)\n{\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) to[__brev(i) >> (32 - bits)] = from[i];\n}\n"
        "int bits_of(int n) { int bits = 0; while ((1 << bits) < n) bits++; return bits; }\n"
        "int main() { int n = 8192; float *a, *b; cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4);"
        " k<<<n / 64, 64>>>(a, b, n, bits_of(n)); }\n"
    )
    racing = TrialResult(RACY)
    with pytest.raises(ProblemError, match="it differs from itself") as error:
        asyncio.run(Amending(file, problem_of(file), Told(racing, racing)).held())
    assert "that bits is 1 is a guess: give it the value that the host passes" in error.value.hint


PARTS = {
    "partial sums": (
        "__global__ void reduce(const float *in, float *out, int n)\n{\n  extern __shared__ float s[];\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  s[threadIdx.x] = i < n ? in[i] : 0;\n  __syncthreads();\n"
        "  for (int d = blockDim.x / 2; d > 0; d /= 2) {\n"
        "    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];\n    __syncthreads();\n  }\n"
        "  if (threadIdx.x == 0) out[blockIdx.x] = s[0];\n}\n",
        "compared    out by sum (of the parts that blocks leave, which something combines: a guess)",
    ),
    "what is appended": (
        "__global__ void find(const float *in, int *found, int *count, int n)\n{\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n && in[i] > 1) found[atomicAdd(count, 1)] = i;\n}\n",
        "compared    found by sorted (threads append to it in the order in which they come)",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("source", "told"), PARTS.values(), ids=PARTS)
def test_what_no_block_decides_alone_is_run_and_its_comparison_told(tmp_path, source, told):
    file = tmp_path / "parts.cu"
    file.write_text(source)
    written = drafted(file)
    assert written.doubts[0].startswith("run on the emulator as given")
    assert ("what parts come to is what is compared" in written.doubts[0]) == ("by sum" in told)
    assert told in "\n".join(assumptions(written))


class Told:
    """Trials with these outcomes, one after another."""

    long_s = 1.0
    where = "the emulator"

    async def doublings(self, problem, doubled):
        return 0, 0.0

    def __init__(self, *outcomes):
        self._outcomes = iter(outcomes)

    async def outcome(self, problem, tests):
        return next(self._outcomes)


def test_what_is_no_number_though_outputs_are_filled_is_tried_without_negative_numbers(problem):
    filled, not_finite = Amendments(filled=frozenset({"to"})), fault_of(GivenFaultKind.NOT_FINITE, "to")
    amended = amended_for(filled, not_finite, problem)
    assert amended == replace(filled, positive=True)
    assert amended_for(amended, not_finite, problem) is None


def test_another_file_with_the_hosts_code_is_read_for_a_draft_only(tmp_path):
    file, host = tmp_path / "scale.cu", tmp_path / "main.cpp"
    source = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) to[i] = n;"
    file.write_text(f"__global__ void k(float *to, int n) {{ {source} }}\n")
    host.write_text("int main() { int count = 70000; k<<<(count + 127) / 128, 128>>>(out, count); }\n")
    written = problem_of(file, host=host)
    assert (written.problem.sizes, written.problem.defaults) == ({"n": 70000}, {"block_size_x": 128})
    assert f"--host {host}" in next(assumptions(written))
    file.with_suffix(".toml").write_text(written.text)
    with pytest.raises(SettingsError, match="has a problem file"):
        problem_of(file, host=host)


GATHER = """\
__global__ void gather(float *to, const float *table, const int *places, int rows, int width)
{
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        if (blockIdx.x < rows) to[blockIdx.x * width + i] = table[places[blockIdx.x]];
    }
}
"""


def size_of(name, value, multiple_of="1", power_of_two=False):
    return {"name": name, "value": value, "multiple_of": multiple_of, "power_of_two": power_of_two}


def reply(low=0, tests=(7, 0), **changes):
    """What a model says of the kernel `gather`; `low` is the least of its places."""
    arrays = [("to", "rows * width", True, None), ("table", "rows", False, None), ("places", "rows", False, "integers")]
    said = {
        "sizes": [size_of("rows", 4096), size_of("width", 256)],
        "launch": {
            "problem_size": ["rows"],
            "grid_div_x": ["1"],
            "grid_div_y": [],
            "grid_div_z": [],
            "block_size": [],
            "shared_memory": "0",
        },
        "arrays": [
            {"name": n, "elements": e, "output": o, "fill": f, "low": low if f else None, "high": "rows" if f else None}
            for n, e, o, f in arrays
        ],
        "macros": [],
        "scalars": [{"name": "rows", "value": "rows"}, {"name": "width", "value": "width"}],
        "tests": [{"sizes": [{"name": "rows", "value": rows}]} for rows in tests if rows],
        "flops": "",
        "bytes": "4 * rows * width + 8 * rows",
        "unsure": ["whether \x1b[31mplaces\x1b[0m are sorted"],
    }
    return json.dumps({**said, **changes})


class Answers:
    """A model that says one thing after the other, and keeps what it was asked."""

    name = "scripted"
    context_tokens = None

    def __init__(self, *answers):
        self.left = list(answers)
        self.asked = []

    async def stream(self, request):
        self.asked.append(request.messages[-1].content)
        yield Chunk(text=self.left.pop(0), stop=Stop.COMPLETE, usage=Usage(10, 10, 0.25))

    async def aclose(self):
        pass


@pytest.fixture
def gather(tmp_path):
    file = tmp_path / "gather.cu"
    file.write_text(GATHER)
    return problem_of(file)


def drafted_by(model, written, **options):
    return asyncio.run(confirmed(written, SessionOptions(device="emulator", **options), Settings(), model))


@pytest.mark.slow
def test_a_model_says_what_rules_guess_and_the_machine_decides_what_of_it_is_believed(gather):
    model = Answers(reply(-(10**6), tests=[7]), reply(tests=[7, 10**6]))
    written = drafted_by(model, gather)
    problem, told = written.problem, "\n".join(assumptions(written))
    assert problem.sizes == {"rows": 4096, "width": 256}
    assert (problem.launch.problem_size, problem.launch.grid_div_x) == (["rows"], ["1"])
    assert problem.arguments[2].high == "rows"
    assert [test.sizes for test in problem.tests][1:] == [{"rows": 7}, {"rows": 1535, "width": 191}]
    assert problem.work.bytes == "4 * rows * width + 8 * rows"
    assert 'grid_div_x = ["1"]  # a guess: the model\'s, check' in written.text
    assert GATHER.strip() in model.asked[0]
    assert "a guess: check" in model.asked[0]
    assert "illegal access" in model.asked[1]
    assert (written.calls, written.cost) == (2, 0.5)
    assert "rows = 4096 (a guess: the model's)" in told
    assert "the model's test at rows = 1000000 is left out: its arrays are too large" in told
    assert "\n  model       scripted is not sure: whether places are sorted" in told


@pytest.mark.slow
def test_what_a_model_says_of_a_matrix_has_its_extents(gather):
    written = drafted_by(Answers(reply(tests=[7])), gather)
    assert [one.shape for one in written.problem.arguments[:3]] == [["rows", "width"], ["rows"], ["rows"]]


@pytest.mark.parametrize(
    ("elements", "extents"),
    [
        ("m * k", ["m", "k"]),
        ("batch * (m + 1) * ceil_div(k, 32)", ["batch", "m + 1", "ceil_div(k, 32)"]),
        ("n", ["n"]),
        ("m * k + 1", ["m * k + 1"]),
        ("m * k // 2", ["m * k // 2"]),
        ("4 * n", ["4 * n"]),
    ],
)
def test_extents_are_the_factors_of_a_product_without_numbers(elements, extents):
    assert extents_of(elements) == extents


@pytest.mark.parametrize(
    ("answers", "options", "said"),
    [
        (["no JSON", reply(scalars=[])], {}, "scalars: wanted are rows, width, each once; these are none"),
        ([reply(bytes="9 * rows * width")] * 2, {}, "all arrays together hold"),
        ([reply(flops="system('ls')")] * 2, {}, "flops: "),
        ([reply(sizes=[size_of("rows", 2**40)])] * 2, {}, "unknown name 'width'"),
        ([], {"max_calls": 0}, "the budget allows no call"),
        ([], {"max_cost": 1.0}, "the budget allows no call"),
    ],
    ids=["names", "bytes", "expression", "sizes", "calls", "cost"],
)
def test_a_reply_that_cannot_be_is_put_back_once_and_never_run(gather, answers, options, said):
    model = Answers(*answers)

    async def asked():
        asked_model = AskedModel(model, SessionOptions(**options), 1000, Doing(None))
        return await by_model(gather.file.with_suffix(".cu"), Tried(gather, "", None), None, asked_model)

    held, told = asyncio.run(asked())
    assert held is None
    assert said in told[0]
    assert "drafted by rules alone" in told[0]
    assert not model.left


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (size_of("width", 100, "rows"), "width = 100 is no multiple of rows"),
        (size_of("width", 100, "of(8)"), "sizes, width: multiple_of: "),
        (size_of("width", 100, "width"), "unknown name 'width'"),
        (size_of("width", 100, "0"), "width = 100 is no multiple of 0"),
        (size_of("width", 100, "", power_of_two=True), "width = 100 is no power of two"),
        (size_of("width", 96, "32"), None),
        (size_of("width", 128, "", power_of_two=True), None),
    ],
)
def test_a_size_that_is_none_that_the_kernel_can_do_is_put_back(gather, size, said):
    kernel = to_draft(gather.file.with_suffix(".cu"), gather, "")
    faults = faults_of(DraftReply.model_validate_json(reply(sizes=[size_of("rows", 4096), size])), kernel)
    assert len(faults) == (said is not None)
    assert said is None or said in faults[0]


def test_a_number_that_is_no_text_is_taken_for_one(gather):
    kernel = to_draft(gather.file.with_suffix(".cu"), gather, "")
    said = DraftReply.model_validate_json(
        reply(scalars=[{"name": "rows", "value": 64}, {"name": "width", "value": "2"}])
    )
    assert facts_of(said, kernel).values == {"rows": 64, "width": 2}


@pytest.mark.slow
def test_a_model_that_does_not_answer_is_ended_when_the_time_is_up_which_the_session_has_no_more(gather):
    class Silent(Answers):
        async def stream(self, request):
            self.asked.append(request)
            await asyncio.Event().wait()
            yield Chunk(text="")

    model = Silent()
    written = drafted_by(model, gather, max_seconds=0.01)
    assert len(model.asked) == 1
    assert "the time is up (0 s)): drafted by rules alone" in "\n".join(assumptions(written))
    assert written.calls == 1
    assert what_is_left(SessionOptions(max_seconds=100, max_calls=5), written).max_calls == 4
    taken = [time_taken(SessionOptions(max_seconds=most), replace(written, seconds=30.0)) for most in (100, 20, None)]
    assert taken == [30, 19, 30]
    assert time_taken(SessionOptions(), replace(written, seconds=30.0, calls=0)) == 0


def test_the_time_that_a_draft_took_is_the_sessions_from_its_first_event_on(gather, tmp_path):
    options = SessionOptions(device="recorded:none", strategy="search", max_seconds=10)
    run = create(tmp_path / "run", gather.problem, gather.file, options, None, problem_text=gather.text, elapsed=9.5)
    run.journal.close()
    assert open_run(run.path, resume=False).journal.last_elapsed == 9.5
    assert run.options.max_seconds == 10


@pytest.mark.slow
def test_a_draft_that_does_not_hold_twice_leaves_that_of_the_rules(gather):
    model = Answers(*[reply(-(10**6))] * 2)
    written = drafted_by(model, gather)
    told = "\n".join(assumptions(written))
    assert "the draft of scripted does not hold" in told
    assert "the model's" not in written.text
    assert not model.left


ROOT = """\
__global__ void root(float *to, const float *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = sqrtf(from[i]);
}
"""


def said_of_root(fill, **changes):
    """What a model says of the kernel `root`, with this fill of its input."""
    arrays = [
        {"name": name, "elements": "n", "output": output, "fill": what, "low": None, "high": None}
        for name, output, what in (("to", True, None), ("from", False, fill))
    ]
    said = json.loads(reply(tests=(), flops="n", bytes="8 * n"))
    said |= {"sizes": [size_of("n", 4096)], "arrays": arrays, "scalars": [{"name": "n", "value": "n"}]}
    said["launch"] |= {"problem_size": ["n"], "grid_div_x": []}
    return json.dumps(said | changes)


@pytest.mark.slow
def test_a_model_is_told_what_came_of_running_the_draft_and_a_worse_one_leaves_that_of_the_rules(tmp_path):
    file = tmp_path / "root.cu"
    file.write_text(ROOT)
    model = Answers(*[said_of_root("normal")] * 2)
    written = drafted_by(model, problem_of(file))
    assert "<outcome>\nrun on the emulator as given at n = " in model.asked[0]
    assert "elements of to are no number" in model.asked[1]
    assert "the draft of scripted does not hold as well (run on the emulator" in "\n".join(assumptions(written))
    assert "negative numbers gave what is no number" in written.text
    better = drafted_by(Answers(said_of_root("uniform")), problem_of(file))
    assert 'fill = "uniform"  # a guess: the model\'s, check' in better.text


OPEN = """\
__global__ void scaled(REAL *to, const REAL *from, int n)
{
    __shared__ REAL part[TILE];
    int i = blockIdx.x * TILE + threadIdx.x;
    part[threadIdx.x] = i < n ? from[i] : 0;
    __syncthreads();
    if (i < n) to[i] = part[threadIdx.x] * 2;
}
"""


@pytest.mark.slow
def test_a_model_states_macros_of_the_build_and_the_kernel_is_built_with_them(tmp_path):
    file = tmp_path / "scaled.cu"
    file.write_text(OPEN)
    macros = [{"name": "REAL", "value": "double"}, {"name": "TILE", "value": 128}]
    said = said_of_root(None, macros=macros, bytes="16 * n")
    more = json.loads(said)["macros"] + [{"name": "n", "value": "4"}, {"name": "to", "value": "-I/"}]
    model = Answers(said_of_root(None, macros=more), said)
    written = drafted_by(model, problem_of(file))
    assert "not run before" in model.asked[0]
    assert "macros: the kernel's file itself says what 'n' is" in model.asked[1]
    assert 'compiler_options = ["-DREAL=double"]  # a guess: the model\'s, check' in written.text
    assert [one.dtype for one in written.problem.arguments] == ["float64", "float64", "int32"]
    assert (written.problem.launch.block_size, written.problem.defaults) == (["TILE"], {"TILE": 128})
    assert "run on the emulator as given" in written.doubts[0]


@pytest.mark.slow
def test_a_model_whose_macros_do_not_suffice_is_told_what_the_kernel_lacks_still(tmp_path):
    file = tmp_path / "scaled.cu"
    file.write_text(OPEN)
    macros = [{"name": "REAL", "value": "double"}, {"name": "TILE", "value": "128"}]
    model = Answers(*[said_of_root(None, macros=macros[:number], bytes="") for number in (1, 2)])
    written = drafted_by(model, problem_of(file))
    assert re.search("not run before: .*TILE", model.asked[1])
    assert written.problem.defaults == {"TILE": 128}


def test_no_model_is_asked_about_a_kernel_whose_headers_are_not_there(tmp_path):
    file = tmp_path / "root.cu"
    file.write_text('#include "missing.h"\n' + ROOT.replace("sqrtf", "root_of"))
    model = Answers()
    with pytest.raises(ProblemError, match=r"not found: missing\.h"):
        drafted_by(model, problem_of(file))
    assert not model.asked


EMPTY = ROOT + "int main() { float *a, *b; int n = 0; root<<<0, 64>>>(a, b, n); }\n"


@pytest.mark.slow
def test_a_model_is_asked_where_the_draft_of_the_rules_says_what_is_not_possible(tmp_path):
    file = tmp_path / "root.cu"
    file.write_text(EMPTY)
    with pytest.raises(Unloaded, match="extent '0' is 0") as caught:
        problem_of(file)

    def mended_by(model):
        return asyncio.run(confirmed(caught.value, OPTIONS, Settings(), model))

    model = Answers(said_of_root("uniform"))
    written = mended_by(model)
    assert "<outcome>\nthe problem drafted from the source does not hold: argument 'to': " in model.asked[0]
    assert 'shape = ["0"]  # a guess: check' in model.asked[0]
    assert (written.problem.sizes, written.calls) == ({"n": 2**20}, 1)
    assert "run on the emulator as given" in written.doubts[0]
    with pytest.raises(Unloaded, match="extent '0' is 0"):
        mended_by(Answers(*[said_of_root("uniform", scalars=[])] * 2))
    with pytest.raises(Unloaded, match="extent '0' is 0"):
        asyncio.run(confirmed(caught.value, SessionOptions(device="emulator", llm="none"), Settings()))


@pytest.mark.slow
def test_a_session_begins_with_the_draft_of_a_model_where_that_of_the_rules_says_what_is_not_possible(tmp_path):
    file, said = tmp_path / "root.cu", tmp_path / "said.json"
    file.write_text(EMPTY)
    said.write_text(said_of_root("uniform"))
    options = SessionOptions(device="emulator", llm=f"command:cat {said}")
    setup = asyncio.run(new_session(file, options, Settings(), tmp_path / "run"))
    setup.run.journal.close()
    assert setup.run.problem.sizes == {"n": 2**20}
    assert any("drafted by command:cat" in one for one in setup.notes)


@pytest.mark.slow
def test_from_python_a_model_is_asked_once_where_the_draft_of_the_rules_does_not_load(tmp_path):
    file = tmp_path / "root.cu"
    file.write_text(EMPTY)
    for model in (Answers(said_of_root("uniform")), Answers()):
        choices = {"device": "emulator", "model": model, "run_directory": tmp_path / "run"}
        setup = asyncio.run(prepare(file, choices))
        setup.run.journal.close()
        assert setup.run.problem.sizes == {"n": 2**20}
        assert not model.left


@pytest.mark.slow
def test_a_mistake_in_the_rules_that_a_model_brings_about_leaves_the_draft_of_the_rules(tmp_path, monkeypatch):
    def mistaken(*_):
        raise IndexError("no such axis")

    monkeypatch.setattr("tui_tuner.app.draft_by_model.facts_of", mistaken)
    file = tmp_path / "root.cu"
    file.write_text(ROOT)
    written = drafted_by(Answers(said_of_root("uniform")), problem_of(file))
    assert "run on the emulator as given" in written.doubts[0]
    assert written.of_model == (
        "the draft of scripted could not be written, by a mistake of this program (IndexError: no such axis)",
    )


@pytest.mark.slow
def test_what_came_of_a_model_is_told_where_no_draft_holds(tmp_path):
    file = tmp_path / "flag.cu"
    file.write_text(ROOT.replace("sqrtf(from[i])", "0 * from[i] == from[i]").replace("float *to", "int *to"))
    said: list[str] = []
    options = SessionOptions(device="emulator", max_calls=0)
    with pytest.raises(ProblemError, match="does not hold"):
        asyncio.run(confirmed(problem_of(file), options, Settings(), Answers(), tell=said.append))
    assert said[-1] == "scripted gave no draft (the budget allows no call): drafted by rules alone"


def test_a_run_is_gone_on_with_in_the_draft_that_it_began_with(gather, tmp_path):
    problem, file = gather.problem, gather.file
    text = gather.text.replace("[sizes]", "[sizes]\nwidth = 7", 1).replace("width = 1024", "", 1)
    run = create(tmp_path / "run", problem, file, OPTIONS, None, problem_text=text)
    run.journal.close()
    begun = as_begun(gather, run.path)
    assert (begun.text, begun.problem.sizes["width"], begun.is_drafted) == (text, 7, False)
    other = replace(gather, problem=problem.model_copy(update={"source_text": "another"}))
    assert as_begun(other, run.path) is None
    assert as_begun(gather, tmp_path) is None


@pytest.mark.parametrize(
    "more", [[], [{"name": "p.wide", "value": "32"}], [{"name": "p", "value": "1"}], [{"name": "wide", "value": "32"}]]
)
def test_a_model_need_not_say_what_a_structure_that_is_passed_by_value_holds(tmp_path, more):
    file = tmp_path / "gather.cu"
    file.write_text(
        "struct P { int wide; float by; };\n" + GATHER.replace("int width", "P p").replace("width", "p.wide")
    )
    text = json.loads(reply())
    text["scalars"] = [one for one in text["scalars"] if one["name"] != "width"] + more
    kernel = to_draft(file, problem_of(file), "")
    said = DraftReply.model_validate(text)
    assert faults_of(said, kernel) == []
    (given,) = [one.members for one in kernel.problem_of(facts_of(said, kernel)).arguments if one.members]
    assert [one.value for one in given] == [32 if more and "wide" in more[0]["name"] else 1, 1.5]


@pytest.mark.parametrize("listed", [True, False])
def test_a_model_says_of_arrays_that_a_structure_points_to_what_it_says_of_others(tmp_path, listed):
    file = tmp_path / "gather.cu"
    source = GATHER.replace("const float *table", "P p").replace("table[", "p.table[")
    file.write_text("struct P { const float *table; };\n" + source)
    text = json.loads(reply())
    for one in text["arrays"]:
        one["name"] = one["name"].replace("table", "p_table")
    text["arrays"] = [one for one in text["arrays"] if listed or one["name"] != "p_table"]
    kernel = to_draft(file, problem_of(file), "")
    said = DraftReply.model_validate(text)
    assert faults_of(said, kernel) == []
    shapes = {one.name: one.shape for one in kernel.problem_of(facts_of(said, kernel)).arguments}
    assert (shapes["p_table"] == ["rows"]) is listed
    assert shapes["places"] == ["rows"]


def test_what_the_host_says_stays_whatever_a_model_says(tmp_path):
    file = tmp_path / "gather.cu"
    file.write_text(GATHER + "int main() { int count = 5000; gather<<<count, 64>>>(a, b, c, count, 32); }\n")
    kernel = to_draft(file, problem_of(file), "")
    written = draft_of(file, None, facts=facts_of(DraftReply.model_validate_json(reply(tests=[7])), kernel))
    assert written.problem.sizes["rows"] == 5000
    assert written.problem.default_configuration == {"block_size_x": 64}
    assert "rows = 5000  # as the host has it" in written.text
    assert written.problem.sizes["width"] == 32
    assert written.problem.launch.problem_size == ["rows"]
    assert written.problem.tests[1].sizes == {"rows": 7}


CONVOLUTION = """
#define RADIUS 3
__constant__ int mask[2 * RADIUS + 1];
struct Sphere { float x; int y; };
__constant__ Sphere spheres[4];
__device__ int weight(int k) { return mask[k + RADIUS]; }
__global__ void convolve(int *out, const int *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    if (i >= n) return;
    for (int k = -RADIUS; k <= RADIUS; k++) if (i + k >= 0 && i + k < n) sum += weight(k) * in[i + k];
    out[i] = sum + spheres[0].y;
}
int main()
{
    int n = 4096;
    cudaMemcpyToSymbol(mask, h_mask, sizeof(mask));
    cudaMemcpyToSymbol(spheres, s, sizeof(spheres));
    convolve<<<n / 128, 128>>>(out, in, n);
}
"""


@pytest.mark.slow
def test_constant_memory_that_the_host_fills_is_filled_in_a_draft_too(tmp_path):
    file = tmp_path / "convolution.cu"
    file.write_text(CONVOLUTION)
    written = drafted(file)
    mask = written.problem.arguments[-1]
    assert (mask.name, mask.dtype, mask.shape, mask.constant) == ("mask", "int32", [7], True)
    told = "\n".join(assumptions(written))
    assert "mask int32[7] (as it is declared)" in told
    assert "constant memory that the host fills is all zeros here: spheres" in told


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "mask"', 'name = "masks"', "the source has no __constant__ variable 'masks'"),
        ("constant = true", "constant = true\noutput = true", "is constant memory, which no kernel writes"),
        ("constant = true", "", "the kernel has no argument 'mask'"),
    ],
)
def test_constant_memory_that_is_none_is_refused_with_its_line(tmp_path, old, new, said):
    file = tmp_path / "convolution.cu"
    file.write_text(CONVOLUTION)
    text = problem_of(file).text.replace(old, new)
    with pytest.raises(ProblemError, match=said) as caught:
        problem_in_text(text, file.with_suffix(".toml"))
    assert caught.value.line


@pytest.mark.parametrize(("number", "size", "tested", "word"), [(4, 16384, 16360, "doubled"), (-2, 256, 232, "halved")])
def test_sizes_that_nobody_states_suit_the_gpu(tmp_path, number, size, tested, word):
    file = tmp_path / "add.cu"
    file.write_text(
        "__global__ void add(float *c, const float *a, int width, int height) {\n"
        "int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;\n"
        "if (x < width && y < height) c[y * width + x] = a[y * width + x]; }\n"
    )

    class Fitting:
        where, long_s = "the emulator", 1.0

        async def outcome(self, problem, _):
            return TrialResult(None)

        async def doublings(self, problem, drafted):
            assert problem.sizes == (await drafted(0)).sizes == {"width": 1024, "height": 1024}
            return number, 0.25

    held = asyncio.run(Amending(file, problem_of(file), Fitting()).held())
    assert held.problem.sizes == {"width": size, "height": size}
    assert held.problem.tests[0].sizes == {"width": tested, "height": tested * 3 // 4}  # no one taken for the other
    assert held.problem.emulator.sizes == {"width": 128, "height": 128}
    assert held.doubts[-1] == f"sizes {word} until a launch took 0.25 ms"


def test_sizes_that_the_host_states_are_not_doubled(tmp_path):
    file = tmp_path / "rows.cu"
    file.write_text(
        "__global__ void k(float *to, int n) { int i = blockIdx.x * 128 + threadIdx.x; if (i < n) to[i] = i; }\n"
        "int main() { int n = 8192; k<<<(n + 127) / 128, 128>>>(to, n); }\n"
    )
    assert draft_of(file, None, amendments=Amendments(doublings=3)).problem.sizes == {"n": 8192}


GROWN = """\
__kernel void pairs(__global int *to, __global const float *from, const int n)
{
    int i = get_global_id(0);
    if (i < n) to[i] = from[i] > 0 ? i : -i;
    if (i == 0) to[n] = n;
}
"""


@pytest.mark.slow
@pytest.mark.opencl
def test_a_draft_in_opencl_is_run_on_the_device_and_amended(tmp_path):
    file = tmp_path / "pairs.cl"
    file.write_text(GROWN)
    (tmp_path / "main.c").write_text("int main() { return 0; }\n")
    written = asyncio.run(
        confirmed(problem_of(file, host=tmp_path / "main.c"), SessionOptions(device="opencl"), Settings())
    )
    shapes = {one.name: one.shape for one in written.problem.arguments}
    assert shapes["to"] == ["2 * n"]
    told = "\n".join(assumptions(written))
    assert "main.c launches it nowhere that could be read, so what the host has is guessed" in told
    assert "run on the OpenCL device as given at n = " in told
    assert "it writes inside its arrays alone, what is written is what is compared" in told


BUILT = """\
__kernel __attribute__((reqd_work_group_size(TILE, 1, 1)))
void sums(__global float *to, __global const float *from, __local float *part, const int n)
{
    int i = get_local_id(0), g = get_global_id(0);
    part[i] = g < n ? TIMES * from[g] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = TILE / 2; s > 0; s /= 2) { if (i < s) part[i] += part[i + s]; barrier(CLK_LOCAL_MEM_FENCE); }
    if (i == 0) to[get_group_id(0)] = part[0];
}
"""
BUILDS = """\
int main() { const int tile = 64; int n = 8192; char how[64]; sprintf(how, "-DTILE=%d -DTIMES=2", tile);
clBuildProgram(p, 1, &d, how, NULL, NULL); cl_kernel k = clCreateKernel(p, "sums", &e);
cl_mem a = clCreateBuffer(c, 0, n * sizeof(float), NULL, &e);
cl_mem b = clCreateBuffer(c, 0, (n + tile - 1) / tile * sizeof(float), NULL, &e);
clSetKernelArg(k, 0, sizeof b, &b); clSetKernelArg(k, 1, sizeof a, &a);
clSetKernelArg(k, 2, tile * sizeof(float), NULL);
clSetKernelArg(k, 3, sizeof n, &n); size_t g = n, l = tile;
clEnqueueNDRangeKernel(q, k, 1, NULL, &g, &l, 0, NULL, NULL); }
"""


@pytest.mark.slow
@pytest.mark.opencl
def test_local_memory_and_what_the_host_builds_with_are_drafted_and_run(tmp_path):
    file, host = tmp_path / "sums.cl", tmp_path / "main.c"
    file.write_text(BUILT)
    host.write_text(BUILDS)
    written = asyncio.run(confirmed(problem_of(file, host=host), SessionOptions(device="opencl"), Settings()))
    assert (written.problem.defaults, written.problem.kernel.compiler_options) == ({"TILE": 64}, ["-DTIMES=2"])
    told = "\n".join(assumptions(written))
    assert "  local       part float32[TILE] (elements of a work-group, as the host has it)\n" in told
    assert "run on the OpenCL device as given at n = 8192" in told


@pytest.mark.slow
@pytest.mark.opencl
def test_a_macro_that_only_the_host_knows_is_named_with_what_to_write(tmp_path):
    file, host = tmp_path / "sums.cl", tmp_path / "main.c"
    file.write_text(BUILT)
    host.write_text(BUILDS.replace("-DTIMES=2", "-DTIMES=%f").replace('", tile)', '", tile, asked(v))'))
    with pytest.raises(ProblemError, match=r"TIMES is not known, which main.c builds it with \(-DTIMES\)") as caught:
        asyncio.run(confirmed(problem_of(file, host=host), SessionOptions(device="opencl"), Settings()))
    assert 'compiler_options = ["-DTIMES=..."]' in caught.value.hint


def refused_in_opencl(file, source, words):
    """What is said of a kernel whose draft does not hold, with these words in it."""
    file.write_text(source)
    with pytest.raises(ProblemError, match=words) as caught:
        asyncio.run(confirmed(problem_of(file), SessionOptions(device="opencl"), Settings()))
    return caught.value


@pytest.mark.slow
@pytest.mark.opencl
def test_a_draft_in_opencl_that_does_not_hold_says_where_and_what_to_write(tmp_path):
    file = tmp_path / "still.cl"
    source = "\n__kernel void still(__global int *to, const int n) { if (n < 0) to[get_global_id(0)] = n; }\n"
    refused = refused_in_opencl(file, source, "a kernel that computes nothing")
    assert (refused.file, refused.line) == (file, 2)
    assert f"tuner-tui init {file} --kernel still" in refused.hint


@pytest.mark.slow
@pytest.mark.opencl
def test_a_macro_that_nobody_states_is_named_with_where_to_give_it(tmp_path):
    source = "__kernel void k(__global float *to) { __local float part[GROUP]; part[0] = 1; to[0] = part[0]; }"
    refused = refused_in_opencl(tmp_path / "k.cl", source, "does not build: GROUP is not known")
    assert 'and give its value in [kernel]: compiler_options = ["-DGROUP=..."]' in refused.hint


@pytest.mark.slow
@pytest.mark.opencl
def test_a_crash_of_an_opencl_kernel_says_what_may_be_too_small_and_who_may_know(tmp_path):
    source = "__kernel void far(__global int *to, const int n) { to[(long)n * get_global_id(0)] = n; }\n"
    refused = refused_in_opencl(tmp_path / "far.cl", source, r"crash: .*(SIGSEGV|while it ran)")  # on a CPU, on a GPU
    assert "shape says how large an array is" in refused.hint
    assert "--host FILE names the code that allocates it" in refused.hint


SCALED = """\
#define THREADS 128
__constant__ float table[THREADS];
__global__ void scale(float* x, const int* ends, int n) {
    __shared__ float part[THREADS];
    part[threadIdx.x] = table[threadIdx.x];
    __syncthreads();
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n && ends[i] <= ends[i + 1]) x[i] *= part[threadIdx.x];
}
void host(float* x, int* ends, const float* t, int n) {
    cudaMemcpyToSymbol(table, t, sizeof(table));
    scale<<<(n + THREADS - 1) / THREADS, THREADS>>>(x, ends, n);
}
"""


def test_a_reply_may_name_what_the_draft_shows_and_count_what_is_read_and_written_twice(tmp_path):
    file = tmp_path / "scale.cu"
    file.write_text(SCALED)
    drafted = to_draft(file, problem_of(file), "")
    arrays = [
        ("x", "n", True, "normal", None),
        ("ends", "n + 1", False, "offsets", "n"),
        ("table", "128", False, None, None),
    ]
    said = {
        "sizes": [size_of("n", 4096)],
        "launch": {"problem_size": ["n"], "block_size": ["THREADS"], "shared_memory": "0"}
        | {f"grid_div_{axis}": [] for axis in "xyz"},
        "arrays": [
            {
                "name": name,
                "elements": size,
                "output": output,
                "fill": fill,
                "low": None if high is None else 0,
                "high": high,
            }
            for name, size, output, fill, high in arrays
        ],
        "macros": [],
        "scalars": [{"name": "n", "value": "n"}],
        "tests": [],
        "flops": "n",
        "bytes": "8 * n + 4 * (n + 1) + 512",
        "unsure": [],
    }
    read = DraftReply.model_validate(said)
    assert faults_of(read, drafted) == []
    fills = {one.name: one.fill for one in drafted.problem_of(facts_of(read, drafted)).arguments}
    assert fills["ends"] == "offsets"
    more = read.model_copy(update={"bytes": "8 * n + 4 * (n + 1) + 513"})
    assert faults_of(more, drafted) == [
        "bytes: 8 * n + 4 * (n + 1) + 513 is 49669, but all arrays together hold 49668, those read and written twice"
    ]


def test_who_is_interrupted_waits_for_no_draft():
    left = threading.Event()

    async def interrupted() -> None:
        task = asyncio.create_task(off_the_loop(left.wait, 60))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert not left.is_set(), "it is at work still"
    left.set()


def test_what_is_wrong_with_a_draft_is_raised_where_it_is_awaited(tmp_path):
    with pytest.raises(ProblemError, match="there is no kernel file"):
        asyncio.run(off_the_loop(problem_of, tmp_path / "missing.cu"))


TABLES = """\
namespace outer { namespace inner {
struct Tables { float a[4]; float b[2][2]; };
__device__ __constant__ Tables tables;
__global__ void looked_up(const int *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = tables.a[x[i] & 3] * tables.b[1][x[i] & 1];
}
void up(const Tables &t) { cudaMemcpyToSymbol(tables, &t, sizeof(Tables)); }
RUN
} }
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "run", ["void run(int *x, float *y, int n) { looked_up<<<(n + 255) / 256, 256>>>(x, y, n); }", ""]
)
def test_constant_memory_in_a_namespace_is_filled_also_where_the_host_only_fills_it(tmp_path, run):
    file = tmp_path / "tables.cu"
    file.write_text(TABLES.replace("RUN", run))
    written = drafted(file)
    assert next(one.constant for one in written.problem.arguments if one.name == "tables")
    assert any("every output is written" in one for one in written.doubts)


REVERSED = """\
__kernel void reversed(__global float *to, __global const float *from, __local float *part, int n)
{
    int i = get_global_id(0), l = get_local_id(0), own = get_local_size(0);
    part[2 * l] = i < n ? from[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) to[i] = part[2 * (own - 1 - l)];
}
"""


def said_of_reversed(local, **changes):
    """What a model says of the kernel `reversed`, with so many elements of local memory."""
    said = json.loads(said_of_root("uniform"))
    part = {"name": "part", "elements": local, "output": False, "fill": None, "low": None, "high": None}
    return json.dumps(said | {"arrays": [*said["arrays"], part]} | changes)


def test_a_model_says_how_much_local_memory_a_kernel_in_opencl_has(tmp_path):
    file = tmp_path / "reversed.cl"
    file.write_text(REVERSED)
    kernel = to_draft(file, problem_of(file), "")
    said = DraftReply.model_validate_json(said_of_reversed("2 * block_size_x"))
    assert (kernel.language, faults_of(said, kernel)) == ("opencl", [])
    assert [one.local for one in kernel.problem_of(facts_of(said, kernel)).arguments][2] == "2 * block_size_x"
    other = DraftReply.model_validate_json(said_of_reversed("2 * n * nowhere"))
    assert "arrays, part: elements: unknown name 'nowhere'" in faults_of(other, kernel)[0]


@pytest.mark.slow
@pytest.mark.opencl
def test_a_model_states_a_macro_without_which_no_device_builds_a_kernel_in_opencl(tmp_path):
    file = tmp_path / "reversed.cl"
    file.write_text(REVERSED.replace("from[i] : 0", "from[i] * TIMES : 0"))
    model = Answers(said_of_reversed("2 * block_size_x", macros=[{"name": "TIMES", "value": "3"}]))
    written = asyncio.run(confirmed(problem_of(file), SessionOptions(device="opencl"), Settings(), model))
    assert "<outcome>\nreversed() does not build: TIMES is not known" in model.asked[0]
    assert written.problem.kernel.compiler_options == ["-DTIMES=3"]


@pytest.mark.slow
@pytest.mark.opencl
def test_a_model_is_asked_about_a_kernel_in_opencl_too(tmp_path):
    file = tmp_path / "reversed.cl"
    file.write_text(REVERSED)
    model = Answers(said_of_reversed("2 * block_size_x"))
    written = asyncio.run(confirmed(problem_of(file), SessionOptions(device="opencl"), Settings(), model))
    assert '<kernel language="opencl" name="reversed">' in model.asked[0]
    assert 'local = "2 * block_size_x"  # a guess: the model\'s, check' in written.text
    assert any("drafted by scripted" in one for one in written.of_model)
