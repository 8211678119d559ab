"""A kernel in Triton rewritten by a scripted model, with a process that speaks the protocol and no GPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomli

from tests.llm.fakes import FakeBackend, said
from tests.python_kernels.fakes import description, fake_process
from tui_tuner.app import choosing
from tui_tuner.app.choosing import GivenObjects
from tui_tuner.app.sessions import begin_session, replayed_session
from tui_tuner.evaluate.profiling.roofline import moved_once
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.exports import told_run
from tui_tuner.exports.patch import file_changes
from tui_tuner.headless import ApproveAll
from tui_tuner.problem.load import Written, problem_text, written_in_python
from tui_tuner.problem.triton import kernel_text
from tui_tuner.python_kernels.evaluator import PythonEvaluator, PythonOptions
from tui_tuner.python_kernels.from_file import problem_of_description
from tui_tuner.session import events
from tui_tuner.session.session import Session
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

SAMPLE = Path(__file__).parents[2] / "sample_kernels/softmax_triton.py"
KERNEL = """
@triton.jit
def softmax(y, x, rows, columns, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    at = row * columns + tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (tl.arange(0, BLOCK)[None, :] < columns)
    values = tl.load(x + at, inside, other=float("-inf"))
    powers = tl.exp(values - tl.max(values, axis=1)[:, None])
    tl.store(y + at, powers / tl.sum(powers, axis=1)[:, None], inside)
"""


def reply(code: str = KERNEL, **others: object) -> str:
    tunables = [
        {"name": "ROWS", "values": [1, 2, 4], "default": 2},
        {"name": "num_warps", "values": [4, 8], "default": 8},
    ]
    whole = {"summary": "rows side by side", "code": code, "tunables": tunables, "restrictions": ["ROWS <= rows"]}
    return json.dumps({**whole, "grid": ["ceil_div(rows, ROWS)"], **others})


def softmax(directory: Path) -> Written:
    file = directory / SAMPLE.name
    file.write_text(SAMPLE.read_text("utf-8"), "utf-8")
    told = {"launched": ["argument rows: 8192", "grid: (8192,)"], "tensor_bytes": 3_200_000_000}
    described = description("softmax_triton").model_copy(update=told)
    return written_in_python(problem_of_description(described, file, file.read_text("utf-8")))


async def events_of(session: Session) -> list[events.Event]:
    return [event async for event in session.events(ApproveAll())]


async def played(directory: Path, *replies: str, evaluations: int = 8) -> tuple[list[events.Event], FakeBackend]:
    written, model = softmax(directory), FakeBackend(*map(said, replies))
    options = PythonOptions(directory / "runner.log", jobs=2, process=fake_process(directory, "softmax_triton"))
    session = SessionOptions(
        strategy="one_prompt", max_evaluations=evaluations, seed=3, search="random_sample", allow_unconfined=True
    )
    given = GivenObjects(evaluator=PythonEvaluator(written.problem, options), backend=model)
    prepared = await begin_session(written, session, Settings(), directory / "run", given=given)
    return await events_of(prepared.session), model


@pytest.mark.slow
async def test_a_rewritten_kernel_is_measured_and_its_file_and_launch_are_given_out(tmp_path):
    told, model = await played(tmp_path, reply())

    finished = told[-1]
    assert isinstance(finished, events.SessionFinished)
    assert finished.speedup is not None
    assert finished.speedup[0] > 2
    (asked,) = [request for request in model.requests if "Rewrite this kernel" in request.messages[-1].content]
    assert "argument rows: 8192" in asked.messages[-1].content
    assert "ROWS_A_PROGRAM: tl.constexpr" in asked.messages[-1].content
    assert (
        "  launch: 8192 blocks of 256 threads; a multiprocessor holds 8 of them, 64 of 64" in asked.messages[-1].content
    )
    assert "each read or written once, need 80% of the time" in asked.messages[-1].content
    told_first = [line for line in asked.messages[-1].content.splitlines() if line.startswith("<technique name")][:4]
    assert [line.split('"')[1] for line in told_first] == ["one pass", "tile", "group programs", "memory hints"]
    best = (tmp_path / "run/best.py").read_text("utf-8")
    assert "ROWS: tl.constexpr):" in best
    assert "with the grid (ceil_div(rows, ROWS))" in best
    assert "def reference(y, x" in best
    table = tomli.loads((tmp_path / "run/best.toml").read_text("utf-8"))
    assert table["launch"] == {"grid": ["ceil_div(rows, ROWS)"]}
    assert set(table["tunables"]) == {"ROWS", "num_warps", "num_stages"}
    (change,) = file_changes(await told_run(tmp_path / "run"))
    assert change.file == tmp_path / SAMPLE.name
    assert change.after == best


@pytest.mark.slow
async def test_what_is_wrong_is_put_back_as_the_functions_that_the_model_wrote(tmp_path):
    wrong = KERNEL.replace("tl.exp(", "tl.sqrt(")
    told, model = await played(
        tmp_path, reply(KERNEL.replace("tl.max", "os.max")), reply(wrong), reply(), evaluations=20
    )

    refused = ["; ".join(event.problems) for event in told if isinstance(event, events.ReplyRefused)]
    assert len(refused) == 1
    assert "'os' in line 6 of it is nothing that the file or Triton has" in refused[0]
    last = model.requests[-1].messages
    assert "element [0] is 1, expected 2" in last[-1].content
    assert "def softmax" in last[-2].content
    assert "def reference" not in last[-2].content, "the functions alone, as the model wrote them"
    assert isinstance(told[-1], events.SessionFinished)
    assert told[-1].speedup is not None
    assert told[-1].speedup[0] > 2


@pytest.mark.slow
async def test_a_run_with_a_rewritten_kernel_is_replayed_without_its_process(tmp_path):
    told, _ = await played(tmp_path, reply())
    again = await events_of(replayed_session(tmp_path / "run").session)

    def accepted(found: list[events.Event]) -> list[str]:
        return [e.candidate.id for e in found if isinstance(e, events.IncumbentChanged)]

    assert accepted(again) == accepted(told)


def test_what_moving_all_tensors_takes_is_known_of_a_kernel_in_python(tmp_path):
    described = description("softmax_triton").model_copy(update={"tensor_bytes": 268_435_456})
    problem = problem_of_description(described, tmp_path / SAMPLE.name, SAMPLE.read_text("utf-8"))
    again = written_in_python(problem).problem

    moved = moved_once(again, DeviceInfo(kind="cuda", name="GPU", backend="triton", memory_gbs=4000.0))
    assert moved is not None
    assert moved.ms == pytest.approx(0.0671, rel=1e-3)
    assert "tensor_bytes = 268435456" in problem_text(problem)
    described = description("softmax_triton")
    assert "tensor_bytes" not in problem_text(problem_of_description(described, tmp_path / SAMPLE.name, ""))


async def test_the_shipped_run_of_a_rewritten_kernel_is_shown_again():
    told = await events_of(replayed_session(SAMPLE.parent / "recorded/one_prompt-histogram_kernel").session)

    assert isinstance(told[-1], events.SessionFinished)
    assert told[-1].speedup is not None
    assert told[-1].speedup[0] > 60
    best = next(event.candidate for event in reversed(told) if isinstance(event, events.IncumbentChanged))
    assert "tl.histogram(" in kernel_text(best.source, "histogram_kernel")


@pytest.mark.parametrize(
    ("abi", "allowed", "strategy"),
    [(0, False, "llm_search"), (0, True, "one_prompt"), (4, False, "one_prompt")],
)
async def test_nothing_is_rewritten_where_it_cannot_be_compiled_confined(tmp_path, monkeypatch, abi, allowed, strategy):
    monkeypatch.setattr(choosing, "abi_version", lambda: abi)
    options = SessionOptions(strategy="one_prompt", allow_unconfined=allowed)
    given = GivenObjects(backend=FakeBackend())
    parts = await choosing.choose_for(softmax(tmp_path).problem, options, Settings(), given)
    assert parts.options.strategy == strategy
    assert bool(parts.notes) == (strategy == "llm_search")
