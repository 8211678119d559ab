"""Every key of the main screen with a sentence of help, and the check of a keymap.

Those of the plan act while its pane is the active one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from types import SimpleNamespace
from typing import Any, cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding, InvalidBinding
from textual.keys import KEY_NAME_REPLACEMENTS, Keys
from textual.screen import Screen

from tui_tuner.errors import SettingsError
from tui_tuner.text import suggestion

KeyNames = Callable[[Binding], str]
"""The keys of a binding as the user knows them."""


def names_of_keys(keymap: Mapping[str, str], display: Callable[[Binding], str]) -> KeyNames:
    """What tells the keys of a binding as the user's keymap has them.

    Args:
        display: a binding of one key -> the key as people write it.
    """

    def names(binding: Binding) -> str:
        keys = keymap.get(binding.id or "", binding.key)
        return " ".join(display(one) for one in Binding.make_bindings([Binding(keys, binding.action)]))

    return names


def first_key(names: KeyNames, name: str) -> str:
    """The first key of a binding by its name in the keymap, whether it acts now or not."""
    return names(next(each for each in (*SCREEN_BINDINGS, *APP_BINDINGS) if each.id == name)).split()[0]


def key_of(screen: Screen[Any], name: str) -> str:
    """The first key of a binding by its name in the keymap where it acts now; empty where it does not."""
    for active in screen.active_bindings.values():
        if active.enabled and active.binding.id == name:
            return screen.app.get_key_display(active.binding)
    return ""


def commands_of(screen: Screen[Any]) -> Iterator[tuple[str, str, str]]:
    """What the keys of a session's screen do now: title, explanation with the key before it, and action of each."""
    own_names = {binding.id for binding in SCREEN_BINDINGS}
    acting = {active.binding.id: active.binding for active in screen.active_bindings.values() if active.enabled}
    for name, binding in acting.items():
        if name is not None and name in own_names:
            yield *command_words(binding, key_of(screen, name)), f"screen.{binding.action}"


def command_words(binding: Binding, key: str) -> tuple[str, str]:
    """What the palette says of a binding: title, and explanation with the key before it."""
    place = "" if binding.group is None else f"{binding.group.description}: "
    return (place + binding.description).capitalize(), f"{key}: {binding.tooltip}"


TEXTUALS = {"Maximize", "Minimize", "Keys"}
"""Commands of Textual in the palette in whose place there are our own."""


_REPLAY = Binding.Group("Replay")

REPLAY_BINDINGS = [
    Binding("space", "play('pause')", "play", group=_REPLAY, id="play",
            tooltip="Play the replay, or pause it; from its end it begins anew."),
    Binding("full_stop", "play('forward')", "event", group=_REPLAY, id="event_on",
            tooltip="Go on by one event."),
    Binding("comma", "play('back')", "event", group=_REPLAY, id="event_back",
            tooltip="Go back by one event."),
    Binding("right_curly_bracket", "play('next')", "step", group=_REPLAY, id="seek_on",
            tooltip="Go on to the next step, new best or end."),
    Binding("left_curly_bracket", "play('previous')", "step", group=_REPLAY, id="seek_back",
            tooltip="Go back to the step or the new best before."),
    Binding("greater_than_sign", "play('faster')", "speed", group=_REPLAY, id="faster",
            tooltip="Play twice as fast."),
    Binding("less_than_sign", "play('slower')", "speed", group=_REPLAY, id="slower",
            tooltip="Play half as fast."),
]  # fmt: skip

SUSPEND = Binding(
    "ctrl+z", "suspend_process", "to the shell", show=False, id="suspend",
    tooltip="Go back to the shell, where `fg` goes on; the session stands still meanwhile.",
)  # fmt: skip
DRAW_AGAIN = Binding(
    "ctrl+l", "draw_again", "draw again", show=False, id="draw_again",
    tooltip="Draw the whole screen again, where something else has written over it.",
)  # fmt: skip
SHARED_BINDINGS = [SUSPEND, DRAW_AGAIN]
"""The keys of both screens, as are their names."""

APP_BINDINGS = [
    *REPLAY_BINDINGS,
    Binding("question_mark,f1", "toggle_help", "help", id="help",
            tooltip="Show or hide the page of help."),
    Binding("q", "quit", "quit", id="quit",
            tooltip="Leave; a session that is not finished can be resumed."),
    Binding("ctrl+q", "quit", "quit", priority=True, id="interrupt",
            tooltip="Leave, also while you type; a session that is not finished can be resumed."),
    Binding("ctrl+c", "copy_or_quit", "copy", priority=True, show=False, id="copy",
            tooltip="Copy what is selected with mouse or shift; leave where nothing is."),
    *SHARED_BINDINGS,
]  # fmt: skip

