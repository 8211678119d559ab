"""A host's program with its launches written out: those of macros among other statements, and of functions that are
passed a kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui_tuner.problem.draft.host.functions import functions_called, functions_in, lambdas_in
from tui_tuner.problem.draft.host.launches import in_cuda
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.draft.host.types import with_bytes_of_arrays, with_products_of_extents
from tui_tuner.problem.draft.host.views import with_views_written_out
from tui_tuner.problem.syntax import DIRECTIVE, closing, code_only, list_at, spaces

_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)\((?P<parameters>(?:\\\r?\n|[^()\n])*)\)"
    r"(?P<text>(?:\\\r?\n|[^\n])*)",
    re.MULTILINE,
)
_WORD = re.compile(r"(?P<hash>(?<!#)#\s*)?\b(?P<word>[A-Za-z_]\w*)")
_STATEMENTS = re.compile(r"\{|;\s*\S")
"""What is more than one statement: a single launch is read where its macro is used."""
_MOST_STEPS = 12
_TEMPLATE = r"(?:<(?:[^<>]|<[^<>]*>)*>\s*)?"
_LAUNCH = rf"\s*{_TEMPLATE}(?=<\s?<\s?<)"


def written_out(source: str, host: str, headers: Sequence[str], kernel: str) -> tuple[str, HostProgram]:
    """The kernel's file, and the program that it is with its host code; each line stays where it was.

    Args:
        host: the text of another file with host code, if there is one.
        headers: the code of headers that it includes.
    """
    source, host = in_cuda(source), in_cuda(host)
    source, host = _written_out(source, headers), _written_out(host, [*headers, code_only(source)])
    code = with_products_of_extents(with_bytes_of_arrays(code_only(source) + "\n" + code_only(host)))
    called = functions_called(code, headers)
    plain = f"{code}\n{called}"
    launching = with_views_written_out(with_passed_kernel(plain, kernel), kernel)
    return source, HostProgram(launching, headers, f"{source}\n{host}\n{called}" if launching == plain else "")


def _written_out(source: str, headers: Sequence[str] = ()) -> str:
    """The source with the uses of such macros replaced by what they stand for; each line stays where it was.

    Args:
        headers: the code of headers that may define them too.
    """
    code = code_only(source)
    macros = _macros_that_launch([*headers, code])
    if not macros:
        return source
    code = DIRECTIVE.sub(lambda line: spaces(line.group()), code)
    for start, end in reversed([*_uses(code, macros)]):
        text = _expanded(code[start:end], macros)
        if _STATEMENTS.search(text):
            source = source[:start] + text + "\n" * code.count("\n", start, end) + source[end:]
    return source


def _macros_that_launch(texts: Sequence[str]) -> dict[str, tuple[list[str], str]]:
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


@dataclass(frozen=True)
class _Launcher:
    """A function or a lambda that launches one of its parameters; from where to where it stands, and its body."""

    name: str
    parameters: tuple[str, ...]
    launched: int
    start: int
    body: int
    end: int
    is_lambda: bool


def with_passed_kernel(code: str, kernel: str) -> str:
    """Host code with the kernel's name where what it is passed to launches a parameter; each line stays where it was.

    Calls that pass another kernel there are left out. What is passed to a lambda besides is put in, too.
    """
    named = re.compile(rf"&?\s*({re.escape(kernel)}\s*{_TEMPLATE})")
    for launcher in reversed([*_launchers(code)]):
        own = list[list[str]]()
        for start, end, given in _calls(code, launcher):
            if found := named.fullmatch(given[launcher.launched].strip()):
                own.append([*given[: launcher.launched], found[1].strip(), *given[launcher.launched + 1 :]])
            else:
                code = code[:start] + spaces(code[start:end]) + code[end:]
        if own:
            body = _launching(code[launcher.body : launcher.end], launcher, own[-1])
            code = code[: launcher.body] + body + code[launcher.end :]
    return code


def _launching(body: str, launcher: _Launcher, given: list[str]) -> str:
    name = re.escape(launcher.parameters[launcher.launched])
    body = re.sub(rf"\b{name}{_LAUNCH}|\(\s*\*\s*{name}\s*\)\s*(?=<\s?<\s?<)", given[launcher.launched], body)
    for place, parameter in enumerate(launcher.parameters if launcher.is_lambda else ()):
        if place != launcher.launched and parameter and "\n" not in given[place]:
            text = given[place] if re.fullmatch(r"[\w.]*", given[place]) else f"({given[place]})"
            body = text.join(re.split(rf"(?<![\w.>]){re.escape(parameter)}\b", body))
    return body


def _launchers(code: str) -> Iterator[_Launcher]:
    """The functions and lambdas that launch a parameter, in the order in which they begin."""
    found = [(one, False) for one in functions_in(code)] + [(one, True) for one in lambdas_in(code)]
    for one, is_lambda in sorted(found, key=lambda each: each[0].start):
        for place, parameter in enumerate(one.parameters):
            launch = re.compile(rf"(?<![\w.>]){parameter}\s*\)?{_LAUNCH}")
            if parameter and launch.search(code, one.body, one.end):
                yield _Launcher(one.name, one.parameters, place, one.start, one.body, one.end, is_lambda)
                break


def _calls(code: str, launcher: _Launcher) -> Iterator[tuple[int, int, list[str]]]:
    """Where it is called, the last call first, and with what."""
    call = re.compile(rf"(?<![\w.>]){launcher.name}\s*{_TEMPLATE}\(")
    for found in reversed([*call.finditer(code)]):
        given = list_at(code, found.end() - 1)
        if len(given) == len(launcher.parameters) and not launcher.start <= found.start() < launcher.end:
            yield found.start(), closing(code, found.end() - 1), given
