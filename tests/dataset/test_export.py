"""Scripted sessions and the shipped recordings, exported by the command."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.dataset.runs import exported, record
from tests.documents import ROOT, blocks
from tests.journal.old import lines_without_digests, write_without_digests
from tests.session.fakes import REWRITE, reply, wrong_result
from tui_tuner.cli import main
from tui_tuner.errors import ExitCode, SettingsError
from tui_tuner.evaluate.results import Failure
from tui_tuner.lab.export_dataset import LineFilter, export_dataset
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.resources import samples_directory
from tui_tuner.strategies.steps import Decision, Proposal

JOURNALS = sorted(samples_directory().glob("recorded/*/journal.jsonl"))
DOCUMENT = (ROOT / "docs/dataset.md").read_text("utf-8")


def of_rewrite(candidate: Candidate, _: Configuration) -> Failure | None:
    return wrong_result() if "work_per_thread" in candidate.source else None


def test_an_accepted_rewrite_has_its_times_its_step_and_its_score(tmp_path):
    journal = record(tmp_path, reply())
    (line,) = exported(journal.parent, into=tmp_path / "out.jsonl")
    outcome = line["outcome"]
    assert [m["role"] for m in line["messages"]] == ["system", "user", "assistant"][-len(line["messages"]) :]
    assert line["messages"][-1] == {"role": "assistant", "content": reply()}
    assert line["schema"]["properties"].keys() >= {"code", "tunables"}
    assert (outcome["reply"], outcome["decision"], outcome["step"]["state"]) == ("used", "approve", "accepted")
    assert len(outcome["evaluations"]) == 6  # its whole space: two block sizes, three amounts of work
    assert outcome["evaluations"][0]["origin"] == "reply"
    assert {e["origin"] for e in outcome["evaluations"][1:]} == {"search"}
    assert outcome["best"]["configuration"] == {"block_size_x": 128, "work_per_thread": 4}
    assert line["meta"]["given_ms"] == pytest.approx(100 / 32 + 1)
    assert 2 ** line["score"] == pytest.approx((100 / 32 + 1) / (100 / 128 / 4 + 1), rel=1e-3)
    assert outcome["new_best"][1] > 1
    assert line["meta"]["session"]["status"] == "finished"


def test_a_refused_reply_says_why_and_the_next_one_holds_it_in_its_prompt(tmp_path):
    journal = record(tmp_path, "no JSON at all", reply())
    first, second = exported(journal, into=tmp_path / "out.jsonl")
    assert first["outcome"]["reply"] == "refused"
    assert first["outcome"]["problems"]
    assert (first["outcome"]["evaluations"], first["score"]) == ([], None)
    assert second["outcome"]["reply"] == "used"
    assert {"role": "assistant", "content": "no JSON at all"} in second["messages"][:-1]


def test_a_wrong_kernel_has_its_failure_and_no_score(tmp_path):
    other = reply(code=REWRITE.replace("2.0f", "3.0f"))
    journal = record(tmp_path, reply(), other, other, fail=of_rewrite)
    first, *_ = exported(journal, into=tmp_path / "out.jsonl")
    (failed,) = first["outcome"]["evaluations"]
    assert failed["failure"]["kind"] == "wrong result"
    assert (failed["ms"], first["score"], first["outcome"]["best"]) == (None, None, None)
    assert first["outcome"]["step"]["state"] == "rejected"


class Edits:
    """Approves the baseline's tuning; of a kernel the user writes another one."""

    async def decide(self, proposal: Proposal) -> Decision:
        if proposal.candidate is None:
            return Decision(action="approve")
        return Decision(action="edit", source=proposal.candidate.source + "// mine\n")


def test_times_of_a_kernel_that_the_user_edited_are_not_the_replys(tmp_path):
    journal = record(tmp_path, reply(), approver=Edits())
    (line,) = exported(journal, into=tmp_path / "out.jsonl")
    assert (line["outcome"]["decision"], line["outcome"]["evaluations"], line["score"]) == ("edit", [], None)
    assert line["outcome"]["new_best"] is None


