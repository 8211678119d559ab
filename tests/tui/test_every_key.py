"""Every key in every pane: what it does there, and that what stands in no table does nothing."""

from __future__ import annotations

import pytest
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.events import Key
from textual.pilot import Pilot

from tests.slow import slow_but_for
from tests.tui import scripted
from tests.tui.conftest import Started
from tests.tui.scripted import ScriptedRun
from tui_tuner.tui.app import TunerApp
from tui_tuner.tui.keys import APP_BINDINGS, SCREEN_BINDINGS
from tui_tuner.tui.moving import LineList, Reading
from tui_tuner.tui.panes.chat_pane import ChatLog
from tui_tuner.tui.panes.kernel_pane import KernelPane
from tui_tuner.tui.tables.table import ColumnTable
from tui_tuner.tui.text.source_views import SourceArea

EVERYWHERE = """
app.toggle_help              question_mark f1
app.quit                     q
app.suspend_process          ctrl+z
app.draw_again               ctrl+l
screen.control               m alt+m
screen.pause                 p alt+p
screen.tell                  c ctrl+t
screen.next_view             d f9
screen.benchmarks next_order o ctrl+o
screen.benchmarks turn_order O ctrl+g
screen.benchmarks next_chart h alt+h
screen.copy_focused          y ctrl+y
screen.copy_command          Y alt+y
screen.export_table          E alt+e
screen.maximise              f f11
screen.jump                  semicolon alt+j
screen.pane 1                1 alt+1
screen.pane 2                2 alt+2
screen.pane 3                3 alt+3
screen.pane 4                4 alt+4
"""
ASKED = """
screen.decide approve        a f2
screen.edit                  e f3
screen.decide skip           s f4
screen.reject                r f5
screen.approve_all           A f8
screen.review                v ctrl+r
screen.facts                 i ctrl+e
screen.restore               escape
"""
KERNEL = """
kernel.line 1                j
kernel.line -1               k
kernel.end -1                g
kernel.end 1                 G
kernel.base                  b
kernel.split                 vertical_line
kernel.break_lines           W
kernel.seek                  slash ctrl+f
kernel.seek_on 1             n
kernel.seek_on -1            N
"""
SOURCE = """
focused.half 1               ctrl+d
focused.half -1              ctrl+u
focused.cursor_down          down
focused.cursor_up            up
focused.cursor_left          left
focused.cursor_right         right
focused.cursor_page_down     pagedown
focused.cursor_page_up       pageup
focused.cursor_line_start    home
focused.cursor_line_end      end ctrl+e
focused.cursor_up True       shift+up
focused.cursor_down True     shift+down
focused.select_line          f6
focused.select_all           f7
"""
DIFF = """
kernel.half 1                ctrl+d
kernel.half -1               ctrl+u
kernel.bracket 1             right_square_bracket
kernel.bracket -1            left_square_bracket
"""
SCROLLED = """
focused.scroll_down          down
focused.scroll_up            up
focused.scroll_left          left
focused.scroll_right         right
focused.page_down            pagedown
focused.page_up              pageup
focused.scroll_home          home
focused.scroll_end           end
"""
PLAN = """
screen.change_plan add       n plus insert
screen.open_step             enter f6
screen.change_plan up        K shift+up
screen.change_plan down      J shift+down
screen.change_plan delete    x delete
screen.change_plan thaw      t f7
focused.cursor_down          j down
focused.cursor_up            k up
focused.first                g home
focused.last                 G end
focused.page_down            ctrl+d pagedown
focused.page_up              ctrl+u pageup
"""
BENCHMARKS = """
screen.benchmarks filter     slash ctrl+f
screen.benchmarks pin        equals_sign alt+equals_sign
focused.choose               enter
focused.move 1               j down
focused.move -1              k up
focused.scroll_half 1        right
focused.scroll_half -1       left
focused.move_to False        g home
focused.move_to True         G end
focused.move_page 1          ctrl+d pagedown
focused.move_page -1         ctrl+u pageup
"""
CHAT = """
focused.open_fold            enter
focused.fold 1               right_square_bracket
focused.fold -1              left_square_bracket
focused.scroll_down          j
focused.scroll_up            k
focused.scroll_home          g
focused.scroll_end           G
focused.page_down            ctrl+d
focused.page_up              ctrl+u
"""
PANES = {
    "running": {"1": (KERNEL, SOURCE), "2": (PLAN,), "3": (BENCHMARKS,), "4": (SCROLLED, CHAT)},
    "awaiting": {"1": (KERNEL, SCROLLED, DIFF), "2": (PLAN,), "3": (BENCHMARKS,), "4": (SCROLLED, CHAT)},
}
OF_TYPING = """
focused.submit               enter
focused.leave                escape
focused.end                  end ctrl+e
focused.home                 home
focused.cursor_left          left
focused.cursor_right         right
focused.delete_right         delete ctrl+d
focused.delete_left_all      ctrl+u
focused.scroll_down          down
focused.scroll_up            up
focused.page_down            pagedown
focused.page_up              pageup
"""
AT_ONCE = {"ctrl+q", "ctrl+c"}
"""Heard by the app before all others: not in their turn."""
MARK = "f20"


