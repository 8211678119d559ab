"""What is wrong with a rewritten kernel before anything is built, in words for the model; else it is a candidate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tui_tuner.problem.candidate import Candidate, geometry
from tui_tuner.problem.contradiction import why_empty
from tui_tuner.problem.expressions import ExpressionError, check_expression
from tui_tuner.problem.inputs import test_sizes
from tui_tuner.problem.tunables import why_no_tunable
from tui_tuner.strategies.base import FaultyReply
from tui_tuner.strategies.rewriting.rewrite import (
    NamedRewrite,
    RewriteContext,
    RewriteReply,
    TritonReply,
    candidate_of,
    conflicts,
    with_names_in_use,
)

MOST_VALUES = 16
"""Values of one tunable at most."""
MOST_COMBINATIONS = 200_000
"""Combinations of all values at most, valid or not: the searches keep every configuration in memory."""


@dataclass(frozen=True)
class CheckedRewrite:
    """A rewritten kernel that can be evaluated.

    Attributes:
        reply: the words of the model as they are.
        searched: the tunables that it lists with several values, by their established names.
    """

    reply: RewriteReply | TritonReply
    candidate: Candidate
    searched: frozenset[str]


def read_rewrite(reply: RewriteReply | TritonReply, context: RewriteContext, title: str = "") -> CheckedRewrite:
    """The reply as a candidate with this title.

    Raises:
        FaultyReply: it cannot be evaluated.
    """
    rewrite = with_names_in_use(reply.rewrite if isinstance(reply, TritonReply) else reply, context)
    faults = _reply_faults(rewrite, context)
    if faults:
        raise FaultyReply(faults)
    candidate = candidate_of(rewrite, context, title)
    faults = _candidate_faults(rewrite.reply, candidate, context)
    if faults:
        raise FaultyReply(faults)
    searched = frozenset(tunable.name for tunable in rewrite.reply.tunables if len(set(tunable.values)) > 1)
    return CheckedRewrite(reply, candidate, searched)


def _reply_faults(rewrite: NamedRewrite, context: RewriteContext) -> list[str]:
    return [
        *context.dialect.faults(rewrite.reply.code, _offered(rewrite.reply, context), context.base.source),
        *_tunable_faults(rewrite, context),
        *_parameter_faults(rewrite, context),
        *_length_faults(rewrite.reply),
    ]


def _offered(reply: RewriteReply, context: RewriteContext) -> list[str]:
    return [*(tunable.name for tunable in reply.tunables), *context.parameters]


def _candidate_faults(reply: RewriteReply, candidate: Candidate, context: RewriteContext) -> list[str]:
    combinations = math.prod(len(values) for values in candidate.tunables.values())
    if combinations > MOST_COMBINATIONS:
        return [f"tunables: {combinations} combinations of values, at most {MOST_COMBINATIONS}: offer fewer"]
    return [*_expression_faults(reply, candidate, context)] or [*_launch_faults(candidate, context)]


def _tunable_faults(rewrite: NamedRewrite, context: RewriteContext) -> Iterator[str]:
    seen: set[str] = set()
    for tunable in rewrite.reply.tunables:
        name = tunable.name
        reserved = why_no_tunable(name, context.problem.language)
        if reserved is not None:
            yield f"tunables: '{name}' cannot be a tunable: {reserved}"
        if name in seen:
            yield f"tunables: '{name}' is listed twice"
        if name not in rewrite.names:
            yield f"tunables: '{name}' occurs neither in the code nor in the launch"
        if not tunable.values or len(set(tunable.values)) > MOST_VALUES:
            yield f"tunables: '{name}' needs 1 to {MOST_VALUES} values, it has {len(set(tunable.values))}"
        if tunable.default not in tunable.values:
            yield f"tunables: the default {tunable.default} of '{name}' is not among its values"
        seen.add(name)
    yield from conflicts([t.name for t in rewrite.reply.tunables], list(context.in_use), rewrite.names)


def _parameter_faults(rewrite: NamedRewrite, context: RewriteContext) -> Iterator[str]:
    defaults = {t.name: t.default for t in rewrite.reply.tunables}
    for name, values in context.parameters.items():
        if name not in rewrite.names:
            yield f"tunables: the step introduces '{name}', which occurs neither in the code nor in the launch"
        elif defaults.get(name, values[0]) not in values:
            yield f"tunables: the default of '{name}' must be one of the step's values {list(values)}"


def _length_faults(reply: RewriteReply) -> Iterator[str]:
    for part in ("block_size", "grid"):
        if len(getattr(reply, part)) > 3:
            yield f"{part}: at most three expressions, along x, y, z"


def _expression_faults(reply: RewriteReply, candidate: Candidate, context: RewriteContext) -> Iterator[str]:
    known = {*candidate.tunables, *context.problem.sizes}
    launch = candidate.launch
    fields = {
        "block_size": launch.block_size,
        "grid": launch.grid,
        "grid_div_x": launch.grid_div_x,
        "grid_div_y": launch.grid_div_y,
        "grid_div_z": launch.grid_div_z,
        "shared_memory": [launch.shared_memory],
        "restrictions": reply.restrictions,
    }
    for part, expressions in fields.items():
        for expression in expressions or []:
            try:
                check_expression(expression, known)
            except ExpressionError as error:
                yield f"{part}: '{expression}': {error}"


def _launch_faults(candidate: Candidate, context: RewriteContext) -> Iterator[str]:
    problem = context.problem
    try:
        space = candidate.space(sizes=problem.sizes, max_threads=context.max_threads)
        if space.is_empty:
            yield f"restrictions: {_why_empty(candidate, context)}"
            return
        broken = space.is_valid(candidate.default_configuration)
        if broken is not None:
            yield f"tunables: the defaults are no valid configuration: {broken}"
            return
        for sizes in test_sizes(problem):
            geometry(candidate.launch, sizes, candidate.default_configuration)
    except ExpressionError as error:
        yield f"launch: {error}"


def _why_empty(candidate: Candidate, context: RewriteContext) -> str:
    return why_empty(
        candidate.tunables,
        candidate.restrictions,
        sizes=context.problem.sizes,
        max_threads=context.max_threads,
        block_size=candidate.launch.block_size,
    )
