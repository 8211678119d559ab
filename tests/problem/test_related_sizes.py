"""What sizes of a draft have to do with each other: one constant of the host's, multiples, rows; no kernel is built."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted
from tui_tuner.problem.draft.amendments import Amendments
from tui_tuner.problem.draft.problem_file import scaffold

SPREAD = """\
__global__ void spread(const float *x, float *y, float *top, int width, int parts) {
    int row = blockIdx.x / parts, part = blockIdx.x % parts, each = width / parts;
    OWN float most = 0;
    for (int i = threadIdx.x; i < each; i += blockDim.x) {
        float v = x[row * width + part * each + i];
        most = fmaxf(most, v);
        y[row * width + part * each + i] = 2 * v;
    }
    if (threadIdx.x == 0) top[blockIdx.x] = most;
}
"""
SPREADS = """\
constexpr int ROWS = 6, WIDE = 480, PARTS = 24;
HEAD
KERNEL
int main() {
    float *x, *y, *top;
    cudaMalloc(&x, ROWS * WIDE * sizeof(float));
    cudaMalloc(&y, ROWS * WIDE * sizeof(float));
    cudaMalloc(&top, ROWS * PARTS * sizeof(float));
    spread<<<ROWS * PARTS, 128>>>(x, y, top, WIDE, PARTS);
}
"""


def spreads(head: str, own: str = "") -> str:
    return SPREADS.replace("HEAD", head).replace("KERNEL", SPREAD.replace("OWN", own))


def all_sizes(problem):
    """The sizes that are timed, and those of each test, of the emulator too."""
    emulated = [problem.emulator.sizes, *(one.sizes for one in problem.emulator.tests)]
    return [problem.sizes, *(one.sizes for one in problem.tests), *emulated]


@pytest.mark.parametrize(
    "head",
    [
        "",
        'static_assert(WIDE % PARTS == 0, "parts are whole");',
        "__device__ float other(float x) { return x + 1; }\nstatic_assert(WIDE >= PARTS);",
    ],
)
def test_a_constant_that_is_passed_is_the_same_size_in_shapes_and_launch(tmp_path, head):
    problem, _ = drafted(tmp_path, spreads(head))
    assert problem.launch.problem_size == ["ROWS * parts"]
    assert [one.shape for one in problem.arguments[:3]] == [["ROWS * width"], ["ROWS * width"], ["ROWS * parts"]]
    assert [one.value for one in problem.arguments[3:]] == ["width", "parts"]


def test_a_constant_that_another_kernel_reads_is_a_size_of_the_one_that_is_passed_it(tmp_path):
    others = "__global__ void other(float *x) { x[threadIdx.x] += WIDE + PARTS; }"
    kernel = tmp_path / "kernel.cu"
    kernel.write_text(spreads(others))
    text = scaffold(kernel, "spread")
    assert 'problem_size = ["ROWS * parts"]' in text
    assert text.count('shape = ["ROWS * width"]') == 2


def test_a_constant_that_the_kernel_itself_reads_stays_what_it_is_where_it_is_passed_too(tmp_path):
    problem, _ = drafted(tmp_path, spreads("", "__shared__ float kept[WIDE];"))
    assert problem.arguments[0].shape == ["ROWS * 480"]
    assert problem.arguments[3].value == 480
    assert "width" not in problem.sizes


@pytest.mark.parametrize("head", ["", "static_assert(WIDE % PARTS == 0);"])
def test_a_size_that_the_kernel_divides_by_another_is_a_multiple_in_all_tests(tmp_path, head):
    problem, _ = drafted(tmp_path, spreads(head))
    assert [sizes["width"] % sizes["parts"] for sizes in all_sizes(problem)] == [0] * 5
    assert len({sizes["width"] for sizes in all_sizes(problem)}) > 2


PRODUCT = """\
__global__ void product(const float *a, const float *b, float *c, int m, int n, int k, int lda, int ldb, int ldc) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += a[row * lda + i] * b[i * ldb + column];
    c[row * ldc + column] = sum;
}
"""
ROWS = """\
__global__ void rows(const float *from, float *to, int m, int k, int apart) {
    const float *row = from + (size_t)blockIdx.x * apart;
    if (blockIdx.x >= m) return;
    for (int i = threadIdx.x; i < k; i += blockDim.x) to[blockIdx.x * k + i] = row[i];
}
"""
WINDOWS = """\
__global__ void windows(const float *from, float *to, int frames, int hop, int window) {
    for (int i = threadIdx.x; i < window; i += blockDim.x) to[blockIdx.x * window + i] = from[blockIdx.x * hop + i];
}
void run(const float *from, float *to, int frames) { windows<<<frames, 128>>>(from, to, frames, 160, 400); }
"""


@pytest.mark.parametrize(
    "host",
    [
        "",
        "void run(const float *a, const float *b, float *c, int m, int n, int k, int lda, int ldb, int ldc) {"
        " dim3 grid((n + 15) / 16, (m + 15) / 16);"
        " product<<<grid, dim3(16, 16)>>>(a, b, c, m, n, k, lda, ldb, ldc); }\n",
    ],
    ids=["alone", "a host"],
)
@pytest.mark.parametrize("tested", ["", "apart", "all", "half"])
def test_rows_lie_no_closer_in_any_test_than_they_are_long(tmp_path, host, tested):
    problem, _ = drafted(tmp_path, PRODUCT + host, Amendments(tested=tested))
    for sizes in all_sizes(problem):
        assert sizes["lda"] >= sizes["k"]
        assert min(sizes["ldb"], sizes["ldc"]) >= sizes["n"]


@pytest.mark.parametrize("tested", ["", "apart"])
def test_a_distance_of_rows_by_any_name_holds_a_row(tmp_path, tested):
    problem, _ = drafted(tmp_path, ROWS, Amendments(tested=tested))
    assert all(sizes["apart"] >= sizes["k"] for sizes in all_sizes(problem))


def test_windows_that_overlap_in_what_is_timed_do_so_in_tests(tmp_path):
    problem, _ = drafted(tmp_path, WINDOWS)
    assert all(sizes["hop"] < sizes["window"] for sizes in all_sizes(problem))
