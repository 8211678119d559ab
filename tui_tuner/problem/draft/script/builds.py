"""What a script builds: texts of kernels, and the options of the compiler."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from tui_tuner.problem.draft.script.texts import KernelText, UnreadText, kernel_text
from tui_tuner.problem.draft.script.tuned_space import taken_options
from tui_tuner.problem.draft.script.values import ScriptValues

_OF_CUDA = {"RawKernel": "code", "RawModule": "code", "SourceModule": "source", "DynamicSourceModule": "source"}
"""Functions that build kernels of CUDA of what they are given first, with what they call it."""
_OTHERS = {"load_inline": "cuda_sources", "Program": "src", "tune_kernel": "kernel_source"}
"""Those that are given something else first."""
_IS_KERNEL = re.compile(r"\b__global__\b|\b(?:__)?kernel\s[^;{}]{0,300}?\bvoid\b")


class ScriptBuilds:
    """Keeps what a script builds.

    Attributes:
        texts: of kernels, as far as they are known, by what they are.
        unread: what is put into others, with the line.
        options: of compilers of CUDA, as far as they are taken over.
    """

    def __init__(self, values: ScriptValues) -> None:
        self._values = values
        self.texts: dict[str, KernelText] = {}
        self.unread: dict[str, int] = {}
        self.options: list[str] = []

    def read(self, name: str, call: ast.Call, line: int) -> KernelText | None:
        """The text that a call of a function of this name builds."""
        if name not in _OF_CUDA and name not in _OTHERS:
            return None
        words = {one.arg: one.value for one in call.keywords}
        if name != "tune_kernel":
            options = words.get("extra_cuda_cflags" if name == "load_inline" else "options")
            self.options += [] if name == "Program" else taken_options(self._values, options)[0]
        try:
            made = self._text(name, call, words)
        except UnreadText as error:
            self.unread.setdefault(str(error), line)
            return None
        if made is None or _IS_KERNEL.search(made.text) is None:
            return None
        self.texts[made.whole] = made
        return made

    def _text(self, name: str, call: ast.Call, words: Mapping[str | None, ast.expr]) -> KernelText | None:
        node = words.get(_OF_CUDA.get(name) or _OTHERS[name])
        if node is None:
            at = 0 if name in _OF_CUDA else 1
            node = call.args[at] if len(call.args) > at else None
        return None if node is None else kernel_text(self._values, node)
