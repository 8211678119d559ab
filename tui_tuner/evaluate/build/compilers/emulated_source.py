"""A CUDA source as g++ takes it for the emulator: what cannot be run there is refused, a few words are written anew."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from tui_tuner.evaluate.build.compilers import BuildRefusal
from tui_tuner.evaluate.results import FailureKind

_UNSUPPORTED_HEADERS = {
    "mma.h": "tensor cores",
    "cooperative_groups/scan": "scans of cooperative groups",
    "cuda/pipeline": "cuda::pipeline",
    "cuda/barrier": "asynchronous barriers",
    "cuda_awbarrier": "asynchronous barriers",
    "cuda/": "the CUDA C++ library",
    "cub/": "CUB",
    "thrust/": "Thrust",
    "cute/": "CuTe",
    "cutlass/": "CUTLASS",
    "cuda_fp4": "4-bit floating point",
    "curand_mtgp32": "cuRAND",
}
_NODES = {"gnu_asm_expression": "inline PTX", "kernel_call_syntax": "kernel launches in the source"}
_NAMES = (
    (re.compile(r"wmma|nvcuda"), "tensor cores"),
    (re.compile(r"CUtensorMap|cp_async_bulk\w*"), "the tensor memory accelerator"),
    (re.compile(r"__pipeline_arrive_on|__mbarrier_\w+"), "asynchronous barriers"),
    (re.compile(r"tex[123]D\w*|cudaTextureObject_t"), "textures"),
    (re.compile(r"surf[123]D\w*|cudaSurfaceObject_t"), "surfaces"),
    (re.compile(r"__cluster_dims__"), "thread block clusters"),
    (re.compile(r"curand\w*"), "cuRAND"),
)
_CONDITIONAL = frozenset({"preproc_if", "preproc_ifdef", "preproc_elif", "preproc_else"})


def first_unsupported(nodes: Iterable[Node]) -> str | None:
    """The first thing that cannot be run, in one sentence with its line; None if there is nothing.

    What stands under a preprocessor condition is left to the compiler, which knows whether it is used.
    """
    for node in nodes:
        feature = next(_features(node), None)
        if feature is not None and not _under_condition(node):
            return f"the emulator cannot run {feature} (line {node.start_point.row + 1}): use a CUDA GPU"
    return None


def _features(node: Node) -> Iterator[str]:
    if node.type in _NODES:
        yield _NODES[node.type]
    elif node.type == "preproc_include":
        yield from (what for header, what in _UNSUPPORTED_HEADERS.items() if _included(node).startswith(header))
    elif node.type == "template_type" and _text(node).startswith("texture"):
        yield "textures"
    elif node.type.endswith("identifier") and node.child_count == 0:
        name = _text(node)
        yield from (what for pattern, what in _NAMES if pattern.fullmatch(name))


def _included(node: Node) -> str:
    path = node.child_by_field_name("path")
    return "" if path is None else _text(path).strip('<>"')


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _under_condition(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in _CONDITIONAL:
            return True
        parent = parent.parent
    return False


_DYNAMIC_SHARED = b' __asm__("tuner_dynamic_shared")'
_SHARED, _CONSTANT, _STATIC = b"__shared__", b"__constant__", b"static"
_NOINLINE = re.compile(rb"(?<![\w(])__noinline__(?!\w)")
SourceEdit = tuple[int, int, bytes]
"""First byte, byte after the last, and what takes their place."""


@lru_cache(maxsize=32)  # a kernel has one text and many configurations
def rewritten(source: str) -> str:
    """The source as g++ takes it, line for line.

    Raises:
        BuildRefusal: it uses what the emulator cannot run.
    """
    text = source.encode()
    nodes = list(_walk(_parser().parse(text).root_node))
    reason = first_unsupported(nodes)
    if reason is not None:
        raise BuildRefusal(FailureKind.REFUSED, reason)
    tokens = [node for node in nodes if node.child_count == 0 and node.start_byte < node.end_byte]
    edits = [*_edits(tokens), *_noinline_edits(text), *_unread_edits(nodes)]
    for first, after, replacement in sorted(edits, reverse=True):
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
        if _CONSTANT in words or _SHARED in words:  # seen from outside, where a launch fills it; or static twice
            yield from ((t.start_byte, t.end_byte, b" " * len(_STATIC)) for t in statement if t.text == _STATIC)
        if _SHARED not in words:
            continue
        yield from ((t.start_byte, t.end_byte, b"__align__") for t in statement if t.text == b"alignas")
        if b"extern" in words:
            yield from (_referring_edits if _is_in_template(statement[0]) else _extern_edits)(statement)


def _noinline_edits(text: bytes) -> Iterator[SourceEdit]:
    """No macro can stand for it: g++'s own headers write `__attribute__((__noinline__))`, as a source may too."""
    yield from ((*found.span(), b"__attribute__((noinline))") for found in _NOINLINE.finditer(text))


