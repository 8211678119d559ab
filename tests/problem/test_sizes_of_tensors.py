"""Sizes that drafts take of tensors, by what the host asks of them; no kernel is built here."""

from __future__ import annotations

from tests.problem.examples import drafted
from tui_tuner.problem.expressions import evaluate

ONE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def of_all(problem):
    """The sizes of all that is run: timed and tested, and on the emulator."""
    return [problem.sizes, problem.emulator.sizes, *(one.sizes for one in (*problem.tests, *problem.emulator.tests))]


def test_rows_times_what_is_in_each_are_all_elements_of_a_tensor(tmp_path):
    problem, text = drafted(
        tmp_path,
        f"__global__ void k(float *p, const bool *on, int rows, int width) {{ {ONE}"
        " if (i / width < rows && on[i / width]) p[i] *= 2; }\n"
        "void run(at::Tensor p, at::Tensor on) { const int rows = p.size(0), width = p.numel() / rows;"
        " int all = rows * width;"
        " k<<<(all + 127) / 128, 128>>>(p.data_ptr<float>(), on.data_ptr<bool>(), rows, width); }\n",
    )
    width = next(one.value for one in problem.arguments if one.name == "width")
    assert problem.launch.problem_size == ["p_numel"]
    assert [evaluate(width, sizes) >= 4 for sizes in of_all(problem)] == [True] * 5, text
    assert [sizes["p_numel"] % sizes["rows"] for sizes in of_all(problem)] == [0] * 5, text


def test_one_less_than_an_extent_of_a_tensor_is_no_0(tmp_path):
    problem, text = drafted(
        tmp_path,
        f"__global__ void k(const float *x, const int *ends, int *to, int parts, int n) {{ {ONE} if (i >= n) return;"
        " int found = -1; for (int b = 0; b < parts; b++) if (i >= ends[b] && i < ends[b + 1]) found = b;"
        " to[i] = found; }\n"
        "void run(torch::Tensor x, torch::Tensor ends, torch::Tensor to) { k<<<(x.size(0) + 127) / 128, 128>>>("
        "x.data_ptr<float>(), ends.data_ptr<int>(), to.data_ptr<int>(), ends.size(0) - 1, x.size(0)); }\n",
    )
    parts = next(one.value for one in problem.arguments if one.name == "parts")
    assert parts == "ends_size_0 - 1"
    assert all(evaluate(parts, sizes) >= 8 for sizes in of_all(problem)), text


MULTIPLIED = (
    "__global__ void k(const float *a, const float *b, float *c, int M, int N, int K) {"
    " int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;"
    " for (int i = 0; i < K; i++) s += a[y * K + i] * b[i * N + x]; if (y < M && x < N) c[y * N + x] = s; }\n"
    "torch::Tensor run(torch::Tensor a, torch::Tensor b) { auto M = a.size(0), K = a.size(1), N = b.size(1);"
    " auto c = torch::empty({M, N}, a.options()); dim3 block(16, 16), grid((N + 15) / 16, (M + 15) / 16);"
    " k<<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), M, N, K); return c; }\n"
)


def test_extents_of_a_tensor_are_those_that_the_caller_makes_it_of(tmp_path):
    problem, text = drafted(
        tmp_path,
        MULTIPLIED + "int main() { int M = 512, K = 2048, N = 1024; auto a = torch::randn({M, K});"
        " auto b = torch::randn({K, N}); run(a.cuda(), b); }\n",
    )
    assert problem.sizes == {"M": 512, "N": 1024, "K": 2048}
    assert [one.shape for one in problem.arguments[:3]] == [["M * K"], ["K * N"], ["M * N"]], text


def test_as_many_elements_as_a_tensor_has_are_the_product_of_what_the_caller_makes_it_of(tmp_path):
    problem, text = drafted(
        tmp_path,
        f"__global__ void k(const float *x, float *to, int n) {{ {ONE} if (i < n) to[i] = x[i] * 2; }}\n"
        "torch::Tensor run(torch::Tensor x) { auto to = torch::empty_like(x); int n = x.numel();"
        " k<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), to.data_ptr<float>(), n); return to; }\n"
        "int main() { int rows = 16, width = 16384; auto x = torch::randn({rows, width}); run(x); }\n",
    )
    assert (problem.sizes, problem.launch.problem_size) == ({"rows": 16, "width": 16384}, ["rows * width"])
    assert [one.shape for one in problem.arguments[:2]] == [["rows * width"]] * 2, text
