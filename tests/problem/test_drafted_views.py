"""Kernels that take PyTorch's views of tensors: what a launch passes, and which extents are alike."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted
from tests.problem.test_drafted_extensions import held
from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.model import Problem

HEAD = "#include <torch/extension.h>\n"
KERNEL = """\
template <typename scalar_t>
__global__ void mixed(
    const torch::PackedTensorAccessor32<scalar_t, 3, torch::RestrictPtrTraits> parts,
    const VIEW<scalar_t, 1> scale,
    torch::PackedTensorAccessor32<scalar_t, 2, torch::RestrictPtrTraits> to)
{
    const int row = blockIdx.y, at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < to.size(1))
        to[row][at] = scale[at] * (parts[row][0][at] + parts[row][1][at] * parts[row][3][at]);
}
"""
HOST = """\
torch::Tensor other(torch::Tensor to) { const auto lines = to.size(0); return to + lines; }
torch::Tensor mixed_of(torch::Tensor parts, torch::Tensor scale)
{
    const auto rows = parts.size(0);
    const auto columns = scale.size(0);
    auto like = torch::empty({rows, columns}, parts.options());
    auto to = torch::zeros_like(like);
    const dim3 blocks((columns + 255) / 256, rows);
    AT_DISPATCH_FLOATING_TYPES(parts.scalar_type(), "mixed", ([&] {
        mixed<scalar_t><<<blocks, 256>>>(
            parts.packed_accessor32<scalar_t, 3,
                torch::RestrictPtrTraits>(),
            scale.PASSED<scalar_t, 1>(),
            to.packed_accessor32<scalar_t, 2, torch::RestrictPtrTraits>());
    }));
    return to;
}
"""


def source_of(view: str = "torch::PackedTensorAccessor64", passed: str = "packed_accessor64") -> str:
    return HEAD + KERNEL.replace("VIEW", view) + HOST.replace("PASSED", passed)


def members_of(problem: Problem, name: str) -> dict[str, object]:
    (argument,) = [one for one in problem.arguments if one.name == name]
    assert argument.dtype == "struct"
    return {one.name: one.value for one in argument.members or ()}


def test_views_are_structures_whose_extents_the_launch_and_the_kernel_tell(tmp_path):
    problem, _ = drafted(tmp_path, source_of())

    rows, columns = "parts_size_0", "scale_size_0"
    assert members_of(problem, "parts") == {
        "data_": "parts_data",
        "sizes_": [rows, 4, columns],
        "strides_": [f"4 * {columns}", columns, 1],
    }
    assert members_of(problem, "to") == {"data_": "to_data", "sizes_": [rows, columns], "strides_": [columns, 1]}
    shapes = {one.name: one.shape for one in problem.arguments if one.shape}
    assert shapes == {
        "parts_data": [f"{rows} * 4 * {columns}"],
        "scale_data": [columns],
        "to_data": [f"{rows} * {columns}"],
    }
    assert problem.sizes.keys() == {rows, columns}
    assert problem.launch.problem_size == [columns, rows]
    (wide,) = [one for one in problem.arguments if one.name == "scale"]
    assert [one.dtype for one in wide.members or ()] == ["pointer", "int64", "int64"]


@pytest.mark.parametrize(
    ("view", "passed"),
    [("torch::PackedTensorAccessor64", "packed_accessor64"), ("at::GenericPackedTensorAccessor", "packed_accessor")],
)
@pytest.mark.slow
def test_such_a_kernel_runs(tmp_path, view, passed):
    written = held(tmp_path, source_of(view, passed))
    assert written.doubts[0].startswith("run on the emulator as given at ")
    assert written.doubts[0].endswith("every array is large enough, every output is written")


def test_a_view_has_another_name(tmp_path):
    named = "using Row = torch::PackedTensorAccessor64<float, 1>;\n"
    kernel = KERNEL.replace("const VIEW<scalar_t, 1>", "const Row")
    problem, _ = drafted(tmp_path, HEAD + named + kernel + HOST.replace("PASSED", "packed_accessor64"))
    assert members_of(problem, "scale") == {"data_": "scale_data", "sizes_": ["scale_size_0"], "strides_": [1]}


def test_a_view_that_nobody_launches_is_refused_with_the_way_out_and_read_where_another_file_does(tmp_path):
    file = tmp_path / "kernel.cu"
    file.write_text(HEAD + KERNEL.replace("VIEW", "torch::PackedTensorAccessor64"))
    with pytest.raises(ProblemError, match="which only PyTorch makes of a tensor") as refused:
        scaffold(file, None)
    assert "--host FILE" in (refused.value.hint or "")

    host = tmp_path / "host.cpp"
    host.write_text(HOST.replace("PASSED", "packed_accessor64"))
    assert 'value = ["parts_size_0", 4, "scale_size_0"]' in scaffold(file, None, host=host)


def test_what_a_function_before_calls_an_extent_is_not_what_this_one_does(tmp_path):
    problem, _ = drafted(tmp_path, source_of())
    assert "lines" not in str(problem.sizes)


def test_elements_that_a_launch_lists_in_braces_are_those_of_an_array(tmp_path):
    text = (
        "struct Box { float scale; int extents[2]; };\n"
        "__global__ void k(float *x, const Box box) {\n"
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < box.extents[0] * box.extents[1]) x[i] *= box.scale; }\n"
        "void run(float *x, int w, int h) { k<<<(w * h + 255) / 256, 256>>>(x, Box{2.0f, {w, h}}); }\n"
    )
    problem, _ = drafted(tmp_path, text)
    assert members_of(problem, "box")["extents"] == ["w", "h"]
