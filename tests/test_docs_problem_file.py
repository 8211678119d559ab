"""docs/problem-file.md says what the loader does: keys, defaults, messages, examples."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import tomli
from pydantic_core import PydanticUndefined

from tests.documents import PROBLEM_FILE, ROOT, blocks
from tui_tuner.errors import ProblemError
from tui_tuner.problem import argument, model
from tui_tuner.problem.candidate import geometry
from tui_tuner.problem.expressions import evaluate
from tui_tuner.problem.load import load_problem
from tui_tuner.problem.tuning_step import TuningStep

SAMPLES = ROOT / "sample_kernels"
TABLES = {
    "[kernel]": model.Kernel,
    "[launch]": model.Launch,
    "[[arguments]]": model.Argument,
    "[search]": model.Search,
    "[work]": model.Work,
    "[[tests]]": model.Test,
    "inputs": model.InputFill,
    "[reference]": model.Reference,
    "[tolerance]": model.Tolerance,
    "[emulator]": model.Emulator,
    "[[steps]]": TuningStep,
}


def rows(table: str) -> Iterator[tuple[list[str], str, str]]:
    """Keys, default and meaning of each row in the section of a table."""
    heading, body = next(s.split("\n", 1) for s in PROBLEM_FILE.split("\n### ")[1:] if f"`{table}`" in s.split("\n")[0])
    shared = heading.count("`[") > 1
    for line in re.sub(r"\n## .*", "", body, flags=re.DOTALL).splitlines():
        if re.match(r"\| `\w", line) and (not shared or f"under `{table}`" in line):
            cells = [cell.strip() for cell in line.split("|")[1:-1]]
            yield re.findall(r"`(\w+)`", cells[0]), cells[2], cells[3]


@pytest.mark.parametrize("table", TABLES)
def test_the_document_has_a_row_for_each_key_of_a_table_and_for_no_other_with_its_default(table):
    fields = TABLES[table].model_fields
    defaults = {key: default for keys, default, _ in rows(table) for key in keys}
    assert defaults.keys() == fields.keys()
    for key, field in fields.items():
        if field.default is PydanticUndefined:
            assert defaults[key] == "needed", key
        elif field.default is None:
            assert defaults[key] not in ("", "needed"), key
        else:
            assert defaults[key] == f"`{json.dumps(field.default)}`"


def test_every_table_of_a_problem_has_its_place_among_the_keys():
    headings = " ".join(re.findall(r"^### (.*)$", PROBLEM_FILE, re.MULTILINE))
    tables = set(re.findall(r"`\[+(\w+)\]+`", headings))
    assert tables == model.Problem.model_fields.keys() - {"directory", "source_text"}


def test_every_dtype_and_every_fill_is_named_in_the_document():
    meanings = {key: meaning for keys, _, meaning in rows("[[arguments]]") for key in keys}
    assert re.findall(r'"(\w+)"', meanings["fill"]) == list(argument.ArgumentFill.__args__)
    first_and_last = {"bool", "int8", "int64", "uint8", "uint64"}
    floating = {name for name in argument.type_names.__args__ if "float" in name}
    assert set(re.findall(r"`(\w+)`", meanings["dtype"])) == first_and_last | floating | {"struct", "members"}
    assert first_and_last < set(argument.type_names.__args__)


def in_directory(directory: Path, text: str) -> Path:
    """The problem file of the document's example, with the sample's kernel and reference beside it."""
    for name in ("reduction.cu", "reduction_reference.py"):
        (directory / name).write_bytes((SAMPLES / name).read_bytes())
    file = directory / "reduction.toml"
    file.write_text(text, "utf-8")
    return file


def test_the_example_of_a_problem_file_loads_and_is_the_sample_it_names(tmp_path):
    (example,) = blocks(PROBLEM_FILE, "toml")
    load_problem(in_directory(tmp_path, example))
    assert tomli.loads(example) == tomli.loads((SAMPLES / "reduction.toml").read_text("utf-8"))


def test_the_example_of_a_tests_inputs_loads_below_the_example_of_a_problem_file(tmp_path):
    (example,) = blocks(PROBLEM_FILE, "toml")
    section = PROBLEM_FILE.split("\n### `inputs` of a test\n")[1].split("\n#")[0]
    inputs = "".join(line[4:] + "\n" for line in section.splitlines() if line.startswith("    "))
    given, test = load_problem(in_directory(tmp_path, example)), tomli.loads(inputs)["tests"][0]
    problem = load_problem(in_directory(tmp_path, f"{example}\n{inputs}"))
    assert problem.tests == [*given.tests, model.Test.model_validate(test)]
    assert problem.tests[-1].inputs.keys() == {"input", "result"}


def test_reference_and_macro_in_the_document_stand_in_the_samples_files():
    (reference,), (macro,) = blocks(PROBLEM_FILE, "python"), blocks(PROBLEM_FILE, "c")
    assert reference in (SAMPLES / "reduction_reference.py").read_text("utf-8")
    assert macro in (SAMPLES / "reduction.cu").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "reduction"', 'name = "reduce"'),
        ('"items_per_thread"]', '"item_per_thread"]'),
        ('dtype = "int32"', 'dtype = "int64"'),
        ('[[arguments]]\nname = "n"\ndtype = "int32"\nvalue = "n"\n', ""),
        ("output = true\n", ""),
        ('shape = ["n"]', 'shape = ["n / 3"]'),
        ("items_per_thread = 1\n", "items_per_thread = 3\n"),
        ("[tolerance]", '[search]\nrestrictions = ["block_size_x && items_per_thread"]\n[tolerance]'),
        ("[tolerance]", '[search]\nrestrictions = ["items_per_thread > 32"]\n[tolerance]'),
    ],
)
def test_messages_quoted_in_the_document_are_those_of_the_loader(tmp_path, old, new):
    (example,) = blocks(PROBLEM_FILE, "toml")
    with pytest.raises(ProblemError) as caught:
        load_problem(in_directory(tmp_path, example.replace(old, new, 1)))
    assert f"| `{caught.value.message}` | `{caught.value.hint}` |\n" in PROBLEM_FILE


def test_the_whole_message_in_the_document_has_the_line_of_the_example(tmp_path):
    (example,) = blocks(PROBLEM_FILE, "toml")
    with pytest.raises(ProblemError) as caught:
        load_problem(in_directory(tmp_path, example.replace("problem_size", "problem_sise")))
    said = str(caught.value).replace(f"{tmp_path}/", "")
    assert "".join(f"    {line}\n" for line in said.splitlines()) in PROBLEM_FILE


def test_every_expression_of_the_document_is_one():
    section = PROBLEM_FILE.split("\n## Expressions\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    expressions = [expression for cell in cells for expression in cell.strip("`").split("`, `")]
    assert len(expressions) > len(cells) > 0
    names = {"n": 100, "block_size_x": 64, "block_size_y": 2, "use_shared": True}
    assert [evaluate(expression, names) for expression in expressions] == [True, 25, 25, 25, 256, 2_000_000]


@pytest.mark.parametrize(
    ("divisors", "items"),
    [
        (["block_size_x", "items_per_thread"], 1),
        (["block_size_x", "items_per_thread"], 4),
        (None, 4),
        (["block_size_x * 8"], 4),
    ],
)
def test_block_counts_in_the_document_are_those_of_the_launch(divisors, items):
    launch = model.Launch(problem_size=["n"], grid_div_x=divisors)
    blocks_x = geometry(launch, {"n": 10007}, {"block_size_x": 256, "items_per_thread": items}).grid[0]
    written = "left out" if divisors is None else f"`{json.dumps(divisors)}`"
    assert re.search(rf"^\| {re.escape(written)} \| {items} \| {blocks_x}\b", PROBLEM_FILE, re.MULTILINE)
