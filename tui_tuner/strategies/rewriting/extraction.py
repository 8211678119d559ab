"""A kernel out of a model's free text, and a candidate in the form of a reply, so that one set of checks serves all."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui_tuner.errors import ProblemError
from tui_tuner.llm.thinking import split_thinking
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Expression, Problem
from tui_tuner.problem.signature import find_kernel, strip_definitions
from tui_tuner.strategies.base import Effects, FaultyReply
from tui_tuner.strategies.rewriting.failures import CandidateFailed
from tui_tuner.strategies.rewriting.rewrite import RewriteContext, RewriteReply
from tui_tuner.strategies.rewriting.rewrite_faults import read_rewrite

_FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_BLOCK_SIZES = ("block_size_x", "block_size_y", "block_size_z")


class UnusableKernel(CandidateFailed):
    """A model's text holds no kernel that could be evaluated."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__(faults[0], "\n".join(faults))


def kernel_in(text: str, session: Effects) -> str:
    """The kernel in a model's text, without definitions of tunables.

    It is the first fenced block that defines the kernel; text without a fence is taken as a whole.

    Raises:
        UnusableKernel: there is none, or it takes other arguments, or it is text that is not built.
    """
    problem, base = session.problem, session.incumbent.candidate
    code = strip_definitions(_block(split_thinking(text)[0], problem), {*problem.tunables, *base.tunables})
    try:
        read_rewrite(reply_of(base.model_copy(update={"source": code})), context_of(session, base))
    except FaultyReply as faulty:
        raise UnusableKernel(faulty.faults) from None
    return f"{code.strip()}\n"


def _block(text: str, problem: Problem) -> str:
    blocks: list[str] = _FENCED.findall(text) or [text]
    if len(blocks) == 1:
        return blocks[0]
    return next((block for block in blocks if _defines_kernel(block, problem)), blocks[0])


def _defines_kernel(code: str, problem: Problem) -> bool:
    try:
        find_kernel(code, problem.language, problem.kernel.name)
    except ProblemError:
        return False
    return True


def context_of(session: Effects, base: Candidate) -> RewriteContext:
    """What a change of a candidate is read against."""
    return RewriteContext(session.problem, base, base.default_configuration, session.bench.device.max_threads_per_block)


def reply_of(candidate: Candidate) -> RewriteReply:
    """The kernel and launch of a candidate as a reply that lists no tunables: those of its base are kept."""
    launch = candidate.launch
    return RewriteReply(
        summary="",
        code=candidate.source,
        tunables=[],
        restrictions=[],
        block_size=_texts(launch.block_size) or _block_size(candidate),
        grid_div_x=_divisors(launch.grid_div_x),
        grid_div_y=_divisors(launch.grid_div_y),
        grid_div_z=_divisors(launch.grid_div_z),
        grid=_texts(launch.grid),
        shared_memory=str(launch.shared_memory),
    )


def _block_size(candidate: Candidate) -> list[str]:
    """The extents of a block by the tunables that give them where the launch says nothing."""
    extents = [name if name in candidate.tunables else "1" for name in _BLOCK_SIZES]
    while extents and extents[-1] == "1":
        extents.pop()
    return extents


def _divisors(expressions: Sequence[Expression] | None) -> list[str]:
    """A list of none divides by 1, whereas a reply without divisors divides by the block size."""
    return ["1"] if expressions == [] else _texts(expressions)


def _texts(expressions: Sequence[Expression] | None) -> list[str]:
    return [str(expression) for expression in expressions or []]
