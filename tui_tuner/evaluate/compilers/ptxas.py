"""What ptxas prints with -v: the kernels of a file, and what each one needs."""

from __future__ import annotations

import re

from tui_tuner.evaluate.compilers.base import BuildRefusal
from tui_tuner.evaluate.compilers.mangling import find_kernel
from tui_tuner.evaluate.results import Failure, FailureKind, Resources

_ENTRY = re.compile(r"^ptxas info\s*: Compiling entry function '([^']+)' for '\w+'$", re.MULTILINE)
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def kernel_symbol(name: str, log: str) -> str:
    """The symbol of the kernel with this name.

    Raises:
        Refused: no kernel or several answer to it.
    """
    symbols = list(dict.fromkeys(_ENTRY.findall(log)))
    found = find_kernel(name, symbols)
    if len(found) == 1:
        return found[0]
    if found:
        message = f"several kernels answer to '{name}' ({', '.join(found)}): give each its own name"
    else:
        message = f"the source has no kernel '{name}'; it has {', '.join(symbols) or 'none at all'}"
    raise BuildRefusal(Failure(kind=FailureKind.COMPILE, message=message))


def kernel_resources(log: str, symbol: str) -> Resources:
    """Registers, spills, static shared and local memory of the kernel with this symbol."""
    part = _part(log, symbol)
    stack, registers, shared = _STACK.search(part), _REGISTERS.search(part), _SHARED.search(part)
    if stack is None or registers is None:
        return Resources()
    return Resources(
        registers=int(registers[1]),
        spill_bytes=int(stack[2]) + int(stack[3]),
        shared_bytes=int(shared[1]) if shared else 0,
        local_bytes=int(stack[1]),
    )


def _part(log: str, symbol: str) -> str:
    """The lines about one kernel: from its announcement to the next one's."""
    entries = list(_ENTRY.finditer(log))
    for index, entry in enumerate(entries):
        if entry[1] == symbol:
            end = entries[index + 1].start() if index + 1 < len(entries) else len(log)
            return log[entry.end() : end]
    return ""
