"""What is known of a configuration's parameters, terms and GPU, put together for prompts and checks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from tui_tuner.errors import SettingsError
from tui_tuner.tensile.document import BenchmarkConfiguration
from tui_tuner.tensile.knowledge import KnowledgeTable, shipped, users_own
from tui_tuner.tensile.knowledge.valid_values import ValidValues, installed_values, table_for, tables
from tui_tuner.text import suggestion

TERMS, GPUS, VALUES = "terminology.toml", "gpus.toml", "valid_values"
"""A user's files and directory in the directory of knowledge."""


class Terminology(KnowledgeTable):
    """A file of terminology: parameters by name, other terms by the word."""

    parameters: Mapping[str, str] = {}
    terms: Mapping[str, str] = {}

    def explain(self, name: str) -> str | None:
        """What a parameter does or a term means; None for an unknown one. Terms may differ in case."""
        if (text := self.parameters.get(name)) is not None:
            return text
        return next((text for term, text in self.terms.items() if term.lower() == name.lower()), None)


def terminology(extra: Path | None = None) -> Terminology:
    """The terminology of the program with what a user's file adds or replaces.

    Args:
        extra: a user's file; None for none.

    Raises:
        SettingsError: a mistake in the user's file.
    """
    known: Terminology = shipped(TERMS, Terminology)
    own = None if extra is None else users_own(extra, Terminology)
    if own is None:
        return known
    return Terminology(parameters={**known.parameters, **own.parameters}, terms={**known.terms, **own.terms})


@dataclass(frozen=True)
class Knowledge:
    """All that is known of Tensile, for one configuration.

    Attributes:
        table: of the Tensile that knows most of the configuration's parameters, or of the one that is installed.
        directory: the user's own files; None for none.
    """

    table: ValidValues
    words: Terminology
    directory: Path | None = None

    def of_installed(
        self, told: Mapping[str, Mapping[str, Any]], version: str, configuration: BenchmarkConfiguration
    ) -> Knowledge:
        """This knowledge with the table of the Tensile that is installed.

        Args:
            told: its parameters, by its own parser; empty where that cannot be asked, and only the version is known.

        Raises:
            SettingsError: a mistake in one of the user's files.
        """
        known = tables(_own(self.directory, VALUES))
        if told:
            return replace(self, table=installed_values(told, known, version))
        return replace(self, table=table_for(configuration.named_parameters, known, version))

    def gpu(self, name: str) -> Gpu | None:
        """What is known of a GPU; None where that is nothing, or it is not named."""
        return gpu_facts(name, _own(self.directory, GPUS)) if name else None

    def gpu_words(self, name: str) -> str:
        """Facts of a GPU in a few lines; its name where nothing else is known."""
        facts = self.gpu(name)
        return name if facts is None else facts.words()

    def missing_gpu(self, name: str) -> str:
        """Says that a prompt has no facts of the GPU, and what to name; empty where it has."""
        if self.gpu(name) is not None:
            return ""
        why = f"nothing is known of the GPU {name}" if name else "the GPU is not named"
        return f"{why}: the prompt has no facts of it; name one with --gpu, as in --gpu gfx942 or --gpu MI300X"


def knowledge_for(configuration: BenchmarkConfiguration, directory: Path | None = None) -> Knowledge:
    """What there is for a configuration.

    Args:
        directory: the user's own files, where there are any.

    Raises:
        SettingsError: a mistake in one of them.
    """
    found = tables(_own(directory, VALUES))
    table = table_for(configuration.named_parameters, found)
    return Knowledge(table, terminology(_own(directory, TERMS)), directory)


def _own(directory: Path | None, name: str) -> Path | None:
    """A file of the user's that is there."""
    if directory is None or not (directory / name).exists():
        return None
    return directory / name


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
    known: GpuFile = shipped(GPUS, GpuFile)
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


def _names(name: str, product: str) -> bool:
    """Whether the words of a product stand in a row in a name."""
    words, wanted = _words(name), _words(product)
    return any(words[start : start + len(wanted)] == wanted for start in range(len(words) - len(wanted) + 1))


def _words(name: str) -> list[str]:
    return [word for word in re.findall(r"[a-z0-9]+", name.lower()) if word not in _MAKERS_WORDS]


def _all_words(name: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", name.lower()))
