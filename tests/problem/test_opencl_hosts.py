"""What drafts read of OpenCL host code, in C and by the C++ bindings; no kernel is built here."""

from __future__ import annotations

import pytest

from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.amendments import Amendments
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.load import load_problem

SCALE = """\
__kernel void scale(__global float *to, __global const float *from, const int n)
{
    int i = get_global_id(0);
    if (i < n) to[i] = 2 * from[i];
}
"""
SUM = """\
__kernel void sums(__global float *to, __global const float *from, const int w, const int h)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < w && y < h) to[y * w + x] = from[y * w + x] + 1;
}
"""
BUFFERS = """\
cl_mem a = clCreateBuffer(context, CL_MEM_READ_ONLY, sizeof(float) * length, NULL, &err);
cl_mem b = clCreateBuffer(context, CL_MEM_WRITE_ONLY, length * sizeof(cl_float), NULL, &err);
cl_kernel kernel = clCreateKernel(program, "scale", &err);
"""
SET = """\
err = clSetKernelArg(kernel, 0, sizeof(cl_mem), &b); err |= clSetKernelArg(kernel, 1, sizeof(cl_mem), (void *)&a);
err |= clSetKernelArg(kernel, 2, sizeof(int), &length);
"""
VECTORS = """\
std::vector<float> from(length), to(length); cl::Buffer a(context, from.begin(), from.end(), true);
cl::Buffer b{context, CL_MEM_WRITE_ONLY, sizeof(float) * length};
"""
ONE = {"sizes": {"n": 5000}, "to": ["n"], "from": ["n"], "n": "n", "problem_size": ["n"]}
SUMS = """\
__kernel void sums(__global const float *from, __local float *part, const int n, __global float *to)
{
    part[get_local_id(0)] = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) part[get_local_id(0)] += from[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) to[get_group_id(0)] = part[0] + part[get_local_size(0) - 1];
}
"""
SUMS_HOST = """\
#define GROUPS 64
#define LOCAL 128
int main() {
cl_mem a = clCreateBuffer(c, 0, sizeof(float) * length, NULL, &e);
cl_mem b = clCreateBuffer(c, 0, sizeof(float) * GROUPS, NULL, &e);
cl_kernel k = clCreateKernel(p, "sums", &e); int length = 5000;
clSetKernelArg(k, 0, sizeof(cl_mem), &a); LOCAL_ARGUMENT; clSetKernelArg(k, 2, sizeof(int), &length);
clSetKernelArg(k, 3, sizeof(cl_mem), &b); size_t global = GROUPS * LOCAL, local = LOCAL;
clEnqueueNDRangeKernel(q, k, 1, NULL, &global, &local, 0, NULL, NULL); }
"""


def sums_with(argument):
    expected = {"sizes": {"n": 5000, "GROUPS": 64}, "problem_size": ["GROUPS"], "defaults": {"block_size_x": 128}}
    return SUMS, SUMS_HOST.replace("LOCAL_ARGUMENT", argument), expected | {"to": ["GROUPS"]}


