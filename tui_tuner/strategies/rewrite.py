"""A rewritten kernel as the model answers it, checked and made a candidate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.datasets import test_sizes
from tui_tuner.evaluate.refuse import refuse
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.expressions import ExpressionError, names_in
from tui_tuner.problem.expressions import check as check_expression
from tui_tuner.problem.geometry import geometry
from tui_tuner.problem.model import Expression, Launch, Problem, Value
from tui_tuner.problem.reserved import why_no_tunable
from tui_tuner.problem.signature import find_kernel, identifiers, same_signature, strip_definitions
from tui_tuner.problem.space import SearchSpace

MOST_VALUES = 16


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


def candidate_of(reply: RewriteReply, problem: Problem, title: str) -> Candidate:
    """The reply as a candidate, its tunables fixed up.

    Definitions of tunables are taken out of the code, and the problem's own tunables that the code
    still uses but the reply does not list are kept with the problem's values.
    """
    listed = {t.name: list(dict.fromkeys([t.default, *t.values])) for t in reply.tunables}
    used = identifiers(reply.code, problem.language) | _launch_names(reply)
    kept = {name: values for name, values in problem.tunables.items() if name in used and name not in listed}
    tunables: dict[str, list[Value]] = {name: [*sorted(values)] for name, values in listed.items()}
    tunables |= kept
    return Candidate(
        source=strip_definitions(reply.code, list(tunables)),
        kernel=problem.kernel.name,
        launch=_launch(reply, problem.launch),
        tunables=tunables,
        restrictions=reply.restrictions,
        defaults={t.name: t.default for t in reply.tunables},
        title=title,
    )


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


def _launch_names(reply: RewriteReply) -> frozenset[str]:
    texts = [*reply.block_size, *reply.grid, *reply.grid_div_x, *reply.grid_div_y, *reply.grid_div_z]
    names: set[str] = set()
    for text in [*texts, reply.shared_memory]:
        try:
            names |= names_in(text)
        except ExpressionError:
            continue  # named by `faults_of`, with the reason
    return frozenset(names)


def faults_of(reply: RewriteReply, problem: Problem, max_threads: int) -> list[str]:
    """What is wrong with a reply, in words for the model; empty if it can be evaluated."""
    faults = [*_code_faults(reply, problem), *_tunable_faults(reply, problem), *_length_faults(reply)]
    if faults:
        return faults
    candidate = candidate_of(reply, problem, "")
    return [*_expression_faults(candidate, problem)] or [*_launch_faults(candidate, problem, max_threads)]


def _code_faults(reply: RewriteReply, problem: Problem) -> Iterator[str]:
    refused = refuse(reply.code, problem.language)
    if refused is not None:
        yield f"code: {refused.message}"
        return
    if "<<<" in reply.code:
        yield "code: it launches a kernel (<<<...>>>); answer with device code only"
    try:
        theirs = find_kernel(reply.code, problem.language, problem.kernel.name)
        ours = find_kernel(problem.source_text, problem.language, problem.kernel.name)
    except ProblemError as error:
        yield f"code: {error.message}"
        return
    different = same_signature(ours, theirs)
    if different is not None:
        yield f"code: the kernel must take the same arguments: {different}"


def _tunable_faults(reply: RewriteReply, problem: Problem) -> Iterator[str]:
    used = identifiers(reply.code, problem.language) | _launch_names(reply)
    seen: set[str] = set()
    for tunable in reply.tunables:
        name = tunable.name
        reserved = why_no_tunable(name, problem.language)
        if reserved is not None:
            yield f"tunables: '{name}' cannot be a tunable: {reserved}"
        if name in seen:
            yield f"tunables: '{name}' is listed twice"
        if name not in used:
            yield f"tunables: '{name}' occurs neither in the code nor in the launch"
        if not tunable.values or len(set(tunable.values)) > MOST_VALUES:
            yield f"tunables: '{name}' needs 1 to {MOST_VALUES} values, it has {len(set(tunable.values))}"
        if tunable.default not in tunable.values:
            yield f"tunables: the default {tunable.default} of '{name}' is not among its values"
        seen.add(name)


def _length_faults(reply: RewriteReply) -> Iterator[str]:
    for field in ("block_size", "grid"):
        if len(getattr(reply, field)) > 3:
            yield f"{field}: at most three expressions, along x, y, z"


def _expression_faults(candidate: Candidate, problem: Problem) -> Iterator[str]:
    known = {*candidate.tunables, *problem.sizes}
    launch = candidate.launch
    fields = {
        "block_size": launch.block_size,
        "grid": launch.grid,
        "grid_div_x": launch.grid_div_x,
        "grid_div_y": launch.grid_div_y,
        "grid_div_z": launch.grid_div_z,
        "shared_memory": [launch.shared_memory],
        "restrictions": candidate.restrictions,
    }
    for field, expressions in fields.items():
        for expression in expressions or []:
            try:
                check_expression(expression, known)
            except ExpressionError as error:
                yield f"{field}: '{expression}': {error}"


def _launch_faults(candidate: Candidate, problem: Problem, max_threads: int) -> Iterator[str]:
    try:
        space = SearchSpace(
            candidate.tunables,
            candidate.restrictions,
            sizes=problem.sizes,
            max_threads=max_threads,
            launch=candidate.launch,
        )
        if space.is_empty:
            yield "restrictions: no configuration satisfies them all"
            return
        broken = space.is_valid(candidate.default_configuration)
        if broken is not None:
            yield f"tunables: the defaults are no valid configuration: {broken}"
            return
        for sizes in test_sizes(problem):
            geometry(candidate.launch, sizes, candidate.default_configuration)
    except ExpressionError as error:
        yield f"launch: {error}"
