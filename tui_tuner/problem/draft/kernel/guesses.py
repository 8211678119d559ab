"""What a kernel's signature and body let guess: its outputs, its dimensions, extents that suit it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tui_tuner.problem.draft.kernel.casts import without_casts
from tui_tuner.problem.draft.kernel.usual_numbers import is_plain_number
from tui_tuner.problem.signature import KernelParameter, KernelSignature
from tui_tuner.problem.tunables import why_no_size

AXES = "xyz"
_BLOCK_VALUES = {
    1: [[32, 64, 128, 256, 512, 1024]],
    2: [[16, 32, 64, 128], [1, 2, 4, 8, 16]],
    3: [[8, 16, 32, 64], [1, 2, 4, 8], [1, 2, 4]],
}
_USUAL_BLOCK = {1: [256], 2: [16, 16], 3: [8, 8, 4]}
SMALL = 32
"""A size below is no extent, or cannot be halved."""
TOLD_APART = re.compile(r"\bthreadIdx\b|\bget_(?:global|local|group)_id\b|\bthread_(?:rank|index)\s*\(")
"""What a kernel says whose threads do different things."""
BEFORE_ELEMENT = r"(?:\(\s*(?:\w+\s+)*\w+\s*\)\s*|\w+_cast\s*<[^<>]*>\s*\(\s*|__ldg\s*\(\s*&\s*)?"
"""What may stand before an element that a name is set to."""
_CAST = r"(?:[(&\s]|\(\s*(?:const\s+)?(?:\w+\s+)*\w+\s*\*+\s*\)|\w+_cast\s*<[^<>]*>)*"
_FOLDED = re.compile(r"\bblockIdx\s*\.\s*y\s*\*\s*gridDim\s*\.\s*x\b|\bgridDim\s*\.\s*x\s*\*\s*blockIdx\s*\.\s*y\b")
"""Rows of blocks that are numbered on from one to the next, as in a grid that would be too long along x."""
_GUARD = re.compile(r"\bif\b|\bwhile\b|\bfor\s*\([^;]*;\s*\w+\s*<[\s(]*\w+[\s)]*;\s*\w+\s*\+=")
_COUNTED_THROUGH = re.compile(
    r"\bthreadIdx\s*\.\s*(?:y\s*\*\s*blockDim\s*\.\s*x|z\s*\*\s*\(?\s*blockDim\s*\.\s*x\s*\*\s*blockDim\s*\.\s*y)\b"
)
"""Where the threads of a block are numbered through, whatever its extents."""
_COUNTED = re.compile(r"(?<!\+=)(?<!\+= )\bget_global_size\s*\(\s*([012])\s*\)")
"""Where work-items are counted, and not how far it is to the next element of one."""
_COUNTS_BY = r"[<>]=?\s*{0}|[*/%]\s*{0}|{0}\s*(?:[*/%]|-\s*1\b)"
"""What a kernel does with a member that something is as long as."""


def dimensions(signature: KernelSignature) -> int:
    """How many dimensions of threads or blocks the kernel asks for, 1 to 3."""
    calls = re.findall(r"\bget_(?:global_id|local_id|group_id|num_groups|\w+_size)\s*\(\s*([012])\s*\)", signature.body)
    body = _COUNTED_THROUGH.sub("", _FOLDED.sub("", signature.body))
    members = re.findall(r"\b(?:threadIdx|blockIdx)\s*\.\s*([xyz])\b", body)
    return 1 + max([int(axis) for axis in calls] + [AXES.index(axis) for axis in members], default=0)


def block_dimensions(signature: KernelSignature) -> int:
    """How many dimensions of a block the kernel tells threads apart in, 1 to 3; those of its grid where it does not."""
    body = _COUNTED_THROUGH.sub("", signature.body)
    told = re.findall(r"\bthreadIdx\s*\.\s*([xyz])\b|\bthread_index\s*\(\s*\)\s*\.\s*([xyz])", body)
    return 1 + max(AXES.index(one or other) for one, other in told) if told else dimensions(signature)


def is_guarded(signature: KernelSignature) -> bool:
    """Whether the kernel looks as if it could do with sizes that no block divides."""
    return _GUARD.search(signature.body) is not None and not counted_axes(signature)


def counted_axes(signature: KernelSignature) -> frozenset[int]:
    """The axes along which an OpenCL kernel takes the count of its work-items for a size, by `get_global_size`."""
    return frozenset(map(int, _COUNTED.findall(signature.body)))


def size_names(signature: KernelSignature) -> list[str]:
    """The integer scalars that may be sizes; `n` where there is none."""
    names = [
        p.name
        for p in signature.parameters
        if not p.pointer and p.members is None and p.dtype is not None and p.dtype.strip("u") in ("int32", "int64")
    ]
    usable = [name for name in names if name and why_no_size(name) is None] + named_members(signature)
    usable += [one.holds for one in signature.parameters if one.holds] + [one.name for one in signature.constants]
    return [name for name in usable if not is_plain_number(name, signature.body)] or ["n"]


def with_held_sizes(signature: KernelSignature) -> KernelSignature:
    """The kernel whose text has a size for the only element of an array that it takes for one, as `int n = *d_n;`.

    What is named nowhere but as `*n` is a size of its own name.
    """
    body, parameters = signature.body, list[KernelParameter]()
    taken = {one.name for one in signature.parameters}
    for one in signature.parameters:
        plain = re.escape(one.name or "?")
        first = rf"(?:\*\s*{plain}\b(?!\s*(?:\[|->|\+\+|--))|(?<![\w.>]){plain}\s*\[\s*0\s*\])"
        named = re.findall(rf"\b(\w+)\s*=(?!=)\s*{BEFORE_ELEMENT}{first}[\s)]*[;,]", body)
        is_alone = len(named) == len(re.findall(rf"\b{plain}\b", body)) == 1
        size = named[0] if is_alone else ""
        is_size = size not in taken and why_no_size(size) is None and is_counted_by(size, body)
        if size and one.is_array and is_whole(one) and is_size:
            body = re.sub(rf"\b{size}\s*=(?!=)\s*{BEFORE_ELEMENT}{first}[\s)]*(?=[;,])", size, body)
            taken.add(size)
        else:
            bare = re.sub(rf"\(\s*{first}\s*\)|{first}", one.name or "?", body)
            times = len(re.findall(rf"\b{plain}\b", body))
            is_alone = times == len(re.findall(first, body)) > 0 and not is_written(one.name, signature)
            is_size = why_no_size(one.name or "") is None and is_counted_by(one.name or "", bare)
            size = one.name if is_alone and one.is_array and is_whole(one) and is_size else ""
            body = bare if size else body
        parameters.append(replace(one, holds=size))
    return replace(signature, body=body, parameters=tuple(parameters))


def is_counted_by(name: str, body: str) -> bool:
    """Whether a name that the text sets once is what something is as long as."""
    plain = re.escape(name or "?")
    is_changed = len(re.findall(rf"(?<![\w.>]){plain}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|{plain}\s*(?:\+\+|--)", body)) > 1
    return not is_changed and re.search(_COUNTS_BY.format(rf"\b{plain}\b"), body) is not None


def is_whole(parameter: KernelParameter) -> bool:
    """Whether its elements may be sizes: whole numbers of 32 bits or more."""
    return parameter.width == 1 and (parameter.dtype or "").removeprefix("u") in ("int32", "int64")


def with_named_members(signature: KernelSignature) -> KernelSignature:
    """A kernel that nobody launches, whose text has `rows` for `p.rows`, where that seems to be a size."""
    names = {one.name for one in signature.parameters}
    body = signature.body
    for one in signature.parameters:
        for member in (name for name in _whole_members(one) if name not in names):
            element = rf"\b{re.escape(one.name)}\s*\.\s*{member}\b"
            if re.search(_COUNTS_BY.format(element), body):
                body = re.sub(element, member, body)
    return replace(signature, body=body)


def named_members(signature: KernelSignature) -> list[str]:
    """The members for which a kernel's text has their own names."""
    found = [(one.name, member) for one in signature.parameters for member in _whole_members(one)]
    left = [re.search(rf"\b{re.escape(name)}\s*\.\s*{member}\b", signature.body) for name, member in found]
    said = [re.search(rf"(?<![\w.>]){member}\b", signature.body) for _, member in found]
    return [member for (_, member), one, own in zip(found, left, said, strict=True) if own and not one]


