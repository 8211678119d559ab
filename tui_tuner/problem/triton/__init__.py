"""The Triton kernels in the text of a Python file: found, and put in place of each other.

Of what a model writes only the functions under `@triton.jit` count, with the numbers that they name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from tui_tuner.errors import ProblemError

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
"""What a launch takes besides the kernel's own parameters."""


@dataclass(frozen=True)
class JitFunction:
    """A function of a file that Triton compiles.

    Attributes:
        text: from its `def` on, without decorators.
        start: its first line, decorators included, counted from 0.
        body: the line of its `def`.
        end: the line behind it.
        decorators: the lines between.
    """

    name: str
    node: ast.FunctionDef
    text: str
    start: int
    body: int
    end: int
    decorators: str

    @property
    def parameters(self) -> list[ast.arg]:
        """All that it takes, in order."""
        given = self.node.args
        return [*given.posonlyargs, *given.args, *given.kwonlyargs]

    @property
    def nodes(self) -> Iterator[ast.AST]:
        """All that it says but its decorators."""
        given = self.node.args
        marks = (parameter.annotation for parameter in self.parameters)
        for part in (*self.node.body, *given.defaults, *filter(None, (*given.kw_defaults, *marks))):
            yield from ast.walk(part)

    @property
    def names(self) -> frozenset[str]:
        """All names in it, those of its parameters included."""
        return self.own | {node.id for node in self.nodes if isinstance(node, ast.Name)}

    @property
    def foreign(self) -> frozenset[str]:
        """The names in it that the file or Triton must have."""
        return self.names - self.own

    @property
    def own(self) -> frozenset[str]:
        """The names of its parameters and of what it gives values."""
        names = (node for node in self.nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        return frozenset([*(node.id for node in names), *(parameter.arg for parameter in self.parameters)])


@dataclass(frozen=True)
class TritonFile:
    """The text of a file as far as rewriting a kernel needs it.

    Attributes:
        functions: those that Triton compiles, by name.
        numbers: the lines that give names at the top level a number, by name.
        assigned: every name at the top level that is given a value.
        taken: every name at the top level, whatever has it.
        imported: the names of Triton's modules, and of what is imported from others.
    """

    text: str
    functions: Mapping[str, JitFunction]
    numbers: Mapping[str, str]
    assigned: frozenset[str]
    taken: frozenset[str]
    imported: frozenset[str]

    def reached(self, kernel: str) -> list[JitFunction]:
        """The kernel and the functions that it calls, in the order of the file; none where it has no such kernel."""
        found: dict[str, JitFunction] = {}
        pending = [kernel]
        while pending:
            name = pending.pop()
            if name in self.functions and name not in found:
                found[name] = self.functions[name]
                pending += found[name].foreign
        return sorted(found.values(), key=lambda one: one.start)

    def differing(self, given: TritonFile) -> frozenset[str]:
        """The functions of this file that the given one does not have as they are, and those that call one of them."""

        def is_new(one: JitFunction) -> bool:
            return one.name not in given.functions or given.functions[one.name].text.split() != one.text.split()

        return frozenset(name for name in self.functions if any(map(is_new, self.reached(name))))


@lru_cache(maxsize=32)  # a kernel has one text and many configurations
def triton_file(source: str) -> TritonFile:
    """A file's functions and numbers.

    Raises:
        ProblemError: it is no Python.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise ProblemError(f"no Python: {error}", hint="answer with plain Python text") from None
    lines = lines_of(source)
    functions = {
        node.name: _function(node, lines)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and any(_is_jit(one) for one in node.decorator_list)
    }
    assigned, numbers = set[str](), dict[str, str]()
    for node in tree.body:
        for name in _given_by(node):
            assigned.add(name)
            if isinstance(node, ast.Assign | ast.AnnAssign) and is_number(node.value):
                numbers[name] = "".join(lines[node.lineno - 1 : node.end_lineno])
    imported = frozenset(name for node in ast.walk(tree) for name in _imported(node))
    defined = {
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    taken = frozenset(assigned | defined | imported)
    return TritonFile(source, functions, numbers, frozenset(assigned), taken, imported)


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def lines_of(text: str) -> list[str]:
    """Lines with their ends, as Python counts them: not every sign that `str.splitlines` breaks at ends one."""
    return _LINE.findall(text)


def _imported(node: ast.AST) -> Iterator[str]:
    """The names that an import gives, of whole modules those of Triton's alone."""
    if isinstance(node, ast.Import):
        of_triton = (alias for alias in node.names if alias.name.partition(".")[0] == "triton")
        yield from (alias.asname or "triton" for alias in of_triton)
    elif isinstance(node, ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)


def _function(node: ast.FunctionDef, lines: list[str]) -> JitFunction:
    start = min(decorator.lineno for decorator in node.decorator_list) - 1
    end = node.end_lineno or node.lineno
    text, above = "".join(lines[node.lineno - 1 : end]), "".join(lines[start : node.lineno - 1])
    return JitFunction(node.name, node, text, start, node.lineno - 1, end, above)


def path_of(decorator: ast.expr) -> str:
    """What a decorator is called, as in "triton.jit", whether it is given arguments or not."""
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _is_jit(decorator: ast.expr) -> bool:
    return path_of(decorator).rpartition(".")[2] == "jit"


_STRIDE = re.compile(r"(?i)stride|^ld[a-z]?$")


def is_stride(name: str) -> bool:
    """Whether an argument is called as what lies between the rows of a tensor is."""
    return _STRIDE.search(name) is not None


def _given_by(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))


