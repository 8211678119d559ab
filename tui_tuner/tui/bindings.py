"""Every key of the main screen, with its name for the keymap and a sentence of help; the check of a keymap.

Those of the plan act while its pane is the active one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from textual.binding import Binding, InvalidBinding
from textual.keys import KEY_NAME_REPLACEMENTS, Keys

from tui_tuner.errors import SettingsError
from tui_tuner.problem.nearest import suggestion

APP_BINDINGS = [
    Binding("question_mark,f1", "toggle_help", "help", id="help",
            tooltip="Show or hide the keys and the help of the focused pane."),
    Binding("q", "quit", "quit", id="quit",
            tooltip="Leave; a session that is not finished can be resumed."),
    Binding("ctrl+q,ctrl+c", "quit", "quit", priority=True, id="interrupt",
            tooltip="Leave, also while you type; a session that is not finished can be resumed."),
]  # fmt: skip

_PLAN = Binding.Group("Plan")

SCREEN_BINDINGS = [
    Binding("a,f2", "decide('approve')", "approve", show=False, id="approve",
            tooltip="Let the step that awaits you be built, verified and measured."),
    Binding("e,f3", "edit", "edit", show=False, id="edit",
            tooltip="Change the proposed kernel in your editor, then approve it."),
    Binding("s,f4", "decide('skip')", "skip", show=False, id="skip",
            tooltip="Leave this step out and go on with the plan."),
    Binding("r,f5", "reject", "reject", show=False, id="reject",
            tooltip="Refuse this step and tell the model why."),
    Binding("A,f8", "approve_all", "approve all", show=False, id="approve_all",
            tooltip="Approve this step and all that follow."),
    Binding("A,f8", "ask_again", "ask again", id="ask_again",
            tooltip="Ask before every step again."),
    Binding("n,plus,insert", "change_plan('add')", "add", group=_PLAN, id="add_step",
            tooltip="Add a step of your own, before the selected one if that is still to come, else at the end."),
    Binding("enter,f6", "change_plan('edit')", "edit step", group=_PLAN, id="edit_step",
            tooltip="Change title and detail of the selected step."),
    Binding("K,shift+up", "change_plan('up')", "up", group=_PLAN, id="move_step_up",
            tooltip="Do the selected step earlier."),
    Binding("J,shift+down", "change_plan('down')", "down", group=_PLAN, id="move_step_down",
            tooltip="Do the selected step later."),
    Binding("x,delete", "change_plan('delete')", "delete", group=_PLAN, id="delete_step",
            tooltip="Take the selected step out of the plan; it stays visible as skipped."),
    Binding("t,f7", "change_plan('thaw')", "thaw", group=_PLAN, id="thaw",
            tooltip="Search a tunable again that is held at a value."),
    Binding("c,ctrl+t", "tell", "say", id="tell",
            tooltip="Write to the model; your words are in its next prompt and in every later one."),
    Binding("d,f9", "next_view", "view", id="view",
            tooltip="Go on to the next view of the kernel: source, diff, best."),
    Binding("o,ctrl+o", "sort", "sort", id="sort",
            tooltip="Sort the benchmarks: newest first or fastest first."),
    Binding("slash,ctrl+f", "filter", "filter", id="filter",
            tooltip="Show only the benchmarks that contain some words."),
    Binding("f,f11", "maximise", "maximise", id="maximise",
            tooltip="Give the focused pane the whole screen, or give it back."),
    Binding("escape", "restore", "all panes", show=False, id="restore",
            tooltip="Show all panes again after one was maximised."),
    *(Binding(f"{number},alt+{number}", f"pane({number})", name, show=False, id=f"pane_{number}",
              tooltip=f"Go to pane {number}, {name}.")
      for number, name in enumerate(("Kernel", "Plan", "Benchmarks", "Chat"), start=1)),
]  # fmt: skip

_SHARED_KEYS = {"approve_all", "ask_again"}  # never active at the same time
_MODIFIERS = {"ctrl", "alt", "shift", "super", "meta", "hyper"}
_KEY_NAMES = {key.value for key in Keys} | set(KEY_NAME_REPLACEMENTS.values()) | {"space"}


def _is_key(name: str) -> bool:
    """Whether it is a letter, a named key, or a sign by its Unicode name, as Textual calls signs."""
    if len(name) == 1 or name in _KEY_NAMES:
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


def checked_keymap(keymap: Mapping[str, str]) -> dict[str, str]:
    """The user's keymap, if every name is known, every key is one, and no key is wanted twice.

    Args:
        keymap: keys, separated by commas, for names of bindings, as in `{"approve": "y,f2"}`.

    Raises:
        SettingsError: names the entry that cannot be used.
    """
    known = {binding.id: binding.key for binding in [*APP_BINDINGS, *SCREEN_BINDINGS] if binding.id is not None}
    for binding in keymap:
        if binding not in known:
            raise SettingsError(f"keymap: there is no binding '{binding}'", hint=suggestion(binding, known, "bindings"))
    owners: dict[str, str] = {}
    for binding, keys in {**known, **keymap}.items():
        for key in _parsed(binding, keys):
            owner = owners.setdefault(key, binding)
            if owner != binding and not {owner, binding} <= _SHARED_KEYS:
                raise SettingsError(
                    f"keymap: the key '{key}' would be '{owner}' and '{binding}'",
                    hint=f"Give '{owner}' another key too.",
                )
    return dict(keymap)
