"""Kernel source as text and as a syntax tree: code and comments, identifiers, the kernel functions in it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import pairwise

from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser

from tui_tuner.problem.languages import COMPILED_LANGUAGES
from tui_tuner.problem.model import Language
from tui_tuner.problem.tunables import keywords

_ATTRIBUTES = re.compile(
    r"\b(?:__launch_bounds__|__cluster_dims__|__maxnreg__|__attribute__|__block_size__|__align__|alignas)\s*(?=\()"
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\r?\n|[^\n])*", re.MULTILINE)
"""A line of the preprocessor's, with those that continue it."""
_EMPTY_DEFINITION = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+\w+(?:\([^()\n]*\))?(?:[ \t]*\\\r?\n)*[ \t\r]*$", re.MULTILINE
)
"""A macro of nothing, for which the grammars take the next line where a space stands behind it."""
_EMPTY_CONDITIONAL = re.compile(
    r"^[ \t]*#[ \t]*if(?:[^\n]*\\\n)*[^\n]*\n(?:[ \t]*(?:#[ \t]*el(?:se|if)[^\n]*)?\n)*[ \t]*#[ \t]*endif[^\n]*",
    re.MULTILINE,
)
LAUNCH_BOUNDS, WORK_GROUP = (
    re.compile(rf"\b{word}\s*(?=\()") for word in ("__launch_bounds__", "reqd_work_group_size")
)
"""What says of a kernel how many threads a block has: at most in CUDA, exactly in OpenCL."""
_PREPROCESSOR_BLOCKS = ("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef")
_SCOPES = ("linkage_specification", "declaration_list", "namespace_definition", "template_declaration")
_CONTAINERS = frozenset({"translation_unit", "ERROR", *_SCOPES, *_PREPROCESSOR_BLOCKS})

MOST_BYTES = 2**18
"""Of the source of a kernel; a longer one is never built."""


@cache
def _grammar(language: Language) -> Grammar:
    return Grammar(import_module(COMPILED_LANGUAGES[language].grammar).language())


def parse_code(code: str, language: Language) -> Node:
    """The syntax tree of code without comments; every offset in it is an index into the code.

    Qualifiers that the grammars do not know or stumble over are blanked first, with the conditionals around them.
    """
    traits = COMPILED_LANGUAGES[language]
    code = re.sub(r"[^\x00-\x7f]", "_", code)
    code = _EMPTY_DEFINITION.sub(lambda match: spaces(match.group()), code)
    code = traits.qualifiers.sub(lambda match: spaces(match.group()), code)
    for match in reversed(list(_ATTRIBUTES.finditer(code))):
        end = closing(code, match.end())
        code = code[: match.start()] + spaces(code[match.start() : end]) + code[end:]
    code = _EMPTY_CONDITIONAL.sub(lambda match: spaces(match.group()), code)
    if traits.kernel_mark is not None and traits.mark_is_unknown:
        code = traits.kernel_mark.sub(lambda match: "extern".ljust(len(match.group())), code)
    return Parser(_grammar(language)).parse(code.encode()).root_node


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
    mark = COMPILED_LANGUAGES[language].kernel_mark
    if mark is None:
        return frozenset()
    definitions = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:\\\n|[^\n])*)", code, re.MULTILINE)
    return frozenset(name for name, body in definitions if mark.search(body))


def _is_kernel(node: Node, code: str, language: Language, macros: frozenset[str]) -> bool:
    declarator = node.child_by_field_name("declarator")
    if declarator is None or node.child_by_field_name("body") is None:
        return False
    if declared_name(declarator).type != "identifier":
        return False
    head = code[node.start_byte : declarator.start_byte]
    words = set(re.findall(r"\w+", head))
    mark = COMPILED_LANGUAGES[language].kernel_mark
    if mark is None:
        return "static" not in words and not re.compile(r"main\b").match(code, declared_name(declarator).start_byte)
    return bool(mark.search(head) or words & macros)


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


def held_before(code: str, name: int, attribute: re.Pattern[str]) -> str | None:
    """What an attribute, as `LAUNCH_BOUNDS`, of the function whose name stands at this index holds."""
    start = max(code.rfind(mark, 0, name) for mark in ";}{")
    for match in attribute.finditer(code, start + 1, name):
        return enclosed(code, match.end()).strip()
    return None


