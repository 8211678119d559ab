"""A tuned kernel put into a file that has host code too: what the kernel defines goes, all else stays."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tree_sitter import Node

from tui_tuner.errors import ProblemError
from tui_tuner.problem.host_code import device_code, has_host_code
from tui_tuner.problem.model import Language
from tui_tuner.problem.syntax import code_only, declared_name, parse_code, spaces

_HINT = "paste it by hand: `tuner-tui best RUN` prints it, `--as header` how it is launched"
_NOTE = "// The host's code below is as it was: where it launches the kernel, grid and block are yours to change.\n"
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_BLOCKS = (
    "template_declaration",
    "linkage_spec",
    "declaration_list",
    "namespace_definition",
    "preproc_if",
    "preproc_el",
)
Item = tuple[int, int, list[str]]
"""Where it begins and ends, and the names that it defines."""


def with_host_code(original: str, tuned: str, source: str, kernel: str, language: Language) -> str:
    """The text of the patched file.

    Args:
        tuned: what takes the kernel's place: the values as macros, and the source.
        source: the tuned source alone.

    Raises:
        ProblemError: the file has host code that cannot be kept in a place that surely compiles.
    """
    code = code_only(original)
    if not has_host_code(code) or has_host_code(code_only(source)):
        return tuned
    new = code_only(tuned)
    replaced = Counter(name for item in _items(new, language) for name in item[2])
    gone = [item for item in _items(code, language) if any(name in replaced for name in item[2])]
    counted = Counter(name for item in gone for name in item[2])
    if re.split("::", kernel.partition("<")[0])[-1] not in counted:
        raise _cannot("where the kernel stands in it is not clear")
    if lost := counted - replaced:
        raise _cannot(f"the tuned source does not have all of {', '.join(sorted(lost))}")
    if clashing := _clashing(code, gone, new):
        raise _cannot(f"a macro of one is a name in the other: {', '.join(sorted(clashing))}")
    patched = _put_in(original, gone, tuned)
    if lost := _host_lines(original) - Counter(patched.splitlines()):
        raise _cannot(f"the tuned source has a name of its line `{min(lost).strip()}`")
    return patched


def _clashing(code: str, gone: Sequence[Item], new: str) -> set[str]:
    """Macros of what stays that what is new would read as such, and the other way round."""
    kept, constants = code, set[str]()
    for start, end, names in gone:
        text = code[start:end]
        kept = kept[:start] + spaces(text) + kept[end:]
        constants.update(names if "#" in text or re.search(r"\b(?:const|constexpr)\b", text) else ())
    words, new_words = ({*re.findall(r"\w+", text)} for text in (kept, new))
    own = {*_DEFINED.findall(new)} - constants
    of_variables = {name for _, _, names in gone for name in names} & own
    return own & words | of_variables | {*_DEFINED.findall(kept)} & new_words


def _host_lines(original: str) -> Counter[str]:
    """The lines that a build leaves out, without those of headers."""
    pairs = zip(original.splitlines(), device_code(original).splitlines(), strict=True)
    return Counter(line for line, left in pairs if line.strip() and not left.strip())


def _put_in(original: str, gone: Sequence[Item], tuned: str) -> str:
    """The original with the tuned text where the first of what it replaces was."""
    for index, (start, end, _) in reversed([*enumerate(gone)]):
        put = _NOTE + tuned.rstrip("\n") + "\n" if index == 0 else ""
        original = original[:start] + put + original[end:].removeprefix("\n")
    return original


def _cannot(why: str) -> ProblemError:
    return ProblemError(f"the file has host code that a patch cannot keep: {why}", hint=_HINT)


def _items(code: str, language: Language) -> list[Item]:
    """What a file has at its top, blocks of directives and namespaces as a whole."""
    items: list[Item] = []
    behind = 0
    for node in parse_code(code, language).children:
        if node.type == "ERROR":
            raise _cannot(f"`{code[node.start_byte : node.end_byte].strip().splitlines()[0]}` is not understood")
        qualified = code[behind : node.end_byte]  # qualifiers that the grammar does not know are no part of the node
        start, behind = node.end_byte - len(qualified.lstrip()), node.end_byte
        if code[start:behind] == ";" and items:  # of the structure before it
            items[-1] = (items[-1][0], behind, items[-1][2])
        else:
            items.append((start, behind, _names(node)))
    return items


def _names(node: Node) -> list[str]:
    """What a definition, or a structure, an alias or a macro, is called."""
    if node.type.startswith(_BLOCKS):
        return [name for inner in node.named_children for name in _names(inner)]
    if node.type in ("preproc_def", "preproc_function_def", "alias_declaration"):
        return _text(node.child_by_field_name("name"))
    names = []
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is not None:
        names += _text(node.child_by_field_name("name"))
    if node.type in ("function_definition", "declaration", "type_definition"):
        for inner in node.children_by_field_name("declarator"):
            name = declared_name(inner)
            is_function = name.parent is not None and name.parent.type == "function_declarator"
            if node.type != "declaration" or not is_function:  # a prototype defines nothing
                names += _text(name)
        kind = node.child_by_field_name("type")
        names += [] if kind is None or node.type == "function_definition" else _names(kind)
    return names


def _text(node: Node | None) -> list[str]:
    return [] if node is None or node.text is None else [node.text.decode()]
