"""Syntax trees of kernel sources: the grammars, what they must not see, and the kernel functions in a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import tree_sitter_c
import tree_sitter_cpp
import tree_sitter_cuda
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser

from tui_tuner.problem.model import Language
from tui_tuner.problem.source_text import spaces

KERNEL_WORD: dict[Language, str] = {"cuda": "__global__", "opencl": "__kernel", "c": "external linkage"}
_MARK = {"cuda": re.compile(r"\b__global__\b"), "opencl": re.compile(r"\b(?:__)?kernel\b")}
_ATTRIBUTES = re.compile(
    r"\b(?:__launch_bounds__|__cluster_dims__|__maxnreg__|__attribute__|__block_size__|__align__|alignas)\s*(?=\()"
)
_LAUNCH_BOUNDS = re.compile(r"\b__launch_bounds__\s*(?=\()")
_WORDS = {
    "cuda": re.compile(r"\b(?:__grid_constant__|__restrict__|__restrict|__forceinline__|__noinline__)\b"),
    "opencl": re.compile(r"\b(?:__)?(?:global|local|constant|private|generic|read_only|write_only|read_write)\b"),
    "c": re.compile(r"\b(?:__restrict__|__restrict|restrict)\b"),
}
_PREPROCESSOR_BLOCKS = ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef")
_SCOPES = ("linkage_specification", "declaration_list", "namespace_definition", "template_declaration")
_CONTAINERS = frozenset({"translation_unit", "ERROR", *_SCOPES, *_PREPROCESSOR_BLOCKS})


@cache
def _parser(language: Language) -> Parser:
    grammars = {"cuda": tree_sitter_cuda, "opencl": tree_sitter_c, "c": tree_sitter_cpp}
    return Parser(Grammar(grammars[language].language()))


def parse(code: str, language: Language) -> Node:
    """The syntax tree of code without comments; every offset in it is an index into the code.

    Qualifiers that the grammars do not know or stumble over are blanked first.
    """
    code = re.sub(r"[^\x00-\x7f]", "_", code)
    code = _WORDS[language].sub(lambda match: spaces(match.group()), code)
    for match in reversed(list(_ATTRIBUTES.finditer(code))):
        end = _closing(code, match.end())
        code = code[: match.start()] + spaces(code[match.start() : end]) + code[end:]
    if language == "opencl":
        code = re.sub(r"\b(?:__kernel|kernel)\b", lambda match: "extern".ljust(len(match.group())), code)
    return _parser(language).parse(code.encode()).root_node


def _closing(code: str, opening: int) -> int:
    """The index behind the parenthesis that closes the one at `opening`."""
    depth = 0
    for index in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[index], 0)
        if depth == 0:
            return index + 1
    return len(code)


def functions(root: Node, code: str, language: Language) -> Iterator[Node]:
    """The definitions of kernel functions, in the order of the source."""
    macros = _kernel_macros(code, language)
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type == "function_definition":
            if _is_kernel(node, code, language, macros):
                yield node
        elif node.type in _CONTAINERS:
            pending.extend(reversed(node.children))


def _kernel_macros(code: str, language: Language) -> frozenset[str]:
    """Macros that stand for the kernel word, as in `#define KERNEL extern "C" __global__ void`."""
    if language not in _MARK:
        return frozenset()
    definitions = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\n|[^\n])*)", code, re.MULTILINE)
    return frozenset(name for name, body in definitions if _MARK[language].search(body))


def _is_kernel(node: Node, code: str, language: Language, macros: frozenset[str]) -> bool:
    declarator = node.child_by_field_name("declarator")
    if declarator is None or node.child_by_field_name("body") is None:
        return False
    if declared_name(declarator).type != "identifier":
        return False
    head = code[node.start_byte : declarator.start_byte]
    words = set(re.findall(r"\w+", head))
    if language == "c":
        return "static" not in words
    return bool(_MARK[language].search(head) or words & macros)


def parameters_of(function: Node) -> list[Node]:
    """The parameter declarations of a function's definition."""
    declarator = function.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    listed = None if declarator is None else declarator.child_by_field_name("parameters")
    return [] if listed is None else [n for n in listed.named_children if n.type.endswith("parameter_declaration")]


def declared_name(declarator: Node) -> Node:
    """The innermost node of a declarator, which is the name it declares if there is one."""
    while True:
        inner = declarator.child_by_field_name("declarator")
        if inner is None and declarator.type in ("parenthesized_declarator", "reference_declarator"):
            inner = next((n for n in declarator.named_children if n.type.endswith(("declarator", "identifier"))), None)
        if inner is None:
            return declarator
        declarator = inner


def launch_bounds_at(code: str, name: int) -> str | None:
    """What the `__launch_bounds__` of the function whose name stands at this index holds."""
    start = max(code.rfind(mark, 0, name) for mark in ";}{")
    for match in _LAUNCH_BOUNDS.finditer(code, start + 1, name):
        return code[match.end() + 1 : _closing(code, match.end()) - 1].strip()
    return None
