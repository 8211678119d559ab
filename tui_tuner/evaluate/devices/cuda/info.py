"""What the CUDA driver tells about a device."""

from __future__ import annotations

from tui_tuner.evaluate.devices.cuda.driver import Driver
from tui_tuner.evaluate.devices.cuda.errors import CudaError
from tui_tuner.evaluate.results import DeviceInfo

MAX_THREADS_PER_BLOCK = 1
MAX_SHARED_MEMORY_PER_BLOCK = 8
WARP_SIZE = 10
CLOCK_RATE = 13
MULTIPROCESSOR_COUNT = 16
L2_CACHE_SIZE = 38
MAX_THREADS_PER_MULTIPROCESSOR = 39
COMPUTE_CAPABILITY_MAJOR = 75
COMPUTE_CAPABILITY_MINOR = 76
MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81
MAX_REGISTERS_PER_MULTIPROCESSOR = 82
MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
MAX_BLOCKS_PER_MULTIPROCESSOR = 106


def architecture(driver: Driver, device: int) -> str:
    """The device's architecture as nvcc names it, "sm_90"."""
    major = driver.attribute(device, COMPUTE_CAPABILITY_MAJOR)
    minor = driver.attribute(device, COMPUTE_CAPABILITY_MINOR)
    return f"sm_{major}{minor}"


def device_info(driver: Driver, device: int, backend: str) -> DeviceInfo:
    """The device's limits; without measured ceilings and without a compiler."""

    def read(number: int) -> int:
        return driver.attribute(device, number)

    def told(number: int) -> int | None:
        try:
            return read(number) or None
        except CudaError:  # a driver older than the attribute
            return None

    return DeviceInfo(
        kind="cuda",
        name=driver.device_name(device),
        backend=backend,
        architecture=architecture(driver, device),
        multiprocessors=read(MULTIPROCESSOR_COUNT),
        max_threads_per_block=read(MAX_THREADS_PER_BLOCK),
        max_threads_per_multiprocessor=told(MAX_THREADS_PER_MULTIPROCESSOR),
        max_blocks_per_multiprocessor=told(MAX_BLOCKS_PER_MULTIPROCESSOR),
        warp_size=read(WARP_SIZE),
        registers_per_multiprocessor=read(MAX_REGISTERS_PER_MULTIPROCESSOR),
        shared_bytes=read(MAX_SHARED_MEMORY_PER_BLOCK),
        shared_bytes_optin=read(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        shared_bytes_per_multiprocessor=read(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
        l2_bytes=read(L2_CACHE_SIZE),
        memory_bytes=driver.total_memory(device),
        clock_mhz=read(CLOCK_RATE) / 1000,
    )
