"""The default steps: what they are, and that what they tell the model is right."""

from __future__ import annotations

import re
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.compilers.cuda import Nvcc
from tui_tuner.evaluate.devices.kinds import kind_named
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.tuning_step import TuningStep, faults_of_steps
from tui_tuner.strategies.step_lists import default_steps, steps_prompt

DEFAULT = {step.id: step for step in default_steps()}
FIFTEEN = {
    "block_size_x": ({"block_size_x": [32, 64, 128, 256, 512, 1024]}, []),
    "block_size_y": ({"block_size_y": [1, 2, 4, 8, 16, 32]}, []),
    "process_2elem_x": ({}, ["block_size_x"]),
    "tunable_nr_elem_x": ({"work_per_thread_x": [2, 4, 8]}, ["process_2elem_x"]),
    "tile_stride_x": ({"work_stride_x": [0, 1]}, ["tunable_nr_elem_x"]),
    "process_2elem_y": ({}, ["block_size_y"]),
    "tunable_nr_elem_y": ({"work_per_thread_y": [2, 4, 8]}, ["process_2elem_y"]),
    "tile_stride_y": ({"work_stride_y": [0, 1]}, ["tunable_nr_elem_y"]),
    "shared_memory_input": ({"use_shared_mem": [0, 1]}, []),
    "shared_memory_output": ({"output_shared_mem": [0, 1]}, []),
    "memory_prefetching": ({}, ["shared_memory_input"]),
    "multi_dimensional_tiling_x": ({"tile_size_x": [16, 32, 64]}, ["block_size_x"]),
    "multi_dimensional_tiling_y": ({"tile_size_y": [16, 32, 64]}, ["multi_dimensional_tiling_x", "block_size_y"]),
    "loop_unrolling": ({"loop_unroll_factor": [2, 4, 8]}, []),
    "instruction_parallelism": ({}, []),
}
ADDED = {"warp_reduction", "vectorized_loads", "async_copy", "tensor_cores", "persistent_grid", "launch_bounds"}
MORE_WORK = ("process_2elem_{}", "tunable_nr_elem_{}", "tile_stride_{}", "multi_dimensional_tiling_{}")
MEANS = Path(__file__).with_name("cuda_means.cu")
CUDA_NAME = re.compile(
    r"\b__\w+|<\w+\.h>|\bnvcuda::wmma\b|\b\w+_sync\b|\b(?:float|u?int|double)[248]\b|\b(?:mma\.sync|cp\.async)\b"
)
OPENCL_NAMES = {"__local"}
OPENCL_FOR = {
    "threadIdx": "get_local_id",
    "blockIdx": "get_group_id",
    "gridDim": "get_num_groups",
    "__shared__": "__local",
    "__syncthreads": "CLK_LOCAL_MEM_FENCE",
    "float4": "vload4",
}

each_default_step = pytest.mark.parametrize("step", DEFAULT.values(), ids=DEFAULT)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def before(step: TuningStep) -> list[TuningStep]:
    """The steps that this one depends on, and those that they depend on."""
    needed = [DEFAULT[name] for name in step.depends_on]
    return needed + [other for one in needed for other in before(one)]


def test_the_fifteen_steps_have_their_order_tunables_and_dependencies_and_six_are_added():
    fifteen = {name: (step.tune_params, step.depends_on) for name, step in DEFAULT.items() if name in FIFTEEN}
    assert fifteen == FIFTEEN
    assert list(fifteen) == list(FIFTEEN)
    assert DEFAULT.keys() - FIFTEEN.keys() == ADDED


def test_the_default_steps_can_be_worked_through_in_their_order():
    steps = default_steps()
    assert faults_of_steps(steps) == []
    for index, step in enumerate(steps):
        assert set(step.depends_on) <= {earlier.id for earlier in steps[:index]}, step.id


@each_default_step
def test_a_default_step_renders_with_nothing_left_to_fill_in_three_to_ten_lines(step):
    prompt = steps_prompt(step.prompt_template, kernel="void kernel() {}", name="kernel")
    assert not re.search(r"[${}]", prompt.replace("void kernel() {}", ""))
    assert 3 <= len(prompt.splitlines()) <= 10


