"""Arrays that a function of the host takes memory for and returns, passed by themselves or in a structure by value."""

from __future__ import annotations

import pytest

from tests.problem.examples import drafted

HOST = """
#include <vector>
#define CHECK(call) do { if ((call) != cudaSuccess) exit(1); } while (0)
struct From { const float *x; const int *at; };
struct Args { const float *x; const int *at; float *y; int n; };
struct Nested { int n; From from; float *y; };
template <class T> struct Owner { T *p; T *get() const { return p; } };
__global__ void k(PARAMETERS)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < A.n) A.y[i] = A.x[A.at[i]];
}
HELPER
int main()
{
    const int n = 70000, m = 3000;
    std::vector<float> hx(3 * m);
    std::vector<int> hat(n);
    for (auto &v : hx) v = -2.0f + 5.0f * (rand() / (float)RAND_MAX);
    for (auto &v : hat) v = rand() % m;
    float *y;
    CHECK(cudaMalloc(&y, n * sizeof(float)));
    MADE
    k<<<(n + 127) / 128, 128>>>(GIVEN);
}
"""
ALONE = "const float *x, const int *at, float *y, int n"
UPLOAD = (
    "template <class T> static T *up(const std::vector<T> &v) { T *p; CHECK(cudaMalloc(&p, v.size() * sizeof(T)));"
    " CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); return p; }"
)
MADE = {
    "by themselves": (ALONE, "auto *x = up(hx); auto *at = up(hat);", "x, at, y, n"),
    "in braces": ("Args a", "Args a{up(hx), up(hat), y, n};", "a"),
    "in braces of a constant": ("Args a", "const Args a = {up(hx), up(hat), y, n};", "a"),
    "by assignments": ("Args a", "Args a{}; a.x = up(hx); a.at = up(hat); a.y = y; a.n = n;", "a"),
    "by pointers of their own": ("Args a", "float *x = up(hx); int *at = up(hat); Args a{x, at, y, n};", "a"),
    "by name": ("Args a", "Args a{.x = up(hx), .at = up(hat), .y = y, .n = n};", "a"),
    "by name in another order": ("Args a", "Args a = {.y = y, .n = n, .at = up(hat), .x = up(hx)};", "a"),
    "in the launch": ("Args a", "", "Args{up(hx), up(hat), y, n}"),
    "within another": ("Nested a", "Nested a = {n, {up(hx), up(hat)}, y};", "a"),
    "within another by name": ("Nested a", "Nested a = {.n = n, .from = {.x = up(hx), .at = up(hat)}, .y = y};", "a"),
    "within another as a whole": ("Nested a", "From f{up(hx), up(hat)}; Nested a; a.n = n; a.from = f; a.y = y;", "a"),
    "as a copy": ("Args a", "Args h{up(hx), up(hat), y, n}; Args a; memcpy(&a, &h, sizeof(Args));", "a"),
}
HELPERS = {
    "of a vector": UPLOAD,
    "with bytes of its own": (
        "float *up(const std::vector<float> &v) { const size_t bytes = sizeof(float) * v.size(); void *p = nullptr;"
        " cudaMalloc(&p, bytes); cudaMemcpy(p, v.data(), bytes, cudaMemcpyHostToDevice); return (float *)p; }"
    ),
    "by another function": (
        "template <class T> T *taken(size_t n) { T *p; CHECK(cudaMalloc(&p, n * sizeof(T))); return p; }\n"
        "template <class T> T *up(const std::vector<T> &v) { auto *p = taken<T>(v.size());"
        " cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice); return p; }"
    ),
    "that owns it": (
        "template <class T> Owner<T> up(const std::vector<T> &v) { T *p; cudaMalloc(&p, v.size() * sizeof(T));"
        " cudaMemcpy(p, &v[0], v.size() * sizeof(T), cudaMemcpyHostToDevice); return Owner<T>{p}; }"
    ),
    "of a pointer and a count": (
        "template <class T> T *up(const T *from, size_t count) { T *to; cudaMalloc((void **)&to, count * sizeof(T));"
        " cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyHostToDevice); return to; }"
    ),
    "of a class": f"struct Device {{ {UPLOAD} }};",
    "as a lambda": "",
}
USES = {
    "that owns it": {"up(hx)": "up(hx).get()", "up(hat)": "up(hat).get()"},
    "of a pointer and a count": {"up(hx)": "up(hx.data(), hx.size())", "up(hat)": "up(hat.data(), n)"},
    "of a class": {"up(hx)": "Device::up(hx)", "up(hat)": "Device::up(hat)"},
}
LAMBDA = (
    "auto up = [&](const auto &v) { void *p; cudaMalloc(&p, v.size() * sizeof(v[0]));"
    " cudaMemcpy(p, v.data(), v.size() * sizeof(v[0]), cudaMemcpyHostToDevice); return (float *)p; };"
)


