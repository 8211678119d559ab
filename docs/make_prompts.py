"""Writes docs/prompts.md: every prompt with its size, as the program sends it in example sessions.

Usage, in the folder above: python -m docs.make_prompts
"""

from __future__ import annotations

import asyncio
import statistics
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from docs.prompting import failures
from docs.prompting.collected import Collected, Prompt, collect
from docs.prompting.drafting import drafting_prompts, put_back
from docs.prompting.fields import fields
from docs.prompting.recorded import RecordedReply, recorded_replies
from docs.prompting.session import sample
from docs.prompting.templates import fixed_tokens, template_names, templates_in
from docs.prompting.tensile import tensile_prompts
from tui_tuner.llm import Message
from tui_tuner.llm.prices import estimate, estimate_messages
from tui_tuner.llm.typed import schema_instruction

TARGET = Path(__file__).with_name("prompts.md")
KERNEL = "matmul"

INTRODUCTION = f"""\
# Prompts

Everything that the program says to a language model. Written by `python -m docs.make_prompts`, which runs the
strategies on an example and takes what they send; a test holds this file to it.

**All facts are an example**: the kernel is `sample_kernels/{KERNEL}.cu`, the device has the figures of an NVIDIA H200,
and times, plans and the rewritten kernel are made up. Nothing here was measured.

A prompt is two messages. The first is `system.md`, or `search_system.md` where configurations are chosen. The second
begins with the situation (device, sizes, kernel, launch, measurements, what came of earlier steps), since that is what
successive prompts have in common, and ends with the task and what to answer. Templates are in `tui_tuner/prompts/`,
with the facts that fill them (`__init__.py`; the history is in `tui_tuner/strategies/history.py`). What asks again goes
on in the same conversation; everything else begins a new one.
A strategy of the user's own may ask anything else with `CustomStrategy.ask`: with `system.md` in front, as `custom`.
"""
SIZES = """\
Tokens are estimates by `tui_tuner/llm/prices.py`, which knows no tokenizer: a token for every three characters, one for
each character of a script that takes three bytes or more, eight for the marks of a message; rather too many than too
few. *Fixed words* are those of the templates, system message included. *Whole* is both messages with the example's
facts, without the schema. The *schema* goes to the provider as such; only where a model is not shown it, it stands in
words behind the prompt, at the size given. *Calls* is how often one question is asked at most, refused replies
included (counted in sessions whose replies are all useless), and for a kernel those that failed as well.
"""
CALLS = """\
Calls for one step, counted in example sessions: when every reply is of use and the kernel is accepted, and at most.
Plans are shared by all steps and not counted. The last row is read from the source of LLM Kernel Tuner 0.1.0, its
autonomous strategy: validate, apply, fix parameters, restrictions, with attempts within attempts.
"""
DRAFTING = """\
A kernel without a problem file is drafted. Its first message is `draft_system.md`. Whatever the reply says, what the
host's code says for certain stays, and the kernel as given is run with the draft before any of it is believed.
"""
TENSILE = """\
Their templates are in `tui_tuner/tensile/prompts/`, with a first message of their own, `tensile_system.md`. Facts of
the parameters and of the GPU come from the files that [tensile-knowledge.md](tensile-knowledge.md) describes; what does
not fit the model's context is left out from the bottom of the rankings, then of the parameters that the file does not
name, and the session says so.
"""


def document(collected: Collected) -> str:
    """The whole document.

    Raises:
        ValueError: a template occurs in none of the texts, or there is a kind of failure without an example.
    """
    parts = [
        INTRODUCTION,
        "## Sizes",
        SIZES,
        *_sizes(collected.prompts),
        *_recorded(),
        "## Model calls of a step",
        CALLS,
    ]
    parts += _calls(collected)
    parts += ["## The prompts", *(text for prompt in collected.prompts for text in _section(prompt))]
    parts += ["## The prompt before a session", DRAFTING, *_sizes(_drafting())]
    parts += [text for prompt in _drafting() for text in _section(prompt)]
    parts += ["It is asked once more with what came of running it:", _block(put_back())]
    parts += ["## The prompts of a Tensile session", TENSILE, *_sizes(tensile_prompts())]
    parts += [text for prompt in tensile_prompts() for text in _section(prompt)]
    parts += ["## What goes on in a conversation", *_conversation(collected)]
    parts += ["## Templates", *_templates(collected)]
    return "\n\n".join(part.strip() for part in parts) + "\n"


@cache
def _drafting() -> list[Prompt]:
    return drafting_prompts(sample(KERNEL))


