"""The launches of an OpenCL kernel in the host code beside it, through the C interface or the C++ bindings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import NamedTuple

from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.host.launches import HostLaunch
from tui_tuner.problem.draft.host.program import HostProgram
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import list_at, split_list

_HANDLES = (
    re.compile(r"(?P<name>\w+(?:\[\w+\]|(?:\.|->)\w+)*)\s*=(?!=)[^;=]*$"),  # kernel = clCreateKernel(program,
    re.compile(r"\(\s*&\s*(?P<name>\w+)\s*,[^;]*$"),  # load_kernel(&kernel, program,
    re.compile(r"(?P<name>\w+)\s*[({][^;({]*$"),  # cl::Kernel kernel(program,
)
"""What stands before the name of a kernel where the host makes a handle of it; what is none is launched nowhere."""
_ENQUEUED = re.compile(r"\b\w*[eE]nqueueNDRangeKernel\w*\s*(?=\()")
_ARGUMENT_SET = re.compile(r"\b\w*clSetKernelArg\w*\s*(?=\()")
_HOW = re.compile(r"\bEnqueueArgs\s+(\w+)\s*(?=[({])")
_NOTHING = re.compile(r"(?:cl\s*::\s*)?(?:NULL|nullptr|NullRange|0)?")
_RANGE = r"(?:(?:\w+\s*::\s*)?NDRange\s*[({]|(?:\([^()]*\)\s*)?\{)"
_ADDRESS = re.compile(r"^(?:\([^()]*\)\s*)?&?\s*")
LOCAL = r"(?:\w+\s*::\s*)?(?:Local|__local)\s*\((.*)\)"
"""Bytes of local memory among the arguments, as the C++ bindings have it."""
_AXES = "xyz"
_NOTHING_YET = ("0", "1")
"""What an axis is declared with that is set later, though it be from outside."""
_ASKS_GROUP = re.compile(r"\bget_(?:group_id|num_groups|local_id|local_size)\b|\b(?:__)?local\b|\bwork_group_")
"""What a kernel says that has to do with its work-group."""
_MOST_STEPS = 6
_MOST_ARGUMENTS, _MOST_LAUNCHES = 256, 32


def opencl_launches(program: HostProgram, signature: KernelSignature) -> Iterator[HostLaunch]:
    """The launches of a kernel, in the order of the host's code.

    The grid is the work-items of each axis, divided by those of a work-group and rounded up, as launches here are; a
    work-group that is left to OpenCL has the name of a tunable, one that the kernel requires is that.
    """
    required = split_list(signature.work_group or "")
    handles = dict.fromkeys(_handles(program, signature.name))
    found = (one for name in handles for way in (_enqueued, _called) for one in way(program, name))
    asks_group = bool(required) or _ASKS_GROUP.search(signature.body) is not None
    enqueued = islice((one for one in found if one.items), _MOST_LAUNCHES)
    launches = [_launch(program, one, required, asks_group) for one in enqueued]
    if required and not launches:
        launches = [HostLaunch(len(program.code), 0, "", "", f"{{{', '.join(required)}}}", "0", ())]
    yield from launches


def _handles(program: HostProgram, kernel: str) -> Iterator[str]:
    """The names of what the host makes of the kernel's name, or of a macro or variable that stands for it."""
    quoted = f'"{re.escape(kernel)}"'
    standing = re.findall(
        rf"#[ \t]*define[ \t]+(\w+)[ \t]+{quoted}|\b(\w+)\s*(?:\[\s*\]\s*)?=\s*{quoted}\s*;", program.text
    )
    others = [name for pair in standing for name in pair if name]
    for literal in re.finditer("|".join([quoted, *(rf"\b{name}\b" for name in others)]), program.text):
        head = program.text[program.text.rfind(";", 0, literal.start()) + 1 : literal.start()]
        yield from (_plain(found["name"]) for pattern in _HANDLES if (found := pattern.search(head)) is not None)


def _plain(text: str) -> str:
    """The name of a handle, of several in an array that of all of them."""
    return re.sub(r"[&*()\s]|\[\w*\]", "", text)


