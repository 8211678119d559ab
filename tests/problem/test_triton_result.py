"""The file that a rewritten Triton kernel is given out as."""

from __future__ import annotations

import ast

import pytest

from tests.problem.test_triton_source import FILE, WITH_HELPER
from tui_tuner.problem.triton import in_place
from tui_tuner.problem.triton.result import TunedKernel, with_result

REWRITTEN = in_place(FILE, WITH_HELPER, "scale", FILE)
LINE = "triton.Config({'BLOCK': 512, 'UNROLL': 2}, num_warps=8)"
BEST = {"BLOCK": 512, "UNROLL": 2, "num_warps": 8}
PLAIN = FILE[: FILE.index("@triton.autotune")] + FILE[FILE.index("@triton.jit\ndef scale") :]


def tuned(*grid: str) -> TunedKernel:
    return TunedKernel("scale", LINE, dict(BEST), list(grid) or None, ["BLOCK"], ["y", "x", "n", "BLOCK"])


def launch_in(text: str) -> str:
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    (call,) = [node for node in calls if isinstance(node.func, ast.Subscript)]
    return ast.unparse(call)


def test_what_was_measured_stands_at_the_kernel_with_one_configuration_in_place_of_a_list():
    told = with_result(REWRITTEN, tuned(), ["Tuned.", "Twice as fast."])

    assert f"# Tuned.\n# Twice as fast.\n@triton.autotune(configs=[{LINE}], key=[])\n@triton.jit\n" in told
    assert told.count("triton.Config(") == 1
    assert launch_in(told) == launch_in(FILE)


def test_launches_get_the_grid_of_the_rewritten_kernel():
    told = with_result(REWRITTEN, tuned("min(x_0, 2 * ceil_div(n, BLOCK * UNROLL))", "num_warps"), [])

    grid = "lambda meta: (min(meta['x'].shape[0], 2 * triton.cdiv(meta['n'], meta['BLOCK'] * meta['UNROLL'])), 8)"
    assert launch_in(told) == f"scale[{grid}](y, x, x.numel())"


def test_a_launch_of_a_kernel_that_torch_wraps_is_one():
    source = PLAIN.replace("    scale[lambda", "    torch.library.wrap_triton(scale)[lambda")
    told = with_result(in_place(source, WITH_HELPER, "scale", source), tuned("n"), [])
    launch = (
        "torch.library.wrap_triton(scale)[lambda meta: (meta['n'],)](y, x, x.numel(), BLOCK=512, UNROLL=2, num_warps=8)"
    )
    assert launch_in(told) == launch


def test_tunables_that_a_launch_gives_become_those_that_were_best():
    source = PLAIN.replace("(y, x, x.numel())", "(y, x,  # two arrays\n      n=x.numel(), BLOCK=64, num_warps=4)")
    told = with_result(in_place(source, WITH_HELPER, "scale", source), tuned(), [])
    assert launch_in(told).endswith("](y, x, n=x.numel(), BLOCK=512, UNROLL=2, num_warps=8)")


@pytest.mark.parametrize("given", ["y, x, x.numel(), 64", "*both, x.numel()", "y, x, x.numel(), BLOCK=64, **others"])
def test_tunables_that_a_launch_gives_by_their_place_are_given_by_name(given):
    source = PLAIN.replace("(y, x, x.numel())", f"({given})")
    told = with_result(in_place(source, WITH_HELPER, "scale", source), tuned(), [])
    kept = given.replace(", 64", "").replace(", BLOCK=64", "")
    assert launch_in(told).endswith(f"]({kept}, BLOCK=512, UNROLL=2, num_warps=8)")


def test_arguments_behind_a_tunable_are_given_by_name():
    source = PLAIN.replace("n, BLOCK: tl.constexpr):", "BLOCK: tl.constexpr, n):").replace(
        "x.numel())\n", "64, x.numel())\n"
    )
    kernel = TunedKernel("scale", LINE, dict(BEST), None, ["BLOCK"], ["y", "x", "BLOCK", "n"])
    told = with_result(in_place(source, WITH_HELPER, "scale", source), kernel, [])
    assert launch_in(told).endswith("](y, x, n=x.numel(), BLOCK=512, UNROLL=2, num_warps=8)")


def test_arguments_of_which_nobody_knows_how_many_they_are_stay_where_none_is_a_tunable():
    source = PLAIN.replace(", BLOCK: tl.constexpr):", "):").replace("(y, x, x.numel())", "(*all_of_them)")
    kernel = TunedKernel("scale", LINE, dict(BEST), None, ["num_warps"], ["y", "x", "n"])
    told = with_result(in_place(source, WITH_HELPER, "scale", source), kernel, [])
    assert launch_in(told).endswith("](*all_of_them, BLOCK=512, UNROLL=2, num_warps=8)")


def test_long_calls_have_a_line_for_each_argument():
    source = PLAIN.replace("x.numel())\n    return", f"{'+'.join(['x.numel()'] * 12)}, BLOCK=64)\n    return")
    told = with_result(in_place(source, WITH_HELPER, "scale", source), tuned(), [])
    assert "\n        BLOCK=512,\n        UNROLL=2,\n        num_warps=8,\n    )\n    return y" in told


@pytest.mark.parametrize(
    ("source", "grid"),
    [
        (PLAIN.replace("(y, x, x.numel())", "(y, x, x.numel(), 64, 4)"), ["n"]),
        (PLAIN, ["ceil(n / BLOCK)"]),
        (PLAIN.replace("import triton\n", "from triton import cdiv, jit\n").replace("@triton.jit", "@jit"), ["n"]),
    ],
)
def test_a_launch_that_cannot_be_made_fit_stays_as_it_is(source, grid):
    told = with_result(in_place(source, WITH_HELPER, "scale", source), tuned(*grid), ["Launch it otherwise."])
    assert launch_in(told) == launch_in(source)
    assert "# Launch it otherwise.\n" in told
