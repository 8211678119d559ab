"""Builds that watch every access: what leaves an object or races is accused with its line, and nothing honest is."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import numpy as np
import pytest

from tests.emulator.bench import Bench
from tui_tuner.evaluate.devices.base import CannotWatch, WatchedLaunch
from tui_tuner.evaluate.devices.faults import DeviceFault
from tui_tuner.evaluate.results import Failure, FailureKind
from tui_tuner.evaluate.sandbox.run import Policy
from tui_tuner.evaluate.sanitizers import with_lines
from tui_tuner.problem.candidate import Geometry

_KNOWS = """
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#error it knows
#endif"""
BOUNDS = """
__device__ float first[8], second[8];
__global__ void watched(float* x, int n, int which) {
    __shared__ float tile[64], other[64];
    extern __shared__ float more[];
    float mine[4] = {};
    int t = threadIdx.x;
    other[t] = tile[t] = more[t] = x[t];
    first[t % 8] = second[t % 8] = 1;
    switch (which) {
        case 0: x[t] = tile[t + n - 1] + other[t] + mine[t % 4] + more[t]; break;
        case 1: x[t] = tile[t + n]; break;                              // LINE 1
        case 2: other[t + n] = 1; x[t] = other[t]; break;               // LINE 2
        case 3: more[t + n] = 1; x[t] = more[t]; break;                 // LINE 3
        case 4: mine[t % 4 + n] = 1; x[t] = mine[t % 4]; break;         // LINE 4
        case 5: x[t + n] = 1; break;                                    // LINE 5
        case 6: x[t] = x[t - n]; break;                                 // LINE 6
        case 7: x[t] = first[t % 8 + n]; break;                         // LINE 7
    }
}
"""
_BEYOND = {
    1: "reads 4 bytes past the end of 'tile'",
    2: "writes 4 bytes past the end of 'other'",
    3: "writes past the 256 bytes of dynamic shared memory",
    4: "writes outside of a local array",
    5: "writes 4 bytes past the end of argument 1",
    6: "reads 4 bytes before the start of argument 1",
    7: "reads 4 bytes past the end of 'first'",
}
RACES = """
__device__ int sum, key, gone, turn, flag;
#define SEEN(what) (*(volatile int*)&(what))
__global__ void watched(float* x, int n, int which) {
    __shared__ float tile[64];
    __shared__ int counts[64], lock, best, ready;
    float* all = x;
    int t = threadIdx.x;
    x += blockIdx.x * 64;
    switch (which) {
        case 0: tile[t] = x[t]; __syncthreads(); x[t] = tile[t ^ 33]; break;
        case 1: tile[t] = x[t]; __syncwarp(); x[t] = tile[t ^ 3]; break;
        case 2: counts[t] = 0; __syncthreads(); atomicAdd(&counts[t % 5], 1); __syncthreads(); x[t] = counts[t]; break;
        case 3: lock = 7; __syncthreads(); x[t] = lock; break;  // all write the same
        case 4:  // the last to come reads what the others wrote
            if (t == 0) ready = 0;
            __syncthreads();
            tile[t] = x[t];
            __threadfence();
            if (atomicAdd(&ready, 1) == 63) for (int i = 0; i < 64; i++) x[i] = tile[63 - i];
            break;
        case 5:  // looks before it updates
            if (t == 0) best = -1;
            __syncthreads();
            if (best < t) atomicMax(&best, t);
            break;
        case 6:  // a lock
            if (t == 0) lock = best = 0;
            __syncthreads();
            while (atomicCAS(&lock, 0, 1) != 0) {}
            best += t;
            atomicExch(&lock, 0);
            break;
        case 7: ((unsigned char*)tile)[t] = (unsigned char)t; __syncthreads(); x[t] = tile[t / 4]; break;
        case 8: tile[t] = __shfl_xor_sync(~0u, x[t], 1); __syncthreads(); x[t] = tile[t / 2]; break;
        case 9: x[t] = 1; __syncthreads(); x[t] += x[t ^ 1] * 0; break;
        case 10: atomicAdd(&all[t], 1.0f); break;
        case 11: all[t] = 5; break;  // all blocks write the same
        case 12:  // a lock of all blocks
            while (t == 0 && atomicCAS(&key, 0, 1) != 0) {}
            __syncthreads();
            all[t] += x[t];
            __syncthreads();
            if (t == 0) __threadfence(), atomicExch(&key, 0);
            break;
        case 13:  // the last block puts the counter back
            if (t == 0) {
                atomicAdd(&sum, 3);
                if (atomicAdd(&gone, 1) == gridDim.x - 1) sum = gone = 0;
            }
            break;
        case 14:  // each waits for the one before it
            if (t == 0) {
                while (*(volatile int*)&turn != 0 && *(volatile int*)&turn != 7) {}
                sum += 1;
                __threadfence();
                SEEN(turn) = 7 - SEEN(turn);
            }
            break;
        case 15: ((unsigned char*)all)[2 * t + blockIdx.x] = (unsigned char)(t + 100); break;
        case 16: if (sum < t) atomicMax(&sum, t + blockIdx.x); break;  // looks before it updates
        case 17: x[t] = all[64 - blockIdx.x * 64 + t] * 0 + 1; break;  // of another block's it only reads
        case 18:  // the last block reads what the others left
            x[t] = t + 200;
            __threadfence();
            __syncthreads();
            if (t == 0 && atomicAdd(&gone, 1) == gridDim.x - 1) sum = all[5] + all[69];
            break;
        case 19:  // one fence behind a barrier is one for all
            x[t] = t + 200;
            __syncthreads();
            if (t == 0) {
                __threadfence();
                *(volatile int*)&turn = 1;
                if (all[5] + all[69] < 0) sum = 1;
            }
            break;
        case 28:  // what is volatile may be read meanwhile
            if (t == 0) ready = 0;
            __syncthreads();
            if (t == 0) *(volatile int*)&ready = 1;
            x[t] = *(volatile int*)&ready;
            break;
        case 27:  // of whole warps each comes to the barrier by its own way
            if (t < 32) __syncthreads();
            else x[t] = 0, __syncthreads();
            break;

        case 20: tile[t] = x[t]; x[t] = tile[t ^ 33]; break;
        case 21: tile[t] = x[t]; __syncwarp(); x[t] = tile[t ^ 33]; break;
        case 22: counts[t] = 0; atomicAdd(&counts[t % 5], 1); break;
        case 23: counts[t] = 0; __syncthreads(); atomicAdd(&counts[t % 5], 1); x[t] = counts[t % 7]; break;
        case 24: lock = t; break;
        case 25: tile[t] = x[t]; __syncthreads(); x[t] = tile[t ^ 33]; tile[t] = 0; break;
        case 26: x[t] = x[(t + 1) % 64] + 1; break;
        case 29: ((volatile int*)counts)[t % 5] = t; break;

        case 30: all[t] += 1; break;
        case 31: if (blockIdx.x) atomicAdd(&all[t], 1.0f); else all[t] += 1; break;
        case 32: if (blockIdx.x) all[t] += 1; else atomicAdd(&all[t], 1.0f); break;
        case 33: if (t == 0) all[5] = 200 + blockIdx.x; break;
        case 34:  // the lock is given back before the work is done
            while (t == 0 && atomicCAS(&key, 0, 1) != 0) {}
            if (t == 0) atomicExch(&key, 0);
            __syncthreads();
            all[t] += 1;
            break;
        case 35: if (t == 0) atomicAdd(&gone, 1), sum = gone + 5 * blockIdx.x; break;

        case 40:  // the last block may see the count before what the others left
            x[t] = t + 200;
            __syncthreads();
            if (t == 0 && atomicAdd(&gone, 1) == gridDim.x - 1) sum = all[5] + all[69];
            break;
        case 41:  // a fence is behind the flag, and the one before it is for its own block
            x[t] = t + 200;
            __threadfence_block();
            __syncthreads();
            if (t == 0) {
                *(volatile int*)&turn = 1;
                __threadfence();
                if (all[5] + all[69] < 0) sum = 1;
            }
            break;

        case 42:  // each block borrows what the other one reads
            if (all[64 - blockIdx.x * 64 + t] < 0) sum = 1;
            x[t] += 1;
            __syncthreads();
            x[t] -= 1;
            break;
        case 60:  // two blocks may both see that nobody has it
            while (t == 0 && SEEN(key) != 0) {}
            if (t == 0) SEEN(key) = 1, __threadfence(), atomicAdd(&sum, 1), SEEN(key) = 0;
            break;
        case 61:
            while (t == 0 && atomicAdd(&key, 0) != 0) {}
            if (t == 0) SEEN(key) = 1, __threadfence(), atomicExch(&key, 0);
            break;
        case 62:  // the next launch finds the flag
            if (t == 0 && atomicAdd(&gone, 1) % 2 == 0) __threadfence(), atomicExch(&flag, 1);
            else while (t == 0 && atomicAdd(&flag, 0) == 0) {}
            break;
        case 63:
            if (t == 0 && atomicAdd(&gone, 1) % 2 == 0) __threadfence(), SEEN(flag) = 1;
            else while (t == 0 && SEEN(flag) == 0) {}
            break;

        case 64:  // nobody looks at what the exchange returns
            while (t == 0 && SEEN(key) != 0) {}
            if (t == 0) { atomicExch(&key, 1); __threadfence(); atomicAdd(&sum, 1); atomicExch(&key, 0); }
            break;
        case 65:
            while (t == 0 && atomicAdd(&key, 0) != 0) {}
            if (t == 0) (void)atomicExch(&key, 1), __threadfence(), SEEN(key) = 0;
            break;

        case 70:  // one after the other, by tickets that go on with the next launch
            if (t == 0) {
                int ticket = atomicAdd(&gone, 1);
                while (SEEN(turn) != ticket) {}
                SEEN(sum) = SEEN(sum) + 1;
                __threadfence();
                SEEN(turn) = ticket + 1;
            }
            break;
        case 71:  // whoever has the lock changes what is volatile, and puts it back
            while (t == 0 && atomicCAS(&key, 0, 1) != 0) {}
            if (t == 0) SEEN(sum) = SEEN(sum) + 1, SEEN(sum) = SEEN(sum) - 1, __threadfence(), SEEN(key) = 0;
            break;
        case 72:  // looks before it takes
            if (t == 0) {
                do while (SEEN(key) != 0) {} while (atomicExch(&key, 1) != 0);
                __threadfence(), SEEN(key) = 0;
            }
            break;
        case 73:  // the flag is put back
            if (t == 0 && atomicAdd(&gone, 1) % 2 == 0) __threadfence(), SEEN(flag) = 1;
            else if (t == 0) {
                while (SEEN(flag) == 0) {}
                SEEN(flag) = 0;
            }
            break;
        case 74:  // the flag says which launch it is of
            if (t == 0) {
                int ticket = atomicAdd(&gone, 1), now = ticket / 2 + 1;
                if (ticket % 2 == 0) __threadfence(), atomicExch(&flag, now);
                else while (atomicAdd(&flag, 0) != now) {}
            }
            break;
        case 76:  // what the flag stands for may be the same again
            if (t == 0 && atomicAdd(&gone, 1) % 2 == 0) SEEN(sum) = 5, __threadfence(), SEEN(flag) = 1;
            else if (t == 0) {
                while (SEEN(flag) == 0) {}
                all[64] = SEEN(sum);
                SEEN(flag) = 0;
            }
            break;
        case 75:  // what is there since the first launch is no news
            if (t == 0 && SEEN(flag) == 0) SEEN(flag) = 1;
            break;
        case 77:  // what is put by an exchange is waited for, and taken by another
            if (t == 0 && atomicAdd(&gone, 1) % 2 == 0) {
                while (SEEN(flag) != 0) {}
                SEEN(sum) = 5, __threadfence(), atomicExch(&flag, 1);
            } else if (t == 0) {
                while (SEEN(flag) == 0) {}
                all[64] = SEEN(sum);
                atomicExch(&flag, 0);
            }
            break;
        case 78:  // a lock that is looked at, taken by an exchange that may fail, and given back
            if (t == 0) {
                do while (SEEN(key) != 0) {} while (atomicExch(&key, 1) != 0);
                sum += 1;
                __threadfence(), atomicExch(&key, 0);
            }
            break;
        case 79:  // tickets
            if (t == 0) {
                int ticket = atomicAdd(&gone, 1);
                while (SEEN(turn) != ticket) {}
                sum += 1;
                __threadfence();
                atomicExch(&turn, ticket + 1);
            }
            break;
        case 80:  // what it exchanges it reads behind what was there
            if (t == 0) best = 0;
            counts[t] = t;
            __syncthreads();
            for (int seen, old = best; (seen = atomicCAS(&best, old, old + counts[t ^ 5])) != old; old = seen) {}
            break;
        case 50:
            if (t % 3) __syncthreads();
            else x[t] = 0, __syncthreads();
            break;
        case 51:
            if (t % 3) __syncthreads();
            else x[t] = __syncthreads_or(t);
            break;
    }
}
"""
_HONEST, _RACY, _RACY_BLOCKS = (*range(20), 27, 28, *range(70, 81)), (*range(20, 27), 29), range(30, 36)
_READ = {
    40: r"block [01],0,0 is told so and reads the same in line \{\w+\}, and no __threadfence is between",
    41: r"block [01],0,0 is told so and reads the same in line \{\w+\}, and no __threadfence is between",
    42: r"block [01],0,0 reads the same in line \{\w+\}, and what is put back later is something else meanwhile",
}
_MEETING = range(50, 52)
_BOTH = r"blocks [01],0,0 and [01],0,0 see the same of memory and then change it, in lines \{\w+\} and \{\w+\}: both"
_LEFT = (
    r"block [01],0,0 tells block [01],0,0 by memory in line \{\w+\}, which reads it in line \{\w+\}, what an earlier"
)
_SIGNALS = {60: _BOTH, 61: _BOTH, 62: _LEFT, 63: _LEFT, 64: _BOTH, 65: _BOTH}


