import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tui_tuner.evaluate.devices.choose import compiler_for
from tui_tuner.evaluate.devices.cuda.ceilings import CEILING_SOURCE
from tui_tuner.evaluate.devices.cuda.checks import SOURCE as CHECKS_SOURCE
from tui_tuner.evaluate.devices.kind import DeviceChoice
from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Argument, Kernel, Launch, Problem

HERE = Path(__file__).parent
PROBLEM = Problem(
    kernel=Kernel(source=Path("k.cu"), name="k"),
    launch=Launch(),
    arguments=[Argument(name="a", dtype="int32", value=1)],
)

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="session")
def gpu(report):
    if report.no_cuda:
        pytest.skip(report.no_cuda)
    return re.search(r"\((sm_\d+)\)", report.cuda_devices[0])[1]


@pytest.fixture(scope="session")
def cubins(gpu, tmp_path_factory):
    info = DeviceInfo(kind="cuda", name="", backend="", architecture=gpu)
    compiler = compiler_for(DeviceChoice(kind="cuda"), info, PROBLEM)
    built = []
    ours = ((HERE / "gpu_kernels.cu").read_text(), "add_one"), (CEILING_SOURCE, "copy"), (CHECKS_SOURCE, "digest")
    for source, kernel in ours:
        directory = tmp_path_factory.mktemp("cubin")
        recipe = compiler.recipe(Candidate(source=source, kernel=kernel, launch=Launch()), {}, [])
        for name, text in recipe.files.items():
            (directory / name).write_text(text)
        subprocess.run(recipe.command, cwd=directory, check=True)
        built.append(str(directory / recipe.artifact))
    return built


@pytest.fixture(params=["cuda-python", "pycuda", "cupy"])
def run(request, report, cubins):
    backend = request.param
    if backend not in report.backends:
        pytest.skip(f"{backend}: {report.backend_problems.get(backend)}")

    def run(scenario):
        command = [sys.executable, str(HERE / "gpu_scenarios.py"), backend, scenario, *cubins]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout.splitlines()[-1])

    run.backend = backend
    return run


def test_the_device_describes_itself(run, gpu):
    info = run("describe")
    assert info["kind"] == "cuda"
    assert info["architecture"] == gpu
    assert info["backend"].startswith(f"{run.backend} ")
    assert info["max_threads_per_block"] == 1024
    assert info["warp_size"] == 32
    assert info["shared_bytes"] == 49152
    assert info["shared_bytes_optin"] >= 49152
    assert info["multiprocessors"] > 0
    assert info["l2_bytes"] > 2**18
    assert info["memory_bytes"] > 2**30
    assert 200 < info["clock_mhz"] < 5000


