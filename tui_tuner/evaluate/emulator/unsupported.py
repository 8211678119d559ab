"""What the emulator cannot run, found in the source before it is compiled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tree_sitter import Node

_HEADERS = {
    "mma.h": "tensor cores",
    "cooperative_groups": "cooperative groups",
    "cuda/pipeline": "asynchronous copies",
    "cuda/barrier": "asynchronous barriers",
    "cuda_pipeline": "asynchronous copies",
    "cuda_awbarrier": "asynchronous barriers",
    "cuda/": "the CUDA C++ library",
    "cub/": "CUB",
    "thrust/": "Thrust",
    "cute/": "CuTe",
    "cutlass/": "CUTLASS",
    "cuda_fp8": "8-bit floating point",
    "cuda_fp4": "4-bit floating point",
    "curand": "cuRAND",
}
_NODES = {"gnu_asm_expression": "inline PTX", "kernel_call_syntax": "kernel launches in the source"}
_NAMES = (
    (re.compile(r"wmma|nvcuda"), "tensor cores"),
    (re.compile(r"CUtensorMap|cp_async_bulk\w*"), "the tensor memory accelerator"),
    (re.compile(r"__pipeline_\w+|__mbarrier_\w+"), "asynchronous copies"),
    (re.compile(r"texture|tex[123]D\w*|cudaTextureObject_t"), "textures"),
    (re.compile(r"surf[123]D\w*|cudaSurfaceObject_t"), "surfaces"),
    (re.compile(r"__cluster_dims__"), "thread block clusters"),
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
        yield from (what for header, what in _HEADERS.items() if _included(node).startswith(header))
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