TILED = """\
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void tiled(__global float *to, __global const float *from, const int w)
{
    __local float part[TILE][TILE];
    const int x = get_local_id(0), y = get_local_id(1), at = get_global_id(1) * w + get_global_id(0);
    part[y][x] = from[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    to[at] = part[x][y] * TIMES;
}
"""
TILED_HOST = """\
int main() {{ const int side = 16, w = 64; std::vector<float> from(w * w), to(w * w);
cl::Buffer a(context, from.begin(), from.end(), true), b(context, CL_MEM_WRITE_ONLY, sizeof(float) * w * w);
{options}
cl::Kernel k(program, "tiled"); k.setArg(0, b); k.setArg(1, a); k.setArg(2, w);
queue.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(w, w), cl::NDRange(side, side)); }}
"""
BUILT = {"defaults": {"TILE": 16}, "block_size": ["TILE", "TILE"], "grid_div_x": ["TILE"]}
CASES = {
    "local memory of the work-group's size": (
        *sums_with("clSetKernelArg(k, 1, LOCAL * sizeof(cl_float), NULL)")[:2],
        sums_with("")[2] | {"part": "block_size_x"},
    ),
    "local memory by a name for bytes": (
        *sums_with("const size_t bytes = 2 * LOCAL * sizeof(float); clSetKernelArg(k, 1, bytes, 0)")[:2],
        sums_with("")[2] | {"part": "2 * block_size_x"},
    ),
    "local memory of the C++ bindings": (
        *sums_with("k.setArg(1, cl::Local(sizeof(float) * 256))")[:2],
        sums_with("")[2] | {"part": "256", "block": [32, 64, 128, 256]},
    ),
    "local memory that the host does not say": (*sums_with("")[:2], sums_with("")[2] | {"part": "2 * block_size_x"}),
    "options that are put together": (
        TILED,
        TILED_HOST.format(
            options='std::string how = "-cl-mad-enable -DTILE=" + std::to_string(side) + " -D TIMES=2.5f";'
            " program.build(devices, how.c_str());"
        ),
        BUILT | {"options": ["-DTIMES=2.5f", "-cl-mad-enable"]},
    ),
    "options by a format, in two texts": (
        TILED,
        TILED_HOST.format(
            options='char how[64]; sprintf(how, "-DUNUSED=%s -DTILE=%d "\n "-DTIMES=%d", name, side, 2 + 1);'
            " clBuildProgram(program, 1, &device, how, NULL, NULL);"
        ),
        BUILT | {"options": ["-DTIMES=3"]},
    ),
    "options whose block is only the same number": (
        TILED,
        TILED_HOST.replace("(side, side)", "(16, 16)").format(
            options='/* "-DTIMES=9" */ clBuildProgram(program, 1, &device, "-DTILE=16 -DTIMES=16", NULL, NULL);'
        ),
        BUILT | {"options": ["-DTIMES=16"]},
    ),
    "a work-group that the kernel requires": (
        TILED.replace("TILE, TILE, 1", "8, 4, 1").replace("TILE", "8").replace("TIMES", "2"),
        TILED_HOST.format(options=""),
        {"block_size": ["8", "4"], "problem_size": ["w", "w"], "defaults": {}, "options": []},
    ),
    "a work-group that the kernel requires, by the host's name for it": (
        SUMS.replace("__kernel", "__kernel __attribute__((reqd_work_group_size(128, 1, 1)))"),
        SUMS_HOST.replace("LOCAL_ARGUMENT", "clSetKernelArg(k, 1, local * sizeof(float), NULL)")
        .replace("size_t global = GROUPS * LOCAL, local = LOCAL;", "size_t global = GROUPS * local;")
        .replace("int main() {", "int main() { size_t local = 128;"),
        {"sizes": {"n": 5000, "GROUPS": 64}, "problem_size": ["GROUPS"], "block_size": ["128"], "part": "128"},
    ),
    "handles in an array, and a size that a function rounds up": (
        SCALE,
        "cl_kernel k[4]; cl_mem a[4], b[4]; void run(int length) { for (int d = 0; d < 4; d++) {"
        " a[d] = clCreateBuffer(c, 0, sizeof(float) * length, NULL, &e);"
        ' b[d] = clCreateBuffer(c, 0, sizeof(float) * length, NULL, &e); k[d] = clCreateKernel(p, "scale", &e);'
        " clSetKernelArg(k[d], 0, sizeof(cl_mem), &b[d]); clSetKernelArg(k[d], 1, sizeof(cl_mem), &a[d]);"
        " clSetKernelArg(k[d], 2, sizeof(int), &length); } size_t l[1], g[1]; l[0] = 64; g[0] = shrRoundUp(64, length);"
        " for (int i = 0; i < 4; i++) clEnqueueNDRangeKernel(q[i], k[i], 1, NULL, g, l, 0, NULL, NULL); }\n"
        "int main() { run(5000); }",
        ONE | {"defaults": {"block_size_x": 64}},
    ),
    "buffers, arguments and a queue, with a work-group of the host's": (
        SCALE,
        f"int main() {{ const int length = 5000; {BUFFERS} {SET} size_t local = 128;\n"
        " size_t global = ((length + local - 1) / local) * local;\n"
        " clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL); }",
        ONE | {"defaults": {"block_size_x": 128}},
    ),
    "a work-group that is left to the driver, and arguments that are counted": (
        SCALE,
        f"int main() {{ int i = 0; const int length = 5000; {BUFFERS} clSetKernelArg(kernel, i++, sizeof(b), &b);"
        " clSetKernelArg(kernel, i++, sizeof(a), &a); clSetKernelArg(kernel, i++, sizeof(length), &length);"
        " const size_t global[1] = {length}; clEnqueueNDRangeKernel(queue, kernel, 1, 0, global, NULL, 0, 0, 0); }",
        ONE | {"defaults": {"block_size_x": 256}},
    ),
    "a global size that is only rounded up, and a handle that a function fills": (
        SCALE,
        f"void run(int length) {{ {BUFFERS.rpartition('cl_kernel')[0]}"
        ' load_kernel(&kernel, &queue, program, "scale", 0);'
        f" {SET} size_t global = length, local = 64; global = (global + local - 1) / local * local;"
        " clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL); }\n"
        "int main() { run(5000); }",
        ONE | {"defaults": {"block_size_x": 64}},
    ),
    "two axes, whose sizes are set one by one, and a queue that another function is asked for": (
        SUM,
        "#define W 640\n#define H 480\ncl_mem in, out; cl_kernel k;\n"
        "void make() { in = clCreateBuffer(c, 0, sizeof(float) * W * H, NULL, &e);"
        ' out = clCreateBuffer(c, 0, sizeof(float) * W * H, NULL, &e); k = clCreateKernel(p, "sums", &e); }\n'
        "void launch(int w, int h) { size_t l[2], g[2]; l[0] = 32; l[1] = 4;"
        " g[0] = (size_t)ceil((float)W / 32) * 32; g[1] = (size_t)ceil((float)H / 4) * 4;"
        " clSetKernelArg(k, 0, sizeof(out), &out); clSetKernelArg(k, 1, sizeof(in), &in);"
        " clSetKernelArg(k, 2, sizeof(w), &w); clSetKernelArg(k, 3, sizeof(h), &h);"
        " clEnqueueNDRangeKernel(q, k, 2, NULL, g, l, 0, NULL, NULL); }\n"
        "int main() { make(); launch(W, H); }",
        {
            "sizes": {"w": 640, "h": 480},
            "to": ["w * h"],
            "problem_size": ["w", "h"],
            "defaults": {"block_size_x": 32, "block_size_y": 4},
        },
    ),
    "work-items from outside, of an array that is declared with 1 along each axis": (
        SUM,
        "int main(int argc, char **argv) { int w = 640, h = 480; size_t g[2] = {1, 1};"
        " if (argc == 3) { g[0] = atoi(argv[1]); g[1] = atoi(argv[2]); } else exit(1);"
        " cl_mem in = clCreateBuffer(c, 0, sizeof(float) * w * h, NULL, &e);"
        ' cl_mem out = clCreateBuffer(c, 0, sizeof(float) * w * h, NULL, &e); k = clCreateKernel(p, "sums", &e);'
        " clSetKernelArg(k, 0, sizeof(out), &out); clSetKernelArg(k, 1, sizeof(in), &in);"
        " clSetKernelArg(k, 2, sizeof(w), &w); clSetKernelArg(k, 3, sizeof(h), &h);"
        " clEnqueueNDRangeKernel(q, k, 2, NULL, g, NULL, 0, NULL, NULL); }",
        {"sizes": {"w": 640, "h": 480}, "to": ["w * h"], "problem_size": ["w", "h"]},
    ),
    "a work-group of one, of a kernel that knows none": (
        SCALE,
        f"int main() {{ const int length = 5000; {BUFFERS} {SET} size_t g[1] = {{length}}, l[1] = {{1}};"
        " clEnqueueNDRangeKernel(queue, kernel, 1, NULL, g, l, 0, NULL, NULL); }",
        ONE | {"defaults": {"block_size_x": 1}, "grid_div_x": None},
    ),
    "a result for each work-group, which nobody combines": (
        "__kernel void firsts(__global const float *from, __global float *to)\n"
        "{ if (get_local_id(0) == 0) to[get_group_id(0)] = 2 * from[get_global_id(0)]; }",
        "int main() { const int length = 5120; size_t g = length, l = 64;"
        " cl_mem a = clCreateBuffer(context, 0, sizeof(float) * length, NULL, &err);"
        " cl_mem b = clCreateBuffer(context, 0, sizeof(float) * length / 64, NULL, &err);"
        ' cl_kernel k = clCreateKernel(program, "firsts", &err); clSetKernelArg(k, 0, sizeof(cl_mem), &a);'
        " clSetKernelArg(k, 1, sizeof(cl_mem), &b); clEnqueueNDRangeKernel(q, k, 1, 0, &g, &l, 0, 0, 0); }",
        {"sizes": {"length": 5120}, "defaults": {}, "block_size": ["64"], "grid_div_x": ["64"]},
    ),
    "more sizes than the launch has axes": (
        SCALE,
        f"int main() {{ const int length = 5000; {BUFFERS} {SET} size_t g[2] = {{length, length}}, l[2] = {{64, 1}};"
        " clEnqueueNDRangeKernel(queue, kernel, 1, NULL, g, l, 0, NULL, NULL); }",
        ONE | {"defaults": {"block_size_x": 64}},
    ),
    "a functor of the C++ bindings": (
        SCALE,
        f"int main() {{ int length = 5000; {VECTORS} cl::make_kernel<cl::Buffer, cl::Buffer, int> f(program, "
        '"scale"); f(cl::EnqueueArgs(queue, cl::NDRange(length), cl::NDRange(32)), b, a, length); }',
        ONE | {"defaults": {"block_size_x": 32}},
    ),
    "a functor that is assigned, in braces": (
        SCALE,
        f"int main() {{ int length = 5000; {VECTORS} auto f = cl::KernelFunctor<cl::Buffer, cl::Buffer, int>(program, "
        '"scale"); f(cl::EnqueueArgs{queue, cl::NDRange{length}}, b, a, length); }',
        ONE | {"defaults": {"block_size_x": 256}},
    ),
    "how functors are launched as variables, in a function that is a try, with tiles of a structure": (
        "__kernel void scale(__global float *to, __global const float *from, const int n) {"
        " __local float part[TILE_W]; int i = get_group_id(0) * TILE_W + get_local_id(0);"
        " part[get_local_id(0)] = i < n ? from[i] : 0; barrier(CLK_LOCAL_MEM_FENCE);"
        " if (i < n) to[i] = part[TILE_W - 1 - get_local_id(0)]; }",
        "struct Tiles { int width = 64, steps = 4; }; std::string options(const Tiles &t) noexcept {"
        ' std::ostringstream o; o << "-DTILE_W=" << t.width << " -cl-mad-enable"; return o.str(); }'
        f" int main() try {{ int length = 5000; {VECTORS} const Tiles t;"
        " program.build(options(t).c_str());"
        ' Functor other(program, "other"), f(program, "scale");'
        " cl::EnqueueArgs few(queue, cl::NDRange(1)); const size_t w = t.width, items = (length + w - 1) / w * w;"
        " cl::EnqueueArgs how(queue, cl::NDRange(items), cl::NDRange(t.width));"
        " other(few, b); f(how, b, a, length); } catch (...) {}",
        ONE
        | {
            "grid_div_x": ["TILE_W"],
            "block_size": ["TILE_W"],
            "defaults": {"TILE_W": 64},
            "options": ["-cl-mad-enable"],
        },
    ),
    "a functor without a queue, of buffers without a context": (
        SCALE,
        "int main() { int length = 5000; std::vector<float> from(length), to(length);"
        " cl::Buffer a(begin(from), end(from), true), b(begin(to), end(to), false);"
        ' auto f = cl::KernelFunctor<cl::Buffer &, cl::Buffer &, int>(program, "scale");'
        " f(cl::EnqueueArgs(cl::NDRange(length), cl::NDRange(50)), b, a, length); }",
        ONE | {"defaults": {"block_size_x": 50}},
    ),
    "a name of the kernel that a macro stands for": (
        SCALE,
        '#define KERNEL_FUNC "scale"\n'
        f"int main() {{ const int length = 5000; {BUFFERS.replace(chr(34) + 'scale' + chr(34), 'KERNEL_FUNC')} {SET}"
        " size_t g = length; clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &g, NULL, 0, NULL, NULL); }",
        ONE,
    ),
    "a kernel and a queue of the C++ bindings": (
        SCALE,
        f'int main() {{ int length = 5000; {VECTORS} cl::Kernel k(program, "scale"); k.setArg(0, b); k.setArg(1, a);'
        " k.setArg(2, length); cl::NDRange items(length);"
        " queue.enqueueNDRangeKernel(k, cl::NullRange, items, cl::NullRange); }",
        ONE | {"defaults": {"block_size_x": 256}},
    ),
    "a launch of another kernel, and a name that is launched nowhere": (
        SCALE,
        f'int main() {{ const int length = 5000; {BUFFERS} {SET} const char *name = "scale"; size_t g = 64;'
        ' cl_kernel other = clCreateKernel(program, "other", &err);'
        " clEnqueueNDRangeKernel(queue, other, 1, NULL, &g, NULL, 0, NULL, NULL); }",
        {"sizes": {"n": 2**20}, "problem_size": ["n"]},
    ),
    "work-items rounded up along two axes of a kernel that asks for its group": (
        "#ifndef W\n#define W 16\n#endif\n#ifndef H\n#define H 8\n#endif\n"
        "__kernel __attribute__((reqd_work_group_size(W, H, 1))) void scale(__global float *to, int w, int h)"
        " { int i = get_group_id(0) * W + get_local_id(0), j = get_global_id(1);"
        " if (i < w && j < h) to[j * w + i] = 1; }",
        'int main() { int w = 640, h = 480; sprintf(options, "-DW=%d -DH=%d", BW, BH);'
        " const int BW = 16, BH = 8; clBuildProgram(program, 1, &device, options, NULL, NULL);"
        ' cl_kernel kernel = clCreateKernel(program, "scale", &err);'
        " cl_mem to = clCreateBuffer(context, CL_MEM_READ_WRITE, w * h * sizeof(float), NULL, &err);"
        " clSetKernelArg(kernel, 0, sizeof(cl_mem), &to); clSetKernelArg(kernel, 1, 4, &w);"
        " clSetKernelArg(kernel, 2, 4, &h); size_t local[2] = { BW, BH };"
        " size_t global[2] = { (w + BW - 1) / BW * BW, (h + BH - 1) / BH * BH };"
        " clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL); }",
        {"sizes": {"w": 640, "h": 480}, "problem_size": ["w", "h"], "to": ["w * h"]},
    ),
    "numbers that come from outside": (
        SCALE.replace("int n)", "int n, const int offset)").replace("from[i]", "from[offset + i]"),
        f"int main(int c, char **v) {{ const int length = 5000; {BUFFERS} {SET} int at = first(v);"
        " clSetKernelArg(kernel, 3, sizeof(at), &at); size_t g = length;"
        " clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &g, NULL, 0, NULL, NULL); }",
        ONE | {"offset": 1, "guessed": ["offset"]},
    ),
}


