"""Completion scripts: what a shell offers for words that were begun."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tui_tuner.cli import COMMANDS, main
from tui_tuner.cli.completion import _NAMES, completion_script
from tui_tuner.llm.choose import SPECS

SHELLS = ("bash", "zsh", "fish")


def offered_by_bash(directory: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    listed = " ".join(f"'{word}'" for word in ("tuner-tui", *words))
    program = (
        f"{completion_script('bash')}\nCOMP_WORDS=({listed})\nCOMP_CWORD={len(words)}\n_tuner_tui\n"
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True, cwd=directory)
    assert done.stderr == ""
    return done.stdout.splitlines() if done.stdout.strip() else []


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["re"], ["resume", "replay", "report"]),
        (["ker"], ["kernel.cu"]),
        (["kernel.cu", "--str"], ["--strategy"]),
        (["kernel.cu", "--output", ""], ["text", "json"]),
        (["kernel.cu", "--fallback", "p"], ["pattern"]),
        (["kernel.cu", "--seed", ""], []),
        (["kernel.cu", "--steps", "ker"], ["kernel.cu"]),
        (["resume", "run", "--max-e"], ["--max-evals"]),
        (["resume", "ru"], ["run"]),
        (["memory", ""], ["list", "forget", "kernel.cu", "my kernel.cu", "of mine", "run"]),
        (["help", "comp"], ["compare", "completion"]),
        (["export-dataset", "--min"], ["--min-speedup"]),
        (["tensile", "--know"], ["--knowledge"]),
        (["kernel.cu", "--knowledge"], []),
        (["my"], ["my kernel.cu"]),
        (["kernel.cu", "--host", "my"], ["my kernel.cu"]),
        (["kernel.cu", "--run-dir", "of"], ["of mine"]),
        (["kernel.cu", "--strategy", "one"], ["one_prompt"]),
        (["kernel.cu", "--llm", "o"], ["ollama", "openai", "openrouter"]),
        (["kernel.cu", "--device", "em"], ["emulator"]),
    ],
    ids=" ".join,
)
def test_bash_offers_commands_options_and_values(tmp_path: Path, words: list[str], offered: list[str]) -> None:
    (tmp_path / "kernel.cu").touch()
    (tmp_path / "run").mkdir()
    (tmp_path / "my kernel.cu").touch()
    (tmp_path / "of mine").mkdir()

    assert sorted(offered_by_bash(tmp_path, *words)) == sorted(offered)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_that_is_here_accepts_its_script(tmp_path: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    script = tmp_path / "script"
    script.write_text(completion_script(shell) + "\n", "utf-8")
    done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_fish_offers_commands_and_options(tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("there is no fish here")

    def offered(line: str) -> set[str]:
        asked = f"{completion_script('fish')}\ncomplete -C {line!r}"
        done = subprocess.run(["fish", "-N", "-c", asked], capture_output=True, text=True, check=True, cwd=tmp_path)
        return {each.partition("\t")[0] for each in done.stdout.splitlines()}

    assert offered("tuner-tui re") == {"resume", "replay", "report"}
    assert offered("tuner-tui kernel.cu --outp") == {"--output"}
    assert offered("tuner-tui kernel.cu --output ") == {"text", "json"}
    assert offered("tuner-tui resume run --max-e") == {"--max-evals"}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_names_every_command(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(command in script for command in COMMANDS.split(", "))
    assert all(option in script for option in ("strategy", "max-evals", "min-speedup", "knowledge"))


def test_models_are_those_that_can_be_named_without_a_program_or_a_file() -> None:
    providers = {spec.partition("[")[0].partition(":")[0] for spec in SPECS}
    assert set(_NAMES["llm"]) == providers - {"command", "replay"}