_ESCAPED = r"\\(?:\r?\n|[\s\S])"
# Behind a digit an apostrophe separates, as in 1'000. What is not closed goes to the end of its line, a raw string to
# that of the text: looked for anew from each quote, its end would take a time that grows with the square of the length.
_QUOTED = rf"\"(?:{_ESCAPED}|[^\"\\\n])*\"?|(?<![\da-fA-F])'(?:{_ESCAPED}|[^'\\\n])*'?"
_STRING = r'R"(?P<tag>[^()\\\s]{0,16})\((?:[\s\S]*?\)(?P=tag)"|[\s\S]*)|' + _QUOTED
_BLOCK_COMMENT = r"/\*[\s\S]*?(?:\*/|\Z)"
_COMMENT = rf"{_BLOCK_COMMENT}|//(?:\\\r?\n|[^\n])*"
_TOKENS = re.compile(rf"(?P<comment>{_COMMENT})|(?P<string>{_STRING})")
_DEFINITION = rf"^[ \t]*\#[ \t]*(?:define|undef)[ \t]+(?P<name>\w+)(?:{_COMMENT}|{_QUOTED}|\\[ \t]*\r?\n|[^\n])*"
_TOKENS_AND_DEFINITIONS = re.compile(rf"{_TOKENS.pattern}|(?P<definition>{_DEFINITION})", re.MULTILINE)
_NOT_A_USE = re.compile(r"^[ \t]*#[ \t]*(?:define|undef|ifdef|ifndef)[ \t]+\w+", re.MULTILINE)
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_CONSTANT = re.compile(r"(\w+)\s*=\s*\d+")
_CONSTANTS = re.compile(
    r"(?m)^(?:(?:static|inline)\s+)*(?:const|constexpr)\s+(?:static\s+)?(?:(?:unsigned\s+)?int|unsigned|u?int32_t)\s+"
    rf"(?P<list>{_CONSTANT.pattern}(?:\s*,\s*{_CONSTANT.pattern})*)\s*;"
)


def spaces(text: str) -> str:
    """Spaces of the same length; the ends of the lines stay."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


def code_only(source: str) -> str:
    """The source with comments and the content of strings blanked; every offset stays as it was."""
    return _TOKENS.sub(_blank, source)


def comments_only(source: str) -> str:
    """The comments of the source, with all else blanked; every offset stays as it was."""
    parts, end = [""], 0
    for one in (found for found in _TOKENS.finditer(source) if found["comment"]):
        parts += [spaces(source[end : one.start()]), one.group()]
        end = one.end()
    return "".join([*parts, spaces(source[end:])])


def _blank(match: re.Match[str]) -> str:
    text = match.group()
    if match["comment"]:
        return spaces(text)
    is_closed = len(text) > 1 and text[-1] in "\"'"
    return text[0] + spaces(text[1:-1]) + text[-1] if is_closed else text[0] + spaces(text[1:])


def identifiers(source: str, language: Language) -> frozenset[str]:
    """The identifiers that code or macro bodies use; a macro's own definition or guard is no use of it."""
    code = _NOT_A_USE.sub("", code_only(source))
    return frozenset(_WORD.findall(code)) - keywords(language)


def without_own_values(source: str, names: Collection[str]) -> str:
    """The source without the values that it gives tunables itself, where nothing guards them; the lines stay.

    That is `#define NAME 16`, where no `#ifndef NAME` is before it, and `const int NAME = 16;`.
    """
    plain = [name for name in names if not re.search(rf"(?m)^[ \t]*#[ \t]*ifndef[ \t]+{name}\b", source)]
    code = code_only(source)
    defined = [name for name in plain if re.search(rf"(?m)^[ \t]*#[ \t]*define[ \t]+{name}\b", code)]
    source = strip_definitions(source, defined) if defined else source
    for name in plain:
        for start, end in reversed([span for one, span in constants_of(code_only(source)) if one == name]):
            source = source[:start] + spaces(source[start:end]) + source[end:]
    return source


def declares_constant(source: str, name: str) -> bool:
    """Whether the source has a variable of this name in constant memory."""
    return _constant_declared(name, code_only(source)) is not None


def constant_in_namespaces(name: str, source: str) -> str:
    """A variable in constant memory with the named namespaces around its declaration, as in "outer::inner::table"."""
    code = code_only(source)
    declared = _constant_declared(name, code)
    return name if declared is None else f"{namespaces_around(declared.start(), code)}{name}"


def _constant_declared(name: str, code: str) -> re.Match[str] | None:
    return re.search(rf"\b__constant__\b[^;{{}}()]*\b{re.escape(name)}\b", code)


def namespaces_around(place: int, code: str) -> str:
    """The named namespaces that a place in code without comments stands in, as in "outer::inner::"; empty for none."""
    heads = re.finditer(r"\bnamespace\s+(\w+(?:\s*::\s*\w+)*)\s*\{", code[:place])
    around = [re.sub(r"\s", "", one[1]) for one in heads if closing(code, one.end() - 1) > place]
    return "".join(f"{one}::" for one in around)


