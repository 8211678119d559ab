"""Texts made Triton's functions in the kernel's process, compiled for a device that need not be there."""

# ruff: noqa: E402 - after the check for torch

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
triton = pytest.importorskip("triton", reason="Triton is not installed")

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tests.problem.test_triton_source import FILE, IN_USE, WITH_HELPER
from tui_tuner.problem.triton import in_place
from tui_tuner.python_kernels.child.decorators import function_of
from tui_tuner.python_kernels.child.kernel import KernelFault
from tui_tuner.python_kernels.child.rewritten import RewrittenKernels
from tui_tuner.python_kernels.child.user_file import UserFile

HOPPER = GPUTarget("cuda", 90, 32)


@pytest.fixture
def kernels(tmp_path: Path) -> RewrittenKernels:
    file = tmp_path / "scaled.py"
    file.write_text(FILE, "utf-8")
    user_file = UserFile(file)
    own = function_of(user_file.module.scale)
    assert own is not None
    return RewrittenKernels(user_file, "scale", own)


def compiled(kernels: RewrittenKernels, code: str, tunables: Sequence[str] = ("BLOCK", "UNROLL")) -> str:
    """The assembly of a rewritten kernel."""
    function = kernels.function(in_place(FILE, code, "scale", FILE), tunables, IN_USE)
    signature = {"y": "*fp32", "x": "*fp32", "n": "i32"} | dict.fromkeys(tunables, "constexpr")
    source = ASTSource(function, signature, {(3 + place,): 2**place for place in range(len(tunables))})
    return triton.compile(source, target=HOPPER).asm["ptx"]


def test_a_kernel_with_a_helper_and_a_number_of_its_own_is_compiled(kernels):
    assert ".visible .entry scale(" in compiled(kernels, WITH_HELPER)


def test_helpers_of_the_file_and_members_of_what_is_loaded_are_at_hand(kernels):
    code = """
@triton.jit
def scale(y, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = twice(tl.load(x + at, mask=at < n, eviction_policy="evict_first").to(tl.float32))
    tl.store(y + at, value.to(y.dtype.element_ty), mask=at < tl.cdiv(n, triton.next_power_of_2(BLOCK)))
"""
    assert ".visible .entry scale(" in compiled(kernels, code, ("BLOCK",))


def test_a_text_is_made_a_function_once(kernels):
    source = in_place(FILE, WITH_HELPER, "scale", FILE)
    made = kernels.function(source, ("BLOCK", "UNROLL"), IN_USE)
    assert kernels.function(source, ("BLOCK", "UNROLL"), IN_USE) is made


@pytest.mark.parametrize(
    "expression",
    [
        "tl.core.builtins.print(1)",
        "triton.language.core.inspect.getfile(1)",
        "tl.extra.import_module('os')",
        "triton.testing.do_bench(1)",
        "triton.jit(1)",
        "triton.runtime.driver",
        "run(x)",
    ],
)
def test_nothing_leads_from_triton_to_anything_else(kernels, expression):
    code = WITH_HELPER.replace("range(UNROLL)", expression)
    with pytest.raises(KernelFault, match="nothing that"):
        compiled(kernels, code)


def test_what_the_file_has_and_no_kernel_may_use_is_refused(kernels):
    with pytest.raises(KernelFault, match="'run' in line 3"):
        kernels.function(in_place(FILE, WITH_HELPER.replace("range(UNROLL)", "run"), "scale", FILE), ["BLOCK"], IN_USE)
    with pytest.raises(KernelFault, match="UNROLL"):
        kernels.function(in_place(FILE, WITH_HELPER, "scale", FILE), ["BLOCK"], IN_USE)


def test_what_calls_a_changed_function_calls_the_changed_one(tmp_path):
    file = FILE.replace("return x * SCALE", "return once(x) * SCALE").replace(
        "@triton.jit\ndef twice", "@triton.jit\ndef once(x):\n    return x * 3.0\n\n\n@triton.jit\ndef twice"
    )
    file = file[: file.index("@triton.jit\ndef other")]
    (tmp_path / "scaled.py").write_text(file, "utf-8")
    user_file = UserFile(tmp_path / "scaled.py")
    kernels = RewrittenKernels(user_file, "scale", function_of(user_file.module.scale))
    changed = file.replace("x * 3.0", "x * 5.0")

    function = kernels.function(in_place(file, changed, "scale", file), ["BLOCK"], IN_USE)
    signature = {"y": "*fp32", "x": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    assembly = triton.compile(ASTSource(function, signature, {(3,): 64}), target=HOPPER).asm["ptx"]
    assert "0f40A00000" in assembly, "five"
    assert "0f40400000" not in assembly, "three"


def test_functions_keep_the_lines_that_they_have_in_the_file(kernels):
    source = in_place(FILE, WITH_HELPER, "scale", FILE)
    function = kernels.function(source, ("BLOCK", "UNROLL"), IN_USE)
    text, first = inspect.getsourcelines(function.fn)
    assert source.splitlines()[first - 1 + len(text) - 1] == text[-1].rstrip()
    assert "tl.store(" in text[-1]
