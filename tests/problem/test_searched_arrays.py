"""Arrays that a kernel searches by halves: they are drafted in order."""

import pytest

from tests.problem.examples import drafted

SOURCE = """\
__global__ void find(const float *sorted, const float *wanted, int *at, int n, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int low = 0, high = n;
    while (low < high) {
        int mid = MIDDLE;
        if (sorted[mid] < wanted[i]) low = mid + 1; else high = mid;
    }
    at[i] = low;
}
int main()
{
    int n = 5000, count = 6000, *at;
    float *sorted, *wanted;
    cudaMalloc(&sorted, n * 4);
    cudaMalloc(&wanted, count * 4);
    cudaMalloc(&at, count * 4);
    find<<<(count + 127) / 128, 128>>>(sorted, wanted, at, n, count);
}
"""


@pytest.mark.parametrize("middle", ["(low + high) / 2", "low + (high - low) / 2", "(low + high) >> 1"])
def test_what_is_searched_by_halves_rises_and_what_is_sought_is_within_it(tmp_path, middle):
    problem, text = drafted(tmp_path, SOURCE.replace("MIDDLE", middle))
    assert [(one.fill, one.high) for one in problem.arguments[:2]] == [("arange", None), ("uniform", "n")]
    assert "for the kernel searches it by halves: check" in text


def test_what_is_sought_may_have_a_name_and_is_whole_where_the_array_is(tmp_path):
    source = SOURCE.replace("float", "int").replace("int low", "const int value = wanted[i]; int low")
    problem, _ = drafted(tmp_path, source.replace("< wanted[i]", "< value").replace("MIDDLE", "(low + high) / 2"))
    assert [(one.fill, one.high) for one in problem.arguments[:2]] == [("arange", None), ("integers", "n")]


@pytest.mark.parametrize("middle", ["(low + high) / 3", "high / 2", "low + 1"])
def test_what_is_read_elsewhere_may_be_in_any_order(tmp_path, middle):
    problem, _ = drafted(tmp_path, SOURCE.replace("MIDDLE", middle))
    assert [one.fill for one in problem.arguments[:2]] == [None, None]
