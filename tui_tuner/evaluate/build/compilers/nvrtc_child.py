"""The program that compiles with NVRTC inside the sandbox: prints the log and the kernel's symbol, writes the cubin.

Arguments: the directory that holds the `cuda` package, the release that NVRTC must have ("" for any), the kernel's
name, source file, artifact, `--`, options. With `--version` after the directory it prints the version and the
architectures instead.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

SYMBOL_LINE = "tuner symbol: "
_UNAVAILABLE = 75  # tui_tuner.evaluate.build.compilers.UNAVAILABLE: nothing of this package is imported here
_ALWAYS = b"tuner_math_constants"
_CONSTANTS = """\
#pragma once
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif
#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif
"""
_INTEGERS = """\
#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
"""
_LIMITS = """\
#pragma once
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LONG_MAX 9223372036854775807L
#define LONG_MIN (-LONG_MAX - 1)
#define ULONG_MAX 18446744073709551615ul
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-LLONG_MAX - 1)
#define ULLONG_MAX 18446744073709551615ull
"""
_FLOATS = """\
#pragma once
#define FLT_MIN 1.17549435e-38f
#define FLT_MAX 3.40282347e+38f
#define FLT_EPSILON 1.19209290e-7f
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_EPSILON 2.2204460492503131e-16
"""
_BUILT_IN = "#pragma once\n"  # NVRTC knows size_t, assert, printf and the mathematical functions without a header
HEADERS = {
    **dict.fromkeys(("stdint.h", "cstdint", "inttypes.h", "cinttypes"), _INTEGERS),
    **dict.fromkeys(("limits.h", "climits"), _LIMITS),
    **dict.fromkeys(("float.h", "cfloat"), _FLOATS),
    **dict.fromkeys(("math.h", "cmath", "stddef.h", "cstddef", "stdio.h", "cstdio", "assert.h", "cassert"), _BUILT_IN),
    _ALWAYS.decode(): _CONSTANTS,
}
"""The little of the C library that device code includes, as 64-bit Linux has it; NVRTC brings none."""


def warm_up(arguments: list[str]) -> None:
    """Load NVRTC, which takes longer than many a kernel; it starts no thread before it compiles."""
    _loaded(arguments[0]).nvrtcVersion()


def _loaded(packages: str) -> Any:  # noqa: ANN401 - a module
    if packages not in sys.path:
        sys.path.append(packages)
    from cuda.bindings import nvrtc

    return nvrtc


def main(arguments: list[str]) -> int:
    """Do what the arguments say and return the exit status."""
    packages, *rest = arguments
    try:
        nvrtc = _loaded(packages)
        _, major, minor = nvrtc.nvrtcVersion()
    except Exception as error:  # of several kinds: no package, no library, one that does not fit
        sys.stdout.write(f"{error}\n")
        return _UNAVAILABLE
    if rest == ["--version"]:
        _, architectures = nvrtc.nvrtcGetSupportedArchs()
        sys.stdout.write(f"{major}.{minor} {' '.join(map(str, architectures))}\n")
        return 0
    release, name, source, artifact, _, *options = rest
    if release not in ("", f"{major}.{minor}"):
        sys.stdout.write(f"NVRTC is {major}.{minor}, not {release}\n")
        return _UNAVAILABLE
    return _compile(nvrtc, name, Path(source), Path(artifact), options)


def _compile(nvrtc: Any, name: str, source: Path, artifact: Path, options: list[str]) -> int:  # noqa: ANN401 - a module
    names, texts = [name.encode() for name in HEADERS], [text.encode() for text in HEADERS.values()]
    content, options = source.read_bytes(), [*options, f"--pre-include={_ALWAYS.decode()}"]
    _, program = nvrtc.nvrtcCreateProgram(content, source.name.encode(), len(names), texts, names)
    nvrtc.nvrtcAddNameExpression(program, name.encode())
    (result,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(program, log)
    sys.stdout.write(log.rstrip(b" \0\n").decode(errors="replace") + "\n")
    if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        sys.stdout.write(f"{result.name}\n")
        return 1
    _, symbol = nvrtc.nvrtcGetLoweredName(program, name.encode())
    _, size = nvrtc.nvrtcGetCUBINSize(program)
    cubin = b" " * size
    nvrtc.nvrtcGetCUBIN(program, cubin)
    artifact.write_bytes(cubin)
    sys.stdout.write(f"{SYMBOL_LINE}{symbol.decode()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
