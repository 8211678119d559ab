"""Kernels that a host passes to functions of its own, or lambdas, which launch what they are given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tui_tuner.problem.draft.host.functions import functions_in
from tui_tuner.problem.syntax import closing, list_at, name_in, spaces, split_list

_LAMBDA = re.compile(r"\b(?P<name>\w+)\s*=\s*\[[^][;]*\]\s*\((?P<parameters>[^;{}]*?)\)\s*(?:mutable\s*)?\{")
_TEMPLATE = r"(?:<(?:[^<>]|<[^<>]*>)*>\s*)?"
_LAUNCH = rf"\s*{_TEMPLATE}(?=<\s?<\s?<)"


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
    found = [(one.name, one.parameters, one.start, one.body, one.end, False) for one in functions_in(code)]
    for one in _LAMBDA.finditer(code):
        parameters = tuple(map(name_in, split_list(one["parameters"])))
        found.append((one["name"], parameters, one.start(), one.end(), closing(code, one.end() - 1), True))
    for name, parameters, start, body, end, is_lambda in sorted(found, key=lambda one: one[2]):
        for place, parameter in enumerate(parameters):
            launch = re.compile(rf"(?<![\w.>]){parameter}\s*\)?{_LAUNCH}")
            if parameter and launch.search(code, body, end):
                yield _Launcher(name, parameters, place, start, body, end, is_lambda)
                break


def _calls(code: str, launcher: _Launcher) -> Iterator[tuple[int, int, list[str]]]:
    """Where it is called, the last call first, and with what."""
    call = re.compile(rf"(?<![\w.>]){launcher.name}\s*{_TEMPLATE}\(")
    for found in reversed([*call.finditer(code)]):
        given = list_at(code, found.end() - 1)
        if len(given) == len(launcher.parameters) and not launcher.start <= found.start() < launcher.end:
            yield found.start(), closing(code, found.end() - 1), given
