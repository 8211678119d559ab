"""A kernel in a Python file as a problem: what its process tells of it, on the GPU that the user named."""

from __future__ import annotations

import asyncio
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tui_tuner.errors import DeviceError, ProblemError
from tui_tuner.evaluate.devices.choose import device_named
from tui_tuner.evaluate.devices.kind import ALL
from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.problem.load import Written, written_in_python
from tui_tuner.problem.model import Kernel, Launch, Problem, Search
from tui_tuner.problem.toml_file import read_text
from tui_tuner.python_kernels import DescriptionAnswer, DescriptionRequest, KernelDescription
from tui_tuner.python_kernels.client import DEFAULT, KernelProcess, KernelProcessDied, ProcessOptions
from tui_tuner.text import clean

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def visible_gpu(device: str) -> dict[str, str]:
    """Variables for the kernel's process.

    Args:
        device: as the user names it, "auto", "cuda", "cuda:1".

    Raises:
        DeviceError: it is no CUDA device.
    """
    if device.strip().lower() == "auto":
        return {}
    choice = device_named(device)
    if "python" not in kind_named(choice.kind).languages or choice.backend != "auto" or choice.unit == ALL:
        hint = "leave --device out, or name one as in cuda:1"
        raise DeviceError(f"a kernel in Python runs on a CUDA GPU, not on '{device}'", hint=hint)
    if choice.unit:
        prefix, _, number = choice.unit.partition("-")
        return {_VISIBLE: f"{prefix.upper()}-{number}"}
    seen = [name for name in os.environ.get(_VISIBLE, "").split(",") if name.strip()]
    if seen and choice.index >= len(seen):
        raise DeviceError(f"there is no {device}", hint=f"{_VISIBLE} shows {len(seen)}")
    return {_VISIBLE: seen[choice.index] if seen else str(choice.index)}


def problem_in(file: Path, kernel: str | None, device: str, host: Path | None = None) -> Written:
    """The problem of a kernel in a Python file, for the device that the user named.

    Raises:
        UserError: as of `visible_gpu` and `python_problem`.
    """
    return python_problem(file, kernel, ProcessOptions(visible_gpu(device)), host)


_SHOWN = 400  # characters


def python_problem(file: Path, kernel: str | None, options: ProcessOptions, host: Path | None = None) -> Written:
    """The problem of a kernel in a Python file, every field of its search space a tunable.

    Args:
        kernel: needed where the file has several.
        options: how the kernel's process is started.
        host: a script that launches the kernel, and is run to see how.

    Raises:
        UserError: the file cannot be loaded, has no such kernel, or there is no GPU.
    """
    source = read_text(file)
    if host is not None:
        read_text(host)  # a script that is not there is told before torch is loaded
    description = describe(file, kernel, options, host)
    problem = problem_of_description(description, file, source, host)
    return replace(written_in_python(problem), doubts=tuple(description.notes))


def describe(
    file: Path, kernel: str | None, options: ProcessOptions = DEFAULT, host: Path | None = None
) -> KernelDescription:
    """What the kernel's process tells about it; may be called where an event loop runs.

    Raises:
        UserError: as of `python_problem`.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _ask(file, kernel, options, host)).result()


def problem_of_description(
    description: KernelDescription, file: Path, source: str, host: Path | None = None
) -> Problem:
    """The problem as a file would say it; it can be read again without torch."""
    script = None if host is None else Path(os.path.relpath(host, file.parent))
    return Problem(
        kernel=Kernel(
            source=Path(file.name),
            name=description.name,
            language="python",
            host=script,
            launched=description.launched,
            tensor_bytes=description.tensor_bytes,
        ),
        sizes=description.sizes,
        launch=Launch(),
        arguments=[],
        tunables=description.tunables,
        defaults=description.defaults,
        search=Search(restrictions=description.restrictions, seeds=description.seeds),
        directory=file.parent.absolute(),
        source_text=source,
    )


async def _ask(file: Path, kernel: str | None, options: ProcessOptions, host: Path | None) -> KernelDescription:
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        process = await KernelProcess.start(Path(log.name), options)
        script = None if host is None else str(host.absolute())
        process.send(DescriptionRequest(file=str(file.absolute()), kernel=kernel, host=script))
        try:
            answer = await process.receive()
        except KernelProcessDied as died:
            said = clean(Path(log.name).read_text("utf-8", "replace")).strip()[-_SHOWN:]
            raise ProblemError(f"{died.failure.message}: {said}", file=file) from None
        finally:
            await process.kill()
    if not isinstance(answer, DescriptionAnswer):
        raise RuntimeError(f"unexpected answer to describe: {answer!r}")
    return answer.description
