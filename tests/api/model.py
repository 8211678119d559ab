"""A model for `tui_tuner.tune(model=...)` that answers each prompt by its purpose, and notes what it was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence

from tests.end_to_end.kernels import rewrite
from tui_tuner.llm import Chunk, Request, Stop, Usage

TESTS = json.dumps({"tests": [{"sizes": [{"name": "n", "value": 99}], "inputs": []}]})
FASTER = rewrite(block_size=(64,), passes=(50, 5))


def plan(*titles: str) -> str:
    steps = [{"title": title, "description": "Do it.", "enabling": False, "builds_on": 0} for title in titles]
    return json.dumps({"summary": "The idea.", "steps": steps})


class Model:
    """Its answers go round: the last one for a purpose is given again and again."""

    name = "double"
    context_tokens = None

    def __init__(self, **answers: str | Sequence[str]) -> None:
        usual = {"propose_tests": TESTS, "one_prompt": FASTER, "apply_step": FASTER}
        given = {**usual, **answers}
        self._answers = {purpose: [a] if isinstance(a, str) else list(a) for purpose, a in given.items()}
        self.requests: list[Request] = []
        self.closed = False

    def answer(self, purpose: str, *answers: str) -> None:
        """Answer a purpose in another way."""
        self._answers[purpose] = list(answers)

    @property
    def purposes(self) -> list[str]:
        return [request.purpose for request in self.requests]

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        answers = self._answers[request.purpose]
        yield Chunk(answers.pop(0) if len(answers) > 1 else answers[0], stop=Stop.COMPLETE, usage=Usage(100, 50, 0.0))

    async def aclose(self) -> None:
        self.closed = True
