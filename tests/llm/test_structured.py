from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from tests.llm.fakes import FakeCall
from tui_tuner.llm import Message, Reply, Request, Stop, Usage
from tui_tuner.llm.errors import Service, Unreachable
from tui_tuner.llm.structured import NoUsableReply, ask
from tui_tuner.llm.typed import schema_of


class Tunable(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    value: bool | int


class Plan(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: str
    tunables: list[Tunable]


REQUEST = Request("plan", (Message("user", "Plan."),))
GOOD = '{"title": "unroll", "tunables": [{"name": "factor", "value": 4}]}'
OTHER = '{"title": "a draft", "tunables": []}'


def known_tunables(plan: Plan) -> list[str]:
    return [f"there is no tunable '{tunable.name}'" for tunable in plan.tunables if tunable.name != "factor"]


async def refusals(call: FakeCall) -> list[list[str]]:
    """Ask twice and return the faults of each refused reply."""
    seen: list[list[str]] = []
    with contextlib.suppress(NoUsableReply):
        await ask(call, REQUEST, Plan, check=known_tunables, attempts=2, on_refused=seen.append)
    return seen


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"\n  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"Here it is:\n```cuda\nint x;\n```\nand\n```json\n{{}}\n```\nno, better:\n```JSON\n{GOOD}\n```\nDone.",
        f"The plan:\n\n```\n{GOOD}\n```\n",
        f"<think>Maybe {{}}?\n</think>\n\n{GOOD}",
        f"no opening tag here</think>{GOOD}",
        f"Sure! {GOOD}",
        f"{GOOD} Enjoy!",
        f"Sure! ```{GOOD}```",
        f"Sure, with a[i] and f() {{ return; }}:\n{GOOD}\nI hope {{this}} helps [1].",
        f"```cuda\nint x;\n```\nand\n```\n{GOOD}\n```",
        f"```\nint x;\n```\nand\n```\n{GOOD}\n```",
        f"```cuda\n{{}}\n```\nThe plan: {GOOD}",
        f"{GOOD}\n```cuda\nint x;\n```",
        f"I forget the last fence:\n```json\n{GOOD}\n",
        f"Before.\n```json\n{GOOD}\n```\nAfter, with {{braces}}.",
        f"<thinking>Maybe {OTHER}?</thinking>```json\n{GOOD}\n```",
        f"<|begin_of_thought|>Maybe {OTHER}?<|end_of_thought|><|begin_of_solution|>{GOOD}<|end_of_solution|>",
        f"```json\n{OTHER}\n```\nis a draft.</think>{GOOD}",
    ],
)
async def test_json_alone_in_its_block_or_as_the_only_object_in_prose_is_accepted_at_once(text: str) -> None:
    call = FakeCall(text)

    answer = await ask(call, REQUEST, Plan, check=known_tunables)

    assert answer.value.title == "unroll"
    assert answer.transcript == (*REQUEST.messages, Message("assistant", text))
    assert call.requests[0].schema == schema_of(Plan)


class Rewrite(BaseModel):
    model_config = ConfigDict(extra="forbid")

    summary: str
    code: str