def source_of(way: str, helper: str = "of a vector") -> str:
    """A program that uploads in one way by one helper."""
    parameters, made, given = MADE[way]
    for old, new in USES.get(helper, {}).items():
        made, given = made.replace(old, new), given.replace(old, new)
    made = LAMBDA + made if helper == "as a lambda" else made
    body = HOST.replace("PARAMETERS", parameters).replace("HELPER", HELPERS[helper])
    body = body.replace("MADE", made).replace("GIVEN", given)
    if parameters.startswith("Nested"):
        body = body.replace("A.x", "A.from.x").replace("A.at", "A.from.at")
    return body.replace("A.", "" if parameters == ALONE else "a.")


def arguments_of(tmp_path, source):
    problem, _ = drafted(tmp_path, source)
    arguments = {one.name.rpartition("_")[2]: one for one in problem.arguments}
    return arguments["x"], arguments["at"]


def assert_as_uploaded(x, at):
    assert (x.shape, at.shape) == (["3 * m"], ["n"])
    assert (x.fill, x.low, x.high) == ("uniform", -2.0, 3.0)
    assert (at.fill, at.low, at.high) == ("integers", 0, "m")


@pytest.mark.parametrize("way", MADE)
def test_what_a_function_uploads_is_as_long_as_its_vector_wherever_it_is_put(tmp_path, way):
    assert_as_uploaded(*arguments_of(tmp_path, source_of(way)))


@pytest.mark.parametrize("helper", HELPERS)
@pytest.mark.parametrize("way", ["by themselves", "in braces", "by assignments"])
def test_what_is_uploaded_is_as_long_as_its_vector_by_whatever_function(tmp_path, helper, way):
    assert_as_uploaded(*arguments_of(tmp_path, source_of(way, helper)))


HANDED = {
    "to a pointer": (
        "template <class T> void up(T **to, const std::vector<T> &v) { CHECK(cudaMalloc(to, v.size() * sizeof(T)));"
        " cudaMemcpy(*to, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice); }",
        "up(&{}, {});",
    ),
    "to any pointer": (
        "bool up(void **to, const void *from, size_t bytes) { if (cudaMalloc((void **)to, bytes)) return false;"
        " return cudaMemcpy(*to, from, bytes, cudaMemcpyHostToDevice) == cudaSuccess; }",
        "if (!up((void **)&{0}, {1}.data(), {1}.size() * sizeof({1}[0]))) return 1;",
    ),
    "to a reference": (
        "template <class T> void up(const std::vector<T> &v, T *&to) { const size_t bytes = v.size() * sizeof(T);"
        " cudaMalloc(&to, bytes); cudaMemcpy(to, v.data(), bytes, cudaMemcpyHostToDevice); }",
        "up({1}, {0});",
    ),
}


@pytest.mark.parametrize("way", ["by themselves", "in braces", "by assignments"])
@pytest.mark.parametrize("helper", HANDED)
def test_memory_that_a_function_hands_back_is_as_long_as_its_vector(tmp_path, helper, way):
    function, call = HANDED[helper]
    parameters, made, given = {
        "by themselves": (ALONE, "float *x; int *at; {x} {at}", "x, at, y, n"),
        "in braces": ("Args a", "float *x; int *at; {x} {at} Args a{{x, at, y, n}};", "a"),
        "by assignments": ("Args a", "Args a; {a.x} {a.at} a.y = y; a.n = n;", "a"),
    }[way]
    for name, vector in (("x", "hx"), ("at", "hat"), ("a.x", "hx"), ("a.at", "hat")):
        made = made.replace(f"{{{name}}}", call.format(name, vector))
    source = HOST.replace("PARAMETERS", parameters).replace("HELPER", function).replace("GIVEN", given)
    source = source.replace("MADE", made.replace("{{", "{").replace("}}", "}"))
    assert_as_uploaded(*arguments_of(tmp_path, source.replace("A.", "" if parameters == ALONE else "a.")))


