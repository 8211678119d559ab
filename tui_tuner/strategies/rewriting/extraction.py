"""A kernel out of a model's free text, and the questions that make a candidate of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from tui_tuner.llm.streams import split_thinking
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.contradiction import without_tautologies
from tui_tuner.problem.model import Expression
from tui_tuner.prompts import render
from tui_tuner.strategies.base import Effects, FaultyReply, ReplyType, ask_and_read
from tui_tuner.strategies.rewriting import situation
from tui_tuner.strategies.rewriting.failures import CandidateFailed
from tui_tuner.strategies.rewriting.faults import read_rewrite
from tui_tuner.strategies.rewriting.rewrite import (
    RewriteContext,
    RewriteReply,
    TunableReply,
    candidate_of,
    conflicts,
    renames,
    with_names_in_use,
)


class ParametersReply(BaseModel):
    """Values for listed parameters; explained in the prompt."""

    model_config = ConfigDict(extra="forbid")

    parameters: list[TunableReply]


class RestrictionsReply(BaseModel):
    """What every configuration must satisfy; explained in the prompt."""

    model_config = ConfigDict(extra="forbid")

    restrictions: list[str]


class AskPrompt(Protocol):
    """Puts the text of a prompt to the model."""

    async def __call__(
        self, purpose: str, prompt: str, reply_type: type[ReplyType], check: Callable[[ReplyType], list[str]]
    ) -> ReplyType:
        """A validated reply."""


async def with_parameters(ask: AskPrompt, session: Effects, candidate: Candidate, names: Sequence[str]) -> Candidate:
    """The candidate with these names in its code made tunables.

    Tunables that it has stay as they are, and another spelling of one becomes that one. Definitions of new ones are
    taken out of the code, and names that do not occur are left out.

    Raises:
        UnusableKernel: a name means the same as a tunable that occurs itself.
        ModelFailed: the model names no usable values.
    """
    context = context_of(session, candidate)
    reply, new = _renamed(candidate, names, context)

    if not new:
        return _with_its_launch(_candidate(reply, context, candidate.title), context)

    def read(answer: ParametersReply) -> Candidate:
        if faults := _unlisted(answer, new):
            raise FaultyReply(faults)
        merged = reply.model_copy(update={"tunables": answer.parameters})
        return read_rewrite(merged, context, candidate.title).candidate

    facts = await situation(session, candidate.model_copy(update={"source": reply.code}))
    prompt = render(
        "fix_parameters", situation=facts, names="\n".join(new), evaluations=session.budget.evaluations_left
    )
    fixed = await ask_and_read(lambda check: ask("fix_parameters", prompt, ParametersReply, check), read)
    return _with_its_launch(fixed, context)


def _renamed(candidate: Candidate, names: Sequence[str], context: RewriteContext) -> tuple[RewriteReply, list[str]]:
    """The kernel with each name that is another spelling of a tunable replaced, and the names that are new."""
    used = context.dialect.names(candidate.source)
    wanted = [name for name in dict.fromkeys(names) if name in used and name not in context.in_use]
    if clashes := conflicts(wanted, list(context.in_use), used):
        raise UnusableKernel(clashes)
    known = renames(wanted, list(context.in_use), used)
    code = context.dialect.renamed(candidate.source, known)
    return reply_of(candidate.model_copy(update={"source": code})), [name for name in wanted if name not in known]


def _candidate(reply: RewriteReply, context: RewriteContext, title: str) -> Candidate:
    return candidate_of(with_names_in_use(reply, context), context, title)


def _with_its_launch(fixed: Candidate, context: RewriteContext) -> Candidate:
    """The candidate with the launch as its base writes it, if it is still the same."""
    same = fixed.launch == _candidate(reply_of(context.base), context, "").launch
    return fixed.model_copy(update={"launch": context.base.launch}) if same else fixed


def _unlisted(answer: ParametersReply, wanted: Sequence[str]) -> list[str]:
    named = [parameter.name for parameter in answer.parameters]
    missing = [f"parameters: '{name}' is missing" for name in wanted if name not in named]
    return missing + [f"parameters: '{name}' was not asked for" for name in named if name not in wanted]


async def with_restrictions(ask: AskPrompt, session: Effects, candidate: Candidate) -> Candidate:
    """The candidate with what the model says that every configuration of it must satisfy, tautologies dropped.

    Raises:
        ModelFailed: the model names no usable restrictions.
    """
    context, plain = context_of(session, candidate), reply_of(candidate)

    def read(answer: RestrictionsReply) -> list[str]:
        read_rewrite(plain.model_copy(update={"restrictions": answer.restrictions}), context)
        return answer.restrictions

    prompt = render("restrictions", situation=await situation(session, candidate))
    further = await ask_and_read(lambda check: ask("restrictions", prompt, RestrictionsReply, check), read)
    texts = [*candidate.restrictions, *further]
    restrictions = without_tautologies(texts, candidate.tunables, session.problem.sizes)
    return candidate.model_copy(update={"restrictions": restrictions})


_OPENS, _CLOSES = re.compile(r"[ \t]*```[^`]*"), re.compile(r"[ \t]*```[ \t]*")
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
    base = session.incumbent.candidate
    context = context_of(session, base)
    block = _block(split_thinking(text)[0], context)
    code = context.dialect.without_values(block, {*session.problem.tunables, *base.tunables})
    try:
        read_rewrite(reply_of(base.model_copy(update={"source": code})), context)
    except FaultyReply as faulty:
        raise UnusableKernel(faulty.faults) from None
    return f"{context.dialect.whole(code, base.source).strip()}\n"


def _block(text: str, context: RewriteContext) -> str:
    blocks = _fenced(text) or [text]
    if len(blocks) == 1:
        return blocks[0]
    return next((block for block in blocks if context.dialect.has_kernel(block)), blocks[0])


def _fenced(text: str) -> list[str]:
    """What stands in fenced blocks that are closed."""
    blocks: list[str] = []
    begin: int | None = None
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if begin is None and _OPENS.fullmatch(line):
            begin = number + 1
        elif begin is not None and _CLOSES.fullmatch(line):
            blocks.append("".join(f"{one}\n" for one in lines[begin:number]))
            begin = None
    return blocks


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
