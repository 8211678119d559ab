"""A rewritten kernel as the model answers it, made a candidate; a variant of a tunable's name becomes that name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from pydantic import BaseModel, ConfigDict

from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.contradiction import without_tautologies
from tui_tuner.problem.expressions import ExpressionError, names_in, respelt
from tui_tuner.problem.model import Configuration, Expression, Launch, Problem, Value
from tui_tuner.strategies.rewriting.dialect import Dialect, dialect_of

_WITH_AXIS = re.compile(r"(.*[^_])(?:_([xyzXYZ])|(?<=[a-z0-9])([XYZ]))")
_BLOCK_SIZE = "blocksize"
_BLOCK_SIZE_WORDS = frozenset({"blockdim", "threadsperblock", "workgroupsize"})
_BLOCK_SIZE_WORDS_WITH_AXIS = _BLOCK_SIZE_WORDS | {"threads", "localsize"}
_NAMES_OF_THE_LAUNCH = frozenset({"block_size_x", "block_size_y", "block_size_z"})


def renames(listed: Collection[str], in_use: Collection[str], used_names: Collection[str]) -> dict[str, str]:
    """The established name of each variant that can simply be renamed.

    Left alone is a variant of several names, or of one that occurs itself or has other variants here; and
    block_size_x, _y and _z, which say what the block size is where the launch does not.

    Args:
        listed: the tunables of the rewritten kernel.
        in_use: the tunables of the problem and of the incumbent.
        used_names: names that occur in the rewritten code and its launch.
    """
    found = {}
    for name in listed:
        established = _established(name, in_use)
        if len(established) == 1 and name not in _NAMES_OF_THE_LAUNCH:
            found[name] = established[0]
    variants = Counter(found.values())
    return {
        name: established
        for name, established in found.items()
        if variants[established] == 1 and established not in listed and established not in used_names
    }


def conflicts(listed: Collection[str], in_use: Collection[str], used_names: Collection[str]) -> list[str]:
    """What is wrong with variants that cannot be renamed, in words for the model; arguments as of `renames`."""
    return list(dict.fromkeys(_conflicts(listed, in_use, {*listed, *used_names})))


def _conflicts(listed: Collection[str], in_use: Collection[str], occurring: Collection[str]) -> Iterator[str]:
    established = {name: _established(name, in_use) for name in listed}
    for name, known in established.items():
        for one in known:
            if one in occurring:
                yield f"tunables: '{name}' stands beside '{one}', which is in use; use {one} alone"
                continue
            same = [other for other, its in established.items() if its == [one]]
            if len(same) > 1:
                yield f"tunables: {_quoted(same)} all mean '{one}', which is in use; use {one} alone"


def _quoted(names: Collection[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def rename_in_expression(expression: str, names: Mapping[str, str]) -> str:
    """An expression of a launch or restriction with these names replaced; as it is if it cannot be read."""
    try:
        return respelt(expression, names)
    except ExpressionError:
        return expression


def _established(name: str, in_use: Collection[str]) -> list[str]:
    """The names in use that this one is a variant of; none if it is in use itself."""
    if name in in_use:
        return []
    stem, axis = _meaning(name)
    same = [known for known in in_use if _folded(known) == _folded(name) or _meaning(known) == (stem, axis)]
    if same or axis:
        return same
    return [known for known in in_use if _meaning(known)[0] == stem]


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _meaning(name: str) -> tuple[str, str]:
    """The name without spelling, and its axis: ("blocksize", "x") for "BLOCK_DIM_X"."""
    match = _WITH_AXIS.fullmatch(name)
    if match is None:
        stem = _folded(name)
        return (_BLOCK_SIZE if stem in _BLOCK_SIZE_WORDS else stem), ""
    stem = _folded(match[1])
    return (_BLOCK_SIZE if stem in _BLOCK_SIZE_WORDS_WITH_AXIS else stem), (match[2] or match[3]).lower()


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


class TritonReply(BaseModel):
    """A new kernel of a Python file with its search space; the fields are explained in the prompt."""

    model_config = ConfigDict(extra="forbid")

    summary: str
    code: str
    tunables: list[TunableReply]
    restrictions: list[str]
    grid: list[str]

    @property
    def rewrite(self) -> RewriteReply:
        """The same as of a kernel that this program launches."""
        nothing: list[str] = []
        return RewriteReply(
            summary=self.summary,
            code=self.code,
            tunables=self.tunables,
            restrictions=self.restrictions,
            grid=self.grid,
            block_size=nothing,
            grid_div_x=nothing,
            grid_div_y=nothing,
            grid_div_z=nothing,
            shared_memory="",
        )


def reply_type(problem: Problem) -> type[RewriteReply | TritonReply]:
    """What a model answers."""
    return RewriteReply if problem.is_compiled else TritonReply


@dataclass(frozen=True)
class Declined:
    """A reply without code: what is asked for is not worth doing, and why."""

    reason: str


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
    def dialect(self) -> Dialect:
        """Reads its code."""
        return dialect_of(self.problem)

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
        source=context.dialect.whole(context.dialect.without_values(reply.code, tunables), context.base.source),
        kernel=context.problem.kernel.name,
        launch=_launch(reply, context.problem.launch),
        tunables=tunables,
        restrictions=without_tautologies(restrictions, tunables, context.problem.sizes),
        defaults={**_defaults(context.start, kept), **_defaults({t.name: t.default for t in reply.tunables}, listed)},
        title=title,
    )


def with_names_in_use(reply: RewriteReply, context: RewriteContext) -> NamedRewrite:
    """The reply with the established name of each tunable that it spells in another way."""
    used = _names_of(reply, context.dialect)
    names = renames([t.name for t in reply.tunables], list(context.in_use), used)
    if not names:
        return NamedRewrite(reply, used)
    renamed = _renamed(reply, names, context.dialect)
    return NamedRewrite(renamed, _names_of(renamed, context.dialect))


def _renamed(reply: RewriteReply, names: Mapping[str, str], dialect: Dialect) -> RewriteReply:
    tunables = [t.model_copy(update={"name": names.get(t.name, t.name)}) for t in reply.tunables]
    code = dialect.renamed(reply.code, names)
    expressions = {
        name: [rename_in_expression(text, names) for text in getattr(reply, name)] for name in _EXPRESSION_LISTS
    }
    shared_memory = rename_in_expression(reply.shared_memory, names)
    changes = {"tunables": tunables, "code": code, "shared_memory": shared_memory, **expressions}
    return reply.model_copy(update=changes)


def _names_of(reply: RewriteReply, dialect: Dialect) -> frozenset[str]:
    return dialect.names(reply.code) | frozenset(_launch_names(reply))


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
