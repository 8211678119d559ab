from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.emulator.bench import KERNELS, Bench
from tui_tuner.evaluate.devices.base import LoadedKernel
from tui_tuner.evaluate.results import FailureKind

SOURCE = (KERNELS / "numbers.cu").read_text()
Load = Callable[[str], LoadedKernel]


@pytest.fixture(scope="module")
def load(emulator: Bench) -> Load:
    return lambda name: emulator.load(SOURCE, name)


@pytest.mark.slow
def test_half_arithmetic_agrees_with_numpy_to_the_last_bit(emulator: Bench, load: Load) -> None:
    n = 200
    a, b = np.random.default_rng(1).uniform(0.1, 4, (2, n)).astype(np.float16)
    out = emulator.run(load("half_arithmetic"), np.zeros((8, n), np.float16), a, b, np.int32(n), block=(256, 1, 1))[0]
    wide_a, wide_b = a.astype(np.float32), b.astype(np.float32)
    fused = (wide_a * wide_b + wide_a).astype(np.float16)
    tenth = (wide_a * np.float32(0.1)).astype(np.float16)
    one = np.float16(1)
    assert np.array_equal([a + b, a * b, a / b, fused, tenth, a + one, b + one, np.where(a < b, a, -a)], out)


@pytest.mark.slow
def test_every_half_survives_the_way_to_float_and_floats_round_as_numpy_rounds(emulator: Bench, load: Load) -> None:
    patterns = np.arange(65536, dtype=np.uint16)
    rng = np.random.default_rng(2)
    floats = (rng.standard_normal(65536) * 2.0 ** rng.integers(-28, 20, 65536)).astype(np.float32)
    floats[:6] = [65519.9, 65520, 2**-25, 2**-24 * 1.5, np.inf, -0.0]
    back, values, rounded, _ = emulator.run(
        load("half_conversions"),
        np.zeros_like(patterns),
        np.zeros(65536, np.float32),
        np.zeros_like(patterns),
        floats,
        grid=(256, 1, 1),
        block=(256, 1, 1),
    )
    expected = patterns.view(np.float16).astype(np.float32)
    number = ~np.isnan(expected)
    assert np.array_equal(expected, values, equal_nan=True)
    assert np.array_equal(patterns[number], back[number])
    with np.errstate(over="ignore"):
        assert np.array_equal(floats.astype(np.float16).view(np.uint16), rounded)


ROUNDED = """
__global__ void rounded(float *to, double *wide, const float *a, const float *b, const float *c, int n)
{
    int i = threadIdx.x;
    if (i >= n) return;
    float *down = to + i, *up = to + 3 * n + i;
    down[0] = __fmul_rd(a[i], b[i]); down[n] = __fmaf_rd(a[i], b[i], c[i]); down[2 * n] = __fdiv_rd(a[i], b[i]);
    up[0] = __fmul_ru(a[i], b[i]); up[n] = __fmaf_ru(a[i], b[i], c[i]); up[2 * n] = __fdiv_ru(a[i], b[i]);
    wide[i] = __dadd_rz(a[i], c[i] * 1e-12); wide[n + i] = a[i] + b[i];
}
"""


def test_what_is_rounded_down_or_up_is_the_next_number_below_or_above(emulator: Bench) -> None:
    n, random = 100, np.random.default_rng(8)
    a, b, c = random.standard_normal((3, n)).astype(np.float32)
    empty = np.zeros((6, n), np.float32), np.zeros((2, n))
    to, wide, *_ = emulator.run(emulator.load(ROUNDED, "rounded"), *empty, a, b, c, np.int32(n), block=(128, 1, 1))
    numbers = [[Fraction(float(one)) for one in array] for array in (a, b, c)]
    exact = [[x * y, x * y + z, x / y] for x, y, z in zip(*numbers, strict=True)]
    for place, values in enumerate(exact):
        for kind, value in enumerate(values):
            down, up = to[kind, place], to[3 + kind, place]
            assert Fraction(float(down)) <= value <= Fraction(float(up))
            assert up in (down, np.nextafter(down, np.float32(np.inf)))
    sums = [x + Fraction(float(z * np.float64(1e-12))) for x, z in zip(numbers[0], c, strict=True)]
    for value, cut in zip(sums, wide[0], strict=True):
        away = Fraction(float(np.nextafter(cut, np.copysign(np.inf, cut))))
        assert abs(Fraction(float(cut))) <= abs(value) < abs(away)
    assert np.array_equal(wide[1], (a + b).astype(np.float64))  # what follows is rounded to nearest again


@pytest.mark.slow
def test_bfloat16_keeps_the_upper_half_rounded_to_nearest(emulator: Bench, load: Load) -> None:
    values = np.random.default_rng(3).standard_normal(32).astype(np.float32)
    out, _ = emulator.run(load("bfloat16"), np.zeros(32, np.float32), values)
    assert np.allclose(values * 2, out, rtol=2**-8)
    assert not (out.view(np.uint32) & 0xFFFF).any()