def table(*texts: str) -> dict[str, str]:
    """A key -> what it does; later texts win."""
    lines = [(line[:29].strip(), line[29:].split()) for text in texts for line in text.strip().split("\n")]
    return {key: action for action, keys in lines for key in keys}


def known_keys() -> list[str]:
    widgets = [node.__dict__["BINDINGS"] for node in (KernelPane, SourceArea, ColumnTable, ChatLog, LineList, Reading)]
    bindings = Binding.make_bindings([*APP_BINDINGS, *SCREEN_BINDINGS, *(each for own in widgets for each in own)])
    listed = table(
        EVERYWHERE, ASKED, OF_TYPING, *(text for panes in PANES.values() for each in panes.values() for text in each)
    )
    return [key for key in dict.fromkeys([*(binding.key for binding in bindings), *listed]) if key not in AT_ONCE]


class Heard:
    """Takes down what the keys would do, in the place of doing it; a mark stands behind each key."""

    def __init__(self, app: TunerApp) -> None:
        self.app = app
        self.said: list[str] = []

    async def take(self, namespace: DOMNode, name: str, parameters: tuple[object, ...]) -> bool:
        kernel = isinstance(namespace, KernelPane)
        place = "kernel" if kernel else "focused" if namespace is self.app.focused else "screen"
        place = "app" if namespace is self.app else place
        self.said.append(" ".join([f"{place}.{name}", *map(str, parameters)]))
        return True

    async def of(self, pilot: Pilot[str], keys: list[str]) -> dict[str, str]:
        self.said.clear()
        driver = self.app._driver
        assert driver is not None
        for key in keys:
            for one in (key, MARK):
                sign = one if len(one) == 1 else None
                driver.send_message(Key(one, sign).set_sender(self.app))
        while self.said.count("app.mark") < len(keys):
            await pilot.pause()
        parts = "\n".join(self.said).split("app.mark")
        return {key: part.strip() for key, part in zip(keys, parts, strict=False) if part.strip()}


@pytest.mark.parametrize("state", slow_but_for(list(PANES)[:1], PANES))
async def test_every_key_does_in_every_pane_what_the_table_says_and_else_nothing(
    started: Started, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    script = {"running": scripted.running, "awaiting": scripted.awaiting}[state]()
    keys, asked = known_keys(), (ASKED,) if state == "awaiting" else ()
    async with started(ScriptedRun(script, stays=True)) as pilot:
        app = pilot.app
        assert isinstance(app, TunerApp)
        heard = Heard(app)
        app.bind(MARK, "mark")
        for pane, texts in PANES[state].items():
            await pilot.press(pane)
            with monkeypatch.context() as patched:
                patched.setattr(App, "_dispatch_action", lambda _, *taken: heard.take(*taken))
                assert await heard.of(pilot, keys) == table(EVERYWHERE, *asked, *texts), f"pane {pane}"
        await pilot.press("c")
        with monkeypatch.context() as patched:
            patched.setattr(App, "_dispatch_action", lambda _, *taken: heard.take(*taken))
            here = table(EVERYWHERE, *asked, OF_TYPING)
            spelt = {key for key in here if len(key) == 1 or key in ("question_mark", "slash", "semicolon")}
            assert await heard.of(pilot, keys) == {key: does for key, does in here.items() if key not in spelt}
