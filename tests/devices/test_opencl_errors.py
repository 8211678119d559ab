import pytest

from tui_tuner.evaluate.results import FailureKind

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