def drafted(tmp_path, source, host, amendments=None):
    kernel, beside = tmp_path / "kernel.cl", tmp_path / "main.cpp"
    kernel.write_text(source)
    beside.write_text(host)
    text = scaffold(kernel, None, amendments or Amendments(), beside)
    kernel.with_suffix(".toml").write_text(text)
    return load_problem(kernel), text


@pytest.mark.parametrize(("source", "host", "expected"), CASES.values(), ids=CASES)
def test_a_draft_says_what_the_host_launches(tmp_path, source, host, expected):
    problem, text = drafted(tmp_path, source, host)
    found = {one.name: one.local or (one.shape if one.value is None else one.value) for one in problem.arguments}
    found |= {"sizes": problem.sizes, "defaults": problem.defaults, "options": problem.kernel.compiler_options}
    found |= problem.launch.model_dump() | {"block": problem.tunables.get("block_size_x")}
    guessed = text.replace("value = ", "").splitlines()
    for name in expected.get("guessed", ()):
        assert f"{found[name]}  # a guess: check" in guessed, text
    assert {name: found[name] for name in expected if name != "guessed"} == {
        name: value for name, value in expected.items() if name != "guessed"
    }


COUNTED = """\
__kernel void turned(__global float *to, __global const float *from)
{
    int i = get_global_id(0), n = get_global_size(0);
    if (i > 0) to[i] = from[n - i];
}
"""


