"""Facts of GPUs, found by architecture or product."""

from __future__ import annotations

import pytest

from tui_tuner.errors import SettingsError
from tui_tuner.tensile.knowledge.known import gpu_facts

ARCHITECTURES = [
    "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1101", "gfx1200", "gfx1201",
]  # fmt: skip


@pytest.mark.parametrize("name", ["MI210", "AMD Instinct MI210", "instinct mi210", "AMD Instinct(TM) MI210 PCIe"])
def test_a_product_is_found_by_its_name(name):
    found = gpu_facts(name)
    assert found is not None
    assert found.name == "gfx90a"
    assert [*found.products] == ["Instinct MI210"]


@pytest.mark.parametrize(
    ("name", "product"),
    [
        ("MI250X", "Instinct MI250X"),
        ("MI250", "Instinct MI250"),
        ("AMD Radeon RX 7900 XTX", "Radeon RX 7900 XTX"),
        ("rx 7900 xt", "Radeon RX 7900 XT"),
        ("Radeon RX 6800 XT", "Radeon RX 6800 XT"),
        ("Radeon Pro VII", "Radeon Pro VII"),
        ("Radeon VII", "Radeon VII"),
        ("AMD Radeon AI PRO R9700", "Radeon AI PRO R9700"),
        ("W7900", "Radeon PRO W7900"),
    ],
)
def test_similar_names_are_told_apart(name, product):
    found = gpu_facts(name)
    assert found is not None
    assert [*found.products] == [product]


@pytest.mark.parametrize("name", ["gfx90a", "gfx90a:sramecc+:xnack-", " GFX90A "])
def test_an_architecture_has_all_its_products(name):
    found = gpu_facts(name)
    assert found is not None
    assert [*found.products] == ["Instinct MI210", "Instinct MI250", "Instinct MI250X"]


def test_the_figures_of_a_product_with_two_devices_are_those_of_one():
    found = gpu_facts("MI250X")
    assert found is not None
    assert found.products["Instinct MI250X"].compute_units == 110
    assert "one of its 2 dies" in found.words()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_every_architecture_has_words_for_a_prompt_and_sources(name):
    found = gpu_facts(name)
    assert found is not None
    words = found.words()
    assert words.startswith(f"{name}: ")
    assert "LDS" in words
    assert "compute units" in words
    assert found.architecture.source
    assert found.products
    assert all(product.source for product in found.products.values())


def test_peaks_agree_with_clock_compute_units_and_operations_a_clock():
    rates = {"gfx908": 1024, "gfx90a": 1024, "gfx942": 2048, "gfx950": 4096, "gfx1100": 512, "gfx1101": 512}
    rates |= {"gfx1200": 1024, "gfx1201": 1024}
    for name, rate in rates.items():
        found = gpu_facts(name)
        assert found is not None
        for product, facts in found.products.items():
            if facts.clock_mhz is not None:
                peak = facts.compute_units * facts.clock_mhz * rate / 1e6
                assert facts.peak["f16"] == pytest.approx(peak, rel=0.002), product


def test_words_of_one_product():
    found = gpu_facts("MI300X")
    assert found is not None
    assert found.words().splitlines()[-1] == (
        "Instinct MI300X: 304 compute units in 8 XCDs; up to 2100 MHz; memory 5325 GB/s; L2 32 MiB in all; Infinity "
        "Cache 256 MiB; peak TFLOP/s f64 163.4, f32 163.4, xf32 653.7, f16 1307.4, bf16 1307.4, f8 2614.9, i8 2614.9"
    )


@pytest.mark.parametrize("name", ["", "gfx000", "AMD Radeon Graphics", "NVIDIA H100", "7900"])
def test_an_unknown_gpu_has_no_facts(name):
    assert gpu_facts(name) is None


def test_a_users_file_adds_products_and_architectures(tmp_path):
    file = tmp_path / "gpus.toml"
    file.write_text(
        """
[architectures.gfx1250]
family = "mine"
matrix = "WMMA"
wavefronts = [32]
lds_bytes = 327680
source = "me"

[products."Instinct MI308X"]
architecture = "gfx942"
compute_units = 80
source = "me"
""",
        "utf-8",
    )
    added = gpu_facts("AMD Instinct MI308X", file)
    assert added is not None
    assert added.words().endswith("Instinct MI308X: 80 compute units")
    assert gpu_facts("gfx1250", file) is not None
    assert gpu_facts("gfx1250") is None
    same = gpu_facts("gfx942", file)
    assert same is not None
    assert len(same.products) == 4


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ('[products.X]\narchitecture = "gfx942"\ncompute_units = 0\nsource = ""\n', "products.X.compute_units: ", 3),
        ('[products.X]\narchitecture = "gfx942"\n', "products.X.compute_units: Field required", 1),
        ("[product.X]\n", "product: unknown key", 1),
    ],
)
def test_a_mistake_in_it_names_file_key_and_line(tmp_path, text, message, line):
    file = tmp_path / "gpus.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(SettingsError) as caught:
        gpu_facts("gfx942", file)
    assert (caught.value.file, caught.value.line) == (file, line)
    assert caught.value.message.startswith(message)


def test_a_product_of_an_unknown_architecture_is_a_mistake(tmp_path):
    file = tmp_path / "gpus.toml"
    file.write_text('[products.X]\narchitecture = "gfx942x"\ncompute_units = 1\nsource = ""\n', "utf-8")
    with pytest.raises(SettingsError) as caught:
        gpu_facts("gfx942", file)
    assert caught.value.message == "products.X.architecture: there is no architecture gfx942x"
    assert caught.value.hint == "did you mean 'gfx942'?"
