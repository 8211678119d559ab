"""The figures of docs/trust.md: the corpus of cheats and honest tricks, and a kernel compared with itself.

    python -m benchmarks.trust                                             # the corpus, on the emulator
    python -m benchmarks.trust sample_kernels/matmul.toml --device cuda --comparisons 1000
    python -m benchmarks.trust kernel.cu --other slower.cu --comparisons 100 --device cuda

Prints rows of a Markdown table. Run from the root of a checkout, since the corpus is with the tests.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tui_tuner.checks.pairs import verdict
from tui_tuner.checks.places import opened, pair_named
from tui_tuner.problem.candidate import baseline


def main() -> None:
    """Print the figures that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", type=Path, nargs="?", help="compared with itself; without one the corpus is run")
    parser.add_argument("--other", type=Path, help="with this one instead, as one that is slower by a known share")
    parser.add_argument("--device", default="emulator")
    parser.add_argument("--comparisons", type=int, default=100)
    parser.add_argument("--delta", type=float, default=0.01)
    chosen = parser.parse_args()
    rows = corpus_rows() if chosen.kernel is None else [asyncio.run(comparison_row(chosen))]
    for row in rows:
        print(row)


def corpus_rows() -> Iterator[str]:
    """One a kernel of the corpus: cheats, those of them caught for the right reason, honest tricks, those refused."""
    from tests.trust.test_corpus import CORPUS, FAMILIES, VARIANT, built_runtime, family

    yield "| kernel | cheats and faults | caught for the right reason | honest tricks | refused |"
    yield "|---|---|---|---|---|"
    with TemporaryDirectory() as directory:
        runtime = built_runtime(Path(directory))
        for name in FAMILIES:
            (place := Path(directory) / name).mkdir()
            made = family(name, place, runtime)
            counts: Counter[str] = Counter()
            for expected, variant in VARIANT.findall((CORPUS / f"{name}.cu").read_text()):
                kind = "honest" if expected == "accepted" else "cheat"
                counts[kind] += 1
                counts[f"{kind} right"] += made.verdict(variant).startswith(expected)
            refused = counts["honest"] - counts["honest right"]
            yield f"| {name} | {counts['cheat']} | {counts['cheat right']} | {counts['honest']} | {refused} |"


async def comparison_row(chosen: argparse.Namespace) -> str:
    """How often a session would have accepted, and what `compare` would say of the same intervals."""
    pair = await asyncio.to_thread(pair_named, chosen.kernel, chosen.other or chosen.kernel)
    said: Counter[str] = Counter()
    async with opened(pair.problem, chosen.device, allow_unconfined=False) as machine:
        given = baseline(machine.problem)
        first, other = ((one, one.default_configuration) for one in (given, pair.second))
        await machine.evaluator.evaluate(*other, best_ms=None)
        for _ in range(chosen.comparisons):
            said[verdict(await machine.evaluator.compare(first, other, chosen.delta), chosen.delta)] += 1
        device = machine.report.device.name
    counts = ", ".join(f"{count} {word}" for word, count in said.most_common())
    return f"| {chosen.other or chosen.kernel} against {chosen.kernel} | {device} | {chosen.comparisons} | {counts} |"


if __name__ == "__main__":
    main()
