"""Prompts: one template a purpose beside this file, and the facts that fill it, in words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from string import Template
from types import MappingProxyType

from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.library import LibraryTime
from tui_tuner.evaluate.measure import fastest_first
from tui_tuner.evaluate.profiling import Diagnosis
from tui_tuner.evaluate.profiling.roofline import Roofline, moved_once, roofline
from tui_tuner.evaluate.results import DeviceInfo, Evaluation
from tui_tuner.evaluate.tolerance import MARGIN, RARELY, AllowedError
from tui_tuner.format import configuration_words, interval_words, roofline_words, time_unit, time_words, warm_words
from tui_tuner.llm import Message
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.compared import in_words
from tui_tuner.problem.dtypes import dtype_named, is_floating
from tui_tuner.problem.inputs import fill_in_words, fill_of, is_blank, label_of
from tui_tuner.problem.model import Argument, Problem, Value
from tui_tuner.problem.textures import occurring
from tui_tuner.problem.triton import excerpt

WORDING = 23
"""Counts what sessions tell models and when they ask. One that is resumed or replayed finds the replies to prompts that
are worded otherwise by now, and goes on as it began where what is asked, or when, is another: up to 3 `autonomous`
asked on when the best was at the roofline; up to 5 what had arrived of a reply that broke off was lost where the call
before had failed as well; up to 6 a model began with half of each batch that it shares with the surrogate; up to 7 the
model was asked to mend what the user had edited and could not be built before the user was; up to 8 `autonomous` had
each step judged before it was carried out, and a strategy of the user's own was given such an edit as it was; up to 10
`explicit` asked of each step by itself, also when the best was at the roofline; up to 11 a round of configurations took
all evaluations that were left; up to 21 `autonomous` and `explicit` asked on, however fast the best was, where no work
is declared."""
ROOM = "tui_tuner.prompts"
"""The package of the templates that ask about kernels."""


def render(name: str, /, room: str = ROOM, **values: object) -> str:
    """The template `name`.md with its placeholders filled; what stands between tags as data closes none of them.

    Args:
        room: the package in which it is.

    Raises:
        KeyError: a placeholder has no value.
    """
    template, data, tags = _template(room, name), *_data(room, name)
    texts = {key: tags.sub(r"<\\/\1>", str(value)) if key in data else str(value) for key, value in values.items()}
    return template.substitute(texts).strip()


def question(prompt: str, system: str = "system", room: str = ROOM) -> list[Message]:
    """A prompt with the words in front of it that every prompt of its kind has.

    Args:
        system: the template of these words.
        room: the package in which it is.
    """
    return [Message("system", render(system, room)), Message("user", prompt)]


@cache
def _template(room: str, name: str) -> Template:
    return Template(files(room).joinpath(f"{name}.md").read_text(encoding="utf-8"))


_OPENED = re.compile(r"^<(\w+)[^>\n]*>\n\$\{?(\w+)", re.MULTILINE)


@cache
def _data(room: str, name: str) -> tuple[frozenset[str], re.Pattern[str]]:
    """Placeholders of a template that stand between tags, and what would close one of these."""
    found = _OPENED.findall(_template(room, name).template)
    words = "|".join(tag for tag, _ in found) or "(?!)"
    return frozenset(placeholder for _, placeholder in found), re.compile(rf"</\s*({words})\s*>", re.IGNORECASE)


SHOWN = 8
"""Configurations in the table of the best, and failures in the list of failures."""


def device_facts(device: DeviceInfo) -> str:
    """The device and its limits."""
    return kind_named(device.kind).facts(device)


def size_facts(problem: Problem) -> str:
    """The size that is timed and those that are verified."""
    lines = [f"timed: {label_of(problem.sizes)}"]
    lines += [f"verified: {label_of(problem.at(test).sizes, test.inputs)}" for test in problem.tests]
    lines.append("It must be right at any size, not only at these.")
    return "\n".join(lines)


def launch_facts(problem: Problem, candidate: Candidate) -> str:
    """Arguments and launch of a kernel; a tunable with one value is frozen there."""
    lines = [*argument_facts(problem), *launched_facts(problem, candidate)]
    launch = candidate.launch.model_dump(exclude_none=True, exclude_defaults=True)
    lines.append("every array starts at a multiple of 16 bytes; nothing before or behind it may be read or written")
    lines += [f"{key}: {value}" for key, value in launch.items()]
    lines += [_tunable(name, values) for name, values in candidate.tunables.items()]
    lines += [f"restriction: {text}" for text in candidate.restrictions]
    return "\n".join(lines)


def argument_facts(problem: Problem) -> list[str]:
    """The arguments of a kernel, a line each."""
    pointers = {one.array: f"{one.path} points to" for one in problem.pointed}
    return [_argument(one, pointers.get(one.name, "argument")) for one in problem.arguments]


def launched_facts(problem: Problem, candidate: Candidate) -> list[str]:
    """What a kernel in Python is given by the program that launches it; not the grid where a candidate has its own."""
    has_own = candidate.launch.grid is not None
    return [line for line in problem.kernel.launched if not (has_own and line.startswith("grid"))]


def bound_facts(problem: Problem, device: DeviceInfo) -> list[str]:
    """What its bytes and its operations take at the device's ceilings."""
    limits = roofline(problem, device)
    return [] if limits is None else [_roofline(limits)]


