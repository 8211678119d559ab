from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomli

from tests.problem.examples import KERNEL, PROBLEM, write
from tui_tuner.errors import ProblemError
from tui_tuner.problem.candidate import baseline, local_memory
from tui_tuner.problem.load import load_problem, parse_problem
from tui_tuner.prompts import argument_facts
from tui_tuner.report import best_problem_text


def test_a_problem_loads_from_its_own_file_and_from_the_kernels(tmp_path):
    file = write(tmp_path)
    problem = load_problem(file)
    assert problem == load_problem(tmp_path / "scale.cu")
    assert problem.language == "cuda"
    assert problem.directory == tmp_path
    assert problem.source_text == KERNEL
    assert problem.default_configuration == {"block_size_x": 32, "unroll": 1}
    assert problem.on_emulator().tests[0].sizes == {"n": 100}
    assert baseline(problem).tunables["unroll"] == [1, 2]


def test_a_snapshot_is_read_again_without_any_file(tmp_path):
    loaded = load_problem(write(tmp_path))
    gone = Path("/nowhere")
    read = parse_problem(PROBLEM, directory=gone, file=Path("problem.toml"), source_text=KERNEL)
    assert read == loaded.model_copy(update={"directory": gone})


def test_what_options_include_from_is_relative_to_the_problem_file(tmp_path):
    (tmp_path / "include").mkdir()
    (tmp_path / "near.h").touch()
    given = ["-I.", "-I", "include", "-include", "near.h", "-include", "math.h", "-I/usr", "-Igone"]
    text = PROBLEM.replace("[kernel]\n", f"[kernel]\ncompiler_options = {json.dumps(given)}\n", 1)
    (tmp_path / "scale.cu").write_text(KERNEL)
    (tmp_path / "scale.toml").write_text(text)
    problem = load_problem(tmp_path / "scale.toml")
    here, include, near = tmp_path, str(tmp_path / "include"), str(tmp_path / "near.h")
    whole = [f"-I{here}", "-I", include, "-include", near, "-include", "math.h", "-I/usr", "-Igone"]
    assert problem.kernel.compiler_options == whole
    best = best_problem_text(tmp_path / "run", problem, text, baseline(problem), problem.default_configuration)
    assert tomli.loads(best)["kernel"]["compiler_options"] == whole


