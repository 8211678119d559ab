"""Arrays whose addresses lie in structures that a kernel takes by value: declared, drafted, placed and checked."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from tui_tuner.app.assumptions import assumptions
from tui_tuner.app.drafting import confirmed
from tui_tuner.app.named import problem_of
from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.inputs import call_reference, make_arguments
from tui_tuner.problem.load import load_problem, problem_in_text
from tui_tuner.problem.placement import Placement, placement_of, with_addresses
from tui_tuner.prompts import argument_facts
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

KERNEL = """\
struct View { const float *__restrict__ from; int step; };
struct Data { int n; View in; float *to, *more; double by; };
__global__ void k(const Data d, float *last)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < d.n) d.to[i] = d.in.from[i * d.in.step] * d.by;
    if (i == 0) { last[0] = d.n; if (d.more) d.more[0] = 1; }
}
"""
PROBLEM = """\
reference = { python = "ref.py:k" }
[kernel]
source = "k.cu"
name = "k"
[sizes]
n = 40
[launch]
problem_size = ["n"]
[[arguments]]
name = "d"
dtype = "struct"
members = [
    { name = "n", dtype = "int32", value = "n" },
    { name = "in.from", dtype = "pointer", value = "from" },
    { name = "in.step", dtype = "int32", value = 2 },
    { name = "to", dtype = "pointer", value = "to" },
    { name = "more", dtype = "pointer", value = 0 },
    { name = "by", dtype = "float64", value = 0.5 },
]
[[arguments]]
name = "to"
dtype = "float32"
shape = ["n"]
output = true
[[arguments]]
name = "last"
dtype = "float32"
shape = [1]
output = true
[[arguments]]
name = "from"
dtype = "float32"
shape = ["2 * n"]
"""
REFERENCE = """\
import numpy as np
def k(d, to, last, **others):
    assert d.more is None and d.to is to
    return d.by * getattr(getattr(d, "in"), "from")[::2], np.array([d.n])