def _whole_members(parameter: KernelParameter) -> Iterator[str]:
    if parameter.pointer:
        return
    for one in parameter.members or ():
        is_whole = (one.dtype or "").removeprefix("u") in ("int32", "int64")
        if is_whole and not one.count and not one.pointee and why_no_size(one.name) is None:
            yield one.name


def as_factor(text: str, behind: object) -> str:
    """An expression as a factor of another, if there is one."""
    return f"({text})" if behind and re.search(r"[-+]|//| if ", text) else text


def outputs(signature: KernelSignature) -> dict[str, bool]:
    """The arrays that the kernel seems to write, and whether it seems to read them too."""
    arrays = [p.name for p in signature.parameters if p.is_array and not p.const]
    writable = [name for name in arrays if not counts_blocks(name, signature)]
    counted = {name: _writes(name, signature.body) for name in writable}
    written = [name for name in writable if sum(counted[name])]
    written = written or [name for name in writable if not _is_read_alone(name, signature.body)] or writable
    mentions = {name: _mentions(name, signature.body) for name in written}
    return {name: bool(sum(counted[name])) and mentions[name] > counted[name][0] for name in written}


def _is_read_alone(name: str, body: str) -> bool:
    """Whether all that a text says of an array is elements that it calculates with, none of them passed on."""
    calculated = rf"(?:(?<![=!<>])=|[+\-/%<>?:\[]|\w\s*\*|\breturn\b)\s*{_element(name)}(?!\s*(?:\[|[-+*/%&|^]?=(?!=)))"
    return 0 < len(re.findall(calculated, body)) == _named(name, body)


