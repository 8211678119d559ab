"""What a user mistypes gets one message with the way out; what a command prints can be used."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.documents import ROOT
from tests.end_to_end.kernels import SOURCE, write_kernel
from tests.end_to_end.program import TUNER_TUI, Ended, end_of, start, tuner_tui, tuner_tui_process
from tui_tuner import __version__
from tui_tuner.app import inventory
from tui_tuner.cli import COMMANDS, main
from tui_tuner.errors import ExitCode
from tui_tuner.evaluate.build.compilers.gnu import find_gnu
from tui_tuner.evaluate.devices.probe import DeviceReport
from tui_tuner.resources import samples_directory

NO_MODEL = ("--auto", "--device", "emulator", "--llm", "none")
NOBODY = "127.0.0.1:1"
"""Where no Ollama answers, whatever runs on the machine."""
TuneHere = Callable[..., Ended]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> TuneHere:
    """Calls the command line in a directory with `scale.cu`, inside this process."""
    write_kernel(tmp_path, passes=[4])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> Ended:
        try:
            code = int(main([str(argument) for argument in arguments]))
        except SystemExit as exit_:  # argparse leaves in this way
            code = int(exit_.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return Ended(code, out, err)

    return call


def edit(file: str, old: str, new: str) -> None:
    text = Path(file).read_text()
    assert old in text
    Path(file).write_text(text.replace(old, new))


RECORDED = str(samples_directory() / "recorded/one_prompt-matmul")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "KERNEL"),
        (["--nonsense", "scale.cu"], "--nonsense"),
        (["scale.cu", "other.cu"], "other.cu"),
        (["resume"], "RUN"),
        (["replay"], "RUN"),
        (["init"], "KERNEL"),
        (["init", "scale.cu", "--seed", "1"], "--seed"),
        (["scale.cu", "--seed", "x"], "--seed"),
        (["scale.cu", "--auto", "--output", "xml"], "'xml'"),
        (["scale.cu", "--output", "json"], "--output needs --auto"),
        (["scale.cu", "--quiet"], "--quiet and --verbose need --auto"),
        (["scale.cu", "--auto", "-q", "-v"], "not allowed with argument"),
        (["scale.cu", "--auto", "--max-time", "5x"], "--max-time: '5x' is no time; write 90s, 20m or 2h"),
        (["scale.cu", "--auto", "--max-time", "-5s"], "--max-time"),
        (["scale.cu", "--auto", "--max-time", "0s"], "--max-time: input should be greater than 0"),
        (["scale.cu", "--auto", "--target", "fast"], "--target: 'fast' is no factor; write 2x"),
        (["scale.cu", "--auto", "--target", "1x"], "--target: input should be greater than 1, it is 1"),
        (["scale.cu", "--auto", "--target", "nan"], "--target: 'nan' is no factor; write 2x"),
        (["scale.cu", "--auto", "--target", "inf"], "--target: 'inf' is no factor; write 2x"),
        (["scale.cu", "--auto", "--max-cost", "inf"], "--max-cost: input should be a finite number"),
        (["scale.cu", "--auto", "--max-evals", "1" + "0" * 30], "--max-evals: input should be less than or equal to"),
        (["scale.cu", "--auto", "--run-dir", ""], "--run-dir: names no directory"),
        (["scale.cu", "--auto", "--max-evals", "0"], "--max-evals: input should be greater than or equal to 1"),
        (["scale.cu", "--auto", "--max-cost", "-1"], "--max-cost: input should be greater than or equal to 0"),
        (["resume", RECORDED, "--auto", "--max-evals", "0"], "--max-evals: input should be"),
        (["scale.cu", "--auto", "--max-calls", "-1"], "--max-calls: input should be greater than or equal to 0"),
        (["resume", "run", "--auto", "--max-calls", "some"], "--max-calls"),
        (["scale.cu", "--auto", "--strategy", "one_promt"], "did you mean 'one_prompt'?"),
        (["scale.cu", "--auto", "--strategy", "nofile.py:X"], "nofile.py: there is no such file"),
        (["scale.cu", "--auto", "--set", "max_replanning"], "'max_replanning' is no option; write NAME=VALUE"),
        (["scale.cu", "--auto", "--set", "max_replaning=1"], "strategy 'autonomous': max_replaning"),
        (["scale.cu", "--auto", "--set", "max_replaning=1"], "its options: retry_policy, candidates, techniques"),
        (["scale.cu", "--auto", "--set", "max_replanning=many"], "strategy 'autonomous': max_replanning"),
        (["scale.cu", "--auto", "--set", "max_replanning=-1"], "should be greater than or equal to 0"),
        (["scale.cu", "--auto", "--strategy", "search", "--set", "x=1"], "its options: none"),
        (["scale.cu", "--auto", "--search", "hybrid_vnd"], "did you mean 'hybrid_vndx'?"),
        (["scale.cu", "--auto", "--llm", "olama:x"], "did you mean 'ollama'?"),
        (["scale.cu", "--auto", "--device", "emulater"], "did you mean 'emulator'?"),
        (["scale.cu", "--auto", "--device", "opencl"], "does not run on 'opencl'"),
        (["ini", "scale.cu"], "did you mean 'init'?"),
        (["rsume"], "did you mean 'resume'?"),
        (["scale.cu", "--auto", "--theme", "nosuch"], "--theme is for the screen"),
        (["scale.cu", "--auto", "--strategy", "search", "--llm", "olama"], "did you mean 'ollama'?"),
    ],
)
def test_a_mistake_on_the_command_line_is_named_and_begins_no_run(
    here: TuneHere, arguments: list[str], named: str
) -> None:
    ended = here(*arguments)

    assert (ended.code, ended.out) == (2, ""), ended.err
    assert named in ended.err
    assert not Path("tuner-runs").exists()


LONG = "x" * 300
BAD_INPUTS: dict[str, tuple[list[str], dict[str, str | bytes], str]] = {
    "run directory of no name": (["scale.cu", "--auto", "--run-dir", LONG], {}, "File name too long"),
    "run directory below a file": (["scale.cu", "--auto", "--run-dir", "scale.cu/x"], {}, "scale.cu: is a file"),
    "run of no name": (["resume", LONG, "--auto"], {}, "File name too long"),
    "list of no name": (["runs", LONG], {}, "File name too long"),
    "new strategy of no name": (["strategy", "new", f"{LONG}.py"], {}, "File name too long"),
    "recording of no name": (["--auto", "--device", f"recorded:{LONG}"], {}, "File name too long"),
    "strategy that ends at once": (["scale.cu", "--auto", "--strategy", "s.py:X"], {"s.py": "1 / 0\n"}, "s.py:1"),
    "strategy that is no Python": (["scale.cu", "--auto", "--strategy", "s.py:X"], {"s.py": "class (:"}, "s.py:1"),
    "steps that are no TOML": (["scale.cu", "--auto", "--steps", "s.toml"], {"s.toml": "[[steps]"}, "s.toml:1"),
    "nested TOML": (["scale.cu", "--auto"], {"scale.toml": "a = " + "[" * 5000}, "too deep to be read"),
    "a number of 5000 digits": (["scale.cu", "--auto"], {"scale.toml": "a = " + "9" * 5000}, "more digits than"),
    "settings of 5000 digits": (["scale.cu", "--auto"], {"tuner-tui.toml": "a = " + "9" * 5000}, "more digits than"),
    "TOML of 5 MB": (["scale.cu", "--auto"], {"scale.toml": "#" * 5_300_000}, "5 MB, at most 4 are read"),
    "TOML of 16 bits": (["scale.cu", "--auto"], {"scale.toml": "[kernel]".encode("utf-16")}, "not UTF-8"),
    "nested settings": (["scale.cu", "--auto"], {"tuner-tui.toml": "a = " + "[" * 5000}, "too deep to be read"),
    "settings with a key": (["scale.cu", "--auto"], {"tuner-tui.toml": '[model]\nkey = "sk-1"\n'}, "tuner-tui.toml"),
    "host that is no text": (["k.cu", "--auto", "--host", "h"], {"k.cu": SOURCE, "h": b"\xff"}, "not UTF-8"),
    "kernel of nobody": (["scale.cu:nobody", "--auto"], {}, "no kernel 'nobody'"),
    "nested braces": (["k.cu", "--auto"], {"k.cu": "__global__ void k(float*a){" + "{" * 20000}, "k.cu"),
    "recording that is a list": (["--auto", "--device", "recorded:r.json"], {"r.json": "[1]"}, "r.json"),
    "nested recording": (["--auto", "--device", "recorded:r.json"], {"r.json": "[" * 100000}, "r.json"),
    "journal of one number": (["resume", "old", "--auto"], {"old/journal.jsonl": "3\n"}, "old/journal.jsonl"),
    "journal of bytes": (["replay", "old", "--auto"], {"old/journal.jsonl": b"\x1f\x8b\x08\0"}, "old/journal.jsonl"),
    "baseline of another kind": (["check", "scale.cu", "--baseline", "b"], {"b": "{}"}, "b: "),
    "share that is none": (["check", "scale.cu", "--baseline", "b", "--max-regression", "x%"], {}, "--max-regression"),
}


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_what_cannot_be_is_told_in_three_lines_and_leaves_nothing(here: TuneHere, name: str) -> None:
    arguments, files, message = BAD_INPUTS[name]
    for file, content in files.items():
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_bytes(content if isinstance(content, bytes) else content.encode())
    before = sorted(Path().rglob("*"))
    ended = here(*arguments)
    left = [path for path in sorted(Path().rglob("*")) if "__pycache__" not in path.parts]  # Python's own

    assert ended.code in (1, 2)
    assert ended.out == ""
    assert message in ended.err
    told = ended.err[ended.err.index("tuner-tui") :]
    assert len(told.splitlines()) <= 3
    assert max(map(len, told.splitlines())) < 700
    assert left == before


@pytest.mark.parametrize(
    ("arguments", "message", "way_out"),
    [
        (["absent.cu"], "there is no kernel file absent.cu", "name a .cu, .cl, .c or .py file"),
        (["scales.cu"], "there is no kernel file scales.cu", "did you mean scale.cu?"),
        (["."], ".: is a directory", "as in alone.cu"),
        (["x" * 300 + ".cu"], "x.cu: there is no such kernel: File name too long", ""),
        (["null.cu"], "null.cu: is no file that can be read: a link to nowhere, a pipe or a device", "name a .cu"),
        (["alone.toml"], "there is no problem file alone.toml", "tuner-tui init alone.cu"),
        (["other.cu"], "other.toml: it is about scale.cu, not about other.cu", "tuner-tui other.toml"),
        (["resume", "absent"], "absent: no run is there", "tuner-tui runs"),
        (["replay", "absent"], "absent: no run is there", "tuner-tui runs"),
        (["replay", "scale.toml"], "scale.toml:1: is ", ""),
        (["scale.cu", "--llm", "command:no-such-program"], "there is no program 'no-such-program'", ""),
        (["scale.cu", "--llm", "anthropic"], "ANTHROPIC_API_KEY is not set", "export it"),
    ],
)
def test_a_file_or_program_that_is_missing_is_named_with_a_way_out(
    here: TuneHere, arguments: list[str], message: str, way_out: str
) -> None:
    Path("alone.cu").write_text(SOURCE)
    Path("null.cu").symlink_to(os.devnull)
    Path("other.cu").write_text(SOURCE)
    Path("other.toml").write_text(Path("scale.toml").read_text())
    ended = here(*arguments, "--auto")

    assert (ended.code, ended.out) == (1, "")
    assert message in ended.err
    assert way_out in ended.err
    assert not Path("tuner-runs").exists()


@pytest.mark.parametrize(
    ("old", "new", "place", "told"),
    [
        ("problem_size", "problemsize", "scale.toml:9:", "did you mean 'problem_size'?"),
        ('"int32"', '"int33"', "scale.toml:24:", "did you mean 'int32'?"),
        ('name = "scale"', 'name = "scael"', "scale.toml:3:", "did you mean 'scale'?"),
        ('problem_size = ["n"]', 'problem_size = ["m"]', "scale.toml:9:", "m"),
        ("n = 128", "n = = 128", "scale.toml:6:", "this is not TOML"),
        ('source = "scale.cu"', 'source = "gone.cu"', "scale.toml:2:", "gone.cu is missing"),
    ],
)
def test_a_mistake_in_the_problem_file_is_named_with_its_line(
    here: TuneHere, old: str, new: str, place: str, told: str
) -> None:
    edit("scale.toml", old, new)
    ended = here("scale.cu", *NO_MODEL)

    assert (ended.code, ended.out) == (1, "")
    assert place in ended.err
    assert told in ended.err


@pytest.mark.parametrize(
    ("settings", "place", "told"),
    [
        ("[session]\nseed = 1\nmax_evalutions = 3\n", "mine.toml:3: session.max_evalutions", "'max_evaluations'"),
        ("[sesion]\nseed = 1\n", "mine.toml:1: sesion", "did you mean 'session'?"),
        ("\n[session]\nseed = 'x'\n", "mine.toml:3: session.seed", "integer"),
        ("[build]\njobs = 0\n", "mine.toml:2: build.jobs", "greater than or equal to 1"),
        ("[model]\nbase_url = 'here'\n", "mine.toml:2: model.base_url", "http"),
        ("[session]\nseed = 1\n[screen\n", "mine.toml:3: this is not TOML", "]"),
        ("\n[strategies.autonomus]\n", "mine.toml:2: unknown strategy 'autonomus'", "did you mean 'autonomous'?"),
        ("\n[strategies.autonomous]\nx = 1\n", "mine.toml:2: strategy 'autonomous': x", "with_replanning"),
    ],
)
@pytest.mark.parametrize("command", [["config"], ["scale.cu", *NO_MODEL]], ids=["config", "tune"])
def test_a_mistake_in_the_settings_is_named_with_file_line_and_key(
    here: TuneHere, monkeypatch: pytest.MonkeyPatch, command: list[str], settings: str, place: str, told: str
) -> None:
    Path("mine.toml").write_text(settings)
    monkeypatch.setenv("TUNER_TUI_CONFIG", "mine.toml")
    ended = here(*command)

    assert (ended.code, ended.out) == (2, "")
    assert place in ended.err
    assert told in ended.err


@pytest.mark.parametrize(
    ("text", "named", "told"),
    [
        ("class Other: pass\n", "mine.py:Mine", "mine.py: there is no class 'Mine' in it\n  it has: Other"),
        ("class Mine: pass\n", "mine.py:Mine", "mine.py is no strategy\n  derive it from tui_tuner.Strategy"),
        ("import re\n\nre.nothing\n", "mine.py:Mine", "mine.py:3: cannot be used: AttributeError"),
        ("class Mine(:\n", "mine.py:Mine", "mine.py:1: cannot be used: SyntaxError"),
    ],
)
def test_a_strategy_of_the_users_own_that_cannot_be_used_is_named_with_its_line(
    here: TuneHere, text: str, named: str, told: str
) -> None:
    Path("mine.py").write_text(text)
    ended = here("scale.cu", "--auto", "--strategy", named)

    assert (ended.code, ended.out) == (2, "")
    assert told in ended.err
    assert not Path("tuner-runs").exists()


def test_steps_are_for_a_strategy_that_has_some(here: TuneHere) -> None:
    Path("mine.toml").write_text('[[steps]]\nid = "tile"\nprompt_template = "Tile."\n')
    ended = here("scale.cu", "--auto", "--steps", "mine.toml")

    assert (ended.code, ended.out) == (2, "")
    assert "strategy 'autonomous': steps: " in ended.err


def test_a_settings_file_that_is_named_must_be_there(here: TuneHere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNER_TUI_CONFIG", "absent.toml")
    ended = here("scale.cu", *NO_MODEL)

    assert (ended.code, ended.out) == (2, "")
    assert "absent.toml: there is no such file of settings" in ended.err
    assert here("config").out.startswith("# absent.toml (is not there: the defaults)\n")


@pytest.mark.parametrize("place", ["a file", "a file/run"])
def test_a_run_directory_that_is_a_file_is_called_so(here: TuneHere, place: str) -> None:
    Path("a file").touch()
    ended = here("scale.cu", *NO_MODEL, "--run-dir", place)

    assert ended.code == 1
    assert "a file: is a file: a run needs a directory\n  name another --run-dir" in ended.err


@pytest.mark.slow
def test_a_failed_start_leaves_nothing_behind(here: TuneHere, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    Path("there").mkdir()
    before = {*Path().rglob("*")}
    for where in ([], ["--run-dir", "new/run"], ["--run-dir", "there/run"]):
        assert here("scale.cu", "--auto", "--device", "cuda", "--llm", "none", *where).code == 1
    assert {*Path().rglob("*")} == before


@pytest.mark.slow
def test_characters_that_a_terminal_lacks_and_names_that_are_no_text_are_shown_escaped(tmp_path: Path) -> None:
    names = ("kärnel.cu", os.fsdecode(b"sc\xffale.cu"))
    for name in names:
        (tmp_path / name).write_text(SOURCE)
    ended = [tuner_tui_process("init", name, cwd=tmp_path, PYTHONIOENCODING="ascii") for name in names]

    assert [done.code for done in ended] == [0, 1], ended
    assert ended[0].out.startswith("wrote k\\xe4rnel.toml")
    assert "sc\\ufffdale.cu: its name is not UTF-8 text, as a problem file is\n  give it" in ended[1].err
    assert not (tmp_path / os.fsdecode(b"sc\xffale.toml")).exists(), "it could not be read"


def test_a_mark_of_byte_order_is_no_mistake_and_a_nul_character_is_called_one(
    here: TuneHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = Path("scale.toml").read_bytes()
    Path("scale.toml").write_bytes(b"\xef\xbb\xbf" + sound + b"x = 1\n")
    assert "there is no tunable 'x'" in here("scale.cu", *NO_MODEL).err, "it is read as far as its own mistake"
    Path("scale.toml").write_bytes(sound + b"\0\n")
    last = sound.count(b"\n") + 1
    assert f"scale.toml:{last}: there is a NUL character" in here("scale.cu", *NO_MODEL).err
    Path("scale.toml").write_bytes(sound.decode().encode("utf-16"))
    assert "this is not UTF-8 text\n  save it as UTF-8" in here("scale.cu", *NO_MODEL).err

    Path("mine.toml").write_bytes(b"\xef\xbb\xbf[session]\nseed = 3\n")
    monkeypatch.setenv("TUNER_TUI_CONFIG", "mine.toml")
    assert "seed = 3" in here("config").out


def test_without_a_terminal_auto_is_asked_for_before_a_run_is_begun(here: TuneHere) -> None:
    for arguments in (["scale.cu"], ["resume", RECORDED], ["replay", RECORDED]):
        ended = here(*arguments)
        assert (ended.code, ended.out) == (2, "")
        assert "add --auto" in ended.err
    for command in ("resume", "replay"):  # which would be no help there
        assert here(command, "run").err.startswith("tuner-tui: run: no run is there")
    assert not Path("tuner-runs").exists()


@pytest.mark.parametrize("option", [("--at", "2s"), ("--speed", "4")])
def test_where_a_replay_begins_and_how_fast_it_is_are_for_the_screen(here: TuneHere, option: tuple[str, str]) -> None:
    ended = here("replay", RECORDED, "--auto", *option)
    assert (ended.code, ended.out) == (2, "")
    assert f"{option[0]} is for the screen, and --auto has none" in ended.err


@pytest.mark.parametrize("command", ["", *COMMANDS.split(", ")])
def test_help_of_every_command_says_what_it_does(here: TuneHere, command: str) -> None:
    ended = here(*command.split(), "--help")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"usage: tuner-tui {command}".rstrip())
    assert len(ended.out.split("\n\n")[1]) > 20, "a sentence stands below the usage"


def test_help_names_every_command_and_the_version_is_the_packages(here: TuneHere) -> None:
    assert all(command in here("--help").out for command in COMMANDS.split(", "))
    assert here("--version").out == f"tuner-tui {__version__}\n"


def test_init_writes_a_problem_file_that_tunes_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "double.cu").write_text(SOURCE.replace("passes", "2"))
    written = tuner_tui("init", "double.cu", cwd=tmp_path)
    assert written.code == 0
    assert "tried       run on the emulator as given at n = 16384 and n = 12287" in written.err
    assert "double.toml" in written.out
    assert written.out.rstrip().endswith("tuner-tui double.cu")
    tuned = tuner_tui("double.cu", *NO_MODEL, "--max-evals", 1, cwd=tmp_path)

    assert tuned.code in (0, 3), tuned.err
    assert "1 evaluation" in tuned.out


@pytest.mark.slow
def test_the_commands_of_the_workflow_in_the_document_run(tmp_path: Path) -> None:
    (workflow,) = re.findall(r"^    name: kernels\n(?:(?:    .*)?\n)+", (ROOT / "docs/ci.md").read_text("utf-8"), re.M)
    jobs = yaml.safe_load(textwrap.dedent(workflow))["jobs"]
    steps = [step["run"] for job in jobs.values() for step in job["steps"] if "tuner-tui check" in step.get("run", "")]
    right, fast = (shlex.split(step.replace("--device cuda", "--device emulator"))[1:] for step in steps)
    kept = [step["with"]["path"] for job in jobs.values() for step in job["steps"] if "upload" in step.get("uses", "")]

    write_kernel(tmp_path, passes=[1])
    (tmp_path / "kernels").mkdir()
    (tmp_path / "scale.cu").rename(tmp_path / "kernels/scale.cu")
    (tmp_path / "scale.toml").rename(tmp_path / "kernels/kernel.toml")
    tuned = tuner_tui("kernels/kernel.toml", *NO_MODEL, "--max-evals", 1, "--run-dir", "run", cwd=tmp_path)
    (tmp_path / "run/result.json").rename(tmp_path / "kernels/kernel.result.json")
    assert tuned.code in (0, 3)

    assert tuner_tui(*right, cwd=tmp_path).code in (0, 10)
    compared = tuner_tui(*fast, cwd=tmp_path)
    assert (compared.code, compared.out.split(":")[0]) in [(0, "FAST"), (0, "SAME"), (0, "UNCLEAR"), (1, "SLOW")]
    assert all("<testsuite " in (tmp_path / file).read_text() for file in kept)


@pytest.mark.slow
def test_init_takes_the_rules_draft_where_a_model_does_not_answer_in_time(tmp_path: Path) -> None:
    (tmp_path / "double.cu").write_text(SOURCE.replace("passes", "2"))
    written = tuner_tui("init", "double.cu", "--llm", "command:sleep 60", "--reply-time", "1s", cwd=tmp_path)
    assert written.code == 0
    assert "no whole reply within 1 s; --reply-time allows more): drafted by rules alone" in written.err
    assert "the model's" not in (tmp_path / "double.toml").read_text()


@pytest.mark.slow
def test_init_of_a_file_with_one_kernel_that_does_not_hold_names_no_other(tmp_path: Path) -> None:
    (tmp_path / "far.c").write_text(
        "void far(float *y, int n) { for (int i = 0; i < n; i++) y[i * 100000000L] = 1; }\n"
    )
    drafted = tuner_tui("init", "far.c", cwd=tmp_path)
    assert "what is written does not hold yet" in drafted.err
    assert "of several" not in drafted.err


@pytest.mark.slow
def test_init_of_a_kernel_that_lacks_a_header_says_what_is_left_to_do(tmp_path: Path) -> None:
    (tmp_path / "lacking.cu").write_text(
        '#include "ours.h"\n__global__ void k(float *x) { x[threadIdx.x] = NUMBER; }\n'
    )
    drafted = tuner_tui("init", "lacking.cu", cwd=tmp_path)
    assert "NUMBER is not known; not found: ours.h" in drafted.err
    assert "put the header beside the kernel; or name the header's directory in [kernel]" in drafted.err


@pytest.mark.slow
def test_a_replay_whose_reader_is_gone_is_not_to_be_gone_on_with(tmp_path: Path) -> None:
    replay = start("replay", RECORDED, "--auto", "--output", "json", cwd=tmp_path)
    assert replay.stdout is not None
    replay.stdout.close()
    ended = end_of(replay)
    assert ended.code == ExitCode.INTERRUPTED
    assert "go on with" not in ended.err


@pytest.mark.slow
def test_init_writes_over_a_problem_file_only_when_told_to(here: TuneHere) -> None:
    mine = Path("scale.toml").read_text()
    refused = here("init", "scale.cu")
    assert (refused.code, refused.out) == (1, "")
    assert "scale.toml: is there already" in refused.err
    assert "--force" in refused.err
    assert Path("scale.toml").read_text() == mine

    assert here("init", "scale.cu", "--force").code == 0
    assert Path("scale.toml").read_text() != mine


@pytest.mark.slow
def test_init_chooses_of_several_kernels_as_a_session_does_and_says_how_to_take_another(here: TuneHere) -> None:
    place = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    flag = f"__global__ void clear(bool *flag, int n) {{ {place} if (i < n && flag[i]) flag[i] = false; }}\n"
    Path("two.cu").write_text(flag + SOURCE.replace("scale", "stretch").replace("passes", "2"))
    assert "did you mean 'stretch'?" in here("init", "two.cu", "--kernel", "strech").err
    assert "did you mean 'stretch'?" in here("two.cu", "--kernel", "strech", "--auto", "--llm", "none").err
    assert not Path("two.toml").exists()

    chosen = here("init", "two.cu")
    assert chosen.code == 0
    assert "stretch of several; for another: tuner-tui init two.cu --force --kernel NAME, as in clear" in chosen.err
    assert 'name = "stretch"' in Path("two.toml").read_text()

    other = here("init", "two.cu", "--force", "--kernel", "clear")
    assert other.code == 0
    assert "what is written does not hold yet" in other.err
    assert "'flag' is a flag (line 1 sets it to false)" in other.err
    assert 'name = "clear"' in Path("two.toml").read_text()


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("gone.cu", None, "there is no kernel file gone.cu"),
        ("notes.txt", "hello", "known endings: .cu"),
        ("empty.cu", "", "empty.cu"),
        ("binary.cu", b"\xff\xfe\x00", "this is no text, but a binary file"),
        ("latin.cu", b"// \xff", "this is not UTF-8 text"),
    ],
)
def test_init_says_why_a_file_is_no_kernel(here: TuneHere, file: str, text: str | bytes | None, told: str) -> None:
    if text is not None:
        Path(file).write_bytes(text if isinstance(text, bytes) else text.encode())
    ended = here("init", file)

    assert (ended.code, ended.out) == (1, "")
    assert told in ended.err
    assert not Path(file).with_suffix(".toml").exists()


@pytest.mark.slow
def test_init_takes_the_kernel_out_of_a_script_that_has_it_as_a_text(here: TuneHere) -> None:
    place = "int i = blockIdx.x * block_size_x + threadIdx.x;"
    kernel = f"__global__ void twice(float *to, float *of, int n)\n{{\n    {place} if (i < n) to[i] = 2 * of[i];\n}}\n"
    script = (
        "import numpy as np\nfrom kernel_tuner import tune_kernel\nn = 50000\nof = '\\d'  # Python warns of it\n"
        "to = np.zeros(n, np.float32)\nof = np.random.rand(n).astype(np.float32)\n"
        f'text = r"""\n{kernel}"""\n'
        'tune_kernel("twice", text, n, [to, of, np.int32(n)], {"block_size_x": [32, 64]})\n'
    )
    Path("twice.py").write_text(script)
    drafted = here("init", "twice.py")

    assert drafted.code == 0, drafted.err
    assert drafted.out.splitlines()[0] == "twice.cu has the kernel that twice.py has as a text"
    assert Path("twice.cu").read_text() == kernel
    written = Path("twice.toml").read_text()
    assert "n = 50000  # as the host has it" in written
    assert "block_size_x = [32, 64]" in written

    Path("twice.cu").write_text(f"// mine\n{kernel}")
    refused = here("init", "twice.py", "--force")
    assert (refused.code, Path("twice.toml").read_text()) == (1, written)
    assert "twice.cu: is there already, and is not the kernel of twice.py" in refused.err
    assert "tuner-tui init twice.cu --host twice.py" in refused.err
    assert Path("twice.cu").read_text().startswith("// mine")


@pytest.mark.slow
def test_init_says_so_where_it_cannot_write(here: TuneHere) -> None:
    Path("alone.cu").write_text(SOURCE)
    Path("alone.toml").mkdir()
    ended = here("init", "alone.cu", "--force")

    assert ended.code == 1
    assert "alone.toml: cannot be written" in ended.err


@pytest.mark.slow
def test_runs_lists_what_can_be_resumed_and_says_where_there_is_none(here: TuneHere) -> None:
    nothing = here("runs")
    assert (nothing.code, nothing.out) == (0, "")
    assert "no runs in tuner-runs" in nothing.err

    Path("place/broken").mkdir(parents=True)
    Path("place/broken/journal.jsonl").write_text("no journal\n")
    tuned = here("scale.cu", *NO_MODEL, "--run-dir", "place/run")
    assert tuned.code == 3, tuned.err
    lines = here("runs", "place").out.splitlines()

    assert len(lines) == 3
    assert "place/broken" in lines[2]
    assert "no journal" in lines[2]
    assert lines[1].startswith("place/run ")
    assert lines[1].endswith("finished")
    assert "search" in lines[1]
    assert json.loads(here("runs", "place", "--json").out)[0]["device"].startswith("CPU emulator")
    (Path("place/run") / "result.json").unlink()
    assert here("runs", "place").out.splitlines()[1].endswith("resumable")
    taken = here("scale.cu", *NO_MODEL, "--run-dir", "place/run")
    assert taken.code == 1
    assert "place/run/journal.jsonl: a run is there already" in taken.err


def test_config_prints_settings_that_can_be_read_again(here: TuneHere, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mine.toml").write_text('[session]\nmax_evaluations = 7\n[screen.keys]\napprove = "y"\n')
    monkeypatch.setenv("TUNER_TUI_CONFIG", "mine.toml")
    printed = here("config")
    assert printed.code == 0
    assert printed.out.startswith("# mine.toml\n")
    assert "max_evaluations = 7" in printed.out
    assert 'approve = "y"' in printed.out
    assert "# jobs is not set" in printed.out

    Path("again.toml").write_text(printed.out)
    monkeypatch.setenv("TUNER_TUI_CONFIG", "again.toml")
    assert tomllib.loads(here("config").out) == tomllib.loads(printed.out)


@pytest.mark.slow
def test_settings_hold_where_the_command_line_says_nothing_else(
    here: TuneHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("mine.toml").write_text('[session]\nllm = "none"\ndevice = "emulator"\nseed = 5\n')
    monkeypatch.setenv("TUNER_TUI_CONFIG", "mine.toml")
    ended = here("scale.cu", "--auto", "--run-dir", "run")
    assert ended.code == 3, ended.err
    assert "device: CPU emulator" in ended.err
    assert "no model, seed 5," in ended.err

    Path("tuner-tui.toml").write_text("[session]\nseed = 6\n")
    monkeypatch.setenv("TUNER_TUI_MAX_EVALS", "1")
    ended = here("scale.cu", "--auto", "--seed", 7)
    assert "no model, seed 7," in ended.err
    assert "settings of this project hold as well: tuner-tui.toml" in ended.err


def test_runs_in_what_is_no_directory_are_told(here: TuneHere) -> None:
    ended = here("runs", "scale.cu")
    assert (ended.code, ended.out) == (2, "")
    assert "scale.cu: cannot be gone through: Not a directory" in ended.err
    word = here("runs", "clean")
    assert (word.code, word.out) == (2, "")
    assert "clean: there is no such directory" in word.err
    assert "--clean removes" in word.err


def test_a_home_that_may_not_be_entered_is_told_with_a_way_out(
    here: TuneHere, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file, exists = tmp_path / "home/config.toml", Path.exists

    def refused(path: Path, **how: bool) -> bool:
        if path == file:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return exists(path, **how)

    monkeypatch.setenv("TUNER_TUI_CONFIG", str(file))
    monkeypatch.setattr(Path, "exists", refused)
    ended = here("scale.cu", *NO_MODEL)
    assert (ended.code, ended.out) == (2, "")
    assert f"{file}: cannot be looked for: Permission denied" in ended.err
    assert "let HOME or XDG_CONFIG_HOME name a directory of yours" in ended.err


@pytest.mark.slow
def test_without_a_model_to_be_had_the_story_says_why_and_the_search_runs(
    here: TuneHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", NOBODY)
    ended = here("scale.cu", "--auto", "--device", "emulator")

    assert ended.code == 3, ended.err
    assert "no language model" in ended.err
    assert "ANTHROPIC_API_KEY is not set" in ended.err
    assert "strategy search, no model" in ended.err


def test_a_model_that_is_required_and_not_there_ends_the_program(
    here: TuneHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", NOBODY)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    write_kernel(Path())
    ended = here("scale.cu", "--auto", "--device", "emulator", "--require-model", "--run-dir", "run")

    assert ended.code == 1
    assert "no language model" in ended.err
    assert "--require-model" in ended.err
    assert not Path("run").exists()


@pytest.mark.slow
def test_a_limit_of_cost_is_told_where_the_price_is_not_known(here: TuneHere) -> None:
    write_kernel(Path(), passes=[4])
    ended = here("scale.cu", "--auto", "--device", "emulator", "--llm", "command:true", "--max-cost", "1")

    assert "the price of command:true is not known, so --max-cost allows no call of it" in ended.err


@pytest.mark.slow
def test_a_key_of_the_environment_stands_nowhere_that_the_program_writes(
    here: TuneHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "no-key-by-its-looks-1234"
    monkeypatch.setenv("MY_SERVICE_TOKEN", key)
    monkeypatch.setenv("XDG_STATE_HOME", str(Path().absolute() / "state"))
    write_kernel(Path(), passes=[4])
    model = ["--llm", "command:sh -c 'echo my key is $MY_SERVICE_TOKEN >&2; exit 1'", "--strategy", "one_prompt"]
    ended = here("scale.cu", "--auto", "--device", "emulator", *model, "--run-dir", "run", "--max-evals", 1, "-v")

    assert "my key is [key]" in ended.err
    written = {
        file: file.read_bytes() for place in ("run", "state") for file in Path(place).rglob("*") if file.is_file()
    }
    assert {file.name for file in written} >= {"journal.jsonl", "result.json", "tuner-tui.log"}
    assert b"my key is [key]" in written[Path("run/journal.jsonl")]
    assert [file for file, content in written.items() if key.encode() in content] == []
    assert key not in ended.out + ended.err


@pytest.mark.slow
def test_the_schemas_of_files_that_people_write_fit_those_of_the_samples(here: TuneHere) -> None:
    problem = json.loads(here("schema", "problem").out)
    for file in sorted(samples_directory().glob("*.toml")):
        jsonschema.validate(tomllib.loads(file.read_text()), problem)
    settings = json.loads(here("schema", "settings").out)
    jsonschema.validate(tomllib.loads("[session]\nseed = 3\n[tensile]\nmax_rounds = 2"), settings)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads("[session]\nseeed = 3"), settings)


@pytest.mark.slow
def test_doctor_says_what_is_there_and_what_is_missing(tmp_path: Path) -> None:
    ended = tuner_tui("doctor", cwd=tmp_path, OLLAMA_HOST=NOBODY)

    assert (ended.code, ended.err) == (0, "")
    found = {line.split()[0] for line in ended.out.splitlines()}
    assert found >= {"settings", "sandbox", "device", "builds", "model", "ready"}
    assert "ANTHROPIC_API_KEY is not set" in ended.out
    assert re.search(r"^builds +emulator: g\+\+ \d", ended.out, re.MULTILINE)
    assert re.search(r"^ready +--device .*emulator$", ended.out, re.MULTILINE)


def test_doctor_fails_where_nothing_can_be_tuned(
    here: TuneHere, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def nothing() -> DeviceReport:
        return DeviceReport(cuda_problem="there is no driver", opencl_problem="pyopencl is not installed")

    monkeypatch.setattr(inventory, "probe_devices", nothing)
    find_gnu.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("OLLAMA_HOST", NOBODY)
    monkeypatch.setenv("TUNER_TUI_LLM", "olama")
    ended = here("doctor")

    assert ended.code == 1
    assert "model      session.llm is set to 'olama': there is no model provider 'olama'" in ended.out
    assert "runs the strategy" not in ended.out
    assert "builds     emulator: no g++ in PATH (apt install g++)" in ended.out
    assert ended.out.splitlines()[-1].startswith("ready      nothing: install one of")


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_gets_no_traceback(tmp_path: Path) -> None:
    for command in ("config", "doctor", "--help"):
        ended = tuner_tui_process("-c", f"'{TUNER_TUI}' {command} | true", cwd=tmp_path, program="/bin/sh")
        assert (ended.code, ended.err) == (0, ""), command
