"""The languages that kernels are compiled from: what each is called, and what reading a source needs to know of it.

A language is one object here, and a compiler of `tui_tuner.evaluate.build.compilers` builds it for a kind of device."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from pydantic import ConfigDict

Value = bool | int | float | str
"""A value of a tunable parameter."""
Configuration = dict[str, Value]
"""One value for each tunable parameter."""
Language = Literal["cuda", "opencl", "c", "python", "recorded"]
"""What a kernel is written in; `python`: Helion or Triton; `recorded`: whatever it was, its times are on file."""
CompiledLanguage = Literal["cuda", "opencl", "c"]
"""A language whose kernels this program builds and launches, and a model may rewrite."""
COMPILED: tuple[CompiledLanguage, ...] = get_args(CompiledLanguage)

TABLE: ConfigDict = {"extra": "forbid", "frozen": True}
"""Every table is immutable and refuses unknown keys."""


@dataclass(frozen=True)
class KernelLanguage:
    """One language.

    Attributes:
        name: in the problem file and in journals.
        title: as people write it.
        suffixes: endings of its files.
        built_as: ending of the file that a kernel is built from.
        grammar: module of its grammar for tree-sitter.
        qualifiers: words that the grammar does not know or stumbles over.
        kernel_word: what makes a function a kernel, in words.
        kernel_mark: the same as a pattern; None where every function that is not static is one.
        mark_is_unknown: whether the grammar does not know that word, and is given another in its place.
        reserved: words that can be no identifier, besides those of C and C++.
        shared_memory: what declares memory of a block; None where there are no blocks.
        pads_triples: whether a vector of three elements takes the room of four.
        has_emulator: whether its kernels run on the emulator as well.
    """

    name: CompiledLanguage
    title: str
    suffixes: tuple[str, ...]
    built_as: str
    grammar: str
    qualifiers: re.Pattern[str]
    kernel_word: str
    kernel_mark: re.Pattern[str] | None = None
    mark_is_unknown: bool = False
    reserved: frozenset[str] = frozenset()
    shared_memory: re.Pattern[str] | None = None
    pads_triples: bool = False
    has_emulator: bool = False

    @property
    def has_blocks(self) -> bool:
        """Whether kernels of the language run in blocks of threads."""
        return self.shared_memory is not None


_OPENCL_WORDS = ("kernel", "global", "local", "constant", "read_only", "write_only", "read_write")
_CUDA = KernelLanguage(
    name="cuda",
    title="CUDA",
    suffixes=(".cu",),
    built_as=".cu",
    grammar="tree_sitter_cuda",
    qualifiers=re.compile(r"\b(?:__grid_constant__|__restrict__|__restrict|__forceinline__|__noinline__)\b"),
    kernel_word="__global__",
    kernel_mark=re.compile(r"\b__global__\b"),
    shared_memory=re.compile(r"\b__shared__\b"),
    has_emulator=True,
)
_OPENCL = KernelLanguage(
    name="opencl",
    title="OpenCL C",
    suffixes=(".cl",),
    built_as=".cl",
    grammar="tree_sitter_c",
    qualifiers=re.compile(r"\b(?:__)?(?:global|local|constant|private|generic|read_only|write_only|read_write)\b"),
    kernel_word="__kernel",
    kernel_mark=re.compile(r"\b(?:__)?kernel\b"),
    mark_is_unknown=True,
    reserved=frozenset(prefix + word for word in _OPENCL_WORDS for prefix in ("", "__")),
    shared_memory=re.compile(r"\b(?:__)?local\b"),
    pads_triples=True,
)
_C = KernelLanguage(
    name="c",
    title="C or C++",
    suffixes=(".c", ".cc", ".cpp"),
    built_as=".cpp",
    grammar="tree_sitter_cpp",
    qualifiers=re.compile(r"\b(?:__restrict__|__restrict|restrict)\b"),
    kernel_word="external linkage",
)
COMPILED_LANGUAGES: dict[str, KernelLanguage] = {language.name: language for language in (_CUDA, _OPENCL, _C)}
"""The compiled languages by name."""
LANGUAGES: dict[str, CompiledLanguage] = {
    suffix: language.name for language in COMPILED_LANGUAGES.values() for suffix in language.suffixes
}
"""The language that a file's ending says."""
