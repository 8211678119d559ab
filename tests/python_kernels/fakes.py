from __future__ import annotations

import sys
from pathlib import Path

from tui_tuner.problem.load import Written, written_in_python
from tui_tuner.python_kernels import KernelDescription
from tui_tuner.python_kernels.client import ProcessOptions
from tui_tuner.python_kernels.from_file import problem_of_description

HERE = Path(__file__).parent
DESCRIBED = ("matmul_helion", "softmax_helion", "softmax_triton")
SOURCE = "# the kernel's text\n"


def description(name: str = "matmul_helion") -> KernelDescription:
    """What a real kernel's process told."""
    return KernelDescription.model_validate_json((HERE / f"described/{name}.json").read_text("utf-8"))


def written(directory: Path, name: str = "matmul_helion") -> Written:
    """The problem of a recorded description, its kernel's file on the disk."""
    file = directory / f"{name}.py"
    file.write_text(SOURCE, "utf-8")
    return written_in_python(problem_of_description(description(name), file, SOURCE))


def narrow(directory: Path) -> Written:
    """The same with three tunables of several values: twelve configurations, which a search tries all."""
    problem = written(directory).problem
    several = {"block_sizes_0": [16, 64, 128], "block_sizes_1": [16, 128], "num_warps": [4, 8]}
    tunables = {name: several.get(name, [value]) for name, value in problem.default_configuration.items()}
    return written_in_python(problem.model_copy(update={"tunables": tunables}))


def fake_process(directory: Path, name: str = "matmul_helion") -> ProcessOptions:
    """Starts a process that speaks the protocol without torch."""
    command = (sys.executable, str(HERE / "fake_child.py"), str(HERE / f"described/{name}.json"), str(marks(directory)))
    return ProcessOptions(command=command)


def marks(directory: Path) -> Path:
    """Has a line for each process that was started."""
    return directory / "starts"


def starts(directory: Path) -> int:
    return len(marks(directory).read_text("utf-8").splitlines())
