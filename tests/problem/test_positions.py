from __future__ import annotations

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from tui_tuner.problem.toml_file import key_lines, line_of

TEXT = '''\
# [not.a.table]
top.dotted."quoted.key" = 1  # key = 2
long = """
[inside]  a = "\\""" ' }
"""
[kernel]  # [x]
name = "a[1]{,#"  # name = 2
values = [  # a comment ]
  1, 2.5,
  "x]", [3,
  4],
]
literal = \'\'\'it's
[[arguments]]\'\'\'
[[arguments]]
name = 'A#'
[[arguments]]
  [arguments.sub]
  q = { n = 3, 'k l' = [1, { deep = true }], date = 1979-05-27T07:32:00 }
[[arguments.list]]
z = -1
[[arguments.list]]
z = +1_000'''


def test_every_key_table_and_element_has_the_line_it_stands_on():
    lines = key_lines(TEXT)
    assert tomli.loads(TEXT)
    expected = {
        ("top", "dotted", "quoted.key"): 2,
        ("long",): 3,
        ("kernel",): 6,
        ("kernel", "name"): 7,
        ("kernel", "values", 0): 9,
        ("kernel", "values", 2): 10,
        ("kernel", "values", 3, 0): 10,
        ("kernel", "values", 3, 1): 11,
        ("kernel", "literal"): 13,
        ("arguments",): 15,
        ("arguments", 0, "name"): 16,
        ("arguments", 1): 17,
        ("arguments", 1, "sub", "q", "n"): 19,
        ("arguments", 1, "sub", "q", "k l", 1, "deep"): 19,
        ("arguments", 1, "list", 1): 22,
        ("arguments", 1, "list", 1, "z"): 23,
    }
    assert {path: lines[path] for path in expected} == expected
    assert ("inside",) not in lines
    assert ("not",) not in lines


def test_a_path_that_is_not_written_has_the_line_of_the_table_around_it():
    lines = key_lines(TEXT)
    assert line_of(lines, ("arguments", 1, "missing", "str")) == 17
    assert line_of(lines, ("nowhere",)) is None


KEYS = st.text(alphabet="abc-_ .#[]=", min_size=1, max_size=5)
VALUES = st.recursive(
    st.integers() | st.booleans() | st.text(alphabet="ab'#[]{}=,", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def _inline(value):
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case list():
            return "[" + ", ".join(map(_inline, value)) + "]"
        case dict():
            return "{" + ", ".join(f'"{key}" = {_inline(inner)}' for key, inner in value.items()) + "}"
    return str(value)


def _paths(value, path=()):
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _paths(inner, (*path, key))


@pytest.mark.slow
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_exactly_the_paths_that_the_parser_reads_are_found(tables):
    text = "\n".join(f'"{key}" = {_inline(value)}' for key, value in tables.items())
    assert set(key_lines(text)) == set(_paths(tomli.loads(text)))
