"""CUDA for the emulator: the kernel made fit for g++ and compiled with the emulator's headers and runtime."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

import platformdirs
import tree_sitter_cuda
from tree_sitter import Language, Node, Parser

from tui_tuner.evaluate.build.compilers.base import (
    BuildRefusal,
    Headers,
    Recipe,
    SharedPart,
    checked_name,
    include_paths,
    macros,
)
from tui_tuner.evaluate.build.compilers.gnu import (
    INCLUDE,
    RUNTIME,
    WATCHING,
    definitions,
    find_gnu,
    fingerprint,
    runtime_sources,
)
from tui_tuner.evaluate.results import Failure, FailureKind, Resources
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration
from tui_tuner.problem.signature import in_namespaces

SOURCE, LAUNCH, ARTIFACT = "kernel.cu", "launch.cpp", "kernel.so"
SYMBOL = "tuner_launch"
# Not -march=native: with AVX2 the compiler gathers strided loads, which made a naive matrix multiply 1.6 times slower.
_OPTIONS = (
    *("-O3", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-w", "-fmax-errors=20"),
    # A vector at an address that is no multiple of its alignment faults on a GPU, and here traps.
    *("-fsanitize=alignment", "-fsanitize-undefined-trap-on-error"),
    # Longjmp between stacks is what the fortified one forbids.
    *("-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=0"),
    # Other kernels of the file are left out, and with them their shared memory.
    *("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"),
    # Device code reads one type as another, and never errno.
    *("-fno-strict-aliasing", "-fno-math-errno", "-fwrapv"),
)
_WATCHED = {
    "-fsanitize=address": (
        "bounds.cpp",
        ("-fsanitize=kernel-address", "-fasan-shadow-offset=0x7fff8000", "-fno-sanitize-address-use-after-scope"),
        ("asan-stack=1", "asan-globals=1", "asan-instrumentation-with-call-threshold=0"),
    ),
    "-fsanitize=thread": (
        "races.cpp",
        ("-fsanitize=thread",),
        ("tsan-distinguish-volatile=1", "tsan-instrument-func-entry-exit=0"),
    ),
}
"""By the option that asks for it: what runs when the kernel touches memory, and how it is compiled to call that."""
_SOURCE_LINE = f'#include "{SOURCE}"\n'
_NOT_TOLD = "#undef __SANITIZE_ADDRESS__\n#undef __SANITIZE_THREAD__\n"
"""A source that knew that it is watched could be another one."""
_WITHOUT_THEIR_RUNTIME = ("-nodefaultlibs", "-lstdc++", "-lm", "-lgcc", "-lc")
_COMPILING = tuple(option for option in _OPTIONS if option != "-shared" and not option.startswith("-Wl,"))
_UNDERSTOOD = ("-I", "-std=c++", "-O")
"""Beginnings of the options, beside `-D`, that mean the same to nvcc and to g++; the others are left out."""
_LOADING = re.compile(r"(?:^|[,=])(?:-f(?:pass-)?plugin|-plugin|-load|--?specs|-wrapper|-B|@)")
"""An option that does so, alone or behind another, as in `-Xcompiler=-fplugin=x.so` and `-Wl,-plugin,x.so`."""
_OWN_HEADERS = ("tuner_emulator/device.h", "tuner_emulator/launch.h")
_HEADER = "emulator.h"
_HEADER_TEXT = "".join(f"#include <{name}>\n" for name in _OWN_HEADERS)
_HEADERS = ("cuda_fp16.h", "cuda_bf16.h", "math_constants.h")


@dataclass(frozen=True)
class EmulatorCompiler:
    """The g++ that builds for the emulator.

    Attributes:
        program: absolute path of g++.
        toolchain: its version and the emulator's.
    """

    program: Path
    toolchain: str

    @classmethod
    def find(cls) -> EmulatorCompiler:
        """The g++ of the search path.

        Raises:
            DeviceError: there is none, or it is too old.
        """
        gnu = find_gnu("g++")
        return cls(gnu.program, f"{gnu.line}, emulator {fingerprint()}")

    def recipe(self, candidate: Candidate, configuration: Configuration, options: Sequence[str]) -> Recipe:
        """Compile the kernel, the runtime and the launch of this one kernel to a shared object.

        Raises:
            Refused: the source uses what the emulator cannot run, or an option loads code.
        """
        _refuse_loading(options)
        watched = next((option for option in options if option in _WATCHED), "")
        source = rewritten(candidate.source)
        given = [option for option in options if option.startswith("-D")]
        kernel = in_namespaces(checked_name(candidate.kernel), source, "cuda")
        launch = _launch(kernel, source, definitions([*given, *macros(configuration)]))
        files = {SOURCE: source, LAUNCH: launch}
        understood = [option for option in options if option.startswith(_UNDERSTOOD)]
        command = (
            *(str(self.program), *_OPTIONS, *understood, f"-I{INCLUDE}"),
            *(LAUNCH, *map(str, runtime_sources()), "-o", ARTIFACT),
        )
        read = (INCLUDE, RUNTIME, WATCHING, *include_paths(understood))
        ours = Headers((INCLUDE,), _OWN_HEADERS)
        if watched:
            return self._watched(watched, files, understood, read)
        if understood:  # may mean another runtime
            return Recipe(files, command, ARTIFACT, read, headers=ours)
        shared = self._shared(runtime_sources(), _COMPILING)
        quick = self._quick(shared, _OPTIONS, runtime_sources())
        return Recipe(files, command, ARTIFACT, read, headers=ours, shared=shared, quick=quick)

    def _watched(
        self, option: str, files: Mapping[str, str], understood: Sequence[str], read: tuple[Path, ...]
    ) -> Recipe:
        """Compile the kernel to tell of every access to memory, and beside it the runtime, which does not."""
        runtime, flags, parameters = _WATCHED[option]
        files = {**files, LAUNCH: files[LAUNCH].replace(_SOURCE_LINE, f"{_NOT_TOLD}{_SOURCE_LINE}")}
        sources = (*runtime_sources(), WATCHING / "report.cpp", WATCHING / runtime)
        told = (
            "-O1",
            "-finline-small-functions",
            "-g",
            *flags,
            *(word for one in parameters for word in ("--param", one)),
            *understood,
        )
        shared = self._shared(sources, (*_COMPILING, *told))
        quick = (*self._quick(shared, (*_OPTIONS, *told), sources), *_WITHOUT_THEIR_RUNTIME)
        ours = Headers((INCLUDE,), _OWN_HEADERS)
        return Recipe(files, quick, ARTIFACT, read, headers=ours, shared=shared, quick=quick)

    def _quick(self, shared: SharedPart, options: Sequence[str], sources: Sequence[Path]) -> tuple[str, ...]:
        objects = [str(shared.directory / name) for name in _objects(sources)]
        header = ("-include", str(shared.directory / _HEADER))
        return (str(self.program), *options, f"-I{INCLUDE}", *header, LAUNCH, *objects, "-o", ARTIFACT)

    def _shared(self, sources: Sequence[Path], options: Sequence[str]) -> SharedPart:
        """The runtime's objects, and the emulator's headers, precompiled with the options of the kernel."""
        compiler = (str(self.program), *_COMPILING, f"-I{INCLUDE}")
        objects = tuple(
            (*compiler, "-c", str(source), "-o", name) for name, source in zip(_objects(sources), sources, strict=True)
        )
        header = (str(self.program), *options, f"-I{INCLUDE}", "-x", "c++-header", _HEADER, "-o", f"{_HEADER}.gch")
        content = json.dumps([self.toolchain, _HEADER_TEXT, objects, header])
        name = hashlib.sha256(content.encode()).hexdigest()[:16]
        directory = platformdirs.user_cache_path("tuner-tui") / "emulator" / name
        return SharedPart(directory, {_HEADER: _HEADER_TEXT}, (header, *objects))

    def symbol(self, candidate: Candidate, log: str) -> str:
        """The exported launch, the same for every kernel."""
        return SYMBOL

    def resources(self, log: str, symbol: str) -> Resources:
        """None: g++ does not say."""
        return Resources()


def _objects(sources: Sequence[Path]) -> list[str]:
    return [f"{source.stem}.o" for source in sources]


def _launch(kernel: str, source: str, tunables: str) -> str:
    """The file that is compiled: the emulator's headers before the tunables, whose names may be any."""
    headers = [*_OWN_HEADERS, *(name for name in _HEADERS if name in source)]
    includes = "".join(f"#include <{name}>\n" for name in headers)
    return f"{includes}{tunables}{_SOURCE_LINE}TUNER_EXPORT_LAUNCH({kernel})\n"


