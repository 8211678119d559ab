import subprocess
from pathlib import Path

import pytest

from tests.waiting import is_loaded
from tui_tuner.evaluate.build.compilers import BuildRefusal
from tui_tuner.evaluate.build.compilers.opencl import KERNELS, OpenCLCompiler
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.evaluate.sandbox.launcher import ResourceLimits
from tui_tuner.evaluate.sandbox.run import Policy, run_confined
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Launch

SOURCE = """\
__kernel void scale(__global float* out, const float factor) {
    out[get_global_id(0)] *= factor * STEPS;
}
__kernel void other(__global float* out) { out[0] = 1; }
"""
COMPILER = OpenCLCompiler(0, 0, "platform 1.0, device")


def candidate(source=SOURCE, kernel="scale"):
    return Candidate(source=source, kernel=kernel, launch=Launch())


def build(recipe, directory: Path):
    for name, text in recipe.files.items():
        (directory / name).write_text(text)
    return subprocess.run(recipe.command, cwd=directory, capture_output=True, text=True, check=False)


def test_tunables_become_macros_and_the_platform_is_named():
    recipe = COMPILER.recipe(candidate(), {"STEPS": 4}, ["-cl-mad-enable"])
    assert recipe.command[3:5] == ("0", "0")
    assert recipe.command[-3:] == ("-DSTEPS=4", "-Dkernel_tuner=1", "-cl-mad-enable")
    assert "platform 1.0" in COMPILER.toolchain


def test_a_tunable_that_is_more_than_one_token_is_refused():
    with pytest.raises(BuildRefusal):
        COMPILER.recipe(candidate(), {"STEPS": "1; evil"}, [])


def test_a_kernel_that_the_source_does_not_have_is_refused_with_those_it_has():
    log = f"{KERNELS}other scale"
    assert COMPILER.symbol(candidate(), log) == "scale"
    with pytest.raises(BuildRefusal, match=r"missing.*other, scale") as caught:
        COMPILER.symbol(candidate(kernel="missing"), log)
    assert caught.value.failure.kind is FailureKind.COMPILE


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("error: /tmp/tempfile_8Pe0Cy.cl:3:35: use of", "kernel.cl:3:35: error: use of"),
        ("<kernel>:3:35: error: use of", "kernel.cl:3:35: error: use of"),
        ("1:3:35: error: use of", "kernel.cl:3:35: error: use of"),
        ("/var/comgr-1/input/CompileSource:3:35: error: use of", "kernel.cl:3:35: error: use of"),
        ("ratio 1:3 is fine", "ratio 1:3 is fine"),
    ],
)
def test_places_are_shown_in_the_sources_own_name(said, shown):
    child = pytest.importorskip("tui_tuner.evaluate.build.compilers.opencl_child", exc_type=ImportError)
    assert child.with_name(said, "kernel.cl") == shown


@pytest.mark.slow
@pytest.mark.opencl
@pytest.mark.parametrize("stays_loaded", [False, True])
async def test_a_confined_build_writes_a_binary_and_names_its_kernels(opencl, tmp_path, stays_loaded):
    recipe = COMPILER.recipe(candidate(), {"STEPS": 4}, [])
    for name, text in recipe.files.items():
        (tmp_path / name).write_text(text)
    policy = Policy(allow_unconfined=True)
    if stays_loaded:
        policy.warm(*recipe.warm)
    limits = ResourceLimits(memory=0)  # as a build that opens a device has
    done = await run_confined(
        recipe.command, directory=tmp_path, policy=policy, read=recipe.read, write=recipe.devices, limits=limits
    )
    assert done.returncode == 0, done.output
    assert COMPILER.symbol(candidate(), done.output) == "scale"
    assert (tmp_path / recipe.artifact).stat().st_size > 0
    assert is_loaded(recipe.warm[0]) == stays_loaded  # neither pyopencl nor NumPy has a thread
    policy.close()


@pytest.mark.slow
@pytest.mark.opencl
def test_a_mistake_is_shown_with_its_line_and_without_the_librarys_chatter(opencl, tmp_path):
    done = build(COMPILER.recipe(candidate(), {}, []), tmp_path)
    assert done.returncode == 1
    assert "kernel.cl:2:" in done.stdout
    assert "STEPS" in done.stdout
    assert "pyopencl" not in done.stdout
    assert not (tmp_path / "kernel.bin").exists()


@pytest.mark.slow
@pytest.mark.opencl
def test_a_device_that_is_not_there_is_said_in_words(opencl, tmp_path):
    done = build(OpenCLCompiler(0, 99, "none").recipe(candidate(), {"STEPS": 1}, []), tmp_path)
    assert done.returncode == 2
    assert "no OpenCL device 0.99" in done.stdout
