"""The wheel holds all that the program needs, and the program runs from it with no checkout near."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.end_to_end.program import tuner_tui_process
from tui_tuner import __version__

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(directory)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = directory.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; what it depends on comes from this one, the checkout does not."""
    directory = tmp_path_factory.mktemp("installed")
    venv.create(directory, with_pip=False)
    python = directory / "bin" / "python"
    install = (
        "install",
        "--quiet",
        "--no-compile",
        "--disable-pip-version-check",
        "--no-deps",
        "--no-index",
        str(wheel),
    )
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True)
    (packages,) = directory.glob("lib/python*/site-packages")
    # A path in a .pth file is searched, but the .pth files in it, as that of an editable install, are not read.
    (packages / "dependencies.pth").write_text(sysconfig.get_path("platlib") + "\n")
    return directory


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def shipped() -> set[str]:
    """Where each file of the repository that the program reads belongs in the wheel."""
    samples = ROOT / "sample_kernels"
    data = {
        *ROOT.glob("themes/*.toml"),
        *samples.glob("*.*"),
        *samples.glob("steps/*.toml"),
        *samples.glob("strategies/*.py"),
    }
    data |= {*samples.glob("recorded/*/journal.jsonl"), *samples.glob("tensile/**/*.*")}
    inside = {path.relative_to(ROOT) for path in (ROOT / "tui_tuner").rglob("*.*")}
    return {f"tui_tuner/{path.relative_to(ROOT)}" for path in data} | {
        str(path) for path in inside if "__pycache__" not in path.parts
    }


@pytest.mark.slow
def test_the_wheel_holds_every_file_that_the_program_reads(wheel: Path) -> None:
    names = set(names_in(wheel))

    assert shipped() <= names
    for kind in (
        "themes/tuner-dark.toml",
        "sample_kernels/matmul.cu",
        "sample_kernels/matmul.toml",
        "sample_kernels/matmul_reference.py",
        "sample_kernels/steps/few.toml",
        "sample_kernels/strategies/my_strategy.py",
        "sample_kernels/recorded/one_prompt-matmul/journal.jsonl",
        "sample_kernels/tensile/gemm.yaml",
        "sample_kernels/tensile/recorded/journal.jsonl",
        "tensile/knowledge/gpus.toml",
        "tensile/knowledge/terminology.toml",
        "tensile/knowledge/valid_values/tensilelite.toml",
        "strategies/default_steps.toml",
        "prompts/one_prompt.md",
        "prompts/plan.md",
        "prompts/system.md",
        "llm/prices.toml",
        "tui/styles/screen.tcss",
        "evaluate/emulator/include/cuda_fp16.h",
        "evaluate/emulator/include/tuner_emulator/device.h",
        "evaluate/devices/cuda/ceilings.cu",
        "py.typed",
    ):
        assert f"tui_tuner/{kind}" in names, kind


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    information = f"tuner_tui-{__version__}.dist-info/"
    others = {*names_in(wheel)} - shipped()

    assert [name for name in sorted(others) if not name.startswith(information)] == []


def test_an_installed_program_tunes_its_own_sample_from_an_empty_directory(installed: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    program = "import pathlib, tui_tuner; print(pathlib.Path(tui_tuner.__file__).parent)"
    python = [str(installed / "bin" / "python"), "-c", program]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(python, cwd=empty, env=clean, capture_output=True, text=True, check=True)
    package = Path(found.stdout.strip())
    assert package.is_relative_to(installed), "the checkout would be tested, not the wheel"

    sample = package / "sample_kernels" / "convolution2d.cu"
    options = ("--auto", "--device", "emulator", "--llm", "none", "--max-evals", 1)
    tuner = str(installed / "bin" / "tuner-tui")
    ended = tuner_tui_process(sample, *options, cwd=empty, program=tuner, PYTHONPATH="")

    assert ended.code in (0, 3), ended.err
    assert "effort    1 evaluation," in ended.out
    (run,) = (empty / "tuner-runs").iterdir()
    assert {"best.cu", "best.toml", "result.json", "journal.jsonl"} <= {file.name for file in run.iterdir()}
    replayed = tuner_tui_process("replay", run, "--auto", cwd=empty, program=tuner, PYTHONPATH="")
    assert replayed.code == ended.code
