"""What drafts read of host functions, and of statements around a launch, that a macro writes."""

from __future__ import annotations

from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.load import load_problem

ONE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
SCALE = f"__global__ void scale_f32_kernel(float *to, float *from, int n) {{ {ONE} if (i < n) to[i] = from[i]; }}\n"
PAIRS = (
    "__global__ void scale_f32x2_kernel(float *to, float *from, int n) {"
    " int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);"
    " if (i < n) { to[i] = from[i]; to[i + 1] = from[i + 1]; } }\n"
)
BINDINGS = """\
#define CHECKED(x, type) if ((x).dtype() != (type)) { throw std::runtime_error("no " #type); }
#define BIND(kind, type, of_torch,                                    \\
             each)                                                    \\
  void scale_##kind(torch::Tensor to, torch::Tensor from) {           \\
    CHECKED(to, of_torch)                                             \\
    const int n = from.size(0);                                       \\
    dim3 block(128 / (each));                                         \\
    dim3 grid((n + 128 - 1) / 128);                                   \\
    scale_##kind##_kernel<<<grid, block>>>(                           \\
        reinterpret_cast<type *>(to.data_ptr()), (type *)from.data_ptr(), n); \\
  }
BIND(f32, float, torch::kFloat32, 1)
BIND(f32x2, float, torch::kFloat32, 2)
"""
ROWS = """\
template <const int THREADS = 256> __global__ void rows_kernel(float *to, const float *from, int n) {
  int i = blockIdx.x * THREADS + threadIdx.x; if (i < n) to[i] = from[i] * THREADS; }
#define LAUNCH(width) rows_kernel<(width)><<<grid, block>>>(to.data_ptr<float>(), from.data_ptr<float>(), n);
#define DISPATCH(rows, width) \\
  dim3 block((width)); dim3 grid((rows)); \\
  switch ((width)) { \\
  case 64: LAUNCH(64) break; \\
  case 256: LAUNCH(256) break; \\
  default: throw std::runtime_error("only 64 and 256"); }
void rows(torch::Tensor to, torch::Tensor from) {
  const int count = from.size(0); const int width = from.size(1); const int n = count * width;
  DISPATCH(count,
           width)
}
"""


def drafted_of(tmp_path, source, name):
    path = tmp_path / "kernel.cu"
    path.write_text(source)
    path.with_suffix(".toml").write_text(text := scaffold(path, name))
    return load_problem(path), text


def test_a_host_function_that_a_macro_writes_says_the_launch_of_its_kernel(tmp_path):
    problem, text = drafted_of(tmp_path, SCALE + PAIRS + BINDINGS, "scale_f32_kernel")
    assert (problem.launch.problem_size, problem.launch.grid_div_x) == (["n"], None)
    assert problem.defaults == {"block_size_x": 128}
    assert "as the host launches it in line 14" in text


def test_each_use_of_such_a_macro_says_its_own_launch(tmp_path):
    problem, _ = drafted_of(tmp_path, SCALE + PAIRS + BINDINGS, "scale_f32x2_kernel")
    assert problem.launch.problem_size == ["n"]
    assert problem.defaults == {"block_size_x": 64}


def test_blocks_that_a_macro_declares_before_it_launches_are_read(tmp_path):
    problem, text = drafted_of(tmp_path, ROWS, "rows_kernel")
    assert problem.launch.problem_size == ["from_size_0"]
    assert "as the host launches it in line 12" in text


def test_a_size_whose_cases_the_host_tells_apart_is_the_number_of_one(tmp_path):
    problem, _ = drafted_of(tmp_path, ROWS, "rows_kernel")
    arguments = {one.name: one.shape or one.value for one in problem.arguments}
    assert arguments == {"to": ["64 * from_size_0"], "from": ["from_size_0 * 64"], "n": "from_size_0 * 64"}
    assert (problem.kernel.name, problem.launch.block_size) == ("rows_kernel<64>", ["64"])
    assert problem.tunables == {}


def test_a_block_that_cases_choose_and_no_array_is_made_of_is_tunable(tmp_path):
    threads = ROWS.replace("width = from.size(1)", "width = threads_for(count)").replace("count * width", "count * 4")
    problem, _ = drafted_of(tmp_path, threads, "rows_kernel")
    assert (problem.kernel.name, problem.launch.block_size) == ("rows_kernel<block_size_x>", ["block_size_x"])
    assert list(problem.tunables) == ["block_size_x"]
