"""Rewritten kernels: functions in the text of a candidate made Triton's, with what the user's file has for their names.

A text that was read before it came here is read again: nothing of it runs as Python but definitions of functions, and
what the compiler looks up in them is a function or a type of Triton's, a number, or another function of the file.
"""

from __future__ import annotations

import ast
import importlib.util
import itertools
import sys
from collections.abc import Collection, Iterable, Iterator
from importlib.abc import ExecutionLoader
from importlib.machinery import ModuleSpec
from types import ModuleType

import triton
import triton.language as tl
from triton.runtime.jit import JITCallable, JITFunction

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.toml_file import read_text
from tui_tuner.problem.triton import JitFunction, kernel_text, lines_of, triton_file
from tui_tuner.problem.triton.check import arguments_differ, faults
from tui_tuner.python_kernels.child.kernel import KernelFault
from tui_tuner.python_kernels.child.user_file import UserFile

_MODULES = ("triton", "triton.language", "triton.language.math", "triton.language.extra", "triton.language.extra.cuda")
_LIBRARIES = ("triton.language.extra.libdevice", "triton.language.extra.cuda.libdevice")
_numbers = itertools.count(1)  # the text of a module is remembered by its name


class _Loader(ExecutionLoader):
    """Makes a module of a text that is in no file, where the compiler finds it again."""

    def __init__(self, text: str) -> None:
        self._text = text

    def get_filename(self, fullname: str) -> str:
        """What errors call it."""
        return fullname

    def get_source(self, fullname: str) -> str:
        """The text."""
        return self._text


class RewrittenKernels:
    """Makes the kernel of a file from other texts of that file.

    Args:
        name: of the kernel.
        own: the kernel as the file has it.
    """

    def __init__(self, file: UserFile, name: str, own: JITFunction) -> None:
        self._file = file
        self._name = name
        self._own = own
        self._given = read_text(file.file)
        self._made: dict[str, JITFunction] = {}

    def function(self, source: str, tunables: Collection[str], known: Collection[str]) -> JITFunction:
        """The kernel of a text.

        Args:
            tunables: of it, which no launch gives.
            known: those of the kernel as given.

        Raises:
            KernelFault: it says what no kernel may, or takes other arguments.
        """
        if source == self._given:
            return self._own
        if source not in self._made:
            self._check(source, tunables, known)
            self._made[source] = self._loaded(source)
        return self._made[source]

    def _check(self, source: str, tunables: Collection[str], known: Collection[str]) -> None:
        try:
            code = kernel_text(source, self._name)
            found = next(faults(code, self._name, source, self._given), None)
            found = found or arguments_differ(code, self._name, self._given, tunables, known)
        except ProblemError as error:
            found = error.message
        if found is not None:
            raise KernelFault(FailureKind.REFUSED, found)

    def _loaded(self, source: str) -> JITFunction:
        """The text's functions as a module of their own."""
        text, given = triton_file(source), triton_file(self._given)
        anew = {self._name, *text.differing(given)}
        functions = [one for one in text.reached(self._name) if one.name in anew]
        used = frozenset().union(*(one.foreign for one in functions))
        numbers = [ast.unparse(ast.parse(line)) for name, line in text.numbers.items() if name in used]
        text_of_module = _at_their_lines(source, numbers, functions)
        own = {one.name for one in functions} | text.numbers.keys()
        loader = _Loader(text_of_module)
        spec = ModuleSpec(f"{self._file.file.stem}_rewritten_{next(_numbers)}", loader)
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        vars(module).update({"triton": triton, "tl": tl}, **dict(self._names(functions, used - own)))
        try:
            loader.exec_module(module)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise KernelFault(FailureKind.COMPILE, message.partition("\n")[0]) from None
        made: JITFunction = getattr(module, self._name)
        same = self._own.do_not_specialize
        return triton.jit(made.fn, do_not_specialize=same) if same else made

    def _names(self, functions: Collection[JitFunction], used: Collection[str]) -> Iterator[tuple[str, object]]:
        """What the user's file has for the names of some functions.

        Raises:
            KernelFault: something that no kernel may use.
        """
        known = vars(self._file.module)
        for name in used:
            if name in known and not _is_of_triton(known[name]):
                raise KernelFault(FailureKind.REFUSED, f"'{name}' is nothing that a kernel may use")
            if name in known:
                yield name, known[name]
        for one in functions:
            for node in (each for each in one.nodes if isinstance(each, ast.Attribute)):
                self._check_member(node, one.own)

    def _check_member(self, node: ast.Attribute, own: Collection[str]) -> None:
        """Refuse what leads from Triton's modules to others.

        Args:
            own: names of the function itself.
        """
        path, root = [node.attr], node.value
        while isinstance(root, ast.Attribute):
            path, root = [root.attr, *path], root.value
        if not isinstance(root, ast.Name) or root.id in own:
            return
        path = [root.id, *path]
        reached: object = {"triton": triton, "tl": tl, **vars(self._file.module)}.get(path[0])
        for name in path[1:]:
            if not isinstance(reached, ModuleType):
                return
            reached = getattr(reached, name, None)
            if not _is_of_triton(reached):
                raise KernelFault(FailureKind.REFUSED, f"'{'.'.join(path)}' is nothing that a kernel may use")


def _at_their_lines(source: str, numbers: Iterable[str], functions: Iterable[JitFunction]) -> str:
    """A text of numbers and functions alone, these in the lines that they have in the file: tools name them."""
    lines = ["\n"] * len(lines_of(source))
    lines[0] = "; ".join(numbers) + "\n"
    for one in functions:
        lines[one.body - 1] = "@triton.jit\n"
        lines[one.body : one.end] = lines_of(one.text)
    return "".join(lines)


def _is_of_triton(value: object) -> bool:
    """Whether it is a part of Triton's language, a function that it compiles, or a number."""
    if isinstance(value, ModuleType):
        return value.__name__ in (*_MODULES, *_LIBRARIES)
    if isinstance(value, JITCallable | tl.dtype | tl.constexpr | int | float | str):
        return True
    return getattr(value, "__triton_builtin__", False) or str(getattr(value, "__module__", "")).startswith(
        "triton.language"
    )