def test_a_function_that_takes_memory_twice_hands_back_that_of_its_parameter(tmp_path):
    function = (
        "void up(float **x, int **at, int m, int n) { cudaMalloc(x, 3 * m * sizeof(float));"
        " cudaMalloc(at, n * sizeof(int)); }"
    )
    source = HOST.replace("PARAMETERS", "Args a").replace("HELPER", function).replace("GIVEN", "a")
    source = source.replace("MADE", "Args a; up(&a.x, &a.at, m, n); a.y = y; a.n = n;").replace("A.", "a.")
    x, at = arguments_of(tmp_path, source)
    assert (x.shape, at.shape) == (["3 * m"], ["n"])


VECTORS = {
    "by a lambda": (
        "",
        "std::uniform_real_distribution<float> draw(-2.0f, 3.0f); auto made = [&](size_t count) -> std::vector<float> {"
        " std::vector<float> v(count); for (auto &e : v) e = draw(gen); return v; };",
    ),
    "by a function": (
        "std::vector<float> made(size_t count) { std::uniform_real_distribution<float> draw(-2.0f, 3.0f);"
        " std::vector<float> v(count); for (auto &e : v) e = draw(gen); return v; }\n",
        "",
    ),
}


@pytest.mark.parametrize("way", VECTORS)
@pytest.mark.parametrize("type_text", ["auto", "std::vector<float>"])
def test_a_vector_that_is_made_by_a_function_is_as_long_and_filled_as_there(tmp_path, way, type_text):
    outside, inside = VECTORS[way]
    source = source_of("in braces").replace("for (auto &v : hx) v = -2.0f + 5.0f * (rand() / (float)RAND_MAX);", "")
    source = source.replace("int main()", f"{outside}int main()")
    source = source.replace("std::vector<float> hx(3 * m);", f"{inside} {type_text} hx = made(3 * m);")
    x, _ = arguments_of(tmp_path, source)
    assert (x.shape, x.fill, x.low, x.high) == (["3 * m"], "uniform", -2.0, 3.0)


FILLED = {
    "by reference": (
        "void fill(Args &p, const std::vector<float> &x, const std::vector<int> &at, float *to) { p.n = at.size();"
        " CHECK(cudaMalloc(&p.x, x.size() * sizeof(float))); p.at = up(at); p.y = to; }",
        "Args a; fill(a, hx, hat, y);",
    ),
    "by pointer": (
        "void fill(Args *p, const std::vector<float> &x, const std::vector<int> &at, float *to) { p->n = at.size();"
        " CHECK(cudaMalloc((void **)&p->x, x.size() * sizeof(float))); p->at = up(at); p->y = to; }",
        "Args a; fill(&a, hx, hat, y);",
    ),
    "by return": (
        "Args filled(const std::vector<float> &x, const std::vector<int> &at, float *to) { Args p; p.n = at.size();"
        " CHECK(cudaMalloc(&p.x, x.size() * sizeof(float))); p.at = up(at); p.y = to; return p; }",
        "const Args a = filled(hx, hat, y);",
    ),
}


@pytest.mark.parametrize("way", FILLED)
def test_a_structure_that_a_function_fills_has_what_that_sets(tmp_path, way):
    function, made = FILLED[way]
    source = HOST.replace("PARAMETERS", "Args a").replace("HELPER", f"{UPLOAD}\n{function}").replace("GIVEN", "a")
    problem, _ = drafted(tmp_path, source.replace("MADE", made).replace("A.", "a."))
    arguments = {one.name: one for one in problem.arguments}
    assert (arguments["a_x"].shape, arguments["a_at"].shape, arguments["a_y"].shape) == (["3 * m"], ["n"], ["n"])
    assert (arguments["a_at"].fill, arguments["a_at"].high) == ("integers", "m")
    assert [one.value for one in arguments["a"].members or () if one.name == "n"] == ["n"]
    assert problem.sizes == {"n": 70000, "m": 3000}


def test_a_vector_that_grows_has_a_size_of_its_own_where_a_function_takes_memory_for_its_elements(tmp_path):
    source = source_of("by themselves", "by another function")
    source = source.replace("hx(3 * m);", "hx = {1, 2, 3}; while (more()) hx.push_back(0);").replace("up(hx)", "X")
    problem, _ = drafted(tmp_path, source.replace("X", "taken<float>(hx.size())"))
    assert {one.name: one.shape for one in problem.arguments}["x"] == ["hx_size"]
