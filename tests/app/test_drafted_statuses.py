"""Outputs that hold one value at the inputs of a draft, beside others that depend on them, as a status of each part."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tui_tuner.app.assumptions import assumptions
from tui_tuner.app.drafting import confirmed
from tui_tuner.app.named import problem_of
from tui_tuner.errors import ProblemError
from tui_tuner.problem.load import Written, problem_in_text
from tui_tuner.session_options import SessionOptions
from tui_tuner.settings import Settings

ROOTS = """\
__global__ void roots(const float *a, float *root, int *info, int batch)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch) return;
    CLEAR
    if (a[4 * i] == 1e30f) info[i] = 1;
    for (int j = 0; j < 4; j++) root[4 * i + j] = a[4 * i + j] * a[4 * i + j] - 1.0f;
}
int main()
{
    int batch = 5000;
    float *a, *root;
    int *info;
    cudaMalloc(&a, 4 * batch * sizeof(float));
    cudaMalloc(&root, 4 * batch * sizeof(float));
    cudaMalloc(&info, batch * sizeof(int));
    cudaMemset(info, 0, batch * sizeof(int));
    roots<<<(batch + 127) / 128, 128>>>(a, root, info, batch);
}
"""


def held(file: Path, source: str) -> Written:
    file.write_text(source)
    return asyncio.run(confirmed(problem_of(file), SessionOptions(device="emulator"), Settings()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clear", "line", "is_output", "said"),
    [
        ("info[i] = 0;", "one_value = true  # at these inputs, as a status does: check", True, "it holds one value"),
        ("", 'name = "info"', False, "nothing is written there, so it is to stay as it was"),
    ],
)
def test_a_status_beside_an_output_does_not_end_a_draft(
    tmp_path: Path, clear: str, line: str, is_output: bool, said: str
) -> None:
    written = held(tmp_path / "roots.cu", ROOTS.replace("CLEAR", clear))
    outputs = {one.name: one.output for one in written.problem.arguments if one.shape}
    assert outputs == {"a": False, "root": True, "info": is_output}
    assert line in written.text
    assert any(said in told and told.endswith(": info") for told in assumptions(written))


@pytest.mark.slow
def test_an_output_that_holds_one_value_and_is_no_status_ends_a_draft(tmp_path: Path) -> None:
    constant = ROOTS.replace("CLEAR", "info[i] = 0;").replace("a[4 * i + j] * a[4 * i + j] - 1.0f", "3.0f")
    with pytest.raises(ProblemError, match="would pass the check of 'root'"):
        held(tmp_path / "roots.cu", constant)


SEARCH = """\
__global__ void spread(bool *front, bool *next, bool *seen, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && next[i]) {
        front[i] = true;
        seen[i] = true;
        next[i] = false;
    }
}
int main()
{
    int n = 5000;
    bool *front, *next, *seen;
    cudaMalloc(&front, n);
    cudaMalloc(&next, n);
    cudaMalloc(&seen, n);
    spread<<<(n + 127) / 128, 128>>>(front, next, seen, n);
}
"""


@pytest.mark.slow
def test_flags_of_every_element_that_are_cleared_do_not_end_a_draft(tmp_path: Path) -> None:
    problem = held(tmp_path / "spread.cu", SEARCH).problem
    assert {one.name: one.one_value for one in problem.arguments if one.output} == {
        "front": False,
        "next": True,
        "seen": False,
    }
    computed = SEARCH.replace("next[i] = false;", "next[i] = false;\n        if (n < 0) next[i] = seen[i] && i % 2;")
    with pytest.raises(ProblemError, match="would pass the check of 'next'"):  # it may hold what is computed
        held(tmp_path / "computed.cu", computed)
    lone = SEARCH.replace("front[i] = true;", "").replace("seen[i] = true;", "")
    with pytest.raises(ProblemError, match="would pass the check of 'next'"):
        held(tmp_path / "lone.cu", lone)


@pytest.mark.slow
def test_an_output_of_every_problem_depends_on_the_inputs(tmp_path: Path) -> None:
    written = held(tmp_path / "roots.cu", ROOTS.replace("CLEAR", "info[i] = 0;"))
    every = written.text.replace("output = true  # the text writes it\n\n", "output = true\none_value = true\n\n")
    with pytest.raises(ProblemError, match="every output may hold one value"):
        problem_in_text(every, written.file)
    no_output = written.text.replace("output = true  # the text writes it\none_value", "one_value")
    with pytest.raises(ProblemError, match="'info' is no output, of which alone one_value is said"):
        problem_in_text(no_output, written.file)


@pytest.mark.slow
def test_products_that_leave_the_range_of_whole_numbers_are_drafted_with_smaller_factors(tmp_path):
    written = held(
        tmp_path / "k.cu",
        "__global__ void k(const signed char *a, const signed char *b, signed char *to, int n, float by) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; int sum = 0;"
        " for (int j = 0; j < 256; j++) sum += a[(i + j) % n] * b[(i * 7 + j) % n];"
        " to[i] = (signed char)max(-128, min(127, (int)roundf(sum * by))); }\n",
    )
    arguments = {one.name: one for one in written.problem.arguments}
    assert arguments["by"].value == 0.001
    assert (arguments["a"].fill, arguments["a"].low) == ("integers", -100)
    assert "a guess, for outputs held one value where none was negative" in written.text