_UNSUPPORTED_HEADERS = {
    "mma.h": "tensor cores",
    "cooperative_groups/memcpy_async": "asynchronous copies",
    "cooperative_groups/scan": "scans of cooperative groups",
    "cuda/pipeline": "asynchronous copies",
    "cuda/barrier": "asynchronous barriers",
    "cuda_pipeline": "asynchronous copies",
    "cuda_awbarrier": "asynchronous barriers",
    "cuda/": "the CUDA C++ library",
    "cub/": "CUB",
    "thrust/": "Thrust",
    "cute/": "CuTe",
    "cutlass/": "CUTLASS",
    "cuda_fp8": "8-bit floating point",
    "cuda_fp4": "4-bit floating point",
    "curand": "cuRAND",
}
_NODES = {"gnu_asm_expression": "inline PTX", "kernel_call_syntax": "kernel launches in the source"}
_NAMES = (
    (re.compile(r"wmma|nvcuda"), "tensor cores"),
    (re.compile(r"CUtensorMap|cp_async_bulk\w*"), "the tensor memory accelerator"),
    (re.compile(r"__pipeline_\w+|__mbarrier_\w+"), "asynchronous copies"),
    (re.compile(r"texture|tex[123]D\w*|cudaTextureObject_t"), "textures"),
    (re.compile(r"surf[123]D\w*|cudaSurfaceObject_t"), "surfaces"),
    (re.compile(r"__cluster_dims__"), "thread block clusters"),
)
_CONDITIONAL = frozenset({"preproc_if", "preproc_ifdef", "preproc_elif", "preproc_else"})