def _mentions(name: str, body: str) -> int:
    """How often the text names an array, or a pointer into it, but for where it asks whether there is one."""
    aliases = aliases_of(name, body)
    return _named(name, body) - len(aliases) + sum(_named(one, body) - 1 for one in aliases)


def _named(name: str, body: str) -> int:
    return len(re.findall(rf"(?<!\.)(?<!->)\b{re.escape(name)}\b", where_used(name, body)))


def where_used(name: str, body: str) -> str:
    """The text without the places where it only asks whether there is an array of this name."""
    plain = re.escape(name)
    asked = rf"\b{plain}\s*[!=]=\s*(?:nullptr|NULL|0)\b|(?:\bif\s*\(|&&|\|\|)\s*!?\s*{plain}\s*(?=\)|&&|\|\|)"
    return re.sub(asked, " (", body)


def is_written(name: str, signature: KernelSignature) -> bool:
    """Whether the kernel's own text writes an array, in whatever way."""
    return times_written(name, signature) > 0


def times_written(name: str, signature: KernelSignature) -> int:
    """How often the kernel's own text writes an array, in whatever way."""
    return sum(_writes(name, signature.body))


def _element(name: str) -> str:
    """The pattern of an element of an array, in a text."""
    return rf"\b{re.escape(name or '?')}\s*\[(?:[^][;]|\[[^][;]*\])*\]"


def is_crossed(name: str, signature: KernelSignature) -> bool:
    """Whether the text names elements of an array at several places, as its own and those of a row that all read."""
    return len({re.sub(r"\s", "", one) for one in re.findall(_element(name), signature.body)}) > 1