_EXCHANGE = re.compile(rb"atomicExch(?:_block|_system)?")


def _unread_edits(nodes: Iterable[Node]) -> Iterator[SourceEdit]:
    """Where nobody looks at what an exchange returns it is a store, which who watches wants to know."""
    for node in nodes:
        function = node.child_by_field_name("function") if node.type == "call_expression" else None
        if function is not None and _EXCHANGE.fullmatch(function.text or b"") and _is_discarded(node):
            yield node.end_byte, node.end_byte, b", ::tuner_emulator::unread()"


def _is_discarded(node: Node) -> bool:
    parent = node.parent
    if parent is None or parent.type == "expression_statement":
        return parent is not None
    if parent.type == "comma_expression":
        return node == parent.child_by_field_name("left") or _is_discarded(parent)
    if parent.type == "cast_expression":
        return _text(parent).startswith("(void)") and _is_discarded(parent)
    return parent.type == "for_statement" and node == parent.child_by_field_name("update")


def _statements(tokens: Sequence[Node]) -> Iterator[list[Node]]:
    """Runs of tokens between semicolons and braces: each declaration is one of them."""
    statement: list[Node] = []
    for token in tokens:
        statement.append(token)
        if token.text in (b";", b"{", b"}"):
            yield statement
            statement = []


def _is_in_template(node: Node) -> bool:
    """Whether it stands in the body of a template, where g++ forgets the label of a declaration."""
    parent, in_body = node.parent, False
    while parent is not None:
        in_body = in_body or parent.type == "compound_statement"
        if in_body and parent.type == "template_declaration":
            return True
        parent = parent.parent
    return False


def _referring_edits(statement: Sequence[Node]) -> Iterator[SourceEdit]:
    """`extern __shared__ T a[];` becomes `T (&a)[] = ...;`, with blanks for the qualifiers."""
    name = b""
    for token, following in pairwise(statement):
        if token.text in (b"extern", _SHARED):
            yield token.start_byte, token.end_byte, b" " * (token.end_byte - token.start_byte)
        if following.text == b"[" and token.type == "identifier":
            name = token.text or b""
            yield token.start_byte, token.end_byte, b"(&" + name + b")"
        if token.text == b"]" and following.text in (b";", b","):
            yield token.end_byte, token.end_byte, b" = (decltype(" + name + b"))tuner_dynamic_shared"


def _extern_edits(statement: Sequence[Node]) -> Iterator[SourceEdit]:
    """`extern __shared__ T a[];` becomes `extern T a[] __asm__("...");`, with blanks for the qualifier."""
    for token, following in pairwise(statement):
        if token.text == _SHARED:
            yield token.start_byte, token.end_byte, b" " * len(_SHARED)
        if token.text == b"]" and following.text in (b";", b","):
            yield token.end_byte, token.end_byte, _DYNAMIC_SHARED
