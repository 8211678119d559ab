"""Kernels in a file of another language than their own, and what to do with them."""

from __future__ import annotations

import ast
import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tui_tuner.errors import ProblemError
from tui_tuner.problem.host_code import KERNEL
from tui_tuner.problem.languages import LANGUAGES
from tui_tuner.problem.syntax import code_only
from tui_tuner.problem.toml_file import read_text

_IN_PYTHON = re.compile(
    r"\b__global__\s[^;{}()]*?\b(?P<name>\w+)\s*\("
    r"|\b(?:__)?kernel\s[^;{}\"']{0,300}?\bvoid\s+(?P<opencl>\w+)\s*\("
)
"""A kernel in a text; no words about kernels in a text before it, which ends with a quote."""
_NUMBA = re.compile(
    r"^[ \t]*@(?:numba\.)?cuda\.jit\b[^\n]*\n(?:[ \t]*@[^\n]*\n)*[ \t]*def\s+(?P<name>\w+)", re.MULTILINE
)
_OF_LIBRARY = re.compile(r"\b(?P<kind>ElementwiseKernel|ReductionKernel|InclusiveScanKernel|ExclusiveScanKernel)\s*\(")
"""Kernels of which a library writes the loop and the launch."""
_NAMED_FILE = re.compile(r"""["']/?(?P<file>[\w./-]+\.(?:cu|cl|c|cc|cpp))["']""")
_OF_PYTHON = re.compile(r"^\s*(?:import|from)\s+(?:triton|helion)\b", re.MULTILINE)
_SAYS_LAUNCH = re.compile(r"\btune_kernel\(|\bpyopencl\b|\b(?:RawKernel|RawModule|SourceModule|load_inline)\b")
_HAS_PLACES = re.compile(r"%\(\w+\)[a-z]|\$\{\w+\}|\{\{ *\w+ *\}\}")
"""Of a text that a script puts others into."""
_PRINTED = re.compile(r"^([ \t]*)print\b(?![ \t]*\().*$", re.MULTILINE)
_OPENCL_IN_C = re.compile(r"\b(?:__)?kernel\s[^;{}]{0,300}?\bvoid\s+(?P<name>\w+)\s*\(")
_LAUNCHES_OPENCL = re.compile(r"\bclCreateKernel\w*\s*\(|\bcl\s*::\s*(?:Kernel|KernelFunctor|make_kernel)\b")
_HIP = re.compile(r"#[ \t]*include[ \t]*[<\"]hip/|\bhip[A-Z]\w+\s*\(")


def refuse_text(file: Path) -> None:
    """Refuse a file whose kernel is in another language than its ending says.

    That is CUDA's or OpenCL's text in Python, as for `cupy.RawKernel`, PyOpenCL or kernel_tuner, a script that names
    the kernel's file, Numba, kernels that a library writes, CUDA in a file of C++, OpenCL in a text of it, and HIP.

    Raises:
        ProblemError: it is such a file; with what to do.
    """
    if file.suffix == ".py":
        _refuse_script(file, read_text(file))
        return
    is_other = LANGUAGES.get(file.suffix) == "c" or file.suffix == ".hip"
    if not is_other or file.with_suffix(".toml").exists():
        return
    text, own = read_text(file), file.with_suffix(".cu")
    code = code_only(text)
    kernel = KERNEL.search(code)
    if kernel is None and _LAUNCHES_OPENCL.search(code):
        _refuse_text_of_opencl(file, text, code)
    if kernel is None or _OF_PYTHON.search(text):
        return
    name, run = kernel["name"], f"and run: tuner-tui {own}"
    if _HIP.search(text):
        message = f"{name}() is HIP, which no device here runs"
        hint = f"write it as CUDA into {own.name}, with threadIdx.x, cudaMalloc() and <<<grid, block>>>, {run}"
    else:
        message, hint = f"{name}() is CUDA in a file of C or C++", f"name it {own.name}, {run}"
    raise _refused(message, hint, file, text, text.rfind("__global__", 0, kernel.start("name")))