def first_unsupported(nodes: Iterable[Node]) -> str | None:
    """The first thing that cannot be run, in one sentence with its line; None if there is nothing.

    What stands under a preprocessor condition is left to the compiler, which knows whether it is used.
    """
    for node in nodes:
        feature = next(_features(node), None)
        if feature is not None and not _under_condition(node):
            return f"the emulator cannot run {feature} (line {node.start_point.row + 1}): use a CUDA GPU"
    return None


def _features(node: Node) -> Iterator[str]:
    if node.type in _NODES:
        yield _NODES[node.type]
    elif node.type == "preproc_include":
        yield from (what for header, what in _UNSUPPORTED_HEADERS.items() if _included(node).startswith(header))
    elif node.type.endswith("identifier") and node.child_count == 0:
        name = _text(node)
        yield from (what for pattern, what in _NAMES if pattern.fullmatch(name))


def _included(node: Node) -> str:
    path = node.child_by_field_name("path")
    return "" if path is None else _text(path).strip('<>"')


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _under_condition(node: Node) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.type in _CONDITIONAL:
            return True
        parent = parent.parent
    return False


_DYNAMIC_SHARED = b' __asm__("tuner_dynamic_shared")'
_SHARED, _CONSTANT, _STATIC = b"__shared__", b"__constant__", b"static"
_NOINLINE = re.compile(rb"(?<![\w(])__noinline__(?!\w)")
SourceEdit = tuple[int, int, bytes]
"""First byte, byte after the last, and what takes their place."""