CODE = "if (a[i] > \"{\"[0]) {\n    x = '\\n';\n}"
REST = '{"summary": "faster"}'
WHOLE = json.dumps({"summary": "faster", "code": f"{CODE}\n"})


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{CODE}\n```\n{REST}",
        f"The kernel:\n```cuda\n{CODE}\n```\nand the rest:\n```json\n{REST}\n```\n",
        f"```c++\n{CODE}\n```\n```\n{REST}\n```",
        f"{REST}\n```\n{CODE}\n```",
        f"<think>```\nint y;\n```</think>```cuda\n{CODE}\n```\n{REST}",
        f"```\n{CODE}\n```\n```json\n{WHOLE}\n```",
        f"{WHOLE}\nThe old one was:\n```\nint x;\n```\n```\nint y;\n```",
        WHOLE,
    ],
)
async def test_code_may_stand_in_a_fenced_block_beside_the_json_as_it_is(text: str) -> None:
    answer = await ask(FakeCall(text), REQUEST, Rewrite)

    assert answer.value == Rewrite(summary="faster", code=f"{CODE}\n")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f"```\nint x;\n```\nor\n```\nint y;\n```\n{REST}", "code: there are 2 fenced blocks, and no telling which"),
        (REST, "code: Field required"),
        (f"```\n{CODE}\n```\n", "not one JSON object"),
        (f'```\n{CODE}\n```\n{{"summary": "a", "summary": "b"}}', "given twice: summary"),
    ],
)
async def test_of_several_blocks_or_none_no_code_is_taken(text: str, fault: str) -> None:
    seen: list[list[str]] = []

    await ask(FakeCall(text, WHOLE), REQUEST, Rewrite, attempts=2, on_refused=seen.append)

    assert fault in seen[0][0]


async def test_a_block_is_no_code_of_a_reply_that_has_none() -> None:
    assert (await ask(FakeCall(f"```\nint x;\n```\n{GOOD}"), REQUEST, Plan)).value.title == "unroll"


async def test_text_inside_a_json_string_may_look_like_fences_and_thoughts() -> None:
    title = "<think>```json\n{}\n```</think>"

    answer = await ask(FakeCall(json.dumps({"title": title, "tunables": []})), REQUEST, Plan)

    assert answer.value.title == title


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        ("<think>so much to think", "empty"),
        ("I would unroll.", "not one JSON object"),
        (f"{GOOD}\n{OTHER}", "several JSON objects"),
        (f"Either {GOOD} or {OTHER}", "several JSON objects"),
        (f"{GOOD}}} Enjoy!", "broken at line 1, column"),
        (f"Sure! [{GOOD}]", "not one JSON object"),
        (f"Sure! {{plan: {GOOD}}}", "not one JSON object"),
        (f"Sure! {GOOD[:-1]},}}", "broken at line 1, column"),
        (f"```json\n{GOOD[:-1]},\n}}\n```", "broken at line"),
        (f"Cut:\n```json\n{GOOD[:-3]}", "broken at line 1, column"),
        (f"<reasoning>{GOOD}", "empty"),
        (f"Let me see. <think>Perhaps {GOOD}", "not one JSON object"),
        (f"[THINK]{GOOD}[/THINK]", "empty"),
        (f"```\n{GOOD}\n```\n```\n{GOOD}\n```", "not one JSON object"),
        (f"```cuda\n{GOOD}\n```", "not one JSON object"),
        ("[1, 2]", "not one JSON object"),
        (GOOD[:-3], "broken at line 1, column"),
        ('{"title": "a", "title": "b", "tunables": []}', "given twice: title"),
        ('{"title": NaN, "tunables": []}', "NaN is not a JSON number"),
        ('{"title": ' + "9" * 5000 + "}", "cannot be used"),
        ('{"title": "\\ud800", "tunables": []}', "Invalid JSON"),
        ('{"title": "\ud800", "tunables": []}', "cannot be used"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"title": "' + "x" * 1_000_000 + '"}', "more than 1000000 characters"),
    ],
)
async def test_anything_looser_is_put_back_with_its_fault(text: str, fault: str) -> None:
    call = FakeCall(text, GOOD)

    seen = await refusals(call)

    assert len(seen) == 1
    assert fault in seen[0][0]
    assert fault in call.requests[1].messages[-1].content


async def test_all_faults_of_form_are_listed_in_one_message_with_their_places() -> None:
    call = FakeCall('{"title": 3, "tunables": [{"name": "factor", "value": "4"}], "extra": 1}', GOOD)

    (problems,) = await refusals(call)

    assert [problem.partition(":")[0] for problem in problems] == [
        "title",
        "tunables.0.value.bool",
        "tunables.0.value.int",
        "extra",
    ]
    last = call.requests[1].messages[-1]
    assert last.role == "user"
    assert all(f"- {problem}" in last.content for problem in problems)


