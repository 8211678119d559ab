"""The texts of kernels that a script builds, with the script's values in their places.

A number in a text becomes a macro of its name, where that is the same, so that it can be another number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from string import Formatter

from tui_tuner.problem.draft.script.arithmetic import UNKNOWN
from tui_tuner.problem.draft.script.values import ScriptValues, called

_PERCENT = re.compile(r"%(?:\((?P<key>\w+)\))?(?P<how>[-+ #0]*\d*(?:\.\d+)?[a-zA-Z%])")
_DOLLAR = re.compile(r"\$(?:(?P<key>[A-Za-z_]\w*)|\{(?P<other>\w+)\}|(?P<how>\$))")
_BRACES = re.compile(r"\{\{\s*(?P<key>\w+)\s*\}\}")
_SAME = ("dedent", "cleandoc", "strip", "lstrip", "rstrip", "encode", "Template", "str")
_MOST_HOLES = 2000


class UnreadText(ValueError):
    """A text that is put together of what only running the script would tell; with that as the script writes it."""


@dataclass
class KernelText:
    """A text with kernels.

    Attributes:
        macros: those that stand before the text, with their numbers.
        named: names of the script, with the macro of the text that has the same number.
    """

    text: str
    macros: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)

    @property
    def whole(self) -> str:
        """The text of a file of its own."""
        stated = "".join(f"#define {name} {number}\n" for name, number in self.macros.items())
        return f"{stated}{self.text.strip(chr(10))}\n"


Piece = str | tuple[str, ast.expr]
"""A part of a text, or a place in it: what it is called there, and what the script puts into it."""


def kernel_text(values: ScriptValues, node: ast.expr) -> KernelText | None:
    """The text that an expression comes to; None where it comes to none at all, as from a file.

    Raises:
        UnreadText: a part of it is not known.
    """
    pieces = _pieces(values, node)
    if pieces is None:
        return None
    made = KernelText("")
    plain = " ".join(one for one in pieces if isinstance(one, str))
    for position, piece in enumerate(pieces):
        if isinstance(piece, str):
            made.text += piece
        else:
            behind = next((one for one in pieces[position + 1 : position + 2] if isinstance(one, str)), "")
            made.text += _put(values, made, *piece, plain=plain, behind=behind)
    return made


def _put(values: ScriptValues, made: KernelText, name: str, node: ast.expr, *, plain: str, behind: str) -> str:
    """What stands in a place of a text: a macro's name, or the value itself."""
    value = values.value(node)
    if not isinstance(value, str | int | float):
        raise UnreadText(ast.unparse(node))
    number, line = str(value), made.text[made.text.rfind("\n") + 1 :]
    if isinstance(value, str | bool):
        return number
    defined = re.fullmatch(r"\s*#\s*define\s+(\w+)\s+\(?", line)
    is_alone = not re.search(r"[\w.]$", line) and not re.match(r"[\w.]", behind) and line.count('"') % 2 == 0
    is_free = name.isidentifier() and not re.search(rf"\b{name}\b", plain) and made.macros.get(name, number) == number
    if defined is None and is_alone and is_free:
        made.macros[name] = number
    elif defined is None or re.match(r"\)?[ \t]*(?:\n|$|//)", behind) is None:
        return number
    macro = name if defined is None else defined[1]
    made.named |= dict.fromkeys(_names(values, node), macro)
    return name if defined is None else number


def _names(values: ScriptValues, node: ast.expr) -> Iterator[str]:
    """A name, and those that it stands for."""
    for _ in range(8):
        if not isinstance(node, ast.Name):
            return
        yield node.id
        node = values.assigned.get(node.id, ast.Constant(None))


def _pieces(values: ScriptValues, node: ast.expr) -> list[Piece] | None:
    """A text's parts and places; None where an expression is no text that is written in the script."""
    meant = values.meant(node)
    values.steps_left -= 1
    if values.steps_left < 0:
        raise UnreadText("too many parts")
    match meant:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            return [_part(one) for one in parts]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            both = (_pieces(values, left), _pieces(values, right))
            if None in both and both != (None, None):
                raise UnreadText(ast.unparse(left if both[0] is None else right))
            return None if both[0] is None else both[0] + (both[1] or [])
        case ast.BinOp(left=left, op=ast.Mod(), right=given):
            pieces = _pieces(values, left)
            return pieces and _filled(pieces, lambda text: _by_percent(text, values, given))
        case ast.Call(func=ast.Attribute(value=inner)) if (pieces := _pieces(values, inner)) is not None:
            return _called(values, meant, pieces)
        case ast.Call(args=[inner, *_]) if called(meant) in _SAME:
            return _pieces(values, inner)
        case ast.List(elts=[one]):
            return _pieces(values, one)
    return None