def _tunable(name: str, values: Sequence[Value]) -> str:
    frozen = " (held at its best value: list it with several values only if your change makes it matter again)"
    return f"tunable {name}: {list(values)}{frozen if len(values) == 1 else ''}"


def build_facts(problem: Problem) -> str:
    """What a compiler is told beside the usual; empty where that is nothing."""
    return f"compiled with {' '.join(problem.kernel.compiler_options)}" if problem.kernel.compiler_options else ""


def check_facts(problem: Problem, allowed: Mapping[str, AllowedError] = MappingProxyType({})) -> str:
    """What the arrays hold, and how far a result may be off.

    Args:
        allowed: how far elements of outputs may be off, by the names of these.
    """
    are_floating = [is_floating(dtype_named(argument.dtype)) for argument in problem.arguments if argument.output]
    lines = [fill_facts(problem)]
    if any(are_floating) or not problem.is_compiled:
        lines.append(_tolerance(problem, allowed))
    if not all(are_floating):
        lines.append(_of_whole_numbers(problem.tolerance.integers))
    if textures := occurring(problem):
        lines.append(f"verified with other inputs as well, within the same ranges: {', '.join(textures)}")
    return "\n".join(lines)


def _tolerance(problem: Problem, known: Mapping[str, AllowedError]) -> str:
    """How results are judged."""
    given = problem.tolerance
    if given.absolute is not None or given.relative is not None:
        allowed = f"{given.absolute or 0:g} + {given.relative or 0:g} * the expected value"
    else:
        allowed = "what rounding in another order of the same operations brings; fewer bits are not right"
        if problem.reference is not None:
            allowed = f"{MARGIN:g} times the largest error of the kernel as given, or {allowed}"
    said = f"a floating-point element of a result may be off by at most {allowed}"
    told = ", ".join(f"{name} {one.in_words}" for name, one in known.items())
    return f"{said}; at the strictest test, usual size being the root mean square: {told}" if told else said


def _of_whole_numbers(most: int) -> str:
    if not most:
        return "a whole number of a result must be equal"
    return f"a whole number of a result may be off by at most {most}, of noise in one of {1 / RARELY:.0f}"


def means_facts(device: DeviceInfo, *, tensor_maps: bool = True) -> str:
    """What the code may use on a device beside the plain language; empty where nothing is to be said.

    Args:
        tensor_maps: whether how a kernel makes them is worth its words.
    """
    return kind_named(device.kind).means(device, tensor_maps=tensor_maps)


def fill_facts(problem: Problem) -> str:
    """The arrays that a test may fill otherwise, each with the fill that it has."""
    return "\n".join(
        f"{argument.name}: {argument.dtype} array, filled {fill_in_words(fill_of(argument), argument)}"
        for argument in problem.arguments
        if argument.shape is not None and not is_blank(argument)
    )


def _argument(argument: Argument, what: str) -> str:
    """An argument in words.

    Args:
        what: stands before its name: "argument", or which member of a structure points to it.
    """
    if argument.shape is None and argument.constant:
        return f"__constant__ {argument.name}: {argument.dtype} = {argument.value}, set anew: keep it"
    if argument.holds_structures:
        held = ", ".join(f"{one.dtype} {one.name}" for one in argument.members or ())
        role = "output, compared bit by bit" if argument.output else "input"
        return f"{what} {argument.name}: {argument.shape} bytes, structures of {held}; {role}: keep their declaration"
    if argument.members is not None:
        held = ", ".join(f"{one.dtype} {one.name} = {one.value}" for one in argument.members) or "functions alone"
        return f"argument {argument.name}: a structure by value with {held}: keep its declaration as it is"
    if argument.local is not None:
        return f"argument {argument.name}: __local memory of {argument.local} elements of {argument.dtype}: keep it"
    if argument.shape is None:
        return f"argument {argument.name}: {argument.dtype} = {argument.value}"
    is_read = argument.output and not is_blank(argument)
    role = "input and output, set anew before each launch" if is_read else "output" if argument.output else "input"
    shape = ", ".join(str(extent) for extent in argument.shape)
    if argument.constant:
        return f"__constant__ {argument.name}: {argument.dtype} array of shape ({shape}), filled anew: keep it"
    if argument.addresses:
        count, *extents = map(str, argument.shape)
        each = f"{argument.dtype} array of shape ({', '.join(extents)})"
        return f"{what} {argument.name}: a list of {count} addresses in any order, each of a {each}, {role}"
    combined = f"; {in_words(argument)}" if argument.compare else ""
    return f"{what} {argument.name}: {argument.dtype} array of shape ({shape}), {role}{combined}"


