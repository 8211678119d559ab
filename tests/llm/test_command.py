from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.llm.wires import REQUEST, SCHEMA
from tests.waiting import GROWING_S, LIMIT_S, is_running
from tui_tuner.llm import Chunk, Reply
from tui_tuner.llm.command import CommandBackend
from tui_tuner.llm.errors import BrokenOff, ModelTimedOut, NoWay, ServerFault
from tui_tuner.llm.streams import BackoffPolicy, RetryingBackend, complete


def python(code: str, limit_s: float = LIMIT_S) -> CommandBackend:
    return CommandBackend([sys.executable, "-S", "-c", f"import sys, time, os\n{code}"], limit_s)


async def run(code: str) -> Reply:
    return await complete(python(code), REQUEST)


async def gone(pid: int) -> bool:
    deadline = time.monotonic() + LIMIT_S
    while is_running(pid) and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    return not is_running(pid)


async def test_the_program_reads_the_conversation_under_role_headings_with_the_schema() -> None:
    reply = await run("sys.stdout.write(sys.stdin.read())")

    assert "=== SYSTEM ===\nYou tune kernels.\n" in reply.text
    assert "=== USER ===\nHow far shall I unroll?" in reply.text
    assert str(SCHEMA["required"]).replace("'", '"') in reply.text
    assert reply.text.endswith("=== ASSISTANT ===\n")


async def test_the_program_is_asked_for_code_in_a_fenced_block_where_that_is_set() -> None:
    schema = {"properties": {"code": {"type": "string"}}, "required": ["code"]}
    backend = CommandBackend([sys.executable, "-c", "import sys; print(sys.stdin.read())"], LIMIT_S, fenced=True)

    reply = await complete(backend, replace(REQUEST, schema=schema))

    assert "First the whole `code` in one fenced block" in reply.text


async def test_the_counts_are_estimated_and_the_cost_is_unknown() -> None:
    usage = (await run("print('x' * 299)")).usage

    assert (usage.output, usage.cost, usage.estimated) == (100, None, True)


async def test_output_arrives_while_the_program_still_runs() -> None:
    backend = python("os.write(1, b'one\\n'); time.sleep(600)")
    chunks = backend.stream(REQUEST)

    first = await asyncio.wait_for(anext(chunks), LIMIT_S)
    await chunks.aclose()

    assert first.text == "one\n"


async def test_a_failing_program_is_reported_with_its_status_and_its_last_words() -> None:
    with pytest.raises(ServerFault) as caught:
        await run("print('x' * 20000, 'not logged in', 'sk-0123456789abcdefghij', file=sys.stderr); sys.exit(3)")

    assert caught.value.status == 3
    assert "not logged in [key]" in str(caught.value)
    assert "sk-0123" not in str(caught.value)


async def test_a_program_that_says_nothing_broke_off() -> None:
    with pytest.raises(BrokenOff, match="wrote nothing"):
        await run("sys.stdin.read()")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "the program cannot be started; it, or what its first line names, is not there"),
        ("#!/no/such/shell\n", "the program cannot be started; it, or what its first line names, is not there"),
        ("echo {}\n", "the program cannot be started; it begins with no line that names what runs it, as #!/bin/sh"),
    ],
)
async def test_a_program_that_cannot_be_started_says_why_and_is_not_tried_again(
    tmp_path: Path, text: str | None, told: str
) -> None:
    program = tmp_path / "assistant"
    if text is not None:
        program.write_text(text)
        program.chmod(0o700)
    with pytest.raises(NoWay) as caught:
        await complete(CommandBackend([str(program)], 5), REQUEST)
    assert caught.value.reason == told


async def test_a_program_that_a_signal_ends_says_which() -> None:
    with pytest.raises(ServerFault, match="the program was killed: Segmentation fault"):
        await run("os.kill(os.getpid(), 11)")


@pytest.mark.slow
async def test_a_program_that_takes_too_long_is_told_with_its_last_words_and_the_way_out() -> None:
    for limit_s in (1, 10, LIMIT_S):  # a busy machine takes its time to start one
        backend = python("print('loading', file=sys.stderr, flush=True); time.sleep(1000)")
        with pytest.raises(ModelTimedOut) as caught:
            await complete(RetryingBackend(backend, BackoffPolicy(limit_s=limit_s)), REQUEST)
        if caught.value.body:
            break
    assert str(caught.value).endswith(f"no whole reply within {limit_s:g} s; --reply-time allows more: loading")


CHILD_THEN_HANG = """
import subprocess
child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])
os.write(1, f'{os.getpid()} {child.pid}'.encode())
time.sleep(600)
"""


@pytest.mark.slow
async def test_a_late_program_is_killed_with_its_children() -> None:
    said: list[str] = []

    for limit_s in GROWING_S:
        with pytest.raises(ModelTimedOut):
            await complete(python(CHILD_THEN_HANG, limit_s), REQUEST, lambda chunk: said.append(chunk.text))
        if said:
            break

    pids = [int(pid) for pid in "".join(said).split()]
    assert len(pids) == 2
    assert all([await gone(pid) for pid in pids])


async def test_a_cancelled_program_is_killed_with_its_children() -> None:
    said: list[str] = []
    begun = asyncio.Event()

    def hear(chunk: Chunk) -> None:
        said.append(chunk.text)
        begun.set()

    task = asyncio.create_task(complete(python(CHILD_THEN_HANG), REQUEST, hear))
    await asyncio.wait_for(begun.wait(), LIMIT_S)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert all([await gone(int(pid)) for pid in "".join(said).split()])


async def test_a_child_left_behind_does_not_hold_the_reply_back() -> None:
    code = """
import subprocess
subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'], stdout=subprocess.DEVNULL)
print('done')
"""
    started = time.monotonic()

    assert (await run(code)).text == "done\n"
    assert time.monotonic() - started < LIMIT_S


async def test_invalid_and_split_utf_8_never_raises() -> None:
    code = r"""
for piece in (b'\xc2', b'\xb5 \xff\xfe ok \xf0\x9f', b'\x9a\x80 \xe2\x82'):
    os.write(1, piece); time.sleep(0.02)
"""
    assert (await run(code)).text == "µ \ufffd\ufffd ok 🚀 \ufffd"


async def test_large_prompts_and_large_replies_do_not_block_each_other() -> None:
    backend = python("os.write(2, b'e' * 500000); sys.stdout.write('y' * 1000000); sys.stdin.read()")
    large = type(REQUEST)("p", (type(REQUEST.messages[0])("user", "x" * 1_000_000),))

    assert len((await complete(backend, large)).text) == 1_000_000


async def test_a_program_that_never_stops_writing_is_stopped() -> None:
    with pytest.raises(BrokenOff, match="more than"):
        await run("while True: os.write(1, b'y' * 65536)")


async def test_arguments_are_passed_as_they_are_and_no_shell_reads_them() -> None:
    backend = CommandBackend([sys.executable, "-S", "-c", "import sys; print(sys.argv[1])", "$HOME; `id`"], 10)

    assert (await complete(backend, REQUEST)).text == "$HOME; `id`\n"
    assert os.sep not in backend.name
