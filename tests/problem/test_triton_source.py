"""Rewritten Triton kernels as text: what is taken of a reply, what it may not say, and the file that comes of it."""

from __future__ import annotations

import ast

import pytest

from tui_tuner.problem.triton import excerpt, in_place, is_rewritable, kernel_text, names_used
from tui_tuner.problem.triton.check import arguments_differ, faults

FILE = '''"""Rows scaled."""
import os

import torch
import triton
import triton.language as tl

LIMIT = 4096
SCALE = tl.constexpr(2.0)


@triton.jit
def twice(x):
    return x * SCALE


@triton.autotune(
    configs=[triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 256})],
    key=["n"],
)
@triton.jit
def scale(y, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, twice(tl.load(x + at, mask=at < n)), mask=at < n)


@triton.jit
def other(y, x, n):
    tl.store(y, twice(tl.load(x)))


def run(x):
    y = torch.empty_like(x)
    scale[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](y, x, x.numel())
    return y
'''
WITH_HELPER = """import triton.language as tl

HALF = tl.constexpr(0.5)


@triton.jit
def added(x, UNROLL: tl.constexpr = 2):
    return x + x * HALF * UNROLL


@triton.jit
def scale(y, x, n, BLOCK: tl.constexpr, UNROLL: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for part in range(UNROLL):
        tl.store(y + at, added(tl.load(x + at, mask=at < n), UNROLL), mask=at < n)


def host():
    os.remove("everything")
"""
IN_USE = ("BLOCK", "num_warps", "num_stages")


def faults_of(code: str) -> list[str]:
    return [*faults(code, "scale", FILE, FILE)]


def saying(expression: str) -> str:
    return WITH_HELPER.replace("range(UNROLL)", expression)


def test_only_functions_of_triton_and_their_numbers_are_taken_of_a_reply():
    made = in_place(FILE, WITH_HELPER, "scale", FILE)

    tree = ast.parse(made)
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions == ["twice", "added", "scale", "other", "run"]
    assert "HALF = tl.constexpr(0.5)" in made
    assert "os.remove" not in made
    assert made.count("@triton.autotune(") == 1, "the decorators are those of the file"
    assert made.replace(made[made.index("HALF") : made.index("@triton.autotune")], "").startswith(FILE[:120])
    assert faults_of(WITH_HELPER) == []
    assert arguments_differ(WITH_HELPER, "scale", FILE, ["UNROLL", "num_warps"], IN_USE) is None


def test_what_an_earlier_rewriting_brought_goes_when_nothing_calls_it_any_more():
    first = in_place(FILE, WITH_HELPER, "scale", FILE)
    plain = "@triton.jit\ndef scale(y, x, n, BLOCK: tl.constexpr):\n    tl.store(y, twice(tl.load(x)))\n"
    second = in_place(first, plain, "scale", FILE)

    assert "def added" not in second
    assert "def twice" in second
    assert kernel_text(second, "scale").count("@triton.jit") == 2
    assert "LIMIT" not in kernel_text(second, "scale")
    assert "SCALE = tl.constexpr(2.0)" in kernel_text(second, "scale")


def test_what_is_something_else_in_the_file_keeps_its_name_and_its_value():
    taken = WITH_HELPER.replace("added", "run")
    assert faults_of(taken) == ["'run' is something else in the file: give yours another name"]
    assert faults_of(f"SCALE = tl.constexpr(3.0)\n{WITH_HELPER}") == [
        "'SCALE' is something else in the file: give yours another name"
    ]
    assert faults_of(f"SCALE = tl.constexpr(2.0)\n{WITH_HELPER}") == []


def test_lines_are_those_of_python_whatever_signs_are_in_them():
    file = FILE.replace('"""Rows scaled."""', '"""Rows\x0c scaled.\u2028 """')
    assert in_place(file, WITH_HELPER, "scale", file).startswith(file[: file.index("@triton.autotune")])


def test_a_function_that_others_use_keeps_what_it_does():
    changed = (
        WITH_HELPER.replace("def added(x, UNROLL: tl.constexpr = 2)", "def twice(x)")
        .replace("added(", "twice(")
        .replace(" * UNROLL", "")
    )
    assert faults_of(changed) == ["'twice' is used by other functions of the file too: give yours another name"]


@pytest.mark.parametrize(
    "expression",
    [
        "os.system('true')",
        "torch.load('x')",
        "__import__('os')",
        "tl.core.__class__",
        "getattr(tl, 'core')",
        "eval('1')",
        "open('x')",
        "added.fn",
        "x.handle",
        "(lambda: 1)()",
        "[i for i in x]",
        "f'{x}'",
        "'{}'.format(x)",
        "x.format(n)",
        "tl.load(x, _semantic=n)",
        "tl.load(**n)",
        "tl.extern_elementwise('a', 'b')",
        "tl.static_print(x)",
        "unknown",
        "x[0]()",
        "(y := x)",
        "{1: 2}",
    ],
)
def test_a_kernel_says_nothing_but_what_the_language_has(expression):
    assert faults_of(saying(expression))


