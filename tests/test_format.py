"""Times, factors, counts, money and durations, as the front ends write them; CPU times are told as such."""

from __future__ import annotations

import pytest

from tui_tuner import format as words
from tui_tuner.evaluate.results import DeviceInfo, Evaluation, Timing
from tui_tuner.prompts import device_facts, evaluation_facts
from tui_tuner.session import events
from tui_tuner.story import KernelStory, Story
from tui_tuner.tui.view_model import time_label


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0899, "0.0899"), (0.00512, "0.00512"), (1.234567, "1.235"), (12.3456, "12.35"), (4321.7, "4322")],
)
def test_times_keep_three_to_four_digits(value: float, text: str) -> None:
    assert words.milliseconds(value) == text


def test_an_interval_has_the_decimals_of_its_median() -> None:
    assert words.interval(0.9981, 1.0042, 0.9999) == "[0.9981,1.0042]"


def test_unknown_cost_is_not_shown_as_free() -> None:
    paid = (None, 0.0012, 0.31, 0.0)
    assert [words.cost(one) for one in paid] == ["price unknown", "$0.0012", "$0.31", "$0.00"]
    assert [words.cost_behind(one) for one in paid] == [", price unknown", ", $0.0012", ", $0.31", ""]


def test_lines_and_prompts_write_times_with_four_significant_digits() -> None:
    assert words.time_words(0.08991, "CPU ms") == "0.08991 CPU ms"
    assert words.time_words(4321.7) == "4322 ms"
    assert words.interval_words(0.99812, 1.0) == "[0.9981, 1]"
    assert [words.time_unit(cpu=cpu) for cpu in (True, False)] == ["CPU ms", "ms"]


def test_each_front_end_writes_a_speed_up_with_its_interval_in_its_own_way() -> None:
    speedup = (1.62, 1.6, 1.6449)
    assert words.factor_interval(speedup) == "1.62x [1.60,1.64]"
    assert words.factor_in_lines(speedup) == "1.62x [1.60, 1.64]"
    assert {words.factor_in_lines((1.62,) * 3), words.factor_interval((1.62,) * 3)} == {"1.62x"}, "measured once"
    assert words.factor_in_prompts(speedup) == "1.62x [1.6, 1.64]"


@pytest.mark.parametrize(
    ("number", "on_screen", "in_lines"),
    [(1, "1 token", "1 token"), (0, "0 tokens", "0 tokens"), (2341, "2,341 tokens", "2341 tokens")],
)
def test_a_number_stands_with_the_right_form_of_its_noun(number: int, on_screen: str, in_lines: str) -> None:
    assert words.counted(number, "token") == on_screen
    assert words.counted_in_lines(number, "token") == in_lines


def test_a_noun_can_have_a_plural_of_its_own() -> None:
    assert words.counted_in_lines(2, "cached reply", "cached replies") == "2 cached replies"
    assert words.counted(1, "cached reply", "cached replies") == "1 cached reply"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.42, "0.4 s"), (84.4, "84 s"), (599.6, "600 s"), (720, "12 min"), (11_100, "3 h 5 min")]
)
def test_a_duration_is_told_as_people_say_it(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


def test_clocks_before_lines_count_minutes() -> None:
    assert words.clock_in_lines(4361.9) == "[72:41]"


def test_a_price_in_lines_is_left_out_where_nothing_was_paid() -> None:
    assert [words.cost_in_lines(dollars) for dollars in (None, 0.0, 0.0162)] == [", price unknown", "", ", 0.0162 $"]
    assert words.dollar_words(0.3149) == "0.31 $"


def test_what_is_unknown_is_empty() -> None:
    assert (words.share(None), words.count(None), words.roofline_words(None)) == ("", "", "")
    assert words.roofline_words(0.6149) == ", 61% of the roofline"
    assert words.roofline_words(0.6149, decimals=1) == ", 61.5% of the roofline"


def test_a_configuration_is_told_by_names_and_values() -> None:
    configuration = {"block_size_x": 64, "use_padding": True}
    assert words.configuration_words(configuration) == "block_size_x=64, use_padding=True"
    assert words.configuration_words(configuration, between=" ") == "block_size_x=64 use_padding=True"
    assert words.configuration_words({}) == "no tunables"
    assert words.configuration_words({}, nothing="as it is") == "as it is"
    assert [words.tunable_value(value) for value in (True, 4, "x")] == ["1", "4", "x"]


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


def test_of_many_names_the_first_are_told_and_how_many_more_there_are() -> None:
    assert [words.first_of(one) for one in ("", "abc", "abcd")] == ["", "a, b, c", "a, b, c and 1 more"]