@pytest.mark.parametrize(
    ("count", "blocks", "own"),
    [("12288", [32, 64, 128, 256, 512, 1024], 256), ("8208", [1, 2, 4, 8], 8), ("8209", [1], 1)],
)
def test_blocks_divide_the_work_items_that_a_kernel_counts(tmp_path, count, blocks, own):
    host = (
        f"int main() {{ const int length = {count}; {BUFFERS.replace('scale', 'turned')}"
        " clSetKernelArg(kernel, 0, sizeof(b), &b); clSetKernelArg(kernel, 1, sizeof(a), &a); size_t g = length;"
        " clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &g, NULL, 0, NULL, NULL); }"
    )
    problem, text = drafted(tmp_path, COUNTED, host)
    assert (problem.tunables, problem.defaults) == ({"block_size_x": blocks}, {"block_size_x": own})
    assert "those that divide the work-items" in text
    for sizes in (problem.sizes, problem.tests[0].sizes):
        assert all(sizes["length"] % one == 0 for one in blocks), text
    strided = COUNTED.replace("n = get_global_size(0)", "n = 9").replace(
        "if (i > 0)", "for (; i < n; i += get_global_size(0))"
    )
    assert "those that divide" not in drafted(tmp_path, strided, host)[1]


def test_a_work_group_that_the_kernel_requires_is_its_block_without_a_host_too(tmp_path):
    problem, text = drafted(tmp_path, TILED.replace("TIMES", "2").replace("TILE", "8"), "int main() {}")
    assert (problem.launch.block_size, problem.tunables) == (["8", "8", "1"], {})
    assert "[launch]  # the file launches it nowhere\n" in text
    problem, text = drafted(tmp_path, "#define TILE 8\n" + TILED.replace("TIMES", "2"), "int main() {}")
    assert (problem.launch.block_size, problem.defaults) == (["TILE", "TILE", "1"], {"TILE": 8})


