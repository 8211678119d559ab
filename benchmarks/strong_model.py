"""A model that knows its trade, for `--llm command:`; shows what a search gains by asking it, and when.

    tuner-tui bench-search DATA ... --strategies surrogate,hybrid,llm --repeats 5 --evaluations 85 --jobs 1 \
        --llm 'command:python benchmarks/strong_model.py DATA ...'

Its first reply is drawn from the fastest tenth of the recording. After that it reasons from what it is shown: most of
what it proposes differs from one of the three fastest rows in one or two tunables and is among the faster quarter of
what does, so that its replies are as good as the rows are; one in four is drawn from the fastest tenth as before. The
same prompt gives the same reply.
"""

from __future__ import annotations

import csv
import json
import math
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tui_tuner.evaluate.recorded import Recording
from tui_tuner.evaluate.recorded.reading import read_recording
from tui_tuner.problem.model import Configuration

FASTEST, NEAR = 10, 4
"""It draws from the fastest one in so many of all, and of what is near a good one."""
ELSEWHERE = 4
"""One proposal in so many is not near what it was shown."""
_GOOD, _STEPS = 3, 2


def reply(prompt: str, recording: Recording) -> str:
    """What it answers to a prompt about a recording."""
    dice = random.Random(prompt)  # noqa: S311 - the same again
    wanted = re.search(r"Choose the (\d+) configuration", prompt)
    ranked = [entry.configuration for entry in sorted(recording.timed(), key=lambda entry: entry.time or math.inf)]
    names, shown = _shown(prompt)
    fastest = _first(ranked, FASTEST)
    near = [_first(_around(ranked, names, row), NEAR) for row in shown]
    proposals: list[Configuration] = []
    for number in range(int(wanted[1]) if wanted else 1):
        stock = near[number % len(near)] if near and number % ELSEWHERE else fastest
        proposals.append(dice.choice(stock or fastest))
    reasons = [{**one, "reason": "it should suit the device"} for one in proposals]
    return json.dumps({"analysis": "The fastest rows agree.", "configurations": reasons})


def _first(ranked: Sequence[Configuration], part: int) -> Sequence[Configuration]:
    """The fastest one in so many, the fastest in any case."""
    return ranked[: max(1, len(ranked) // part)]


def _around(ranked: Sequence[Configuration], names: Sequence[str], row: Sequence[str]) -> list[Configuration]:
    """What differs from a row in a few tunables, fastest first."""
    differing = [(sum(str(one[name]) != text for name, text in zip(names, row, strict=True)), one) for one in ranked]
    return [one for changed, one in differing if 0 < changed <= _STEPS]


def _shown(prompt: str) -> tuple[list[str], list[list[str]]]:
    """The tunables of the ranking and its fastest rows, none where there is no ranking."""
    block = prompt.partition("<ranking>\n")[2].partition("\n</ranking>")[0]
    rows = list(csv.reader(block.splitlines()))
    tunables = _tunables(prompt)
    places = [place for place, name in enumerate(rows[0] if rows else []) if name in tunables]
    return [rows[0][place] for place in places], [[row[place] for place in places] for row in rows[1 : 1 + _GOOD]]


def _tunables(prompt: str) -> set[str]:
    block = prompt.partition("<tunables>\n")[2].partition("\n</tunables>")[0]
    return set(re.findall(r"^(\w+): ", block, re.MULTILINE))


def _is_about(prompt: str, recording: Recording) -> bool:
    """Whether a prompt tells a recording's kernel and device, which may have no name."""
    device = prompt.partition("<device>\n")[2].partition(":")[0]
    return f'name="{recording.kernel}"' in prompt and device.startswith(recording.device or "a recorded device")


if __name__ == "__main__":
    asked = sys.stdin.read()
    recordings = (read_recording(Path(file)) for file in sys.argv[1:])
    sys.stdout.write(reply(asked, next(one for one in recordings if _is_about(asked, one))))
