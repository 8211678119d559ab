from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import pytest

from tests.python_kernels.fakes import fake_process, starts, written
from tui_tuner.python_kernels import KernelEvaluationRequest, KernelOpenRequest
from tui_tuner.python_kernels import client as kernel_process
from tui_tuner.python_kernels.client import KernelClient, KernelProcess

WAIT_S = 60.0


def client_of(directory: Path) -> KernelClient:
    problem = written(directory).problem
    opening = KernelOpenRequest(
        file=str(problem.directory / problem.kernel.source),
        kernel=problem.kernel.name,
        source=problem.source_text,
        default=problem.default_configuration,
    )
    return KernelClient(partial(KernelProcess.start, directory / "log", fake_process(directory)), opening)


def request(client: KernelClient, num_warps: int = 4) -> KernelEvaluationRequest:
    return KernelEvaluationRequest(id=client.next_number(), configuration={"num_warps": num_warps})


async def test_a_question_in_the_very_turn_in_which_the_last_one_is_given_up_is_answered(tmp_path: Path) -> None:
    client = client_of(tmp_path)
    await client.open()
    try:
        given_up = asyncio.create_task(client.ask(request(client)))
        await asyncio.sleep(0)
        given_up.cancel()
        asked = asyncio.create_task(client.ask(request(client)))
        answer = await asyncio.wait_for(asked, WAIT_S)
    finally:
        await client.close()

    assert answer.failure is None
    assert given_up.cancelled()
    assert starts(tmp_path) == 1


async def test_a_question_after_one_that_was_given_up_while_its_hung_process_was_killed_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killing = asyncio.Event()
    kill = KernelProcess.kill

    async def told(process: KernelProcess) -> int | None:
        killing.set()
        return await kill(process)

    monkeypatch.setattr(kernel_process, "GRACE_S", 0.0)
    monkeypatch.setattr(KernelProcess, "kill", told)
    client = client_of(tmp_path)
    await client.open()
    try:
        hangs = asyncio.create_task(client.ask(request(client, num_warps=32)))
        await asyncio.wait_for(killing.wait(), WAIT_S)
        hangs.cancel()
        await asyncio.wait({hangs})
        answer = await asyncio.wait_for(client.ask(request(client)), WAIT_S)
    finally:
        await client.close()

    assert answer.failure is None
    assert starts(tmp_path) == 2
