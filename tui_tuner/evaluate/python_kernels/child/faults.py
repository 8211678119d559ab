"""From an exception of torch, Triton or Helion to a classified failure."""

from __future__ import annotations

import re

from tui_tuner.evaluate.python_kernels.child.kernel import KernelFault
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.text import clean

_LOST = re.compile(
    r"illegal memory access|misaligned address|unspecified launch failure|illegal instruction|device-side assert"
    r"|hardware stack error|invalid program counter|CUDA_ERROR_ILLEGAL",
    re.IGNORECASE,
)
_RESOURCES = re.compile(
    r"out of resource|out of memory|too many resources|too many blocks in cooperative launch|invalid argument",
    re.IGNORECASE,
)
_NO_MEMORY = re.compile(r"Required: (\d+), Hardware limit: (\d+)")
_COMPILERS = ("CompilationError", "PTXASError", "UnsupportedLanguageConstruct", "InductorError")
_TELLING = re.compile(r"error\s*:|error:|fatal|not supported|must |cannot |exceeds|failed", re.IGNORECASE)
_HEADING = re.compile(r"^at \d|Internal Triton PTX codegen error|^`?ptxas`? stderr", re.IGNORECASE)
"""Comes before what is wrong."""
_LONGEST = 240
_DETAIL = 2000


def compile_fault(error: BaseException, log: str) -> KernelFault:
    """A failure to generate or compile code.

    Args:
        log: what the compiler printed meanwhile.
    """
    text = clean(f"{error}\n{log}")
    if _RESOURCES.search(str(error)):
        return KernelFault(FailureKind.LAUNCH, _resource_line(str(error)), text[-_DETAIL:])
    return KernelFault(FailureKind.COMPILE, telling_line(text, type(error).__name__), text[-_DETAIL:])


def launch_fault(error: BaseException) -> KernelFault:
    """A failure of a launch, or of waiting for it."""
    text = str(error)
    if _LOST.search(text):
        return KernelFault(FailureKind.ILLEGAL_ACCESS, telling_line(clean(text), "the launch failed"), fatal=True)
    if _RESOURCES.search(text):
        return KernelFault(FailureKind.LAUNCH, _resource_line(text))
    if type(error).__name__ in _COMPILERS or "PassManager" in text:
        return compile_fault(error, "")
    line = f"{type(error).__name__}: {telling_line(clean(text), 'no reason given')}"
    return KernelFault(FailureKind.LAUNCH, line, fatal="CUDA error" in text)


def failure(fault: KernelFault) -> Failure:
    """The fault as a result says it."""
    return Failure(kind=fault.kind, message=fault.message, detail=fault.detail)


def telling_line(text: str, otherwise: str) -> str:
    """The first line that says what is wrong, without the paths before it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = next((line for line in lines if _TELLING.search(line) and not _HEADING.search(line)), None)
    chosen = telling or (lines[-1] if lines else otherwise)
    return re.sub(r"(?:/[\w.+-]+){2,}/", "", chosen)[:_LONGEST]


def _resource_line(text: str) -> str:
    found = _NO_MEMORY.search(text)
    if found and "shared memory" in text:
        return f"{found[1]} bytes of shared memory in a block: the device takes {found[2]}"
    return telling_line(clean(text), "too many resources")
