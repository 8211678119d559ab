"""Launches that a program makes, where torch and Triton are installed; none of them for real but where marked."""

# ruff: noqa: E402 - after the checks for torch and Triton

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
triton = pytest.importorskip("triton", reason="Triton is not installed")

from triton.runtime.jit import JITFunction

from tui_tuner.cli import main
from tui_tuner.errors import ProblemError
from tui_tuner.python_kernels.child.bench import unreported
from tui_tuner.python_kernels.child.loading import KernelFromFile
from tui_tuner.python_kernels.child.seen import SeenLaunch, seen_launches
from tui_tuner.python_kernels.child.triton import TritonKernel
from tui_tuner.python_kernels.child.user_file import UserFile

KERNELS = """
import torch
import triton
import triton.language as tl

DEVICE = "cpu"


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, twice(tl.load(x_ptr + at, at < n)), at < n)


listed = triton.autotune(
    [triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 512}, num_warps=8)], key=["n"]
)(double)
chosen = triton.heuristics({"BLOCK": lambda a: triton.next_power_of_2(a["n"]), "num_warps": lambda _: 8})(double)


def launch(kernel, n, grid=None, **options):
    x = torch.rand(n, device=DEVICE) - 0.5
    y = torch.zeros_like(x)
    kernel[grid or (lambda meta: (triton.cdiv(n, meta["BLOCK"]),))](x, y, n, **options)
    return y
"""
PROGRAM = KERNELS + '\n\nif __name__ == "__main__":\n'


@pytest.fixture(autouse=True)
def launched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict]]:
    """What each launch was given; nothing is launched, but every element of the tensors is set to 7."""
    made: list[dict] = []

    def run(_kernel, *given, grid, warmup, **options):
        for one in given:
            if isinstance(one, torch.Tensor):
                one.fill_(7)
        made.append({"given": given, "grid": grid, **options})

    with monkeypatch.context() as only:
        only.setattr(JITFunction, "run", run)
        only.setitem(sys.modules, "__main__", sys.modules["__main__"])  # which a program that is run takes the place of
        yield made


def program(directory: Path, *lines: str, kernels: str = KERNELS) -> Path:
    file = directory / "program.py"
    file.write_text(kernels + "\n\nif __name__ == '__main__':\n    " + "\n    ".join(lines) + "\n", "utf-8")
    return file


def test_the_largest_launch_of_a_kernel_is_kept_as_it_was_before_it(tmp_path, launched):
    lines = ["y = launch(double, 100, BLOCK=32)", "assert y[0] == 7", "launch(double, 3000, BLOCK=64, num_warps=2)"]
    file = program(tmp_path, *lines, "launch(double, 200, BLOCK=128)")
    (seen,) = seen_launches(file, file).values()

    assert len(launched) == 3
    assert seen.arguments["n"] == 3000
    assert seen.arguments["BLOCK"] == 64
    assert seen.options == {"num_warps": 2}
    assert not torch.any(seen.arguments["y_ptr"]), "zeros, as they were"
    assert seen.count == 3
    assert seen.nbytes == 24000
    assert seen.in_words == f"program.py, line {line_of(file, 'kernel[grid')}, the largest of 3 launches (0.024 MB)"


def test_a_program_is_ended_at_the_launch_that_is_looked_for(tmp_path, launched):
    lines = ["launch(double, 100, BLOCK=32)", "launch(double, 3000, BLOCK=64)", "launch(double, 5000, BLOCK=64)"]
    loaded = KernelFromFile(program(tmp_path, *lines), "double", enough=24000)

    assert len(launched) == 1, "that one is not made, nor are those behind it"
    assert loaded.description.sizes["n"] == 3000
    assert loaded.description.tensor_bytes == 24000
    again = KernelFromFile(program(tmp_path, *lines, "raise ValueError"), "double", enough=10**6)
    assert again.description.sizes["n"] == 5000, "where no launch is so large the largest is taken"


def line_of(file: Path, text: str) -> int:
    return next(number for number, line in enumerate(file.read_text("utf-8").splitlines(), 1) if text in line)


def test_what_the_program_raises_or_exits_with_after_a_launch_costs_nothing(tmp_path):
    for ending in ("raise ValueError('x')", "import sys; sys.exit(3)"):
        file = program(tmp_path, "launch(double, 100, BLOCK=32)", ending)
        assert [*seen_launches(file, file)] == ["double of JITFunction"]