def _watch(bench: Bench, source: str, option: str) -> tuple[Path, str]:
    built = bench.compile(f"{source}{_KNOWS}", "watched", {}, [option])
    assert built.ok, built.log
    return built.artifact, built.symbol


@pytest.fixture(scope="module")
def bounds(emulator: Bench) -> tuple[Path, str]:
    return _watch(emulator, BOUNDS, "-fsanitize=address")


@pytest.fixture(scope="module")
def races(emulator: Bench) -> tuple[Path, str]:
    return _watch(emulator, RACES, "-fsanitize=thread")


def _accused(bench: Bench, built: tuple[Path, str], tool: str, n: int, which: int) -> DeviceFault | None:
    count = 64 if tool == "memcheck" else 128
    arguments = (np.arange(1, 1 + count, dtype=np.float32), np.int32(n), np.int32(which))
    launch = WatchedLaunch("n=64", arguments, frozenset({0}), Geometry((2, 1, 1), (64, 1, 1), 256))
    try:
        bench.device.launch_watched(tool, *built, [launch], 60)
    except DeviceFault as fault:
        return fault
    return None


@pytest.mark.slow
def test_an_access_beyond_its_object_is_named_with_its_line(emulator: Bench, bounds: tuple[Path, str]) -> None:
    assert _accused(emulator, bounds, "memcheck", 1, 0) is None  # all the same statements inside of their arrays
    found = {which: _accused(emulator, bounds, "memcheck", 1 if which != 4 else 4, which) for which in _BEYOND}
    told = {which: fault and re.sub(r"line \{\w+\} | \(block.*", "", fault.message) for which, fault in found.items()}
    assert told == {which: f"at n=64: {words}" for which, words in _BEYOND.items()}
    assert {fault.kind for fault in found.values() if fault} == {FailureKind.ILLEGAL_ACCESS}
    first = found[1]
    assert first is not None
    failure = Failure(kind=first.kind, message=first.message)
    line = 1 + BOUNDS[: BOUNDS.index("// LINE 1")].count("\n")
    assert f"line {line} reads" in asyncio.run(with_lines(failure, bounds[0], Policy())).message


