"""The base class for strategies of the user's own: what the built-in strategies do, as methods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict

from tui_tuner.evaluate.profiling import NO_PROFILE, Profile
from tui_tuner.evaluate.results import Evaluation
from tui_tuner.llm import Message
from tui_tuner.problem.candidate import Candidate
from tui_tuner.problem.model import Configuration, Value
from tui_tuner.prompts import question
from tui_tuner.strategies.base import Effects, ReplyType
from tui_tuner.strategies.history import Outcome, best_of, history_facts
from tui_tuner.strategies.parameters import freeze_settled, search_parameters
from tui_tuner.strategies.rewriting import StartingPoint, StepBrief, known_situation
from tui_tuner.strategies.rewriting.development import carry_out
from tui_tuner.strategies.rewriting.extraction import AskPrompt, kernel_in, with_parameters, with_restrictions
from tui_tuner.strategies.rewriting.failures import BuildFailed, CandidateFailed, Rejected, failure_of
from tui_tuner.strategies.rewriting.line import challenge_or_reject, rejected
from tui_tuner.strategies.single_step import ModelStrategy, share_of, tune_baseline_first, tune_incumbent_last
from tui_tuner.strategies.steps import EditedAgain, Step, StepState, as_wanted

Used = TypeVar("Used")
_UNBUILT_UP_TO = 8
"""Sessions that began with a wording up to this gave an edit to the strategy as it was."""
_EDIT_AGAIN = "Your edit cannot be built: {}. Edit it again, or approve it as it stands."


class TextReply(BaseModel):
    """Free text."""

    model_config = ConfigDict(extra="forbid")

    text: str


class CustomStrategy(ModelStrategy):
    """A strategy of your own: give it `async def run(self, session)`, and fields for its options.

    `run` is ordinary async Python over the methods here and those of `session` (`tui_tuner.Effects`). It must do the
    same each time when it gets the same answers: no clock, no files, no randomness but from `session.seed`. Then
    resume and replay work by themselves. Every method here may raise `BudgetSpent`: let it pass, the session ends
    with the best that was found. Set `needs_model = False` if it never asks one.
    """

    needs_model: ClassVar[bool] = True

    # --- working through a plan

    async def tune_baseline(self, session: Effects) -> None:
        """Tune the kernel as given with a quarter of the evaluations: what a rewrite has to beat."""
        await tune_baseline_first(session)

    async def develop(
        self,
        session: Effects,
        step: Step,
        *,
        base: Candidate | None = None,
        parameters: Mapping[str, Sequence[Value]] | None = None,
        evaluations: int | None = None,
        neutral_from: float | None = None,
        outcomes: Sequence[Outcome] = (),
    ) -> Outcome:
        """Carry a step out as the built-in strategies do: the model rewrites the kernel as the step's words say.

        The machine checks, searches and decides; what fails is put back to the model as `retry_policy` says.

        Args:
            base: the kernel that is rewritten; None for the best.
            parameters: tunables that the step introduces, with their values.
            evaluations: configurations that may be measured for it; None for a fair share.
            neutral_from: factor over the best from which a kernel that is not faster is called neutral.
            outcomes: what came of earlier steps; the model sees it.
        """
        base = base or session.incumbent.candidate
        known = best_of(session.bench.evaluations_of(base))
        start = base.default_configuration if known is None else known.configuration
        evaluations = evaluations or share_of(session, len(session.proposed_steps()))
        brief = StepBrief(
            StartingPoint(base, start),
            evaluations,
            outcomes,
            parameters=parameters or {},
            neutral_from=neutral_from,
            candidates=self.candidates,
        )
        return await carry_out(session, step, brief, self.retry_policy)

    async def tune_best(self, session: Effects) -> None:
        """Spend what evaluations are left on the parameters of the best kernel."""
        await tune_incumbent_last(session)

    # --- asking the model

    async def ask(
        self,
        session: Effects,
        prompt: str,
        reply_type: type[ReplyType],
        check: Callable[[ReplyType], list[str]] = lambda _: [],
        *,
        purpose: str = "custom",
    ) -> ReplyType:
        """A typed reply; its fields are whatever Pydantic model you give.

        Args:
            check: lists what else is wrong with a reply, in words for the model, which is then asked again.
            purpose: names the prompt in the journal and on the screen.

        Raises:
            ModelFailed: it gives no usable reply.
        """
        return await session.ask(purpose, question(prompt), reply_type, check, self.retry_policy.attempts)

    async def ask_until(
        self,
        session: Effects,
        prompt: str,
        reply_type: type[ReplyType],
        use: Callable[[ReplyType], Awaitable[Used]],
        *,
        purpose: str = "custom",
    ) -> Used:
        """What `use` makes of a reply; what it raises as a `CandidateFailed` is put back, as `retry_policy` says.

        Refused replies and failed kernels count against the same `attempts`. To put back what an evaluation came to,
        raise `failure_of(evaluation)`.

        Raises:
            CandidateFailed: that of the last attempt, or one that is final.
            ModelFailed: it gives no usable reply.
        """
        policy, messages = self.retry_policy, question(prompt)
        last = session.budget.model_calls + policy.attempts
        while True:
            left = last - session.budget.model_calls
            reply = await session.ask(purpose, messages, reply_type, lambda _: [], left)
            try:
                return await use(reply)
            except CandidateFailed as failed:
                if session.budget.model_calls >= last or not policy.puts_back(failed):
                    raise
                said = Message("assistant", reply.model_dump_json())
                messages = [*messages, said, Message("user", policy.message(failed))]

    async def ask_text(self, session: Effects, prompt: str, *, purpose: str = "custom") -> str:
        """Free text.

        Raises:
            ModelFailed: it gives none.
        """
        return (await self.ask(session, prompt, TextReply, purpose=purpose)).text

    def facts(
        self,
        session: Effects,
        candidate: Candidate,
        outcomes: Sequence[Outcome] = (),
        profile: Profile = NO_PROFILE,
    ) -> str:
        """Device, kernel, launch, sizes, measurements and the outcomes of earlier steps, as text for a prompt.

        Args:
            profile: what `session.profile` tells of the best configuration that is known of the candidate.
        """
        return known_situation(session, candidate, history_facts(outcomes), profile)

    # --- from the model's words to a candidate

    def extract_kernel(self, text: str, session: Effects) -> str:
        """The kernel in a model's text: its fenced block, without definitions of tunables, its signature checked.

        Raises:
            UnusableKernel: there is none, or it takes other arguments, or it is text that is not built.
        """
        return kernel_in(text, session)

    async def fix_parameters(self, session: Effects, candidate: Candidate, names: Sequence[str]) -> Candidate:
        """The candidate with these names in its code made tunables; the model chooses values for those that are new.

        Tunables that it has stay as they are. Another spelling of one becomes that one. Definitions of new ones are
        taken out of the code, and names that do not occur are left out.

        Raises:
            UnusableKernel: a name means the same as a tunable that occurs itself.
            ModelFailed: the model names no usable values.
        """
        return await with_parameters(self._asking(session), session, candidate, names)

    async def ask_restrictions(self, session: Effects, candidate: Candidate) -> Candidate:
        """The candidate with what the model says that every configuration of it must satisfy.

        What cannot be read, what leaves no configuration and what forbids the default one is put back to the model
        with the reason; what always holds is dropped.

        Raises:
            ModelFailed: the model names no usable restrictions.
        """
        return await with_restrictions(self._asking(session), session, candidate)

    def _asking(self, session: Effects) -> AskPrompt:
        async def ask(
            purpose: str, prompt: str, reply_type: type[ReplyType], check: Callable[[ReplyType], list[str]]
        ) -> ReplyType:
            return await self.ask(session, prompt, reply_type, check, purpose=purpose)

        return ask

    async def approved(
        self, session: Effects, step: Step, candidate: Candidate, rationale: str = ""
    ) -> Candidate | None:
        """Put a candidate to the user: as it is, as they edited it, or None if they do not want it.

        An edit is built and measured at its default configuration; one that cannot be built is put to the user again,
        who may edit it again or approve it as it stands. The step is shown as running, or as skipped or rejected with
        what they said.
        """
        builds = session.wording > _UNBUILT_UP_TO

        async def built(tried: Candidate) -> None:
            session.update_step(step.now(StepState.RUNNING))
            if builds and tried != candidate:
                evaluation = await self.run_tests(session, tried)
                if evaluation.failure is not None and isinstance(failed := failure_of(evaluation), BuildFailed):
                    raise failed

        wanted = await as_wanted(
            lambda source, words: session.approve(step, source, words),
            candidate,
            rationale,
            built,
            EditedAgain(BuildFailed, _EDIT_AGAIN, asks=builds),
        )
        if wanted.decision.action == "skip":
            session.update_step(step.now(StepState.SKIPPED, reason="skipped by hand"))
            return None
        if wanted.decision.action == "reject":
            rejected(session, step, Rejected(wanted.decision.message))
            return None
        return wanted.source

    # --- measuring and deciding

    async def run_tests(
        self, session: Effects, candidate: Candidate, configuration: Configuration | None = None
    ) -> Evaluation:
        """Build, verify at every test and time one configuration; None for the default one.

        A kernel that fails is a result like any other: see `failure`. What was evaluated before costs nothing.
        """
        return (await session.evaluate(candidate, [configuration or candidate.default_configuration]))[0]

    async def tune_parameters(
        self, session: Effects, candidate: Candidate, max_evaluations: int | None = None
    ) -> Evaluation | None:
        """Search a candidate's tunables; the best evaluation known of it, None if none passes the checks.

        Args:
            max_evaluations: configurations at most; None for all that are left.
        """
        most = session.budget.evaluations_left if max_evaluations is None else max_evaluations
        return await search_parameters(session, candidate, most)

    async def accept(
        self,
        session: Effects,
        step: Step,
        candidate: Candidate,
        best: Evaluation | None,
        neutral_from: float | None = None,
    ) -> Step:
        """Time a candidate's best configuration against the best so far; it takes its place if it is faster.

        Args:
            best: the evaluation that `tune_parameters` gives; None rejects the candidate.
            neutral_from: factor over the best from which a kernel that is not faster is called neutral.

        Returns:
            The step, accepted, neutral or rejected with the reason.
        """
        if best is None or best.timing is None:
            reason = "no configuration passed the checks"
            return session.update_step(step.now(StepState.REJECTED, reason=reason))
        step = await challenge_or_reject(session, step, candidate, best, neutral_from)
        freeze_settled(session, Outcome(step, candidate, best))
        return step
