"""The program that compiles with NVRTC inside the sandbox: prints the log and the kernel's symbol, writes the cubin.

Arguments: the directory that holds the `cuda` package, the kernel's name, source file, artifact, `--`, options.
With `--version` after the directory it prints the version and the architectures instead.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

SYMBOL_LINE = "tuner symbol: "


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
    nvrtc = _loaded(packages)
    if rest == ["--version"]:
        _, major, minor = nvrtc.nvrtcVersion()
        _, architectures = nvrtc.nvrtcGetSupportedArchs()
        sys.stdout.write(f"{major}.{minor} {' '.join(map(str, architectures))}\n")
        return 0
    name, source, artifact, _, *options = rest
    return _compile(nvrtc, name, Path(source), Path(artifact), options)


def _compile(nvrtc: Any, name: str, source: Path, artifact: Path, options: list[str]) -> int:  # noqa: ANN401 - a module
    _, program = nvrtc.nvrtcCreateProgram(source.read_bytes(), source.name.encode(), 0, None, None)
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