def _called(values: ScriptValues, call: ast.Call, pieces: list[Piece]) -> list[Piece]:
    """What a method of a text makes of it."""
    name, words = called(call), {one.arg: one.value for one in call.keywords if one.arg}
    tables = [one.value for one in call.keywords if one.arg is None] + ([] if name == "format" else call.args[:1])
    for one in tables:
        words |= _table(values.meant(one))
    if name == "format":
        return _filled(pieces, lambda text: _by_format(text, call.args, words))
    if name in ("substitute", "safe_substitute", "render"):
        holes = _BRACES if name == "render" else _DOLLAR
        if name == "render" and any("{%" in one for one in pieces if isinstance(one, str)):
            raise UnreadText("{% %}")
        return _filled(pieces, lambda text: _by_pattern(holes, text, words))
    if name == "replace" and len(call.args) >= 2:
        return _replaced(values, pieces, *call.args[:2])
    if name in _SAME:
        return pieces
    raise UnreadText(ast.unparse(call.func).rpartition(".")[2] + "()")


def _filled(pieces: list[Piece], holes: Callable[[str], Iterator[Piece]]) -> list[Piece]:
    """Parts of a text whose places are found in them."""
    found: list[Piece] = []
    for one in pieces:
        found += holes(one) if isinstance(one, str) else [one]
    if len(found) > _MOST_HOLES:
        raise UnreadText(f"{len(found)} parts")
    return found


def _part(node: ast.expr) -> Piece:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return (value.id if isinstance(value, ast.Name) else "", value)
    raise UnreadText(ast.unparse(ast.JoinedStr([node])))


def _table(node: ast.expr) -> dict[str, ast.expr]:
    """What a dictionary that is written out, or made by `dict`, has by its names."""
    match node:
        case ast.Dict(keys=keys, values=items):
            pairs = zip(keys, items, strict=True)
            return {
                one.value: item for one, item in pairs if isinstance(one, ast.Constant) and isinstance(one.value, str)
            }
        case ast.Call(keywords=words) if called(node) == "dict":
            return {one.arg: one.value for one in words if one.arg}
    return {}


def _by_percent(text: str, values: ScriptValues, given: ast.expr) -> Iterator[Piece]:
    meant = values.meant(given)
    table, items = _table(meant), iter(meant.elts if isinstance(meant, ast.Tuple) else [given])
    at = 0
    for found in _PERCENT.finditer(text):
        yield text[at : found.start()]
        at = found.end()
        if found["how"] == "%":
            yield "%"
        elif found["key"] is None:
            node = next(items, None)
            yield _hole(node.id if isinstance(node, ast.Name) else "", node, found[0])
        else:
            yield _hole(found["key"], table.get(found["key"]), found[0])
    yield text[at:]


def _by_format(text: str, given: Sequence[ast.expr], words: dict[str, ast.expr]) -> Iterator[Piece]:
    try:
        parts = [*Formatter().parse(text)]
    except ValueError:
        raise UnreadText("format()") from None
    for position, (plain, name, form, conversion) in enumerate(parts):
        yield plain
        if name is None:
            continue
        at = int(name) if name.isdecimal() else sum(1 for one in parts[:position] if one[1] is not None)
        by_place = given[at] if (name.isdecimal() or not name) and at < len(given) else None
        node = words.get(name, by_place)
        own = node.id if isinstance(node, ast.Name) and not name.isidentifier() else name
        yield _hole(own, None if form or conversion else node, f"{{{name}}}")


def _by_pattern(holes: re.Pattern[str], text: str, words: dict[str, ast.expr]) -> Iterator[Piece]:
    at = 0
    for found in holes.finditer(text):
        key = found["key"] or found.groupdict().get("other") or ""
        yield text[at : found.start()]
        yield _hole(key, words.get(key), found[0]) if key else "$"
        at = found.end()
    yield text[at:]


def _hole(name: str, node: ast.expr | None, said: str) -> Piece:
    if node is None:
        raise UnreadText(said)
    return (name, node)


def _replaced(values: ScriptValues, pieces: list[Piece], old: ast.expr, new: ast.expr) -> list[Piece]:
    """A text in which one text stands in the place of another, as `.replace("BLOCK", str(block))`."""
    name = values.value(old)
    if not isinstance(name, str) or not name:
        raise UnreadText(ast.unparse(old))
    if values.value(new) is UNKNOWN:
        raise UnreadText(ast.unparse(new))
    number = new.args[0] if isinstance(new, ast.Call) and called(new) == "str" and len(new.args) == 1 else new
    found: list[Piece] = []
    for one in pieces:
        if isinstance(one, str):
            parts = one.split(name)
            found += [piece for part in parts for piece in (part, (name.strip("@${}<>%_ "), number))][:-1]
        else:
            found.append(one)
    return found


_DECLARED = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<macro>\w+)|\b(?P<name>\w+)\s*\([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*\)\s*\{"
    r"|\b(?:struct|class|enum|using)\s+(?P<type>\w+)\s*[{=:]|\b(?:const|constexpr)\s[\w\s]*?\b(?P<constant>\w+)\s*=",
    re.MULTILINE,
)
_INSIDE = ("if", "for", "while", "switch")


def joined(texts: Sequence[str]) -> tuple[str, str]:
    """One file of several texts, and what two of them declare, in which case they are none."""
    seen = set[str]()
    for text in texts:
        plain = re.sub(r"\{[^{}]*\}", "{}", text)
        own = {one for found in _DECLARED.finditer(plain) for one in found.groups() if one and one not in _INSIDE}
        if twice := sorted(seen & own):
            return "", twice[0]
        seen |= own
    return "\n".join(texts), ""