def _enqueued(program: HostProgram, handle: str) -> Iterator[_Enqueued]:
    """Launches by a queue, whose arguments are set before, one by one; all that are set where none is before."""
    every = dict(sorted(_arguments(program, handle, len(program.code)).items()))
    for found in _ENQUEUED.finditer(program.code):
        given = list_at(program.code, found.end())
        if len(given) >= 6 and _plain(given[1]) == handle:  # queue, kernel, dimensions, offset, global, local
            offset, sizes, axes = given[3], given[4:6], program.number(given[2], found.start())
        elif len(given) >= 3 and _plain(given[0]) == handle:  # kernel, offset, global, local
            offset, sizes, axes = given[1], given[2:4], None
        else:
            continue
        _refuse_offset(program, offset, found.start())
        passed = _arguments(program, handle, found.start()) or every
        arguments = tuple(passed.get(index, "") for index in range(max(passed, default=-1) + 1))
        yield _read(program, found.start(), sizes, arguments, axes)


def _refuse_offset(program: HostProgram, offset: str, place: int) -> None:
    """Refuse a launch whose work-items do not begin at 0, as they do in each launch here."""
    said = _extents(program, offset, place)
    begins = [program.number(one, place) for one in said]
    is_beyond = any(re.match(r"[(\s]*[1-9]\d*\s*\+|.*\+\s*[1-9]\d*[)\s]*$", one) for one in said)  # of 1 + i * tile
    if any(begins) or is_beyond:
        axes = ", ".join("?" if one is None else str(one) for one in begins)
        message = f"the host launches the kernel from a global offset of ({axes}) on, and every launch here begins at 0"
        raise ProblemError(
            message, hint="add the offset in the kernel: get_global_id(0) + 1, and leave it out in the host"
        )


def _arguments(program: HostProgram, handle: str, before: int) -> dict[int, str]:
    """The arguments that are set before a place, by their index; one that is counted up is the next."""
    code, set_at = program.code, dict[int, tuple[str, str]]()
    for found in _ARGUMENT_SET.finditer(code, 0, before):
        given = list_at(code, found.end())
        if len(given) >= 4 and _plain(given[0]) == handle:
            set_at[found.start()] = given[1], f"Local({given[2]})" if _NOTHING.fullmatch(given[3]) else given[3]
    method = re.compile(rf"\b{re.escape(handle)}(?:\[\w+\])?\s*(?:\.|->)\s*setArg\s*(?:<[^<>]*>)?\s*(?=\()")
    for found in method.finditer(code, 0, before):
        given = list_at(code, found.end())
        if len(given) > 1:
            is_local = len(given) > 2 and _NOTHING.fullmatch(given[-1])
            set_at[found.start()] = given[0], f"Local({given[1]})" if is_local else given[-1]
    passed: dict[int, str] = {}
    following = 0
    for _, (index, text) in sorted(set_at.items()):
        position = int(index) if index.isdecimal() else following
        if position >= _MOST_ARGUMENTS:
            continue
        passed[position] = _ADDRESS.sub("", text)
        following = position + 1
    return passed


def _called(program: HostProgram, handle: str) -> Iterator[_Enqueued]:
    """Launches of a functor of the C++ bindings, as in `scale(cl::EnqueueArgs(queue, cl::NDRange(n)), to, from)`.

    How it is launched may also be a variable, as in `cl::EnqueueArgs how(queue, cl::NDRange(n)); scale(how, to, from)`.
    """
    declared = {one[1]: list_at(program.code, one.end()) for one in _HOW.finditer(program.code)}
    how_named = "".join(rf"|{name}\s*[,)]" for name in declared)
    call = re.compile(rf"\b{re.escape(handle)}\s*(?=\(\s*(?:(?:cl\s*::\s*)?EnqueueArgs\s*[({{]{how_named}))")
    for found in call.finditer(program.code):
        how, *arguments = list_at(program.code, found.end())
        sizes = declared.get(how.strip()) or list_at(how, min(how.find(mark) for mark in "({" if mark in how))
        sizes = sizes if "NDRange" in "".join(sizes[:1]) else sizes[1:]  # without the queue
        yield _read(program, found.start(), sizes[1:] if len(sizes) > 2 else sizes, tuple(arguments))


class _Enqueued(NamedTuple):
    """What stands where a kernel is launched: work-items and work-group of each axis, and what is passed."""

    place: int
    items: list[str]
    group: list[str]
    arguments: tuple[str, ...]


