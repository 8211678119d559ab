"""Drafts of kernels whose host program is a script in Python, for kernel_tuner or PyOpenCL; no script is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.app.assumptions import assumptions
from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.load import Written, load_problem
from tui_tuner.problem.model import Problem

ADD = """\
__global__ void add(float *c, float *a, float *b, int n) {
    int i = blockIdx.x * block_size_x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
TUNED = """\
import numpy, kernel_tuner
def tune():
    size = 10000000
    a = numpy.random.randn(size).astype(numpy.float32)
    b = numpy.random.randn(size).astype(numpy.float32)
    c = numpy.zeros_like(b)
    n = numpy.int32(size)
    args = [c, a, b, n]
    tune_params = dict()
    tune_params["block_size_x"] = [128 + 64 * i for i in range(15)]
    return kernel_tuner.tune_kernel("add", "add.cu", size, args, tune_params)
"""
BLUR = """\
#define width 1024
#define block_size_y 4
__constant__ float weights[9];
__global__ void blur(float *to, float *from) {
    int x = blockIdx.x * block_size_x * tile + threadIdx.x, y = blockIdx.y * block_size_y + threadIdx.y;
    for (int t = 0; t < tile; t++) to[y * width + x + t * block_size_x] = weights[t] * from[y * width + x];
}
"""
TILES = """\
from collections import OrderedDict
tune_params = OrderedDict(block_size_x=[16 * i for i in range(1, 4)], tile=(1, 2))
tune_params["block_size_y"] = [2**i for i in range(3)]
problem_size = (1024, 512)
to = numpy.zeros(numpy.prod(problem_size), dtype="float32")
source = numpy.random.rand(1024 * 512).astype(numpy.float32)
tune_kernel("blur", "blur.cu", problem_size, [to, source], tune_params, grid_div_x=["block_size_x", "tile"],
            cmem_args={"weights": numpy.ones(9, numpy.float32)},
            restrictions=["block_size_x*block_size_y>=64", lambda p: p["tile"] * p["block_size_x"] <= 64, hard(3)])
"""
OPENCL = """\
__kernel void scale(__global float *to, __global const float *from, __local float *part, const float by, const int n)
{
    int i = get_global_id(0);
    part[get_local_id(0)] = by * WEIGHT;
    if (i < n) to[i] = part[get_local_id(0)] * from[i];
}
"""
PYOPENCL = """\
import numpy as np, pyopencl as cl
N, WEIGHT = 1 << 20, 3
context = cl.create_some_context(); queue = cl.CommandQueue(context)
x = np.random.rand(N).astype(np.float32)
from_buffer = cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
to_buffer = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, x.nbytes)
program = cl.Program(context, open("scale.cl").read()).build(options=f"-DWEIGHT={WEIGHT}")
"""
CALLED = (
    "program.scale(queue, (N,), (64,), to_buffer, from_buffer, cl.LocalMemory(4 * 64), np.float32(2.5), np.int32(N))"
)
QUEUED = """\
kernel = cl.Kernel(program, "scale")
kernel.set_args(to_buffer, from_buffer, cl.LocalMemory(4 * 64), np.float32(2.5), np.int32(N))
cl.enqueue_nd_range_kernel(queue, kernel, x.shape, (64,))
"""


def drafted(directory: Path, name: str, source: str, script: str) -> Problem:
    file, host = directory / name, directory / "host.py"
    file.write_text(source)
    host.write_text(script)
    file.with_suffix(".toml").write_text(scaffold(file, None, host=host))
    return load_problem(file)


def test_a_script_of_kernel_tuner_says_sizes_arrays_and_tunables(tmp_path):
    problem = drafted(tmp_path, "add.cu", ADD, TUNED)
    assert (problem.sizes, problem.launch.problem_size) == ({"n": 10000000}, ["n"])
    assert [one.shape for one in problem.arguments] == [["n"], ["n"], ["n"], None]
    assert problem.tunables == {"block_size_x": [128 + 64 * i for i in range(15)]}
    assert "in line 11" in (tmp_path / "add.toml").read_text()


def test_divisors_restrictions_and_constant_memory_of_kernel_tuner_are_taken_over(tmp_path):
    problem = drafted(tmp_path, "blur.cu", BLUR, TILES)
    assert problem.launch.problem_size == ["1024", "512"]
    assert problem.launch.grid_div_x == ["block_size_x", "tile"]
    assert problem.tunables == {"block_size_x": [16, 32, 48], "tile": [1, 2], "block_size_y": [1, 2, 4]}
    assert problem.search.restrictions == ["block_size_x*block_size_y>=64", "tile * block_size_x <= 64"]
    assert problem.default_configuration == {"block_size_x": 16, "tile": 1, "block_size_y": 4}
    assert [(one.name, one.constant) for one in problem.arguments if one.constant] == [("weights", True)]
    assert "# not taken over: hard(3)" in (tmp_path / "blur.toml").read_text()


def test_names_of_the_block_are_those_of_the_script(tmp_path):
    script = TUNED.replace("block_size_x", "bx").replace("tune_params)", 'tune_params, block_size_names=["bx"])')
    problem = drafted(tmp_path, "add.cu", ADD.replace("block_size_x", "bx"), script)
    assert problem.launch.block_size == ["bx"]
    problem = drafted(tmp_path, "add.cu", ADD.replace("block_size_x", "blockDim.x"), script.replace("bx", "unroll"))
    assert problem.launch.block_size == ["unroll"]
    problem = drafted(tmp_path, "add.cu", ADD.replace("block_size_x", "256"), TUNED.replace("block_size_x", "unroll"))
    assert problem.launch.block_size == ["256"]


def test_shapes_that_are_unpacked_and_usual_values_of_arguments_are_read(tmp_path):
    script = TUNED.replace("def tune():", "def tune(size=10000000):").replace(
        "    size = 10000000\n", "    shape = (size, 2)\n"
    )
    problem = drafted(tmp_path, "add.cu", ADD, script.replace("randn(size)", "randn(*shape)"))
    assert problem.sizes == {"n": 10000000}
    assert [one.shape for one in problem.arguments[:3]] == [["n * 2"]] * 3


def test_a_tunable_may_say_how_many_blocks_there_are(tmp_path):
    script = TUNED.replace("size = 10000000", "size = numpy.int32(2e7)").replace(
        "c = numpy.zeros_like(b)", "c = numpy.zeros(1024, b.dtype)"
    )
    script = script.replace("return", "tune_params['blocks'] = [8, 16]\n    return")
    script = script.replace("size, args, tune_params", "'blocks', args, tune_params, grid_div_x=[]")
    problem = drafted(tmp_path, "add.cu", ADD, script)
    assert (problem.launch.problem_size, problem.launch.grid_div_x) == (["blocks"], ["1"])
    assert problem.sizes == {"n": 20000000}
    assert [one.shape for one in problem.arguments[:3]] == [["1024"], ["n"], ["n"]]


def test_of_several_calls_for_one_kernel_the_first_says_what_is_tuned(tmp_path):
    again = TUNED.replace(
        "return ",
        'first = kernel_tuner.tune_kernel("add", "add.cu", size, args, tune_params)\n    '
        'tune_params["block_size_x"] = [1]\n    args = [c, a, b, numpy.int32(8)]\n    return ',
    )
    problem = drafted(tmp_path, "add.cu", ADD, again)
    assert problem.tunables == {"block_size_x": [128 + 64 * i for i in range(15)]}
    assert problem.sizes == {"n": 10000000}


GROWN = """\
width, rows = 1024, 64
rules = []
rules += ["block_size_x >= 32"]
rules.append(f"block_size_x * block_size_y <= {width}")
rules.extend(["tile * %d <= 128" % (rows // 2), "block_size_y <= {}".format(rows), f"tile < {unknown}"])
shape = (width, rows)
n = numpy.prod(shape)
to = numpy.zeros(n, dtype="float32")
names = {f"block_size_{'xy'[0]}": [2**i for i in range(8) if 2**i > 8]}
names["block_size_y"] = names["block_size_x"][:2]
names["tile"] = [1, 2, 4, 8][1:]
tune_kernel("blur", "blur.cu", shape, [to, to, numpy.int32(width), numpy.int32(rows)], names, restrictions=rules)
"""


def test_lists_that_grow_and_texts_that_are_put_together_are_read(tmp_path):
    source = BLUR.replace("#define width 1024\n", "").replace("float *from", "float *from, int width, int height")
    problem = drafted(tmp_path, "blur.cu", source.replace("#define block_size_y 4\n", ""), GROWN)
    assert problem.tunables == {"block_size_x": [16, 32, 64, 128], "block_size_y": [16, 32], "tile": [2, 4, 8]}
    assert problem.search.restrictions == [
        "block_size_x >= 32",
        "block_size_x * block_size_y <= 1024",
        "tile * 32 <= 128",
        "block_size_y <= 64",
    ]
    assert "# not taken over: f'tile < {unknown}'" in (tmp_path / "blur.toml").read_text()
    assert problem.sizes == {"width": 1024, "height": 64}
    assert [one.shape for one in problem.arguments[:2]] == [["width * height"]] * 2


@pytest.mark.parametrize("values", ["[2**i for i in range(5, 8)][::-1]", "list(reversed([32, 64, 128]))"])
def test_lists_that_are_turned_round_are_read(tmp_path, values):
    problem = drafted(tmp_path, "add.cu", ADD, TUNED.replace("[128 + 64 * i for i in range(15)]", values))
    assert problem.tunables == {"block_size_x": [128, 64, 32]}


@pytest.mark.parametrize("given", ["params", "params=params"])
def test_one_configuration_that_a_script_runs_is_taken_over(tmp_path, given):
    script = TUNED.replace("tune_params", "params").replace("[128 + 64 * i for i in range(15)]", "64")
    script = script.replace("tune_kernel(", "run_kernel(").replace("args, params", f"args, {given}")
    problem = drafted(tmp_path, "add.cu", ADD, script)
    assert (problem.tunables, problem.sizes) == ({"block_size_x": [64]}, {"n": 10000000})
    assert "has kernel_tuner run it, with no other value, in line" in (tmp_path / "add.toml").read_text()
    problem = drafted(tmp_path, "add.cu", ADD, script + TUNED[TUNED.index("def tune") :])
    assert problem.tunables == {"block_size_x": [128 + 64 * i for i in range(15)]}


def test_bytes_of_the_script_are_elements_of_what_the_kernel_takes_them_for(tmp_path):
    source = ADD.replace("float *b", "uchar3 *b").replace("b[i]", "b[i].x")
    script = TUNED.replace("b = numpy.random.randn(size).astype(numpy.float32)", "b = numpy.zeros((size, 3), 'uint8')")
    problem = drafted(tmp_path, "add.cu", source, script.replace("zeros_like(b)", "zeros_like(a)"))
    assert (problem.arguments[2].dtype, problem.arguments[2].shape) == ("uint8", ["3 * n"])


COMPUTED = """\
import math
most = 512
def cdiv(a, b):
    return (a + b - 1) // b
def fits(p):
    "Small enough."
    threads = p["block_size_x"] * p["tile"]
    if threads > most:
        return False
    return cdiv(threads, 2) <= most
def rows(p):
    return [1024, cdiv(512, p["tile"])]
to = numpy.zeros((1024, 512), "float32")
names = {"block_size_x": [64, 128, 256], "tile": [1, 2, 4]}
tune_kernel("blur", "blur.cu", rows, [to, to], names, restrictions=[fits, lambda p: p["tile"] in sizes, odd],
            grid_div_x=lambda p: math.ceil(p["block_size_x"] * p["tile"]), grid_div_y=hidden(3),
            smem_args={"size": lambda p: int(p["block_size_x"] / 2) * 4}, texmem_args={"tex": image})
"""


def test_functions_of_the_configuration_become_expressions_and_others_are_told(tmp_path):
    problem = drafted(tmp_path, "blur.cu", BLUR.replace("#define block_size_y 4", "#define block_size_y 1"), COMPUTED)
    assert problem.search.restrictions == [
        "not block_size_x * tile > 512 and (block_size_x * tile + 2 - 1) // 2 <= 512"
    ]
    assert problem.launch.problem_size == ["1024", "(512 + tile - 1) // tile"]
    assert problem.launch.grid_div_x == ["ceil(block_size_x * tile)"]
    assert problem.launch.shared_memory == "block_size_x // 2 * 4"
    left = [line for line in (tmp_path / "blur.toml").read_text().splitlines() if "not taken over" in line]
    assert left == [
        "# not taken over: lambda p: p['tile'] in sizes",
        "# not taken over: odd",
        "# not taken over: grid_div_y = hidden(3)",
        "# not taken over: texmem_args = {'tex': image}",
    ]


def test_what_is_passed_and_not_known_is_a_guess(tmp_path):
    source = ADD.replace("int n)", "int n, float by)").replace("+ b[i]", "+ by * b[i]")
    drafted(
        tmp_path, "add.cu", source, TUNED.replace("args = [c, a, b, n]", "args = [c, a, b, n, numpy.float32(fit())]")
    )
    assert "value = 1.5  # a guess: check" in (tmp_path / "add.toml").read_text()


def test_arguments_of_the_program_have_their_usual_values(tmp_path):
    parsed = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("-n", "--array-size", type=int, default=10 * 1000)
parser.add_argument("--threads", type=int, dest="most", default=256)
given = parser.parse_args()
"""
    script = TUNED.replace("size = 10000000", "size = given.array_size").replace(
        "(15)", "(15) if 128 + 64 * i <= given.most"
    )
    problem = drafted(tmp_path, "add.cu", ADD, parsed + script)
    assert (problem.sizes, problem.tunables) == ({"n": 10000}, {"block_size_x": [128, 192, 256]})
    assert [one.shape for one in problem.arguments[:3]] == [["n"]] * 3


def test_switches_and_lists_among_arguments_of_the_program_have_their_usual_values(tmp_path):
    parsed = """\
from argparse import ArgumentParser
parser = ArgumentParser()
parser.add_argument("size", nargs="*", type=int, default=[640, 480])
parser.add_argument("--double", action="store_true")
parser.add_argument("--plain", action="store_false")
given = parser.parse_args()
W, H = given.size
"""
    script = TUNED.replace("size = 10000000", "size = W * H").replace(
        "(15)", "(15) if 128 + 64 * i <= (512 if given.double else 256) and given.plain"
    )
    script = script.replace("return", "tune_params['ROWS'] = [H]\n    return")
    problem = drafted(tmp_path, "add.cu", ADD, parsed + script)
    assert problem.sizes == {"n": 640 * 480}
    assert problem.tunables == {"block_size_x": [128, 192, 256], "ROWS": [480]}


def test_sizes_are_numbers_where_a_kernel_is_given_fractions_alone(tmp_path):
    source = ADD.replace("int n", "float by").replace("i < n", "i < SIZE").replace("a[i] +", "by * a[i] +")
    script = TUNED.replace("numpy.int32(size)", "numpy.float32(0.5)")
    script = script.replace("return", "tune_params['SIZE'] = [size]\n    return")
    problem = drafted(tmp_path, "add.cu", source, script)
    assert (problem.sizes, problem.launch.problem_size) == ({}, ["10000000"])
    assert problem.arguments[3].value == 0.5
    assert problem.tunables["SIZE"] == [10000000]


def test_a_problem_size_over_tunables_has_the_sizes_by_name(tmp_path):
    script = TUNED.replace("size, args", "lambda p: (size + p['each'] - 1) // p['each'], args")
    script = script.replace("return", "tune_params['each'] = [1, 2]\n    return")
    problem = drafted(tmp_path, "add.cu", ADD, script)
    assert problem.launch.problem_size == ["(n + each - 1) // each"]


OPTIONS = 'compiler_options=[f"-DBY={3 * 2}", "-O3", "-DUNROLL -arch=sm_80", "-std=c++20", "-lineinfo", "-I" + here])'


@pytest.mark.parametrize("name", ["add.cu", "add.cl"])
def test_options_of_the_compiler_are_taken_over_or_told(tmp_path, name):
    source = "#ifdef UNROLL\n" + ADD.replace("b[i]", "BY * b[i]") + "#endif\n"
    if name == "add.cl":
        source = source.replace("__global__", "__kernel").replace("float *", "__global float *")
        source = source.replace("blockIdx.x * block_size_x + threadIdx.x", "get_global_id(0)")
    problem = drafted(tmp_path, name, source, TUNED.replace("tune_params)", f"tune_params, {OPTIONS}"))
    assert {"-DBY=6", "-DUNROLL"} <= {*problem.kernel.compiler_options}
    assert ("-std=c++20" in problem.kernel.compiler_options) == (name == "add.cu")
    text = (tmp_path / "add.toml").read_text()
    assert "# not taken over: compiler_options: -lineinfo\n# not taken over: compiler_options: '-I' + here" in text


def test_the_largest_value_of_a_tunable_is_no_size(tmp_path):
    script = TUNED.replace(
        "c = numpy.zeros_like(b)", 'blocks = [8, 16]; most = max(blocks); c = numpy.zeros(most, "f4")'
    )
    script = script.replace("return", "tune_params['blocks'] = blocks\n    return").replace('"f4"', "b.dtype")
    script = script.replace("size, args, tune_params", "'blocks', args, tune_params, grid_div_x=[], verify=summed")
    problem = drafted(tmp_path, "add.cu", ADD, script)
    assert (problem.sizes, problem.arguments[0].shape) == ({"n": 10000000}, ["16"])
    text = (tmp_path / "add.toml").read_text()
    assert "# not taken over: verify = summed" in text
    told = list(assumptions(Written(problem, text, tmp_path / "add.toml", is_drafted=True)))
    assert "  not taken   verify = summed" in told


def test_a_function_of_c_takes_over_what_is_tuned(tmp_path):
    source = (
        "void add(float *c, float *a, float *b, int n) { for (int i = 0; i < n; i++) c[i] = a[i] + b[i] * threads; }"
    )
    problem = drafted(tmp_path, "add.c", source, TUNED.replace("block_size_x", "threads"))
    assert problem.tunables == {"threads": [128 + 64 * i for i in range(15)]}
    assert [one.shape for one in problem.arguments[:3]] == [["n"]] * 3


def test_a_number_of_the_script_is_no_size_of_a_tunables_name(tmp_path):
    script = TUNED.replace("c = numpy.zeros_like(b)", "blocks = 64; c = numpy.zeros(blocks, 'float32')")
    script = script.replace("return", "tune_params['blocks'] = [64]\n    return")
    script = script.replace("size, args, tune_params", "'blocks', args, tune_params, grid_div_x=[]")
    problem = drafted(tmp_path, "add.cu", ADD, script)
    assert problem.tunables["blocks"] == [64]
    assert (problem.launch.problem_size, problem.sizes["blocks_of_host"]) == (["blocks"], 64)


@pytest.mark.parametrize("made", ["np.arange(start=0, stop=N, dtype=np.float32)", "np.arange(0, N, dtype=np.float32)"])
def test_an_array_that_counts_is_as_long_as_it_counts(tmp_path, made):
    script = PYOPENCL.replace("np.random.rand(N).astype(np.float32)", made)
    problem = drafted(tmp_path, "scale.cl", OPENCL, script + CALLED)
    assert [one.shape for one in problem.arguments[:2]] == [["n"], ["n"]]


def test_bytes_of_a_type_that_a_name_stands_for_are_those(tmp_path):
    script = PYOPENCL.replace("x.nbytes)", "N * BYTES)").replace(
        "N, WEIGHT", "KIND = np.float32\nBYTES = np.dtype(KIND).itemsize\nN, WEIGHT"
    )
    problem = drafted(tmp_path, "scale.cl", OPENCL, script + CALLED)
    assert (problem.sizes["n"], problem.arguments[0].shape) == (1 << 20, ["n"])


@pytest.mark.parametrize(
    ("launch", "is_refused"),
    [
        (CALLED[:-1] + ", global_offset=(16,))", True),
        (CALLED[:-1] + ", global_offset=(1 + tile * 8,))", True),
        (QUEUED.replace("(64,))", "(64,), global_work_offset=(16,))"), True),
        (CALLED[:-1] + ", global_offset=(0,))", False),
        (CALLED[:-1] + ", global_offset=None)", False),
    ],
)
def test_a_script_that_launches_from_an_offset_on_is_refused_with_what_to_do(tmp_path, launch, is_refused):
    if not is_refused:
        assert drafted(tmp_path, "scale.cl", OPENCL, PYOPENCL + launch).launch.problem_size == ["n"]
        return
    with pytest.raises(ProblemError, match="launches the kernel from a global offset of") as caught:
        drafted(tmp_path, "scale.cl", OPENCL, PYOPENCL + launch)
    assert "add the offset in the kernel" in caught.value.hint


@pytest.mark.parametrize("launch", [CALLED, QUEUED])
def test_a_script_of_pyopencl_says_launch_buffers_and_options(tmp_path, launch):
    problem = drafted(tmp_path, "scale.cl", OPENCL, PYOPENCL + launch)
    assert (problem.sizes, problem.launch.problem_size) == ({"n": 1 << 20}, ["n"])
    assert [one.shape for one in problem.arguments[:2]] == [["n"], ["n"]]
    assert problem.arguments[3].value == 2.5
    assert "-DWEIGHT=3" in problem.kernel.compiler_options


@pytest.mark.parametrize(
    "script",
    [
        "def broken(:\n",
        'digits = 5is 5, "\\d"\n',
        "size = " + "-" * 5000 + "1\n",
        "size = 0" + " + 1" * 5000 + "\n",
        "x = [0] * 10**12\ny = 9**9**9\nz = range(10**12)\nw = 1 << 10**9\n",
        "def f(a=1, /, *, b=2): pass\na = b\nb = a\nc = a + b\na.reshape()\n",
        "tune_kernel()\ntune_kernel('add')\ntune_kernel('add', '', n, args, {**x, 1: [2], 'y': [[3]], 'z': 4})\n",
        "args = [args]\ntune_kernel('add', '', n, args, {'block_size_x': [64, 'many']}, cmem_args={**x, 2: 3})\n",
        "a0 = [1]\n" + "".join(f"a{i + 1} = a{i} + a{i}\n" for i in range(60)),
        "x = [[[i for i in range(4000)] for j in range(4000)] for k in range(4000)]\n",
        "def f(p): return " + "1 + " * 3000 + "1\n" + "tune_kernel('add', '', f, args, {'block_size_x': [64]})\n",
        "def f(p): return f(p) + f(p) + f(p)\ntune_kernel('add', '', n, a, {'x': [64]}, restrictions=f, smem_args=f)\n",
        "\0",
    ],
)
def test_what_a_script_does_not_say_is_guessed(tmp_path, script):
    problem = drafted(tmp_path, "add.cu", ADD, script)
    assert [one.shape for one in problem.arguments[:3]] == [["n"], ["n"], ["n"]]


REDUCTION = """\
__global__ void sum_floats(float *sums, const float *array, int n) {
    __shared__ float part[block_size_x];
    float sum = 0;
    for (int i = blockIdx.x * block_size_x + threadIdx.x; i < n; i += block_size_x * gridDim.x) sum += array[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = block_size_x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}
"""


def test_parts_of_blocks_that_a_tunable_counts_have_room_for_the_most_whatever_is_made_later(tmp_path):
    source = """\
__global__ void sums(float *partial, const float *x, int n) {
    __shared__ float part[block_size_x];
    float sum = 0;
    for (int i = blockIdx.x * block_size_x + threadIdx.x; i < n; i += blockDim.x * blocks) sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int s = block_size_x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = part[0];
}
"""
    script = """\
import numpy, kernel_tuner
MOST = 4096
def first(x, n):
    partial = numpy.zeros(MOST, numpy.float32)
    tune_params = {"block_size_x": [64, 128], "blocks": [2**i for i in range(5, 12)]}
    return kernel_tuner.tune_kernel("sums", "sums.cu", "blocks", [partial, x, n], tune_params, grid_div_x=[])
def second(best):
    partial = numpy.zeros(int(best["blocks"]), numpy.float32)
x = numpy.random.rand(1 << 20).astype(numpy.float32)
second(first(x, numpy.int32(x.size)))
"""
    problem = drafted(tmp_path, "sums.cu", source, script)
    assert problem.arguments[0].shape == ["2048"]
    assert problem.launch.problem_size == ["blocks"]
    plain = source.replace("float *partial", "float *to").replace("partial[", "to[").replace("sums(", "copies(")
    problem = drafted(tmp_path, "sums.cu", plain, script.replace('"sums"', '"copies"'))
    assert problem.arguments[0].shape == ["MOST"], "as it is made before the launch, not behind it"


def test_what_a_script_verifies_of_partial_sums_is_what_is_compared(tmp_path):
    script = (
        TUNED.replace('"add", "add.cu", size, args, tune_params', '"sum_floats", "add.cu", "blocks", args, tune_params')
        .replace(
            "tune_params)", "tune_params, grid_div_x=[], verify=lambda a, b, atol: numpy.isclose(a[0], b[0].sum()))"
        )
        .replace("args = [c, a, b, n]", "args = [numpy.zeros(512).astype(numpy.float32), a, n]")
        .replace("    return", '    tune_params["blocks"] = [128, 256, 512]\n    return')
    )
    (tmp_path / "add.cu").write_text(REDUCTION)
    (tmp_path / "tune.py").write_text(script)
    text = scaffold(tmp_path / "add.cu", None, host=tmp_path / "tune.py")
    (tmp_path / "add.toml").write_text(text)
    problem = load_problem(tmp_path / "add.toml")
    assert (problem.arguments[0].compare, problem.arguments[0].shape) == ("sum", ["512"])
    assert list(problem.tunables) == ["block_size_x", "blocks"]
    assert "not taken over" not in text
