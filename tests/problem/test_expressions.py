from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_tuner.problem.expressions import ExpressionError, check_expression, conjuncts, evaluate, names_in, respelt

NAMES = {"n": 512, "block_size_x": 32, "use_shmem": True, "layout": "row", "scale": 0.5}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2 * n**3", 2 * 512**3),
        ("ceil_div(n, 100)", 6),
        ("ceil(n / 100)", 6),
        ("n // 100 + n % 100", 17),
        ("min(n, 7, 9) + max(1, 2) - abs(-3)", 6),
        ("16 <= block_size_x < 64 and not n % block_size_x", True),
        ("block_size_x in (16, 32) and layout == 'row'", True),
        ("layout not in ['row', 'column']", False),
        ("n if use_shmem else 1", 512),
        ("layout", "row"),
        ("-n + +1", -511),
        ("scale * 4", 2.0),
        (" n ", 512),
        (7, 7),
        (2.5, 2.5),
    ],
)
def test_an_allowed_expression_has_pythons_value(expression, value):
    assert evaluate(expression, NAMES) == value


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("__import__('os').system('id')", "not allowed"),
        ("n.bit_length()", "not allowed"),
        ("(lambda: n)()", "not allowed"),
        ("[i for i in (1, 2)]", "not allowed"),
        ("n[0]", "a subscript"),
        ("f'{n}'", "not allowed"),
        ("(m := 3)", "not allowed"),
        ("'row'", "constant 'row'"),
        ("'row' * 1000000", "not allowed"),
        ("layout + 1", "not a number"),
        ("layout < 'z'", "not a number"),
        ("n << 2", "'<<' is not allowed"),
        ("None", "not allowed"),
        ("1j", "not allowed"),
        ("n is 3", "Is is not allowed"),
        ("n in block_size_x", "needs a list"),
        ("min(n, *(1, 2))", "not allowed"),
        ("min(n)", "does not take"),
        ("max(1, 2, key=abs)", "does not take"),
        ("2 ** 999999", "exponent beyond"),
        ("9 ** 60", "63 bits"),
        ("9223372036854775807 + 1", "63 bits"),
        ("1e308 * 10", "not finite"),
        ("10.0 ** 60 ** 2", "exponent beyond"),
        ("(-8) ** 0.5", "root of a negative"),
        ("n / 0", "division by zero"),
        ("n % (n - 512)", "division by zero"),
        ("0 ** -1", "division by zero"),
        ("ceil_div(1, 0)", "division by zero"),
        ("n && use_shmem", "write 'and' for '&&'"),
        ("", "not an expression"),
        ("n\0", "not an expression"),
        ("\ud800", "not an expression"),
        ("(" * 400, "not an expression"),
        ("-" * 450 + "1", "nested 20 deep"),
        ("+".join("1" * 60), "too large"),
        ("1" * 501, "at most 500"),
    ],
)
def test_what_is_not_allowed_or_has_no_value_is_refused_with_the_reason(expression, reason):
    with pytest.raises(ExpressionError, match=reason):
        evaluate(expression, NAMES)


def test_an_unknown_name_is_told_with_the_nearest_known_one():
    with pytest.raises(ExpressionError, match=r"unknown name 'blok_size_x'.*did you mean 'block_size_x'\?"):
        check_expression("blok_size_x > 1", NAMES)
    with pytest.raises(ExpressionError, match=r"did you mean 'block_size_x'\?"):
        evaluate("blok_size_x > 1", NAMES)


def test_a_name_that_is_never_reached_is_still_checked():
    with pytest.raises(ExpressionError, match="unknown name 'missing'"):
        check_expression("n > 0 or missing", NAMES)


def test_names_are_found_but_functions_are_not_names():
    assert names_in("max(a, b * 2) if c else 1") == {"a", "b", "c"}
    assert names_in(4) == frozenset()


def test_a_conjunction_is_split_into_its_parts():
    assert conjuncts("a > 1 and (b or c) and a % 2 == 0") == ("a > 1", "b or c", "a % 2 == 0")
    assert conjuncts("a > 1 or b") == ("a > 1 or b",)
    assert conjuncts("(a and b) and (c and (d or e))") == ("a", "b", "c", "d or e")


def test_an_expression_is_respelt_with_other_names_but_the_same_functions_and_texts():
    assert respelt(" (a>1)or max(a,b) == 2") == "a > 1 or max(a, b) == 2"
    assert respelt("max(a, b) > 1 or c == 'a'", {"a": "b", "b": "a", "max": "min"}) == "max(b, a) > 1 or c == 'a'"
    with pytest.raises(ExpressionError, match="not allowed"):
        respelt("a.b", {"a": "c"})


@given(st.text(max_size=600) | st.text(alphabet="n()+-*/%<>=!.,'\"[]{}:lambdifornt 0123456789e", max_size=200))
def test_no_text_raises_anything_but_an_expression_error(text):
    try:
        value = evaluate(text, {"n": 3})
    except ExpressionError:
        return
    assert isinstance(value, bool | int | float | str)


OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "/": operator.truediv,
    "<": operator.lt,
    "==": operator.eq,
}


def _combine(children):
    def combined(left, sign, right):
        text = f"({left[0]} {sign} {right[0]})"
        try:
            value = None if None in (left[1], right[1]) else OPERATORS[sign](left[1], right[1])
        except ZeroDivisionError:
            value = None
        too_large = isinstance(value, int) and abs(value) >= 2**63
        return text, None if too_large else value

    return st.builds(combined, children, st.sampled_from(list(OPERATORS)), children)


LEAVES = st.integers(0, 1000).map(lambda i: (str(i), i)) | st.sampled_from([("n", 7), ("x", 0.25), ("f", True)])


@given(st.recursive(LEAVES, _combine, max_leaves=12))
def test_generated_arithmetic_agrees_with_python(tree):
    text, expected = tree
    names = {"n": 7, "x": 0.25, "f": True}
    if expected is None:
        with pytest.raises(ExpressionError):
            evaluate(text, names)
        return
    assert evaluate(text, names) == expected
