"""Whole sessions on a recorded device: on the command line, on the screen, from Python, resumed and replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomli

from tests.recorded.caches import cache_text, write_cache
from tests.session.fakes import PROBLEM, SOURCE
from tui_tuner import tune_async
from tui_tuner.app import sessions
from tui_tuner.app.sessions import replayed_session
from tui_tuner.cli import main
from tui_tuner.errors import JournalError, SettingsError
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.headless import ApproveAll
from tui_tuner.session import events
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings
from tui_tuner.tui.app import TunerApp

BEST = {"block_size_x": 128, "tile": 1, "layout": "column"}
AUTO = ("--auto", "--llm", "none", "--run-dir", "run")


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_cache(Path("small.json.gz"))


def result() -> dict[str, object]:
    found: dict[str, object] = json.loads(Path("run/result.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize(
    "arguments",
    [("--device", "recorded:small.json.gz"), ("small.json.gz",), ("--device", "Recorded:small.json.gz", "--seed", "3")],
)
def test_a_recording_alone_is_searched_and_its_best_is_found(arguments, capsys):
    assert main([*arguments, *AUTO]) == 0
    told = capsys.readouterr()
    assert "device: Slow GPU (recorded); builds: none, every time is from small.json.gz" in told.err
    assert "speed-up  8.00x, both as recorded" in told.out
    assert "block_size_x=128 tile=1 layout=column" in told.out
    assert result()["device"]["max_threads_per_block"] is None  # type: ignore[index]


@pytest.mark.slow
def test_a_search_without_a_model_begins_with_what_an_earlier_session_found(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert main(["small.json.gz", "--memory", *AUTO]) == 0
    again = ["small.json.gz", "--memory", "--auto", "--llm", "none", "--run-dir", "again", "--max-evals", "2"]
    assert main(again) == 0
    told = capsys.readouterr()
    assert "from earlier sessions: 1 similar kernels" in told.err
    assert "block_size_x=128 tile=1 layout=column" in told.out
    assert main(["replay", "again", "--auto"]) == 0
    assert "block_size_x=128 tile=1 layout=column" in capsys.readouterr().out


def test_no_other_strategy_is_named_than_the_one_that_runs(capsys):
    assert main(["small.json.gz", *AUTO]) == 0
    err = capsys.readouterr().err
    assert "strategy search, no model" in err
    assert "llm_search" not in err


def test_what_is_left_behind_is_the_best_configuration_and_no_kernel(capsys):
    assert main(["small.json.gz", *AUTO]) == 0
    capsys.readouterr()
    assert {file.name for file in Path("run").iterdir()} == {"journal.jsonl", "live", "result.json", "best.toml"}
    best = tomli.loads(Path("run/best.toml").read_text("utf-8"))
    assert best["tunables"] == {name: [value] for name, value in BEST.items()}
    assert best["kernel"] == {"source": "small.json.gz", "name": "scale", "language": "recorded"}
    assert best.keys() == {"kernel", "sizes", "tunables"}


def test_a_problem_file_may_name_the_recording_as_its_source(capsys):
    assert main(["small.json.gz", *AUTO]) == 0
    written = Path("run/best.toml").read_text("utf-8")
    Path("again.toml").write_text(written.partition("[tunables]")[0], "utf-8")
    assert main(["again.toml", "--device", "recorded:small.json.gz", "--auto", "--llm", "none"]) == 0
    assert capsys.readouterr().out.count("layout=column") == 2


def test_failures_on_record_cost_budget_and_are_told(capsys):
    assert main(["small.json.gz", *AUTO, "--output", "json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    kinds = {
        e["evaluation"]["failure"]["kind"]
        for e in told
        if e["type"] == "evaluation_finished" and e["evaluation"]["failure"]
    }
    assert kinds == {FailureKind.LAUNCH, FailureKind.COMPILE}
    assert result()["evaluations"] == 10  # all members but the default, which every session begins with


def test_restrictions_beside_the_recording_hold(capsys):
    Path("small.toml").write_text('[search]\nrestrictions = ["block_size_x <= 64"]\n', "utf-8")
    assert main(["small.json.gz", *AUTO]) == 0
    assert "block_size_x=64 tile=1 layout=column" in capsys.readouterr().out


def test_a_kernel_of_which_the_times_are_known_keeps_its_source(capsys):
    tunables = '[tunables]\nblock_size_x = [32, 64, 128]\ntile = [1, 2]\nlayout = ["row", "column"]\n'
    Path("scale.cu").write_text(SOURCE, "utf-8")
    Path("scale.toml").write_text(PROBLEM.partition("[tunables]")[0] + tunables, "utf-8")
    for kernel in ("scale.cu", "scale.toml"):
        assert (
            main([kernel, "--device", "recorded:small.json.gz", "--auto", "--llm", "none", "--run-dir", kernel[-4:]])
            == 0
        )
        assert "layout=column" in capsys.readouterr().out
        assert SOURCE in Path(kernel[-4:], "best.cu").read_text("utf-8")
        assert tomli.loads(Path(kernel[-4:], "best.toml").read_text("utf-8"))["launch"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--device", "recorded:gone.json"), "gone.json: there is no such recording"),
        (("--device", "recorded"), "a recorded device needs a file"),
        (("scale.cu", "--device", "recordet:small.json.gz"), "did you mean 'recorded'?"),
        (("gone.json.gz",), "gone.json.gz: there is no such recording"),
        (("small.json.gz", "--device", "cuda"), "is itself the device"),
        (("other.toml", "--device", "recorded:small.json.gz"), "other.toml: cannot be read"),
        (("other.cu", "--device", "recorded:small.json.gz"), "there is no kernel file other.cu"),
        (("broken.json",), "this is not JSON"),
        (("bare.toml",), "nothing here can run it"),
    ],
)
def test_a_mistake_is_told_at_once_with_the_way_out(arguments, said, capsys):
    Path("broken.json").write_text("{", "utf-8")
    bare = '[kernel]\nsource = "small.json.gz"\nname = "scale"\nlanguage = "recorded"\n[tunables]\ntile = [1, 2]\n'
    Path("bare.toml").write_text(bare, "utf-8")
    Path("scale.cu").write_text(SOURCE, "utf-8")
    Path("scale.toml").write_text(PROBLEM, "utf-8")
    assert main([*arguments, *AUTO]) in (1, 2)
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told
    assert not Path("run/result.json").exists()


def test_without_kernel_and_recording_both_are_asked_for(capsys):
    with pytest.raises(SystemExit, match="2"):
        main([*AUTO])
    told = "name a KERNEL, or a recording with --device recorded:FILE; `tuner-tui` alone asks what to tune"
    assert told in capsys.readouterr().err


async def test_a_replay_needs_no_file_and_tells_the_same(recording):
    outcome = await tune_async("small.json.gz", model=None, run_directory="run", max_evaluations=5)
    assert outcome.configuration is not None
    assert (outcome.source, outcome.best_source) == ("", None)
    recording.unlink()
    prepared = replayed_session(Path("run"))
    told = [event async for event in prepared.session.events(ApproveAll())]
    last = told[-1]
    assert isinstance(last, events.SessionFinished)
    assert last.speedup == outcome.speedup
    assert last.evaluations == outcome.outcome.evaluations == 5


@pytest.mark.slow
async def test_a_run_goes_on_with_the_same_content_only(recording, monkeypatch):
    whole = await tune_async("small.json.gz", model=None, run_directory="run", max_evaluations=4)
    cut = Path("run/journal.jsonl").read_bytes().splitlines(keepends=True)[:4]
    Path("run/journal.jsonl").write_bytes(b"".join(cut))
    again = await tune_async("small.json.gz", model=None, run_directory="run", max_evaluations=4)
    assert again.outcome.best == whole.outcome.best
    Path("run/journal.jsonl").write_bytes(b"".join(cut))
    write_cache(recording, cache_text(device_name="Slow GPU", problem_size=[4096, 16]).replace("30.5", "31.5"))
    with pytest.raises(JournalError, match="measured on Slow GPU"):
        await tune_async("small.json.gz", model=None, run_directory="run", max_evaluations=4)


@pytest.mark.slow
async def test_the_screen_says_that_its_times_are_recorded():
    from tui_tuner.api import prepare

    prepared = await prepare("small.json.gz", {"model": None, "run_directory": "run"})
    app = TunerApp(prepared.session)
    async with app.run_test(size=(120, 36)) as pilot:
        for _ in range(5000):
            await pilot.pause(0.02)
            app.session_screen.draw()
            if app.session_screen.view_model.device is not None:
                break
        header = app.session_screen.query_one("#header").render()
        assert "Slow GPU │ times in ms (recorded)" in str(header)
        await pilot.press("q")


def test_a_recording_of_no_use_is_told_from_python_too():
    async def fail() -> None:
        await tune_async("gone.json", model=None)

    import asyncio

    with pytest.raises(SettingsError, match="no such recording"):
        asyncio.run(fail())


async def test_a_session_that_cannot_be_put_together_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise SettingsError("the memory cannot be used")

    monkeypatch.setattr(sessions, "memory_of", refused)
    recording = write_cache(tmp_path / "a.json.gz")
    options = SessionOptions(strategy="search", llm="none")
    with pytest.raises(SettingsError, match="the memory") as kept:  # its traceback holds what the journal was opened by
        await sessions.new_session(recording, options, Settings(), tmp_path / "run")
    assert kept.traceback
    assert not (tmp_path / "run").exists()
