"""The launch of a kernel that nobody launches, as a comment of its file has it."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from tui_tuner.problem.draft.drafted_launch import DraftedLaunch
from tui_tuner.problem.draft.launch.drafting import drafted_launch
from tui_tuner.problem.model import Language
from tui_tuner.problem.signature import KernelSignature
from tui_tuner.problem.syntax import code_only, comments_only, enclosed, unwrapped

_MARGIN = re.compile(r"^[ \t]*(?://+|/?\*+)?(.*?)(?:\*/)?[ \t]*$", re.MULTILINE)
_DIMENSIONS = re.compile(r"\bdim3\s+\w[^;]*;")
_EXTENTS = r"(?:dim)?\s*(?:[=:]\s*(?:dim3\s*)?|(?=\())(\((?:[^()]|\([^()]*\))*\)|[\w/+*-]+)"
_IN_WORDS = re.compile(rf"\bgrid{_EXTENTS}[\s,;&]*(?:and\s+)?\bblock{_EXTENTS}", re.IGNORECASE)
"""As `grid (NX / BX, NY / BY), block (BX, BY)`, and `grid: rows, block: 256`."""


def commented_launch(source: str, signature: KernelSignature, file: Path, language: Language) -> DraftedLaunch | None:
    """The grid and the block of a launch in a comment, as `// scale<<<(n + 255) / 256, 256>>>(y, x, n)`.

    The rest of the draft is read from the kernel's text, as what a comment passes is mostly prose. None where no
    comment has a launch of the kernel whose grid can be read.
    """
    comments = _MARGIN.sub(lambda line: line[1], comments_only(source))
    host, place = _launch(comments, signature, {*re.findall(r"\w+", code_only(source))})
    found = drafted_launch(source, signature, file, language, f"void host() {{ {host}; }}") if host else None
    if found is None or "problem_size" not in found.keys:
        return None
    words = {*re.findall(r"[A-Za-z_]\w*", " ".join(" ".join(value) for value in found.keys.values()))}
    return replace(
        DraftedLaunch(line=0),
        comment_line=comments.count("\n", 0, place) + 1,
        template=found.template,
        keys=found.keys,
        tunables=found.tunables,
        defaults=found.defaults,
        of_block=found.of_block,
        sizes={name: number for name, number in found.sizes.items() if name in words},
    )


def _launch(comments: str, kernel: KernelSignature, known: Collection[str]) -> tuple[str, int]:
    """The kernel's first launch as code, with where it begins; empty where there is none.

    Args:
        known: words of the file's code: where no kernel is named, others are prose.
    """
    start = re.search(rf"\b(?:\w+::)*{kernel.name}\s*(?:<[\w\s:,]*>\s*)?<<<[^;]*?>>>\s*(?=\()", comments)
    if start is not None:
        dimensions = " ".join(_DIMENSIONS.findall(comments))
        return f"{dimensions} {start[0]}({enclosed(comments, start.end())})", start.start()
    said = _IN_WORDS.search(comments)
    if said is None or not {*re.findall(r"[A-Za-z_]\w*", " ".join(said.groups()))} <= {*known}:
        return "", 0
    grid, block = map(unwrapped, said.groups())
    passed = ", ".join(one.name for one in kernel.parameters)
    return f"{kernel.name}<<<dim3({grid}), dim3({block})>>>({passed})", said.start()
