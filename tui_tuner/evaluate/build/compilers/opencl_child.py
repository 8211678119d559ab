"""Builds an OpenCL program and writes its binary; runs confined, as a program of its own.

Arguments: platform number, device number, source file, binary file, build options. Prints the build log with
the source's own name, then the names of the kernels. Exit status 0: built; 1: the source does not build;
2: the platform or device is not there.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import pyopencl as cl

KERNELS = "kernels: "
_PLACE = re.compile(
    r"^(?:(?P<before>error|warning|note): )?"
    r"(?:\S*tempfile\S*\.cl|\S*CompileSource|<kernel>|<program source>|<stdin>|input\.cl|1(?=:\d+:\d+:)):"
    r"(?P<line>\d+):(?P<column>\d+): ",
    re.MULTILINE,
)
"""How pocl, AMD's, NVIDIA's and Intel's drivers name a place in a source that they were given as text."""


_LOG = re.compile(r"^Build on <.*?>:\n+(?P<log>.*?)(?:\n\n\(options:|\Z)", re.MULTILINE | re.DOTALL)
"""The driver's own words inside pyopencl's message."""


def warm_up(arguments: list[str]) -> None:
    """Load pyopencl, and nothing more: drivers start threads as soon as they are asked for platforms."""
    del arguments


def main(arguments: list[str]) -> int:
    """Build."""
    os.environ["POCL_CACHE_DIR"] = str(Path.cwd())
    warnings.simplefilter("ignore")  # pyopencl repeats the build log as a warning
    platform, index, source, binary, *options = arguments
    try:
        device = cl.get_platforms()[int(platform)].get_devices()[int(index)]
        context = cl.Context([device])
    except (cl.Error, IndexError) as error:
        _say(f"error: no OpenCL device {platform}.{index}: {error}")
        return 2
    program: Any = cl.Program(context, Path(source).read_text(encoding="utf-8"))
    try:
        program.build(options=options, cache_dir=False)
    except cl.RuntimeError as error:
        found = _LOG.search(str(error))
        _say(with_name(found["log"] if found else str(error), source))
        return 1
    _say(with_name(program.get_build_info(device, cl.program_build_info.LOG), source))
    Path(binary).write_bytes(program.binaries[0])
    _say(KERNELS + " ".join(sorted(kernel.function_name for kernel in program.all_kernels())))
    return 0


def with_name(log: str, source: str) -> str:
    """The log with places written as compilers do, in the source's own name: `kernel.cl:3:9: error: ...`."""

    def place(found: re.Match[str]) -> str:
        severity = f"{found['before']}: " if found["before"] else ""
        return f"{source}:{found['line']}:{found['column']}: {severity}"

    return _PLACE.sub(place, log)


def _say(text: str) -> None:
    if text.strip():
        sys.stdout.write(text.strip() + "\n")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
