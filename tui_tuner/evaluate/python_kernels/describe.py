"""The problem of a kernel that is written in Python, as a process that loads its file tells it."""

from __future__ import annotations

import asyncio
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tui_tuner.errors import ProblemError
from tui_tuner.evaluate.python_kernels.messages import DescriptionAnswer, DescriptionRequest, KernelDescription
from tui_tuner.evaluate.python_kernels.process import DEFAULT, KernelProcess, KernelProcessDied, ProcessOptions
from tui_tuner.problem.in_python import Written, written_in_python
from tui_tuner.problem.model import Kernel, Launch, Problem, Search
from tui_tuner.problem.toml_file import read_text
from tui_tuner.text import clean

_SHOWN = 400  # characters


def python_problem(file: Path, kernel: str | None, options: ProcessOptions = DEFAULT) -> Written:
    """The problem of a kernel in a Python file, every field of its search space a tunable.

    Args:
        kernel: needed where the file has several.
        options: how the kernel's process is started.

    Raises:
        UserError: the file cannot be loaded, has no such kernel, or there is no GPU.
    """
    source = read_text(file)
    description = describe(file, kernel, options)
    return written_in_python(problem_of_description(description, file, source))


def describe(file: Path, kernel: str | None, options: ProcessOptions = DEFAULT) -> KernelDescription:
    """What the kernel's process tells about it; may be called where an event loop runs.

    Raises:
        UserError: as of `python_problem`.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _ask(file, kernel, options)).result()


def problem_of_description(description: KernelDescription, file: Path, source: str) -> Problem:
    """The problem as a file would say it; it can be read again without torch."""
    return Problem(
        kernel=Kernel(source=Path(file.name), name=description.name, language="python"),
        sizes=description.sizes,
        launch=Launch(),
        arguments=[],
        tunables=description.tunables,
        defaults=description.defaults,
        search=Search(restrictions=description.restrictions, seeds=description.seeds),
        directory=file.parent.absolute(),
        source_text=source,
    )


async def _ask(file: Path, kernel: str | None, options: ProcessOptions) -> KernelDescription:
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        process = await KernelProcess.start(Path(log.name), options)
        process.send(DescriptionRequest(file=str(file.absolute()), kernel=kernel))
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
