"""A rewritten kernel as the model answers it, made a candidate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import BaseModel, ConfigDict

from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.contradiction import without_tautologies
from tui_tuner.problem.expressions import ExpressionError, names_in
from tui_tuner.problem.model import Configuration, Expression, Launch, Problem, Value
from tui_tuner.problem.signature import KernelSignature, find_kernel, identifiers, strip_definitions
from tui_tuner.strategies.rewriting.names import rename_identifiers, rename_in_expression, renames


class TunableReply(BaseModel):
    """One compile-time parameter with the values to search."""

    model_config = ConfigDict(extra="forbid")

    name: str
    values: list[int]
    default: int


class RewriteReply(BaseModel):
    """A new kernel with its search space and launch; the fields are explained in the prompt."""

    model_config = ConfigDict(extra="forbid")

    summary: str
    code: str
    tunables: list[TunableReply]
    restrictions: list[str]
    block_size: list[str]
    grid_div_x: list[str]
    grid_div_y: list[str]
    grid_div_z: list[str]
    grid: list[str]
    shared_memory: str


@dataclass(frozen=True)
class RewriteContext:
    """What a rewritten kernel is read against.

    Attributes:
        base: the kernel that was rewritten; its tunables are the names in use.
        start: the best configuration known of it.
        max_threads: threads that a block may have on the device.
        parameters: tunables that the rewritten kernel must have, with their values.
        frozen: tunables that are frozen at a value.
    """

    problem: Problem
    base: Candidate
    start: Configuration
    max_threads: int | None
    parameters: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    frozen: Configuration = field(default_factory=dict)

    @cached_property
    def signature(self) -> KernelSignature:
        """What the kernel as given takes.

        Raises:
            ProblemError: the source as given does not define it.
        """
        return find_kernel(self.problem.source_text, self.problem.language, self.problem.kernel.name)

    @cached_property
    def in_use(self) -> dict[str, Sequence[Value]]:
        """The tunables that have a name already, with their values."""
        return {**self.problem.tunables, **self.base.tunables}


@dataclass(frozen=True)
class NamedRewrite:
    """A reply in which every tunable has its established name.

    Attributes:
        names: every name in the code and in the launch.
    """

    reply: RewriteReply
    names: frozenset[str]


def candidate_of(rewrite: NamedRewrite, context: RewriteContext, title: str) -> Candidate:
    """The rewritten kernel as a candidate.

    Definitions of tunables are taken out of the code, and tunables in use that the code still names but the reply
    does not list are kept with their values.
    """
    reply, names = rewrite.reply, rewrite.names
    listed = _listed(rewrite, context)
    kept = {name: [*values] for name, values in context.in_use.items() if name in names and name not in listed}
    tunables = listed | kept
    restrictions = [*reply.restrictions, *_kept_restrictions(context.base, kept)]
    return Candidate(
        source=strip_definitions(reply.code, list(tunables)),
        kernel=context.problem.kernel.name,
        launch=_launch(reply, context.problem.launch),
        tunables=tunables,
        restrictions=without_tautologies(restrictions, tunables, context.problem.sizes),
        defaults={**_defaults(context.start, kept), **_defaults({t.name: t.default for t in reply.tunables}, listed)},
        title=title,
    )


def with_names_in_use(reply: RewriteReply, context: RewriteContext) -> NamedRewrite:
    """The reply with the established name of each tunable that it spells in another way."""
    used = _names_of(reply, context.problem)
    names = renames([t.name for t in reply.tunables], list(context.in_use), used)
    if not names:
        return NamedRewrite(reply, used)
    renamed = _renamed(reply, names)
    return NamedRewrite(renamed, _names_of(renamed, context.problem))


def _renamed(reply: RewriteReply, names: Mapping[str, str]) -> RewriteReply:
    tunables = [t.model_copy(update={"name": names.get(t.name, t.name)}) for t in reply.tunables]
    code = rename_identifiers(reply.code, names)
    expressions = {
        name: [rename_in_expression(text, names) for text in getattr(reply, name)] for name in _EXPRESSION_LISTS
    }
    shared_memory = rename_in_expression(reply.shared_memory, names)
    changes = {"tunables": tunables, "code": code, "shared_memory": shared_memory, **expressions}
    return reply.model_copy(update=changes)


def _names_of(reply: RewriteReply, problem: Problem) -> frozenset[str]:
    return identifiers(reply.code, problem.language) | frozenset(_launch_names(reply))


_LAUNCH_LISTS = ("block_size", "grid", "grid_div_x", "grid_div_y", "grid_div_z")
_EXPRESSION_LISTS = (*_LAUNCH_LISTS, "restrictions")


def _listed(rewrite: NamedRewrite, context: RewriteContext) -> dict[str, list[Value]]:
    """The reply's tunables and those that the step introduces, which come with values of their own.

    One that is listed with the value that it is frozen at is not: it keeps the values that it can be freed to.
    """
    listed: dict[str, list[Value]] = {t.name: [*sorted({t.default, *t.values})] for t in rewrite.reply.tunables}
    listed = {name: values for name, values in listed.items() if values != [context.frozen.get(name)]}
    return listed | {name: [*values] for name, values in context.parameters.items() if name in rewrite.names}


def _defaults(wanted: Configuration, tunables: Mapping[str, Sequence[Value]]) -> Configuration:
    return {name: value for name, value in wanted.items() if value in tunables.get(name, ())}


def _kept_restrictions(base: Candidate, kept: Mapping[str, Sequence[Value]]) -> list[str]:
    """Restrictions of the base that are about kept tunables and no others."""
    gone = base.tunables.keys() - kept.keys()
    return [text for text in base.restrictions if names_in(text) & kept.keys() and not names_in(text) & gone]


def _launch(reply: RewriteReply, given: Launch) -> Launch:
    return Launch(
        problem_size=given.problem_size,
        grid_div_x=_expressions(reply.grid_div_x),
        grid_div_y=_expressions(reply.grid_div_y),
        grid_div_z=_expressions(reply.grid_div_z),
        grid=_expressions(reply.grid),
        block_size=_expressions(reply.block_size),
        shared_memory=reply.shared_memory.strip() or 0,
    )


def _expressions(texts: Sequence[str]) -> list[Expression] | None:
    return list(texts) or None


def _launch_names(reply: RewriteReply) -> Iterator[str]:
    texts = [text for name in _LAUNCH_LISTS for text in getattr(reply, name)]
    for text in [*texts, reply.shared_memory]:
        try:
            yield from names_in(text)
        except ExpressionError:
            continue  # named among the faults, with the reason