def constants_of(code: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The names that a file gives a whole number for good, and where: a statement, or its part in a list of several."""
    for found in _CONSTANTS.finditer(code):
        parts = [*_CONSTANT.finditer(code, found.start("list"), found.end("list"))]
        spans = [(one.start(), other.start()) for one, other in pairwise(parts)]
        spans += [(parts[-2].end(), parts[-1].end()) if spans else found.span()]
        yield from ((part[1], span) for part, span in zip(parts, spans, strict=True))


def strip_definitions(source: str, names: Collection[str]) -> str:
    """The source without `#define` and `#undef` of these names; blank lines keep the line numbers."""

    def replace(match: re.Match[str]) -> str:
        if match["definition"] is None or match["name"] not in names:
            return match.group()
        return "\n" * match.group().count("\n")

    return _TOKENS_AND_DEFINITIONS.sub(replace, source)


def closing(text: str, opening: int) -> int:
    """The index behind the bracket that closes the one at `opening`, which is round or curly."""
    marks, depth = "()" if text[opening] == "(" else "{}", 0
    for mark in re.compile(f"[{marks}]").finditer(text, opening):
        depth += 1 if mark.group() == marks[0] else -1
        if depth == 0:
            return mark.end()
    return len(text)


def enclosed(text: str, opening: int) -> str:
    """What stands between the bracket at `opening` and the one that closes it."""
    return text[opening + 1 : closing(text, opening) - 1]


def without_bodies(code: str) -> str:
    """Code without what stands in braces."""
    while (shorter := re.sub(r"\{[^{}]*\}", " ", code)) != code:
        code = shorter
    return code


def unwrapped(text: str) -> str:
    """Text without parentheses around all of it."""
    while text.startswith("(") and text.endswith(")") and closing(text, 0) == len(text):
        text = text[1:-1].strip()
    return text


_OF_TEMPLATE = re.compile(r"\b[A-Za-z_]\w*\s*<[\w\s:,*]*>(?=\s*(?:[({&*,]|::|$))")


def split_list(text: str) -> list[str]:
    """What commas part outside of parentheses, of brackets and of a template's arguments."""
    parts, depth = [""], 0
    within = {place for one in _OF_TEMPLATE.finditer(text) for place in range(*one.span())}
    for place, letter in enumerate(text):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0 and place not in within:
            parts.append("")
        else:
            parts[-1] += letter
    return [" ".join(part.split()) for part in parts if part.strip()]


def list_at(text: str, opening: int) -> list[str]:
    """The list in the brackets that begin at `opening`, as the arguments of a call."""
    return split_list(enclosed(text, opening))


POINTER_TO_FUNCTION = re.compile(r"\(\s*[*&]\s*(?P<name>\w+)\s*\)\s*\((?P<parameters>[^()]*)\)")


def name_in(declaration: str) -> str:
    """The name that a declaration gives, as N in `int N = 4` and f in `float (*f)(int)`; empty where it gives none."""
    words = re.findall(r"\w+", declaration.partition("=")[0].partition("[")[0])
    pointer = POINTER_TO_FUNCTION.search(declaration)
    return pointer["name"] if pointer else words[-1] if words else ""


def with_macros(text: str, macros: Mapping[str, tuple[str | None, str]]) -> str:
    """Text with macros put in, three times within each other at most.

    Args:
        macros: parameters as written, maybe with what one is that is not given, as in "(n, by=64)", and text, by name;
            those without parameters are left alone.
    """
    for _ in range(3):
        for name, (parameters, body) in macros.items():
            if parameters and re.search(rf"\b{name}\s*\(", text):
                text = _with_macro(text, name, parameters, body)
    return text


_ELEMENT = re.compile(r"\w+(?:(?:\.|->)\w+|\[(?:[^][]|\[[^][]*\])*\])*\s*\[(?:[^][]|\[[^][]*\])*\]")


def _with_macro(text: str, name: str, parameters: str, body: str) -> str:
    """The uses of a macro in a text, replaced by what it stands for."""
    listed = [one.partition("=") for one in parameters[1:-1].split(",")]
    names = [name.strip().replace("...", "__VA_ARGS__") for name, _, _ in listed]
    place = 0
    while (found := re.compile(rf"\b{name}\s*\(").search(text, place)) is not None:
        end = closing(text, found.end() - 1)
        given = list_at(text, found.end() - 1)
        left = [default.strip() for _, _, default in listed[len(given) :]]
        given += left if all(left) else []
        place = found.end()
        values = (value if value.isidentifier() else f"({value})" for value in given)
        meant = dict(zip(names, values, strict=False))
        if names[-1] == "__VA_ARGS__":
            meant[names[-1]] = ", ".join(given[len(names) - 1 :])
        if len(given) == len(names) or "__VA_ARGS__" in meant:
            inside = unwrapped("".join(meant.get(word, word) for word in re.split(r"(\b[A-Za-z_]\w*)", body)).strip())
            inside = inside if _ELEMENT.fullmatch(inside) else f"({inside})"
            text = text[: found.start()] + inside + text[end:]
            place = found.start() + len(inside)
    return text