def test_parts_of_blocks_that_are_vectors_have_room_for_all_of_their_elements(tmp_path):
    source = SUMS.replace("float *to", "float4 *to").replace(" + part[get_local_size(0) - 1]", "")
    problem, _ = drafted(tmp_path, source, "int main() {}")
    assert {one.name: one.shape for one in problem.arguments}["to"] == ["4 * ceil_div(n, 32)"]


def test_the_line_of_a_launch_is_the_one_of_its_own_file(tmp_path):
    source, host, _ = CASES["buffers, arguments and a queue, with a work-group of the host's"]
    line = host[: host.index("clEnqueue")].count("\n") + 1
    assert f"[launch]  # as the host launches it in line {line}\n" in drafted(tmp_path, source, host)[1]


def test_where_something_begins_is_taken_for_0_if_the_host_does_not_say(tmp_path):
    source, host, _ = CASES["numbers that come from outside"]
    problem, text = drafted(tmp_path, source, host.replace(" at ", " offset ").replace("&at", "&offset"))
    assert {one.name: one.value for one in problem.arguments}["offset"] == 0
    assert "value = 0  # a guess: check" in text


def test_what_takes_long_is_timed_at_smaller_sizes_though_the_host_has_others(tmp_path):
    source, host, _ = CASES["a work-group that is left to the driver, and arguments that are counted"]
    problem, text = drafted(tmp_path, source, host, Amendments(halvings=2))
    assert (problem.sizes, problem.tests[0].sizes) == ({"n": 1250}, {"n": 936})
    assert "n = 1250  # a guess: check" in text


