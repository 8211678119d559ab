from __future__ import annotations

import pytest

from tui_tuner.evaluate.results import DeviceInfo, Evaluation, Timing
from tui_tuner.prompts import device_facts, evaluation_facts
from tui_tuner.session import events
from tui_tuner.story import KernelStory, Story
from tui_tuner.tui.view_model import time_label

CPU = DeviceInfo(kind="opencl", name="a processor", backend="pyopencl", is_cpu=True)
GPU = DeviceInfo(kind="opencl", name="a GPU", backend="pyopencl")


def given_on(device: DeviceInfo) -> Evaluation:
    timing = Timing(median=2.0, low=1.9, high=2.1, samples=10, cpu=device.is_cpu)
    return Evaluation(candidate="0", configuration={}, timing=timing)


@pytest.mark.parametrize(("device", "unit"), [(CPU, "CPU ms"), (GPU, "ms")])
def test_times_of_opencl_on_a_cpu_are_called_cpu_times_on_the_screen_in_lines_and_in_prompts(
    device: DeviceInfo, unit: str
) -> None:
    story = Story(KernelStory())
    story.line(events.DeviceReady(device=device, sandbox=""))
    line = story.line(events.BaselineMeasured(given=given_on(device)))
    assert line is not None
    assert f"2 {unit} [" in line
    assert time_label(device) == unit
    assert f"2 {unit} [" in evaluation_facts(given_on(device))


def test_a_prompt_says_of_opencl_on_a_cpu_that_it_is_one_and_speaks_of_no_warps() -> None:
    assert "it is a CPU" in device_facts(CPU)
    assert "it is a CPU" not in device_facts(GPU)
    assert "a warp" not in device_facts(GPU)