@pytest.mark.slow
def test_a_race_is_named_with_both_of_its_lines(emulator: Bench, races: tuple[Path, str]) -> None:
    found = {which: _accused(emulator, races, "racecheck", 1, which) for which in _RACY}
    assert {which: fault and fault.kind for which, fault in found.items()} == dict.fromkeys(_RACY, FailureKind.RACE)
    first = found[20]
    assert first is not None
    assert len(re.findall(r"line \{\w+\}", first.message)) == 2
    assert "shared memory" in first.message
    there = found[26]
    assert there is not None
    assert "argument 1" in there.message


@pytest.mark.parametrize("which", _RACY_BLOCKS)
def test_blocks_that_change_the_same_without_order_race(which: int, emulator: Bench, races: tuple[Path, str]) -> None:
    fault = _accused(emulator, races, "racecheck", 1, which)
    assert fault is not None
    assert fault.kind is FailureKind.RACE
    assert len(re.findall(r"block [01],0,0.* the same in line \{\w+\}, and nothing orders them", fault.message)) == 1


@pytest.mark.parametrize("which", _READ)
def test_a_block_that_reads_what_another_one_may_change_is_told_why(
    which: int, emulator: Bench, races: tuple[Path, str]
) -> None:
    fault = _accused(emulator, races, "racecheck", 1, which)
    assert fault is not None
    assert fault.kind is FailureKind.RACE
    assert re.search(rf"{_READ[which]}$", fault.message)