def test_headers_beside_the_host_say_numbers_and_those_of_the_kernel_where_they_are(tmp_path):
    (tmp_path / "sizes.h").write_text("#define LENGTH 5000\n")
    _, host, _ = CASES["a functor of the C++ bindings"]
    source = '#include "sizes.h"\n' + SCALE
    host = '#include "sizes.h"\n' + host.replace("int length = 5000", "int length = LENGTH")
    problem, text = drafted(tmp_path, source, host)
    assert problem.sizes == {"n": 5000}
    assert 'compiler_options = ["-I."]' in text
    assert problem.kernel.compiler_options == [f"-I{tmp_path}"]


@pytest.mark.parametrize(
    "host",
    [
        'auto f = cl::KernelFunctor<>(p, "scale"); f(cl::EnqueueArgs(), a); f(cl::EnqueueArgs{}, a);'
        " f(cl::EnqueueArgs(q",
        'cl_kernel k = clCreateKernel(p, "scale"',
        'cl_kernel k = clCreateKernel(p, "scale", &e); clSetKernelArg(k, 9999999999, 4, &a);'
        " size_t g[2] = {g[1], g[0]}; clEnqueueNDRangeKernel(q, k, 99999999999999999999, NULL, g, g[0, 0);",
        'k = clCreateKernel(p, "scale", &e); clEnqueueNDRangeKernel(q, k, 1, NULL, NULL, NULL, 0, NULL, NULL);',
    ],
)
def test_a_host_that_makes_no_sense_says_nothing(tmp_path, host):
    problem, _ = drafted(tmp_path, SCALE, host)
    assert (problem.sizes, problem.launch.problem_size) == ({"n": 2**20}, ["n"])


