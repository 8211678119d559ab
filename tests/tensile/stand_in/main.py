"""The command line of the stand-in, which is Tensile's."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from tests.tensile.stand_in.group import Setting, benchmark, write_logic
from tests.tensile.stand_in.measured import Measured
from tests.tensile.stand_in.options import Options
from tests.tensile.stand_in.speech import RULE, GivesUp, fatal, say


def main(arguments: list[str], options_file: str) -> None:
    """Run the stand-in."""
    options = Options.read(Path(options_file), counted="--version" not in arguments)
    try:
        _run(arguments, options)
    except GivesUp as words:
        words.end(options.layout)


def _run(arguments: list[str], options: Options) -> None:
    say(f"\n{RULE}\n#\n#  Tensile v{options.version}")
    given = _parser(options.version).parse_args(arguments)
    say(f"#  Config: {given.config_file[0]}\n#  Date & Time: {datetime.now():%d/%m/%Y %H:%M:%S}\n#\n{RULE}\n")
    say("# Restoring default globalParameters")
    texts = [Path(file).read_text() for file in given.config_file]
    configuration = _configuration(texts, alternate=given.alternate_format)
    output = Path(given.output_path).absolute()
    output.mkdir(parents=True, exist_ok=True)
    if "fatal" in options.faults:
        fatal(options.faults.active["fatal"] or "Invalid parameter value: DepthU = 7")
    options.faults.at_the_start()
    say("# Detected GPU 1:    gfx90a" if options.is_newer else "# Detected local GPU with ISA: gfx90a")
    parameters = configuration.get("GlobalParameters") or {}
    _benchmark_all(
        configuration, Setting(output, parameters, options, Measured.read(options.measured), time.monotonic())
    )


def _benchmark_all(configuration: dict[str, Any], setting: Setting) -> None:
    failures = 0
    for problem, *groups in configuration.get("BenchmarkProblems") or []:
        for number, group in enumerate(groups):
            failures += benchmark(setting, problem, group, number) > 0
    if failures:
        sys.exit(1)
    if "LibraryLogic" in configuration:
        write_logic(setting, configuration)


def _loaded(text: str) -> Any:
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe


def _configuration(texts: list[str], *, alternate: bool) -> dict[str, Any]:
    base: dict[str, Any] = _loaded(texts[0])
    if not alternate:
        return base
    sizes = _loaded(texts[1])
    group = {key: base.get(key) for key in ("BenchmarkCommonParameters", "ForkParameters")}
    group["BenchmarkFinalParameters"] = [{"ProblemSizes": sizes}]
    return {"GlobalParameters": base.get("GlobalParameters"), "BenchmarkProblems": [[base["ProblemType"], group]]}


def _parser(version: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="Tensile")
    parser.add_argument("config_file", nargs="+")
    parser.add_argument("output_path")
    parser.add_argument("--version", action="version", version=f"%(prog)s {version}")
    parser.add_argument("--alternate-format", action="store_true")
    return parser
