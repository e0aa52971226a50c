"""extract_keypoints, run_reflector and run_curator with a model behind them, and with everything that may go wrong."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from playbook_db.contract import extract_keypoints, run_curator, run_reflector
from playbook_db.llm import reflector
from tests.builders import a_sections_dict, an_entry
from tests.contract.playbooks import PATTERNS
from tests.messages_api import Answer, MessagesApi

Call = Callable[[], Coroutine[Any, Any, dict[str, Any]]]
# Asks an API on loopback, through a client that takes seconds to import.
pytestmark = [pytest.mark.allow_hosts(["127.0.0.1"]), pytest.mark.slow]
TOOL = {"type": "tool_use", "name": "Bash", "input": {"command": "make"}}
NO_RULE = {"type": "text", "text": "No rule"}
MESSAGES = [
    {"role": "user", "content": "fix {playbook} it"},
    {"role": "assistant", "content": [{"type": "text", "text": "as [pat-001] says"}, TOOL]},
    {"role": "user", "content": [{"type": "tool_result", "is_error": True, "content": [NO_RULE]}]},
    None,
]
PLAYBOOK = a_sections_dict({PATTERNS: [an_entry("pat-001", "use type hints", 3, 0)]})
TAG = {"name": "pat-001", "tag": "helpful", "rationale": "tests pass"}
EMPTY: dict[str, dict[str, Any]] = {
    "keypoints": {"new_key_points": [], "evaluations": []},
    "reflector": {"analysis": "", "bullet_tags": []},
    "curator": {"reasoning": "", "operations": []},
}
CALLS: dict[str, Call] = {
    "keypoints": lambda: extract_keypoints(MESSAGES, PLAYBOOK),  # type: ignore[arg-type]
    "reflector": lambda: run_reflector(MESSAGES, PLAYBOOK, ["pat-001"]),  # type: ignore[arg-type]
    "curator": lambda: run_curator({"analysis": "it went well", "bullet_tags": []}, PLAYBOOK),
}
each = pytest.mark.parametrize("who", list(CALLS))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch, home: Path, folder: Path) -> None:
    """In place of the one for all tests: loopback is allowed here, for the API and for the event loop."""
    monkeypatch.setenv("PATH", "/nowhere")


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer | str], MessagesApi]]:
    """Starts an API that always gives that answer."""
    running: list[MessagesApi] = []

    def start(answer: Answer | str) -> MessagesApi:
        api = MessagesApi(answer).__enter__()
        running.append(api)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key-0123456789")
        return api

    yield start
    for api in running:
        api.__exit__(None, None, None)


def test_reflector_sees_the_session(scripted: Callable[..., MessagesApi]) -> None:
    api = scripted(json.dumps({"analysis": "good", "bullet_tags": [TAG]}))

    assert asyncio.run(CALLS["reflector"]()) == {"analysis": "good", "bullet_tags": [TAG]}
    said = api.messages()[0].said
    for output in (
        "[user]\nfix {playbook} it",
        '(uses Bash: {"command": "make"})',
        "(error: No rule)",
        "use type hints",
    ):
        assert output in said


def test_results_have_the_documented_keys(scripted: Callable[..., MessagesApi]) -> None:
    operation = {"type": "DELETE", "target_id": "pat-001"}
    more = {"ignored": True, "evidence": ["q"]}
    lesson = {"kind": "worked", "text": "t", "cause": "", "fix": "", "applies_to": "", "evidence": ["q"]}
    reflected = {"analysis": "good", "bullet_tags": [{**TAG, **more}, 7], "lessons": [lesson]}
    scripted(json.dumps({**reflected, "reasoning": "r", "apart": [], "operations": [{**operation, **more}, None]}))

    assert asyncio.run(CALLS["reflector"]()) == {"analysis": "good", "bullet_tags": [TAG, 7]}
    assert asyncio.run(CALLS["curator"]()) == {"reasoning": "r", "operations": [operation, None]}


def test_curator_sees_analysis_and_counters_only(scripted: Callable[..., MessagesApi]) -> None:
    api = scripted('{"reasoning": "r", "operations": [{"type": "DELETE", "target_id": "pat-001"}]}')

    assert asyncio.run(CALLS["curator"]()) == {
        "reasoning": "r",
        "operations": [{"type": "DELETE", "target_id": "pat-001"}],
    }
    said = api.messages()[0].said
    assert "it went well" in said
    assert "helpful=3 harmful=0 :: use type hints" in said


@pytest.mark.parametrize(
    ("said", "extracted"),
    [
        ('{"new_key_points": ["a"], "evaluations": [1]}', {"new_key_points": ["a"], "evaluations": [1]}),
        ('{"operations": []}', {"new_key_points": [], "evaluations": [], "operations": []}),
        ('{"operations": [7], "evaluations": null}', {"new_key_points": [], "evaluations": [], "operations": [7]}),
        ('{"new_key_points": ["a"], "operations": null}', {"new_key_points": ["a"], "evaluations": []}),
        ('{"a": 1}\n{"new_key_points": ["a",],}', {"new_key_points": ["a"], "evaluations": []}),
        ('{"new_key_points": ["a", "b', {"new_key_points": ["a"], "evaluations": []}),
    ],
)
def test_extraction_has_operations_if_the_model_gave_some(
    scripted: Callable[..., MessagesApi], said: str, extracted: dict[str, Any]
) -> None:
    scripted(said)

    assert asyncio.run(CALLS["keypoints"]()) == extracted


@each
@pytest.mark.parametrize(
    "answer",
    [
        Answer("bad", status=400),
        Answer("key", status=401),
        Answer("no json"),
        Answer(""),
        Answer("", stop_reason="refusal"),
    ],
    ids=lambda answer: f"{answer.status} {answer.text}",
)
def test_failure_gives_the_empty_result(
    scripted: Callable[..., MessagesApi], capsys: pytest.CaptureFixture[str], who: str, answer: Answer
) -> None:
    scripted(answer)

    assert asyncio.run(CALLS[who]()) == EMPTY[who]
    assert "playbook: " in capsys.readouterr().err


@each
def test_no_model_gives_the_empty_result(capsys: pytest.CaptureFixture[str], who: str) -> None:
    assert asyncio.run(CALLS[who]()) == EMPTY[who]
    assert "no model to ask" in capsys.readouterr().err


def test_wrong_arguments_give_the_empty_result(scripted: Callable[..., MessagesApi]) -> None:
    scripted("{}")

    assert asyncio.run(run_reflector(None, None, None)) == EMPTY["reflector"]  # type: ignore[arg-type]
    assert asyncio.run(run_curator(None, PLAYBOOK)) == EMPTY["curator"]  # type: ignore[arg-type]


@each
def test_diagnostic_mode_records_each_exchange(scripted: Callable[..., MessagesApi], folder: Path, who: str) -> None:
    scripted('{"analysis": "good"}')
    asyncio.run(CALLS[who]())
    assert not (folder / ".claude" / "diagnostic").exists()
    (folder / ".claude" / "diagnostic_mode").touch()

    asyncio.run(CALLS[who]())

    (kept,) = (folder / ".claude" / "diagnostic").glob(f"*_{who}.txt")
    assert "use type hints" in kept.read_text()
    assert '{"analysis": "good"}' in kept.read_text()


def test_diagnostic_mode_records_failures(scripted: Callable[..., MessagesApi], folder: Path) -> None:
    (folder / ".claude" / "diagnostic_mode").touch()
    scripted(Answer("no credit", status=400))

    assert asyncio.run(CALLS["reflector"]()) == EMPTY["reflector"]
    (kept,) = (folder / ".claude" / "diagnostic").iterdir()
    assert "no credit" in kept.read_text()


def test_secrets_are_masked_first(scripted: Callable[..., MessagesApi], folder: Path) -> None:
    (folder / ".claude" / "diagnostic_mode").touch()
    key = "ghp_" + "a1B2c3D4e5" * 4
    api = scripted(json.dumps({"analysis": f"the token was {key[:40]}"}))
    entries = [{"role": "user", "content": f"token {key[:40]} <private>my diary</private> end"}]

    asyncio.run(run_reflector(entries, PLAYBOOK, []))

    (kept,) = (folder / ".claude" / "diagnostic").iterdir()
    for text in (api.messages()[0].said, kept.read_text()):
        assert key[:40] not in text
        assert "diary" not in text
        assert "end" in text


LONG = [{"role": "user", "content": f"question {number} {'x' * 90}"} for number in range(3)]


@pytest.mark.parametrize(
    ("said", "extracted"),
    [
        (
            [
                {"new_key_points": ["a", {"text": "b"}], "evaluations": [{"name": "pat-001", "rating": "neutral"}]},
                {"new_key_points": ["a"], "evaluations": [{"name": "pat-001", "rating": "harmful"}]},
                {"new_key_points": ["c"], "evaluations": [{"name": "pat-001", "rating": "helpful"}]},
            ],
            {"new_key_points": ["a", {"text": "b"}, "c"], "evaluations": [{"name": "pat-001", "rating": "harmful"}]},
        ),
        (
            [{"operations": []}, {"new_key_points": ["a"]}, {"operations": [{"type": "DELETE", "target_id": "x"}]}],
            {
                "new_key_points": ["a"],
                "evaluations": [],
                "operations": [{"type": "ADD", "text": "a"}, {"type": "DELETE", "target_id": "x"}],
            },
        ),
    ],
)
def test_long_session_is_cut_into_pieces(
    scripted: Callable[..., MessagesApi], monkeypatch: pytest.MonkeyPatch, said: Any, extracted: dict[str, Any]
) -> None:
    monkeypatch.setattr(reflector, "MAX_TRANSCRIPT_CHARS", 150)
    answers = iter(map(json.dumps, said))
    api = scripted(lambda _: next(answers))

    assert asyncio.run(extract_keypoints(LONG, PLAYBOOK)) == extracted
    assert [f"question {number}" in request.said for number, request in enumerate(api.messages())] == [True] * 3


def test_object_without_known_keys_is_accepted(scripted: Callable[..., MessagesApi]) -> None:
    """REQ-REFL-008 asks for this."""
    api = scripted("{}")

    assert asyncio.run(CALLS["reflector"]()) == EMPTY["reflector"]
    assert len(api.messages()) == 1
