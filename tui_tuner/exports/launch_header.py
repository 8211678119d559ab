"""A C++ header for host code: the tuned values, and grid and block of a launch as functions of the problem's sizes.

Expressions keep Python's meaning: `/` gives a fraction, `//` and `%` round down.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from tui_tuner.errors import ProblemError
from tui_tuner.problem.candidate import AXES, Candidate, block_expressions
from tui_tuner.problem.expressions import evaluate, names_in, respelt
from tui_tuner.problem.model import Configuration, Expression, Launch
from tui_tuner.report import definitions

_HELPERS = """\
namespace detail {
constexpr long long floored(double value) {
    return static_cast<long long>(value) - (value < static_cast<double>(static_cast<long long>(value)) ? 1 : 0);
}
constexpr long long ceiled(double value) { return -floored(-value); }
constexpr long long floored(long long value) { return value; }
constexpr long long ceiled(long long value) { return value; }
constexpr double divided(double dividend, double divisor) { return dividend / divisor; }
constexpr long long floor_div(long long dividend, long long divisor) {
    return dividend / divisor - (dividend % divisor != 0 && (dividend < 0) != (divisor < 0) ? 1 : 0);
}
constexpr double floor_div(double dividend, double divisor) { return static_cast<double>(floored(dividend / divisor)); }
template <class A, class B> constexpr auto modulo(A a, B b) { return a - b * floor_div(a + 0 * b, b + 0 * a); }
template <class A, class B> constexpr auto least(A a, B b) { return b < a ? b + 0 * a : a + 0 * b; }
template <class A, class B> constexpr auto largest(A a, B b) { return a < b ? b + 0 * a : a + 0 * b; }
template <class A> constexpr A absolute(A a) { return a < 0 ? -a : a; }
template <class A> constexpr A power(A base, long long exponent) {
    A result = 1;
    for (long long i = 0; i < exponent; ++i) result *= base;
    return result;
}
}  // namespace detail
"""


def launch_header(
    candidate: Candidate, configuration: Configuration, sizes: Mapping[str, int], comment: Sequence[str]
) -> str:
    """The header of one configuration.

    Args:
        sizes: the timed ones, whose names are the parameters of its functions.
        comment: lines of what was measured where.
    """
    name = f"tuned_{re.sub(r'[^0-9A-Za-z]+', '_', candidate.kernel).strip('_')}"
    return "\n".join(
        [
            *(f"// {line}".rstrip() for line in comment),
            "#pragma once",
            "",
            "// what the kernel was built with, each still open to a definition on the command line",
            definitions(configuration),
            f"namespace {name} {{",
            _HELPERS,
            *_functions(candidate, configuration, sizes),
            *_dimensions(sizes),
            f"}}  // namespace {name}",
            "",
        ]
    )


def _functions(candidate: Candidate, configuration: Configuration, sizes: Mapping[str, int]) -> Iterator[str]:
    launch, of = candidate.launch, _Functions(configuration, sizes)
    blocks = block_expressions(launch, configuration)
    yield "// threads of a block"
    yield from (of.function(f"block_{axis}", part) for axis, part in zip(AXES, [*blocks, 1, 1], strict=False))
    yield "// blocks of the grid"
    for axis, divisors in zip(AXES, (launch.grid_div_x, launch.grid_div_y, launch.grid_div_z), strict=True):
        yield of.function(f"grid_{axis}", _grid(launch, AXES.index(axis), divisors, [*blocks, 1, 1]))
    yield "// bytes of dynamic shared memory"
    yield of.function("shared_bytes", launch.shared_memory)


def _dimensions(sizes: Mapping[str, int]) -> Iterator[str]:
    """Grid and block as a launch of CUDA or HIP takes them."""
    parameters = ", ".join(f"long long {name} = {value}" for name, value in sizes.items())
    yield "#if defined(__CUDACC__) || defined(__HIPCC__)"
    for what in ("grid", "block"):
        axes = ", ".join(f"{what}_{axis}({', '.join(sizes)})" for axis in AXES)
        yield f"inline dim3 {what}({parameters}) {{ return dim3({axes}); }}"
    yield "#endif"


def _grid(launch: Launch, axis: int, divisors: Sequence[Expression] | None, block: Sequence[Expression]) -> Expression:
    if launch.grid is not None:
        return launch.grid[axis] if axis < len(launch.grid) else 1
    if axis >= len(launch.problem_size):
        return 1
    divisor = " * ".join(f"({part})" for part in ([block[axis]] if divisors is None else divisors))
    return f"ceil_div({launch.problem_size[axis]}, {divisor or 1})"


class _Functions:
    """Expressions as functions of the sizes, the tunables at their tuned values."""

    def __init__(self, configuration: Configuration, sizes: Mapping[str, int]) -> None:
        self._configuration = configuration
        self._parameters = ", ".join(f"[[maybe_unused]] long long {name} = {value}" for name, value in sizes.items())
        self._sizes = sizes

    def function(self, name: str, expression: Expression) -> str:
        """One function.

        Raises:
            ProblemError: C++ has no words for its expression.
        """
        body = str(expression) if isinstance(expression, int) else self._translated(respelt(expression))
        return f"constexpr unsigned {name}({self._parameters}) {{ return static_cast<unsigned>({body}); }}"

    def _translated(self, text: str) -> str:
        return self._of(ast.parse(text, mode="eval").body)

    def _of(self, node: ast.expr) -> str:
        text = ast.unparse(node)
        if not names_in(text) & self._sizes.keys() and not isinstance(node, ast.Constant):
            return _literal(evaluate(text, self._configuration))
        match node:
            case ast.Constant(value=value):
                return _literal(value)
            case ast.Name():
                return node.id
            case ast.BinOp():
                return self._binary(node)
            case ast.UnaryOp():
                return f"({_UNARY[type(node.op)]}{self._of(node.operand)})"
            case ast.IfExp():
                return f"({self._of(node.test)} ? {self._of(node.body)} : {self._of(node.orelse)})"
            case ast.Compare():
                return self._comparison(node)
        return self._joined(node)

    def _joined(self, node: ast.expr) -> str:
        if not isinstance(node, ast.BoolOp):
            return self._call(node)
        sign = " && " if isinstance(node.op, ast.And) else " || "
        return f"({sign.join(map(self._of, node.values))})"

    def _binary(self, node: ast.BinOp) -> str:
        left, right = self._of(node.left), self._of(node.right)
        if isinstance(node.op, ast.Pow) and not right.endswith("LL"):
            raise ProblemError(f"a power that is not whole cannot be said in C++: {ast.unparse(node)}")
        return _BINARY[type(node.op)].format(left, right)

    def _comparison(self, node: ast.Compare) -> str:
        if isinstance(node.ops[0], ast.In | ast.NotIn) and isinstance(node.comparators[0], ast.Tuple | ast.List):
            among = " || ".join(f"{self._of(node.left)} == {self._of(one)}" for one in node.comparators[0].elts)
            return f"({'' if isinstance(node.ops[0], ast.In) else '!'}({among}))"
        sides = [self._of(side) for side in (node.left, *node.comparators)]
        links = [f"{a} {_ORDER[type(o)]} {b}" for a, o, b in zip(sides, node.ops, sides[1:], strict=False)]
        return f"({' && '.join(links)})"

    def _call(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ProblemError(f"this cannot be said in C++: {ast.unparse(node)}")
        words = _CALLS[node.func.id]
        first, *others = map(self._of, node.args)
        for other in others:
            first = words.format(first, other)
        return first if others else words.format(first)


_CALLS = {
    "min": "detail::least({0}, {1})",
    "max": "detail::largest({0}, {1})",
    "abs": "detail::absolute({0})",
    "ceil": "detail::ceiled({0})",
    "ceil_div": "(-detail::floor_div(-({0}), {1}))",
}
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "({} + {})",
    ast.Sub: "({} - {})",
    ast.Mult: "({} * {})",
    ast.Div: "detail::divided({}, {})",
    ast.FloorDiv: "detail::floor_div({}, {})",
    ast.Mod: "detail::modulo({}, {})",
    ast.Pow: "detail::power({}, {})",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.Not: "!", ast.USub: "-", ast.UAdd: "+"}
_ORDER: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def _literal(value: object) -> str:
    """A number in C++, whole ones as long long.

    Raises:
        ProblemError: it is none.
    """
    if isinstance(value, int | float):
        return repr(value) if isinstance(value, float) else f"{int(value)}LL"
    raise ProblemError(f"a text is no number: {value}")
