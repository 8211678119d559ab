"""What a rewritten Triton kernel may say, and what it takes.

It is compiled for the device and never runs as Python. So that the compiler, which looks names up and calls what it
finds, has nothing of Python's to call either, a kernel says nothing but arithmetic, calls of what the file imports from
Triton, and calls of the file's other functions of this kind.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import takewhile

from tui_tuner.errors import ProblemError
from tui_tuner.problem.triton import OPTIONS, JitFunction, TritonFile, is_number, triton_file

_ALLOWED: tuple[type[ast.AST], ...] = (
    *(ast.arguments, ast.arg, ast.keyword, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
    *(ast.Return, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.If, ast.Expr, ast.Pass, ast.Assert),
    *(ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Call, ast.Constant, ast.Attribute, ast.Subscript),
    *(ast.Slice, ast.Name, ast.Tuple, ast.List, ast.Break, ast.Continue),
)
_BUILTINS = frozenset({"range", "min", "max", "len", "int", "float", "bool", "abs", "isinstance", "tuple"})
_OF_FUNCTIONS = "fn src run warmup parse hook cache device_caches params compile preload"
_OF_THE_COMPILER = "handle create_binder static_print device_print device_assert extern_elementwise"
_HIDDEN = frozenset([*_OF_FUNCTIONS.split(), *_OF_THE_COMPILER.split(), "format", "format_map"])
"""Members that no kernel needs: of compiled functions and of the compiler's own objects, and what prints or loads."""


def faults(code: str, kernel: str, base: str, given: str) -> Iterator[str]:
    """What is wrong with a rewritten kernel, in words.

    Args:
        code: the functions that are to be put in place.
        base: the file that they are put into.
        given: the file as the user has it.
    """
    try:
        new, file, own = triton_file(code), triton_file(base), triton_file(given)
    except ProblemError as error:
        yield error.message
        return
    if kernel not in new.functions:
        yield f"there is no function '{kernel}' under @triton.jit in it"
        return
    whole = replace(file, functions={**file.functions, **new.functions})
    for one in (new.functions[name] for name in whole.differing(own) if name in new.functions):
        known = {*whole.functions, *new.numbers, *file.assigned}
        yield from _Reader(one, frozenset(known), file.imported).faults()
    for name in _shared(kernel, new, own):
        yield f"'{name}' is used by other functions of the file too: give yours another name"
    for name in (*new.functions, *new.numbers):
        has_same = name in file.functions or new.numbers.get(name, "").split() == file.numbers.get(name, "\0").split()
        if name in file.taken and not has_same:
            yield f"'{name}' is something else in the file: give yours another name"


def _shared(kernel: str, new: TritonFile, own: TritonFile) -> Iterator[str]:
    """The functions of the user's file that are changed and that not only the kernel reaches."""
    reached = {one.name for one in own.reached(kernel)}
    named = {
        node.id
        for node in ast.walk(ast.parse(own.text))
        if isinstance(node, ast.Name) and not any(_is_within(node, own.functions[name]) for name in reached)
    }
    for name, one in new.functions.items():
        is_changed = name in own.functions and one.text.split() != own.functions[name].text.split()
        if is_changed and name != kernel and (name not in reached or name in named):
            yield name


def _is_within(node: ast.expr, function: JitFunction) -> bool:
    return function.start < node.lineno <= function.end


def arguments_differ(code: str, kernel: str, given: str, tunables: Iterable[str], known: Iterable[str]) -> str | None:
    """Why a rewritten kernel does not take what the launch gives, in words; None where it does.

    Args:
        tunables: of the rewritten kernel, which are parameters of it or options of the launch.
        known: tunables of the kernel as given.
    """
    theirs = [one.arg for one in triton_file(code).functions[kernel].parameters]
    ours = [one.arg for one in triton_file(given).functions[kernel].parameters]
    chosen, before = {*tunables}, {*known}
    missing = [name for name in ours if name not in theirs and name not in before]
    more = [name for name in theirs if name not in ours and name not in chosen and not _has_default(code, kernel, name)]
    gone = [name for name in chosen - {*theirs} if name not in OPTIONS]
    first = [*takewhile(lambda name: name not in before, ours)]
    if missing:
        return f"it no longer takes {', '.join(missing)}, which the launch gives"
    if more:
        return (
            f"it takes {', '.join(more)}, which the launch does not give: list it among the tunables, or leave it out"
        )
    if gone:
        return f"{', '.join(sorted(gone))} is no parameter of it: a tunable is a parameter marked tl.constexpr"
    if theirs[: len(first)] != first:
        return f"the launch gives {', '.join(first)} in this order, and they must be the first that it takes"
    return None


def _has_default(code: str, kernel: str, name: str) -> bool:
    given = triton_file(code).functions[kernel].node.args
    usual = [one.arg for one in given.args[len(given.args) - len(given.defaults) :]]
    usual += [one.arg for one, value in zip(given.kwonlyargs, given.kw_defaults, strict=True) if value is not None]
    return name in usual


class _Reader:
    """Reads one rewritten function.

    Args:
        known: names of the file that it may use.
        imported: names that the file imports.
    """

    def __init__(self, function: JitFunction, known: frozenset[str], imported: frozenset[str]) -> None:
        self._function = function
        self._own = function.own
        self._known = known
        self._imported = imported

    def faults(self) -> Iterator[str]:
        """What it says that a kernel may not, each once."""
        node = self._function.node
        if node.args.vararg or node.args.kwarg:
            yield f"{self._function.name}: *arguments are not possible"
        shadowed = self._own & {*self._imported, "triton", "tl"}  # before it is given, it would be the file's
        for name in sorted(shadowed):
            yield f"{self._function.name}: '{name}' is a name of the file's: take another for a variable"
        found = dict.fromkeys(said for each in self._function.nodes for said in self._fault(each))
        yield from (f"{self._function.name}: {said}" for said in found)
        usual = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        if any(not (isinstance(one, ast.Constant) or is_number(one)) for one in usual):
            yield f"{self._function.name}: a parameter's default must be a number, a text, True, False or None"

    def _fault(self, node: ast.AST) -> Iterator[str]:
        line = getattr(node, "lineno", self._function.body + 1) - self._function.body
        where = f"line {line} of it"
        if not isinstance(node, _ALLOWED):
            yield f"{type(node).__name__} in {where} is not of Triton's language"
        elif isinstance(node, ast.Name):
            if node.id.startswith("__") or not self._may_name(node.id):
                yield f"'{node.id}' in {where} is nothing that the file or Triton has"
        elif isinstance(node, ast.Attribute):
            if node.attr.startswith("_") or node.attr in _HIDDEN or isinstance(node.value, ast.Constant):
                yield f"'.{node.attr}' in {where} is nothing that a kernel may use"
        elif isinstance(node, ast.keyword) and (node.arg is None or node.arg.startswith("_")):
            yield f"the argument {node.arg or '**'} in {where} is nothing that a kernel may give"
        elif isinstance(node, ast.Call) and not isinstance(node.func, ast.Name | ast.Attribute):
            yield f"what is called in {where} is no name"

    def _may_name(self, name: str) -> bool:
        return name in self._own or name in self._known or name in self._imported or name in _BUILTINS
