"""How the code of a rewritten kernel is read as text: a source file of its own, or functions in a file."""

from __future__ import annotations

import io
import re
import tokenize
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.build.sources import refuse
from tui_tuner.problem.headers import include_paths, without_climbing
from tui_tuner.problem.model import Problem
from tui_tuner.problem.signature import KernelSignature, find_kernel, same_signature
from tui_tuner.problem.syntax import MOST_BYTES, code_only, identifiers, strip_definitions
from tui_tuner.problem.triton import OPTIONS, in_place, is_rewritable, kernel_text, lines_of, names_used
from tui_tuner.problem.triton.check import arguments_differ, faults

_TOKENS = re.compile(
    r"""
      ^[ \t]*\#[ \t]*include\b[^\n]*
    | \.?\d(?:[eEpP][+-]|[\w.])*                      # a number with its suffix
    | (?:(?<!\.)\.|->|\#\#)\s*[^\W\d]\w*            # a member, or what a macro pastes behind something
    | [^\W\d]\w*(?=\s*\#\#)                         # what a macro pastes something behind
    | (?P<name>[^\W\d]\w*)
    """,
    re.VERBOSE | re.MULTILINE,
)


class Dialect(ABC):
    """Reads the code of a problem's rewritten kernels."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @abstractmethod
    def names(self, code: str) -> frozenset[str]:
        """The names that it uses."""

    @abstractmethod
    def has_kernel(self, code: str) -> bool:
        """Whether it defines the problem's kernel."""

    @abstractmethod
    def renamed(self, code: str, names: Mapping[str, str]) -> str:
        """The code with these names renamed."""

    @abstractmethod
    def without_values(self, code: str, names: Collection[str]) -> str:
        """The code without values that it gives these names itself."""

    @abstractmethod
    def whole(self, code: str, base: str) -> str:
        """The text of a candidate.

        Args:
            code: as a model answers it, without faults.
            base: the text of the kernel that was rewritten.
        """

    @abstractmethod
    def answered(self, source: str) -> str:
        """The text of a candidate as a model would have answered it."""

    @abstractmethod
    def faults(self, code: str, tunables: Collection[str], base: str) -> Iterator[str]:
        """What is wrong with it before anything is built, in words.

        Args:
            tunables: those that come with the code.
            base: as of `whole`.
        """


def dialect_of(problem: Problem) -> Dialect:
    """What reads the rewritten kernels of a problem."""
    return CompiledDialect(problem) if problem.is_compiled else TritonDialect(problem)


class CompiledDialect(Dialect):
    """A source file of CUDA, OpenCL or C: tunables are macros."""

    @cached_property
    def signature(self) -> KernelSignature:
        """What the kernel as given takes.

        Raises:
            ProblemError: the source as given does not define it.
        """
        return find_kernel(self._problem.source_text, self._problem.language, self._problem.kernel.name)

    def names(self, code: str) -> frozenset[str]:
        """The identifiers of code and macros."""
        return identifiers(code, self._problem.language)

    def has_kernel(self, code: str) -> bool:
        """Whether such a function is in it."""
        try:
            find_kernel(code, self._problem.language, self._problem.kernel.name)
        except ProblemError:
            return False
        return True

    def renamed(self, code: str, names: Mapping[str, str]) -> str:
        """As of `rename_identifiers`."""
        return rename_identifiers(code, names)

    def without_values(self, code: str, names: Collection[str]) -> str:
        """The code without definitions of macros."""
        return strip_definitions(code, names)

    def whole(self, code: str, base: str) -> str:
        """The code itself."""
        return code

    def answered(self, source: str) -> str:
        """The text itself."""
        return source

    def faults(self, code: str, tunables: Collection[str], base: str) -> Iterator[str]:
        """Text that is not built, and a kernel that takes other arguments."""
        problem = self._problem
        refused = refuse(without_climbing(code, include_paths(problem.kernel.compiler_options)), problem.language)
        if refused is not None:
            yield f"code: {refused.message}"
            return
        if "<<<" in code:
            yield "code: it launches a kernel (<<<...>>>); answer with device code only"
        try:
            theirs = find_kernel(code, problem.language, problem.kernel.name)
            different = same_signature(self.signature, theirs)
        except ProblemError as error:
            yield f"code: {error.message}"
            return
        if different is not None:
            yield f"code: the kernel must take the same arguments: {different}"


def rename_identifiers(source: str, names: Mapping[str, str]) -> str:
    """The source with these identifiers renamed wherever a macro of the old name would be replaced.

    That is in code, conditions and bodies of macros; not in comments, strings and names of files, not where a
    name is part of a longer one or made by `##`, and not after `.` or `->`, since members keep their names.
    """
    pieces: list[str] = []
    end = 0
    for token in _TOKENS.finditer(code_only(source)):
        if token["name"] in names:
            pieces += [source[end : token.start()], names[token["name"]]]
            end = token.end()
    return "".join([*pieces, source[end:]])


class TritonDialect(Dialect):
    """Functions under `@triton.jit` in a file: tunables are parameters of the kernel and options of its launch."""

    def names(self, code: str) -> frozenset[str]:
        """The names in the functions, and what every launch takes."""
        return names_used(code) | {*OPTIONS}

    def has_kernel(self, code: str) -> bool:
        """Whether such a function is in it."""
        return is_rewritable(code, self._problem.kernel.name)

    def renamed(self, code: str, names: Mapping[str, str]) -> str:
        """The code with these names renamed, members left as they are."""
        try:
            tokens = [*tokenize.generate_tokens(io.StringIO(code).readline)]
        except (tokenize.TokenError, SyntaxError):
            return code  # told among the faults
        lines, before = lines_of(code), ["", *(token.string for token in tokens)]
        for token, last in reversed([*zip(tokens, before, strict=False)]):
            if token.type == tokenize.NAME and token.string in names and last != ".":
                (row, start), (_, end), line = token.start, token.end, lines[token.start[0] - 1]
                lines[row - 1] = line[:start] + names[token.string] + line[end:]
        return "".join(lines)

    def without_values(self, code: str, names: Collection[str]) -> str:
        """The code itself: its parameters have none."""
        return code

    def whole(self, code: str, base: str) -> str:
        """The file with the functions in place of its own."""
        return in_place(base, code, self._problem.kernel.name, self._problem.source_text)

    def answered(self, source: str) -> str:
        """The kernel and what it calls."""
        return kernel_text(source, self._problem.kernel.name)

    def faults(self, code: str, tunables: Collection[str], base: str) -> Iterator[str]:
        """What is no kernel of Triton's language, and one that takes other arguments."""
        problem, kernel = self._problem, self._problem.kernel.name
        if len(code.encode(errors="replace")) > MOST_BYTES:
            yield f"code: the source is longer than {MOST_BYTES // 1024} KiB: make it shorter"
            return
        found = [*faults(code, kernel, base, problem.source_text)]
        yield from (f"code: {fault}" for fault in found)
        if not found and (different := arguments_differ(code, kernel, problem.source_text, tunables, problem.tunables)):
            yield f"code: {different}"
