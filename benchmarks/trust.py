"""The figures of docs/trust.md: the corpus of cheats and honest tricks, and a kernel compared with itself.

    python -m benchmarks.trust [--device cuda] [--only fourier look_back]  # the corpus, or some of it
    python -m benchmarks.trust --corpus my_cheats --each                   # kernels of your own, with each verdict
    python -m benchmarks.trust sample_kernels/matmul.toml --device cuda --comparisons 1000
    python -m benchmarks.trust kernel.cu --other slower.cu --comparisons 100 --device cuda

Prints rows of a Markdown table. Run from the root of a checkout, since the corpus is with the tests.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from tui_tuner.checks.places import opened, pair_named
from tui_tuner.evaluate.evaluator import verdict
from tui_tuner.evaluate.local import LocalEvaluator
from tui_tuner.problem.candidate import Candidate, baseline
from tui_tuner.problem.load import load_problem

CORPUS = Path(__file__).parents[1] / "tests/trust/corpus"
_VARIANT = re.compile(r"// expect(?: on (\w+))?: (.+)\n__global__ void (?:__launch_bounds__\(.+?\) )?(\w+)\(")
DELTA = 0.01
"""By how much a kernel has to be faster to be accepted."""


def variants(source: str, device: str) -> dict[str, str]:
    """The variants of a kernel as given, each with the verdict that it must get on a device of such a name.

    Those of other devices alone are left out: no tool there sees them, or no build is theirs.
    """
    return {name: verdict for on, verdict, name in _VARIANT.findall(source) if device.startswith(on)}


def main() -> None:
    """Print the figures that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernel", type=Path, nargs="?", help="compared with itself; without one the corpus is run")
    parser.add_argument("--other", type=Path, help="with this one instead, as one that is slower by a known share")
    parser.add_argument("--device", default="emulator")
    form = "like tests/trust/corpus: `// expect: VERDICT`, or `expect on DEVICE`, stands above each one"
    parser.add_argument("--corpus", type=Path, default=CORPUS, help=form)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these kernels of the corpus")
    parser.add_argument("--each", action="store_true", help="tell what each came to, and not only what was wrong")
    parser.add_argument("--comparisons", type=int, default=100)
    parser.add_argument("--time", type=float, default=float("inf"), help="no comparison begins after so many seconds")
    parser.add_argument("--delta", type=float, default=DELTA)
    chosen = parser.parse_args()
    asyncio.run(print_rows(chosen))


async def print_rows(chosen: argparse.Namespace) -> None:
    """Print the figures, each as soon as it is there."""
    if chosen.kernel is not None:
        print(await comparison_row(chosen))
        return
    async for row in corpus_rows(chosen.device, chosen.corpus, chosen.only, chosen.each):
        print(row, flush=True)


async def corpus_rows(
    device: str, corpus: Path = CORPUS, only: Sequence[str] | None = None, each: bool = False
) -> AsyncIterator[str]:
    """One a kernel of the corpus: cheats, those of them caught for the right reason, honest tricks, those refused.

    Verdicts that are not as expected follow it, or all of them.
    """
    yield "| kernel | cheats and faults | caught for the right reason | honest tricks | refused |"
    yield "|---|---|---|---|---|"
    for file in sorted(corpus.glob("*.toml")):
        if only is not None and file.stem not in only:
            continue
        counts: Counter[str] = Counter()
        told = []
        problem = load_problem(file)
        expected = variants(problem.source_text, device)
        async with opened(problem, device, allow_unconfined=False) as machine:
            verdicts = await _verdicts(machine.evaluator, baseline(machine.problem), [*expected])
        for variant, said in verdicts.items():
            kind = "honest" if expected[variant] == "accepted" else "cheat"
            counts[kind] += 1
            right = said.startswith(tuple(expected[variant].split(" or ")))
            counts[f"{kind} right"] += right
            if each or not right:
                told.append(f"  {'' if right else 'NOT '}as expected: {variant}: {expected[variant]} expected, {said}")
        refused = counts["honest"] - counts["honest right"]
        yield f"| {file.stem} | {counts['cheat']} | {counts['cheat right']} | {counts['honest']} | {refused} |"
        for line in told:
            yield line


async def _verdicts(evaluator: LocalEvaluator, given: Candidate, variants: list[str]) -> dict[str, str]:
    """What each kernel of the file comes to: accepted, or why not."""
    candidates = [given.model_copy(update={"kernel": variant}) for variant in variants]
    evaluations = await asyncio.gather(*(evaluator.evaluate(one, {}, best_ms=None) for one in candidates))
    verdicts = {}
    for variant, candidate, evaluation in zip(variants, candidates, evaluations, strict=True):
        failure, factor = evaluation.failure, ""
        if failure is None:
            comparison = await evaluator.compare((given, {}), (candidate, {}), DELTA)
            failure, is_faster = comparison.failure, comparison.low > 1 + DELTA
            factor = f"{comparison.ratio:.3g}x, " + ("which is faster" if is_faster else "which is no gain")
        if failure is None:
            failure = await evaluator.accusation(candidate, {})
        verdicts[variant] = f"accepted as right: {factor}" if failure is None else failure.in_words
    return verdicts


async def comparison_row(chosen: argparse.Namespace) -> str:
    """How often a session would have accepted, and what `compare` would say of the same intervals."""
    pair = await asyncio.to_thread(pair_named, chosen.kernel, chosen.other or chosen.kernel)
    said: Counter[str] = Counter()
    async with opened(pair.problem, chosen.device, allow_unconfined=False) as machine:
        given = baseline(machine.problem)
        first, other = ((one, one.default_configuration) for one in (given, pair.second))
        await machine.evaluator.evaluate(*other, best_ms=None)
        end = time.monotonic() + chosen.time
        while said.total() < chosen.comparisons and time.monotonic() < end:
            said[verdict(await machine.evaluator.compare(first, other, chosen.delta), chosen.delta)] += 1
        device = machine.report.device.name
    counts = ", ".join(f"{count} {word}" for word, count in said.most_common())
    return f"| {chosen.other or chosen.kernel} against {chosen.kernel} | {device} | {said.total()} | {counts} |"


if __name__ == "__main__":
    main()
