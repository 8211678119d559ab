"""What is known of a GPU that Tensile tunes for, found by its architecture or by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import Field

from tui_tuner.errors import SettingsError
from tui_tuner.problem.nearest import suggestion
from tui_tuner.tensile.knowledge.toml_data import KnowledgeTable, shipped, users_own

_MAKERS_WORDS = frozenset({"amd", "instinct", "radeon", "graphics", "tm", "r", "rx", "pro", "ai"})


class Architecture(KnowledgeTable):
    """What all GPUs of an architecture share.

    Attributes:
        family: its name in words.
        matrix: kind of its matrix instructions: MFMA, WMMA or none.
        wavefronts: sizes in lanes.
        lds_bytes: that a work-group may have.
        simds: of a compute unit.
        waves: resident on a SIMD at most.
        registers: 32-bit vector registers a lane of a SIMD, AGPRs included.
        wave_registers: of these, what one wave may have.
        note: what else matters.
        source: where the figures are from.
    """

    family: str
    matrix: str
    wavefronts: list[int]
    lds_bytes: int = Field(gt=0)
    simds: int | None = None
    waves: int | None = None
    registers: int | None = None
    wave_registers: int | None = None
    note: str = ""
    source: str

    def words(self) -> list[str]:
        """A few lines for a prompt."""
        sizes = " or ".join(map(str, self.wavefronts))
        limits = [f"wavefronts of {sizes}", f"LDS {self.lds_bytes // 1024} KiB a work-group"]
        if self.simds and self.waves:
            limits.append(f"{self.simds} SIMDs a compute unit with at most {self.waves} waves each")
        if self.registers and self.wave_registers:
            limits.append(f"{self.registers} registers a lane and SIMD, at most {self.wave_registers} of them a wave")
        matrix = "no matrix instructions" if self.matrix == "none" else f"{self.matrix} matrix instructions"
        return [f"{matrix}; " + "; ".join(limits), *([self.note] if self.note else [])]


class Product(KnowledgeTable):
    """A GPU that is sold; where its dies are devices of their own, the figures are those of one die.

    Attributes:
        dies: how many devices of their own; None for one.
        xcds: accelerator dies, each with an L2 cache, that together are one device; None for one.
        clock_mhz: the highest.
        memory_gib: GiB.
        bandwidth: of the memory, GB/s.
        l2_bytes: of all its L2 caches together.
        infinity_cache_bytes: last-level cache (MALL).
        peak: dense TFLOP/s (TOP/s for integers) by data type.
        source: where the figures are from.
    """

    architecture: str
    compute_units: int = Field(gt=0)
    dies: int | None = None
    xcds: int | None = None
    clock_mhz: float | None = None
    memory_gib: float | None = None
    bandwidth: float | None = None
    l2_bytes: int | None = None
    infinity_cache_bytes: int | None = None
    peak: Mapping[str, float] = {}
    source: str

    def words(self) -> str:
        """One line for a prompt."""
        facts = [f"{self.compute_units} compute units" + (f" in {self.xcds} XCDs" if self.xcds else "")]
        if self.clock_mhz:
            facts.append(f"up to {self.clock_mhz:g} MHz")
        if self.bandwidth:
            facts.append(f"memory {self.bandwidth:g} GB/s")
        if self.l2_bytes:
            facts.append(f"L2 {self.l2_bytes / 2**20:g} MiB" + (" in all" if self.xcds else ""))
        if self.infinity_cache_bytes:
            facts.append(f"Infinity Cache {self.infinity_cache_bytes / 2**20:g} MiB")
        if self.peak:
            facts.append("peak TFLOP/s " + ", ".join(f"{dtype} {peak:g}" for dtype, peak in self.peak.items()))
        if self.dies:
            facts.append(f"figures of one of its {self.dies} dies, each of which is a device")
        return "; ".join(facts)


class GpuFile(KnowledgeTable):
    """A file of GPU facts: architectures by name (gfx90a), products by name."""

    architectures: Mapping[str, Architecture] = {}
    products: Mapping[str, Product] = {}


@dataclass(frozen=True)
class Gpu:
    """An architecture with those of its products that are meant: one if its name was given, else all."""

    name: str
    architecture: Architecture
    products: Mapping[str, Product]

    def words(self) -> str:
        """The facts in a few lines for a prompt."""
        lines = [f"{self.name}: {self.architecture.family}", *self.architecture.words()]
        if len(self.products) > 1:
            lines.append("which of these it is, is not known:")
        lines += [f"{name}: {product.words()}" for name, product in self.products.items()]
        return "\n".join(lines)


def gpu_facts(name: str, extra: Path | None = None) -> Gpu | None:
    """What is known of a GPU.

    Args:
        name: an architecture, with or without features (`gfx90a:sramecc+:xnack-`), or a product (`MI210`,
            `AMD Instinct MI210`).
        extra: a user's file of GPU facts, which adds to those of the program and replaces single ones; None for none.

    Returns:
        None where nothing is known of it.

    Raises:
        SettingsError: a mistake in the user's file.
    """
    facts = _facts(extra)
    target = name.strip().lower().partition(":")[0]
    if (architecture := facts.architectures.get(target)) is not None:
        same = {one: product for one, product in facts.products.items() if product.architecture == target}
        return Gpu(target, architecture, same)
    matches = [one for one in facts.products if _names(name, one)]
    if not matches:
        return None
    found = max(matches, key=lambda one: (len(_words(one)), len(_all_words(one) & _all_words(name))))
    product = facts.products[found]
    return Gpu(product.architecture, facts.architectures[product.architecture], {found: product})


def _facts(extra: Path | None) -> GpuFile:
    known = _shipped_facts()
    own = None if extra is None else users_own(extra, GpuFile)
    if own is None:
        return known
    architectures = {**known.architectures, **own.architectures}
    for name, product in own.products.items():
        if product.architecture not in architectures:
            hint = suggestion(product.architecture, architectures, "architectures")
            message = f"products.{name}.architecture: there is no architecture {product.architecture}"
            raise SettingsError(message, hint=hint, file=extra)
    return GpuFile(architectures=architectures, products={**known.products, **own.products})


@cache
def _shipped_facts() -> GpuFile:
    return shipped("gpus.toml", GpuFile)


def _names(name: str, product: str) -> bool:
    """Whether the words of a product stand in a row in a name."""
    words, wanted = _words(name), _words(product)
    return any(words[start : start + len(wanted)] == wanted for start in range(len(words) - len(wanted) + 1))


def _words(name: str) -> list[str]:
    return [word for word in re.findall(r"[a-z0-9]+", name.lower()) if word not in _MAKERS_WORDS]


def _all_words(name: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", name.lower()))