@pytest.mark.parametrize("which", _SIGNALS)
def test_a_lock_taken_in_two_steps_and_a_flag_left_by_an_earlier_launch_are_told(
    which: int, emulator: Bench, races: tuple[Path, str]
) -> None:
    fault = _accused(emulator, races, "racecheck", 1, which)
    assert fault is not None
    assert fault.kind is FailureKind.RACE
    assert re.search(_SIGNALS[which], fault.message), fault.message


@pytest.mark.parametrize("which", _MEETING)
def test_threads_of_a_warp_that_meet_at_two_barriers_are_accused(
    which: int, emulator: Bench, races: tuple[Path, str]
) -> None:
    fault = _accused(emulator, races, "racecheck", 1, which)
    assert fault is not None
    assert fault.kind is FailureKind.RACE
    assert len(set(re.findall(r" at __syncthreads\w* in line (\d+)", fault.message))) == 2


@pytest.mark.parametrize("which", _HONEST)
def test_what_is_ordered_is_no_race(which: int, emulator: Bench, races: tuple[Path, str]) -> None:
    fault = _accused(emulator, races, "racecheck", 1, which)
    assert fault is None, fault


def test_a_source_does_not_see_that_it_is_watched(bounds: tuple[Path, str], races: tuple[Path, str]) -> None:
    assert bounds[0].exists()  # else it had not been built
    assert races[0].exists()


def test_an_artifact_that_cannot_be_loaded_accuses_nobody(emulator: Bench, tmp_path: Path) -> None:
    (tmp_path / "none.so").write_bytes(b"nothing")
    with pytest.raises(CannotWatch):
        emulator.device.launch_watched("memcheck", tmp_path / "none.so", "tuner_launch", [], 10)


def test_atomic_functions_have_the_types_that_nvcc_has(emulator: Bench) -> None:
    wrong = """__global__ void k(unsigned char* a, short* b, unsigned long* c, double* d, int* e, unsigned* f) {
    atomicAdd(a, 1);
    atomicAdd(b, 1);
    atomicAdd(c, 1);
    atomicMax(d, 1.0);
    atomicInc(e, 1);
    atomicAdd(f, 1); atomicAdd(d, 1); atomicAdd((float*)f, 1); atomicOr((unsigned long long*)c, 1);
}"""
    built = emulator.compile(wrong, "k")
    assert not built.ok
    assert re.findall(r"kernel\.cu:(\d+):\d+: error: no matching function for call to .atomic", built.log) == list(
        "23456"
    )