def test_an_unfinished_run_is_exported_as_far_as_it_goes(tmp_path):
    journal = record(tmp_path, reply())
    lines = lines_without_digests(journal)
    asked = next(i for i, line in enumerate(lines) if line.get("kind") == "ask")
    write_without_digests(journal, lines[: asked + 4])
    with journal.open("a") as file:
        file.write('{"kind": "evaluate", "key"')
    (line,) = exported(journal, into=tmp_path / "out.jsonl")
    assert line["meta"]["session"]["status"] == "interrupted"
    assert 1 <= len(line["outcome"]["evaluations"]) < 6


@pytest.mark.parametrize("kind", ["ask", "evaluate", "compare", "approve", "device"])
def test_a_damaged_record_is_named_with_its_line_and_the_other_runs_are_written(tmp_path, capsys, kind):
    broken, sound = tmp_path / "broken", tmp_path / "sound"
    for directory in (broken, sound):
        directory.mkdir()
        record(directory, reply())
    journal = broken / "run/journal.jsonl"
    lines = lines_without_digests(journal)
    number = next(i for i, line in enumerate(lines) if line.get("kind") == kind)
    lines[number]["result"] = {"odd": True}
    write_without_digests(journal, lines)
    assert main(["export-dataset", str(journal), str(sound / "run")]) == ExitCode.FAILED
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert f"{journal}:{number + 1}: is damaged here" in err
    assert "1 line written, 1 run could not be read" in err


def test_a_record_that_is_missing_before_a_reply_is_an_error_with_the_replys_line(tmp_path, capsys):
    journal = record(tmp_path, reply())
    lines = lines_without_digests(journal)
    evaluated = next(i for i, line in enumerate(lines) if line.get("kind") == "evaluate")
    asked = next(i for i, line in enumerate(lines) if line.get("kind") == "ask")
    assert evaluated < asked
    write_without_digests(journal, lines[:evaluated] + lines[evaluated + 1 :])
    assert asyncio.run(export_dataset([journal], None, LineFilter())) is ExitCode.FAILED
    out, err = capsys.readouterr()
    assert (out, f"{journal}:{asked}: the session cannot be gone through again" in err) == ("", True)


def test_a_question_that_was_changed_is_an_error(tmp_path, capsys):
    journal = record(tmp_path, reply())
    lines = lines_without_digests(journal)
    asked = next(line for line in lines if line.get("kind") == "ask")
    asked["content"]["messages"][-1]["content"] += " changed"
    write_without_digests(journal, lines)
    assert asyncio.run(export_dataset([journal], None, LineFilter())) is ExitCode.FAILED
    assert "holds no question that is call 1 (one_prompt)" in capsys.readouterr().err


def test_a_call_without_a_whole_reply_has_no_line_and_is_counted(tmp_path, capsys):
    journal = record(tmp_path, reply())
    lines = lines_without_digests(journal)
    next(line for line in lines if line.get("kind") == "ask")["result"] = {"failed": "time-out", "cost": 0.0}
    write_without_digests(journal, lines)
    assert asyncio.run(export_dataset([journal], None, LineFilter())) is ExitCode.FINISHED
    out, err = capsys.readouterr()
    assert out == ""
    assert "1 call of the model, 0 lines written, 1 without a whole reply" in err


def test_replies_on_a_way_that_was_not_taken_again_are_told_with_their_lines(tmp_path, capsys):
    journal = record(tmp_path, reply())
    lines = lines_without_digests(journal)
    asked = next(i for i, line in enumerate(lines) if line.get("kind") == "ask")
    other = json.loads(json.dumps(lines[asked]))
    other["key"] = "another"
    other["content"]["messages"][-1]["content"] += " as it was asked before the run was resumed"
    write_without_digests(journal, [*lines[:asked], other, *lines[asked:]])
    assert asyncio.run(export_dataset([journal], None, LineFilter())) is ExitCode.FINISHED
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert f"in line {asked + 1}" in err


def test_what_is_no_run_is_an_error_with_its_place(tmp_path, capsys):
    assert main(["export-dataset", str(tmp_path)]) == ExitCode.FAILED
    assert f"{tmp_path}/journal.jsonl: no run is there" in capsys.readouterr().err


def test_replies_are_chosen_by_speedup_and_by_acceptance(tmp_path):
    journal = record(tmp_path, "no JSON at all", reply())

    def count(name: str, wanted: LineFilter) -> int:
        return len(exported(journal, into=tmp_path / name, wanted=wanted))

    assert count("all", LineFilter()) == 2
    assert count("accepted", LineFilter(accepted_only=True)) == 1
    assert count("three", LineFilter(min_speedup=3.0)) == 1
    assert count("four", LineFilter(min_speedup=4.0)) == 0


