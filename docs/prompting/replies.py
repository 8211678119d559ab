"""What the scripted model answers: to each purpose something of use, and some things that are of none."""

from __future__ import annotations

import json
from pathlib import Path

from docs.prompting.session import CUT
from tui_tuner.problem.candidate import baseline
from tui_tuner.problem.model import Problem
from tui_tuner.problem.space import SearchSpace
from tui_tuner.strategies.rewriting.extraction import reply_of
from tui_tuner.strategies.rewriting.rewrite import TunableReply

NO_JSON = "Certainly! Here is how I would do it."
CUT_OFF = f'{{"summary": "The loads of A and B {CUT}'
STAGES, RESULTS, BUFFERS = "Stage tiles in shared memory", "Several results a thread", "Double buffering"
_FITS = "It applies to this kernel and is not done yet."


def _json(**content: object) -> str:
    return json.dumps(content)


_SKIP = {"step": "loop_unrolling", "already_done": True, "reason": "The compiler does it."}
NOT_WORTH = _json(worth_doing=False, already_done=False, reason="No thread reads twice.", further=[_SKIP])
NO_STEP = _json(valid=False, reason="The kernel does it already.")


def answers_for(problem: Problem) -> dict[str, list[str]]:
    """A usable answer to every prompt."""
    _, name = rewritten(problem)
    size, timed = next(iter(problem.sizes.items()))
    tests = [{"sizes": [{"name": size, "value": value}], "inputs": []} for value in (timed - 1, 33, 7)]
    return {
        "plan": [plan(STAGES)],
        "replan": [plan()],
        "validate_step": [_json(valid=True, reason=_FITS)],
        "break_down": [_json(valid=True, reason=_FITS, steps=[])],
        "worth_step": [_json(worth_doing=True, already_done=False, reason=_FITS)],
        "apply_step": [rewrite(problem)],
        "one_prompt": [rewrite(problem)],
        "restrictions": [_json(restrictions=[])],
        "fix_parameters": [_json(parameters=[_tunable(name).model_dump()])],
        "propose_tests": [_json(tests=tests)],
        "first_configurations": [_chosen(problem, 2, 5)],
        "more_configurations": [_chosen(problem, 5, 8)],
    }


def _chosen(problem: Problem, begin: int, end: int) -> str:
    """Some valid configurations, by their place in the space."""
    space = SearchSpace(problem.tunables, problem.search.restrictions, sizes=problem.sizes)
    configurations = [{**one, "reason": "another shape"} for one in space.enumerate_valid(end)[begin:]]
    unlisted = {**configurations[0], next(iter(problem.tunables)): 7}
    return _json(analysis="The shape of a block decides.", configurations=[unlisted, *configurations])


def plan(*titles: str) -> str:
    """A plan of steps with these titles."""
    steps = [{"title": t, "description": f"{t}, as far as it pays.", "enabling": False, "builds_on": 0} for t in titles]
    return _json(summary="Every element of the inputs is read from global memory many times.", steps=steps)


def rewritten(problem: Problem) -> tuple[str, str]:
    """Another kernel for the problem, and the name of a tunable that is new in it."""
    if problem.kernel.name == "matmul":
        return Path(__file__).with_name("rewrite.cu").read_text("utf-8"), "tile_k"
    return _naming(problem.source_text, "work_per_thread"), "work_per_thread"


def rewrite(problem: Problem, *introduced: str) -> str:
    """A usable rewrite, with the names in it that a step introduces."""
    source, name = rewritten(problem)
    given = reply_of(baseline(problem))
    code = _naming(source, *introduced)
    return given.model_copy(
        update={"summary": "Fewer loads.", "code": code, "tunables": [_tunable(name)]}
    ).model_dump_json()


def faulty(problem: Problem) -> str:
    """A rewrite under another name, with a default that is not among the values."""
    given = reply_of(baseline(problem))
    code = problem.source_text.replace(f"{problem.kernel.name}(", "faster(")
    tunables = [TunableReply(name="unroll", values=[1, 2], default=4)]
    return given.model_copy(update={"code": code, "tunables": tunables}).model_dump_json()


def _tunable(name: str) -> TunableReply:
    return TunableReply(name=name, values=[8, 16, 32], default=16)


def _naming(source: str, *names: str) -> str:
    return source + "".join(f"\nconst int {name}_used = {name};\n" for name in names)
