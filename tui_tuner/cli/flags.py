"""Flags that commands share: what a word of them stands for, and what the user chose with them."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_tuner.errors import SettingsError
from tui_tuner.options import Option, flag_of
from tui_tuner.search import ROUND_OPTIONS

if TYPE_CHECKING:
    from pydantic import ValidationError

    from tui_tuner.app.showing import FrontEnd
    from tui_tuner.problem.toml_file import KeyPath
    from tui_tuner.session_options import SessionOptions
    from tui_tuner.settings.layers import Layer


def name_and_value(text: str) -> tuple[str, Any]:
    """`NAME=VALUE` as a pair; a value that is no TOML is text."""
    from tui_tuner.problem.toml_file import toml_value  # once a value is read; --help reads none

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"'{text}' is no option; write NAME=VALUE")
    return name.strip(), toml_value(value)


def seconds(text: str) -> float:
    """A time in seconds."""
    from tui_tuner.format import seconds_of

    try:
        return seconds_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def factor(text: str) -> float:
    """A factor above 0, as in 2x."""
    try:
        number = float(text.removesuffix("x"))
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no factor; write 2x")
    return number


def directory(text: str) -> Path:
    """A directory's path; none at all would be where the program was started."""
    if not text.strip():
        raise argparse.ArgumentTypeError("names no directory")
    return Path(text)


def positive(text: str) -> int:
    """How many, at least one."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no positive whole number")
    return number


def share(text: str) -> float:
    """A part of one, as in 0.03 or 3%."""
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no share between 0 and 1, as in 0.03 or 3%")
    return number


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
    needed = "end where there is no model or it is of no use, instead of searching without one"
    parser.add_argument("--require-model", action="store_true", default=None, help=needed)
    parser.add_argument("--temperature", type=float, metavar="T", help="of the model's replies")


def add_unconfined(parser: argparse.ArgumentParser) -> None:
    """Whether to do without a sandbox."""
    unconfined = "build even where no sandbox can be had"
    parser.add_argument("--allow-unconfined", action="store_true", default=None, help=unconfined)


def add_memory(parser: argparse.ArgumentParser) -> None:
    """What earlier sessions may say."""
    memory, switch = parser.add_argument_group("memory"), argparse.BooleanOptionalAction
    memory.add_argument("--memory", action=switch, help="use what earlier sessions found, and remember this one")
    memory.add_argument("--cache-replies", action=switch, help="keep the model's replies for later sessions")


def add_budget(parser: argparse.ArgumentParser, *, evaluations: str = "85", calls: str = "100") -> None:
    """What may be spent, and what is where nothing is said."""
    told = f"evaluations (default {evaluations})"
    add_limits(parser, calls).add_argument("--max-evals", type=int, metavar="N", dest="max_evaluations", help=told)


def add_limits(parser: argparse.ArgumentParser, calls: str = "100") -> argparse._ArgumentGroup:
    """What every kind of session may spend."""
    budget = parser.add_argument_group("budget")
    budget.add_argument("--max-calls", type=int, metavar="N", help=f"calls of the model (default {calls})")
    budget.add_argument(
        "--max-time", type=seconds, metavar="TIME", dest="max_seconds", help="time, as in 90, 90s, 20m, 2h"
    )
    reply = "time of one reply of the model, retries included"
    budget.add_argument("--reply-time", type=seconds, metavar="TIME", dest="reply_seconds", help=reply)
    budget.add_argument("--max-cost", type=float, metavar="USD", help="cost of the model's replies, US dollars")
    budget.add_argument(
        "--target", type=factor, metavar="FACTOR", help="stop at this gain over what was given, as in 2x"
    )
    return budget


def add_front_end(parser: argparse.ArgumentParser) -> None:
    """How the session is shown."""
    front_end = parser.add_argument_group("front end")
    front_end.add_argument("--auto", action="store_true", help="no screen: approve every step, print lines")
    by = "without a screen: `all` approves every step (--auto), `attach` waits for `tuner-tui attach`"
    front_end.add_argument("--approve-by", choices=("all", "attach"), help=by)
    front_end.add_argument("--output", choices=("text", "json"), help="with --auto (default text)")
    how_much = front_end.add_mutually_exclusive_group()
    warnings = "with --auto: nothing but warnings on standard error"
    how_much.add_argument("-q", "--quiet", action="store_const", const=-1, dest="verbosity", help=warnings)
    everything = "with --auto: also what failed evaluations say, and on a terminal each of them"
    how_much.add_argument("-v", "--verbose", action="store_const", const=1, dest="verbosity", help=everything)
    front_end.add_argument("--theme", metavar="NAME", help="theme of the screen")


def front_end_of(chosen: argparse.Namespace) -> FrontEnd:
    """How the session is to be shown."""
    from tui_tuner.app.showing import FrontEnd

    by = chosen.approve_by
    return FrontEnd(
        chosen.auto or by is not None, chosen.output, chosen.theme, by or "all", verbosity=chosen.verbosity or 0
    )


def chosen_options(chosen: argparse.Namespace) -> dict[str, object]:
    """What the user changes of the session's options."""
    from tui_tuner.session_options import SessionOptions

    return given_of(SessionOptions.model_fields, chosen)


def given_of(names: Iterable[str], chosen: argparse.Namespace) -> dict[str, object]:
    """The named options that are on the command line."""
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
    told = {"rounds": {**options.rounds.model_dump(), **own}, **chosen_options(chosen)}
    try:
        return type(options).model_validate({**options.model_dump(), **told})
    except ValidationError as error:
        raise refused(error) from error


def told_by(chosen: argparse.Namespace) -> Layer:
    """What the command line sets of the settings."""
    from tui_tuner.settings.layers import Layer, SettingPlace

    session = chosen_options(chosen)
    places: dict[KeyPath, SettingPlace] = {("session", name): SettingPlace(name=flag_of(name)) for name in session}
    if getattr(chosen, "set", None):
        session["strategy_options"] = dict(chosen.set)
        places["session", "strategy_options"] = SettingPlace(name="--set")
    rounds = given_of((option.name for option in ROUND_OPTIONS if hasattr(chosen, "initial_batch_size")), chosen)
    if rounds:
        session["rounds"] = rounds
    places.update({("session", "rounds", name): SettingPlace(name=flag_of(name)) for name in rounds})
    return Layer({"session": session} if session else {}, places)


def refused(error: ValidationError) -> SettingsError:
    """Which flag has a value that cannot be, and why."""
    first = error.errors(include_url=False)[0]
    return SettingsError(f"{flag_of(str(first['loc'][-1]))}: {first['msg'].lower()}, it is {first['input']}")


def with_strategy_options(options: SessionOptions, chosen: argparse.Namespace) -> SessionOptions:
    """The options with those of the strategy over them."""
    given = dict(chosen.set)
    if chosen.steps is not None:
        from tui_tuner.strategies.step_lists import load_steps

        given["steps"] = [step.model_dump(mode="json") for step in load_steps(chosen.steps)]
    return options.model_copy(update={"strategy_options": {**options.strategy_options, **given}})