def _sizes(prompts: Sequence[Prompt]) -> Iterator[str]:
    rows = [
        (
            f"[{prompt.heading}](#{_anchor(prompt.heading)})",
            prompt.calls,
            fixed_tokens(templates_in(_text(prompt.request.messages))),
            estimate_messages(prompt.request.messages),
            estimate(schema_instruction(prompt.request.schema or {})),
        )
        for prompt in prompts
    ]
    yield _table("prompt | calls | fixed words | whole | schema in words", rows)


def _recorded() -> Iterator[str]:
    """What the recorded sessions say of replies, and of a provider's own counts."""
    replies = recorded_replies()
    yield _prose(
        "Replies in the recorded sessions, medians. A provider's own counts, prompt and reply, stand where it tells "
        "them; they hold the schema and the model's reasoning as well, and prompts as they were at that time."
    )
    groups: dict[tuple[str, str, str], list[RecordedReply]] = {}
    for reply in replies:
        groups.setdefault((reply.session, reply.model, reply.purpose), []).append(reply)
    yield _table(
        "session | model | prompt | calls | prompt, estimate | reply, estimate | by the provider",
        [(*names, len(group), *_medians(group)) for names, group in groups.items()],
    )


def _medians(group: Sequence[RecordedReply]) -> tuple[str, str, str]:
    told = [reply.told for reply in group if reply.told is not None]
    by_provider = "not told"
    if told:
        by_provider = " / ".join(f"{statistics.median(counts):.0f}" for counts in zip(*told, strict=True))
    prompt = f"{statistics.median(reply.prompt for reply in group):.0f}"
    return prompt, f"{statistics.median(reply.reply for reply in group):.0f}", by_provider


def _calls(collected: Collected) -> Iterator[str]:
    rows: list[tuple[object, ...]] = [
        (calls.strategy, " + ".join(f"`{purpose}`" for purpose in calls.purposes), len(calls.purposes), calls.most)
        for calls in collected.calls
    ]
    yield _table("strategy | good path | calls | at most", [*rows, ("LLM Kernel Tuner", "four prompts", 4, 15)])


def _section(prompt: Prompt) -> Iterator[str]:
    yield f"### {prompt.heading}"
    yield _prose(prompt.when)
    yield "The reply:"
    yield "\n".join(fields(prompt.request.schema or {}))
    yield _folded(f"The whole prompt, {estimate_messages(prompt.request.messages)} tokens", prompt.request.messages)


def _conversation(collected: Collected) -> Iterator[str]:
    yield "**The programmer's words** stand behind the last message of every prompt from the time they are said:"
    yield _block(collected.words)
    yield "**A reply that cannot be used** is put back with all that is wrong with it, up to the limit of calls:"
    yield from (_block(text) for text in collected.put_back)
    yield _prose(
        "**A kernel that fails** is put back with what really happened; the table gives it for each kind of failure, "
        "with the advice behind it. A kernel that is not faster is put back by `one_prompt` only. The whole message:"
    )
    yield _block(failures.example_message())
    rows = [(f"`{name}`", told.replace("\n", "<br>"), advice) for name, told, advice in failures.rows()]
    yield _table("failure | what happened (example) | advice", rows)


def _templates(collected: Collected) -> Iterator[str]:
    texts = {prompt.heading: _text(prompt.request.messages) for prompt in collected.prompts}
    texts |= {prompt.heading: _text(prompt.request.messages) for prompt in (*_drafting(), *tensile_prompts())}
    texts |= {"a draft that does not hold": put_back()}
    texts |= {"the programmer's words": collected.words, "a kernel that fails": failures.example_message()}
    used = {heading: templates_in(text) for heading, text in texts.items()}
    rows = []
    for name in template_names():
        headings = [heading for heading, names in used.items() if name in names]
        if not headings:
            raise ValueError(f"the template {name}.md is in no prompt: add the session that asks it to docs/prompting")
        where = "all prompts" if len(headings) >= len(collected.prompts) else "; ".join(headings)
        rows.append((f"`{name}.md`", fixed_tokens([name]), where))
    yield _table("template | fixed words | in", rows)


def _table(head: str, rows: Iterable[Sequence[object]]) -> str:
    titles = head.split(" | ")
    cells = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    lines = [" | ".join(row) for row in (titles, ["---"] * len(titles), *cells)]
    return "\n".join(f"| {line} |" for line in lines)


def _prose(text: str) -> str:
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)


def _folded(summary: str, messages: Sequence[Message]) -> str:
    return f"<details>\n<summary>{summary}</summary>\n\n{_block(_text(messages))}\n\n</details>"


def _block(text: str) -> str:
    return f"~~~~text\n{text.strip()}\n~~~~"


def _text(messages: Sequence[Message]) -> str:
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages)


def _anchor(heading: str) -> str:
    return heading.lower().replace(",", "").replace(" ", "-")


if __name__ == "__main__":
    TARGET.write_text(document(asyncio.run(collect(sample(KERNEL)))), encoding="utf-8")
