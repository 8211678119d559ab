"""Arrays that a kernel reaches by a list of addresses in device memory: declared, refused, drafted, told."""

from __future__ import annotations

import numpy as np
import pytest

from tests.problem.examples import drafted
from tui_tuner.errors import ProblemError
from tui_tuner.problem.draft.problem_file import scaffold
from tui_tuner.problem.inputs import call_reference, make_arguments
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.placement import Placement, addresses_of_parts, placement_of
from tui_tuner.prompts import argument_facts

KERNEL = """\
__global__ void k(float *const *to, const float *from[], int n)
{
    int i = threadIdx.x, b = blockIdx.x;
    if (i < n) to[b][i] = 2 * from[b][i];
}
"""
PROBLEM = """\
reference = { python = "ref.py:k" }
[kernel]
source = "k.cu"
name = "k"
[sizes]
batch = 5
n = 40
[launch]
problem_size = ["batch"]
[[arguments]]
name = "to"
dtype = "float32"
shape = ["batch", "n"]
output = true
addresses = true
[[arguments]]
name = "from"
dtype = "float32"
shape = ["batch", "n"]
fill = "arange"
addresses = true
[[arguments]]
name = "n"
dtype = "int32"
value = "n"
"""


def problem(directory, old="", new="", kernel=KERNEL):
    assert PROBLEM.count(old) == 1 or not old
    (directory / "k.cu").write_text(kernel)
    (directory / "ref.py").write_text("def k(to, **given):\n    return given['from'] - given['from'][0]\n")
    (directory / "k.toml").write_text(PROBLEM.replace(old, new, 1) if old else PROBLEM)
    return load_problem(directory / "k.cu")


def test_a_list_leads_to_the_parts_of_its_array_from_the_last_to_the_first(tmp_path):
    given = problem(tmp_path)
    assert placement_of(given) == Placement(lists=frozenset({0, 1}))
    assert addresses_of_parts(1000, 5 * 160, 5).tolist() == [1640, 1480, 1320, 1160, 1000]
    arguments = make_arguments(given, {}, 1)
    assert arguments[1].shape == (5, 40)
    expected = call_reference(given, arguments)["to"]
    assert np.array_equal(expected, (arguments[1] - arguments[1][-1]).astype(np.float64))
    assert not expected[-1].any()
    facts = "\n".join(argument_facts(given))
    assert "argument to: a list of batch addresses in any order, each of a float32 array of shape (n), output" in facts


@pytest.mark.parametrize(
    ("old", "new", "kernel", "message"),
    [
        ('output = true\naddresses = true\n', "output = true\n", KERNEL,
         "argument 'to' is a list of addresses in the kernel: it needs addresses = true, and a shape that begins with"),
        ("", "", KERNEL.replace("from[], ", "from, ").replace("from[b][i]", "from[i]"),
         "argument 'from' is no list of addresses in the kernel"),
        ("", "", KERNEL.replace("*const *to", "**const *to"), "is a pointer to pointers of pointers"),
        ('shape = ["batch", "n"]\nfill', 'shape = ["n"]\nfill', KERNEL,
         "argument 'from' is given as a list of addresses: it needs the shape of an array in device memory, first how"),
    ],
)  # fmt: skip
def test_what_is_no_list_of_addresses_or_is_one_unsaid_is_refused_with_its_line(tmp_path, old, new, kernel, message):
    with pytest.raises(ProblemError) as caught:
        problem(tmp_path, old, new, kernel)
    assert message in caught.value.message
    assert caught.value.line is not None


def test_a_kernel_in_opencl_is_given_no_list_of_addresses(tmp_path):
    source = "__kernel void k(__global float **to, int n) { to[0][get_global_id(0)] = n; }"
    (tmp_path / "k.cl").write_text(source)
    with pytest.raises(ProblemError, match=r"'to' .* is a pointer to pointers, and OpenCL's buffers hold no addresses"):
        scaffold(tmp_path / "k.cl", None)


HOSTS = {
    "each array is allocated": (
        "for (int b = 0; b < batch; b++) { cudaMalloc((void **)&a[b], m * k * sizeof(float));"
        " float *one; cudaMalloc(&one, m * sizeof(float)); c.push_back(one); }"
    ),
    "all arrays lie in one": (
        "float *all, *out; cudaMalloc(&all, batch * m * k * sizeof(float)); cudaMalloc(&out, batch * m * 4);"
        " for (int b = 0; b < batch; b++) { a[b] = all + b * m * k; c.push_back(out + (size_t)b * m); }"
    ),
}


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS.keys())
def test_the_arrays_of_a_list_are_drafted_as_the_host_takes_their_memory(tmp_path, host):
    source = (
        "__global__ void rows(const float *const *a, float **c, int m, int k) {"
        " const float *from = a[blockIdx.y]; int row = blockIdx.x * blockDim.x + threadIdx.x; float sum = 0;"
        " if (row < m) { for (int i = 0; i < k; ++i) sum += from[row * k + i]; c[blockIdx.y][row] = sum; } }\n"
        "void run(int batch, int m, int k) { std::vector<float *> a(batch), c; float **d_a, **d_c;"
        f" {host} cudaMalloc(&d_a, batch * sizeof(float *)); cudaMalloc(&d_c, batch * sizeof(*d_c));"
        " cudaMemcpy(d_a, a.data(), batch * sizeof(float *), cudaMemcpyHostToDevice);"
        " cudaMemcpy(d_c, c.data(), batch * sizeof(float *), cudaMemcpyHostToDevice);"
        " rows<<<dim3((m + 127) / 128, batch), 128>>>(d_a, d_c, m, k); }\n"
        "int main() { run(50, 300, 70); }"
    )
    made, text = drafted(tmp_path, source)
    a, c = made.arguments[:2]
    assert (a.shape, a.addresses, a.output) == (["batch", "m * k"], True, False)
    assert (c.shape, c.addresses, c.output, c.fill) == (["batch", "m"], True, True, None)
    assert made.sizes == {"batch": 50, "m": 300, "k": 70}
    assert text.count("addresses = true  # a list of the addresses of so many arrays") == 2


def test_without_a_host_a_list_has_as_many_addresses_as_a_size_that_is_called_so(tmp_path):
    source = KERNEL.replace("int n)", "int n, int batch_count)")
    made, _ = drafted(tmp_path, source)
    assert made.arguments[0].shape[0] == "batch_count"
    assert made.arguments[0].output
