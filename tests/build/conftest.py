"""What the tests of the build need: a policy, compilers where they are installed, and a look at processes."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.compilers.cuda import Nvcc
from tui_tuner.evaluate.sandbox.confinement import abi_version
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Launch


@pytest.fixture
def policy() -> Iterator[Policy]:
    if abi_version() == 0:
        pytest.skip("the kernel has no Landlock")
    policy = Policy()
    yield policy
    policy.close()


@pytest.fixture(scope="session")
def nvcc() -> Nvcc:
    try:
        return Nvcc.find("sm_90")
    except DeviceError as error:
        pytest.skip(error.message)


@pytest.fixture(scope="session")
def gxx() -> str:
    found = shutil.which("g++")
    if found is None:
        pytest.skip("no g++")
    return str(Path(found).resolve())


@pytest.fixture
def candidate() -> Callable[..., Candidate]:
    def make(source: str, kernel: str = "k") -> Candidate:
        return Candidate(source=source, kernel=kernel, launch=Launch())

    return make


@pytest.fixture
def processes_at_home() -> Callable[[Path], list[str]]:
    """The names of what runs with a directory as its home: the command and all that it started."""

    def running(home: Path) -> list[str]:
        wanted = f"HOME={home}".encode()
        return sorted(_name(process) for process in Path("/proc").glob("[0-9]*") if wanted in _environment(process))

    return running


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text().strip()
    except OSError:
        return ""


def _environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0") if int(process.name) != os.getpid() else []
    except OSError:
        return []