_ZERO_OR_ONE = r"(?:\s*[!=]=\s*(?:[01]|true|false)\b)?"


def is_asked_alone(name: str, signature: KernelSignature) -> bool:
    """Whether the kernel only asks whether elements of an array are zero, or one, as in `if (!solid[i]) return;`."""
    return _is_asked(rf"{_element(name)}{_ZERO_OR_ONE}", name, signature.body)


def is_flag_alone(name: str, signature: KernelSignature) -> bool:
    """Whether the kernel only asks whether a scalar is zero, or one, as in `y = inverse ? 1 / x : x;`."""
    return _is_asked(rf"\b{re.escape(name)}\b{_ZERO_OR_ONE}", name, signature.body)


def is_counted_to(name: str, body: str) -> bool:
    """Whether a kernel counts to a scalar, or by rows of it, unless its name says how far it goes at once."""
    own = re.findall(rf"\b(\w+)\s*=\s*{re.escape(name)}\s*[;,]", re.sub(r"\bfor\s*\([^;]*;", "", body))
    plain = rf"(?:{'|'.join(map(re.escape, (name, *own)))})"
    counted = rf"\bfor\s*\([^;]*;[^;]*[<>][^;]*\b{plain}\b|\*\s*{plain}\b|\b{plain}\s*\*"
    is_step = re.search("stride|step|dilation|pad", name, re.IGNORECASE)
    return is_step is None and re.search(counted, body) is not None


def is_numbered_through(axis: str, extents: Sequence[str], body: str) -> bool:
    """Whether a kernel numbers its threads along an axis through all blocks, by the block's extent or names for it."""
    extent = "|".join([rf"blockDim\s*\.\s*{axis}", *map(re.escape, extents)])
    place = rf"\bblockIdx\s*\.\s*{axis}\b"
    number = rf"{place}\s*\*\s*(?:\w+\s*\()?\s*(?:{extent})\b|\b(?:{extent})\s*\*\s*{place}"
    number += rf"|{place}\s*\*\s*\(\s*blockDim\s*\.\s*{axis}\s*\*\s*blockDim\s*\.\s*\w\s*\)"
    return re.search(number, body) is not None


def _is_asked(asked: str, name: str, body: str) -> bool:
    """Whether all that a text says of a name is what it asks."""
    questions = rf"(?:\b(?:if|while)\s*\(|&&|\|\||!)\s*\(?\s*{asked}\s*\)?\s*(?=\)|&&|\|\|)|!\s*{asked}|{asked}\s*\?"
    found = len(re.findall(questions, body))
    return found > 0 and found == len(re.findall(rf"\b{re.escape(name or '?')}\b", body))


def is_taken_by_digits(array: KernelParameter, signature: KernelSignature) -> bool:
    """Whether the kernel shifts whole numbers of an array by as much as it is told, as a sort by digits does."""
    if (array.dtype or "").removeprefix("u") not in ("int32", "int64"):
        return False
    body, element = signature.body, _element(array.name)
    held = re.findall(rf"\b(\w+)\s*=(?!=)\s*{element}\s*;", body)
    digits = "|".join((element, *(rf"\b{one}\b" for one in held)))
    return re.search(rf"(?:{digits})[\s)]*>>[\s(]*[A-Za-z_]", body) is not None


def marks_of(array: KernelParameter, signature: KernelSignature) -> set[str] | None:
    """The names that elements must equal, or not, where the kernel also asks which are below 0; None where it does not.

    As `now` in `if (level[i] != now) return; if (level[j] < 0) level[j] = now + 1;`.
    """
    element, body = _element(array.name), signature.body
    asked = rf"{element}\s*(?:<\s*0|>=\s*0|[!=]=\s*-\s*1)\b|\batomicCAS\s*\(\s*&\s*{element}\s*,\s*-\s*1\b"
    if array.dtype not in ("int32", "int64") or re.search(asked, body) is None:
        return None
    return set(re.findall(rf"{element}\s*[!=]=\s*([A-Za-z_]\w*)\b(?!\s*[\[(.-])", body))


