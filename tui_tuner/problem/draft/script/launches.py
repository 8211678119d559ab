"""The launches that a script writes: of CuPy, PyCUDA and PyOpenCL, each as kernel, grid, block and arguments."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from tui_tuner.problem.draft.script.values import ScriptValues, called
from tui_tuner.problem.model import Language

_GETS = {"opencl": ("Kernel",), "cuda": ("get_function", "get_kernel", "RawKernel")}
"""Functions that are given a kernel's name, and that return a handle of it."""
_PREPARED = {"prepared_call": 2, "prepared_timed_call": 2, "prepared_async_call": 3}
"""Launches of PyCUDA, with how many of their arguments are none of the kernel's."""


@dataclass(frozen=True)
class ScriptLaunch:
    """One launch.

    Attributes:
        grid: blocks of CUDA along each axis, work-items of OpenCL.
        block: None where the device chooses it.
        shared: bytes of dynamic shared memory.
        offset: where work-items of OpenCL begin, where that is not 0.
    """

    kernel: str
    grid: ast.expr
    block: ast.expr | None
    passed: Sequence[ast.expr]
    shared: ast.expr | None = None
    offset: ast.expr | None = None


class ScriptLaunches:
    """Follows the handles of kernels through a script.

    Args:
        kernels: the names of those that the source has.
    """

    def __init__(self, values: ScriptValues, language: Language, kernels: Sequence[str]) -> None:
        self._values, self._language, self._kernels = values, language, kernels
        self._handles = dict[str, str]()
        self._passed = dict[str, Sequence[ast.expr]]()
        self._blocks = dict[str, ast.expr]()

    def keeps(self, name: str, value: ast.expr) -> bool:
        """Whether a name is given a handle of a kernel, and is one from now on."""
        handle = self._handle(value)
        if handle is not None:
            self._handles[name] = handle
        return handle is not None

    def read(self, call: ast.Call) -> ScriptLaunch | None:
        """The launch that a call is; None where it is none."""
        name, own = called(call), call.func.value if isinstance(call.func, ast.Attribute) else None
        if name in ("set_args", "prepare") and own is not None and (kernel := self._handle(own)):
            block = next((one.value for one in call.keywords if one.arg == "block"), None)
            if name == "set_args":
                self._passed[kernel] = call.args
            elif block is not None:
                self._blocks[kernel] = block
            return None
        if self._language == "opencl":
            return self._of_pyopencl(call, name)
        if name in _PREPARED and own is not None and (kernel := self._handle(own)):
            return self._prepared(kernel, call, _PREPARED[name])
        kernel = self._handle(call.func)
        return None if kernel is None else self._of_cuda(kernel, call)

    def _of_cuda(self, kernel: str, call: ast.Call) -> ScriptLaunch | None:
        """`kernel((blocks,), (threads,), (x, y, n))` of CuPy, and `kernel(x, y, n, grid=..., block=...)` of PyCUDA."""
        words = {one.arg: one.value for one in call.keywords if one.arg}
        if "block" in words and "args" not in words:
            grid = words.get("grid", ast.Tuple([ast.Constant(1)]))
            return ScriptLaunch(kernel, grid, words["block"], self._each(call.args), words.get("shared"))
        words = dict(zip(("grid", "block", "args"), call.args, strict=False)) | words
        if not {"grid", "block", "args"} <= words.keys():
            return None
        passed = self._each(self._values.items(words["args"]))
        return ScriptLaunch(kernel, words["grid"], words["block"], passed, words.get("shared_mem"))

    def _prepared(self, kernel: str, call: ast.Call, before: int) -> ScriptLaunch | None:
        block = self._blocks.get(kernel)
        first = before - (block is not None)
        if len(call.args) < first:
            return None
        shared = next((one.value for one in call.keywords if one.arg == "shared_size"), None)
        return ScriptLaunch(kernel, call.args[0], block or call.args[1], self._each(call.args[first:]), shared)

    def _of_pyopencl(self, call: ast.Call, name: str) -> ScriptLaunch | None:
        given, words = call.args, {one.arg: one.value for one in call.keywords}
        offset = words.get("global_offset", words.get("global_work_offset"))
        if name == "enqueue_nd_range_kernel" and len(given) >= 4 and (kernel := self._handle(given[1])):
            return ScriptLaunch(kernel, given[2], given[3], self._passed.get(kernel, []), offset=offset)
        if len(given) >= 3 and (kernel := self._handle(call.func)):
            return ScriptLaunch(kernel, given[1], given[2], given[3:], offset=offset)
        return None

    def _each(self, given: Sequence[ast.expr]) -> list[ast.expr]:
        """Arguments one by one, those of a list that is spread among them."""
        parts = [self._values.items(one.value) if isinstance(one, ast.Starred) else [one] for one in given]
        return [one for part in parts for one in part]

    def _handle(self, node: ast.expr) -> str | None:
        """The kernel that a value is a handle of: `program.scale`, `module.get_function("scale")`."""
        match node:
            case ast.Name(id=name):
                return self._handles.get(name)
            case ast.Call() if called(node) in _GETS.get(self._language, ()):
                return self._named(node)
            case ast.Attribute(attr=name) if name in self._kernels and self._language == "opencl":
                return name
        return None

    def _named(self, call: ast.Call) -> str | None:
        """The kernel whose name a function is given; the only one there is where that cannot be read."""
        of_words = [one.value for one in call.keywords if one.arg in ("name", "kernel_name")]
        texts = [self._values.value(one) for one in (*of_words, *call.args[::-1])]
        for text in texts:
            if isinstance(text, str) and text.partition("<")[0].strip() in self._kernels:
                return text
        return self._kernels[0] if len(self._kernels) == 1 and called(call) != "Kernel" else None