def test_cupy_drives_a_gpu_whose_number_has_a_zero_byte_in_it(report):
    if "cupy" not in report.backends:
        pytest.skip(f"cupy: {report.backend_problems.get('cupy')}")
    program = """
import cupy
told = cupy.cuda.runtime.getDeviceProperties
cupy.cuda.runtime.getDeviceProperties = lambda device: {**told(device), "uuid": b"ends here"}
from tui_tuner.evaluate.devices.cuda.device import CudaDevice
print(CudaDevice(0, "cupy").info.backend)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.startswith("cupy "), done.stderr[-2000:]


def test_arrays_are_restored_before_every_launch(run):
    outcome = run("restored")
    assert outcome["right"]
    assert outcome["violation"] is None
    assert outcome["registers"] > 0
    assert len(outcome["times"]) == 45
    assert min(outcome["times"]) > 0
    assert sorted(outcome["times"])[22] < 0.1


def test_arrays_that_are_not_restored_keep_what_was_written(run):
    assert run("not_restored") == {"values": [3.0]}


def test_reading_the_last_element_is_no_fault(run):
    assert run("read_within") == {"violation": None, "first": 1.0}


@pytest.mark.parametrize("scenario", ["read_past_end", "read_before_start", "write_past_end", "fault_while_timing"])
def test_one_element_beyond_an_array_faults(run, scenario):
    outcome = run(scenario)
    assert (outcome["fault"], outcome["fatal"]) == ("ILLEGAL_ACCESS", True)
    assert "ILLEGAL_ADDRESS" in outcome["message"]


def test_writes_into_the_rest_of_the_page_are_found(run):
    assert run("write_into_slack_after")["violation"] == "argument 1: wrote past its end (first damaged byte +0)"
    assert "argument 1: wrote before its start" in run("write_into_slack_before")["violation"]


def test_a_misaligned_store_is_an_illegal_access(run):
    outcome = run("misaligned")
    assert (outcome["fault"], outcome["fatal"]) == ("ILLEGAL_ACCESS", True)
    assert "MISALIGNED_ADDRESS" in outcome["message"]


def test_a_trap_is_a_crash(run):
    outcome = run("trap")
    assert (outcome["fault"], outcome["fatal"]) == ("CRASH", True)


@pytest.mark.parametrize(
    "scenario", ["too_many_threads", "beyond_launch_bounds", "too_much_shared", "out_of_memory", "missing_symbol"]
)
def test_what_is_refused_leaves_the_device_usable(run, scenario):
    outcome = run(scenario)
    assert (outcome["refused"], outcome["fatal"]) == ("LAUNCH", False), outcome
    assert outcome["right"]


def test_more_than_48_kib_of_dynamic_shared_memory_can_be_used(run):
    assert run("big_shared") == {"right": True}


def test_a_kernel_that_is_loaded_again_remembers_nothing(run):
    assert run("reload") == {"counts": [1, 2, 3, 1, 2, 3]}


def test_scalars_of_every_width_arrive(run):
    assert run("scalars") == {"bits": [0x3E00, 1, 7, 0x3FC0, 0x3C], "structures": [5.25, 6]}


def test_an_empty_kernel_takes_microseconds_however_many_are_timed(run):
    outcome = run("empty_kernel")
    assert 0 <= outcome["event_gap"] < 0.02
    assert outcome["event_gap"] <= outcome["median_ms"] < 0.02
    assert outcome["one_by_one_ms"] < 0.03


def test_a_host_that_queues_a_launch_late_is_not_counted(run):
    assert run("late_host")["median_ms"] < 0.03


def test_ceilings_are_plausible(run):
    outcome = run("ceilings_measured")
    assert 50 < outcome["memory_gbs"] < 20_000
    assert 500 < outcome["flops_gflops"] < 500_000
    bandwidths, peaks = outcome["bandwidths"], outcome["peaks"]
    assert bandwidths["copy"] < 1.05 * bandwidths["read"] < bandwidths["L2 cache"] < bandwidths["shared memory"]
    assert 0.9 * bandwidths["copy"] < bandwidths["fill"] < 3 * bandwidths["copy"]
    assert peaks["float64"] < 1.05 * peaks["float32"] < 2.2 * peaks["float16"]
    assert peaks["int8"] > 0.9 * peaks["int32"]


def test_a_launch_with_warm_caches_is_faster_and_starts_from_restored_arrays(run):
    outcome = run("warm_and_cold")
    assert 0 < outcome["warm"] < outcome["cold"]
    assert outcome["right"]


def test_memory_is_given_back(run):
    outcome = run("many_allocations")
    assert outcome.get("right"), outcome


def test_the_clock_is_a_clock_where_nvml_tells(run):
    mhz = run("clock")["mhz"]
    assert mhz is None or 100 < mhz < 5000


def test_constant_memory_is_filled_before_a_launch(run):
    outcome = run("constants")
    assert outcome["values"] == [1.5, 2.5, 3.5, 4.5]
    assert "'nowhere', which the built kernel does not have" in outcome["fault"]
    assert outcome["fatal"] is False


def test_a_structure_holds_the_addresses_of_its_arrays_which_end_where_their_memory_does(run):
    assert run("pointers") == {"values": [True, True], "violation": None, "fault": "ILLEGAL_ACCESS"}


def test_the_gpu_decides_as_the_host_does(run):
    outcome = run("checks")
    assert outcome["different"] == []
    assert outcome["behind"] == "argument 1: wrote past its end (first damaged byte +5)"
    assert outcome["changed"] == 0


def test_the_outputs_of_every_timed_launch_are_looked_at(run):
    outcome = run("timed_launches_are_looked_at")
    assert outcome["add_one"] == {"looks": 1, "wrong": False, "times": 45}
    assert outcome["add_nearly_one"] == {"looks": 46, "wrong": False, "times": 45}
    assert outcome["skip_every_seventh"]["wrong"] is True