def _refuse_text_of_opencl(file: Path, text: str, code: str) -> None:
    """Refuse a host that has its kernels of OpenCL in a string."""
    for found in _OPENCL_IN_C.finditer(text):
        if not code[found.start() : found.start() + 1].strip():  # blanked, as what strings hold is, and comments
            own = file.with_suffix(".cl")
            hint = f"write that text, without quotes, into {own.name}, and run: tuner-tui {own} --host {file}"
            raise _refused(f"{found['name']}() is OpenCL in a text of C or C++", hint, file, text, found.start())


class KernelInScript(NamedTuple):
    """The text of a Python script that holds kernels of a GPU.

    Attributes:
        ending: that a file of it has.
        says_launch: whether the script says how they are launched, in words that are read.
    """

    text: str
    ending: str
    says_launch: bool


def parsed_script(text: str) -> ast.Module:
    """A script's tree, empty where it is none; what Python would warn of is nothing to whoever tunes a kernel."""
    for one in (text, _PRINTED.sub(r"\1pass", text)):  # Python 2 has a statement for that
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError), warnings.catch_warnings(action="ignore"):
            return ast.parse(one)
    return ast.Module([], [])


def kernel_in_script(script: str) -> KernelInScript | None:
    """The only text of a script with kernels; None where there is none, or more than one, or it is put together."""
    nodes = [] if _OF_PYTHON.search(script) else [*ast.walk(parsed_script(script))]
    parts = {
        id(part)
        for one in nodes
        if isinstance(one, ast.JoinedStr | ast.BinOp | ast.Attribute)
        for part in ast.walk(one)
    }
    texts = [one.value for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    found = {one: kernel for one in texts if (kernel := _IN_PYTHON.search(one)) is not None}
    whole = {one.value for one in nodes if isinstance(one, ast.Constant) and id(one) not in parts}
    if len(found) != 1 or not found.keys() <= whole:
        return None
    [(text, kernel)] = found.items()
    if _HAS_PLACES.search(text):
        return None
    return KernelInScript(text, ".cu" if kernel["name"] else ".cl", says_launch(script))


def says_launch(script: str) -> bool:
    """Whether a script says how its kernels are launched, in words that are read."""
    return _SAYS_LAUNCH.search(script) is not None


def _refuse_script(file: Path, text: str) -> None:
    if _OF_PYTHON.search(text):
        return
    if (kernel := _IN_PYTHON.search(text)) is not None:
        title, ending = ("CUDA", ".cu") if kernel["name"] else ("OpenCL", ".cl")
        own = file.with_suffix(ending)
        host = f" --host {file}" if says_launch(text) else ""
        hint = f"write that text into {own.name}, and run: tuner-tui {own}{host}"
        if says_launch(text):
            hint += f"; tuner-tui init {file} does that, where the script says what it puts into the text"
        if kernel_in_script(text) is not None:
            hint = f"tuner-tui init {file} writes it into {own.name}, and its problem file; then: tuner-tui {own}"
        raise _refused(
            f"{kernel['name'] or kernel['opencl']}() is {title} in a text of Python", hint, file, text, kernel.start()
        )
    if (kernel := _NUMBA.search(text)) is not None:
        hint = f"write it as CUDA into {file.with_suffix('.cu').name}"
        raise _refused(
            f"{kernel['name']}() is Numba, which nothing here builds", hint, file, text, kernel.start("name")
        )
    for named in _NAMED_FILE.finditer(text):
        if (kernel_file := file.parent / named["file"]).is_file():
            hint = f"tuner-tui {kernel_file} --host {file}"
            raise _refused(f"the kernel of this script is in {named['file']}", hint, file, text, named.start())
    if (kernel := _OF_LIBRARY.search(text)) is not None:
        message = f"of this {kernel['kind']} a library writes the loop and the launch, so nothing is left to tune"
        hint = f"write it as a __global__ kernel, in {file.with_suffix('.cu').name} or for RawKernel in this script"
        raise _refused(message, hint, file, text, kernel.start())


def _refused(message: str, hint: str, file: Path, text: str, place: int) -> ProblemError:
    return ProblemError(message, hint=hint, file=file, line=text.count("\n", 0, place) + 1)
