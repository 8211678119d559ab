import subprocess

import numpy as np
import pytest

from tests.structures import STRUCTURES
from tui_tuner.errors import DeviceError
from tui_tuner.evaluate.build.compilers.opencl import OpenCLCompiler
from tui_tuner.evaluate.devices.choose import open_device
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.devices.kind import DeviceChoice
from tui_tuner.evaluate.results import FailureKind
from tui_tuner.problem.candidate import Candidate, Geometry
from tui_tuner.problem.model import Launch

SOURCE = """\
__kernel void add(__global float* out, __global const float* in, const float amount, const int n) {
    int i = get_global_id(0);
    if (i < n) out[i] += in[i] + amount;
}
__kernel void before(__global float* out) { out[-1] = 0; }
__kernel void after(__global float* out, const int n) { out[n] = 0; }
__kernel void bits(__global ushort* out, const ushort half_bits, const uchar flag) {
    out[0] = half_bits;
    out[1] = flag;
}
__kernel void turned(__global float* out, __local float* part, __global const float* in, __local int* count) {
    int i = get_local_id(0), last = get_local_size(0) - 1;
    part[i] = in[get_global_id(0)];
    count[0] = last;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = part[last - i] + count[0];
}
typedef struct { char mark; double by; int at[3]; } Two;
__kernel void held(__global double* out, const char before, Two two, float4 four) {
    out[0] = two.mark + two.by + 10 * two.at[2];
    out[1] = before + four.w;
}
"""
SHAPE = Geometry((2, 1, 1), (64, 1, 1))
N = 100

pytestmark = [pytest.mark.opencl, pytest.mark.usefixtures("opencl")]


@pytest.fixture(scope="module")
def artifact(opencl, tmp_path_factory):
    directory = tmp_path_factory.mktemp("build")
    recipe = OpenCLCompiler(0, 0, "").recipe(Candidate(source=SOURCE, kernel="add", launch=Launch()), {}, [])
    for name, text in recipe.files.items():
        (directory / name).write_text(text)
    subprocess.run(recipe.command, cwd=directory, check=True)
    return directory / recipe.artifact


@pytest.fixture(scope="module")
def device(opencl):
    return open_device(DeviceChoice(kind="opencl"), allow_unconfined=True)


@pytest.fixture
def buffers(device):
    arguments = [np.zeros(N, np.float32), np.arange(N, dtype=np.float32), np.float32(1), np.int32(N)]
    buffers = device.allocate(arguments, frozenset({0}))
    yield buffers
    device.free(buffers)


def test_the_device_describes_itself(device, report):
    assert device.info.kind == "opencl"
    assert device.info.backend.startswith("pyopencl ")
    assert device.info.max_threads_per_block >= 64
    assert device.info.memory_gbs is None
    assert device.info.is_cpu == ("0.0" in report.opencl_cpus)


@pytest.mark.slow
def test_a_kernel_from_a_binary_runs_on_restored_arrays(device, artifact, buffers):
    kernel = device.load(artifact, "add")
    device.launch(kernel, buffers, SHAPE, 10.0)
    device.launch(kernel, buffers, SHAPE, 10.0)
    assert np.array_equal(device.download(buffers, 0), np.arange(N) + 1)
    assert device.guard_violation(buffers) is None
    device.unload(kernel)


@pytest.mark.slow
def test_times_are_positive_and_as_many_as_launches(device, artifact, buffers):
    times = device.time(device.load(artifact, "add"), buffers, SHAPE, 23, 10.0)
    assert len(times) == 23
    assert min(times) > 0
    assert np.array_equal(device.download(buffers, 0), np.arange(N) + 1)


@pytest.mark.parametrize(
    ("symbol", "rest", "found"),
    [
        ("before", [], "argument 1: wrote before its start (nearest damaged byte -1)"),
        ("after", [np.int32(N)], "argument 1: wrote past its end (first damaged byte +0)"),
    ],
)
def test_a_write_beyond_an_array_is_found(device, artifact, symbol, rest, found):
    buffers = device.allocate([np.ones(N, np.float32), *rest], frozenset({0}))
    device.launch(device.load(artifact, symbol), buffers, Geometry((1, 1, 1), (1, 1, 1)), 10.0)
    assert device.guard_violation(buffers).message == found
    device.free(buffers)


@pytest.mark.parametrize("guard_end", [True, False])
def test_what_is_read_beyond_an_array_is_no_number_or_a_large_one(device, artifact, guard_end):
    whole = np.arange(N, dtype=np.float32)
    seen = set()
    for _ in range(20):
        buffers = device.allocate(
            [np.zeros(N + 3, np.float32), whole, np.float32(0), np.int32(N + 3)], frozenset({0}), guard_end=guard_end
        )
        device.launch(device.load(artifact, "add"), buffers, SHAPE, 10.0)
        assert device.guard_violation(buffers) is None
        behind = device.download(buffers, 0)[N:]
        seen |= set(
            np.where(
                np.isnan(behind), "nan", np.where(behind > 1e30, "large", np.where(behind < -1e30, "negative", "quiet"))
            )
        )
        device.free(buffers)
    assert seen == ({"nan"} if guard_end else {"large", "negative"})


