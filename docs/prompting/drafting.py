"""The prompt for a kernel that has no problem file, as it is asked before a session begins."""

from __future__ import annotations

import asyncio

from docs.prompting.collected import Prompt
from tui_tuner.llm import Reply, Request
from tui_tuner.llm.structured import NoUsableReply
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.load import problem_in_text
from tui_tuner.problem.model import Problem
from tui_tuner.problem.signature import find_kernel
from tui_tuner.prompts import render
from tui_tuner.strategies.propose_problem import KernelToDraft, propose_problem

_WHEN = (
    "Before a session of a kernel without a problem file, by any strategy that has a model; the draft is what rules "
    "make of the kernel's text and of the host's code."
)


def drafting_prompts(problem: Problem) -> list[Prompt]:
    """The prompt for the file of a problem's kernel, as if there were no problem file beside it."""
    file, name = problem.directory / problem.kernel.source, problem.kernel.name
    source, draft = problem.source_text, scaffold(file, name)
    kernel = KernelToDraft(
        find_kernel(source, problem.language, name),
        problem.language,
        source,
        "",
        draft,
        "run on the emulator as given at n = 4096 and n = 3071: every array is large enough, every output is written",
        problem,
        lambda _: problem_in_text(draft, file.with_suffix(".toml")),
    )
    requests: list[Request] = []

    async def call(request: Request) -> Reply:
        requests.append(request)
        return Reply("")

    try:
        asyncio.run(propose_problem(call, kernel))
    except NoUsableReply:
        return [Prompt("draft_problem", _WHEN, requests[0], len(requests))]
    raise ValueError("an empty reply was taken for a draft")


def put_back() -> str:
    """The message after a draft with which the kernel could not be run."""
    return render("draft_failed", reason="launch: the kernel touched memory 0 bytes past the end of argument 2")