"""


def problem(directory, text=PROBLEM):
    (directory / "k.cu").write_text(KERNEL)
    (directory / "ref.py").write_text(REFERENCE)
    (directory / "k.toml").write_text(text)
    return load_problem(directory / "k.cu")


def test_the_arrays_of_a_structure_are_arguments_of_their_own_whose_addresses_lie_in_it(tmp_path):
    given = problem(tmp_path)
    held, to, last, read = arguments = make_arguments(given, {}, 1)
    placement = placement_of(given)
    assert placement == Placement({}, {0: {8: 3, 24: 1}})
    assert [index for index, _ in placement.passed(arguments)] == [0, 2]
    placed = with_addresses(held, {8: 2**40 + 5, 24: 7})
    assert placed.dtype == held.dtype
    assert [placed[name].item() for name in ("n", "in.from", "in.step", "to", "more", "by")] == [
        40, 2**40 + 5, 2, 7, 0, 0.5
    ]  # fmt: skip
    assert held["to"] == 0
    assert (to.shape, last.shape, read.shape) == ((40,), (1,), (80,))
    expected = call_reference(given, arguments)
    assert np.array_equal(expected["to"], 0.5 * read[::2].astype(np.float64))
    facts = "\n".join(argument_facts(given))
    assert "a structure by value with int32 n = n, pointer in.from = from, int32 in.step = 2, pointer to = to" in facts
    assert "d.in.from points to from: float32 array of shape (2 * n), input" in facts
    assert "d.to points to to: float32 array of shape (n), output" in facts


@pytest.mark.parametrize(
    ("old", "new", "message", "hint"),
    [
        ('value = "to"', 'value = "two"', "there is no argument 'two', whose address this member", 'name = "two"'),
        ('value = "to"', 'value = "last"', "'last' is a parameter of the kernel", "a name that no parameter has"),
        ('value = "to"', 'value = "d"', "no array in device memory is called 'd'", "a table of its own"),
        ('value = "to"', "value = 1", "member 'to' is a pointer: its value is the name of an array, or 0", ""),
        ('value = "to"', "value = 0", "the kernel has no argument 'to'", ""),
        ('more", dtype = "pointer"', 'more", dtype = "int64"', "the members of 'd' are not those of Data", "pointer"),
        ('name = "to"\ndtype = "float32"', 'name = "to"\ndtype = "float64"', "argument 'to' is float32 in the kernel",
         "the source has: float * d.to"),
        ('"from"\ndtype = "float32"\n', '"from"\ndtype = "float32"\noutput = true\n',
         "argument 'from' is const in the kernel", "the source has: const float * d.in.from"),
    ],
)  # fmt: skip
def test_what_is_no_array_for_a_pointer_is_refused_with_its_line(tmp_path, old, new, message, hint):
    assert PROBLEM.count(old) == 1
    with pytest.raises(ProblemError) as caught:
        problem(tmp_path, PROBLEM.replace(old, new))
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.line is not None


def test_an_array_of_structures_holds_no_pointers_and_says_so(tmp_path):
    table = '[[arguments]]\nname = "all"\ndtype = "uint8"\nshape = [8]\n'
    for value, message in (
        ("", "is a pointer: its value is the name"),
        (", value = 0", "'all' is an array of structures"),
    ):
        with pytest.raises(ProblemError, match=message):
            problem(tmp_path, f'{PROBLEM}{table}members = [{{ name = "a", dtype = "pointer"{value} }}]\n')


HOST = """\
#include <vector>
struct Rows { float *data; int pitch; };
struct Work { Rows out; const float4 *at; const int *which; int n; };
__device__ float4 taken(const Work &w, int i) { return w.at[w.which[i]]; }
__global__ void gather(Work w, float by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < w.n) w.out.data[i * w.out.pitch] = taken(w, i).x * by;
}
int main()
{
    const int n = 30000;
    std::vector<int> which(n);
    for (int i = 0; i < n; i++) which[i] = rand() % n;
    float4 *at; int *chosen;
    cudaMalloc(&at, n * sizeof(float4));
    cudaMalloc(&chosen, n * sizeof(int));
    cudaMemcpy(chosen, which.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    MADE
    gather<<<(n + 127) / 128, 128>>>(w, 0.5f);
}
"""
MADE = {
    "in braces": "float *to; cudaMalloc(&to, 2 * n * sizeof(float)); Work w = {{to, 2}, at, chosen, n};",
    "by assignments": "Work w; cudaMalloc(&w.out.data, n * 2 * sizeof(float)); w.out.pitch = 2; w.at = at;"
    " w.which = chosen; w.n = n;",
    "as a copy": "Work made; cudaMalloc((void **)&made.out.data, n * 2 * sizeof(float)); made.out.pitch = 2;"
    " made.at = at; made.which = chosen; made.n = n; Work w; w = made;",
}


@pytest.mark.parametrize("way", MADE)
def test_the_arrays_that_a_structure_points_to_are_drafted_as_the_host_makes_them(tmp_path, way):
    file = tmp_path / "gather.cu"
    file.write_text(HOST.replace("MADE", MADE[way]))
    text = scaffold(file, None)
    file.with_suffix(".toml").write_text(text)
    given = load_problem(file)
    assert [one.name for one in given.arguments] == ["w", "w_out_data", "w_at", "w_which", "by"]
    held, out, at, which, _ = given.arguments
    assert [(one.name, one.value) for one in held.members or ()] == [
        ("out.data", "w_out_data"), ("out.pitch", 2), ("at", "w_at"), ("which", "w_which"), ("n", "n")
    ]  # fmt: skip
    assert make_arguments(given, {"n": 100}, 1)[1].shape == (200,)
    assert (out.output, at.output, which.output) == (True, False, False)
    assert (at.shape, which.shape, which.fill, which.high) == (["4 * n"], ["n"], "integers", "n")
    assert "[[arguments]]  # const float4 *, which w.at points to" in text


def test_the_members_of_what_a_structure_is_derived_of_stand_first_in_its_braces(tmp_path):
    file = tmp_path / "scale.cu"
    file.write_text(
        "struct View { float *data; long n; };\nstruct Scaled : View { float by; };\n"
        "__global__ void k(Scaled s)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    if (i < s.n) s.data[i] *= s.by;\n}\n"
        "int main() { const int n = 70000; float *d; cudaMalloc(&d, n * sizeof(float));\n"
        " Scaled s{{d, n}, 0.5f}; k<<<(n + 127) / 128, 128>>>(s); }\n"
    )
    file.with_suffix(".toml").write_text(scaffold(file, None))
    held, data = load_problem(file).arguments
    assert [(one.name, one.value) for one in held.members or ()] == [("data", "s_data"), ("n", "n"), ("by", 0.5)]
    assert (data.shape, data.output, data.fill) == (["n"], True, "normal")


def test_memory_that_is_divided_among_pointers_is_not_taken_for_one_of_them(tmp_path):
    divided = "float *all; cudaMalloc(&all, 9 * n * 4); Work w = {{all, 2}, (float4 *)(all + 2 * n), chosen, n};"
    file = tmp_path / "gather.cu"
    file.write_text(HOST.replace("MADE", divided))
    text = scaffold(file, None)
    assert "9 * n" not in text
    assert 'name = "w_out_data"\ndtype = "float32"\nshape = ["n"]  # a guess: check' in text


@pytest.mark.slow
def test_a_draft_with_pointers_in_a_structure_is_run_and_its_arrays_grown(tmp_path):
    file = tmp_path / "gather.cu"
    file.write_text(HOST.replace("MADE", MADE["in braces"].replace("2 * n", "n")))
    written = asyncio.run(confirmed(problem_of(file), SessionOptions(device="emulator"), Settings()))
    told = "\n".join(assumptions(written))
    assert "run on the emulator as given" in told
    assert {one.name: one.shape for one in written.problem.arguments}["w_out_data"] == ["2 * n"]


REDUCE = """\
namespace mini {
struct Sum { template <typename T> __device__ T operator()(const T &a, const T &b) const { return a + b; } };
template <typename In, typename Out> struct Cast {
  const In *p;
  __device__ Out operator[](int i) const { return (Out)p[i]; }
};
template <int THREADS, typename It, typename T, typename Op>
__global__ void reduce(It in, int n, T init, Op op, T *partial, unsigned *counter, T *out)
{
    __shared__ T part[THREADS];
    __shared__ bool last;
    T sum = init;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) sum = op(sum, in[i]);
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < THREADS; t++) sum = op(sum, part[t]);
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
        if (last) {
            T all = init;
            for (unsigned i = 0; i < gridDim.x; i++) all = op(all, partial[i]);
            *out = all;
        }
    }
}
template <typename It, typename T, typename Op>
void run(It in, T *out, int n, Op op, T init, T *partial, unsigned *counter, int blocks)
{
    reduce<64><<<blocks, 64>>>(in, n, init, op, partial, counter, out);
}
}
int main()
{
    const int n = 9000, blocks = 16;
    float *d; double *out, *partial; unsigned *counter;
    cudaMalloc(&d, n * sizeof(float)); cudaMalloc(&out, sizeof(double)); cudaMalloc(&counter, sizeof(unsigned));
    cudaMalloc(&partial, blocks * sizeof(double));
    mini::run(mini::Cast<float, double>{d}, out, n, mini::Sum(), 0.0, partial, counter, blocks);
}
"""


@pytest.mark.slow
def test_iterators_and_objects_that_a_host_template_is_given_are_passed_and_a_counter_is_no_output(tmp_path):
    file = tmp_path / "reduce.cu"
    file.write_text(REDUCE)
    written = asyncio.run(confirmed(problem_of(file), SessionOptions(device="emulator"), Settings()))
    given = written.problem
    assert given.kernel.name == "reduce<block_size_x,mini::Cast<float,double>,double,mini::Sum>"
    assert [one.name for one in given.arguments] == ["in", "in_p", "n", "init", "op", "partial", "counter", "out"]
    arguments = {one.name: one for one in given.arguments}
    assert (arguments["in_p"].shape, arguments["op"].members) == (["n"], [])
    assert [name for name, one in arguments.items() if one.output] == ["partial", "out"]
    assert arguments["counter"].fill == "zeros"


BLURRED = """\
#include <vector>
namespace device {
template <typename T> struct Step {
  T *data;
  size_t step;
  __device__ T &operator()(int y, int x) const { return ((T *)((char *)data + y * step))[x]; }
};
template <typename T> struct Sized : public Step<T> { int cols, rows; };
struct Border {
  int last;
  __host__ Border(int n) : last(n - 1) {}
  __device__ int at(int i) const { return i < last ? i + 1 : last; }
};
template <int channels> struct Pixel;
template <> struct Pixel<1> { typedef unsigned char type; };
template <> struct Pixel<2> { typedef uchar2 type; };
__device__ void put(const uchar2 &from, uchar2 &to) { to = make_uchar2(from.x / 2, from.y); }
template <typename T, typename B> __global__ void blur(const Sized<T> from, Step<T> to, const B border)
{
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y;
    if (x < from.cols && y < from.rows) put(from(y, border.at(x)), to(y, x));
}
template <typename T> void blur_all(const Sized<T> &from, Sized<T> to)
{
    dim3 block(32, 8), grid((from.cols + block.x - 1) / block.x, (from.rows + block.y - 1) / block.y);
    blur<<<grid, block>>>((Sized<T>)from, (Step<T>)to, Border(from.cols));
}
}
template <int channels> static void run(int rows, int cols)
{
    typedef typename device::Pixel<channels>::type T;
    std::vector<device::Sized<T>> from(3), to(3);
    for (int s = 0; s < 3; s++) {
        from[s].cols = to[s].cols = cols;
        from[s].rows = to[s].rows = rows;
        cudaMallocPitch(&from[s].data, &from[s].step, cols * sizeof(T), rows);
        cudaMallocPitch(&to[s].data, &to[s].step, cols * sizeof(T), rows);
        device::blur_all<T>(from[s], to[s]);
    }
}
int main() { run<1>(480, 640); run<2>(480, 640); }
"""


@pytest.mark.slow
def test_images_of_a_derived_class_template_are_drafted_with_the_border_that_the_host_makes_in_place(tmp_path):
    file = tmp_path / "blur.cu"
    file.write_text(BLURRED)
    written = asyncio.run(confirmed(problem_of(file), SessionOptions(device="emulator"), Settings()))
    given = {one.name: one for one in written.problem.arguments}
    assert written.problem.kernel.name == "blur<uchar2,device::Border>"
    assert written.problem.sizes == {"rows": 480, "cols": 640}
    assert [(one.name, one.value) for one in given["from"].members or ()] == [
        ("data", "from_data"), ("step", "cols * 2"), ("cols", "cols"), ("rows", "rows")
    ]  # fmt: skip
    assert [(one.name, one.value) for one in given["border"].members or ()] == [("last", "cols - 1")]
    assert (given["from_data"].dtype, given["to_data"].dtype) == ("uint8", "uint8")
    assert (given["from_data"].output, given["to_data"].output) == (
        False,
        True,
    )  # the text shows neither; running it does


LISTS = """\
constexpr int MOST = 3;
struct Lists { float *to[MOST]; const float *from[MOST]; int size[MOST]; };
__global__ void scaled(Lists all, float by)
{
    int list = blockIdx.y, n = all.size[list];
    float *to = all.to[list];
    const float *from = all.from[list];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) to[i] = by * from[i];
}
int main()
{
    std::vector<int> sizes = {4096, 10, 300};
    Lists all;
    for (int t = 0; t < MOST; ++t) {
        size_t bytes = sizes[t] * sizeof(float);
        all.size[t] = sizes[t];
        cudaMalloc(&all.to[t], bytes);
        cudaMalloc((void **)&all.from[t], bytes);
    }
    scaled<<<dim3(32, MOST), 256>>>(all, 0.5f);
}
"""


@pytest.mark.slow
def test_the_lists_of_pointers_in_a_structure_are_arrays_of_one_size_each_with_its_place_in_it(tmp_path):
    file = tmp_path / "scaled.cu"
    file.write_text(LISTS)
    written = asyncio.run(confirmed(problem_of(file), SessionOptions(device="emulator"), Settings()))
    given = {one.name: one for one in written.problem.arguments}
    lists = [f"all_{name}_{at}" for name in ("to", "from") for at in range(3)]
    assert [*given] == ["all", *lists, "by"]
    members = given["all"].members
    assert [(one.name, one.value) for one in members[:6]] == [
        (f"{name}[{at}]", f"all_{name}_{at}") for name in ("to", "from") for at in range(3)
    ]
    assert (members[6].name, members[6].value) == ("size", ["sizes"] * 3)
    assert {name for name, one in given.items() if one.output} == {"all_to_0", "all_to_1", "all_to_2"}
    assert all(given[name].shape == ["sizes"] for name in lists)
    assert written.doubts[0].startswith("run on the emulator as given at")


def test_which_of_a_list_the_text_says_by_its_number_is_written(tmp_path):
    file = tmp_path / "both.cu"
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) all.at[1][i] = all.at[0][i] + all.at[2][i];"
    file.write_text(f"struct Lists {{ float *at[3]; }};\n__global__ void both(Lists all, int n) {{ {body} }}\n")
    problem = problem_in_text(scaffold(file, None), file.with_suffix(".toml"))
    assert [one.name for one in problem.arguments if one.output] == ["all_at_1"]
