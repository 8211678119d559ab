"""Host code with the macros written out that launch a kernel among other statements, as the preprocessor does it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tui_tuner.problem.host_code import DIRECTIVE
from tui_tuner.problem.syntax import closing, code_only, list_at, spaces

_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)\((?P<parameters>(?:\\\r?\n|[^()\n])*)\)"
    r"(?P<text>(?:\\\r?\n|[^\n])*)",
    re.MULTILINE,
)
_WORD = re.compile(r"(?P<hash>(?<!#)#\s*)?\b(?P<word>[A-Za-z_]\w*)")
_STATEMENTS = re.compile(r"\{|;\s*\S")
"""What is more than one statement: a single launch is read where its macro is used."""
_MOST_STEPS = 12


def written_out(source: str, headers: Sequence[str] = ()) -> str:
    """The source with the uses of such macros replaced by what they stand for; each line stays where it was.

    Args:
        headers: the code of headers that may define them too.
    """
    code = code_only(source)
    macros = _launching([*headers, code])
    if not macros:
        return source
    code = DIRECTIVE.sub(lambda line: spaces(line.group()), code)
    for start, end in reversed([*_uses(code, macros)]):
        text = _expanded(code[start:end], macros)
        if _STATEMENTS.search(text):
            source = source[:start] + text + "\n" * code.count("\n", start, end) + source[end:]
    return source


def _launching(texts: Sequence[str]) -> dict[str, tuple[list[str], str]]:
    """The macros with parameters that launch a kernel, themselves or by others: what they are given, and their text."""
    found = {
        one["name"]: (
            [name.strip(" \t\r\n\\").replace("...", "__VA_ARGS__") for name in one["parameters"].split(",")],
            " ".join(one["text"].replace("\\\r\n", " ").replace("\\\n", " ").split()),
        )
        for text in texts
        for one in _DEFINE.finditer(text)
    }
    launching = {name for name, (_, text) in found.items() if "<<<" in text}
    while more := {name for name, (_, text) in found.items() if launching & {*re.findall(r"\w+", text)}} - launching:
        launching |= more
    return {name: found[name] for name in launching}


def _uses(text: str, macros: dict[str, tuple[list[str], str]]) -> Iterator[tuple[int, int]]:
    """Where uses of macros begin and end, but for those within what another is given."""
    after = 0
    for found in re.finditer(rf"\b(?:{'|'.join(map(re.escape, macros))})\s*\(", text):
        if found.start() >= after:
            after = closing(text, found.end() - 1)
            yield found.start(), after


def _expanded(text: str, macros: dict[str, tuple[list[str], str]]) -> str:
    """A text with all that it uses of macros written out."""
    for _ in range(_MOST_STEPS):
        uses = [*_uses(text, macros)]
        for start, end in reversed(uses):
            name, _, _ = text[start:end].partition("(")
            text = text[:start] + _meant(*macros[name.strip()], list_at(text, start + len(name))) + text[end:]
        if not uses:
            break
    return text


def _meant(parameters: Sequence[str], text: str, given: Sequence[str]) -> str:
    """What a macro's text is with what it is given, words that ## joins as one."""
    last = len(parameters) - 1
    if parameters[last] == "__VA_ARGS__":
        given = [*given[:last], ", ".join(given[last:])]
    values = {name: " ".join(one.split()) for name, one in zip(parameters, given, strict=False)}

    def put_in(found: re.Match[str]) -> str:
        value = values.get(found["word"])
        if value is None:
            return found.group()
        return f'"{spaces(value)}"' if found["hash"] else value

    joined = _WORD.sub(put_in, re.sub(r"\s*##\s*", "##", text))
    return joined.replace("##", "")
