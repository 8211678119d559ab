"""Helion's own ConfigSpec, where Helion is installed; it needs no GPU for this."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
helion = pytest.importorskip("helion", reason="Helion is not installed")

from tests.python_kernels.fakes import description  # noqa: E402
from tui_tuner.python_kernels import gathered  # noqa: E402
from tui_tuner.python_kernels.child.helion import HelionSpace  # noqa: E402
from tui_tuner.python_kernels.child.kernel import KernelFault  # noqa: E402
from tui_tuner.python_kernels.child.loading import KernelFromFile  # noqa: E402

SAMPLES = Path(__file__).parents[2] / "sample_kernels"


@pytest.fixture
def loaded(tmp_path: Path) -> KernelFromFile:
    """The sample kernel, its arguments on the CPU."""
    file = tmp_path / "matmul_on_cpu.py"
    file.write_text((SAMPLES / "matmul_helion.py").read_text("utf-8").replace('"cuda"', '"cpu"'), "utf-8")
    return KernelFromFile(file, None)


WITHOUT_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="it was recorded where there is no GPU")


@WITHOUT_GPU
def test_a_real_config_spec_is_described_as_it_was_recorded(loaded):
    recorded = description("matmul_helion")

    assert loaded.kernel.describe() == recorded.model_copy(update={"framework": loaded.kernel.framework})


def test_any_configuration_of_the_space_becomes_one_that_helion_takes_when_it_is_pasted(loaded):
    space: HelionSpace = loaded.kernel._space
    rng = random.Random(5)  # noqa: S311 (a test)
    for _ in range(100):
        flat = {name: rng.choice(values) for name, values in space.tunables().items()}
        config = space.normalized(helion.Config.from_dict(gathered(flat)))
        pasted = dict(config.config)
        loaded.kernel._bound.config_spec.normalize(pasted)  # strict: what it would repair it refuses
        again = space.flat(config)
        assert space.normalized(helion.Config.from_dict(gathered(again))) == config


def test_code_is_generated_without_a_gpu_and_what_helion_refuses_is_invalid(loaded):
    default = loaded.kernel.describe().defaults
    (launch,) = loaded.kernel.ready(default).jit_launches(loaded.arguments(0))

    assert launch.options["num_warps"] == default["num_warps"]
    with pytest.raises(KernelFault, match="must be a power of two"):
        loaded.kernel.ready({**default, "block_sizes_0": 7})


@WITHOUT_GPU
def test_the_plug_in_is_what_helion_finds_by_its_name(loaded):
    import tui_tuner.helion as plug_in

    assert helion.autotuner.search_algorithms[plug_in.NAME] is plug_in.TunerTuiSearch
    search = plug_in.TunerTuiSearch(loaded.kernel._bound, loaded.arguments(0), llm="none", max_evaluations=5)
    written = search._written(HelionSpace(search.config_spec))
    assert written.problem.kernel.name == "matmul"
    assert "def matmul" in written.problem.source_text
    assert written.problem.tunables == description("matmul_helion").tunables