ANSWERING = Binding.Group("A step that awaits you")
HELPING = Binding.Group("A model that fails")
_KERNEL, _PLAN, _BENCHMARKS, _CHAT = map(Binding.Group, ("Kernel", "Plan", "Benchmarks", "Chat"))

SCREEN_BINDINGS = [
    Binding("a,f2", "decide('approve')", "approve", group=ANSWERING, id="approve",
            tooltip="Let the step that awaits you be built, verified and measured."),
    Binding("e,f3", "edit", "edit", group=ANSWERING, id="edit",
            tooltip="Change what is proposed in your editor, then approve it."),
    Binding("s,f4", "decide('skip')", "skip", group=ANSWERING, id="skip",
            tooltip="Leave this step out and go on with the plan."),
    Binding("r,f5", "reject", "reject", group=ANSWERING, id="reject",
            tooltip="Refuse this step and tell the model why."),
    Binding("A,f8", "approve_all", "approve all", group=ANSWERING, id="approve_all",
            tooltip="Approve this step and all that follow."),
    Binding("A,f8", "ask_again", "ask again", group=ANSWERING, id="ask_again",
            tooltip="While all are approved: ask before every step again."),
    Binding("r,f5", "remedy('retry')", "retry", group=HELPING, id="model_retry",
            tooltip="Ask the model the same again."),
    Binding("m,f10", "remedy('switch')", "other model", group=HELPING, id="model_switch",
            tooltip="Name another model, which answers from now on."),
    Binding("s,f4", "remedy('skip')", "skip call", group=HELPING, id="model_skip",
            tooltip="Go on without this one reply, as the strategy does then."),
    Binding("w,f12", "remedy('without')", "no model", group=HELPING, id="model_without",
            tooltip="Ask the model nothing more: a kernel's parameters are searched with what is left, else it ends."),
    Binding("n,plus,insert", "change_plan('add')", "add", group=_PLAN, id="add_step",
            tooltip="Add a step of your own, before the selected one if that is still to come, else at the end."),
    Binding("enter,f6", "open_step", "open step", group=_PLAN, id="edit_step",
            tooltip="Change title and detail of the selected step; read all about one that is begun or done."),
    Binding("K,shift+up", "change_plan('up')", "up", group=_PLAN, id="move_step_up",
            tooltip="Do the selected step earlier."),
    Binding("J,shift+down", "change_plan('down')", "down", group=_PLAN, id="move_step_down",
            tooltip="Do the selected step later."),
    Binding("x,delete", "change_plan('delete')", "delete", group=_PLAN, id="delete_step",
            tooltip="Take the selected step out of the plan; it stays visible as skipped."),
    Binding("t,f7", "change_plan('thaw')", "thaw", group=_PLAN, id="thaw",
            tooltip="Search a tunable again that is held at a value."),
    Binding("c,ctrl+t", "tell", "ask", group=_CHAT, id="tell",
            tooltip="Ask the model something at once, or steer with /hint, /try and /stop."),
    Binding("X,alt+x", "withdraw", "withdraw", group=_CHAT, id="withdraw",
            tooltip="Wait no longer for the answer to your question."),
    Binding("d,f9", "next_view", "view", group=_KERNEL, id="view",
            tooltip="Go on to the next view: source, diff, best."),
    Binding("v,ctrl+r", "review", "review", group=_KERNEL, id="review", show=False,
            tooltip="Show what awaits you as large as it goes, or all panes."),
    Binding("i,ctrl+e", "facts", "why", group=_KERNEL, id="facts",
            tooltip="Go to what there is to know of what awaits you, or back to its diff."),
    Binding("o,ctrl+o", "benchmarks('next_order')", "sort", group=_BENCHMARKS, id="sort",
            tooltip="Sort the benchmarks by the next column or tunable."),
    Binding("O,ctrl+g", "benchmarks('turn_order')", "turn order", show=False, group=_BENCHMARKS, id="turn_order",
            tooltip="Turn the order of the benchmarks round."),
    Binding("slash,ctrl+f", "benchmarks('filter')", "filter", group=_BENCHMARKS, id="filter",
            tooltip="Show only the benchmarks that contain some words, or for which an expression holds."),
    Binding("equals_sign,alt+equals_sign", "benchmarks('pin')", "compare", group=_BENCHMARKS, id="compare",
            tooltip="Pin the row; on another row have both timed in turns; on a pinned one let it go."),
    Binding("h,alt+h", "benchmarks('next_chart')", "chart", group=_BENCHMARKS, id="chart",
            tooltip="Go on to the next chart: the best over evaluations, over time, the times over each tunable."),
    Binding("p,alt+p", "pause", "pause", id="pause",
            tooltip="Begin nothing new until the same key lets the session go on."),
    Binding("m,alt+m", "control", "control", id="control",
            tooltip="Skip, stop, raise the budget, switch model or strategy, choose what you are asked about."),
    Binding("y,ctrl+y", "copy_focused", "copy", show=False, id="copy_focused",
            tooltip="Copy what the focused pane shows: the kernel or its diff, the step, all about the row."),
    Binding("Y,alt+y", "copy_command", "copy command", show=False, id="copy_command",
            tooltip="Copy the command that goes on with this run."),
    Binding("E,alt+e", "export_table", "export table", show=False, group=_BENCHMARKS, id="export_table",
            tooltip="Write the whole table into the run's directory, as table.csv."),
    Binding("semicolon,alt+j", "jump", "jump", show=False, id="jump",
            tooltip="Show a letter on every pane, row and step in view; pressing it goes there."),
    Binding("f,f11", "maximise", "maximise", id="maximise",
            tooltip="Give the focused pane the whole screen, or give it back."),
    Binding("escape", "restore", "all panes", show=False, id="restore",
            tooltip="Show all rows again after a filter, then all panes after one was maximised."),
    *(Binding(f"{number},alt+{number}", f"pane({number})", name, show=False, id=f"pane_{number}",
              tooltip=f"Go to pane {number}, {name}.")
      for number, name in enumerate(("Kernel", "Plan", "Benchmarks", "Chat"), start=1)),
]  # fmt: skip

