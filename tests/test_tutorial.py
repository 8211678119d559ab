"""docs/tutorial.md leads where it says: its commands are carried out in their order, with its files."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import tomli

from tests.documents import ROOT, TUTORIAL, blocks, command_lines
from tui_tuner.cli import main
from tui_tuner.errors import ExitCode

FILES = ROOT / "docs/tutorial"
TEXT = TUTORIAL.read_text("utf-8")


def test_what_the_tutorial_shows_of_its_files_stands_in_them():
    kernel, problem, (reference,) = blocks(TEXT, "cuda")[0], blocks(TEXT, "toml"), blocks(TEXT, "python")
    assert kernel in (FILES / "rmsnorm.cu").read_text("utf-8")
    assert reference == (FILES / "reference.py").read_text("utf-8")
    for part in problem:
        assert part in (FILES / "rmsnorm.toml").read_text("utf-8")


def edited(drafted: str) -> dict[str, object]:
    """The draft with what the tutorial changes of it."""
    problem, another = tomli.loads(drafted), {"sizes": {"rows": 37, "columns": 53}}
    problem["tests"].append(another)
    problem["emulator"]["tests"] = [another]
    problem["work"] = {"flops": "4 * rows * columns", "bytes": "8 * rows * columns"}
    problem["reference"] = {"python": "reference.py:rms_norm"}
    return problem


def cut_when_step_3_is_accepted(journal: Path) -> None:
    """Leave of a run what is on the disk at that moment."""
    lines = journal.read_bytes().splitlines(keepends=True)
    accepted = next(
        number for number, line in enumerate(lines) if json.loads(line).get("result", {}).get("ratio", 0) > 2
    )
    journal.write_bytes(b"".join(lines[: accepted + 1]))


@pytest.mark.slow
def test_every_command_of_the_tutorial_does_what_is_told_of_it(tmp_path, monkeypatch, capsys):
    shutil.copytree(FILES, tmp_path / "docs/tutorial")
    here = tmp_path / "rmsnorm"
    here.mkdir()
    monkeypatch.chdir(here)
    shutil.copy("../docs/tutorial/rmsnorm.cu", here)
    commands = command_lines(TEXT)

    def done(*begins: str, code: int = ExitCode.FINISHED, more: tuple[str, ...] = ()) -> str:
        """Carry out the next command of the tutorial; what it prints."""
        words = next(commands)
        assert tuple(words[: len(begins)]) == begins
        ended = main([*words, *more])
        said = capsys.readouterr()
        assert ended == code, said
        return said.out + said.err

    told = done("init", "rmsnorm.cu").splitlines()
    shown = next(block for block in blocks(TEXT, "text") if "wrote rmsnorm.toml" in block)
    assert set(shown.splitlines()) <= set(told)
    drafted = Path("rmsnorm.toml").read_text("utf-8")
    assert "16 put into the kernel, one at a time: 16 noticed" in done("check")

    for name in ("rmsnorm.toml", "reference.py"):
        shutil.copy(f"../docs/tutorial/{name}", here)
    assert tomli.loads(Path("rmsnorm.toml").read_text("utf-8")) == edited(drafted)
    assert "16 put into the kernel, one at a time: 16 noticed" in done("check")

    words = next(commands)
    assert words[:4] == ["rmsnorm.cu", "--auto", "--strategy", "search"]
    assert main(words) in (ExitCode.FINISHED, ExitCode.NO_IMPROVEMENT)
    assert "5 evaluations, 0 model calls" in capsys.readouterr().out

    # Of a step that gains a third a busy machine may not be sure.
    last_step = re.compile(r"step 4 Sum in several accumulators: (accepted|neutral|rejected [\d.]+x)")
    assert last_step.search(done("rmsnorm.cu", "--auto", "--llm"))
    cut_when_step_3_is_accepted(Path("tuner-runs/model/journal.jsonl"))
    resumed = done("resume")
    assert last_step.search(resumed)
    assert re.search(r"\d+ evaluations, 4 model calls", resumed)
    assert "both timed in turns on fresh data" in resumed

    assert next(commands) == ["rmsnorm.cu"]  # the screen, which tests of its own show
    assert "61.14x [55.12, 63.18]" in done("replay", more=("--auto",))
    assert "tuner-runs/search" in done("runs")
    assert "Each sum once: accepted" in done("show")
    done("report")
    assert "Each sum once" in Path("tuner-runs/model/report.html").read_text("utf-8")
    assert done("best") == Path("tuner-runs/model/best.cu").read_text("utf-8")
    assert "namespace tuned_rms_norm {" in done("best")
    patch = done("best")
    assert "\n-    int i = blockIdx.x" in patch
    assert "\n-int main()\n" not in patch
    assert done("verify").startswith("right: tuner-runs/model computes what rmsnorm.cu does")
    assert done("compare").startswith("FAST: tuner-runs/model is ")
    with pytest.raises(StopIteration):
        next(commands)