def is_number(value: ast.expr | None) -> bool:
    """Whether it is a number, or one that Triton is told to be known at compile time."""
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        return ast.unparse(value.func).rpartition(".")[2] == "constexpr" and is_number(value.args[0])
    if isinstance(value, ast.UnaryOp):
        return isinstance(value.op, ast.USub) and is_number(value.operand)
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float)


def is_rewritable(source: str, kernel: str) -> bool:
    """Whether a kernel stands in the file as a function under `@triton.jit`."""
    try:
        return kernel in triton_file(source).functions
    except ProblemError:
        return False


def names_used(code: str) -> frozenset[str]:
    """The names that the functions of a text use; none of what is no Python."""
    try:
        return frozenset().union(*(one.names for one in triton_file(code).functions.values()))
    except ProblemError:
        return frozenset()


def kernel_text(source: str, kernel: str) -> str:
    """A kernel with the functions and the numbers of the file that it names."""
    file = triton_file(source)
    reached = file.reached(kernel)
    used = frozenset().union(*(one.names for one in reached))
    numbers = [line for name, line in file.numbers.items() if name in used]
    return "\n\n".join([*(["".join(numbers)] if numbers else []), *(one.decorators + one.text for one in reached)])


_SHOWN = 250
"""Lines of a file up to which all of it is shown."""


def excerpt(source: str, kernel: str) -> str:
    """A file for a model that is asked about one kernel.

    Of a long one those functions and classes are left out that the kernel does not call and that do not name it.
    """
    lines = lines_of(source)
    if len(lines) <= _SHOWN or not is_rewritable(source, kernel):
        return source
    reached = {one.name for one in triton_file(source).reached(kernel)}
    shown, at, left_out = list[str](), 0, list[str]()
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name in reached or _is_about(node, kernel):
            shown += _said(left_out) + lines[at : node.end_lineno]
            left_out = []
        else:
            left_out.append(node.name)
        at = node.end_lineno or at
    return "".join([*shown, *_said(left_out), *lines[at:]])


def _is_about(node: ast.FunctionDef | ast.ClassDef, kernel: str) -> bool:
    says_with_what = node.name.partition("_")[0] in ("arguments", "reference", "grid")
    return says_with_what or any(isinstance(one, ast.Name) and one.id == kernel for one in ast.walk(node))


def _said(left_out: list[str]) -> list[str]:
    return [f"\n# not shown: {', '.join(left_out)}\n"] if left_out else []


def in_place(base: str, code: str, kernel: str, given: str) -> str:
    """A file with the functions of a text in place of its own, further ones and numbers before the kernel.

    Functions that only an earlier rewriting brought, and that nothing calls any more, go.

    Args:
        base: the file.
        code: has the kernel.
        given: the file as the user has it.
    """
    file, new = triton_file(base), triton_file(code)
    lines, brought = lines_of(base), _brought(file, new, file.functions[kernel])
    for one in sorted(file.functions.values(), key=lambda each: -each.start):
        if one.name in new.functions:
            lines[one.body : one.end] = [f"{new.functions[one.name].text.rstrip()}\n"]
        if one.name == kernel:
            lines[one.start : one.start] = [brought]
    return _without_unused("".join(lines), kernel, triton_file(given))


def _brought(file: TritonFile, new: TritonFile, kernel: JitFunction) -> str:
    """Numbers and functions that a text has and a file has not."""
    numbers = "".join(line for name, line in new.numbers.items() if name not in file.assigned)
    functions = [one for name, one in new.functions.items() if name not in file.functions]
    return (f"{numbers}\n\n" if numbers else "") + "".join(
        f"{_jit_line(kernel)}{one.text.rstrip()}\n\n\n" for one in functions
    )


def _jit_line(kernel: JitFunction) -> str:
    """How the file names the decorator that makes a kernel."""
    return f"@{path_of(next(one for one in kernel.node.decorator_list if _is_jit(one)))}\n"


def _without_unused(text: str, kernel: str, given: TritonFile) -> str:
    file = triton_file(text)
    kept = {one.name for one in file.reached(kernel)} | given.functions.keys()
    lines = lines_of(text)
    for one in sorted(file.functions.values(), key=lambda each: -each.start):
        if one.name not in kept:
            end = one.end
            while end < len(lines) and not lines[end].strip():
                end += 1
            del lines[one.start : end]
    return "".join(lines)
