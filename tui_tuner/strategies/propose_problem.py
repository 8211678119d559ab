"""A problem from the model, asked for and checked: of a kernel that has no problem file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from tui_tuner.errors import ProblemError
from tui_tuner.llm import Message, Request
from tui_tuner.llm.structured import CallModel, TypedReply, ask
from tui_tuner.problem.argument import ArgumentFill
from tui_tuner.problem.draft.proposed_facts import ProposedFacts, ProposedFill
from tui_tuner.problem.expressions import ExpressionError, check_expression, evaluate
from tui_tuner.problem.inputs import array_bytes
from tui_tuner.problem.model import Language, Problem
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.tunables import why_no_size
from tui_tuner.prompts import question, render
from tui_tuner.strategies.draft_reply import MOST_TESTS, DraftedSize, DraftReply
from tui_tuner.strategies.proposed_macros import faults_of_macros
from tui_tuner.strategies.shown_text import shown_of

PURPOSE = "draft_problem"
MOST_ELEMENTS = 2**20
"""Elements of a test that the emulator is to run."""
_ATTEMPTS = 2
_BLOCK = tuple(f"block_size_{axis}" for axis in "xyz")


@dataclass(frozen=True)
class KernelToDraft:
    """A kernel that nobody has described.

    Attributes:
        source: the text of its file, host code and all.
        host: the text of another file with the host's code; empty where there is none.
        draft: the problem file as the rules have it.
        outcome: what came of running that, in words.
        problem: what the draft comes to.
        problem_of: makes the problem of what is proposed, merged with what the rules found.
    """

    signature: KernelSignature
    language: Language
    source: str
    host: str
    draft: str
    outcome: str
    problem: Problem
    problem_of: Callable[[ProposedFacts], Problem]

    @property
    def by_value(self) -> dict[str, list[str]]:
        """Parameters that are structures passed by value, each with the names of its members."""
        structures = (one for one in self.problem.arguments if one.dtype == "struct")
        return {one.name: [member.name for member in one.members or ()] for one in structures}

    @property
    def beside(self) -> frozenset[str]:
        """Arrays that are no parameters: those that members of structures point to, and constant memory."""
        constants = (one.name for one in self.problem.arguments if one.constant)
        return frozenset([*(one.array for one in self.problem.pointed), *constants])

    @property
    def local(self) -> frozenset[str]:
        """Pointers to memory of a work-group, of which a launch says how much there is."""
        return frozenset(one.name for one in self.signature.parameters if one.local)

    def whole_name(self, scalar: str) -> str:
        """`p.width` for the `width` of a structure, as far as that is clear; every other name as it is."""
        owners = [name for name, members in self.by_value.items() if scalar in members]
        is_own = any(one.name == scalar for one in self.signature.parameters)
        return f"{owners[0]}.{scalar}" if len(owners) == 1 and not is_own else scalar


async def propose_problem(
    call: CallModel, kernel: KernelToDraft, before: Sequence[Message] = (), reason: str = ""
) -> TypedReply[DraftReply]:
    """What the model says of a kernel, checked as far as no run is needed.

    Args:
        before: the conversation that led to a draft which did not hold.
        reason: why it did not.

    Raises:
        NoUsableReply: the model gives none.
    """
    messages = [*before, Message("user", render("draft_failed", reason=reason))] if before else _question(kernel)
    request = Request(PURPOSE, tuple(messages))
    return await ask(call, request, DraftReply, check=lambda reply: faults_of(reply, kernel), attempts=_ATTEMPTS)


def _question(kernel: KernelToDraft) -> list[Message]:
    prompt = render(
        PURPOSE,
        language=kernel.language,
        kernel=kernel.signature.name,
        source=shown_of(kernel.source, kernel.signature),
        host=shown_of(kernel.host, kernel.signature) or "(no other file)",
        draft=kernel.draft.strip(),
        outcome=kernel.outcome,
        fills=", ".join(get_args(ArgumentFill)),
        most_tests=MOST_TESTS,
        most_elements=MOST_ELEMENTS,
    )
    return question(prompt, "draft_system")


def facts_of(reply: DraftReply, kernel: KernelToDraft) -> ProposedFacts:
    """The reply as facts of a draft; its tests are still to be run."""
    launch = reply.launch
    keys: dict[str, list[str] | str] = {"problem_size": launch.problem_size}
    divisors = {f"grid_div_{axis}": getattr(launch, f"grid_div_{axis}") for axis in "xyz"}
    keys |= {name: given for name, given in divisors.items() if given}
    keys |= {"block_size": launch.block_size} if launch.block_size else {}
    keys |= {"shared_memory": launch.shared_memory} if launch.shared_memory.strip() not in ("", "0") else {}
    fills = {
        one.name: ProposedFill(one.fill, _bound(one.low), _bound(one.high))
        for one in reply.arrays
        if one.fill is not None
    }
    return ProposedFacts(
        sizes={size.name: size.value for size in reply.sizes},
        multiples={size.name: size.multiple_of for size in reply.sizes if size.multiple_of.strip() not in ("", "1")},
        powers=frozenset(size.name for size in reply.sizes if size.power_of_two),
        keys=keys,
        shapes={one.name: one.elements for one in reply.arrays if one.name not in kernel.local},
        local={one.name: one.elements for one in reply.arrays if one.name in kernel.local},
        values={kernel.whole_name(one.name): _number(one.value) for one in reply.scalars},
        outputs=frozenset(one.name for one in reply.arrays if one.output),
        fills=fills,
        tests=[{size.name: size.value for size in test.sizes} for test in reply.tests],
        macros={one.name: one.value for one in reply.macros},
        flops=reply.flops.strip(),
        bytes=reply.bytes.strip(),
    )


def _bound(text: str | None) -> str | float | None:
    return None if text is None else _number(text)


def _number(text: str) -> str | float:
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and "." not in text and "e" not in text.lower() else number


def faults_of(reply: DraftReply, kernel: KernelToDraft) -> list[str]:
    """What is wrong with a reply, in words for the model; empty if the kernel can be run with it."""
    faults = [*_faults_of_names(reply, kernel), *_faults_of_macros(reply, kernel)]
    faults = faults or [*_faults_of_expressions(reply, kernel)]
    if faults:
        return faults
    facts = facts_of(reply, kernel)
    try:
        problem = kernel.problem_of(facts)
    except ProblemError as error:
        return [f"the problem does not hold: {error.message}" + (f" ({error.hint})" if error.hint else "")]
    return [*_faults_of_work(problem, facts)]


def _faults_of_names(reply: DraftReply, kernel: KernelToDraft) -> Iterator[str]:
    parameters = kernel.signature.parameters
    pointers = [one.name for one in parameters if one.pointer]
    scalars = [one.name for one in parameters if not one.pointer and one.name not in kernel.by_value]
    given = [kernel.whole_name(one.name) for one in reply.scalars]
    given_scalars = [name for name in given if name.partition(".")[0] not in kernel.by_value]
    given_arrays = [one.name for one in reply.arrays if one.name not in kernel.beside]
    for what, listed, wanted in (
        ("arrays", given_arrays, pointers),
        ("scalars", given_scalars, scalars),
    ):
        if sorted(listed) != sorted(wanted):
            these = ", ".join(listed) or "none"
            yield f"{what}: wanted are {', '.join(wanted) or 'none'}, each once; these are {these}"
    names = [size.name for size in reply.sizes]
    for name in names:
        reason = "is reserved for the block" if name in _BLOCK else why_no_size(name)
        if reason:
            yield f"sizes: '{name}' {reason}" if name in _BLOCK else f"sizes: {reason}"
        if names.count(name) > 1:
            yield f"sizes: '{name}' is listed twice"
    for number, test in enumerate(reply.tests, 1):
        unknown = [size.name for size in test.sizes if size.name not in names]
        if unknown:
            yield f"tests: test {number} has sizes that are not in `sizes`: {', '.join(unknown)}"


def _faults_of_macros(reply: DraftReply, kernel: KernelToDraft) -> Iterator[str]:
    taken = {
        "a parameter of the kernel": {one.name for one in kernel.signature.parameters},
        "a size": {one.name for one in reply.sizes},
        "the block's": {*_BLOCK, *kernel.problem.tunables},
    }
    macros = [(one.name, one.value) for one in reply.macros]
    return faults_of_macros(macros, taken, kernel.source, kernel.language)


def _faults_of_expressions(reply: DraftReply, kernel: KernelToDraft) -> Iterator[str]:
    sizes = [size.name for size in reply.sizes]
    launch, known = reply.launch, [*sizes, *_BLOCK, *kernel.problem.tunables]
    for key, text in (("flops", reply.flops), ("bytes", reply.bytes)):
        if text.strip():
            yield from _fault(key, text, sizes)
    for size in reply.sizes:
        yield from _faults_of_size(size, reply)
    for array in reply.arrays:
        of_block = known if array.name in kernel.local else sizes
        yield from _fault(f"arrays, {array.name}: elements", array.elements, of_block)
        for key, bound in (("low", array.low), ("high", array.high)):
            if bound is not None:
                yield from _fault(f"arrays, {array.name}: {key}", bound, sizes)
    for scalar in reply.scalars:
        if isinstance(_number(scalar.value), str):
            yield from _fault(f"scalars, {scalar.name}", scalar.value, sizes)
    for key in ("problem_size", "grid_div_x", "grid_div_y", "grid_div_z", "block_size"):
        for text in getattr(launch, key):
            yield from _fault(f"launch: {key}", text, [*known, *(one.name for one in reply.macros)])
    if launch.shared_memory.strip():
        yield from _fault("launch: shared_memory", launch.shared_memory, known)


def _faults_of_size(size: DraftedSize, reply: DraftReply) -> Iterator[str]:
    """What is wrong with the other values that are said to be possible, or with this one by them."""
    if size.power_of_two and size.value & (size.value - 1):
        yield f"sizes: {size.name} = {size.value} is no power of two"
    if not size.multiple_of.strip():
        return
    where, values = f"sizes, {size.name}: multiple_of", {one.name: one.value for one in reply.sizes}
    yield from (faults := [*_fault(where, size.multiple_of, [name for name in values if name != size.name])])
    try:
        by = 1.0 if faults else float(evaluate(size.multiple_of, values))
    except ExpressionError as error:
        yield f"{where}: {error}"
        return
    if by < 1 or by != int(by) or size.value % int(by):
        yield f"sizes: {size.name} = {size.value} is no multiple of {size.multiple_of}"


def _fault(where: str, text: str, names: Sequence[str]) -> Iterator[str]:
    try:
        check_expression(text, names)
    except ExpressionError as error:
        yield f"{where}: {error}"


def _faults_of_work(problem: Problem, facts: ProposedFacts) -> Iterator[str]:
    """What of the work cannot be: a kernel that is faster than its bytes allow is refused later on."""
    both_ways = [one for one in problem.arguments if one.output and one.fill]
    most = array_bytes(problem, {}) + array_bytes(problem.model_copy(update={"arguments": both_ways}), {})
    for key, text in (("flops", facts.flops), ("bytes", facts.bytes)):
        if not text:
            continue
        try:
            value = float(evaluate(text, problem.sizes))
        except ExpressionError as error:
            yield f"{key}: {error}"
            continue
        if value <= 0:
            yield f"{key}: {text} is {value:g}; leave it empty where there is nothing to count"
        elif key == "bytes" and value > most:
            yield f"bytes: {text} is {value:g}, but all arrays together hold {most}, those read and written twice"
