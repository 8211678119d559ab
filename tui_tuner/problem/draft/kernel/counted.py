"""A kernel's text with what its launch says of the numbers in it: sizes, members, blocks and threads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tui_tuner.problem.draft.drafted_launch import DraftedLaunch, Keys
from tui_tuner.problem.draft.kernel.guesses import AXES, size_names
from tui_tuner.problem.draft.kernel.said_places import set_once
from tui_tuner.problem.signature import KernelSignature

NOTHING: Mapping[str, str] = {}


class CountedText(NamedTuple):
    """A kernel, and what is known of the numbers in its text.

    Attributes:
        sizes: names in it that stand for sizes.
        counted: numbers of blocks and threads, as `blockIdx.x`, and how many there are, over the sizes.
        is_exact: whether the launch says threads so exactly that arrays over one size are as the text has them.
    """

    signature: KernelSignature
    sizes: list[str]
    counted: Mapping[str, str] = NOTHING
    is_exact: bool = False


def counted_text(signature: KernelSignature, launch: DraftedLaunch | None) -> CountedText:
    """The text of a kernel, with what a launch says of it."""
    if launch is None or not (launch.values or launch.sizes or launch.problem_size):
        return CountedText(signature, size_names(signature))  # it says the block alone
    block = launch.keys.get("block_size", ())
    signature, members = _with_passed_members(_with_fixed_block(signature, block), launch.values)
    sizes = [name for name in size_names(signature) if launch.values.get(name) == name]
    signature, made_of = _with_made_scalars(signature, launch, sizes)
    of_threads = dict(_threads_of(launch.keys)) if launch.comment_line else {}  # that says no shapes
    is_exact = bool(launch.comment_line) or any(text.isdecimal() for text in block)
    return CountedText(
        signature,
        list(dict.fromkeys([*sizes, *made_of, *members])),
        {**dict(_blocks_of(launch.keys)), **of_threads},
        is_exact,
    )


def _blocks_of(keys: Keys) -> Iterator[tuple[str, str]]:
    """What numbers the blocks along an axis, and how many the launch has, as far as that is known."""
    for axis, elements in zip(AXES, keys.get("problem_size", ()), strict=False):
        if keys.get(f"grid_div_{axis}") == ["1"]:
            yield f"blockIdx.{axis}", elements


def _threads_of(keys: Keys) -> Iterator[tuple[str, str]]:
    """What numbers threads, or rows of a block, through all blocks, as C has it, and how many the launch has."""
    threads = [f"threadIdx.{axis}" for axis in AXES]
    threads += [f"threadIdx.{axis} % {text}" for axis, text in zip(AXES, keys.get("block_size", ()), strict=False)]
    for axis, elements in zip(AXES, keys.get("problem_size", ()), strict=False):
        block, divisor = f"blockIdx.{axis}", "".join(keys.get(f"grid_div_{axis}", [f"blockDim.{axis}"]))
        for begin in (f"{block} * {divisor}", f"{divisor} * {block}"):
            for thread in threads:
                yield from ((text, elements) for text in (f"{begin} + {thread}", f"{thread} + {begin}"))


def _with_passed_members(
    signature: KernelSignature, given: Mapping[str, str | float]
) -> tuple[KernelSignature, list[str]]:
    """The kernel whose text has the size for a member that is passed one, as `rows` for `p.rows`, and these sizes.

    Not where a name of the text's own is the same.
    """
    body, found = signature.body, list[str]()
    for member, size in given.items():
        if "." not in member or not str(size).isidentifier():
            continue
        element = r"\s*\.\s*".join(map(re.escape, member.split(".")))
        said = re.sub(rf"(?<![\w.>]){element}\b", str(size), body)
        own = re.search(rf"(?<![\w.>]){size}\b", body)
        if own is None or re.search(rf"(?<![\w.>]){size}\s*=\s*{size}\s*[;,]", said):
            body, found = said, [*found, str(size)]
    return replace(signature, body=body), found


def _with_made_scalars(
    signature: KernelSignature, launch: DraftedLaunch, sizes: Sequence[str]
) -> tuple[KernelSignature, list[str]]:
    """The kernel whose text begins with what the host makes scalars of, as `numel = rows * columns;`, and these sizes.

    Those of the host of which the text has another word are none.
    """
    whole = {one.name for one in signature.parameters if not one.is_array and "int" in (one.dtype or "")}
    taken = {*re.findall(r"[A-Za-z_]\w*", signature.body), *(one.name for one in signature.parameters)}
    known = {*sizes, *(launch.sizes.keys() - taken)}
    texts = {name: str(text) for name, text in launch.values.items() if name in whole and name not in sizes}
    made = {name: words for name, text in texts.items() if (words := _words_of_product(text)) and words <= known}
    body = "\n".join([*(f"{name} = {texts[name]};" for name in made), signature.body])
    return replace(signature, body=body), sorted({word for words in made.values() for word in words})


def _words_of_product(text: str) -> set[str]:
    """The names in a text that is made of products and sums of names; none of another."""
    return {*re.findall(r"[A-Za-z_]\w*", text)} if re.fullmatch(r"[\w\s*+()]+", text) else set()


def _with_fixed_block(signature: KernelSignature, block: Sequence[str]) -> KernelSignature:
    """The kernel whose text has the number for an extent of the block that is one."""
    body = signature.body
    for axis, text in zip(AXES, block, strict=False):
        if text.isdecimal():
            body = re.sub(rf"\bblockDim\s*\.\s*{axis}\b", text, body)
            body = re.sub(rf"\bthreadIdx\s*\.\s*{axis}\b", f"(threadIdx.{axis} % {text})", body)
    return replace(signature, body=body)


def with_own_threads(body: str) -> str:
    """The text with a thread's number for a name that is set to it alone, as of `int i = threadIdx.x;`."""
    for name, text in set_once(body).items():
        if re.fullmatch(r"\(?threadIdx\s*\.\s*[xyz](?:\s*%\s*\d+\))?", text):
            body = re.sub(rf"(?<![\w.>]){name}\b(?!\s*=(?!=))", text, body)
    return body
