"""What the example sessions of a problem show: every prompt, what is put back, and how many calls a step takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from docs.prompting.scenes import first_asked, good_path, good_scenes, limit_of, other_scenes
from docs.prompting.session import requests_of
from docs.prompting.triton import triton_scenes
from tui_tuner.llm import Request
from tui_tuner.problem.model import Problem

_PLANS = ("plan", "replan")


@dataclass(frozen=True)
class Asked:
    """A prompt that has a section of its own.

    Attributes:
        heading: its purpose, and the occasion where there are several.
        scene: the session to take it from.
        when: by which strategy it is asked, and at which point.
    """

    heading: str
    scene: str
    when: str

    @property
    def purpose(self) -> str:
        """As the program names it."""
        return self.heading.partition(",")[0]


ASKED = (
    Asked("plan", "history", "By `autonomous`, once the kernel as given is tuned."),
    Asked(
        "plan, refused before",
        "plan refused",
        "By `autonomous`, after the programmer said what is wrong with a plan; at most three plans are put to them.",
    ),
    Asked(
        "validate_step",
        "history",
        "By `autonomous` with `validate_steps`, before each planned step, but not before a step that the programmer "
        "put into the plan.",
    ),
    Asked(
        "break_down",
        "`autonomous` with `breakdown_steps`",
        "By `autonomous` with `breakdown_steps`, before each planned step that was not broken down `max_breakdowns` "
        "times already.",
    ),
    Asked("apply_step", "history", "By `autonomous` and by `CustomStrategy.develop`, to carry a step out."),
    Asked(
        "apply_step, with parameters",
        "`explicit`",
        "By `explicit` and by `CustomStrategy.develop`, to carry out a step that introduces tunables.",
    ),
    Asked(
        "apply_step, another kernel",
        "several",
        "By strategies that rewrite, with `candidates` above 1, for each kernel of a step but the first; `one_prompt` "
        "adds the same.",
    ),
    Asked(
        "replan",
        "history",
        "By `autonomous` with `with_replanning`, when the plan is worked through, at most `max_replanning` times.",
    ),
    Asked(
        "worth_step",
        "judged",
        "By `explicit`, before a step that does not have `skip_evaluation`, with up to four of those behind it, which "
        "are judged with it where it is not worth doing.",
    ),
    Asked("one_prompt", "`one_prompt`", "By `one_prompt`, once the kernel as given is tuned."),
    Asked(
        "one_prompt, of a kernel in Triton",
        "Triton",
        "The same for a kernel in Triton, with all techniques, since nothing tells what holds it back; other prompts "
        "for a rewritten kernel end in the same way.",
    ),
    Asked("plan, of a kernel in Triton", "Triton, planned", "By `autonomous`, once the kernel as given is tuned."),
    Asked(
        "fix_parameters", "custom", "By `CustomStrategy.fix_parameters`, where a strategy of the user's own calls it."
    ),
    Asked(
        "restrictions", "custom", "By `CustomStrategy.ask_restrictions`, where a strategy of the user's own calls it."
    ),
    Asked(
        "first_configurations",
        "rounds",
        "By `llm_search`, and in any search of parameters with `--search llm` or `hybrid`, while the default "
        "configuration and the seeds are measured.",
    ),
    Asked("more_configurations", "rounds", "In each later round, with all that was measured."),
    Asked(
        "propose_tests",
        "no tests",
        "At the beginning of a session of any strategy that needs a model, where the problem file has no tests.",
    ),
)


@dataclass(frozen=True)
class Prompt:
    """A prompt as it is sent.

    Attributes:
        calls: of the model for this question, at most.
    """

    heading: str
    when: str
    request: Request
    calls: int


@dataclass(frozen=True)
class StepCalls:
    """Calls of the model for one step.

    Attributes:
        purposes: of the calls when all goes well.
        most: as many as there can be.
    """

    strategy: str
    purposes: list[str]
    most: int


@dataclass(frozen=True)
class Collected:
    """All that the document shows.

    Attributes:
        words: what the programmer's words add to a prompt.
        put_back: the messages after replies that cannot be used.
    """

    prompts: list[Prompt]
    calls: list[StepCalls]
    words: str
    put_back: list[str]


async def collect(problem: Problem) -> Collected:
    """Run the example sessions of a problem.

    Raises:
        ValueError: a session asks for something that has no section, or an answer that should be of use is not.
    """
    good = good_scenes(problem)
    scenes = {**good, **other_scenes(problem), **triton_scenes()}
    requests = {name: await requests_of(scene) for name, scene in scenes.items()}
    _check_sections(requests)
    prompts = [
        Prompt(a.heading, a.when, first_asked(requests[a.scene])[a.purpose], await limit_of(scenes[a.scene], a.purpose))
        for a in ASKED
    ]
    limits = {prompt.request.purpose: prompt.calls for prompt in prompts}
    calls = [_step_calls(name, good_path(requests[name]), limits) for name in good]
    plain, told = (requests[name][-1].messages[-1].content for name in ("`one_prompt`", "words"))
    put_back = [request.messages[-1].content for request in requests["put back"][1:]]
    return Collected(prompts, calls, told.removeprefix(plain).strip(), put_back)


def _step_calls(strategy: str, asked: Sequence[str], limits: Mapping[str, int]) -> StepCalls:
    purposes = [purpose for purpose in asked if purpose not in _PLANS]
    return StepCalls(strategy, purposes, sum(limits[purpose] for purpose in purposes))


def _check_sections(requests: Mapping[str, Sequence[Request]]) -> None:
    known = {asked.purpose for asked in ASKED}
    for name, asked in requests.items():
        unknown = {request.purpose for request in asked} - known
        if unknown:
            raise ValueError(f"session '{name}' asks for what has no section: {', '.join(sorted(unknown))}")
