"""Every screen and dialog at three sizes, as the text that the terminal shows; a kind of session starts once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot

from tests.session.fakes import write_problem
from tests.tui import plans, scripted
from tests.tui.conftest import Started, settled
from tests.tui.looking import screen_text
from tests.tui.scripted import ScriptedRun
from tests.tui.test_model_trouble import Troubled
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.tensile import TENSILE
from tui_tuner.tui.start import Found, GivenFile, RunCard, StartWorld
from tui_tuner.tui.start.start_app import StartApp

SIZES = [(80, 24), (120, 36), (200, 50)]
JUMP = "jump"
States = dict[str, tuple[str, ...]]
"""Keys that lead to a state, one after another from that before, by its name."""

SESSIONS: dict[str, tuple[Callable[[], ScriptedRun], States]] = {
    "running": (
        lambda: ScriptedRun(scripted.running(), stays=True),
        {
            "kernel": (),
            "chart": ("3", "down", "h", "h"),
            "row": ("h", "enter"),
            "row's source": ("d",),
            "row's diff": ("d",),
            "filter": ("escape", "slash", *"time<0.2"),
            "pinned": ("escape", "down", "equals_sign"),
            "maximised": ("f",),
            "control": ("f", "m"),
            "budget": ("down", "down", "down", "enter", *"time", "enter"),
            "leaving": ("escape", "q"),
            JUMP: ("escape", "semicolon"),
        },
    ),
    "awaiting": (
        lambda: ScriptedRun(scripted.awaiting(), stays=True),
        {
            "diff": (),
            "why": ("i",),
            "side by side": ("i", "vertical_line"),
            "all panes": ("vertical_line", "v"),
            "plan": ("2",),
            "chat": ("4",),
            "question": ("c", *"try 16"),
            "rejection": ("escape", "r", *"no"),
            "editor": ("escape", "e"),
            "help": ("escape", "question_mark"),
        },
    ),
    "plan": (
        lambda: ScriptedRun(plans.whole_plan(), stays=True),
        {
            "steps": ("2",),
            "new": ("n",),
            "changed": ("escape", "end", "k", "enter"),
            "thaw": ("escape", "t"),
        },
    ),
    "trouble": (lambda: Troubled(scripted.running()), {"asked": (), "other model": ("m",)}),
    "finished": (lambda: ScriptedRun(scripted.finished()), {"result": (), "after": ("escape",)}),
}


async def album(pilot: Pilot[str], states: States) -> str:
    """Each state at each size, going on in the size that the state before ended with."""
    pages, sizes = [], SIZES
    for name, keys in states.items():
        await pilot.press(*keys)
        shown = {}
        for size in sizes if name != JUMP else SIZES[-1:]:  # which a change of the size ends
            await pilot.resize_terminal(*size)
            shown[size] = f"=== {name}, {size[0]}x{size[1]}\n{await _calm_text(pilot)}"
        sizes = sizes[::-1]
        pages += [shown[size] for size in SIZES if size in shown]
    return "\n".join(pages)


async def _calm_text(pilot: Pilot[str]) -> str:
    """What is shown once nothing moves any more, and no diff is being computed."""
    seen: list[str] = []
    while len(seen) < 2 or seen[-1] != seen[-2]:
        await settled(pilot)
        seen.append(screen_text(pilot.app))
    return "\n".join(line.rstrip() for line in seen[-1].split("\n"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(SESSIONS))
async def test_session(snapshot: SnapshotAssertion, started: Started, kind: str) -> None:
    run, states = SESSIONS[kind]
    async with started(run(), SIZES[0]) as pilot:
        assert await album(pilot, states) == snapshot


async def found() -> Found:
    devices = [("auto", "auto"), ("emulator  g++ 12.2", "emulator")]
    return Found({"device": devices, "llm": [("auto  none", "auto")]})


async def drafted(kernel: Path) -> tuple[Path, str]:
    return kernel.with_suffix(".toml"), scaffold(kernel, None)


BEST = {"model": "none", "best": "0.1 ms", "evaluations": "27", "block_size_x": "128"}
AT, BEFORE = "2026-11-20T14:32", "2026-11-20T12:00"
RUNS = [
    RunCard(Path("tuner-runs/scale-1"), "scale.cu", "resumable", AT, None, "autonomous", {"model": "none"}, AT),
    RunCard(Path("tuner-runs/scale-0"), "scale.cu", "finished", BEFORE, 1.83, "search", BEST, BEFORE),
]


@pytest.mark.slow
async def test_start(snapshot: SnapshotAssertion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    write_problem(Path())
    Path("other.cu").write_text(Path("scale.cu").read_text())
    files = [
        GivenFile(Path("scale.cu")),
        GivenFile(Path("other.cu"), has_problem=False),
        GivenFile(Path("gemm.yaml"), subject=TENSILE),
    ]

    async def look() -> StartWorld:
        return StartWorld({"max_evaluations": "85"}, found, lambda: RUNS, drafted, *[lambda *_: None] * 4)  # type: ignore[arg-type]

    app = StartApp(files, look)
    states: States = {
        "configuration": ("down", "down"),
        "kernels": ("up",),
        "form": ("i",),
        "wrong form": ("x", "ctrl+l"),
        "help": ("escape", "escape", "question_mark"),
        "runs": ("escape", "tab", "tab", "tab", "tab", "tab", "tab", "tab"),
        "deleting": ("x",),
        "comparing": ("escape", "equals_sign", "up", "equals_sign"),
    }

    async with app.run_test(size=SIZES[0]) as pilot:
        await app.workers.wait_for_complete()
        assert await album(pilot, states) == snapshot
