"""Texts of kernels in scripts, which `init` writes into a file: with the script's values, and with macros for these."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui_tuner.app.drafting import unconfirmed
from tui_tuner.app.first_draft import taken_out
from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.load import load_problem

PERCENT = '''"""
__global__ void moved(%(real)s *to, %(real)s *from) {
    int i = blockIdx.x * %(THREADS)d + threadIdx.x;
    to[i] = from[(i + 50 %% 7) %% %(n)s];
}
"""'''
FORMAT = PERCENT.replace("{", "{{").replace("}", "}}").replace("%%", "%")
FORMAT = FORMAT.replace("%(real)s", "{real}").replace("%(THREADS)d", "{THREADS}").replace("%(n)s", "{n}")
DOLLAR = PERCENT.replace("%%", "%").replace("%(real)s", "$real")
DOLLAR = DOLLAR.replace("%(THREADS)d", "${THREADS}").replace("%(n)s", "$n")
SCRIPT = """\
import pycuda.autoinit, numpy as np
from pycuda import compiler, gpuarray
from string import Template
real, THREADS = "float", 64
n = 1 << 20
source = SOURCE
module = compiler.SourceModule(source)
moved = module.get_function("moved")
x = gpuarray.to_gpu(np.random.randn(n).astype(np.float32))
y = gpuarray.empty_like(x)
moved(y, x, block=(THREADS, 1, 1), grid=(n // THREADS, 1))
"""


def taken(directory: Path, script: str) -> tuple[Path, Path | None]:
    file = directory / "kept.py"
    file.write_text(script)
    return taken_out(file)


@pytest.mark.parametrize(
    "source",
    [
        PERCENT + ' % {"real": real, "THREADS": THREADS, "n": n}',
        PERCENT + " % dict(real=real, THREADS=THREADS, n=n)",
        FORMAT + ".format(real=real, THREADS=THREADS, n=n)",
        FORMAT + '.format(**{"real": real, "THREADS": THREADS, "n": n})',
        "f" + FORMAT,
        f"Template({DOLLAR}).substitute(real=real, THREADS=THREADS, n=n)",
        f"Template({DOLLAR}).substitute(dict(real=real, THREADS=THREADS, n=n))",
        FORMAT.replace("{{", "{").replace("}}", "}").replace("{n}", "n").replace("{real}", "@real@")
        + '.replace("@real@", real).replace("{THREADS}", str(THREADS)).replace("% n]", f"% {n}]")',
        FORMAT.replace("{real}", "{}").replace("{THREADS}", "{}").replace("{n}", "{}")
        + ".format(real, real, THREADS, n)",
    ],
)
def test_numbers_that_a_script_puts_into_a_text_are_macros_that_can_be_tuned(tmp_path, source):
    file, host = taken(tmp_path, SCRIPT.replace("SOURCE", source))
    text = file.read_text()
    assert "#define THREADS 64\n" in text
    assert "void moved(float *to, float *from) {\n    int i = blockIdx.x * THREADS" in text
    assert "[(i + 50 % 7) % n]" in text or "[(i + 50 % 7) % 1048576]" in text
    file.with_suffix(".toml").write_text(scaffold(file, None, host=host))
    problem = load_problem(file.with_suffix(".toml"))
    assert 128 in problem.tunables["THREADS"]
    assert problem.launch.block_size[0] == "THREADS"
    assert problem.default_configuration["THREADS"] == 64


def test_a_macro_that_is_given_a_number_of_the_script_stands_for_that_there(tmp_path):
    source = PERCENT.replace("%(THREADS)d", "T").replace('"""\n', '"""\n#define T %(threads)d\n', 1)
    script = SCRIPT.replace("SOURCE", source + ' % {"real": real, "threads": THREADS, "n": n}')
    file, host = taken(tmp_path, script)
    assert "#define T 64\n" in file.read_text()
    assert "threads" not in file.read_text()
    file.with_suffix(".toml").write_text(scaffold(file, None, host=host))
    assert 128 in load_problem(file.with_suffix(".toml")).tunables["T"]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (PERCENT + ' % {"real": chosen(), "THREADS": THREADS, "n": n}', r"chosen\(\)"),
        (PERCENT + ' % {"THREADS": THREADS, "n": n}', r"%\(real\)s"),
        (f"Template({DOLLAR}).render(n=n) + included", "included"),
        (PERCENT + ".upper()", r"upper\(\)"),
    ],
)
def test_a_text_of_what_only_running_would_tell_is_refused_with_what_to_do(tmp_path, source, told):
    with pytest.raises(ProblemError, match=f"put together of {told}") as caught:
        taken(tmp_path, SCRIPT.replace("SOURCE", source))
    assert "its numbers as #define" in (caught.value.hint or "")
    assert caught.value.line == SCRIPT.replace("SOURCE", source).split("\nmodule")[0].count("\n") + 2
    assert not (tmp_path / "kept.cu").exists()


TWO = """\
import cupy as cp
add = cp.RawKernel('extern "C" __global__ void add(float *a, int n) { if (n) a[threadIdx.x] += 1; }', "add")
code = '''
extern "C" __global__ void doubled(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= 2;
}
'''
doubled = cp.RawModule(code=code).get_function("doubled")
a = cp.ones(70000, cp.float32)
doubled((274,), (256,), (a, a.size))
"""


def test_several_texts_are_one_file_of_which_a_kernel_that_is_launched_comes_first(tmp_path):
    file, host = taken(tmp_path, TWO)
    name, others, text = unconfirmed(file, None, host)
    assert (name, [*others]) == ("doubled", ["add"])
    assert "n = 70000  # as the host has it" in text
    assert 'shape = ["n"]  # as the host allocates it' in text


def test_texts_that_declare_the_same_are_refused_with_what_to_do(tmp_path):
    with pytest.raises(ProblemError, match="2 texts of this script declare doubled") as caught:
        taken(tmp_path, TWO.replace("void add(", "void doubled("))
    assert "write the text to be tuned into kept.cu" in (caught.value.hint or "")


def test_a_script_of_python_2_is_read_too(tmp_path):
    file, host = taken(tmp_path, TWO + "print 'done', a\nprint a - 1\n")
    assert host is not None
    assert "void doubled" in file.read_text()
