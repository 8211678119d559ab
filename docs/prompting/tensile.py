"""The prompts of a Tensile session: one for a configuration that is too large, and one of the recorded session."""

from __future__ import annotations

from docs.prompting.collected import Prompt
from tui_tuner.llm import Request
from tui_tuner.llm.replay import read_replies
from tui_tuner.llm.typed import schema_of
from tui_tuner.resources import samples_directory
from tui_tuner.strategies.base import ATTEMPTS
from tui_tuner.tensile.document.reading import read_configuration
from tui_tuner.tensile.history import Advice, History
from tui_tuner.tensile.knowledge.known import knowledge_for
from tui_tuner.tensile.knowledge.starting_points import starting_facts
from tui_tuner.tensile.prompt import PromptContext, prompt
from tui_tuner.tensile.rounds import REDUCE

_LIMIT = 4


def tensile_prompts() -> list[Prompt]:
    """The two, each with the schema of its reply."""
    schema = schema_of(Advice)
    next_one = read_replies(samples_directory() / "tensile" / "recorded" / "journal.jsonl")[1].request
    when = (
        ("tensile_first", "By `tuner-tui tensile`, where nothing is measured yet, and with `--advice`.", _first()),
        ("tensile_next", "In each round with results; this one is of the recorded session.", next_one),
    )
    return [
        Prompt(purpose, words, Request(purpose, tuple(request.messages), schema=schema), ATTEMPTS)
        for purpose, words, request in when
    ]


def _first() -> Request:
    configuration = read_configuration(samples_directory() / "tensile" / "gemm.yaml")
    knowledge = knowledge_for(configuration)
    asked = PromptContext(
        configuration,
        History(configuration, knowledge.table.default),
        knowledge,
        f"{knowledge.gpu_words('MI210')}\n{starting_facts(configuration, knowledge.gpu('MI210'), knowledge.table)}",
        _LIMIT,
        None,
        number=1,
        rounds=6,
        why=REDUCE.format(count=configuration.permutations, limit=_LIMIT),
    )
    return Request(asked.purpose, tuple(prompt(asked, None)[0]))
