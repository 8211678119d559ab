"""The user documents say what the program does: commands, options, links; settings, keys and models."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import reduce
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import chain
from pathlib import Path

import pytest
import tomli
from pydantic import BaseModel

from docs.make_reference import PAGES
from tests.documents import DEVICES, DOCUMENTS, ROOT, TUTORIAL, blocks, code, command_lines
from tui_tuner.cli import COMMANDS, CommandLine, main
from tui_tuner.evaluate.devices.cuda.backends import BACKENDS
from tui_tuner.journal.reading import header_of
from tui_tuner.llm import Message, Request
from tui_tuner.llm.choose import SPECS
from tui_tuner.llm.prices import worst_cost
from tui_tuner.settings import Settings, load_settings, settings_text
from tui_tuner.strategies.choose import STRATEGIES, strategy_named
from tui_tuner.subjects import subjects_with_settings
from tui_tuner.tui.keys import APP_BINDINGS, SCREEN_BINDINGS, START_BINDINGS, checked_keymap
from tui_tuner.tui.themes import load_theme

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)


def settings_example() -> str:
    return next(block for block in blocks(DEVICES, "toml") if block.startswith("[session]"))


def sections(settings: BaseModel, above: str = "") -> Iterator[tuple[str, BaseModel]]:
    """The tables whose keys are always the same, with those in them: those of strategies are the strategies' own."""
    subjects = (
        {name: settings.table(name) for name in subjects_with_settings()} if isinstance(settings, Settings) else {}
    )
    for name, section in {**dict(iter(settings)), **subjects}.items():
        if isinstance(section, BaseModel):
            yield f"{above}{name}", section
            yield from sections(section, f"{above}{name}.")


def table(name: str) -> dict[str, object]:
    """A table of the example by its dotted name."""
    return reduce(lambda tables, key: tables[key], name.split("."), tomli.loads(settings_example()))


