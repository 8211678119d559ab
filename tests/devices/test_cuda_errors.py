import pytest

from tui_tuner.evaluate.devices.cuda import CODES, CudaError, describe
from tui_tuner.evaluate.devices.cuda.errors import code_in, fault, fault_of
from tui_tuner.evaluate.results import FailureKind

FATAL = {
    700: FailureKind.ILLEGAL_ACCESS,
    716: FailureKind.ILLEGAL_ACCESS,
    715: FailureKind.CRASH,
    702: FailureKind.TIMEOUT,
    719: FailureKind.CRASH,
    710: FailureKind.CRASH,
    214: FailureKind.CRASH,
    714: FailureKind.CRASH,
}


@pytest.mark.parametrize(("code", "kind"), FATAL.items())
def test_errors_that_stay_with_the_context_are_fatal(code, kind):
    found = fault(code)
    assert (found.kind, found.fatal) == (kind, True)
    assert CODES[code].name in found.message


@pytest.mark.parametrize("code", [1, 2, 200, 209, 500, 701, 720])
def test_a_launch_that_is_refused_leaves_the_context_usable(code):
    found = fault(code)
    assert (found.kind, found.fatal) == (FailureKind.LAUNCH, False)


def test_a_code_that_nobody_knows_is_fatal():
    assert fault(12345).fatal
    assert describe(12345) == "CUDA error 12345"


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("cuLaunchKernel failed: too many resources requested for launch", 701),
        ("cuCtxSynchronize failed: an illegal memory access was encountered", 700),
        ("cuFuncSetBlockShape failed: invalid argument", 1),
        ("CUDA Driver error: CUDA_ERROR_MISALIGNED_ADDRESS", 716),
        ("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch", 701),
        ("something else", None),
    ],
)
def test_a_message_without_a_number_is_classified_by_name_or_words(message, code):
    assert code_in(message) == code


def test_what_the_device_says_afterwards_counts_more_than_the_exception():
    found = fault_of(RuntimeError("invalid argument"), sticky=700)
    assert (found.kind, found.fatal) == (FailureKind.ILLEGAL_ACCESS, True)


def test_the_number_of_an_exception_counts_more_than_its_words():
    class Numbered(RuntimeError):
        status = 701

    assert "LAUNCH_OUT_OF_RESOURCES" in fault_of(Numbered("out of memory"), sticky=0).message
    assert fault_of(CudaError(2, "cuMemCreate"), sticky=0).kind is FailureKind.LAUNCH


def test_an_exception_that_says_nothing_known_is_a_launch_failure_with_its_first_line():
    found = fault_of(ValueError("bad block\nsecond line"), sticky=0)
    assert (found.kind, found.message, found.fatal) == (FailureKind.LAUNCH, "ValueError: bad block", False)