def shown_source(problem: Problem, candidate: Candidate) -> str:
    """The text of a candidate, as far as it is about the kernel where it is a long file in Python."""
    return (candidate.source if problem.is_compiled else excerpt(candidate.source, candidate.kernel)).strip()


def measurement_facts(
    problem: Problem,
    device: DeviceInfo,
    given: Evaluation,
    best: Evaluation,
    known: Sequence[Evaluation],
    held_by: Diagnosis | None,
    library: LibraryTime | None = None,
) -> str:
    """Times and resources of the kernel as given, of the best and of a candidate; what holds the candidate back.

    Args:
        known: what is known of the kernel that the prompt shows.
        held_by: what holds back the fastest of it.
        library: what a library needs for the same.
    """
    lines = [f"the kernel as given, {configuration_words(given.configuration)}: {evaluation_facts(given)}"]
    if best != given:
        lines.append(f"the best so far, {configuration_words(best.configuration)}: {evaluation_facts(best)}")
    limits = roofline(problem, device)
    if limits is not None:
        lines.append(_roofline(limits))
    if library is not None:
        lines.append(f"a library computes the same: {library.in_words}")
    timed, failed = fastest_first(known), [e for e in known if e.failure is not None]
    for what, evaluations in (("fastest", timed), ("failed", failed)):
        if evaluations:
            lines.append(f"configurations of the kernel above, {what} ({_shown(evaluations)}):")
        lines += [f"  {configuration_words(e.configuration)}: {evaluation_facts(e)}" for e in evaluations[:SHOWN]]
    if timed and held_by is not None:
        lines.append(f"what holds the kernel above back, with {configuration_words(timed[0].configuration)}:")
        lines += [f"  {fact}" for fact in (*held_by.facts, f"bottleneck: {held_by.cause}")]
    return "\n".join(lines)


def _shown(evaluations: Sequence[Evaluation]) -> str:
    count = len(evaluations)
    return f"{SHOWN} of {count}" if count > SHOWN else f"all {count}"


def traffic_facts(problem: Problem, device: DeviceInfo, best: Evaluation) -> str:
    """What moving all arrays once takes, where no work is declared that could be held against the ceilings; or ""."""
    moved = moved_once(problem, device)
    if moved is None:
        return ""
    takes = f"the arrays, each read or written once, take {time_words(moved.ms)} at {moved.bandwidth}"
    share = f", {moved.share(best.timing.median):.1%} of the time of the best" if best.timing is not None else ""
    return f"{takes} ({moved.nbytes / 1e6:.4g} MB){share}; a kernel that needs a part of them alone takes less"


def evaluation_facts(evaluation: Evaluation) -> str:
    """Time with its interval, share of the roofline, resources."""
    timing = evaluation.timing
    if timing is None:
        return failure_facts(evaluation)
    unit = time_unit(cpu=timing.cpu)
    time = time_words(timing.median, unit) + f" {interval_words(timing.low, timing.high)}"
    time += roofline_words(evaluation.share) + warm_words(timing.warm, unit)
    return ", ".join([time, *_resources(evaluation)])


def failure_facts(evaluation: Evaluation) -> str:
    """Kind and reason of a failure in one line."""
    failure = evaluation.failure
    return "not measured" if failure is None else failure.in_words


def _resources(evaluation: Evaluation) -> Iterable[str]:
    resources = evaluation.resources
    if resources.registers is not None:
        yield f"{resources.registers} registers"
    if resources.spill_bytes:
        yield f"{resources.spill_bytes} bytes spilled"
    if resources.shared_bytes:
        yield f"{resources.shared_bytes} bytes of {'' if evaluation.geometry else 'static '}shared memory"


def _roofline(limits: Roofline) -> str:
    memory, compute = map(time_words, (limits.memory_ms, limits.compute_ms))
    return (
        f"roofline: the declared bytes take {memory} at {limits.memory}, the declared operations in {limits.dtype} "
        f"take {compute} at {limits.compute}; so {limits.limiter} limits it. This is an estimate and not a bound: "
        "a kernel that does with fewer bytes or operations, or does them in faster units, takes less"
    )