def test_the_example_of_the_settings_loads_and_sets_every_key_that_config_prints(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(settings_example(), "utf-8")
    settings = load_settings(file)
    assert tomli.loads(settings_text(settings)) == tomli.loads(settings_example())
    for section, value in sections(settings):
        assert table(section).keys() == type(value).model_fields.keys()


def test_the_example_of_the_settings_sets_every_option_of_every_strategy():
    example = tomli.loads(settings_example())["strategies"]
    with_options = {name: strategy for name, strategy in STRATEGIES.items() if strategy.model_fields}
    assert example.keys() == with_options.keys()
    for name, strategy in with_options.items():
        assert example[name].keys() == strategy.model_fields.keys()
        assert strategy_named(name, example[name]) != strategy()


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_options_of_each_strategy_stand_in_its_table_with_their_defaults(name):
    told = (ROOT / "docs/strategies.md").read_text("utf-8").split(f"\n## {name}\n")[1].partition("\n## ")[0]
    rows = dict(
        re.findall(r"^\| `(\w+)` \| ([^|]+) \|", told.partition("| option |")[2].partition("\n\n")[0], re.MULTILINE)
    )
    defaults = STRATEGIES[name]().model_dump(mode="json")
    assert rows.keys() == defaults.keys()
    for option, value in defaults.items():
        assert value is None or tomli.loads(f"value = {rows[option].strip('`')}")["value"] == value, option


def test_the_example_of_the_settings_tells_the_default_of_every_key():
    for section, default in sections(Settings()):
        body = settings_example().split(f"[{section}]", 1)[1]
        for key, value in ((key, value) for key, value in default if not isinstance(value, BaseModel)):
            told = r"not set: \S" if value is None else rf"default {re.escape(json.dumps(value))}(;|$)"
            line = next(line for line in body.splitlines() if re.match(rf"{key} =|\[{section}\.{key}\]", line))
            assert re.search(f"# {told}", line), line


def test_the_example_of_the_settings_names_keys_that_can_be_used():
    keys = tomli.loads(settings_example())["screen"]["keys"]
    assert checked_keymap(keys) == keys


def test_the_example_of_a_theme_loads(tmp_path):
    (example,) = (block for block in blocks(DEVICES, "toml") if "primary" in block)
    file = tmp_path / "mine.toml"
    file.write_text(example, "utf-8")
    assert load_theme(file).name == "mine"


@pytest.mark.parametrize("binding", [*APP_BINDINGS, *SCREEN_BINDINGS], ids=lambda binding: binding.id)
def test_every_key_of_the_screen_has_its_row(binding):
    keys = ", ".join(f"`{key}`" for key in binding.key.split(","))
    assert f"\n| `{binding.id}` | {keys} | {binding.tooltip} |\n" in DEVICES


def test_no_row_of_the_keys_names_a_binding_that_does_not_exist():
    named = re.findall(r"^\| `(\w+)` \|", DEVICES.split("\n## Keys\n")[1], re.MULTILINE)
    assert named == [binding.id for binding in [*APP_BINDINGS, *SCREEN_BINDINGS, *START_BINDINGS]]


def test_every_model_provider_and_every_cuda_backend_is_named():
    for provider in (re.split(r"\W", spec)[0] for spec in SPECS):
        assert re.search(rf"^\| `{provider}[:`]", DEVICES, re.MULTILINE), provider
    assert ", ".join(f"`{name}`" for name in BACKENDS) in DEVICES


def test_the_worst_cost_in_the_document_is_what_the_price_list_gives():
    request = Request("one_prompt", (Message("user", "x" * 18_000),), max_tokens=Settings().model.max_tokens)
    cost = worst_cost("anthropic:claude-sonnet-5-5", request)
    assert f"counts as {cost:.2f} $ for `claude-sonnet-5-5`" in " ".join(DEVICES.split())


class Echo(BaseHTTPRequestHandler):
    """Answers like a Chat Completions server, with what it was asked."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"choices": [{"message": asked["messages"][0]}]}).encode())

    def log_message(self, *_: object) -> None:
        pass


def test_the_example_of_a_model_program_passes_prompt_and_reply_on():
    (script,) = blocks(DEVICES, "python")
    with HTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        here = script.replace(":8080", f":{server.server_port}")
        done = subprocess.run(
            [sys.executable, "-c", here], check=False, input="say this", capture_output=True, text=True, timeout=200
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "say this\n", "")


@pytest.mark.parametrize("page", PAGES)
def test_a_generated_page_is_what_its_script_writes_today(page):
    assert (ROOT / "docs" / page).read_text("utf-8") == PAGES[page](), "write it with: python -m docs.make_reference"


@each_document
def test_relative_links_lead_to_files(document):
    links = re.findall(r"\]\(([^)\s#]+)[^)]*\)", document.read_text("utf-8"))
    files = [document.parent / link for link in links if not re.match(r"\w+:", link)]
    missing = [str(file) for file in files if not file.exists()]
    assert missing == []


NAMED = re.compile(r"`((?:tui_tuner|tests|benchmarks|docs|sample_kernels|themes|\.ci)/[\w./*-]+)(?:::\w+)?`")


@each_document
def test_files_of_the_program_that_a_document_names_are_there(document):
    named = NAMED.findall(document.read_text("utf-8"))
    assert [path for path in named if not any(ROOT.glob(path.rstrip("/")))] == []


@pytest.fixture
def options(capsys) -> dict[str, set[str]]:
    """The options of each command as its help names them; those of a tuning under the empty name."""
    known = {}
    for command in ("", *COMMANDS.split(", ")):
        with pytest.raises(SystemExit, match="0"):
            main([*command.split(), "--help"])
        text = capsys.readouterr().out
        assert text.startswith(f"usage: tuner-tui {command}".strip())
        known[command] = set(re.findall(r"--[a-z][a-z-]*", text))
    return known


@each_document
def test_commands_and_options_in_a_document_exist(document, options):
    for piece in code(document.read_text("utf-8")):
        called = re.search(r"(?:^|(?<!keyring set)\s)tuner-tui(?: (.*))?$", piece)
        first, *_ = ((called[1] if called else None) or "").split() or [""]
        command = first if re.fullmatch(r"[a-z]+(?:-[a-z]+)*", first) else ""
        assert command in options, piece
        known = options[command] if called else set().union(*options.values())
        if called or piece.startswith("--"):
            assert set(re.findall(r"(?<!\S)--[a-z][a-z-]*", piece)) <= known, piece


@each_document
def test_every_command_line_of_a_document_is_one(document):
    for words in command_lines(document.read_text("utf-8")):
        CommandLine().parse(words)


RUN_HERE = ("best", "replay", "export-dataset", "config", "schema", "help", "strategy", "memory")
"""Commands that need neither device nor model; the others are run by tests of their own, with other values."""


def test_the_command_lines_that_need_neither_device_nor_model_run(tmp_path, monkeypatch, capsys):
    kept = ROOT / "sample_kernels/recorded/one_prompt-matmul"
    for run in ("RUN", "A", "B", "first"):
        shutil.copytree(kept, tmp_path / "tuner-runs" / run)
    shutil.copytree(kept, tmp_path / "RUN")
    header = header_of(kept)
    (tmp_path / "config.toml").touch()
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/sum.cu").touch()
    for shipped in ("tensile", "recorded/one_prompt-histogram_kernel"):
        shutil.copytree(ROOT / "sample_kernels" / shipped, tmp_path / "sample_kernels" / shipped)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TUNER_TUI_CONFIG", str(tmp_path / "config.toml"))
    ran: dict[tuple[str, ...], None] = {}
    documents = [
        document for document in DOCUMENTS if document != TUTORIAL
    ]  # whose commands a test runs in their order
    for words in (w for one in documents for w in command_lines(one.read_text("utf-8")) if w and w[0] in RUN_HERE):
        if tuple(words) in ran:
            continue
        more = ["--auto"] if words[0] == "replay" and "--speed" not in words else []
        if words[-2:-1] == ["--at"] or words[:3] == ["memory", "forget", "3"]:
            continue  # plays for minutes; forgets what nobody remembers here
        (tmp_path / "matmul.cu").write_text(header["source"])  # `best --apply` changes both
        (tmp_path / "matmul.toml").write_text(header["problem"])
        try:
            shell = [[str(path) for path in Path().glob(word)] if "*" in word else [word] for word in words]
            code = main([*chain(*shell), *more])
        except SystemExit as exit_:
            code = exit_.code
        assert code in (0, 3, None), (words, capsys.readouterr().err)
        ran[tuple(words)] = None
    assert {command for command, *_ in ran} == {*RUN_HERE}


def test_every_option_of_the_command_line_is_in_a_table_or_beside_its_command(options):
    told = "\n".join(document.read_text("utf-8") for document in DOCUMENTS)
    tables = "\n".join(re.findall(r"^\|.*", told, re.MULTILINE))
    for option in options[""] - {"--help", "--version"}:
        assert re.search(rf"`{option}\b[^`]*`", tables), option
    for command in set(options) - {""}:
        for option in options[command] - options[""]:
            assert re.search(rf"tuner-tui {command}\b[^`\n]*{option}\b", told), f"{command} {option}"


@pytest.mark.parametrize("picture", sorted((ROOT / "docs").glob("screen*.svg")), ids=lambda file: file.stem)
def test_a_picture_of_the_screen_loads_nothing_and_has_a_font_that_readers_have(picture):
    svg = picture.read_text("utf-8")
    assert "@font-face" not in svg
    assert "url(http" not in svg
    assert re.search(r"font-family: [^;]*monospace;", svg)
    assert "NVIDIA&#160;H200" in svg
    assert len(svg) < 120_000