CHANGING = frozenset(str(binding.id) for binding in SCREEN_BINDINGS if binding.action.startswith("change_plan"))
"""What changes a plan, by name."""

START_BINDINGS = [
    Binding("i", "problem", "problem file", id="start_problem",
            tooltip="Look at the kernel's problem file; guessed where it has none."),
    Binding("r", "run('resume')", "resume", id="start_resume", tooltip="Go on with the run."),
    Binding("p", "run('replay')", "replay", id="start_replay", tooltip="Show the run again."),
    Binding("a", "run('attach')", "attach", id="start_attach", tooltip="Watch the run that another terminal drives."),
    Binding("equals_sign", "compare", "compare", id="start_compare",
            tooltip="Mark a run, then compare it with another one."),
    Binding("x,delete", "delete", "delete", id="start_delete", tooltip="Delete the run from the disk."),
    Binding("y", "copy_command", "copy", id="start_copy", tooltip="Copy the command."),
    Binding("ctrl+s", "save", "save", priority=True, id="start_save",
            tooltip="Keep device, model, strategy and budget as settings."),
    Binding("semicolon,alt+j", "jump", "jump", show=False, id="start_jump",
            tooltip="Show a letter on every kernel, run and field in view; pressing it goes there."),
    Binding("question_mark,f1", "keys", "help", id="start_help", tooltip="Show all keys of the start screen."),
    Binding("q", "quit", "quit", id="start_quit", tooltip="Leave."),
]  # fmt: skip
"""Those of the screen of a bare start, which is never there together with the others."""

MOVES = {
    "j", "k", "g", "G", "up", "down", "pageup", "pagedown", "home", "end", "ctrl+d", "ctrl+u", "tab", "shift+tab",
}  # fmt: skip
"""What scrolls and selects, so that nothing else ever hears it."""

_SHARED_KEYS = {"approve_all", "ask_again"}  # never active at the same time
_OF_STEPS, _OF_THE_MODEL = (
    {binding.id for binding in SCREEN_BINDINGS if binding.group is group} for group in (ANSWERING, HELPING)
)
_YIELDING = {"copy_focused", "compare", "chart", "jump", "withdraw"}
"""Came after people wrote keymaps; `approve = "y,f2"` was the example of one."""
_MODIFIERS = {"ctrl", "alt", "shift", "super", "meta", "hyper"}
_KEY_NAMES = {key.value for key in Keys} | set(KEY_NAME_REPLACEMENTS.values()) | {"space"}
_SIGNS = {unicodedata.name(chr(code)).lower().replace("-", "_").replace(" ", "_") for code in range(33, 127)}


def _may_share(one: str, other: str) -> bool:
    """Whether two bindings are never active at the same time: there is one question at a time."""
    names = {one, other}
    of_one_question = bool(names & _OF_STEPS and names & _OF_THE_MODEL)
    return names <= _SHARED_KEYS or names == {"model_switch", "control"} or of_one_question