def _read(
    program: HostProgram, place: int, sizes: Sequence[str], arguments: tuple[str, ...], axes: int | None = None
) -> _Enqueued:
    items, group = (_extents(program, text, place)[:axes] for text in (*sizes, "", "")[:2])
    return _Enqueued(place, items, group, arguments)


def _divisors(group: Sequence[str], asks_group: bool) -> Iterator[str]:
    """What work-items are divided by; a kernel that knows no work-group can do with others than those of one."""
    for axis, own in zip_longest(_AXES, group[: len(_AXES)], fillvalue=""):
        yield f"block_size_{axis}" if own == "1" and not asks_group else own


def _launch(program: HostProgram, found: _Enqueued, required: Sequence[str], asks_group: bool) -> HostLaunch:
    """A launch of so many work-items along so many axes, in work-groups of a size if that is given."""
    both = zip_longest(found.group, required, fillvalue="")
    group = [own if _is_same(program, own, needed, found.place) else needed or own for own, needed in both]
    group += [f"block_size_{axis}" for axis in _AXES[len(group) : len(found.items)]]
    rounded = [_unrounded(program, item, own, found.place) for item, own in zip(found.items, group, strict=False)]
    grid = ", ".join(
        item if by == "1" else f"(({item}) + ({by}) - 1) / ({by})"
        for item, by in zip(rounded, _divisors(group, asks_group), strict=False)
    )
    line = program.code.count("\n", 0, found.place) + 1
    block = ", ".join(group[: len(found.items)])
    return HostLaunch(found.place, line, "", f"{{{grid}}}", f"{{{block}}}", "0", found.arguments)


def _is_same(program: HostProgram, own: str, needed: str, place: int) -> bool:
    """Whether a name of the host's is the extent that the kernel requires: it is followed to wherever it is used."""
    return own.isidentifier() and (not needed.isdecimal() or program.number(own, place) == int(needed))


def _unrounded(program: HostProgram, items: str, own: str, place: int) -> str:
    """What a function of that name rounds up to whole work-groups, as by `shrRoundUp(64, n)`; else all of it."""
    call = re.fullmatch(r"\w*[rR]ound_?[uU]p\w*\s*\((.*)\)", items.strip(), re.DOTALL)
    given = split_list(call[1]) if call else []
    others = [one for one in given if one != own and program.number(one, place) != program.number(own, place)]
    return others[0] if len(given) == 2 and len(others) == 1 else items


def _extents(program: HostProgram, text: str, place: int) -> list[str]:
    """What the host writes of each axis; nothing where it writes none."""
    for _ in range(_MOST_STEPS):
        text = text.strip()
        if _NOTHING.fullmatch(text):
            return []
        if (direct := re.fullmatch(rf"{_RANGE}(.*)[)}}]", text, re.DOTALL)) is not None:
            return split_list(direct[1])
        name = _ADDRESS.sub("", text).removesuffix("[0]")
        if not re.fullmatch(r"\w+", name):
            return [_ADDRESS.sub("", text)]
        if (made := _made(program, name, place)) is not None:
            return made
        meaning = program.meaning(name, place)
        if meaning is None or not re.match(rf"{_RANGE}|&?\s*[A-Za-z_]\w*\s*$", meaning[0].strip()):
            return [name]
        text, place = meaning
    return []


def _made(program: HostProgram, name: str, place: int) -> list[str] | None:
    """The braces, or parentheses, that an array or a range of this name is declared with, or what its elements are."""
    plain = re.escape(name)
    declared = re.compile(
        rf"\bNDRange\s+{plain}\s*(?=[({{])|\b{plain}\s*(?:\[[^\]]*\]\s*)=\s*(?=\{{)|\barray\s*<[^<>]*>\s*{plain}\s*=?\s*(?=\{{)"
    )
    start = program.begin_of(place)
    found = list(declared.finditer(program.code, start, place))
    listed = list_at(program.code, found[-1].end()) if found else []
    for axis in range(len(_AXES)):
        element = program.meaning(f"{name}[{axis}]", place)
        is_nothing_yet = axis >= len(listed) or listed[axis].strip() in _NOTHING_YET
        if element is not None and (is_nothing_yet or program.is_arithmetic(element[0])):
            listed[axis:] = [element[0].strip(), *listed[axis + 1 :]]
    return listed or None
