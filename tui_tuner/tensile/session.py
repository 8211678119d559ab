"""A Tensile session: drives the rounds, records their effects, and tells the story as one stream of events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import yaml

from tui_tuner.evaluate.results import DeviceInfo
from tui_tuner.llm import Backend
from tui_tuner.resources import __version__
from tui_tuner.session.events import DeviceReady, Note, SessionStarted
from tui_tuner.session.plan import Plan
from tui_tuner.session.stream import EventStream
from tui_tuner.strategies.base import BudgetSpent, ModelFailed
from tui_tuner.strategies.steps import Approver
from tui_tuner.subjects import Subject
from tui_tuner.tensile import TENSILE
from tui_tuner.tensile.document import (
    BenchmarkConfiguration,
    ParameterTable,
    ParameterValue,
    SizeGroup,
    distinct,
    value_text,
)
from tui_tuner.tensile.document.reading import COMMON, DEAD, FINAL, FORK, GROUPS, group_nodes
from tui_tuner.tensile.document.yaml_text import child, compose, is_null, items, line_of, pairs
from tui_tuner.tensile.effects import TensileEffects
from tui_tuner.tensile.events import text_of
from tui_tuner.tensile.finals import Finals, metrics, run_finals
from tui_tuner.tensile.history import History, MeasuredRound
from tui_tuner.tensile.knowledge.known import Knowledge
from tui_tuner.tensile.library.files import logic_of_run
from tui_tuner.tensile.measure import TensileBench
from tui_tuner.tensile.outcome import mean_gain
from tui_tuner.tensile.report import RoundSummary, TensileOutcome, write_report
from tui_tuner.tensile.rounds import TensileRounds
from tui_tuner.tensile.run_directory import TensileRun

EDITED, WINNERS = "best.yaml", "winners.yaml"
_NOBODY_EDITS = "you chose to ask the model nothing more, and nothing else edits the configuration"
_SANDBOX = "Tensile builds and runs kernels as it always does; a model reaches it through checked values only"


class TensileSession(EventStream):
    """A live, resumed or replayed session.

    Args:
        bench: None in a replay.
        backend: None where there is no model, and in a replay.
    """

    def __init__(
        self,
        run: TensileRun,
        knowledge: Knowledge,
        bench: TensileBench | None,
        backend: Backend | None,
        *,
        max_tokens: int = 16384,
    ) -> None:
        super().__init__(run, backend, max_tokens, f"{run.configuration.file.name} | tensile")
        self._run = run
        self._knowledge = knowledge
        self._bench = bench

    @property
    def subject(self) -> Subject:
        """What the session is about."""
        return TENSILE

    async def _tune(self, approver: Approver) -> None:
        effects = TensileEffects(
            self._run,
            self._bench,
            self._recall,
            self._budget,
            self._conversation,
            Plan(approver, self._recall, self._emit, self._controls),
            self._inbox,
            self._emit,
        )
        started = await effects.start()
        self._emit(DeviceReady(device=self._device(started), sandbox=_SANDBOX))
        verdict = await effects.first_verdict()
        if verdict is not None:
            given = self._run.configuration
            self._knowledge = self._knowledge.of_installed(verdict.table, started["version"], given)
        self._tell_notices()
        effects.take_words()
        # a session that began before this was asked goes on as it was judged then
        noise = None if verdict is None else self._run.settings.min_gain
        rounds = TensileRounds(effects, self._knowledge, noise)
        reason = await self._run_rounds(rounds, effects)
        finals = await run_finals(effects, rounds.history)
        self._finish(rounds.history, finals, reason, started["version"])

    def _tell_notices(self) -> None:
        table = self._knowledge.table
        self._emit(Note(text=f"valid values: {table.name}, {table.source}"))
        missing = self._knowledge.missing_gpu(self._run.settings.gpu or "")
        if missing and self._run.settings.max_rounds:
            later = "" if self._run.settings.gpu else "; what Tensile prints is used from the second round on"
            self._emit(Note(level="warning" if self._run.settings.gpu else "info", text=f"{missing}{later}"))
        for text in notices(self._run.configuration, table):
            self._emit(Note(level="warning", text=text))

    async def _run_rounds(self, rounds: TensileRounds, effects: TensileEffects) -> str:
        try:
            return await rounds.run()
        except BudgetSpent as spent:
            return _NOBODY_EDITS if self._conversation.is_over else str(spent)
        except ModelFailed as failed:
            effects.note(str(failed), warning=True)
            return f"the model failed: {failed}"

    def _finish(self, history: History, finals: Finals, reason: str, version: str) -> None:
        outcome = self._outcome(history, finals, reason, version)
        result = None
        if self._run.journal.writable:
            path = self._run.path
            (path / EDITED).write_bytes(history.current.text.encode("utf-8"))
            if finals.winners is not None:
                (path / WINNERS).write_bytes(finals.winners.text.encode("utf-8"))
            write_report(path, outcome)
            result = str(outcome.write(path))
        self._emit(self._finished(outcome.status, reason, speedup=outcome.gain, result=result))

    def _outcome(self, history: History, finals: Finals, reason: str, version: str) -> TensileOutcome:
        return TensileOutcome(
            program=__version__,
            configuration=self._run.configuration.file.name,
            status=self._status(history, finals),
            reason=reason,
            model=self._run.model,
            tensile=version,
            device=self._gpu(history),
            winners=list(history.winners.values()),
            rounds=[_summary_of(one) for one in history.rounds],
            gain=finals.speedup,
            metrics=metrics(history, finals.runs),
            permutations=self._budget.evaluations,
            model_calls=self._budget.model_calls,
            cost=self._budget.cost,
            elapsed_s=round(self._recall.elapsed, 3),
            edited=EDITED,
            winners_file=None if finals.winners is None else WINNERS,
            library_logic=[str(file.relative_to(self._run.path)) for file in logic_of_run(self._run.path)],
        )

    def _status(self, history: History, finals: Finals) -> Literal["finished", "no_improvement", "failed"]:
        """An improvement is one that every run of the finalists shows; without them, one that the rounds saw."""
        if history.first is None:
            return "failed"
        if finals.gains:
            return "finished" if min(finals.gains) > 1 else "no_improvement"
        gain = mean_gain(history.winners.values()) or 1.0
        return "finished" if gain >= 1 + self._run.settings.min_gain else "no_improvement"

    def _gpu(self, history: History) -> str:
        first = history.first
        return self._run.settings.gpu or ("" if first is None else first.outcome.device)

    def _device(self, started: dict[str, Any]) -> DeviceInfo:
        name = self._run.settings.gpu or "AMD GPU"
        return DeviceInfo(kind="tensile", name=name, backend=f"Tensile {started['version']}".strip())

    def _started(self) -> SessionStarted:
        run = self._run
        given = text_of(run.configuration, "as given")
        return self._begun(run.configuration.file.name, "yaml", run.options.strategy, given)


def _summary_of(one: MeasuredRound) -> RoundSummary:
    failure = one.outcome.failure
    return RoundSummary(
        number=one.number,
        edits=[edit.words() for edit, _, _ in one.edits],
        permutations=one.configuration.permutations,
        seconds=one.outcome.seconds,
        gain=one.gain,
        failure=None if failure is None else f"{failure.kind}: {failure.message}",
    )


_READ = (COMMON, FORK, FINAL, "CustomKernels", "InternalSupportParams", *DEAD)
_READ_ALTERNATE = ("GlobalParameters", "ProblemType", COMMON, FORK, "LibraryLogic", "LibraryClient", "TestParameters")
"""Keys that mean something, of a size group and at the top of the alternate format."""


def notices(configuration: BenchmarkConfiguration, table: ParameterTable) -> list[str]:
    """One line each, with the line of the file where there is one."""
    root = compose(configuration.text, configuration.file)
    found: list[str] = []
    for group, (_, _, _, node) in zip(configuration.size_groups, group_nodes(root), strict=True):
        found += _of_keys(node, _READ_ALTERNATE if configuration.alternate else _READ)
        found += _of_text(node)
        found += [f"line {line}: {text}" for line, text in _of_space(group, node, table)]
    outside = child(root, "GroupForkParameters")
    if outside is not None and not configuration.alternate:
        found.append(_unread("GroupForkParameters", outside))
    return found


def _of_keys(node: yaml.Node, read: Sequence[str]) -> Iterator[str]:
    """Keys that count for nothing."""
    keys = [key for key, _ in pairs(node)]
    for key in keys:
        if key.value not in read:
            yield _unread(key.value, key)
    own = [key for key, _ in node.value] if isinstance(node, yaml.MappingNode) else []
    for name in [name for name, times in Counter(key.value for key in own).items() if times > 1]:
        yield f"line {line_of(_last(own, name))}: {name} stands more than once in its size group: only this one counts"
    kernels = child(node, "CustomKernels")
    if not is_null(child(node, "InternalSupportParams")) and (is_null(kernels) or not items(kernels)):
        yield f"line {line_of(node)}: InternalSupportParams needs CustomKernels beside it: TensileLite ends over it"


def _of_text(node: yaml.Node) -> Iterator[str]:
    """What only the text shows."""
    for section in (COMMON, FORK):
        keys = [key for key, _ in _entries(node, section)]
        for name, times in Counter(key.value for key in keys).items():
            if times > 1:
                line = line_of(_last(keys, name))
                yield f"line {line}: {name} stands {times} times in {section}: only this one counts"
    forked = {key.value for key, _ in _entries(node, FORK)}
    for key in [key for key, _ in _entries(node, COMMON) if key.value in forked]:
        yield f"line {line_of(key)}: {key.value} stands in {FORK} as well, which wins: this one counts for nothing"


def _last(keys: Sequence[yaml.ScalarNode], name: str) -> yaml.ScalarNode:
    return [key for key in keys if key.value == name][-1]


def _unread(name: str, node: yaml.Node) -> str:
    way_out = f": put the alternatives into {GROUPS} of {FORK}" if name == "GroupForkParameters" else ""
    return f"line {line_of(node)}: {name} is read nowhere in Tensile{way_out}"


_Told = Iterator[tuple[int, str]]
"""Lines of the file, and what there is to say of each."""


def _of_space(group: SizeGroup, node: yaml.Node, table: ParameterTable) -> _Told:
    written = {key.value: (key, values) for section in (COMMON, FORK) for key, values in _entries(node, section)}
    for name, values in group.parameters.items():
        key, nodes = written[name]
        if not values:
            yield line_of(key), f"{name} has an empty list: it vanishes, and its default with it"
        if len(distinct(list(values))) < len(values):
            yield line_of(key), f"{name} has a value more than once: each counts as a permutation and is built"
        yield from _faults([(name, value, at) for value, at in zip(values, items(nodes), strict=True)], table)
    groups = {key.value: values for key, values in _entries(node, FORK)}.get(GROUPS)
    for number, (alternatives, of_group) in enumerate(zip(group.groups, items(groups), strict=True)):
        yield from ((line_of(of_group), text) for text in _of_group(group, number))
        for alternative, at in zip(alternatives, items(of_group), strict=True):
            places = {key.value: key for key, _ in pairs(at)}
            yield from _faults([(name, value, places[name]) for name, value in alternative.items()], table)
    if group.custom_kernels:
        yield group.line, "CustomKernels are built and timed as well, and not counted among the permutations"
    if not group.permutations:
        yield group.line, "there is no permutation at all"
    if not group.sizes.count:
        yield group.line, "there is no problem size to benchmark"


def _entries(node: yaml.Node, section: str) -> list[tuple[yaml.ScalarNode, yaml.Node]]:
    return [pair for entry in items(child(node, section)) for pair in pairs(entry)]


def _faults(values: Sequence[tuple[str, ParameterValue, yaml.Node]], table: ParameterTable) -> _Told:
    """What Tensile does not take, each once where several values have the same fault."""
    told: dict[str, int] = {}
    for name, value, node in values:
        if (fault := table.fault(name, value)) is not None:
            told.setdefault(fault, line_of(node))
    yield from ((line, f"not in the table of valid values: {fault}") for fault, line in told.items())


def _of_group(group: SizeGroup, number: int) -> Iterator[str]:
    alternatives = group.groups[number]
    if not alternatives:
        yield f"group {number} is empty: it leaves no permutation"
        return
    names = {name for alternative in alternatives for name in alternative}
    for name in sorted(names):
        if name in group.forked:
            values = ", ".join(map(value_text, group.forked[name]))
            yield f"{name} is forked ({values}) and set by group {number}, which wins: the fork only makes duplicates"
        if any(name not in alternative for alternative in alternatives):
            yield f"alternatives of group {number} without {name} do not have the others' value of it"
        if any(name in alternative for other in group.groups[:number] for alternative in other):
            yield f"{name} is set by group {number} and by one before it, which loses"
