"""Sizes that drafts take of tensors, by what the host asks of them; no kernel is built here."""

from __future__ import annotations

import math

import pytest

from tests.problem.examples import drafted
from tui_tuner.problem.expressions import evaluate

ONE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def of_all(problem):
    """The sizes of all that is run: timed and tested, and on the emulator."""
    return [problem.sizes, problem.emulator.sizes, *(one.sizes for one in (*problem.tests, *problem.emulator.tests))]


def elements(problem, sizes):
    """How many elements each array has at sizes."""
    shapes = {one.name: one.shape for one in problem.arguments if one.shape}
    return {name: math.prod(int(evaluate(text, sizes)) for text in shape) for name, shape in shapes.items()}


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


MIXED = (
    "template <typename scalar_t> __global__ void k(const scalar_t *x, const scalar_t *table, const int64_t *chosen,"
    " scalar_t *out, int64_t rows, int64_t inner, int64_t outer, int64_t some, int64_t numel) {"
    " const int64_t at = blockIdx.x * blockDim.x + threadIdx.x;"
    " const int64_t row = at / outer, column = at % outer; if (at < numel) { scalar_t sum = 0;"
    " for (int64_t s = 0; s < some; s++) { const int64_t one = chosen[row * some + s];"
    " for (int64_t i = 0; i < inner; i++)"
    " sum += x[row * inner + i] * table[one * inner * outer + i * outer + column]; }"
    " out[row * outer + column] += sum; } }\n"
    "void run(torch::Tensor out, torch::Tensor x, torch::Tensor table, torch::Tensor chosen) {"
    " auto rows = out.size(0), outer = out.size(1), inner = x.size(1), some = chosen.size(1);"
    ' AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "k", [&] {'
    " k<scalar_t><<<(out.numel() + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), table.data_ptr<scalar_t>(),"
    " chosen.data_ptr<int64_t>(), out.data_ptr<scalar_t>(), rows, inner, outer, some, out.numel()); }); }\n"
)


def test_all_elements_of_a_tensor_whose_extents_are_asked_are_their_product_and_divide_into_them(tmp_path):
    problem, text = drafted(tmp_path, MIXED)
    assert problem.launch.problem_size == ["rows * outer"], text
    assert next(one.value for one in problem.arguments if one.name == "numel") == "rows * outer"
    assert elements(problem, {"rows": 7, "inner": 5, "outer": 3, "some": 2}) == {
        "x": 7 * 5,
        "table": 7 * 5 * 3,
        "chosen": 7 * 2,
        "out": 7 * 3,
    }, text


def test_an_element_says_a_part_of_which_others_count_rows_and_places(tmp_path):
    problem, text = drafted(tmp_path, MIXED)
    chosen = next(one for one in problem.arguments if one.name == "chosen")
    assert evaluate(str(chosen.high), {"rows": 7, "inner": 5, "outer": 3, "some": 2}) == 7, text


@pytest.mark.parametrize("place", ["j", "(i + j) % 2"])
def test_a_tensor_has_more_than_the_extents_that_are_asked_of_it_where_the_kernel_goes_further(tmp_path, place):
    problem, text = drafted(
        tmp_path,
        f"__global__ void k(const float *corners, float *area, int groups, int each, int size) {{ {ONE}"
        " if (i >= groups * each) return; const float *own = &corners[i * 6]; int first[2] = {0, 1}; float sum = 0;"
        f" for (int j = 0; j < 2; j++) sum += own[3 * first[{place}]] * size; area[i] = sum; }}\n"
        "void run(torch::Tensor corners, torch::Tensor area, int size) {"
        " const auto groups = corners.size(0); const auto each = corners.size(1);"
        " k<<<(groups * each + 127) / 128, 128>>>(corners.data_ptr<float>(), area.data_ptr<float>(), groups, each,"
        " size); }\n",
    )
    assert elements(problem, {"groups": 5, "each": 7, "size": 3}) == {"corners": 6 * 5 * 7, "area": 5 * 7}, text


def test_a_tensor_may_be_made_of_one_extent_that_is_worked_out(tmp_path):
    problem, text = drafted(
        tmp_path,
        f"__global__ void k(const int *x, int *first, int n) {{ {ONE} if (i <= n) first[i] = x[i < n ? i : 0]; }}\n"
        "torch::Tensor run(torch::Tensor x, int n) { auto first = torch::empty(n + 1, x.options());"
        " k<<<(n + 128) / 128, 128>>>(x.data_ptr<int>(), first.data_ptr<int>(), n); return first; }\n",
    )
    first = next(one for one in problem.arguments if one.name == "first")
    assert first.shape is not None
    assert evaluate(first.shape[0], {"n": 100}) == 101
    assert "as the host allocates it" in text


def test_a_power_that_the_host_rounds_is_whole(tmp_path):
    problem, text = drafted(
        tmp_path,
        f"__global__ void k(float *y, int n, int corners) {{ {ONE} if (i < n * corners) y[i] = i % corners; }}\n"
        "void run(torch::Tensor y, int n, int axes) { auto corners = (int64_t)(powf(2, axes) + 0.5);"
        " k<<<(n * corners + 127) / 128, 128>>>(y.data_ptr<float>(), n, corners); }\n",
    )
    corners = next(one.value for one in problem.arguments if one.name == "corners")
    assert evaluate(str(corners), {"axes": 3, "n": 4, "corners": 8}) == 8, text


def test_the_address_of_a_tensors_elements_says_their_type_whatever_others_of_that_name_are(tmp_path):
    _, text = drafted(
        tmp_path,
        "__global__ void other(const half2 *vec, half2 *out, int n);\n"
        f"template <typename scalar_t> __global__ void k(const scalar_t *vec, scalar_t *out, int n) {{ {ONE}"
        " if (i < n) out[i] = vec[i]; }\n"
        "void run(torch::Tensor vec, torch::Tensor out, int n) {"
        " k<<<(n + 127) / 128, 128>>>(vec.data<scalar_t>(), out.data<scalar_t>(), n); }\n",
    )
    assert 'name = "k<float>"' in text
