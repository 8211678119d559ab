import asyncio

import pytest

from tui_tuner.evaluate.devices.probe import probe_devices


@pytest.fixture(scope="session")
def report():
    return asyncio.run(probe_devices())


@pytest.fixture(scope="session")
def opencl(report):
    if "0.0" not in report.opencl_devices:
        pytest.skip(report.opencl_problem or "no OpenCL device 0.0")