def test_a_work_group_that_is_too_large_is_refused_and_the_device_goes_on(device, artifact, buffers):
    kernel = device.load(artifact, "add")
    too_many = 2 * device.info.max_threads_per_block
    with pytest.raises(DeviceFault) as caught:
        device.launch(kernel, buffers, Geometry((1, 1, 1), (too_many, 1, 1)), 10.0)
    assert (caught.value.kind, caught.value.fatal) == (FailureKind.LAUNCH, False)
    device.launch(kernel, buffers, SHAPE, 10.0)
    assert device.download(buffers, 0)[1] == 2


def test_the_wrong_number_of_arguments_is_a_launch_failure(device, artifact):
    buffers = device.allocate([np.zeros(N, np.float32)], frozenset())
    with pytest.raises(DeviceFault) as caught:
        device.launch(device.load(artifact, "add"), buffers, SHAPE, 10.0)
    assert (caught.value.kind, caught.value.fatal) == (FailureKind.LAUNCH, False)


def test_dynamic_shared_memory_is_refused_in_words(device, artifact, buffers):
    with pytest.raises(DeviceFault, match="shared_memory must be 0"):
        device.launch(device.load(artifact, "add"), buffers, Geometry((1, 1, 1), (1, 1, 1), 64), 10.0)


def test_small_scalars_are_passed_as_their_bits(device, artifact):
    buffers = device.allocate([np.zeros(2, np.uint16), np.float16(1.5), np.bool_(True)], frozenset())
    device.launch(device.load(artifact, "bits"), buffers, Geometry((1, 1, 1), (1, 1, 1)), 10.0)
    assert device.download(buffers, 0).tolist() == [0x3E00, 1]


def test_structures_and_vectors_are_passed_by_value(device, artifact):
    buffers = device.allocate([np.zeros(2), np.int8(1), *STRUCTURES], frozenset())
    device.launch(device.load(artifact, "held"), buffers, Geometry((1, 1, 1), (1, 1, 1)), 10.0)
    assert device.download(buffers, 0).tolist() == [1.25 + 50, 5]


def test_local_memory_is_passed_in_as_many_bytes_as_a_launch_says(device, artifact):
    out, given = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    buffers = device.allocate([out, np.float32(0), given, np.int32(0)], frozenset())
    device.launch(device.load(artifact, "turned"), buffers, Geometry((2, 1, 1), (4, 1, 1), 0, ((1, 16), (3, 4))), 10.0)
    assert device.download(buffers, 0).tolist() == [6, 5, 4, 3, 10, 9, 8, 7]


def test_a_kernel_that_the_binary_does_not_have_is_a_launch_failure(device, artifact):
    with pytest.raises(DeviceFault) as caught:
        device.load(artifact, "missing")
    assert caught.value.kind is FailureKind.LAUNCH


def test_a_binary_that_is_none_is_a_launch_failure(device, tmp_path):
    path = tmp_path / "kernel.bin"
    path.write_bytes(b"not a program")
    with pytest.raises(DeviceFault) as caught:
        device.load(path, "add")
    assert caught.value.kind is FailureKind.LAUNCH


def test_a_device_that_is_not_there_is_an_error_with_a_hint(opencl):
    with pytest.raises(DeviceError, match=r"no OpenCL device 0\.99"):
        open_device(DeviceChoice(kind="opencl", index=99))


def test_a_cpu_is_no_opencl_device_in_a_process_that_is_not_confined_unless_that_is_allowed(device):
    if not device.info.is_cpu:
        pytest.skip("device 0.0 is not a CPU")
    with pytest.raises(DeviceError, match="could read your files") as caught:
        open_device(DeviceChoice(kind="opencl"))
    assert "--allow-unconfined" in caught.value.hint


fault = pytest.importorskip("tui_tuner.evaluate.devices.opencl", exc_type=ImportError).fault


@pytest.mark.parametrize(
    ("code", "name"), [(-5, "OUT_OF_RESOURCES"), (-54, "INVALID_WORK_GROUP_SIZE"), (-6, "OUT_OF_HOST_MEMORY")]
)
def test_a_launch_that_is_refused_leaves_the_context_usable(code, name):
    found = fault(code, waiting=False)
    assert (found.kind, found.fatal) == (FailureKind.LAUNCH, False)
    assert name in found.message


@pytest.mark.parametrize(("code", "waiting"), [(-5, True), (-9999, True), (-14, False), (-36, False)])
def test_a_failure_while_a_kernel_runs_loses_the_context(code, waiting):
    found = fault(code, waiting=waiting)
    assert (found.kind, found.fatal) == (FailureKind.CRASH, True)