@each_default_step
def test_a_default_step_names_its_tunables_and_only_those_of_steps_before_it(step):
    named = words(step.prompt_template)
    assert step.tune_params.keys() <= named
    known = {name for other in [step, *before(step)] for name in other.tune_params}
    foreign = {name for other in DEFAULT.values() for name in other.tune_params} - known
    assert named & foreign <= {"block_size_x"}, "but for an example of a divisor"


@each_default_step
def test_a_switch_selects_between_the_old_and_the_new_code(step):
    for name in (name for name, values in step.tune_params.items() if values == [0, 1]):
        assert re.search(rf"#if {name}\b", step.prompt_template), name
        assert "#else" in step.prompt_template


@pytest.mark.parametrize(("axis", "other"), [("x", "y"), ("y", "x")])
def test_a_step_of_one_axis_speaks_of_that_axis_alone(axis, other):
    steps = [step for step in DEFAULT.values() if step.id.endswith(f"_{axis}")]
    assert len(steps) == 5
    for step in steps:
        assert f"along {axis}" in step.prompt_template
        assert not re.search(rf"(?:\b|_){other}\b", step.prompt_template), step.id
        assert all(name.endswith(f"_{axis}") for name in step.tune_params)
        assert f"grid_div_{axis}" in step.prompt_template


@pytest.mark.parametrize("axis", ["x", "y"])
def test_steps_that_give_a_thread_more_work_say_what_the_grid_divides_by(axis):
    for name in MORE_WORK:
        text = DEFAULT[name.format(axis)].prompt_template
        assert f"`grid_div_{axis}`" in text
        assert re.search(rf"\[\"block_size_{axis}\", \"|\[\"tile_size_{axis}\"\]|so `grid_div_{axis}` stays", text)
        assert "bounds" in text


@each_default_step
def test_a_default_step_can_be_reached_wherever_it_is_meant_for(step):
    for needed in before(step):
        assert not needed.languages or set(step.languages) <= set(needed.languages)
        assert step.languages or not needed.languages
        assert needed.min_architecture <= step.min_architecture
    if step.min_architecture:
        assert step.languages == ["cuda"]


@each_default_step
def test_a_step_that_is_not_for_cuda_alone_says_things_in_opencl_too_and_in_c_where_it_is_for_c(step):
    named = words(step.prompt_template)
    if step.languages != ["cuda"]:
        assert {OPENCL_FOR[name] for name in named & OPENCL_FOR.keys()} <= named
    if not step.languages:
        assert not named & OPENCL_FOR.keys()


@each_default_step
def test_every_cuda_means_that_a_step_names_stands_in_the_file_that_nvcc_compiles(step):
    compiled = re.sub(r"//.*", "", MEANS.read_text("utf-8"))
    named = set(CUDA_NAME.findall(step.prompt_template)) - OPENCL_NAMES
    assert {name for name in named if name not in compiled} == set()


def test_the_means_that_a_prompt_names_stand_in_the_file_that_nvcc_compiles():
    hopper = DeviceInfo(kind="cuda", name="", backend="", architecture="sm_90", toolchain="nvcc sm_90a")
    said = kind_named("cuda").means(hopper)
    named = set(
        re.findall(r"<\w+\.h>|__\w+__|mma\.sync|cp\.async(?:\.\w+)*|(?:fence|mbarrier|tensormap)[\w.:]+\w", said)
    )
    fields = set(re.findall(r"\b[a-z]+_[a-z]+\b|\brank\b|\belemtype\b", said.partition("FIELD")[2])) - {"cp_fenceproxy"}
    assert {"__cluster_dims__", "cp.async.bulk.tensor", "<mma.h>"} <= named
    assert len(fields) == 10
    compiled = MEANS.read_text("utf-8")
    wanted = {name.replace("FIELD", "rank") for name in named} | {f"tensormap.replace.tile.{field}" for field in fields}
    assert {name for name in wanted if name not in compiled} == set()


@pytest.mark.slow
def test_every_cuda_means_that_a_step_names_compiles_for_the_architectures_it_is_for(tmp_path):
    try:
        nvcc = Nvcc.find("sm_90").program
    except DeviceError as error:
        pytest.skip(error.message)
    targets = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in ("80", "90", "90a")]
    command = [nvcc, "-fatbin", "-std=c++17", *targets, MEANS, "-o", tmp_path / "means.fatbin"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_default_steps_lie_inside_the_package_that_the_wheel_is_made_of():
    assert files("tui_tuner.strategies").joinpath("default_steps.toml").is_file()
