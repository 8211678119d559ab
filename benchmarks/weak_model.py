"""A model that is of little use, for `--llm command:`; shows what a search loses by listening to it.

    tuner-tui bench-search DATA ... --strategies surrogate,hybrid,llm --repeats 12 --evaluations 85 --jobs 1 \
        --llm 'command:python benchmarks/weak_model.py'

What it proposes is mediocre: the configuration as given with two or three tunables at other values, drawn at random,
whatever was measured. One in four has a value that is not listed, restrictions it does not mind, and its second reply
breaks off in the middle. The same prompt gives the same reply.
"""

from __future__ import annotations

import json
import random
import re
import sys

INVALID = 4
"""One proposal in so many has a value that no tunable offers."""
_TUNABLE = re.compile(r"^(\w+): (.+) \(as given: (.+)\)$", re.MULTILINE)


def reply(prompt: str) -> str:
    """What it answers."""
    dice = random.Random(prompt)  # noqa: S311 - the same again
    block = prompt.partition("<tunables>\n")[2].partition("\n</tunables>")[0]
    tunables = {name: values.split(", ") for name, values, _ in _TUNABLE.findall(block)}
    given = {name: value for name, _, value in _TUNABLE.findall(block)}
    wanted = re.search(r"Choose the (\d+) configuration", prompt)
    count = int(wanted[1]) if wanted else 1
    proposals = [_proposal(tunables, given, dice) for _ in range(count)]
    text = json.dumps({"analysis": "Bigger is better.", "configurations": proposals})
    return text[: len(text) // 2] if "This is round 2 of" in prompt else text


def _proposal(tunables: dict[str, list[str]], given: dict[str, str], dice: random.Random) -> dict[str, object]:
    chosen = dict(given)
    for name in dice.sample(sorted(tunables), min(len(tunables), dice.randint(2, 3))):
        chosen[name] = dice.choice(tunables[name])
    values = {name: _value(text) for name, text in chosen.items()}
    if not dice.randrange(INVALID):
        name = dice.choice(sorted(tunables))
        values[name] = 3 * value + 1 if isinstance(value := values[name], int) else "none"
    return {**values, "reason": "it should be fast"}


def _value(text: str) -> object:
    try:
        return json.loads(text.lower() if text in ("True", "False") else text)
    except json.JSONDecodeError:
        return text


if __name__ == "__main__":
    sys.stdout.write(reply(sys.stdin.read()))
