"""Headers that sources include: which are there, which a host alone needs, by which name one is included."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"(?P<quoted>[^"\n]+)"|<(?P<angled>[^>\n]+)>)[^\n]*', re.MULTILINE)
_OF_OTHERS = re.compile(r"helper_\w+\.h|\w*_gl_interop\.h|GL/.*|mpi\.h|nccl\.h|opencv.*|boost/.*|pybind11/.*|Python\.h")
"""Headers of libraries that hosts call, which come neither with CUDA nor with the system."""
OF_PYTORCH = re.compile(r"(?:torch|ATen|c10|THC|THCUNN|TH)/.*")
"""PyTorch's headers, which no compiler of device code has."""
_HOST_ONLY = re.compile(
    rf"{_OF_OTHERS.pattern}|cu(?:blas|dnn|fft|solver|sparse|pti)\w*(?:\.h)?|cuda_profiler_api\.h"
    r"|nvtx\w*/?.*|nvToolsExt\w*\.h|sys/.*|unistd\.h"
)
_OF_CUDA = re.compile(
    r"cuda(?:_(?:runtime(?:_api)?|(?:bf|fp)\d+|pipeline\w*|awbarrier\w*|(?:device_runtime|profiler)_api|(?:texture|surface)_types"
    r"|stdint|occupancy))?\.h|device_(?:launch_parameters|\w*functions|types)\.h|math_(?:constants|functions)\.h"
    r"|vector_(?:types|functions)\.h|(?:texture|surface|driver)_\w+\.h|host_(?:defines|config)\.h|sm_\d+_\w+\.h"
    r"|(?:builtin_types|common_functions|cuComplex|mma|cooperative_groups)\.h|curand\w*\.h|nv(?:rtc\w*|ml)\.h"
)
_OF_COMPILERS = re.compile(
    rf"{_OF_CUDA.pattern}|(?:cub|thrust|cute|cutlass|cuda|torch|ATen|c10|crt|bits|ext|CL|nv|cooperative_groups)/.*"
    r"|(?:std\w+|float|limits|iso646|tgmath|omp|\w*intrin)\.h"
)
_HOLDING_OTHERS = re.compile(r"(?:third|3rd)[-_]?party|extern(?:al)?(?:[-_]libs)?|deps|vendor|submodules")
_SYSTEM = (Path("/usr/include"), Path("/usr/local/include"))
"""Where headers are that come with no compiler."""
_SEPARATE = ("-I", "-isystem", "-include")
"""Options behind which a path may stand as a word of its own."""
_JOINED = re.compile(r"(-I|-isystem=?|-include=?)(.+)")
_MOST = 200
"""Headers of a project that are read."""
_UP = re.compile(r"(?:\.\.?/)*\.\./")


def _included(options: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Each option, its beginning that says that it includes, and the path; empty where it has none."""
    for before, option in pairwise(("", *options)):
        joined = _JOINED.fullmatch(option)
        apart = option if before in _SEPARATE else ""
        yield (option, joined[1], joined[2]) if joined else (option, "", apart)


def include_paths(options: Sequence[str]) -> tuple[Path, ...]:
    """The absolute paths that the options tell a compiler to include from."""
    return tuple(Path(path) for _, _, path in _included(options) if path.startswith("/"))


def with_whole_paths(options: Sequence[str], directory: Path) -> Iterator[str]:
    """Compiler options of a problem file in a directory, where what they include from is relative to that or whole."""
    for option, start, path in _included(options):
        yield f"{start}{(directory / path).resolve()}" if path and (directory / path).exists() else option


def without_climbing(source: str, directories: Sequence[Path]) -> str:
    """The source with headers named as one of the directories has them, `"../real.h"` as `"real.h"`.

    A source is built elsewhere than where it stands. What goes up to a header that is in none of them stays.
    """

    def named(include: re.Match[str]) -> str:
        up = _UP.match(include["quoted"] or "")
        if up is None:
            return include.group()
        name = include["quoted"][up.end() :]
        found = next((one / name for one in directories if is_header(one / name)), None)
        meant = (Path(os.path.normpath(one / include["quoted"])) for one in directories)
        if found is None or next(filter(Path.is_file, meant), found) != found:
            return include.group()
        return include.group().replace(include["quoted"], name)

    return INCLUDE.sub(named, source) if "../" in source else source


def header_named(include: re.Match[str]) -> str:
    """The name in a match of `INCLUDE`."""
    return include["quoted"] or include["angled"]


def place_of(include: re.Match[str], directories: Sequence[Path], includer: Path | None = None) -> Path | None:
    """The header of the project that a match of `INCLUDE` in a source, or in another header, means."""
    beside = [includer.parent] if includer is not None and include["quoted"] else []
    for directory in [*beside, *directories]:
        place = Path(os.path.normpath(directory / header_named(include)))
        if is_header(place):
            return place
    return None


def texts_reached(source: str, directories: Sequence[Path], includer: Path | None = None) -> dict[Path, str]:
    """The headers of the project that a source includes, itself or through others, with their texts."""
    texts: dict[Path, str] = {}
    waiting = [(found, includer) for found in INCLUDE.finditer(source)]
    while waiting and len(texts) < _MOST:
        found, by = waiting.pop(0)
        path = place_of(found, directories, by)
        if path is not None and path not in texts:
            texts[path] = path.read_text("utf-8", "replace")
            waiting += [(found, path) for found in INCLUDE.finditer(texts[path])]
    return texts


def is_missing(include: re.Match[str], directories: Sequence[Path]) -> bool:
    """Whether what a match of `INCLUDE` names is in none of the directories, nor comes with compilers or the system."""
    name = header_named(include)
    if include["angled"]:
        directories = (*directories, *_SYSTEM)
    known = _OF_CUDA if include["quoted"] else _OF_COMPILERS
    has_ending = "." in name or include["quoted"]  # which headers of C++ itself have not
    return bool(has_ending) and not known.fullmatch(name) and not any(is_header(one / name) for one in directories)


def missing_headers(source: str, directories: Sequence[Path]) -> list[str]:
    """The headers that a source includes and that are nowhere, but for those of host libraries."""
    found = [one for one in INCLUDE.finditer(source) if is_missing(one, directories)]
    names = map(header_named, found)
    return [name for name in names if not is_of_host_library(name)]


def comes_with_cuda(header: str) -> bool:
    """Whether a header is one that CUDA's compilers bring along, as CUB's, and others need not have."""
    return _OF_COMPILERS.fullmatch(header) is not None


def is_of_host_library(header: str) -> bool:
    """Whether a header is one of a library that hosts call, as cuBLAS."""
    return _HOST_ONLY.fullmatch(header) is not None


def is_of_other_project(header: str) -> bool:
    """Whether a header is one of a library that hosts call, and that comes neither with CUDA nor with the system."""
    return _OF_OTHERS.fullmatch(header) is not None


def holds_other_projects(directory: Path) -> bool:
    """Whether a directory is one in which a project keeps others that it uses, as `third_party`."""
    return _HOLDING_OTHERS.fullmatch(directory.name) is not None


def is_header(path: Path) -> bool:
    """Whether there is a file of this name, which goes up no directory."""
    try:
        return ".." not in path.parts and path.is_file()
    except OSError:  # no name of a file
        return False