@pytest.mark.parametrize(
    ("old", "new", "line", "message", "hint"),
    [
        ('name = "scale"', "name = scale", 3, "this is not TOML", "true and false do not"),
        ("[launch]", "[launch", 8, "this is not TOML: Expected", ""),
        ("[defaults]", "[[defaults]]", 37, "[defaults]: input should be a table", ""),
        ("[launch]", "[lanch]", 8, "unknown key 'lanch'", "did you mean 'launch'?"),
        ("grid_div_x =", "grid_dvi_x =", 10, "unknown key 'grid_dvi_x' in [launch]", "did you mean 'grid_div_x'?"),
        ("output = true", "outptu = true", 16, "unknown key 'outptu' in [arguments[1]]", "did you mean 'output'?"),
        ('[kernel]\nsource = "scale.cu"', "[kernel]", 1, "[kernel] needs 'source'", "add source"),
        ("unroll = [1, 2]", "unroll = []", 35, "[tunables.unroll]: list should have at least 1 item", ""),
        ('dtype = "int32"', 'dtype = "int23"', 30, "[arguments[4].dtype]: input should be", "did you mean 'int32'?"),
        ("value = 1.5", "", 23, "needs either shape (an array) or value (a scalar)", ""),
        ('shape = ["n"]\noutput', 'shape = ["n", 2.5]\noutput', 15, "[arguments[1].shape[2]]", ""),
        ('source = "scale.cu"', 'source = "scael.cu"', 2, "scael.cu is missing", "relative to the problem file"),
        ('name = "scale"', 'name = "scael"', 3, "the source has no kernel 'scael'", "did you mean 'scale'?"),
        ('name = "in"', 'name = "inn"', 19, "the kernel has no argument 'inn'", "did you mean 'in'?"),
        ('name = "in"', 'name = "out"', 19, "argument 'out' is given twice", "const float * in"),
        ('[[arguments]]\nname = "factor"\ndtype = "float32"\nvalue = 1.5\n', "", 12, "'factor' is missing", "[[arg"),
        ('dtype = "int32"', 'dtype = "int64"', 30, "argument 'n' is int32 in the kernel, not int64", "int n"),
        ('value = "n"', 'shape = ["n"]', 31, "is a scalar in the kernel: it needs value", "int n"),
        ("value = 1.5", "value = 1e39", 26, "does not fit into float32", "n = 4096"),
        ("value = 1.5", "value = 1.5\noutput = true", 23, "is a scalar and cannot be an output", ""),
        ("output = true", "", 12, "no argument is an output", "output = true"),
        ("[tunables]", "[tolerance]\nintegers = 1\n[tunables]", 34, "no output holds whole numbers", "absolute"),
        ("output = true", 'output = true\nfill = "integres"', 17, "[arguments[1].fill]", ""),
        ("output = true", "output = true\nlow = 1.0", 17, "'low' bounds only those fills", 'fill = "uniform"'),
        ('value = "n"', 'value = "m"', 31, "unknown name 'm'", "[sizes]"),
        ('shape = ["n"]\noutput', 'shape = ["n - 4096"]\noutput', 15, "is 0: a whole number", "n = 4096"),
        ('shape = ["n"]\noutput', 'shape = ["n - 1000"]\noutput', 15, "is 0: a whole number", "n = 1000"),
        ('shape = ["n"]\noutput', 'shape = ["n / 3"]\noutput', 15, "a whole number of at least 1", "n = 4096"),
        ("n = 4096", "n = 3000000000000", 31, "does not fit into int32", "n = 3000000000000"),
        ("[emulator]\n", "[emulator]\nmacros = { N = 8 }\n", 51, "the source gives 'N' no number", "#define N 1024"),
        ("n = 4096", "n = true", 6, "[sizes.n]: input should be a whole number, not true or false", ""),
        ("n = 4096", "n = 4096\nn = 5", 7, "this is not TOML: Cannot overwrite a value", "once"),
        ("n = 4096", "lambda = 4096", 6, "'lambda' is a word of expressions", "another name"),
        ("unroll = [1, 2]", "threadIdx = [1, 2]", 35, "'threadIdx' has a meaning", "another name"),
        ("unroll = [1, 2]", "kernel_tuner = [1, 2]", 35, "'kernel_tuner' has a meaning", "another name"),
        ("unroll = [1, 2]", "while = [1, 2]", 35, "'while'", "another name"),
        ("unroll = [1, 2]", '"a b" = [1, 2]', 35, "'a b' is not a name", "another name"),
        ("unroll = [1, 2]", "n = [1, 2]", 35, "'n' is a size and a tunable", "another name"),
        ("unroll = [1, 2]", "factor = [1, 2]", 35, "'factor' is an argument of the kernel", "macro"),
        ("unroll = [1, 2]", "scale = [1, 2]", 35, "'scale' is the kernel's own name", "macro"),
        ("unroll = [1, 2]", "unroll = [\n1,\n2.5]", 37, "of different kinds", "one kind"),
        ("unroll = [1, 2]", "unroll = [1, true]", 35, "of different kinds", "one kind"),
        ("unroll = [1, 2]", "unroll = [1, 1]", 35, "has the value 1 twice", "take one"),
        ("unroll = [1, 2]", "unroll = [1.0, nan]", 35, "not finite", "finite"),
        ("unroll = 1", "unrol = 1", 38, "there is no tunable 'unrol'", "did you mean 'unroll'?"),
        ("unroll = 1", "unroll = 3", 38, "unroll = 3 is not among its values", "choose one of 1, 2"),
        ("% unroll == 0", "& 31 == 0", 41, "the operator '&' is not allowed", "[tunables]"),
        (
            "% unroll == 0",
            "% (unroll - 1) == 0",
            37,
            "of the default configuration a restriction has no value",
            "valid",
        ),
        (
            'dtype = "float32"',
            'dtype = "float"',
            14,
            "[arguments[1].dtype]",
            "'float' of the kernel is dtype = \"float32\"",
        ),
        ('dtype = "float32"', 'dtype = "unsigned int"', 14, "[arguments[1].dtype]", 'dtype = "uint32"'),
        ('dtype = "float32"', 'dtype = "float4"', 14, "[arguments[1].dtype]", "each 'float4' counts as 4 elements"),
        ('dtype = "float32"', 'dtype = "floot32"', 14, "[arguments[1].dtype]", "did you mean 'float32'?"),
        ('problem_size = ["n"]', 'problem_size = "n"', 9, "a valid list", 'in brackets: problem_size = ["n"]'),
        ("unroll = [1, 2]", "unroll = 2", 35, "a valid list", "in brackets: unroll = [2]"),
        ('source = "scale.cu"', 'source = "C:\\scale.cu"', 2, "this is not TOML", "write a path with /"),
        ("unroll = [1, 2]", "unroll = 1, 2", 35, "this is not TOML", "a list stands in brackets"),
        ('[[arguments]]\nname = "out"', '[arguments]\nname = "out"', 18, "this is not TOML", "[[arguments]], with two"),
        ("n = 4096", 'n = "64K"', 6, "a valid integer", "a size is one number, without a unit"),
        ("% unroll == 0", "% unroll == 32", 41, "leave no configuration", "loosen"),
        ("% unroll == 0", "* unroll == 128", 37, "default configuration breaks", "block_size_x = 64, unroll = 2"),
        ("% unroll == 0", "% unrol == 0", 41, "unknown name 'unrol'", "[tunables]"),
        ("% unroll == 0", "% unroll = 0", 41, "is not an expression", "[tunables]"),
        ('problem_size = ["n"]', 'problem_size = ["m"]', 9, "unknown name 'm'", "[sizes] and [tunables]"),
        ('problem_size = ["n"]', 'problem_size = ["n - 4096"]', 9, "must be at least 1", "block_size_x = 32"),
        ('problem_size = ["n"]', 'problem_size = ["n * n * n"]\n', 8, "more than the", "n = 4096"),
        ('["block_size_x"]', '["block_size_x", "tile"]', 10, "unknown name 'tile'", "[sizes] and [tunables]"),
        ('flops = "n"', 'flops = "n * unroll"', 44, "unknown name 'unroll'", "[sizes]"),
        ('flops = "n"', 'flops = "n / 0"', 44, "division by zero", ""),
        ("sizes = { n = 1000 }", "sizes = { m = 1000 }", 48, "'m' is not in [sizes]", "known sizes: n"),
        ("n = 256", "k = 256", 51, "'k' is not in [sizes]", "known sizes: n"),
        ("n = 100 }", "l = 100 }", 52, "'l' is not in [sizes]", "known sizes: n"),
        ("[work]", '[reference]\npython = "ref.py:scale"\n[work]', 44, "ref.py cannot be read", "[reference]"),
        ("[work]", '[reference]\npython = "scale"\n[work]', 44, "'scale' names no function", "file.py:function"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_a_way_out(tmp_path, old, new, line, message, hint):
    assert old in PROBLEM
    file = write(tmp_path, PROBLEM.replace(old, new, 1))
    with pytest.raises(ProblemError) as caught:
        load_problem(file)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert (caught.value.file, caught.value.line) == (file, line)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("const float *in, float *out, float factor, int n", "not in the kernel's order: 'out' stands for 'in'"),
        ("const float *out, const float *in, float factor, int n", "is const in the kernel and cannot be an output"),
        ("float *out, const float *in, const float &factor, int n", "is a reference in the kernel"),
        (
            "float *out, const float **in, float factor, int n",
            "is a list of addresses in the kernel: it needs addresses = true",
        ),
        (
            "float *out, const float *in, float2 factor, int n",
            'is a float2 by value: it needs dtype = "struct" with members x, y',
        ),
        ("float *out, const float *in, float *factor, int n", "is a pointer in the kernel: it needs shape"),
        ("float *out, const half *in, float factor, int n", "is float16 in the kernel, not float32"),
        ("float *out, const nv_bfloat16 *in, float factor, int n", "is bfloat16 in the kernel, not float32"),
        ("float *out, const float *in, float factor, int n, int m", "the kernel's argument 'm' is missing"),
    ],
)
def test_arguments_that_are_not_the_kernels_are_refused(tmp_path, parameters, message):
    file = write(tmp_path, kernel=f"__global__ void scale({parameters}) {{ out[0] = 1; }}")
    with pytest.raises(ProblemError) as caught:
        load_problem(file)
    assert message in caught.value.message
    assert caught.value.hint.startswith(("the kernel has: ", "add a table"))
    assert caught.value.line is not None


def test_types_that_are_not_known_and_parameters_without_a_name_are_let_through(tmp_path):
    load_problem(write(tmp_path, kernel="__global__ void scale(REAL *, const float4 *in, REAL factor, int) {}"))


@pytest.mark.parametrize(("type_text", "bits"), [("__nv_bfloat16", "uint16"), ("__nv_fp8_e4m3", "uint8")])
def test_numbers_that_problem_files_did_not_have_may_be_declared_as_their_bits(tmp_path, type_text, bits):
    problem = PROBLEM.replace('name = "in"\ndtype = "float32"', f'name = "in"\ndtype = "{bits}"')
    assert problem != PROBLEM
    kernel = f"__global__ void scale(float *out, const {type_text} *in, float factor, int n) {{ out[0] = 1; }}"
    assert load_problem(write(tmp_path, problem, kernel)).arguments[1].dtype == bits


def test_template_arguments_in_the_kernels_name_are_checked_against_the_dtypes(tmp_path):
    kernel = "template<typename T> __global__ void scale(T *out, const T *in, T factor, int n) {}"
    load_problem(write(tmp_path, PROBLEM.replace('"scale"', '"scale<float>"'), kernel))
    with pytest.raises(ProblemError, match="is float64 in the kernel, not float32"):
        load_problem(write(tmp_path, PROBLEM.replace('"scale"', '"scale<double>"'), kernel))


LOCAL = """
kernel = { source = "k.cl", name = "k" }
launch = { problem_size = [64], block_size = ["w", 2] }
tunables = { w = [8, 16] }
[[arguments]]
name = "out"
dtype = "float32"
shape = [64]
output = true
[[arguments]]
name = "tile"
dtype = "float32"
local = "2 * w * block_size_y"
"""


def with_local(tmp_path, old="", new=""):
    assert old in LOCAL
    (tmp_path / "k.cl").write_text("__kernel void k(__global float *out, __local float *tile) { out[0] = tile[0]; }")
    (tmp_path / "k.toml").write_text(LOCAL.replace(old, new))
    return load_problem(tmp_path / "k.cl")


def test_local_memory_has_its_size_from_the_block_and_the_tunables(tmp_path):
    problem = with_local(tmp_path)
    assert local_memory(problem.arguments, {}, {"w": 16}, (16, 2, 1)) == ((1, 256),)
    assert argument_facts(problem)[1] == (
        "argument tile: __local memory of 2 * w * block_size_y elements of float32: keep it"
    )
    assert "local" not in problem.arguments[0].model_dump(mode="json")


@pytest.mark.parametrize(
    ("old", "new", "line", "message", "hint"),
    [
        ('local = "2 *', 'local = "m *', 13, "unknown name 'm'", "[sizes] and [tunables], and block_size_x, bl"),
        ('local = "2 *', 'local = "0 *', 13, "argument 'tile': local memory '0 * w * block_size_y' is 0", "with w = 8"),
        (
            'local = "2 * w * block_size_y"',
            "shape = [64]",
            13,
            "is a __local pointer in the kernel: it needs local",
            "",
        ),
        ('local = "2 * w * block_size_y"', "value = 1", 13, "its elements in a work-group, not value", "__local float"),
        ("shape = [64]\noutput = true", "local = 64", 8, "argument 'out' is no __local pointer in the kernel", ""),
        ("shape = [64]\n", "shape = [64]\nlocal = 64\n", 5, "has neither shape nor value nor output", ""),
        ('block_size_y"', 'block_size_y"\nfill = "ones"', 14, "local memory has no fill", "take fill out"),
    ],
)
def test_local_memory_that_no_launch_can_give_is_told(tmp_path, old, new, line, message, hint):
    with pytest.raises(ProblemError) as caught:
        with_local(tmp_path, old, new)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.line == line


def test_arrays_of_more_than_a_tebibyte_are_refused_with_the_sizes(tmp_path):
    spoilt = PROBLEM.replace('shape = ["n"]', 'shape = ["n", "n", "n", 8]')
    with pytest.raises(ProblemError, match=r"the arrays need 4096 GiB in all at \{'n': 4096\}") as caught:
        load_problem(write(tmp_path, spoilt))
    assert caught.value.line == 5


def test_a_missing_problem_file_says_how_to_write_one(tmp_path):
    write(tmp_path).unlink()
    kernel = tmp_path / "scale.cu"
    with pytest.raises(ProblemError) as caught:
        load_problem(kernel)
    assert caught.value.message == f"there is no problem file {tmp_path / 'scale.toml'}"
    assert caught.value.hint == f"write one with: tuner-tui init {kernel}"


def test_a_missing_kernel_file_is_not_taken_for_a_missing_problem_file(tmp_path):
    with pytest.raises(ProblemError, match="there is no kernel file") as caught:
        load_problem(tmp_path / "other.cu")
    assert "init" not in str(caught.value), "that writes no kernel"


def test_an_ending_that_says_no_language_asks_for_one(tmp_path):
    file = write(tmp_path, PROBLEM.replace("scale.cu", "scale.inc"))
    (tmp_path / "scale.inc").write_text(KERNEL)
    with pytest.raises(ProblemError, match=r"the ending '\.inc' says no language"):
        load_problem(file)
    file.write_text(file.read_text().replace('name = "scale"', 'name = "scale"\nlanguage = "cuda"', 1))
    assert load_problem(file).language == "cuda"


def test_an_empty_file_and_a_file_that_is_no_text_are_mistakes_like_others(tmp_path):
    file = write(tmp_path, "")
    with pytest.raises(ProblemError, match="the file needs 'kernel'"):
        load_problem(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ProblemError, match="not UTF-8"):
        load_problem(file)


@pytest.mark.parametrize(
    ("reference", "message", "line"),
    [
        ("def other(out, factor, n): ...", "no function 'ref'", 44),
        ("\n\ndef ref(out, n): ...", "does not take the kernel's argument 'in'", 3),
        ("def ref(*, seed, **arguments): ...", "wants seed", 1),
        ("def ref(:", "is not Python", 1),
    ],
)
def test_a_reference_is_looked_at_without_being_imported(tmp_path, reference, message, line):
    file = write(tmp_path, PROBLEM.replace("[work]", '[reference]\npython = "ref.py:ref"\n\n[work]'))
    (tmp_path / "ref.py").write_text(reference)
    with pytest.raises(ProblemError, match=message) as caught:
        load_problem(file)
    assert caught.value.line == line
    (tmp_path / "ref.py").write_text("raise SystemExit\ndef ref(**arguments): ...")
    assert load_problem(file).reference is not None
