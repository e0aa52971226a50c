"""What stays the same between calls is read from the prompt cache, by the rules that the API documents for it."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from playbook_db.domain.playbook import KeyPoint
from playbook_db.llm import marks
from playbook_db.llm.anthropic_api import AnthropicModel
from playbook_db.llm.curator import Candidates, Curation, curate
from playbook_db.llm.marks import PointMarks
from playbook_db.llm.reflector import Reflection, reflect
from playbook_db.services.templates import load_template
from tests.builders import a_key_point
from tests.llm.conftest import soon
from tests.messages_api import Answer, MessagesApi, PromptCache, Request

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import

Start = Callable[..., PromptCache]
POINTS = [
    a_key_point(f"pat-{n:03}", text=f"advice {n} that is so long " + "that it matters " * 5) for n in range(1, 31)
]


@pytest.fixture
def cached(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts an API with a cache that takes so many tokens at least; its answers hold what was asked for, empty."""
    with ExitStack() as stack:

        def start(minimum: int = 1024, answer: Callable[[Request], Answer | str] | str = "") -> PromptCache:
            empty = {"analysis": "a", "bullet_tags": [], "lessons": [], "reasoning": "r", "operations": [], "apart": []}
            cache = PromptCache(minimum)
            api = stack.enter_context(MessagesApi(answer or json.dumps(empty), cache=cache))
            monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
            monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key")
            return cache

        yield start


def reflected(
    model: AnthropicModel, transcript: str, points: list[KeyPoint] = POINTS, template: str | None = None
) -> Reflection:
    """What the reflector says of *transcript*."""
    template = template or load_template("reflector.txt")
    with_marks = [PointMarks(point.name, point.helpful, point.harmful, was_shown=True) for point in points]
    shown = marks.show(template, [points], with_marks)
    return reflect(model, template=template, transcript=transcript, playbook=shown, cited=[], deadline=soon())


def curated(
    model: AnthropicModel, analysis: str, points: list[KeyPoint] = POINTS, template: str | None = None
) -> Curation:
    """What the curator makes of *analysis*."""
    template = template or load_template("curator.txt")
    with_marks = [PointMarks(point.name, point.helpful, point.harmful, last_vote="2026-11-22") for point in points]
    shown = marks.show(template, [points], with_marks)
    pairs = [(points[0].name, points[1].name)] if analysis == "second" else []
    return curate(
        model,
        template=template,
        reflection=Reflection(analysis),
        playbook=shown,
        candidates=Candidates(pairs),
        deadline=soon(),
    )


@pytest.mark.parametrize("ask", [reflected, curated])
def test_second_call_reads_instructions_and_points_from_cache(
    cached: Start, model: AnthropicModel, ask: Callable[..., Any]
) -> None:
    cache = cached()
    ask(model, "first")
    voted = [replace(point, helpful=point.helpful + 1) for point in POINTS]

    ask(model, "second", voted)

    first, second = cache.usages
    assert first.cache_read_input_tokens == 0
    assert second.cache_read_input_tokens == first.cache_creation_input_tokens > 1024 + 30 * 25
    assert second.cache_creation_input_tokens == 0
    assert second.input_tokens < second.cache_read_input_tokens


@pytest.mark.parametrize("ask", [reflected, curated])
def test_other_playbook_reads_instructions_from_cache(
    cached: Start, model: AnthropicModel, ask: Callable[..., Any]
) -> None:
    cache = cached()
    ask(model, "first")

    ask(model, "second", [*POINTS, a_key_point("pat-031", text="new")])

    first, second = cache.usages
    assert second.cache_read_input_tokens > 1024
    assert 0 < second.cache_creation_input_tokens < first.cache_creation_input_tokens


def test_parts_of_an_answer_read_the_question_from_cache(cached: Start, model: AnthropicModel) -> None:
    transcript = "[user]\n" + "what was said " * 1000

    def answer(request: Request) -> Answer | str:
        number = len(cache.usages) + 1
        tag = json.dumps({"name": f"pat-{number:03}", "tag": "helpful"})
        if number == 3:
            return f'{{"analysis": "", "bullet_tags": [{tag}]}}'
        return Answer(f'{{"analysis": "a", "bullet_tags": [{tag}, {{"name": "pat', stop_reason="max_tokens")

    cache = cached(answer=answer)
    assert len(reflected(model, transcript).tags) == 3

    first, second, third = cache.usages
    assert second.cache_read_input_tokens == first.cache_creation_input_tokens
    assert second.cache_creation_input_tokens > len(transcript) // 4
    assert third.cache_read_input_tokens > second.cache_read_input_tokens + len(transcript) // 4