def test_an_output_that_is_there_is_not_written_over(tmp_path, capsys):
    journal = record(tmp_path, reply())
    before = journal.read_bytes()
    with pytest.raises(SettingsError, match="there already"):
        asyncio.run(export_dataset([journal], journal, LineFilter()))
    assert journal.read_bytes() == before
    assert main(["export-dataset", str(journal), "--output", str(journal)]) == ExitCode.USAGE


def test_thinking_stands_beside_the_messages(tmp_path):
    journal = record(tmp_path, reply())
    lines = lines_without_digests(journal)
    next(line for line in lines if line.get("kind") == "ask")["result"]["thinking"] = "warps \u202e first"
    write_without_digests(journal, lines)
    (line,) = exported(journal, into=tmp_path / "out.jsonl")
    assert line["thinking"] == "warps \u202e first"
    assert "first" not in line["messages"][-1]["content"]
    assert "\u202e" not in (tmp_path / "out.jsonl").read_text("utf-8")


@pytest.mark.parametrize("journal", JOURNALS, ids=lambda path: path.parent.name)
def test_a_shipped_recording_has_every_reply_word_for_word_and_its_outcomes_are_the_measurements(journal, tmp_path):
    records = lines_without_digests(journal)
    asked = [record for record in records if record.get("kind") == "ask"]
    answered = [record for record in asked if "text" in record["result"]]
    lines = exported(journal, into=tmp_path / "out.jsonl")
    assert [line["messages"] for line in lines] == [
        [*record["content"]["messages"], {"role": "assistant", "content": record["result"]["text"]}]
        for record in answered
    ]
    assert [line["schema"] for line in lines] == [record["content"]["schema"] for record in answered]
    assert {line["meta"]["run"] for line in lines} == {journal.parent.name}

    times = [record["result"]["timing"] for record in records if record.get("kind") == "evaluate"]
    medians = {timing["median"] for timing in times if timing is not None}
    told = [e["ms"] for line in lines for e in line["outcome"]["evaluations"] if e["ms"] is not None]
    assert told
    assert len(told) == len(set(told))
    assert set(told) < medians  # the kernel as given was tuned by a search: no reply's
    bests = [line["outcome"]["new_best"] for line in lines if line["outcome"]["new_best"]]
    assert bests == sorted(bests)
    final = lines[0]["meta"]["session"]["speedup"][0]
    assert bests[-1][0] == pytest.approx(final, rel=0.05)
    accepted = [line for line in lines if line["outcome"]["new_best"]]
    assert all(line["score"] > 0 and line["outcome"]["step"]["state"] == "accepted" for line in accepted)


def test_a_plan_knows_what_became_of_its_steps(tmp_path):
    journal = next(path for path in JOURNALS if path.parent.name == "autonomous-matmul")
    plan, *others = exported(journal, into=tmp_path / "out.jsonl")
    assert plan["meta"]["purpose"] == "plan"
    assert [step["state"] for step in plan["outcome"]["plan"]] == [
        "accepted",
        "accepted",
        "rejected",
        "skipped",
        "proposed",
    ]
    assert all(line["outcome"]["plan"] == [] for line in others)


def fields(example: dict[str, Any]) -> set[str]:
    outcome, meta = example["outcome"], example["meta"]
    nested = {name for one in outcome["evaluations"] for name in one} | {
        name for one in outcome["plan"] for name in one
    }
    return {*example, *outcome, *meta, *nested}


@pytest.mark.slow
def test_the_document_names_every_field(tmp_path):
    lines = exported(*JOURNALS, into=tmp_path / "out.jsonl")
    for name in set().union(*map(fields, lines)):
        assert f"`{name}`" in DOCUMENT, name


@pytest.mark.slow
def test_the_documents_program_makes_messages_of_the_good_replies(tmp_path):
    (program,) = blocks(DOCUMENT, "python")
    lines = exported(*JOURNALS, into=tmp_path / "calls.jsonl")
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env=dict(os.environ), timeout=200)
    kept = [json.loads(line) for line in (tmp_path / "messages.jsonl").read_text("ascii").splitlines()]
    assert 0 < len(kept) <= len(lines)
    assert all(call.keys() == {"messages"} for call in kept)
