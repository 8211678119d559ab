"""Make a CUDA source fit for g++: dynamic shared memory as a name for one buffer, line numbers kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from tui_tuner.evaluate.compilers.base import BuildRefusal
from tui_tuner.evaluate.emulator.unsupported import first_unsupported
from tui_tuner.evaluate.results import Failure, FailureKind

_DYNAMIC_SHARED = b' __asm__("tuner_dynamic_shared")'
_SHARED = b"__shared__"
SourceEdit = tuple[int, int, bytes]
"""First byte, byte after the last, and what takes their place."""


def rewritten(source: str) -> str:
    """The source as g++ takes it, line for line.

    Raises:
        Refused: it uses what the emulator cannot run.
    """
    text = source.encode()
    nodes = list(_walk(_parser().parse(text).root_node))
    reason = first_unsupported(nodes)
    if reason is not None:
        raise BuildRefusal(Failure(kind=FailureKind.REFUSED, message=reason))
    tokens = [node for node in nodes if node.child_count == 0 and node.start_byte < node.end_byte]
    for first, after, replacement in sorted(_edits(tokens), reverse=True):
        text = text[:first] + replacement + text[after:]
    return text.decode()


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def _walk(root: Node) -> Iterator[Node]:
    """Every node in the order of the source; a stack, since expressions nest deeper than Python recurses."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def _edits(tokens: Sequence[Node]) -> Iterator[SourceEdit]:
    for statement in _statements(tokens):
        words = [token.text for token in statement]
        if _SHARED not in words:
            continue
        yield from ((t.start_byte, t.end_byte, b"__align__") for t in statement if t.text == b"alignas")
        if b"extern" in words:
            yield from _extern_edits(statement)


def _statements(tokens: Sequence[Node]) -> Iterator[list[Node]]:
    """Runs of tokens between semicolons and braces: each declaration is one of them."""
    statement: list[Node] = []
    for token in tokens:
        statement.append(token)
        if token.text in (b";", b"{", b"}"):
            yield statement
            statement = []


def _extern_edits(statement: Sequence[Node]) -> Iterator[SourceEdit]:
    """`extern __shared__ T a[];` becomes `extern T a[] __asm__("...");`, with blanks for the qualifier."""
    for token, following in pairwise(statement):
        if token.text == _SHARED:
            yield token.start_byte, token.end_byte, b" " * len(_SHARED)
        if token.text == b"]" and following.text in (b";", b","):
            yield token.end_byte, token.end_byte, _DYNAMIC_SHARED
