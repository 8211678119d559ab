"""Tensile and TensileLite: their benchmark configurations, how they are edited, run and read.

Here is what joins them to the program: parts by name, none of which is loaded before it is used, and the settings as
plain data.
"""

from __future__ import annotations

import re
from pathlib import Path

from tui_tuner.options import Option
from tui_tuner.subjects import Command, ResumeOption, Subject

TENSILE = Subject(
    name="tensile",
    screen="tui_tuner.tensile.screen:TensileView",
    story="tui_tuner.tensile.report:TensileStory",
    resume="tui_tuner.tensile.sessions:resumed_tensile_session",
    replay="tui_tuner.tensile.sessions:replayed_tensile_session",
    source="tui_tuner.tensile.events:ConfigurationText",
    title="a Tensile configuration",
    what_comes="Enter has your Tensile measure the configuration; then a model edits it, and each edit is measured and"
    " compared with the best so far, size by size. You are asked before each round, and q leaves at any time. The file"
    " stays as it is; the result lies in tuner-runs/.",
    suffixes=(".yaml", ".yml"),
    is_own="tui_tuner.tensile:is_configuration",
    pane="Configuration",
    modelless="needed",
    ignores=("device", "strategy", "max_evaluations"),
    settings="tui_tuner.tensile.run_directory:TensileOptions",
    options="tui_tuner.tensile:TENSILE_OPTIONS",
    findings="tui_tuner.tensile.sessions:findings",
    missing="tui_tuner.tensile.sessions:missing",
    events="tui_tuner.tensile.events:EVENTS",
    commands=(
        Command(
            "tensile",
            "A language model edits a Tensile benchmark configuration; Tensile measures, round by round.",
            "tui_tuner.tensile.command:add_tensile",
        ),
    ),
    resume_options=(ResumeOption("tensile", "PATH", "where Tensile is now, for a run that it measures"),),
)
"""What the program knows of Tensile."""

PROBLEMS = "BenchmarkProblems"
ALTERNATE = ("ProblemType", "ForkParameters")
"""By these keys a benchmark configuration is known, and one in Tensile's alternate format."""
_BEGINS = 1 << 18
"""Bytes of a file in which they stand; library logic, which is no configuration, may have a hundred megabytes."""
_KEY = re.compile(rb"^(?:\xef\xbb\xbf)?[\"']?(\w+)[\"']?[ \t]*:", re.MULTILINE)


def is_configuration(file: Path) -> bool:
    """Whether a file has the keys of a benchmark configuration; False where it cannot be read."""
    try:
        with file.open("rb") as stream:
            keys = {key.decode() for key in _KEY.findall(stream.read(_BEGINS))}
    except OSError:
        return False
    return PROBLEMS in keys or keys.issuperset(ALTERNATE)


LEAST_LIMIT = 256
"""A configuration may grow to so many permutations, however small it is as given."""

TENSILE_OPTIONS = (
    Option("max_rounds", 6, "N", "rounds of edits at most"),
    Option("patience", 2, "N", "rounds without a gain after which they end"),
    Option("min_gain", 0.01, "FRACTION", "gain of a round that counts, relative, mean of all sizes"),
    Option(
        "max_permutations",
        None,
        "N",
        "permutations that the configuration may have at most; by default what it has as given, "
        f"or {LEAST_LIMIT} where that is less",
    ),
    Option("max_measured", None, "N", "permutations measured in all at most, the first run included"),
    Option("measure_given", True, "", "whether the configuration as given is measured before the first edit"),
    Option("rehearse", True, "", "whether Tensile counts what the edits make before they are approved"),
    Option("repeats", 3, "N", "runs in which the first winners and the best are compared"),
    Option("max_run_seconds", None, "SECONDS", "time of one run of Tensile at most, s"),
    Option("gpu", None, "GPU", "the GPU, as in gfx90a or MI210, for the facts that a prompt has"),
    Option("devices", None, "NUMBERS", "GPUs that share the problem sizes, as in 0,1; by default the one of the file"),
    Option("tensile", None, "PATH", "Tensile's program or directory; by default that of PATH"),
    Option(
        "knowledge",
        None,
        "DIR",
        "directory with more terms, GPUs and valid values; by default beside the settings",
    ),
)
"""The settings of a session; `run_directory` checks their values."""
