"""PyTorch's views of tensors that a launch passes, `x.packed_accessor32<float, 2>()`, as the structures that they are.

What a kernel indexes by the same variable it takes for as long: hosts seldom say so, and nobody else does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from tui_tuner.problem.by_value import VIEW
from tui_tuner.problem.draft.host.functions import functions_in
from tui_tuner.problem.syntax import closing, list_at, name_in, split_list

_VIEW = re.compile(
    r"(?P<tensor>\b\w[\w.]*?)\s*\.\s*(?:generic_)?packed_accessor(?:32|64)?\s*"
    r"<[^<>()]*?,\s*(?P<rank>\d)\b[^()]*>\s*\(\s*\)"
)
_LAUNCH = r"\b{kernel}\s*(?:<[^<>;]*>\s*)?<<<[^;]*?>>>\s*\("
_MOST_LIKE = 4


class _View(NamedTuple):
    """Of which tensor, and what the host calls its extents."""

    tensor: str
    extents: Sequence[str]

    @property
    def written_out(self) -> str:
        """As a structure in braces; elements lie close."""
        strides = [" * ".join(self.extents[axis + 1 :]) or "1" for axis in range(len(self.extents))]
        lists = ", ".join(f"{{{', '.join(one)}}}" for one in (self.extents, strides))
        return f"{VIEW}{{{self.tensor}.data_ptr(), {lists}}}"


def extents_written_out(tensor: str, code: str) -> tuple[str, ...]:
    """The extents of a tensor whose view was written out; nothing of any other."""
    found = re.search(rf"\b{VIEW}\{{{re.escape(tensor)}\.data_ptr\(\), \{{([^{{}}]*)\}}", code)
    return () if found is None else tuple(split_list(found[1]))


def with_views_written_out(code: str, kernel: str) -> str:
    """Host code whose launches pass structures in place of views, and assert before what the kernel takes for granted.

    Each line stays where it was.
    """
    for launch in reversed([*re.finditer(_LAUNCH.format(kernel=re.escape(kernel)), code)]):
        end = closing(code, launch.end() - 1)
        around = next((one for one in functions_in(code) if one.start <= launch.start() < one.end), None)
        host = code if around is None else code[around.start : around.end]
        passed = (_VIEW.fullmatch(one.strip()) for one in list_at(code, launch.end() - 1))
        views = {place: _view(found, host) for place, found in enumerate(passed) if found is not None}
        checks = "".join(f"TORCH_CHECK_EQ({one}, {other}); " for one, other in _alike(code, kernel, views))
        given = _VIEW.sub(partial(_put, host=host), code[launch.end() : end])
        code = code[: launch.start()] + checks + launch[0] + given + code[end:]
    return code


def _put(found: re.Match[str], host: str) -> str:
    return _view(found, host).written_out + "\n" * found[0].count("\n")


def _view(found: re.Match[str], host: str) -> _View:
    return _View(found["tensor"], [_extent(host, found["tensor"], axis) for axis in range(int(found["rank"]))])


def _extent(host: str, tensor: str, axis: int) -> str:
    """What a function calls an extent of a tensor, or of one that it is made like: a variable, or `x.size(1)`."""
    for _ in range(_MOST_LIKE):
        plain = re.escape(tensor)
        called = re.search(rf"\b(\w+)\s*=\s*{plain}\s*\.\s*size\s*\(\s*{axis}\s*\)", host)
        like = re.search(rf"\b{plain}\s*=\s*(?:torch|at)\s*::\s*\w+_like\s*\(\s*(\w+)", host)
        if called is not None:
            return called[1]
        if like is None:
            break
        tensor = like[1]
    return f"{tensor}.size({axis})"


def _alike(code: str, kernel: str, views: Mapping[int, _View]) -> Iterator[tuple[str, str]]:
    """Extents that are the same, or a number, by how the kernel indexes its views."""
    defined = re.search(rf"\b{re.escape(kernel)}\s*\((?=[^;{{}}]*\)\s*\{{)", code)
    if defined is None or not views:
        return
    end = closing(code, defined.end() - 1)
    names = [name_in(one) for one in split_list(re.sub(r"<[^<>]*>", "", code[defined.end() : end - 1]))]
    body = code[end : closing(code, code.index("{", end))]
    by_index: dict[str, str] = {}
    found = dict[tuple[str, str], None]()
    for place, view in views.items():
        indices = _indices(body, names[place], len(view.extents)) if place < len(names) else ()
        for size, each in zip(view.extents, indices, strict=False):
            if all(one.isdecimal() for one in each):
                found[size, str(1 + max(map(int, each)))] = None
            found |= {(by_index[one], size): None for one in each if by_index.get(one, size) != size}
            by_index |= {one: size for one in each if one.isidentifier() and one not in by_index}
    yield from found


def _indices(body: str, name: str, rank: int) -> Sequence[Sequence[str]]:
    """What a view is indexed by along each axis; nothing where it is never indexed whole."""
    whole = re.findall(rf"\b{re.escape(name)}((?:\s*\[[^][]*\]){{{rank}}})", body)
    each = [[one.strip() for one in re.findall(r"\[([^][]*)\]", text)] for text in whole]
    return [[*dict.fromkeys(axis)] for axis in zip(*each, strict=True)]
