"""The options of a session on the command line, and what they change of the settings."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tui_tuner.errors import SettingsError
from tui_tuner.options import Option
from tui_tuner.search.methods import ROUND_OPTIONS

if TYPE_CHECKING:
    from pydantic import ValidationError

    from tui_tuner.app.showing import FrontEnd
    from tui_tuner.session.options import SessionOptions

_FLAGS = {"max_evaluations": "--max-evals", "max_seconds": "--max-time"}
"""Flags that are not called like the option they set."""


def add_options(group: argparse._ArgumentGroup, options: Iterable[Option]) -> None:
    """A flag for every option of a table; the model of the table checks what is given."""
    for option in options:
        if option.value:
            group.add_argument(option.flag, metavar=option.value, help=option.explained)
        else:
            group.add_argument(option.flag, action=argparse.BooleanOptionalAction, help=option.explained)


def add_rounds(parser: argparse.ArgumentParser) -> None:
    """How a model chooses configurations."""
    add_options(parser.add_argument_group("rounds in which a model chooses configurations"), ROUND_OPTIONS)


def add_model(parser: argparse.ArgumentParser) -> None:
    """Which model is asked, and how."""
    model = "auto (default), ollama, openai, anthropic, ..."
    parser.add_argument("--llm", metavar="PROVIDER[:MODEL]", help=model)
    parser.add_argument("--temperature", type=float, metavar="T", help="of the model's replies")


def add_memory(parser: argparse.ArgumentParser) -> None:
    """What earlier sessions may say."""
    memory, switch = parser.add_argument_group("memory"), argparse.BooleanOptionalAction
    memory.add_argument("--memory", action=switch, help="use what earlier sessions found, and remember this one")
    memory.add_argument("--cache-replies", action=switch, help="keep the model's replies for later sessions")


def add_budget(parser: argparse.ArgumentParser) -> None:
    """What may be spent."""
    budget = add_limits(parser)
    budget.add_argument("--max-evals", type=int, metavar="N", dest="max_evaluations", help="evaluations (default 85)")


def add_limits(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """What every kind of session may spend."""
    budget = parser.add_argument_group("budget")
    budget.add_argument("--max-calls", type=int, metavar="N", help="calls of the model (default 100)")
    budget.add_argument(
        "--max-time", type=_seconds, metavar="TIME", dest="max_seconds", help="time, as in 90, 90s, 20m, 2h"
    )
    budget.add_argument("--max-cost", type=float, metavar="USD", help="cost of the model's replies, US dollars")
    budget.add_argument(
        "--target", type=factor, metavar="FACTOR", help="stop at this gain over what was given, as in 2x"
    )
    return budget


def add_front_end(parser: argparse.ArgumentParser) -> None:
    """How the session is shown."""
    front_end = parser.add_argument_group("front end")
    front_end.add_argument("--auto", action="store_true", help="no screen: approve every step, print lines")
    front_end.add_argument("--output", choices=("text", "json"), help="with --auto (default text)")
    front_end.add_argument("--theme", metavar="NAME", help="theme of the screen")


def front_end_of(chosen: argparse.Namespace) -> FrontEnd:
    """How the session is to be shown."""
    from tui_tuner.app.showing import FrontEnd

    return FrontEnd(chosen.auto, chosen.output, chosen.theme)


def changes(chosen: argparse.Namespace) -> dict[str, object]:
    """What the user changes of the session's options."""
    from tui_tuner.session.options import SessionOptions

    return given_of(SessionOptions.model_fields, chosen)


def given_of(names: Iterable[str], chosen: argparse.Namespace) -> dict[str, object]:
    """Those of the named options that are on the command line."""
    return {name: value for name in names if (value := getattr(chosen, name, None)) is not None}


def changed(options: SessionOptions, chosen: argparse.Namespace, *, rounds: bool = True) -> SessionOptions:
    """The settings' options with those of the command line over them.

    Args:
        rounds: whether the command has the settings of the rounds; flags of the same names may mean something else.

    Raises:
        SettingsError: a value is out of its range.
    """
    from pydantic import ValidationError

    own = given_of((option.name for option in ROUND_OPTIONS), chosen) if rounds else {}
    told = {"rounds": {**options.rounds.model_dump(), **own}, **changes(chosen)}
    try:
        return type(options).model_validate({**options.model_dump(), **told})
    except ValidationError as error:
        raise refused(error) from error


def refused(error: ValidationError) -> SettingsError:
    """Which flag has a value that cannot be, and why."""
    first = error.errors(include_url=False)[0]
    option = str(first["loc"][-1])
    flag = _FLAGS.get(option, f"--{option.replace('_', '-')}")
    return SettingsError(f"{flag}: {first['msg'].lower()}, it is {first['input']}")


def with_strategy_options(options: SessionOptions, chosen: argparse.Namespace) -> SessionOptions:
    """The options with those of the strategy over them."""
    given = dict(chosen.set)
    if chosen.steps is not None:
        from tui_tuner.strategies.explicit import load_steps

        given["steps"] = [step.model_dump(mode="json") for step in load_steps(chosen.steps)]
    return options.model_copy(update={"strategy_options": {**options.strategy_options, **given}})


def option(text: str) -> tuple[str, Any]:
    """`NAME=VALUE` as a pair; a value that is no TOML is text."""
    import tomli  # once a value is read; --help reads none

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"'{text}' is no option; write NAME=VALUE")
    try:
        return name.strip(), tomli.loads(f"value = {value}")["value"]
    except tomli.TOMLDecodeError:
        return name.strip(), value  # words need no quotes


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no time; write 90s, 20m or 2h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def factor(text: str) -> float:
    """A factor, as in 2x."""
    try:
        return float(text.removesuffix("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no factor; write 2x") from None