async def test_true_is_not_taken_for_one() -> None:
    class Factor(BaseModel):
        value: int

    with pytest.raises(NoUsableReply):
        await ask(FakeCall('{"value": true}'), REQUEST, Factor, attempts=1)


async def test_domain_faults_are_put_back_like_faults_of_form() -> None:
    wrong = GOOD.replace("factor", "tile")

    (problems,) = await refusals(FakeCall(wrong, GOOD))

    assert problems == ["there is no tunable 'tile'"]


async def test_the_conversation_grows_by_the_reply_and_one_message() -> None:
    call = FakeCall("nonsense", "more nonsense", GOOD)

    answer = await ask(call, REQUEST, Plan)

    roles = [message.role for message in answer.transcript]
    assert roles == ["user", "assistant", "user", "assistant", "user", "assistant"]
    assert [len(request.messages) for request in call.requests] == [1, 3, 5]


async def test_a_cut_reply_is_not_parsed_and_answered_by_asking_for_less() -> None:
    cut = Reply(GOOD + " " * 5000, stop=Stop.LENGTH, usage=Usage(10, 2048, 0.0))
    call = FakeCall(cut, GOOD)

    (problems,) = await refusals(call)

    assert problems == ["the reply was cut off after 2048 tokens, before its end"]
    assert "in less" in call.requests[1].messages[-1].content
    assert len(call.requests[1].messages[-2].content) < 2100


async def test_of_a_reply_longer_than_any_kernel_the_beginning_is_put_back() -> None:
    call = FakeCall("words " * 40_000, GOOD)

    await refusals(call)

    said = call.requests[1].messages[-2].content
    assert (said[:12], said[-9:]) == ("words words ", "[cut off]")
    assert len(said) < 2100


async def test_a_reply_of_nothing_but_thoughts_leaves_no_empty_message_behind() -> None:
    call = FakeCall(Reply("", "hm" * 100, Stop.LENGTH), GOOD)

    await refusals(call)

    assert call.requests[1].messages[-2] == Message("assistant", "(no text)")


async def test_a_refusal_is_not_parsed_whatever_it_holds() -> None:
    (problems,) = await refusals(FakeCall(Reply(GOOD, stop=Stop.REFUSED), GOOD))

    assert problems == ["the request was declined"]


async def test_exhausted_attempts_raise_with_the_last_faults_and_all_replies() -> None:
    with pytest.raises(NoUsableReply) as caught:
        await ask(FakeCall("a", "b", "c"), REQUEST, Plan, attempts=3)

    assert "not one JSON object" in caught.value.problems[0]
    assert [reply.text for reply in caught.value.replies] == ["a", "b", "c"]


async def test_a_fault_below_the_reply_passes_through() -> None:
    async def call(_: Request) -> Reply:
        raise Unreachable("no", Service("fake", ""))

    with pytest.raises(Unreachable):
        await ask(call, REQUEST, Plan)


PIECES = st.sampled_from(
    [
        "```",
        "```json\n",
        "\n```\n",
        "{",
        "}",
        '"',
        ":",
        ",",
        "[",
        "]",
        "<think>",
        "</think>",
        "\\u",
        GOOD,
        "title",
        "\n",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.text(st.characters(categories=None)) | st.lists(PIECES).map("".join) | st.binary().map(repr))
async def test_random_text_is_read_or_refused_and_never_raises_anything_else(text: str) -> None:
    try:
        answer = await ask(FakeCall(text), REQUEST, Plan, check=known_tunables, attempts=1)
    except NoUsableReply:
        return
    assert known_tunables(answer.value) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just("title"), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(st.fixed_dictionaries({"title": st.text() | JSON, "tunables": st.just([]) | JSON}))
async def test_random_json_is_accepted_exactly_when_it_has_the_form(value: dict[str, object]) -> None:
    is_plan = isinstance(value["title"], str) and value["tunables"] == []
    text = json.dumps(value)
    try:
        await ask(FakeCall(text), REQUEST, Plan, attempts=1)
    except NoUsableReply:
        assert not is_plan
    else:
        assert is_plan