@pytest.mark.slow
def test_numbers_of_a_byte_agree_with_those_of_ml_dtypes_to_the_last_bit(emulator: Bench, load: Load) -> None:
    count = 65536
    rng = np.random.default_rng(4)
    floats = (rng.standard_normal(count) * 2.0 ** rng.integers(-18, 18, count)).astype(np.float32)
    floats[:8] = [448, 464.1, 1e9, -np.inf, 2**-9, 2**-10, 2**-10 * 1.01, -0.0]
    values, rounded, other_values, others, lost, _ = emulator.run(
        load("bytes_as_numbers"),
        *(np.zeros(count, dtype) for dtype in (np.float32, np.uint8, np.float32, np.uint8, np.uint8)),
        floats,
        grid=(256, 1, 1),
        block=(256, 1, 1),
    )
    patterns = np.arange(count).astype(np.uint8)
    one, other = np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e5m2)
    assert np.array_equal(patterns.view(one).astype(np.float32), values, equal_nan=True)
    assert np.array_equal(patterns.view(other).astype(np.float32), other_values, equal_nan=True)
    assert np.array_equal(np.clip(floats, -448, 448).astype(one).view(np.uint8), rounded)
    assert np.array_equal(np.clip(floats, -57344, 57344).astype(other).view(np.uint8), others)
    assert np.array_equal(floats.astype(other).view(np.uint8), lost)


@pytest.mark.slow
def test_two_and_four_numbers_of_a_byte_each_lie_in_a_word(emulator: Bench, load: Load) -> None:
    numbers = np.random.default_rng(5).standard_normal((32, 4)).astype(np.float32)
    fours, twos = np.zeros((32, 4), np.uint8), np.zeros((32, 2), np.uint8)
    values, fours, twos, _ = emulator.run(load("packed_bytes"), np.zeros((32, 4), np.float32), fours, twos, numbers)
    four, two = numbers.astype(ml_dtypes.float8_e4m3fn), numbers[:, :2].astype(ml_dtypes.float8_e5m2)
    assert np.array_equal(four.view(np.uint8), fours)
    assert np.array_equal(two.view(np.uint8), twos)
    assert np.array_equal(values[:, :2], four[:, 2:].astype(np.float32))
    assert np.array_equal(values[:, 2:], two.astype(np.float32))


@pytest.mark.slow
def test_vector_types_have_the_size_and_alignment_of_cuda(emulator: Bench, load: Load) -> None:
    values = np.arange(128, dtype=np.float32).reshape(32, 4)
    arrays = [np.zeros((32, 4), np.float32), values, np.zeros((32, 4), np.uint8), np.zeros((32, 2))]
    out, _, octets, pairs = emulator.run(load("vectors"), *arrays)
    assert np.array_equal(values[:, ::-1], out)
    assert np.array_equal([[1, 2, 3, t] for t in range(32)], octets)
    assert np.array_equal(np.tile([12.0, 16.0], (32, 1)), pairs)


@pytest.mark.slow
def test_integer_intrinsics(emulator: Bench, load: Load) -> None:
    (out,) = emulator.run(load("integer_intrinsics"), np.zeros(18, np.int64), block=(1, 1, 1))
    expected = [
        *(9, 3132, 400, 2**31, 0x77552200, 0xFFFFFFFE, -1, -15, 3, 20),
        *(742, 2 - 20 + 300, 2**31 - 1, 0, 0x3F800000, 34, 8, 1),
    ]
    assert expected == out.tolist()


