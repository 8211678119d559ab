"""What a prompt says of a kernel besides its measurements."""

from __future__ import annotations

from docs.prompting.replies import answers_for
from docs.prompting.session import H200, Scene, requests_of, sample
from tui_tuner.strategies.single_step import OnePromptStrategy

WAIT = "those on one word wait for each other"


async def asked(name: str) -> str:
    """The prompt for a rewrite of a sample kernel."""
    problem = sample(name)
    scene = Scene(problem, OnePromptStrategy(), answers_for(problem), max_evaluations=12)
    requests = await requests_of(scene)
    return next(request for request in requests if request.purpose == "one_prompt").messages[-1].content


async def test_what_no_ceiling_counts_is_told_behind_the_ceilings():
    assert WAIT in (await asked("histogram")).partition("<measurements>")[2].partition("</measurements>")[0]


async def test_of_a_kernel_of_which_the_ceilings_count_all_nothing_more_is_told():
    assert WAIT not in await asked("matmul")


async def test_without_ceilings_there_is_nothing_to_add(monkeypatch):
    monkeypatch.setattr("docs.prompting.session.H200", H200.model_copy(update={"memory_gbs": None, "peaks": {}}))
    assert WAIT not in await asked("histogram")