def test_a_program_that_goes_on_for_long_is_ended_and_an_alarm_of_its_own_is_none_of_ours(tmp_path, monkeypatch):
    monkeypatch.setattr("tui_tuner.python_kernels.child.seen.LOOKED_S", 0.2)
    file = program(tmp_path, "launch(double, 100, BLOCK=32)", "import time; time.sleep(60)")
    assert [*seen_launches(file, file)] == ["double of JITFunction"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("pass",), "launches no kernel of program.py when it is run"),
        (("raise ValueError('no data')",), "fails before it launches a kernel of program.py: ValueError: no data"),
        (("import sys; sys.exit('usage')",), "it ends with usage"),
    ],
)
def test_a_program_that_launches_nothing_is_told_with_the_way_out(tmp_path, lines, said):
    file = program(tmp_path, *lines)
    with pytest.raises(ProblemError, match=said) as refused:
        seen_launches(file, file)
    assert "def arguments():" in (refused.value.hint or "")
    assert "--host FILE" in (refused.value.hint or "")


def test_an_autotuned_kernel_runs_in_its_first_configuration_alone_and_keeps_its_list(tmp_path, launched):
    file = program(tmp_path, "launch(listed, 100)", "assert len(listed.configs) == 2")
    loaded = KernelFromFile(file, "listed")

    assert [(one["BLOCK"], one["num_warps"]) for one in launched] == [(64, 2)]
    described = loaded.description
    assert described.tunables["BLOCK"] == [64, 512]
    assert described.tunables["num_warps"] == [2, 8]
    assert described.seeds[0]["BLOCK"] == 512
    assert described.notes[0].startswith("arguments   as in the launch at program.py, line ")


def test_a_script_beside_it_launches_a_kernel_and_functions_of_tests_are_called(tmp_path):
    kernels = tmp_path / "kernels.py"
    kernels.write_text(KERNELS, "utf-8")
    script = tmp_path / "test_kernels.py"
    script.write_text(
        "from kernels import double, launch\n\n\ndef test_of_sizes(n):\n    raise AssertionError\n\n\n"
        "def test_double():\n    launch(double, 64, BLOCK=16)\n",
        "utf-8",
    )
    loaded = KernelFromFile(kernels, None, script)
    assert loaded.name == "double"
    assert loaded.description.tunables["BLOCK"] == [4, 8, 16, 32, 64]
    with pytest.raises(ProblemError, match=r"launches no kernel of kernels\.py"):
        KernelFromFile(kernels, None)


def test_around_a_launch_lie_warps_stages_and_blocks_where_heuristics_choose_them_too(tmp_path):
    given = KernelFromFile(program(tmp_path, "launch(double, 100, BLOCK=32, num_warps=3)"), "double").description
    assert given.tunables["num_warps"] == [1, 2, 3, 4, 8, 16]
    assert given.tunables["num_stages"] == [1, 2, 3, 4, 5]
    assert given.defaults == {"num_warps": 3, "num_stages": 3, "BLOCK": 32}
    assert given.sizes["n"] == 100

    loaded = KernelFromFile(program(tmp_path, "launch(chosen, 100)"), "chosen")
    assert loaded.description.defaults == {"num_warps": 8, "num_stages": 3, "BLOCK": 128}
    assert isinstance(loaded.kernel, TritonKernel)
    (launch,) = loaded.kernel.ready({"num_warps": 1, "num_stages": 2, "BLOCK": 64}).jit_launches(loaded.arguments(1))
    assert (launch.options["BLOCK"], launch.options["num_warps"]) == (64, 1), "as tuned, not as heuristics have it"


def test_a_grid_of_numbers_follows_the_block_that_it_seems_to_be_made_from(tmp_path, launched):
    loaded = KernelFromFile(program(tmp_path, "launch(double, 100, grid=(4,), BLOCK=32)"), "double")
    assert loaded.description.notes[1:] == ["grid        (cdiv(100, BLOCK)), as its numbers seem to be made"]
    loaded.kernel.ready({"num_warps": 1, "num_stages": 2, "BLOCK": 64}).launch(loaded.arguments(1), unreported)
    assert launched[-1]["grid"] == (2,)


def test_a_grid_that_is_a_function_follows_the_block(tmp_path, launched):
    loaded = KernelFromFile(program(tmp_path, "launch(double, 100, BLOCK=32)"), "double")
    assert len(loaded.description.notes) == 1
    loaded.kernel.ready({"num_warps": 1, "num_stages": 2, "BLOCK": 64}).launch(loaded.arguments(1), unreported)
    assert launched[-1]["grid"] == (2,)
    assert launched[-1]["BLOCK"] == 64


