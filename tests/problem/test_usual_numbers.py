"""Numbers that drafts take where the host leaves them open; no kernel is built here."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted

ONE = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def of_pairs(loop):
    return (
        f"__global__ void k(const float *x, float *to, int n) {{ {ONE} if (i >= n) return; float s = 0;"
        f" {loop} s += x[i] * x[j]; to[i] = s; }}\n"
        "void run(const float *x, float *to, int n) { k<<<(n + 127) / 128, 128>>>(x, to, n); }\n"
    )


def test_threads_that_each_go_through_all_elements_are_fewer(tmp_path):
    problem, _ = drafted(tmp_path, of_pairs("for (int j = 0; j < n; j++)"))
    assert (problem.sizes["n"], problem.emulator.sizes["n"]) == (2**14, 2**11)


@pytest.mark.parametrize("loop", ["for (int j = 0; j < 8; j++)", "for (int j = i; j < n; j += blockDim.x * gridDim.x)"])
def test_others_are_as_many_as_ever(tmp_path, loop):
    problem, _ = drafted(tmp_path, of_pairs(loop))
    assert problem.sizes["n"] == 2**20


@pytest.mark.parametrize(("kind", "value"), [("float", 1.5), ("const double", 1.5), ("int", 2.0**20)])
def test_a_fraction_that_the_host_is_given_is_no_size(tmp_path, kind, value):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(float *to, int n, float most) {{ {ONE} if (i < n && to[i] > most) to[i] = most; }}\n"
        f"void run(float *to, int n, {kind} r) {{ k<<<(n + 127) / 128, 128>>>(to, n, r * r); }}\n",
    )
    assert next(one.value for one in problem.arguments if one.name == "most") == value


def test_what_a_loop_counts_is_one_number_in_extents_and_scalars(tmp_path):
    problem, text = drafted(
        tmp_path,
        f"__global__ void k(float *to, int each) {{ {ONE} atomicAdd(&to[i / each], 1.f); }}\n"
        "int main() { const int all = 1 << 16; for (int each = 1; each <= 16; each++) {"
        " float *to; cudaMalloc(&to, sizeof(float) * all / each); k<<<all / 128, 128>>>(to, each); } }\n",
    )
    assert problem.sizes["each"] == 8, text
    assert next(one.value for one in problem.arguments if one.name == "each") == "each"


@pytest.mark.parametrize(
    "counted",
    [
        "for (int t = n; t > 1; t >>= 1) bits++;",
        "int t = n; while (t > 1) { ++bits; t /= 2; }",
        "int t = n; while (t > 1) { t = t >> 1; bits += 1; }",
    ],
)
def test_how_often_the_host_halves_a_size_is_its_exponent(tmp_path, counted):
    problem, text = drafted(
        tmp_path,
        f"__global__ void k(const float *x, float *to, int n, int bits) {{ {ONE}"
        " if (i < n) to[__brev(i) >> (32 - bits)] = x[i]; }\n"
        f"void run(const float *x, float *to, int n) {{ int bits = 0; {counted}"
        " k<<<(n + 127) / 128, 128>>>(x, to, n, bits); }\n",
    )
    assert {one.name: one.value for one in problem.arguments[2:]} == {"n": "2 ** bits", "bits": "bits"}, text
    assert problem.launch.problem_size == ["2 ** bits"]
    assert [*problem.sizes] == ["bits"]


def test_how_often_a_number_of_the_host_can_be_halved_is_a_number(tmp_path):
    problem, text = drafted(
        tmp_path,
        f"__global__ void k(const float *x, float *to, int n, int bits) {{ {ONE}"
        " if (i < n) to[__brev(i) >> (32 - bits)] = x[i]; }\n"
        "void run(const float *x, float *to) { int n = 4096, bits = 0; for (int t = n; t > 1; t >>= 1) bits++;"
        " k<<<(n + 127) / 128, 128>>>(x, to, n, bits); }\n",
    )
    assert {one.name: one.value for one in problem.arguments[2:]} == {"n": "n", "bits": 12}, text
    assert problem.sizes == {"n": 4096}


def test_a_number_from_outside_whose_name_says_that_it_is_a_few_is_as_many(tmp_path):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(const float *x, float *to, int n, int maxRad, int most) {{ {ONE} int r = 0;"
        " while (r < maxRad && x[i] < most + r) r++; if (i < n) to[i] = r; }\n"
        "int main(int argc, char **argv) { int n = 4096, maxRad = atoi(argv[1]), most = atoi(argv[2]); float *a, *b;"
        " cudaMalloc(&a, n * 4); cudaMalloc(&b, n * 4); k<<<n / 128, 128>>>(a, b, n, maxRad, most); }\n",
    )
    assert {one.name: one.value for one in problem.arguments[2:]} == {"n": "n", "maxRad": 4, "most": 1}


def test_what_is_taken_from_another_scalar_is_less_than_it(tmp_path):
    problem, _ = drafted(
        tmp_path,
        "__global__ void mean(const float *y, float *sum, float a, float b, int n)"
        f" {{ {ONE} if (i < n) sum[i] = y[i] * (b - a) / n; }}\n",
    )
    assert [one.value for one in problem.arguments if one.dtype == "float32" and one.shape is None] == [0.5, 1.5]


def test_what_is_taken_from_one_is_less_and_a_threshold_is_a_half(tmp_path):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void step(float *p, float *m, int n, float beta1, float iou_threshold, float scale) {{ {ONE}"
        " if (i < n && p[i] > iou_threshold) { m[i] = beta1 * m[i] + (1.f - beta1) * p[i]; p[i] -= scale * m[i]; } }\n",
    )
    assert [one.value for one in problem.arguments if one.dtype == "float32" and one.shape is None] == [0.9, 0.5, 1.5]


@pytest.mark.parametrize("power", ["powf(b1, t)", "pow(b1, (float)t)", "__powf(b1, t)"])
def test_a_scalar_whose_power_is_taken_from_one_is_less_than_one(tmp_path, power):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void step(float *p, const float *m, int n, float b1, int t) {{ {ONE}"
        f" if (i < n) p[i] -= m[i] / (1.0f - {power}); }}\n",
    )
    assert {one.name: one.value for one in problem.arguments}["b1"] == 0.9


@pytest.mark.parametrize(
    ("name", "value"),
    [("dropout", 0.5), ("drop_prob", 0.5), ("dropout_rate", 0.5), ("dt", 0.01), ("delta_t", 0.01), ("width", 1.5)],
)
def test_a_share_is_less_than_one_and_a_step_of_time_small(tmp_path, name, value):
    problem, _ = drafted(
        tmp_path, f"__global__ void k(float *to, int n, float {name}) {{ {ONE} if (i < n) to[i] *= {name}; }}"
    )
    assert next(one.value for one in problem.arguments if one.name == name) == value


@pytest.mark.parametrize(("name", "value"), [("half_width", 4), ("kernel_half_window", 4), ("min_points", 3)])
def test_half_a_window_and_a_least_count_are_few(tmp_path, name, value):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(const float *x, float *to, int n, int {name}) {{ {ONE}"
        f" if (i < n) for (int j = 0; j < {name}; j++) to[i] += x[i]; }}",
    )
    assert problem.sizes[name] == value


def test_a_size_that_is_passed_in_a_byte_is_one_that_a_byte_holds(tmp_path):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(float *to, int n, unsigned char times) {{ {ONE}"
        " if (i < n) for (unsigned char t = 0; t < times; t++) to[i] += t; }\n"
        "void run(float *to, int n, unsigned char times) { k<<<(n + 127) / 128, 128>>>(to, n, times); }\n",
    )
    assert (problem.sizes["n"], problem.sizes["times"]) == (2**20, 16)


@pytest.mark.parametrize(("limit", "most"), [("j < n", 32), ("j < 32 && j < n", 2**20), ("j < n && j < 32", 2**20)])
def test_an_array_of_a_thread_says_nothing_of_what_a_loop_goes_to_that_has_a_limit_of_its_own(tmp_path, limit, most):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(const float *x, float *to, int n) {{ {ONE} float own[32];"
        f" for (int j = 0; {limit}; j++) own[j] = x[j]; if (i < n) to[i] = own[i % 32]; }}\n"
        "void run(const float *x, float *to, int n) { k<<<(n + 127) / 128, 128>>>(x, to, n); }\n",
    )
    assert problem.sizes["n"] == most


@pytest.mark.parametrize(
    ("said", "fill"),
    [
        ("v[i] = b * v[i] + (1 - b) * g[i] * g[i];", "uniform"),
        ("v[i] += x * x;", "uniform"),
        ("float held = v[i]; held = b * held + (1 - b) * (x * x); v[i] = held;", "uniform"),
        ("float more = b * v[i] + (1 - b) * x * x; v[i] = more;", "uniform"),
        ("v[i] = b * v[i] + (1 - b) * x;", "normal"),
        ("v[i] += x * b;", "normal"),
    ],
)
def test_what_squares_are_added_to_holds_nothing_below_0(tmp_path, said, fill):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(float *v, const float *g, int n, float b) {{ {ONE}"
        f" if (i < n) {{ float x = g[i]; {said} }} }}",
    )
    assert [one.fill for one in problem.arguments if one.shape] == [fill, None]


@pytest.mark.parametrize(
    ("counted", "bounds"),
    [
        ("__popcll(words[i] & mask[0])", (0, 2**63 - 1)),
        ("__popcll(a) + (int)a", (0, 2**63 - 1)),
        ("__popc(__ballot_sync(~0u, a > 3))", (None, None)),
        ("(int)a", (None, None)),
    ],
)
def test_words_whose_bits_are_counted_have_any(tmp_path, counted, bounds):
    problem, _ = drafted(
        tmp_path,
        "__constant__ uint64_t mask[1];\n"
        f"__global__ void k(const uint64_t *words, int *to, int n) {{ {ONE} if (i >= n) return;"
        f" const uint64_t *row = words + i; uint64_t a = row[0]; to[i] = {counted}; }}\n"
        "void run(const uint64_t *words, int *to, int n) { cudaMemcpyToSymbol(mask, words, 8);"
        " k<<<(n + 127) / 128, 128>>>(words, to, n); }\n",
    )
    words = next(one for one in problem.arguments if one.name == "words")
    assert (words.low, words.high) == bounds
    constant = [one for one in problem.arguments if one.name == "mask"]
    assert [one.high for one in constant] in ([], [bounds[1] if "mask" in counted else None])


LIFE = """\
__device__ int around(const unsigned char *g, int at, int w) {
    int found = 0;
    for (int dy = -1; dy <= 1; dy++) for (int dx = -1; dx <= 1; dx++) if (dx || dy) found += g[at + dy * w + dx];
    return found;
}
__global__ void life(const unsigned char *cells, unsigned char *to, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    int at = y * w + x;
    int alive = COUNTED;
    to[at] = alive ASKED || (alive == 2 && cells[at]);
}
"""


@pytest.mark.parametrize(
    ("counted", "asked", "high"),
    [
        ("around(cells, at, w)", "== 3", 2),
        ("cells[at - 1] + cells[at + 1] + cells[at - w] + cells[at + w]", "== 3", 2),
        ("0; for (int i = -1; i <= 1; i++) alive += (int)cells[at + i * w]", "== 3", 2),
        ("cells[at - 1] * cells[at + 1]", "== 3", None),
    ],
)
def test_cells_of_which_a_kernel_asks_how_many_there_are_are_0_or_1(tmp_path, counted, asked, high):
    problem, _ = drafted(tmp_path, LIFE.replace("COUNTED", counted).replace("ASKED", asked))
    assert problem.arguments[0].high == high


def test_numbers_that_are_added_up_and_compared_with_large_ones_are_any(tmp_path):
    source = LIFE.replace("COUNTED", "cells[at - 1] + cells[at + 1]").replace("ASKED", "> 90").replace("== 2", "< 40")
    assert drafted(tmp_path, source)[0].arguments[0].high is None


def test_a_scalar_that_is_made_of_threads_from_outside_is_made_of_a_usual_number_of_them(tmp_path):
    problem, _ = drafted(
        tmp_path,
        f"__global__ void k(const float *x, float *to, int n, int tiles) {{ {ONE} float s = 0;"
        " for (int t = 0; t < tiles; t++) s += x[t * blockDim.x]; if (i < n) to[i] = s; }\n"
        "void run(const float *x, float *to, int n, int threads) { int tiles = (n + threads - 1) / threads;"
        " k<<<tiles, threads>>>(x, to, n, tiles); }\n",
    )
    assert next(one.value for one in problem.arguments if one.name == "tiles") == "ceil_div(n, 256)"
    assert (problem.defaults, problem.launch.problem_size) == ({"block_size_x": 256}, ["n"])