def _is_key(name: str) -> bool:
    """Whether it is a letter, a named key, or a sign by its Unicode name, as Textual calls signs."""
    if len(name) == 1 or name in _KEY_NAMES | _SIGNS:
        return True
    try:
        unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return False
    return True


def _parsed(binding: str, keys: str) -> list[str]:
    """The keys of one entry in Textual's long form.

    Raises:
        SettingsError: one of them is no key.
    """
    try:
        made = list(Binding.make_bindings([Binding(keys, "none")]))
    except InvalidBinding as error:
        raise SettingsError(f"keymap: '{binding}' has the unusable keys '{keys}'") from error
    for one in made:
        *modifiers, name = one.key.split("+")
        if not _MODIFIERS.issuperset(modifiers) or not _is_key(name):
            raise SettingsError(
                f"keymap: '{one.key}' for '{binding}' is no key", hint="Write keys as in 'a', 'ctrl+r', 'f5', 'escape'."
            )
    return [one.key for one in made]


def _yielded(keymap: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """Keys that came after keymaps were written, without what such a keymap uses."""
    taken = {key for binding, keys in keymap.items() for key in _parsed(binding, keys)}
    left = {name: [key for key in _parsed(name, known[name]) if key not in taken] for name in _YIELDING - {*keymap}}
    return {name: ",".join(keys) for name, keys in left.items() if len(keys) < len(_parsed(name, known[name]))}


def checked_keymap(keymap: Mapping[str, str]) -> dict[str, str]:
    """The user's keymap, if every name is known, every key is one, and no key is wanted twice.

    Args:
        keymap: keys, separated by commas, for names of bindings, as in `{"approve": "y,f2"}`.

    Raises:
        SettingsError: names the entry that cannot be used.
    """
    scopes = [
        {binding.id: binding.key for binding in bindings if binding.id is not None}
        for bindings in ([*APP_BINDINGS, *SCREEN_BINDINGS], [*START_BINDINGS, *SHARED_BINDINGS])
    ]
    known = {name: keys for scope in scopes for name, keys in scope.items()}
    for binding in keymap:
        if binding not in known:
            raise SettingsError(f"keymap: there is no binding '{binding}'", hint=suggestion(binding, known, "bindings"))
    keymap = {**_yielded(keymap, known), **keymap}
    for scope in scopes:
        _check_owners({name: keymap.get(name, keys) for name, keys in scope.items()})
    _check_moves(keymap)
    return dict(keymap)


def _check_moves(keymap: Mapping[str, str]) -> None:
    """Whether no key is wanted that would never be heard."""
    for binding, keys in keymap.items():
        if taken := MOVES.intersection(_parsed(binding, keys)):
            raise SettingsError(
                f"keymap: '{binding}' cannot have the key '{min(taken)}', which moves in lists and texts",
                hint="The keys that scroll and select cannot be changed.",
            )


def _check_owners(keymap: Mapping[str, str]) -> None:
    """Whether no key is wanted twice."""
    owners: dict[str, str] = {}
    for binding, keys in keymap.items():
        for key in _parsed(binding, keys):
            owner = owners.setdefault(key, binding)
            if owner != binding and not _may_share(owner, binding):
                raise SettingsError(
                    f"keymap: the key '{key}' would be '{owner}' and '{binding}'",
                    hint=f"Give '{owner}' another key too.",
                )


_BEGIN_MORE = frozenset("[]OPNX^_\\")
"""Behind Esc these begin what is longer, or end it."""


def know_alt_keys() -> None:
    """Let alt with a letter, a digit or a sign be a key of its own, in all apps; those that move in a text stay.

    Most terminals send it as Esc and the character, of which Textual 8.2 makes a key that types: alt+p types `p`, alt+2
    `™`, so that none acts where somebody types. Terminals with Kitty's protocol send what types nothing.
    """
    table = cast("MutableMapping[str, object]", ANSI_SEQUENCES_KEYS)
    for character in map(chr, range(33, 127)):
        known = table.get(f"\x1b{character}")
        if character not in _BEGIN_MORE and (known is None or isinstance(known, str)):
            table[f"\x1b{character}"] = (SimpleNamespace(value=_alt_name(character)),)


def _alt_name(character: str) -> str:
    if character.isalnum():
        return f"alt+shift+{character.lower()}" if character.isupper() else f"alt+{character}"
    name = unicodedata.name(character).lower().replace("-", "_").replace(" ", "_")
    return f"alt+{KEY_NAME_REPLACEMENTS.get(name, name)}"