def test_floating_numbers_are_turned_and_what_may_be_a_place_or_an_order_is_not(tmp_path):
    tensors = {
        "noise": torch.arange(7.0).flip(0),
        "rows": torch.rand(4, 6)[:, :4],
        "small": torch.tensor([3.0, 1.0, 2.0]).to(torch.float8_e4m3fn),
        "places": torch.tensor([3, 1, 2]),
        "steps": torch.arange(5.0),
        "mask": torch.tensor([1.0, -torch.inf, 0.0, 2.0]),
        "spread": torch.rand(1, 3).expand(5, 3),
    }
    launch = SeenLaunch(tensors, {}, (1,), 0, tmp_path, 0)
    made = launch.afresh(4)

    turned = {name for name, one in tensors.items() if not torch.equal(one.float(), made[name].float())}
    assert turned == {"noise", "rows", "small"}
    assert all(one.stride() == made[name].stride() for name, one in tensors.items())
    assert sorted(made["noise"].tolist()) == sorted(tensors["noise"].tolist())
    assert not torch.equal(launch.afresh(5)["rows"], made["rows"])
    assert all(one.data_ptr() != made[name].data_ptr() for name, one in tensors.items())


def test_a_file_that_says_arguments_is_not_run(tmp_path, launched):
    text = (
        KERNELS
        + "\n\ndef arguments():\n    return torch.rand(8), torch.rand(8), 8\n\n\ndef grid(meta):\n    return (1,)\n"
    )
    file = program(tmp_path, "launch(double, 100, BLOCK=32)", kernels=text)
    loaded = KernelFromFile(file, None)
    assert (loaded.name, launched) == ("listed", [])
    assert loaded.description.notes == []
    assert UserFile(file).says_arguments


def test_a_kernel_that_is_not_launched_is_not_offered(tmp_path):
    file = program(tmp_path, "launch(double, 100, BLOCK=32)", "launch(listed, 100)")
    assert KernelFromFile(file, "double").name == "double"
    with pytest.raises(ProblemError, match="has no kernel 'twice'"):
        KernelFromFile(file, "twice")


def test_a_copy_of_the_file_that_the_script_knows_is_tuned_as_well(tmp_path):
    for name in ("kernels.py", "best.py"):
        (tmp_path / name).write_text(KERNELS, "utf-8")
    script = tmp_path / "bench.py"
    script.write_text("from kernels import double, launch\nlaunch(double, 64, BLOCK=16)\n", "utf-8")
    assert KernelFromFile(tmp_path / "best.py", "double", script).description.sizes["n"] == 64


def test_a_function_that_a_wrapper_tunes_has_the_list_of_the_wrapper(tmp_path, launched):
    tuned = "triton.autotune([triton.Config({'BLOCK': b}, num_warps=2) for b in (32, 64)], key=['n'])(double)"
    kernels = KERNELS.replace("listed = triton.autotune(", "other = triton.autotune(", 1).replace(
        ")(double)", ")(twice)"
    )
    file = program(tmp_path, f"launch({tuned}, 100)", kernels=kernels)
    loaded = KernelFromFile(file, None)
    assert loaded.name == "double"
    assert loaded.description.tunables == {"BLOCK": [32, 64], "num_warps": [2], "num_stages": [3]}
    loaded.kernel.ready(loaded.description.defaults).launch(loaded.arguments(1), unreported)
    assert (launched[-1]["BLOCK"], launched[-1]["grid"]) == (32, (4,))


def test_around_a_list_of_one_configuration_lies_as_much_as_around_a_launch(tmp_path, launched):
    one = "triton.autotune([triton.Config({'BLOCK': 32, 'EVEN': True}, num_warps=2)], key=['n'])"
    kernels = KERNELS.replace("BLOCK: tl.constexpr):", "BLOCK: tl.constexpr, EVEN: tl.constexpr = False):")
    kernels = kernels.replace("@triton.jit\ndef double", f"@{one}\n@triton.jit\ndef double")
    kernels = "".join(line for line in kernels.splitlines(True) if not line.startswith("chosen"))
    loaded = KernelFromFile(program(tmp_path, "launch(double, 100)", kernels=kernels), "double")
    assert loaded.description.defaults == {"num_warps": 2, "num_stages": 3, "BLOCK": 32}
    assert loaded.description.tunables["BLOCK"] == [8, 16, 32, 64, 128]
    loaded.kernel.ready({**loaded.description.defaults, "BLOCK": 64}).launch(loaded.arguments(1), unreported)
    assert {name: launched[-1][name] for name in ("BLOCK", "EVEN", "grid")} == {"BLOCK": 64, "EVEN": True, "grid": (2,)}


def test_a_tuner_of_the_projects_own_is_one(tmp_path, launched):
    tuner = """

class Tuner(triton.KernelInterface):
    def __init__(self, fn, configs):
        self.fn, self.configs = fn, configs

    def run(self, *given, grid, warmup, **named):
        return self.fn.run(*given, grid=grid, warmup=warmup, **self.configs[0].all_kwargs(), **named)


double = Tuner(double, [triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})])
"""
    loaded = KernelFromFile(program(tmp_path, "launch(double, 100)", kernels=KERNELS + tuner), "double")
    assert loaded.description.tunables == {"BLOCK": [64, 128], "num_warps": [4], "num_stages": [3]}
    loaded.kernel.ready({"BLOCK": 128}).launch(loaded.arguments(1), unreported)
    assert (launched[-1]["BLOCK"], launched[-1]["grid"]) == (128, (1,))


