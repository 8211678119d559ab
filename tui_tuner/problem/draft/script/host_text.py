"""What a script does, written as a host in C or C++."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from tui_tuner.problem.draft.script.values import ScriptArray
from tui_tuner.problem.model import Language

_FRACTION = re.compile(r"\b\d+(?:\.\d|e-\d)")
_PART = re.compile(r"[A-Za-z_]\w*(?:\.(?:numel\(\)|size\(\d+\)))?")
UNREAD = "unread()"
"""Stands for a number that cannot be read."""


class HostText:
    """A host that grows by statements, one a line.

    Args:
        of_torch: whether arrays are tensors, as functions of the kernel's file take them.

    Attributes:
        lines: of each line of the code that of the script which it stands for.
    """

    def __init__(self, language: Language, *, of_torch: bool) -> None:
        self._language, self._of_torch = language, of_torch
        self._statements = ["int main(int argc, char **argv) {"]
        self._made_of: dict[str, set[str]] = {}
        self.lines = [1]

    @property
    def code(self) -> str:
        """The whole host."""
        return "\n".join([*self._statements, "}\n"])

    def add(self, line: int, *statements: str) -> None:
        """Takes in statements that a line of the script stands for."""
        self._statements.append(" ".join(statements))
        self.lines.append(line)

    def add_number(self, line: int, name: str, text: str) -> None:
        """Sets a name to a number; one that is made of what the name was before stays that."""
        inside = self._parts(text)
        if name not in inside:
            self._made_of[name] = inside
            self.add(line, f"{'float' if _FRACTION.search(text) else 'int'} {name} = {text};")

    def knows(self, text: str) -> bool:
        """Whether a number is made of others that are known, or of extents of arrays."""
        return any("." in one or one in self._made_of for one in _PART.findall(text))

    def state_number(self, line: int, name: str, macro: str) -> None:
        """Lets a name stand for a macro of the kernels' text, whatever number it had."""
        own = re.compile(rf"(?:int|float) {re.escape(name)} = [^;]*;")
        self._statements = ["" if own.fullmatch(one) else one for one in self._statements]
        self._made_of[name] = {macro}
        if name != macro:
            self.add(line, f"int {name} = {macro};")

    def add_memory(self, line: int, name: str, made: ScriptArray) -> None:
        """Takes memory for an array, and fills it where it holds nothing but 0."""
        self._made_of[name] = self._parts(made.elements)
        if self._language == "opencl":
            self.add(line, f"cl_mem {name} = clCreateBuffer(context, 0, {made.size}, NULL, NULL);")
        elif self._of_torch:
            self.add(
                line, f"auto {name} = torch::{'zeros' if made.is_zero else 'empty'}({{{', '.join(made.extents)}}});"
            )
        else:
            zeros = f" cudaMemset({name}, 0, {made.size});" if made.is_zero else ""
            self.add(line, f"void *{name}; cudaMalloc(&{name}, {made.size});{zeros}")

    def add_build(self, line: int, options: str) -> None:
        """Builds an OpenCL program with options."""
        self.add(line, f'clBuildProgram(program, 1, &device, "{options.replace(chr(34), "")}", NULL, NULL);')

    def add_call(self, line: int, function: str, passed: Sequence[str]) -> None:
        """Calls a function of the kernel's file; what is not known of its arguments is left open."""
        self.add(line, f"{function}({_said(passed)});")

    def add_launch(
        self,
        line: int,
        kernel: str,
        grid: Sequence[str],
        block: Sequence[str],
        passed: Sequence[str],
        shared: str,
        offset: Sequence[str] = (),
    ) -> None:
        """Launches a kernel; what is not known of its arguments is left open."""
        if self._language == "opencl":
            self.add(line, *_enqueued(kernel, grid, block, passed, offset))
            return
        given = _said(passed)
        known = self._parts(given)
        grid = [UNREAD if self._is_of_others(axis, known) else axis for axis in grid]
        blocks, threads = (f"dim3({', '.join(axes or ['1'])})" for axes in (grid, block))
        self.add(line, f"{kernel}<<<{blocks}, {threads}, {shared or '0'}>>>({given});")

    def _parts(self, text: str) -> set[str]:
        """The names and extents of arrays from outside that a text is made of, also those behind names."""
        found = {*_PART.findall(text)}
        return found | {other for one in found for other in self._made_of.get(one, ())}

    def _is_of_others(self, axis: str, known: Collection[str]) -> bool:
        """Whether a count of blocks is made of an array's extents that have to do with nothing the kernel is passed."""
        return any("." in part and part not in known for part in self._parts(axis))


def _said(passed: Sequence[str]) -> str:
    return ", ".join(one or f"unsaid_{place}" for place, one in enumerate(passed))


def _enqueued(
    kernel: str, items: Sequence[str], group: Sequence[str], passed: Sequence[str], offset: Sequence[str]
) -> Iterator[str]:
    handle = f"handle_of_{kernel}"
    yield f'cl_kernel {handle} = clCreateKernel(program, "{kernel}", NULL);'
    for index, one in enumerate(passed):
        is_local = one.startswith("Local(")
        size, value = (one[len("Local(") : -1], "NULL") if is_local else ("8", one)
        yield f"clSetKernelArg({handle}, {index}, {size}, {value});" if one else ""
    sizes = {"items": items, "group": group, "offset": offset}
    yield from (f"size_t {name}_{handle}[] = {{{', '.join(axes)}}};" for name, axes in sizes.items() if axes)
    own, begins = (f"{name}_{handle}" if sizes[name] else "NULL" for name in ("group", "offset"))
    yield f"clEnqueueNDRangeKernel(queue, {handle}, {len(items)}, {begins}, items_{handle}, {own}, 0, NULL, NULL);"