@pytest.mark.slow
def test_float_intrinsics(emulator: Bench, load: Load) -> None:
    x = np.random.default_rng(4).uniform(0.5, 5, 32).astype(np.float32)
    out, _ = emulator.run(load("float_intrinsics"), np.zeros((32, 14), np.float32), x)
    w = x.astype(np.float64)
    zero, root = np.zeros(32), np.sqrt(w)
    expected = [
        *(np.exp(w), np.log(w), w**1.5, zero, zero, 1 / root, 1 / root, 1 / np.cbrt(w), np.clip(w - 1, 0, 1)),
        *(1 / w, w * w + 1, root + 2 * w, np.maximum(w, np.pi), 1 / w),
    ]
    assert np.allclose(np.stack(expected, axis=1), out, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_atomics_of_every_type(emulator: Bench, load: Load) -> None:
    arguments = [
        np.zeros(8, np.int32),
        np.array([2**32 - 1, 0, 0], np.uint32),
        np.zeros(1, np.float32),
        np.zeros(2),
        np.zeros(1, np.uint64),
        np.zeros(32, np.int32),
    ]
    i, u, f, d, longs, old = emulator.run(load("atomics"), *arguments)
    assert i[:6].tolist() == [32, -64, -5, 31, -1, -1]
    assert u.tolist() == [0, 2, 8]
    assert (f[0], d[0], d[1], longs[0]) == (16, 8, 32, 31 << 40)
    assert i[6] == 1
    assert old[0] == 0
    assert 0 <= i[7] < 32


@pytest.mark.slow
def test_a_failed_assertion_names_its_text_line_and_thread(emulator: Bench, load: Load) -> None:
    kernel = load("asserted")
    assert emulator.run(kernel, np.zeros(32, np.int32), np.int32(32))[0].all()
    fault = emulator.fault(kernel, np.zeros(32, np.int32), np.int32(31))
    line = SOURCE[: SOURCE.index("    assert(")].count("\n") + 1
    assert fault.kind == FailureKind.CRASH
    assert fault.message == f"assertion failed: threadIdx.x < limit in line {line} (block 0,0,0, thread 31,0,0)"


@pytest.mark.slow
def test_complex_numbers_agree_with_numpy(emulator: Bench, load: Load) -> None:
    a, b = 1.5 - 2j, -0.25 + 4j
    out = emulator.run(load("complex_arithmetic"), np.zeros(12), np.array([a, b]).view(np.float64))[0]
    expected = [a + b, a - b, a * b, a / b, complex(abs(a), -b.imag), (1 + 2j) * (3 + 4j) + (5 + 6j)]
    assert np.allclose(out.view(np.complex128), expected, rtol=1e-15)


_OF_PARTS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "vadd": lambda x, y: x + y,
    "vsub": lambda x, y: x - y,
    "vmax": np.maximum,
    "vmin": np.minimum,
    "vabsdiff": lambda x, y: np.maximum(x, y) - np.minimum(x, y),
    "vcmpeq": lambda x, y: -(x == y).astype(x.dtype),
    "vcmpgt": lambda x, y: -(x > y).astype(x.dtype),
    "vcmple": lambda x, y: -(x <= y).astype(x.dtype),
    "vsetne": lambda x, y: x != y,
    "vsetge": lambda x, y: x >= y,
    "vsetlt": lambda x, y: x < y,
}
"""What the operations on parts of a word do to arrays of the parts."""
_WITHOUT_SIGN = ("vadd", "vsub", "vcmpeq", "vsetne")


@pytest.mark.slow
def test_parts_of_a_word_are_worked_on_each_on_its_own(emulator: Bench) -> None:
    a, b = np.random.default_rng(1).integers(0, 1 << 32, (2, 500), np.uint32)
    b[::3] = a[::3] ^ 0x00FF0000
    kinds = {"2": np.uint16, "4": np.uint8, "s2": np.int16, "s4": np.int8, "u2": np.uint16, "u4": np.uint8}
    names = [(name, end) for name in _OF_PARTS for end in kinds if (len(end) == 1) == (name in _WITHOUT_SIGN)]
    calls = "".join(f"out[{k} * 500 + i] = __{name}{end}(a[i], b[i]);" for k, (name, end) in enumerate(names))
    source = f"__global__ void k(unsigned* out, unsigned* a, unsigned* b) {{ int i = threadIdx.x; {calls} }}"
    out = emulator.run(emulator.load(source, "k"), np.zeros((len(names), 500), np.uint32), a, b, block=(500, 1, 1))[0]
    for (name, end), found in zip(names, np.asarray(out), strict=True):
        expected = _OF_PARTS[name](a.view(kinds[end]), b.view(kinds[end])).astype(kinds[end])
        assert np.array_equal(found.view(kinds[end]), expected), f"{name}{end}"


@pytest.mark.slow
def test_the_bits_of_a_half_are_read_and_set_as_cuda_names_them(emulator: Bench, load: Load) -> None:
    x = np.linspace(1, 2, 64, dtype=np.float16)
    y = (x.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    out = emulator.run(load("half_bits"), np.zeros(128, np.uint16), x, y, np.int32(64), block=(64, 1, 1))[0]
    assert (out[::2] == (-x).view(np.uint16)).all()
    assert (out[1::2] == y).all()


@pytest.mark.parametrize(("scalar", "name", "header"), [("half", "half", "fp16"), ("nv_bfloat16", "bfloat16", "bf16")])
def test_numbers_of_16_bits_go_to_and_from_every_integer(emulator: Bench, scalar: str, name: str, header: str) -> None:
    integers = {"int": "int", "uint": "unsigned", "short": "short", "ushort": "unsigned short"}
    integers |= {"ll": "long long", "ull": "unsigned long long"}
    there = "".join(f"*out++ = __{name}2float(__{one}2{name}_rn(({of})6));" for one, of in integers.items())
    back = "".join(f"*out++ = __{name}2{one}_{how}(a[0]);" for one in integers for how in ("rn", "rz", "ru", "rd"))
    source = f"#include <cuda_{header}.h>\n__global__ void k(float* out, const {scalar}* a) {{ {there} {back} }}\n"
    given = np.array([2.5], ml_dtypes.bfloat16 if name == "bfloat16" else np.float16)
    (out, _) = emulator.run(emulator.load(source, "k"), np.zeros(30, np.float32), given)
    assert out.tolist() == [6] * 6 + [2, 2, 3, 2] * 6