class Compiled:
    """What `kernel.warmup` gives, launched as a real one."""

    def __getitem__(self, grid):
        return lambda *given: launched_compiled.append((grid, given))


launched_compiled: list[tuple] = []


def test_a_launch_of_what_was_compiled_before_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(JITFunction, "run", lambda *_given, **_named: Compiled())
    monkeypatch.setattr("tui_tuner.python_kernels.child.seen.CompiledKernel", Compiled)
    lines = (
        "x = torch.rand(100)",
        "compiled = double.warmup(x, x, 100, BLOCK=32, num_warps=8, grid=(1,))",
        "compiled[(4, 1, 1)](x, x, 100, 32)",
    )
    loaded = KernelFromFile(program(tmp_path, *lines), "double")
    assert launched_compiled.pop()[0] == (4, 1, 1)
    assert loaded.description.defaults == {"num_warps": 8, "num_stages": 3, "BLOCK": 32}
    assert loaded.description.sizes["n"] == 100


def package(directory: Path, *marked: str) -> Path:
    """A kernel's file in a package, that imports from beside it; the folders that are marked have an `__init__.py`."""
    folder = directory / "mine/ops"
    folder.mkdir(parents=True)
    for name in marked:
        (directory / name / "__init__.py").write_text("", "utf-8")
    (folder / "twos.py").write_text("TWO = 2\n", "utf-8")
    (folder / "doubling.py").write_text("from .twos import TWO\n" + KERNELS, "utf-8")
    return folder / "doubling.py"


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is imported is gone afterwards."""
    before = {*sys.modules}
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name in {*sys.modules} - before:
        if name.startswith("mine"):
            del sys.modules[name]


@pytest.mark.parametrize("marked", [("mine", "mine/ops"), ()], ids=["a package", "folders alone"])
def test_a_file_of_a_package_is_loaded_as_its_part(tmp_path, forgotten, marked):
    file = package(tmp_path, *marked)
    script = tmp_path / "bench.py"
    script.write_text("from mine.ops.doubling import double, launch\nlaunch(double, 64, BLOCK=16)\n", "utf-8")
    loaded = KernelFromFile(file, "double", script)
    assert loaded.description.sizes["n"] == 64
    assert sys.modules["mine.ops.doubling"].TWO == 2


def test_a_file_of_a_package_runs_as_its_part(tmp_path, forgotten):
    file = package(tmp_path, "mine", "mine/ops")
    file.write_text(file.read_text("utf-8") + "\n\nif __name__ == '__main__':\n    launch(double, 64, BLOCK=16)\n")
    assert KernelFromFile(file, "double").description.sizes["n"] == 64


def test_a_file_that_was_taken_out_of_its_package_is_told_where_it_belongs(tmp_path, forgotten):
    file = package(tmp_path).rename(tmp_path / "best.py")
    with pytest.raises(ProblemError, match="attempted relative import") as refused:
        KernelFromFile(file, "double")
    assert (refused.value.hint or "").startswith("it is a part of a package: put it in its place there")


def test_a_package_that_cannot_be_loaded_is_told(tmp_path, forgotten):
    file = package(tmp_path, "mine", "mine/ops")
    (tmp_path / "mine/__init__.py").write_text("import nothing_of_this_name\n", "utf-8")
    with pytest.raises(ProblemError, match="cannot be loaded: ModuleNotFoundError: No module named 'nothing_of_this"):
        KernelFromFile(file, "double")
    alone = file.read_text("utf-8").replace("from .twos import TWO", "from twos import TWO")
    file.write_text(alone + "\n\nlaunch(double, 64, BLOCK=16)\n", "utf-8")
    assert KernelFromFile(file, "double").description.sizes["n"] == 64, "it does not need the package"


@pytest.mark.gpu
def test_a_file_with_a_benchmark_is_tuned_as_it_is(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = program(tmp_path, "launch(double, 1 << 22, BLOCK=32)", kernels=KERNELS.replace('"cpu"', '"cuda"'))
    assert main([f"{file}:double", "--auto", "--llm", "none", "--max-evals", "8"]) == 0
    assert "arguments   as in the launch at program.py" in capsys.readouterr().err
    (best,) = tmp_path.glob("tuner-runs/*/best_config.py")
    assert "triton.Config({'BLOCK': " in best.read_text("utf-8")
