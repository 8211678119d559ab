from __future__ import annotations

import shutil

import pytest

from tests.emulator.bench import Bench
from tui_tuner.evaluate.build.compilers.emulator import EmulatorCompiler
from tui_tuner.evaluate.build.compilers.gnu import CCompiler
from tui_tuner.evaluate.devices.native.code import C_FUNCTION, EMULATED
from tui_tuner.evaluate.devices.native.device import NativeDevice


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if shutil.which("g++") is None:
        for item in items:
            if "emulator" in item.path.parts:
                item.add_marker(pytest.mark.skip(reason="needs g++"))


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(NativeDevice(EMULATED), EmulatorCompiler.find(), tmp_path_factory.mktemp("emulator"))


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(NativeDevice(C_FUNCTION), CCompiler.find(".c"), tmp_path_factory.mktemp("c"))
