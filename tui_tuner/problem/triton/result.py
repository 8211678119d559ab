"""The file of a rewritten Triton kernel as it is given out: with what was measured, its configuration, its launch."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tui_tuner.problem.languages import Configuration
from tui_tuner.problem.model import Expression
from tui_tuner.problem.triton import OPTIONS, TritonFile, is_stride, lines_of, path_of, triton_file

_EXTENT = re.compile(r"(?P<tensor>\w+)_(?P<axis>\d+)")
_FUNCTIONS = {"ceil_div": "triton.cdiv", "min": "min", "max": "max", "abs": "abs"}
_WIDE = 100
"""Characters of a call from which on its arguments have lines of their own."""


@dataclass(frozen=True)
class TunedKernel:
    """A rewritten kernel with its best configuration.

    Attributes:
        line: the configuration as Python writes it.
        grid: expressions over sizes and tunables; None for the one that the launch has.
        before: the tunables of the kernel as given.
        parameters: all that the kernel as given takes, in order.
    """

    name: str
    line: str
    configuration: Configuration
    grid: Sequence[Expression] | None
    before: Collection[str]
    parameters: Sequence[str]


def with_result(source: str, tuned: TunedKernel, comment: Iterable[str]) -> str:
    """The file with a comment at the kernel, one configuration in place of a list, and launches that fit it.

    A launch with a grid that cannot be written as Python, or with arguments of which nobody knows how many they are,
    stays as it is: what the comment says of grid and configuration is to be put in by hand.
    """
    file = triton_file(source)
    function = file.functions[tuned.name]
    text, is_listed = _Text(source), False
    text.insert(function.start, "".join(f"# {line}".rstrip() + "\n" for line in comment))
    for decorator in function.node.decorator_list:
        if (path := path_of(decorator)).rpartition(".")[2] == "autotune":
            is_listed = True
            text.replace(decorator, f"{path}(configs=[{tuned.line}], key=[])")
    grid = _grid(tuned, file)
    if grid is not None or tuned.grid is None:
        for call, launched in _launches(source, tuned.name):
            if _are_known(call, tuned):
                if grid is not None:
                    text.replace(launched.slice, grid)
                _edit_arguments(call, launched, text, tuned, is_listed=is_listed)
    return text.edited()


def whole_numbers(sizes: Mapping[str, int]) -> Mapping[str, int]:
    """Those of a launch's sizes that tell it apart: neither extents of tensors nor strides, if there are others."""
    told = {name: size for name, size in sizes.items() if not _EXTENT.fullmatch(name) and not is_stride(name)}
    return told or sizes


class _Text:
    """A text with edits that do not overlap."""

    def __init__(self, source: str) -> None:
        self._bytes = source.encode()  # the places of Python's parser are counted in these
        starts = [0]
        for line in lines_of(source):
            starts.append(starts[-1] + len(line.encode()))
        self._starts = starts
        self._edits: list[tuple[int, int, str]] = []

    def insert(self, line: int, text: str) -> None:
        self._edits.append((self._starts[line], self._starts[line], text))

    def replace(self, node: ast.expr, text: str) -> None:
        self._edits.append((self._place(node.lineno, node.col_offset), self.end(node), text))

    def replace_between(self, start: int, end: int, text: str) -> None:
        self._edits.append((start, end, text))

    def of(self, node: ast.expr | ast.keyword) -> str:
        return self._bytes[self._place(node.lineno, node.col_offset) : self.end(node)].decode()

    def end(self, node: ast.expr | ast.keyword) -> int:
        return self._place(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def edited(self) -> str:
        made = self._bytes
        for start, end, text in sorted(self._edits, reverse=True):
            made = made[:start] + text.encode() + made[end:]
        return made.decode()

    def _place(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column


def _launches(source: str, kernel: str) -> list[tuple[ast.Call, ast.Subscript]]:
    """The calls `kernel[grid](...)` of a file, and `wrapped(kernel)[grid](...)`, as torch has one wrap it."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    subscripts = ((call, call.func) for call in calls if isinstance(call.func, ast.Subscript))
    return [pair for pair in subscripts if _is_kernel(pair[1].value, kernel)]


def _is_kernel(launched: ast.expr, kernel: str) -> bool:
    if isinstance(launched, ast.Call) and len(launched.args) == 1 and not launched.keywords:
        launched = launched.args[0]
    return isinstance(launched, ast.Name) and launched.id == kernel


def _are_known(call: ast.Call, tuned: TunedKernel) -> bool:
    """Whether it can be told which parameters get the arguments of a launch, or all of them are no tunables."""
    if not any(isinstance(argument, ast.Starred) for argument in call.args):
        return len(call.args) <= len(tuned.parameters)
    tunables = {*tuned.before} & {*tuned.parameters}
    return not tunables or tuned.parameters[-1] in tunables


def _edit_arguments(
    call: ast.Call, launched: ast.Subscript, text: _Text, tuned: TunedKernel, *, is_listed: bool
) -> None:
    """Leave out the old tunables, and say the new ones where no list does."""
    known = {*tuned.configuration, *tuned.before, *OPTIONS}
    kept: list[str] = []
    for number, argument in enumerate(call.args):
        name = tuned.parameters[number] if number < len(tuned.parameters) else ""
        is_behind = len(kept) < number  # a tunable was left out before it, so that its place is another
        if name not in known or isinstance(argument, ast.Starred):
            kept.append(f"{name}={text.of(argument)}" if is_behind else text.of(argument))
    kept += [text.of(one) for one in call.keywords if one.arg not in known]
    if not is_listed:
        kept += [f"{name}={value!r}" for name, value in tuned.configuration.items()]
    whole = ", ".join(kept)
    if len(whole) > _WIDE:
        indent = " " * (launched.value.col_offset + 4)
        whole = f"\n{indent}" + f",\n{indent}".join(kept) + f",\n{indent[4:]}"
    text.replace_between(text.end(launched), text.end(call), f"({whole})")


def _grid(tuned: TunedKernel, file: TritonFile) -> str | None:
    """The grid as a function of what a launch is given; None where it is the launch's own or cannot be written so."""
    if tuned.grid is None or "triton" not in file.imported:
        return None
    names = _names(tuned, file)
    try:
        axes = [ast.unparse(_Renamed(names).visit(ast.parse(str(one), mode="eval"))) for one in tuned.grid]
    except (KeyError, SyntaxError):
        return None
    return f"lambda meta: ({', '.join(axes)},)"


def _names(tuned: TunedKernel, file: TritonFile) -> Mapping[str, str]:
    """How what grids are written with is called in a launch."""
    parameters = [parameter.arg for parameter in file.functions[tuned.name].parameters]
    found = dict(_FUNCTIONS)
    for expression in tuned.grid or ():
        for name in re.findall(r"[A-Za-z_]\w*", str(expression)):
            extent = _EXTENT.fullmatch(name)
            if name in OPTIONS and name in tuned.configuration:
                found[name] = repr(tuned.configuration[name])
            elif name in parameters:
                found[name] = f'meta["{name}"]'
            elif extent and extent["tensor"] in parameters:
                found[name] = f'meta["{extent["tensor"]}"].shape[{extent["axis"]}]'
    return found


class _Renamed(ast.NodeTransformer):
    """Puts other expressions in place of names.

    Raises:
        KeyError: of a name for which there is none.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(self._names[node.id], mode="eval").body
