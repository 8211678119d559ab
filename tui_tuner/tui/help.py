"""The page of help: what the focused pane is about, and every key of this program, by pane."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message

from tui_tuner.tui.keys import ANSWERING, APP_BINDINGS, HELPING, SCREEN_BINDINGS, KeyNames
from tui_tuner.tui.moving import Page
from tui_tuner.tui.panes import Pane
from tui_tuner.tui.text import hanging, plain
from tui_tuner.tui.text.markdown import markdown_text

PALETTE = Binding("ctrl+p", "command_palette", "commands", tooltip="Show all that can be done, by name.")
_BY_TEXTUAL = [
    Binding("tab,shift+tab", "focus_next", "next pane", tooltip="Go on to the next pane, or back."),
    PALETTE,
]
"""Keys that are Textual's and cannot be changed."""
_WIDTH = 16
"""Cells for the keys, left of what they do."""


def help_text(panes: list[Pane], active: int, key_names: KeyNames, *, asked: bool) -> Content:
    """The whole page.

    Args:
        active: number of the pane whose help and keys stand first.
        asked: whether a step awaits the user; what answers it then stands before all else.
    """
    first = next(pane for pane in panes if pane.number == active)
    others = [pane for pane in panes if pane is not first]
    everywhere = [*_of_group(None), *_BY_TEXTUAL]
    sections = [_pane_section(first, key_names), _section("Everywhere", everywhere, key_names)]
    answers = _section(ANSWERING.description, _of_group(ANSWERING.description), key_names)
    sections.insert(0 if asked else len(sections), answers)
    sections.append(_section("Replay", _of_group("Replay"), key_names))
    sections += [_section(pane.title, _keys_of(pane), key_names) for pane in others]
    sections.append(_section(HELPING.description, _of_group(HELPING.description), key_names))
    return Content("\n\n").join(section for section in sections if section)


def _of_group(description: str | None) -> list[Binding]:
    bindings = [*SCREEN_BINDINGS, *APP_BINDINGS]
    return [each for each in bindings if (each.group and each.group.description) == description]


def _keys_of(pane: Pane) -> list[Binding]:
    kinds = [type(pane), *type(pane.focus_target()).__mro__]
    bindings = [each for kind in kinds for each in kind.__dict__.get("BINDINGS", [])]
    own = [each for each in bindings if isinstance(each, Binding) and each.tooltip]  # Textual's have none
    return [each for each in (*_of_group(pane.kind), *own) if each.id not in pane.unused]


def _pane_section(pane: Pane, key_names: KeyNames) -> Content:
    _heading, *about = _unbroken(_with_keys(pane.HELP or "", key_names))
    keys = _section(pane.title, _keys_of(pane), key_names)
    return Content("\n").join([keys, *(_paragraph(line) for line in about)])


def _with_keys(text: str, key_names: KeyNames) -> str:
    """A text with the first key of a binding in the place of its name, as in `{sort}`."""
    bindings = {binding.id: binding for binding in (*SCREEN_BINDINGS, *APP_BINDINGS)}
    return re.sub(r"\{(\w+)\}", lambda named: key_names(bindings[named[1]]).split()[0], text)


def _unbroken(text: str) -> list[str]:
    """Its paragraphs and items, each on one line; a blank one where there was one."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        if not line or line.startswith("- ") or not lines or not lines[-1]:
            lines.append(line)
        else:
            lines[-1] += f" {line}"
    return lines


def _paragraph(line: str) -> Content:
    if line.startswith("- "):
        return hanging(Content("• ")) + markdown_text(line.removeprefix("- "))
    return markdown_text(line) if line else Content()


def _section(title: str, bindings: list[Binding], key_names: KeyNames) -> Content:
    lines = [Content.styled(title, "bold underline"), *key_lines(bindings, key_names)]
    return Content("\n").join(lines) if bindings else Content()


def key_lines(bindings: Sequence[Binding], key_names: KeyNames) -> Iterator[Content]:
    """Each binding's keys and what they do."""
    for binding in bindings:
        label = Content.styled(f"{key_names(binding):<{_WIDTH - 1}} ", "bold $text-accent")
        yield hanging(label) + plain(binding.tooltip)


class HelpPage(Page):
    """Stands in the place of the panes; header, question and keys stay where they are."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "back to the panes", id="help_close", tooltip="Go back to the panes."),
    ]

    class Closed(Message):
        """The user goes back to the panes."""

    def __init__(self) -> None:
        super().__init__(id="help")

    def action_close(self) -> None:
        """Say so."""
        self.post_message(self.Closed())