@pytest.mark.parametrize(
    "expression",
    [
        "tl.range(0, UNROLL, num_stages=2)",
        "tl.static_range(UNROLL)",
        "range(0, max(n, 3), BLOCK)",
        "x.dtype.element_ty",
    ],
)
def test_what_kernels_do_say_is_no_fault(expression):
    assert faults_of(saying(expression)) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("def scale(:", "no Python"),
        ("def scale(y, x, n): pass", "no function 'scale' under @triton.jit"),
        ("@triton.jit\ndef scale(*y): pass", "*arguments are not possible"),
        ("@triton.jit\ndef scale(y, x, n=os.sep): pass", "default must be a number"),
        ("@triton.jit\ndef scale(y: os.PathLike, x, n): pass", "'os' in line 1"),
        ("@triton.jit\ndef scale(y, x, n):\n    import os", "Import in line 2"),
        ("@triton.jit\ndef scale(y, x, n):\n    tl.core.print(1)\n    tl = 1", "'tl' is a name of the file's"),
        ("@triton.jit\ndef scale(y, triton, n): pass", "'triton' is a name of the file's"),
        ("@triton.jit\ndef scale(y, x, n):\n    def inner(): pass", "FunctionDef in line 2"),
    ],
)
def test_what_is_no_kernel_is_told_with_its_line(code, said):
    assert said in " ".join(faults_of(code))


@pytest.mark.parametrize(
    ("parameters", "tunables", "said"),
    [
        ("y, x, BLOCK: tl.constexpr", ["BLOCK"], "no longer takes n"),
        ("y, x, n, m, BLOCK: tl.constexpr", ["BLOCK"], "takes m, which the launch does not give"),
        ("y, x, n, BLOCK: tl.constexpr", ["BLOCK", "WIDE"], "WIDE is no parameter of it"),
        ("y, x, n", [], None),
        ("x, y, n, BLOCK: tl.constexpr", ["BLOCK"], "y, x, n in this order"),
        ("y, x, WIDE: tl.constexpr, n", ["WIDE"], "must be the first that it takes"),
        ("y, x, n, BLOCK: tl.constexpr, m=3", ["BLOCK", "num_warps"], None),
    ],
)
def test_a_kernel_takes_what_the_launch_gives_and_its_tunables(parameters, tunables, said):
    code = f"@triton.jit\ndef scale({parameters}):\n    pass\n"
    different = arguments_differ(code, "scale", FILE, tunables, IN_USE)
    assert different is None if said is None else said in (different or "")


def test_kernels_that_something_else_makes_or_that_are_no_kernels_are_not_rewritten():
    assert is_rewritable(FILE, "scale")
    assert not is_rewritable(FILE, "run")
    assert not is_rewritable("import helion\n\n@helion.kernel()\ndef f(x): return x\n", "f")
    assert not is_rewritable("no python at all", "f")
    assert names_used("no python at all") == frozenset()


def test_a_function_of_the_users_that_is_said_again_may_say_what_it_said():
    file = FILE.replace("return x * SCALE", "return x * torch.pi")
    again = kernel_text(file, "scale")
    assert "torch.pi" in again
    assert [*faults(again, "scale", file, file)] == []
    assert any("'torch'" in fault for fault in faults(again.replace("x * torch", "2 * x * torch"), "scale", file, file))
    assert any("'torch'" in fault for fault in faults(again.replace("at < n)", "at < torch.e)"), "scale", file, file))


def test_what_calls_a_changed_function_of_the_users_is_read_as_well():
    file = FILE.replace("return x * SCALE", "return once(x) * torch.pi").replace(
        "@triton.jit\ndef twice", "@triton.jit\ndef once(x):\n    return x\n\n\n@triton.jit\ndef twice"
    )
    file = file[: file.index("@triton.jit\ndef other")]
    changed = kernel_text(file, "scale").replace("return x\n", "return 2 * x\n")
    assert [fault.partition(":")[0] for fault in faults(changed, "scale", file, file)] == ["twice"]


def test_of_a_long_file_what_is_not_about_the_kernel_is_not_shown():
    others = "".join(f"# about number {one}\ndef number_{one}(x):\n    return x + {one}\n\n\n" for one in range(60))
    told = "def reference(y, x):\n    return 2 * x\n"
    file = FILE.replace("def run(x)", others + "def run(x)") + others.replace("number_", "last_") + told
    shown = excerpt(file, "scale")

    tree = ast.parse(shown)
    assert [one.name for one in tree.body if isinstance(one, ast.FunctionDef)] == ["twice", "scale", "run", "reference"]
    assert "LIMIT = 4096" in shown
    assert "@triton.autotune(" in shown
    assert "# not shown: other, number_0, number_1, " in shown
    assert "# not shown: last_0, " in shown
    assert "# about" not in shown
    assert excerpt(FILE, "scale") == FILE, "a short file is shown as it is"
    assert excerpt(file, "run") == file, "and one without a kernel of this name"
