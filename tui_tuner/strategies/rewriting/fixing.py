"""Two questions about a candidate: values for names in its code, and what its configurations must satisfy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.signature import identifiers
from tui_tuner.problem.tautologies import without_tautologies
from tui_tuner.prompts.render import render
from tui_tuner.strategies.base import Effects, FaultyReply, ReplyType, ask_and_read
from tui_tuner.strategies.rewriting.extraction import UnusableKernel, context_of, reply_of
from tui_tuner.strategies.rewriting.names import conflicts, rename_identifiers, renames
from tui_tuner.strategies.rewriting.rewrite import (
    RewriteContext,
    RewriteReply,
    TunableReply,
    candidate_of,
    with_names_in_use,
)
from tui_tuner.strategies.rewriting.rewrite_faults import read_rewrite
from tui_tuner.strategies.situation import situation


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
        ...


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

    facts = situation(session, candidate.model_copy(update={"source": reply.code}))
    prompt = render(
        "fix_parameters", situation=facts, names="\n".join(new), evaluations=session.budget.evaluations_left
    )
    fixed = await ask_and_read(lambda check: ask("fix_parameters", prompt, ParametersReply, check), read)
    return _with_its_launch(fixed, context)


def _renamed(candidate: Candidate, names: Sequence[str], context: RewriteContext) -> tuple[RewriteReply, list[str]]:
    """The kernel with each name that is another spelling of a tunable replaced, and the names that are new."""
    used = identifiers(candidate.source, context.problem.language)
    wanted = [name for name in dict.fromkeys(names) if name in used and name not in context.in_use]
    if clashes := conflicts(wanted, list(context.in_use), used):
        raise UnusableKernel(clashes)
    known = renames(wanted, list(context.in_use), used)
    code = rename_identifiers(candidate.source, known)
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

    prompt = render("restrictions", situation=situation(session, candidate))
    further = await ask_and_read(lambda check: ask("restrictions", prompt, RestrictionsReply, check), read)
    texts = [*candidate.restrictions, *further]
    restrictions = without_tautologies(texts, candidate.tunables, session.problem.sizes)
    return candidate.model_copy(update={"restrictions": restrictions})
