"""Writes docs/commands.md from the parsers and docs/python-names.md from the docstrings of all public names.

Usage, in the folder above: python -m docs.make_reference
"""

from __future__ import annotations

import argparse
import enum
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from pathlib import Path

import tui_tuner
from tui_tuner.cli import COMMANDS_BY_NAME, PROGRAM, TUNE, CommandLine
from tui_tuner.errors import ExitCode

HERE = Path(__file__).parent
LINE = 110
COMMANDS = """\
# Commands

Written by `python -m docs.make_reference` from the parsers, and held to them by a test; `tuner-tui help COMMAND` says
the same. Where no command is named, a kernel is [tuned](#tune). Every command takes `--log-level LEVEL` and `--help`;
what is not given comes from the settings ([devices-and-models.md](devices-and-models.md#settings)).
"""
NAMES = """\
# Public names

Written by `python -m docs.make_reference` from the docstrings, and held to them by a test. Beside these names of
`tui_tuner`, `tui_tuner.llm` (models) and `tui_tuner.session.events` (events) are public. How they are used:
[python-api.md](python-api.md).
"""
CODES = {
    ExitCode.FINISHED: "finished; of a tuning: something faster was found",
    ExitCode.FAILED: "failed: what is said stands on standard error",
    ExitCode.USAGE: "wrong usage",
    ExitCode.NO_IMPROVEMENT: "a tuning finished, and nothing faster was found",
    ExitCode.NO_MODEL: "a tuning finished, and the model was of no use, or with `--require-model` not there",
    ExitCode.HUNG_UP: "the terminal of `--auto` is gone; can be resumed",
    ExitCode.INTERRUPTED: "interrupted by ctrl+c or by the reader of standard output; can be resumed",
    ExitCode.TERMINATED: "ended by TERM; can be resumed",
}
OTHER_CODES = (
    "`check`, `verify` and `compare` have codes of their own from 10 on: [trust.md](trust.md#look-at-your-own-check)."
)


def commands() -> str:
    """The page of the commands."""
    line = CommandLine()
    parts = [COMMANDS, *(text for name in (TUNE.name, *COMMANDS_BY_NAME) for text in _command(line, name))]
    codes = "\n".join(["| code | when |", "|---|---|", *(f"| {int(code)} | {CODES[code]} |" for code in ExitCode)])
    return "\n\n".join([*map(str.strip, parts), "## Exit codes", OTHER_CODES, codes]) + "\n"


def _command(line: CommandLine, name: str) -> Iterator[str]:
    parser = line.parser(name)
    yield f"## {name}"
    yield str(parser.description)
    words = [_shown(action) for action in parser._actions if not action.option_strings]
    yield _fenced("text", " ".join([PROGRAM, *([] if name == TUNE.name else [name]), *words, "[OPTIONS]"]))
    if parser.epilog and name != TUNE.name:  # whose words are the list of commands
        yield parser.epilog
    rows = [
        f"| `{_cell(_shown(action))}` | {_cell(action.help or '')} |"
        for action in parser._actions
        if not {"--help", "--version", "--log-level"} & {*action.option_strings}
    ]
    if rows:
        yield "\n".join(["| argument | meaning |", "|---|---|", *rows])


def _shown(action: argparse.Action) -> str:
    """An argument as usage has it: flags with what stands behind them, or a name."""
    name = str(action.metavar or "{" + ",".join(map(str, action.choices or ())) + "}")
    value = {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ..."}.get(str(action.nargs), name)
    if not action.option_strings:
        return value
    return ", ".join(action.option_strings) + ("" if action.nargs == 0 else f" {value}")


def names() -> str:
    """The page of the public names."""
    parts = [NAMES, *(text for name in tui_tuner.__all__ for text in _name(name, getattr(tui_tuner, name)))]
    return "\n\n".join(map(str.strip, parts)) + "\n"


def _name(name: str, what: object) -> Iterator[str]:
    yield f"## {name}"
    if inspect.isfunction(what):
        yield _fenced("python", _signature(name, what))
    elif isinstance(what, type) and issubclass(what, BaseException):
        yield f"An exception, a kind of `{what.__base__.__name__}`."
    yield _text(inspect.getdoc(what) or "")
    if isinstance(what, enum.EnumType):
        yield "Values: " + ", ".join(f"`{member}`" for member in what.__members__) + "."
    elif isinstance(what, type):
        yield from _fields(what)
        for method, function in vars(what).items():
            if not method.startswith("_") and inspect.isfunction(function) and inspect.getdoc(function):
                yield f"### {name}.{method}"
                yield _fenced("python", _signature(method, function))
                yield _text(inspect.getdoc(function) or "")


def _fields(what: type) -> Iterator[str]:
    """The fields of a model, with the types that they are declared with."""
    fields = getattr(what, "model_fields", {})
    rows = []
    for name, field in fields.items():
        declared = next(
            one.__annotations__[name] for one in what.__mro__ if name in vars(one).get("__annotations__", {})
        )
        default = "needed" if field.is_required() else f"`{_default(field.get_default(call_default_factory=True))}`"
        rows.append(f"| `{name}` | `{_cell(str(declared))}` | {_cell(default)} |")
    if rows:
        yield "| field | type | default |\n|---|---|---|\n" + "\n".join(rows)


def _default(value: object) -> str:
    """A default in few words: that of a model is made of the defaults of its own fields."""
    is_model = hasattr(type(value), "model_fields") or is_dataclass(value)
    return f"{type(value).__name__}()" if is_model else f'"{value}"' if isinstance(value, str | Path) else repr(value)


def _signature(name: str, function: Callable[..., object]) -> str:
    """As it is written, an argument a line where it is long."""
    begins = "async def" if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function) else "def"
    text = re.sub(r"<function .*? at 0x\w+>", "...", f"{begins} {name}{inspect.signature(function)}")
    text = re.sub(r"(: |-> )(['\"])(.*?)\2(?=[,) ]|$)", r"\1\3", text)  # annotations are kept as strings
    if len(text) <= LINE:
        return text
    head, arguments, returned = re.fullmatch(r"(.*?\()(.*)(\) ->.*)", text).groups()
    split = re.split(r", (?=\*|\w+:)", arguments)  # not within the brackets of a type
    return "\n".join([head, *(f"    {argument}," for argument in split), returned])


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```"


def _text(docstring: str) -> str:
    """A docstring as Markdown: `Attributes:`, `Args:`, `Raises:` and `Returns:` become lists."""
    parts = []
    for paragraph in docstring.split("\n\n"):
        head, _, body = paragraph.partition(":\n")
        if head not in {"Args", "Attributes", "Raises", "Returns"}:
            parts.append(paragraph)
            continue
        entries = re.split(r"\n(?=\S)", textwrap.dedent(body))
        joined = [" ".join(entry.split()) for entry in entries]
        items = [re.sub(r"^([\w.]+):", r"`\1`:", entry) for entry in joined] if head != "Returns" else joined
        parts.append(f"*{head}*\n\n" + "\n".join(f"- {item}" for item in items))
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


PAGES: dict[str, Callable[[], str]] = {"commands.md": commands, "python-names.md": names}

if __name__ == "__main__":
    for name, written in PAGES.items():
        (HERE / name).write_text(written(), encoding="utf-8")