def _refuse_loading(options: Sequence[str]) -> None:
    """Refuse what would have the compiler run somebody's code, instead of leaving it out like what it cannot mean.

    Raises:
        BuildRefusal: there is such an option.
    """
    for option in options:
        if _LOADING.search(option) and not option.startswith(("-D", "-I")):
            message = f"'{option}' has the compiler load code or run a program: take it out of compiler_options"
            raise BuildRefusal(Failure(kind=FailureKind.REFUSED, message=message))


@lru_cache(maxsize=32)  # a kernel has one text and many configurations
def rewritten(source: str) -> str:
    """The source as g++ takes it, line for line.

    Raises:
        Refused: it uses what the emulator cannot run.
    """
    text = source.encode()
    nodes = list(_walk(_parser().parse(text).root_node))
    reason = first_unsupported(nodes)
    if reason is not None:
        raise BuildRefusal(Failure(kind=FailureKind.REFUSED, message=reason))
    tokens = [node for node in nodes if node.child_count == 0 and node.start_byte < node.end_byte]
    for first, after, replacement in sorted([*_edits(tokens), *_noinline_edits(text)], reverse=True):
        text = text[:first] + replacement + text[after:]
    return text.decode()


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))


def _walk(root: Node) -> Iterator[Node]:
    """Every node in the order of the source; a stack, since expressions nest deeper than Python recurses."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def _edits(tokens: Sequence[Node]) -> Iterator[SourceEdit]:
    for statement in _statements(tokens):
        words = [token.text for token in statement]
        if _CONSTANT in words:  # seen from outside, where a launch fills it
            yield from ((t.start_byte, t.end_byte, b" " * len(_STATIC)) for t in statement if t.text == _STATIC)
        if _SHARED not in words:
            continue
        yield from ((t.start_byte, t.end_byte, b"__align__") for t in statement if t.text == b"alignas")
        if b"extern" in words:
            yield from (_referring_edits if _is_in_template(statement[0]) else _extern_edits)(statement)


def _noinline_edits(text: bytes) -> Iterator[SourceEdit]:
    """No macro can stand for it: g++'s own headers write `__attribute__((__noinline__))`, as a source may too."""
    yield from ((*found.span(), b"__attribute__((noinline))") for found in _NOINLINE.finditer(text))


def _statements(tokens: Sequence[Node]) -> Iterator[list[Node]]:
    """Runs of tokens between semicolons and braces: each declaration is one of them."""
    statement: list[Node] = []
    for token in tokens:
        statement.append(token)
        if token.text in (b";", b"{", b"}"):
            yield statement
            statement = []


def _is_in_template(node: Node) -> bool:
    """Whether it stands in the body of a template, where g++ forgets the label of a declaration."""
    parent, in_body = node.parent, False
    while parent is not None:
        in_body = in_body or parent.type == "compound_statement"
        if in_body and parent.type == "template_declaration":
            return True
        parent = parent.parent
    return False


def _referring_edits(statement: Sequence[Node]) -> Iterator[SourceEdit]:
    """`extern __shared__ T a[];` becomes `T (&a)[] = ...;`, with blanks for the qualifiers."""
    name = b""
    for token, following in pairwise(statement):
        if token.text in (b"extern", _SHARED):
            yield token.start_byte, token.end_byte, b" " * (token.end_byte - token.start_byte)
        if following.text == b"[" and token.type == "identifier":
            name = token.text or b""
            yield token.start_byte, token.end_byte, b"(&" + name + b")"
        if token.text == b"]" and following.text in (b";", b","):
            yield token.end_byte, token.end_byte, b" = (decltype(" + name + b"))tuner_dynamic_shared"


def _extern_edits(statement: Sequence[Node]) -> Iterator[SourceEdit]:
    """`extern __shared__ T a[];` becomes `extern T a[] __asm__("...");`, with blanks for the qualifier."""
    for token, following in pairwise(statement):
        if token.text == _SHARED:
            yield token.start_byte, token.end_byte, b" " * len(_SHARED)
        if token.text == b"]" and following.text in (b";", b","):
            yield token.end_byte, token.end_byte, _DYNAMIC_SHARED
