"""For tests of a model: loopback alone, a key, a scripted API, and no real waiting."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from playbook_db.llm.anthropic_api import AnthropicModel
from playbook_db.llm.model import Prompt
from tests.messages_api import Answer, MessagesApi, Request, Rule

Scripted = Rule | Answer | str | Callable[[Request], Answer | str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """No socket connects anywhere but here."""
    here = f"{Path(__file__).parent}/"
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1"]))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of the one for all tests: the marker `allow_hosts` does it here; and no `claude` is found."""
    monkeypatch.setenv("PATH", "/nowhere")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def waits() -> list[float]:
    """How long was waited between attempts, in seconds."""
    return []


@pytest.fixture
def model(waits: list[float]) -> AnthropicModel:
    """The API's client, which notes its waits instead of waiting; chance says 0.5, so that there is no jitter."""
    return AnthropicModel(sleep=waits.append, random=lambda: 0.5)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., MessagesApi]]:
    """Starts an API that gives those answers, one after the other (a Rule as it says); the last one again and again."""
    with ExitStack() as stack:

        def start(*answers: Scripted) -> MessagesApi:
            rules = [answer if isinstance(answer, Rule) else Rule(answer, times=1) for answer in answers]
            last = answers[-1]
            api = stack.enter_context(MessagesApi(*rules, *([] if isinstance(last, Rule) else [last])))
            monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
            monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key")
            return api

        yield start


def a_prompt(**changed: object) -> Prompt:
    """A prompt, changed in these ways."""
    made = {"system": "You judge.", "blocks": ("The rules. ", "The case."), "schema": None, "max_tokens": 50}
    return Prompt(**{**made, **changed})  # type: ignore[arg-type]


def soon(seconds: float = 30.0) -> float:
    """A deadline."""
    return time.monotonic() + seconds
