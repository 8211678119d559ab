import re
import subprocess
import sys
from pathlib import Path

import pytest

import tui_tuner
from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.devices.choose import choose_device, compiler_for, device_named, open_device, spelled
from tui_tuner.evaluate.devices.kind import Address, DeviceChoice, DeviceKind, DeviceSelection
from tui_tuner.evaluate.devices.kinds import KINDS, kind_named
from tui_tuner.evaluate.devices.probe import DeviceReport
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.memory.entry import times_of
from tui_tuner.prompts import device_facts
from tui_tuner.tui.view_model import time_label

PACKAGE = Path(tui_tuner.__file__).parent


class Toy(DeviceKind):
    name = "toy"
    languages = ("cuda",)
    address = Address.INDEX
    time_note = "toy"

    def missing(self, report):
        return "" if report.opencl_devices else "no toy"

    def open(self, choice, *, allow_unconfined):
        return "toy", choice.index, allow_unconfined

    def compiler(self, choice, device, problem, nvcc):
        return "toy compiler"


@pytest.fixture
def toy():
    ours = KINDS.copy()
    KINDS.clear()
    KINDS.update({"cuda": ours["cuda"], "toy": Toy(), **ours})
    yield
    KINDS.clear()
    KINDS.update(ours)


def test_no_name_of_a_kind_is_compared_with_outside_the_kinds():
    comparison = re.compile(r"kind\w*\s*(?:[!=]=|(?:not )?in\s*[(\[{])\s*[\"'](?:cuda|opencl|c|emulator|recorded)[\"']")
    found = [path for path in PACKAGE.rglob("*.py") if comparison.search(path.read_text())]
    assert found == []


def test_asking_a_kind_for_its_traits_imports_nothing_heavy():
    lines = "import sys, tui_tuner.evaluate.devices.kinds; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-P", "-c", lines], capture_output=True, text=True, check=True).stdout
    assert not {"numpy", "pydantic", "asyncio", "tui_tuner.problem.model"} & {*loaded.split()}


async def test_one_entry_makes_a_kind_of_device_known_everywhere(toy):
    async def probe():
        return DeviceReport(opencl_devices={"0.0": "a toy"})

    choice = device_named("toy:2")
    info = DeviceInfo(kind="toy", name="a toy", backend="")
    assert spelled(choice) == "toy:2"
    assert open_device(choice) == ("toy", 2, False)
    assert compiler_for(choice, info, None) == "toy compiler"
    assert await choose_device("toy:2", "cuda", probe) == (DeviceSelection(choice), "")
    assert (await choose_device("auto", "cuda", probe))[0].first.kind == "toy"
    assert time_label(info) == "ms (toy)"
    assert "a toy (toy)" in device_facts(info)
    with pytest.raises(DeviceError) as caught:
        device_named("toy:x")
    assert "toy, toy:N" in caught.value.hint


def test_the_kinds_stand_in_the_error_as_they_are_spelled():
    with pytest.raises(DeviceError) as caught:
        device_named("gpu")
    spellings = (
        "auto, cuda, cuda:N, cuda:all, opencl, opencl:PLATFORM.N, opencl:all, c, emulator, emulator:CORE, "
        "emulator:all, recorded:FILE, ray, ray://HOST:PORT"
    )
    assert caught.value.hint == f"one of: {spellings}"


@pytest.mark.parametrize(
    ("kind", "is_cpu", "label", "times"),
    [
        ("cuda", False, "ms", "gpu"),
        ("opencl", False, "ms", "gpu"),
        ("opencl", True, "CPU ms", "opencl"),
        ("c", True, "CPU ms", "c"),
        ("emulator", True, "CPU ms (emulator)", "emulator"),
        ("recorded", False, "ms (recorded)", "recorded"),
        ("one that came later", False, "ms", "gpu"),
    ],
)
def test_times_say_whose_they_are(kind, is_cpu, label, times):
    info = DeviceInfo(kind=kind, name="", backend="", is_cpu=is_cpu)
    assert (time_label(info), times_of(info)) == (label, times)


@pytest.mark.parametrize("name", ["recorded", "one that came later"])
def test_what_is_no_device_cannot_be_opened(name):
    with pytest.raises(DeviceError, match=f"'{name}' cannot be opened"):
        open_device(DeviceChoice(name))
    with pytest.raises(DeviceError, match=f"'{name}'"):
        compiler_for(DeviceChoice(name), DeviceInfo(kind=name, name="", backend=""), None)


def test_a_kind_that_is_none_of_ours_has_a_gpus_traits():
    kind = kind_named("one that came later")
    assert kind.has_blocks
    assert not any([kind.is_record, kind.is_emulated, kind.has_warps, kind.has_ceilings])
