import ctypes

import numpy as np
import pytest
from fake_cuda import GRANULARITY, FakeDriver
from hypothesis import given
from hypothesis import strategies as st

from tui_tuner.evaluate.devices.cuda import CudaError
from tui_tuner.evaluate.devices.cuda.driver import AccessDescription, AllocationProperties
from tui_tuner.evaluate.devices.cuda.guarded_memory import GuardedMemory, page_layout
from tui_tuner.evaluate.devices.faults import Stray
from tui_tuner.evaluate.devices.guard_bands import BAND, PATTERN, Layout, band_layout, damage, pattern
from tui_tuner.problem.dtypes import dtype_named

PAGE = 2 * 2**20


@given(st.integers(0, 5 * PAGE))
def test_a_guarded_end_lies_less_than_a_load_before_the_last_page_ends(nbytes):
    layout = page_layout(nbytes, PAGE, guard_end=True)
    assert layout.mapped % PAGE == 0
    assert layout.mapped - PAGE < max(nbytes, 1) <= layout.mapped
    assert layout.offset % 16 == 0
    assert 0 <= layout.after < 16


@given(st.integers(0, 4 * PAGE // 256))
def test_an_array_of_whole_256_bytes_ends_with_its_page_and_is_aligned_as_cudamalloc_does(blocks):
    layout = page_layout(256 * blocks, PAGE, guard_end=True)
    assert layout.after == 0
    assert layout.offset % 256 == 0


@given(st.integers(0, 5 * PAGE))
def test_a_guarded_start_is_the_first_mapped_byte(nbytes):
    layout = page_layout(nbytes, PAGE, guard_end=False)
    assert layout.offset == 0
    assert layout.after == layout.mapped - nbytes


@given(st.integers(0, 10**6))
def test_bands_lie_on_both_sides_of_an_array(nbytes):
    layout = band_layout(nbytes)
    assert layout.offset == BAND
    assert BAND <= layout.after < BAND + 256


def test_the_pattern_is_not_a_number_in_every_float_type():
    words = np.full(4, PATTERN, np.uint16)
    for name in ("float16", "bfloat16", "float32", "float64"):
        assert np.isnan(words.view(dtype_named(name))).all()


@pytest.mark.parametrize("start", [0, 1, 64, 65])
def test_the_pattern_goes_on_at_odd_offsets(start):
    whole = np.full(64, PATTERN, np.uint16).view(np.uint8)
    assert np.array_equal(pattern(start, 20), whole[start % 2 : start % 2 + 20])


def test_damage_names_the_nearest_byte_on_either_side():
    layout = Layout(mapped=64, offset=16, nbytes=5)
    before, after = pattern(0, 16), pattern(21, 43)
    assert damage(0, layout, before, after) is None
    broken = after.copy()
    broken[[3, 9]] ^= 1
    found = damage(0, layout, before, broken)
    assert found.message == "argument 1: wrote past its end (first damaged byte +3)"
    assert found.stray == Stray(0, 3, is_before=False)
    broken = before.copy()
    broken[[2, 12]] ^= 1
    found = damage(0, layout, broken, after)
    assert found.message == "argument 1: wrote before its start (nearest damaged byte -4)"
    assert found.stray == Stray(0, 4, is_before=True)


@pytest.mark.parametrize("virtual_memory", [True, False])
@pytest.mark.parametrize("nbytes", [0, 1, 5, 4096, 5000])
def test_a_fresh_array_is_undamaged_and_gives_all_its_memory_back(virtual_memory, nbytes):
    driver = FakeDriver(virtual_memory=virtual_memory)
    memory = GuardedMemory(driver, 0)
    assert memory.faults == virtual_memory
    array = memory.allocate(nbytes, guard_end=True)
    assert memory.violation({3: array}) is None
    array.release()
    memory.trim()
    assert driver.blocks == {}


@pytest.mark.parametrize("virtual_memory", [True, False])
def test_a_write_one_byte_past_an_array_is_noticed(virtual_memory):
    driver = FakeDriver(virtual_memory=virtual_memory)
    memory = GuardedMemory(driver, 0)
    whole, damaged = (memory.allocate(21, guard_end=True) for _ in range(2))
    ctypes.memset(damaged.address + 21, 0, 1)
    found = memory.violation({0: whole, 2: damaged})
    assert found.message == "argument 3: wrote past its end (first damaged byte +0)"
    assert found.stray == Stray(2, 0, is_before=False)


@pytest.mark.parametrize("virtual_memory", [True, False])
def test_a_list_of_the_addresses_of_an_arrays_parts_is_guarded_and_only_read(virtual_memory):
    driver = FakeDriver(virtual_memory=virtual_memory)
    memory = GuardedMemory(driver, 0)
    plain, array = (memory.allocate(24, guard_end=True, parts=parts) for parts in (0, 3))
    assert (plain.given, array.given) == (plain.address, array.listed.address)
    listed = (ctypes.c_uint64 * 3).from_address(array.given)
    assert list(listed) == [array.address + 16, array.address + 8, array.address]
    assert memory.violation({0: plain, 1: array}) is None
    listed[1] += 8
    words = "argument 2: wrote to its list of addresses, which can only be read"
    found = memory.violation({0: plain, 1: array})
    assert (found.message, found.stray) == (words, None)
    ctypes.memset(array.given + 24, 0, 1)
    words = "argument 2: its list of addresses: wrote past its end (first damaged byte +0)"
    found = memory.violation({0: plain, 1: array})
    assert (found.message, found.stray) == (words, None)
    plain.release()
    array.release()
    memory.trim()
    assert driver.blocks == {}


def test_pages_are_mapped_between_addresses_that_are_not():
    driver = FakeDriver()
    array = GuardedMemory(driver, 0).allocate(GRANULARITY, guard_end=True)
    (reserved,) = driver.blocks
    assert array.base == reserved + GRANULARITY
    assert driver._mapped == {array.base}


def test_what_is_given_back_serves_again_and_holds_nothing_of_before():
    driver = FakeDriver()
    memory = GuardedMemory(driver, 0)
    first = memory.allocate(1000, guard_end=True)
    ctypes.memset(first.address, 7, 1000)
    first.release()
    left = np.ctypeslib.as_array((ctypes.c_uint16 * (GRANULARITY // 2)).from_address(first.base))
    assert (left == PATTERN).all()
    assert memory.allocate(1000, guard_end=False).base != first.base, "it lies elsewhere in its page"
    again = memory.allocate(1000, guard_end=True)
    assert again.base == first.base
    assert memory.violation({0: again}) is None
    assert memory.allocate(1000, guard_end=True).base != first.base, "it is in use"


def test_what_is_kept_gives_way_where_there_is_no_room(monkeypatch):
    monkeypatch.setattr("tui_tuner.evaluate.devices.cuda.guarded_memory.SPARE_BYTES", 2 * GRANULARITY)
    driver = FakeDriver()
    memory = GuardedMemory(driver, 0)
    for array in [memory.allocate(GRANULARITY, guard_end=True) for _ in range(5)]:
        array.release()
    assert len(driver._mapped) == 2
    unlimited = driver.call

    def full(name, *arguments):
        if name == "cuMemCreate" and driver._mapped:
            raise CudaError(2, name)
        unlimited(name, *arguments)

    monkeypatch.setattr(driver, "call", full)
    larger = memory.allocate(3 * GRANULARITY, guard_end=True)
    assert driver._mapped == {larger.base}
    with pytest.raises(CudaError, match="out of memory"):
        memory.allocate(GRANULARITY, guard_end=True)


def test_a_list_that_cannot_be_written_leaves_nothing_behind(monkeypatch):
    driver = FakeDriver()

    def lost(*_):
        raise CudaError(2, "cuMemcpyHtoD_v2")

    monkeypatch.setattr(driver, "upload", lost)
    memory = GuardedMemory(driver, 0)
    with pytest.raises(CudaError, match="out of memory"):
        memory.allocate(100, guard_end=True, parts=2)
    memory.trim()
    assert driver.blocks == {}


@pytest.mark.parametrize("step", ["cuMemCreate", "cuMemMap", "cuMemSetAccess"])
def test_an_allocation_that_fails_half_way_leaves_nothing_behind(step):
    driver = FakeDriver()
    driver.fails[step] = 2
    with pytest.raises(CudaError, match="out of memory"):
        GuardedMemory(driver, 0).allocate(100, guard_end=True)
    assert driver.blocks == {}
    assert driver._mapped == set()


def test_structures_have_the_sizes_of_the_drivers_header():
    assert ctypes.sizeof(AllocationProperties) == 32
    assert AllocationProperties.location.offset == 8
    assert AllocationProperties.flags.offset == 24
    assert ctypes.sizeof(AccessDescription) == 12
    assert AccessDescription.flags.offset == 8