def counts_blocks(name: str, signature: KernelSignature) -> bool:
    """Whether blocks count in an array, and the last one sets it back to zero, as `atomicInc(done, gridDim.x - 1)`."""
    counts = re.search(rf"\batomicInc\s*\(\s*&?\s*{re.escape(name or '?')}\b[^;]*\bgridDim\b", signature.body)
    return counts is not None and _writes(name, signature.body)[0] == 0


def aliases_of(name: str, body: str) -> list[str]:
    """The pointers that a text sets to an array, or to a place in it."""
    return re.findall(rf"\*\s*(?:const\s+|__restrict__\s+)*(\w+)\s*=\s*{_CAST}{re.escape(name)}\b", body)


def _writes(name: str, body: str) -> tuple[int, int]:
    """How often an array is assigned to, and how often changed in place or passed by address."""
    if not name:
        return 0, 0
    body = without_casts(body)
    cast, aliases = _CAST, aliases_of(name, body)
    referred = re.findall(rf"&\s*(\w+)\s*=\s*{re.escape(name)}\s*\[", body)
    declared = rf"\*[^*;=]*=\s*(?:{cast}{re.escape(name)}\b(?!\s*\[)|[(\s]*&[(\s]*{re.escape(name)}\s*\[)"
    body = re.sub(declared, "", body)  # where the aliases are
    body = re.sub(rf"&\s*\w+\s*=\s*{re.escape(name)}\s*\[", "", body)
    own = "|".join(map(re.escape, [name, *aliases]))
    index = r"\[(?:[^][;=]|\[[^][;=]*\])*\]"
    whole = "".join(rf"|\b{re.escape(one)}\b" for one in referred)
    element = (
        rf"(?:\b(?:{own})(?:\s*{index})+|\*\s*(?:{own})\b|\*\s*\(\s*(?:{own})\b[^;=]*\)|\b(?:{own})(?=\s*->){whole})"
        rf"(?:\s*(?:\.|->)\s*\w+(?:\s*{index})*)*\s*"
    )
    stored = len(re.findall(rf"\bstore_matrix_sync\s*\(\s*(?:{own})\b", body))
    atomic = rf"\batom(?:ic)?\w*\s*\(\s*(?:{own})\b"
    changed = rf"{element}(?:[-+*/%&|^]=|<<=|>>=|\+\+|--)|(?<!&)&[\s(]*{re.escape(name)}\b|{atomic}"
    return stored + len(re.findall(rf"{element}=(?!=)", body)), len(re.findall(changed, body))


def block_values(signature: KernelSignature) -> list[list[int]]:
    """Values of the block size along each axis that `__launch_bounds__` allows."""
    most = most_threads(signature)
    return [[v for v in values if v <= most] or [1] for values in _BLOCK_VALUES[block_dimensions(signature)]]


def extents_around(value: int) -> list[int]:
    """The value, with halves and doubles of it that can be a block's extent."""
    near = {value // 4, value // 2, value, value * 2}
    return sorted(extent for extent in near if 1 <= extent <= 1024)


def shares_around(value: int) -> list[int]:
    """Elements a thread to try: the value, halves of it and its double."""
    return sorted({max(1, value // 4), max(1, value // 2), value, value * 2})


def usual_block(signature: KernelSignature) -> list[int]:
    """The block to start from."""
    usual, values = _USUAL_BLOCK[block_dimensions(signature)], block_values(signature)
    allowed = all(start in choice for start, choice in zip(usual, values, strict=True))
    if not allowed or math.prod(usual) > most_threads(signature):
        return [choice[0] for choice in values]
    return usual


def most_threads(signature: KernelSignature) -> int:
    """Threads of a block at most."""
    first = (signature.launch_bounds or "").split(",")[0].strip()
    return min(1024, int(first)) if first.isdecimal() and int(first) else 1024