@pytest.mark.parametrize(
    ("offset", "is_refused"),
    [("cl::NDRange(1, 1)", True), ("cl::NDRange(0, 1)", True), ("cl::NDRange(0, 0)", False), ("cl::NullRange", False)],
)
def test_a_launch_from_an_offset_on_is_refused_with_what_to_do(tmp_path, offset, is_refused):
    host = (
        "int main() { int w = 512; cl::Buffer a(context, 0, w * w * 4), b(context, 0, w * w * 4);"
        ' cl::Kernel k(program, "sums"); k.setArg(0, b); k.setArg(1, a); k.setArg(2, w); k.setArg(3, w);'
        f" queue.enqueueNDRangeKernel(k, {offset}, cl::NDRange(w, w), cl::NullRange); }}"
    )
    if not is_refused:
        assert drafted(tmp_path, SUM, host)[0].launch.problem_size == ["w", "w"]
        return
    with pytest.raises(ProblemError, match="from a global offset of") as caught:
        drafted(tmp_path, SUM, host)
    assert "add the offset in the kernel" in caught.value.hint


def test_a_type_that_an_option_of_the_build_chooses_is_that_of_the_arguments(tmp_path):
    source = (
        "#ifdef SINGLE\n#define REAL float\n#elif DOUBLE\n#define REAL double\n#endif\n"
        "__kernel void twice(__global REAL *to, const int n) { int i = get_global_id(0); if (i < n) to[i] = 2 * i; }"
    )
    host = (
        'int main() { int n = 4096; cl::Buffer b(context, 0, n * sizeof(float)); program.build("-DSINGLE");'
        ' cl::Kernel k(program, "twice"); k.setArg(0, b); k.setArg(1, n);'
        " queue.enqueueNDRangeKernel(k, cl::NullRange, cl::NDRange(n), cl::NullRange); }"
    )
    assert drafted(tmp_path, source, host)[0].arguments[0].dtype == "float32"
