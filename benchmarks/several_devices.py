"""The same configurations of the same kernel on one device, on two, and so on, in one run.

    python benchmarks/several_devices.py sample_kernels/matmul_tiled.cu --devices cuda:0 cuda:0,1 cuda:all ray
    python benchmarks/several_devices.py sample_kernels/matmul_tiled.cu --devices emulator:0 emulator:0,1

Every line is a whole session of the program over the same random configurations, each checked and timed. All are built
in a session before these, whose cache they share (in a cluster that of the user on each machine): what is compared is
checking and measuring. `--sizes n=8192` makes a kernel take longer, so that nothing else counts.

`evals/s` is from the first evaluation to the last. `linear` is that rate over the one of the first line, for each
device as many as there are more: 1 is as good as it can be. `device s` is what all evaluations took of their devices.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

import tomlkit
from against_kernel_tuner import Outcome, choose, tuner_tui

COLUMNS = "{:<22} {:>7} {:>6} {:>7} {:>8} {:>8} {:>9} {:>8} {:>7}"
HEADINGS = ("devices", "number", "evals", "failed", "builds s", "device s", "evals/s", "whole s", "linear")


def resized(kernel: Path, sizes: dict[str, int], directory: Path) -> Path:
    """The kernel with its problem file and reference in another place, at other sizes."""
    for file in (kernel, *kernel.parent.glob(f"{kernel.stem}*.py")):
        shutil.copy(file, directory)
    problem = tomlkit.parse(kernel.with_suffix(".toml").read_text("utf-8"))
    problem["sizes"].update(sizes)  # type: ignore[union-attr]
    if "emulator" in problem:
        problem["emulator"]["sizes"].update(sizes)  # type: ignore[index,union-attr]
    (directory / f"{kernel.stem}.toml").write_text(tomlkit.dumps(problem), "utf-8")
    return directory / kernel.name


def line(device: str, outcome: Outcome, first: Outcome, more: float) -> str:
    """A row of the table; `more` is how many times the devices of the first row there are."""
    share = outcome.rate / first.rate / more
    times = (outcome.build_s, outcome.verify_s + outcome.measure_s, outcome.rate, outcome.whole_s, share)
    counts = (device, outcome.devices, outcome.evaluations, outcome.failed)
    return COLUMNS.format(*counts, *(f"{number:.2f}" for number in times))


def main() -> None:
    """Run all in turns, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", type=Path)
    parser.add_argument("--devices", nargs="+", default=["cuda:0", "cuda:all"])
    parser.add_argument("--configurations", type=int, default=200)
    parser.add_argument("--sizes", nargs="*", default=[], metavar="NAME=N")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        chosen, cache = Path(place) / "configurations.json", Path(place) / "cache"
        sizes = {name: int(value) for name, _, value in (size.partition("=") for size in options.sizes)}
        kernel = resized(options.kernel, sizes, Path(place))
        chosen.write_text(choose(kernel, options.configurations, options.seed), "utf-8")
        print(f"{kernel.stem} {' '.join(options.sizes)}, {os.cpu_count()} cores\n{COLUMNS.format(*HEADINGS)}")
        for device in {options.devices[0], *(one for one in options.devices if one.startswith("ray"))}:
            tuner_tui(kernel, chosen, device, cache)
        first: Outcome | None = None
        for _ in range(options.rounds):
            for device in options.devices:
                outcome = tuner_tui(kernel, chosen, device, cache)
                first = first or outcome
                print(line(device, outcome, first, outcome.devices / first.devices), flush=True)


if __name__ == "__main__":
    main()
