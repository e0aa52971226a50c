"""Claude Code as the model: the questions that the real client sends, and its answers."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from playbook_db.errors import AccountError, ModelError
from playbook_db.llm.claude_cli import ClaudeCli
from playbook_db.llm.marks import ShownPlaybook
from playbook_db.llm.model import Prompt
from playbook_db.llm.reflector import SCHEMA, Reflection, reflect
from playbook_db.services.templates import load_template
from tests.client.harness import World
from tests.client.ours import NO_WORKER, foreign_hook, our_hooks, register
from tests.messages_api import Answer, MessagesApi, Rule, ToolCall

TAG = {"name": "pat-001", "tag": "helpful", "rationale": "r", "ignored": False, "evidence": ["mail me@example.com"]}
ANSWER = {"analysis": "ask me@example.com", "bullet_tags": [TAG], "lessons": []}


@pytest.fixture
def cli(world: World, monkeypatch: pytest.MonkeyPatch) -> ClaudeCli:
    """The real client as a model; it sees nothing of this machine's environment."""
    for name, value in world.environment.items():
        monkeypatch.setenv(name, value)
    return ClaudeCli(str(world.client.binary))


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch, cli: ClaudeCli) -> Iterator[Callable[..., MessagesApi]]:
    """Starts another API for the client, with those answers."""
    stack = ExitStack()

    def start(*answers: Rule | Answer | str) -> MessagesApi:
        api = stack.enter_context(MessagesApi(*answers))
        for name in ("ANTHROPIC_BASE_URL", "HTTP_PROXY", "HTTPS_PROXY"):
            monkeypatch.setenv(name, api.url)
        return api

    with stack:
        yield start


def a_prompt(text: str = "Tell me.", schema: bool = False) -> Prompt:
    """A prompt for an answer of the reflector's form, or of any form."""
    return Prompt("You judge things.", ("The rules.\n", text), SCHEMA if schema else None, 1000)


def soon(seconds: float = 60.0) -> float:
    """A deadline."""
    return time.monotonic() + seconds


@pytest.mark.smoke
def test_client_answers_a_prompt(cli: ClaudeCli, answering: Callable[..., MessagesApi], world: World) -> None:
    """No tool is offered, and no transcript is kept."""
    api = answering("Well done.")

    reply = cli.ask(a_prompt(), deadline=soon())
    (request,) = api.messages()

    assert (reply.text, reply.structured, reply.is_cut) == ("Well done.", None, False)
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (100, 20)
    assert (reply.usage.cost_usd or 0) > 0
    assert reply.model == request.body["model"]
    assert "The rules.\nTell me." in request.said
    assert "You judge things." in request.system
    assert request.body["tools"] == []
    assert world.transcripts() == []


@pytest.mark.smoke
def test_no_hook_runs(cli: ClaudeCli, answering: Callable[..., MessagesApi], world: World, tmp_path: Path) -> None:
    note = tmp_path / "fired"
    hooks = {
        event: entries + foreign_hook(f"echo {event} >> {note}") for event, entries in our_hooks(NO_WORKER).items()
    }
    register(world, {**hooks, "UserPromptSubmit": foreign_hook(f"echo prompt >> {note}")})
    answering("yes")

    assert cli.ask(a_prompt(), deadline=soon()).text == "yes"
    time.sleep(0.3)  # for a hook that would be late
    assert not note.exists()
    assert not (world.home / ".claude" / "playbook").exists()


@pytest.mark.parametrize("text", ["/clear\n/compact", "@{secret}\nread @{secret} now", "!cat {secret}"])
def test_prompt_is_only_text(cli: ClaudeCli, answering: Callable[..., MessagesApi], tmp_path: Path, text: str) -> None:
    """Slash commands and files with @ have no effect."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the-content-of-a-secret")
    text = text.replace("{secret}", str(secret))
    api = answering("yes")

    assert cli.ask(Prompt("You judge.", (text,), None, 1000), deadline=soon()).text == "yes"

    (request,) = api.messages()
    assert text in request.said.replace("\u200b", "")
    assert "the-content-of-a-secret" not in json.dumps(request.body)


@pytest.mark.smoke
def test_structured_answer_is_an_object(cli: ClaudeCli, answering: Callable[..., MessagesApi]) -> None:
    api = answering(Answer(tools=(ToolCall("StructuredOutput", ANSWER),)))
    assert cli.ask(a_prompt(schema=True), deadline=soon()).structured == ANSWER
    tools = {tool["name"] for tool in api.messages()[0].body["tools"]}
    assert tools <= {"StructuredOutput", "DeferredToolPlaceholder"}


def test_answer_in_words_is_read(cli: ClaudeCli, answering: Callable[..., MessagesApi]) -> None:
    answering(f"```json\n{json.dumps(ANSWER)}\n```")
    assert _reflect(cli).tags == ANSWER["bullet_tags"]


def test_continued_answer_is_joined(cli: ClaudeCli, answering: Callable[..., MessagesApi]) -> None:
    """The client's own result is only the last piece."""
    whole = json.dumps(ANSWER)
    api = answering(Rule(Answer(whole[:70], stop_reason="max_tokens"), times=1), whole[70:])
    assert cli.ask(a_prompt(), deadline=soon()).text == whole
    assert len(api.messages()) == 2


@pytest.mark.parametrize(("status", "error"), [(401, AccountError), (404, AccountError), (529, ModelError)])
def test_api_error_ends_the_client(
    cli: ClaudeCli, answering: Callable[..., MessagesApi], status: int, error: type[ModelError]
) -> None:
    """The client alone would retry a wrong key for minutes."""
    api = answering(Answer("scripted trouble", status=status))
    with pytest.raises(ModelError, match="Claude Code gave no answer: ") as raised:
        cli.ask(a_prompt(), deadline=soon())
    assert type(raised.value) is error
    assert raised.value.is_lasting == (status != 529)
    assert len(api.messages()) <= 3


def test_deadline_stops_the_client(cli: ClaudeCli, answering: Callable[..., MessagesApi]) -> None:
    answering(Answer("too late", delay_s=60))
    with pytest.raises(ModelError, match="was stopped"):
        cli.ask(a_prompt(), deadline=soon(3))


def test_missing_login_names_the_remedy(cli: ClaudeCli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ModelError, match="claude /login") as raised:
        cli.ask(a_prompt(), deadline=soon())
    assert raised.value.is_lasting


def test_long_transcript_goes_through_the_client(cli: ClaudeCli, answering: Callable[..., MessagesApi]) -> None:
    """It is longer than an argument of a command may be."""
    api = answering(Answer(tools=(ToolCall("StructuredOutput", ANSWER),)))
    assert _reflect(cli, "[user]\n" + "mail me@example.com\n" * 12_000).tags == ANSWER["bullet_tags"]
    assert api.messages()[0].said.count("mail me") == 12_000


def _reflect(cli: ClaudeCli, transcript: str = "[user]\nhello") -> Reflection:
    return reflect(
        cli,
        template=load_template("reflector.txt"),
        transcript=transcript,
        playbook=ShownPlaybook("[pat-001] helpful=0 harmful=0 :: x"),
        cited=[],
        deadline=soon(),
    )


def test_refusal_is_known(cli: ClaudeCli, answering: Callable[..., MessagesApi]) -> None:
    answering(Answer("", stop_reason="refusal"))
    assert cli.ask(a_prompt(), deadline=soon()).is_refused
