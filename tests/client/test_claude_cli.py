"""Claude Code as the model: what the real client makes of our question, and what we make of its answer."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

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


def a_prompt(text: str, schema: bool = False) -> Prompt:
    """A prompt with that text, for an answer of the reflector's form or any."""
    return Prompt("You judge things.", ("The rules.\n", text), SCHEMA if schema else None, 1000)


def soon(seconds: float = 60.0) -> float:
    """A deadline."""
    return time.monotonic() + seconds


@pytest.mark.smoke
def test_the_client_is_asked_and_answers(cli: ClaudeCli, answering: Callable[..., MessagesApi], world: World) -> None:
    """The prompt arrives, no tool is offered, nothing is kept, tokens and cost are told."""
    api = answering("Well done.")

    reply = cli.ask(a_prompt("Tell me."), deadline=soon())
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
def test_no_hook_is_fired(cli: ClaudeCli, answering: Callable[..., MessagesApi], world: World, tmp_path: Path) -> None:
    """Neither ours, which would start another client, nor anybody's."""
    note = tmp_path / "fired"
    hooks = {
        event: entries + foreign_hook(f"echo {event} >> {note}") for event, entries in our_hooks(NO_WORKER).items()
    }
    register(world, {**hooks, "UserPromptSubmit": foreign_hook(f"echo prompt >> {note}")})
    answering("yes")

    assert cli.ask(a_prompt("Tell me."), deadline=soon()).text == "yes"
    time.sleep(0.3)  # for a hook that would be late
    assert not note.exists()
    assert not (world.home / ".claude" / "playbook").exists()


@pytest.mark.parametrize(
    "text",
    [
        "/compact",
        "/clear\n/compact",
        "@{secret}\nread @{secret} now\n@secret.txt and @{elsewhere}",
        "!cat {secret}",
    ],
)
def test_nothing_in_a_prompt_is_carried_out(
    cli: ClaudeCli, answering: Callable[..., MessagesApi], tmp_path: Path, text: str
) -> None:
    """Slash commands and files named with @ are text, whatever stands in a transcript."""
    secret = tmp_path / "secret.txt"
    secret.write_text("the-content-of-a-secret")
    elsewhere = tmp_path / "elsewhere.txt"
    elsewhere.write_text("the-content-of-another")
    told = text.replace("{secret}", str(secret)).replace("{elsewhere}", str(elsewhere))
    api = answering("yes")

    for prompt in (a_prompt(told), Prompt("You judge.", (told,), None, 1000)):
        assert cli.ask(prompt, deadline=soon()).text == "yes"
        said = api.messages()[-1].said
        assert told in said.replace("\u200b", "")
        assert "the-content-of-a-secret" not in json.dumps(api.messages()[-1].body)
        assert "the-content-of-another" not in json.dumps(api.messages()[-1].body)
    assert len(api.messages()) == 2


@pytest.mark.smoke
def test_a_structured_answer_comes_as_an_object(cli: ClaudeCli, answering: Callable[..., MessagesApi]) -> None:
    """The model calls the one tool that there is for it."""
    api = answering(Answer(tools=(ToolCall("StructuredOutput", ANSWER),)))

    assert cli.ask(a_prompt("Tell me.", schema=True), deadline=soon()).structured == ANSWER
    tools = {tool["name"] for tool in api.messages()[0].body["tools"]}
    assert tools <= {"StructuredOutput", "DeferredToolPlaceholder"}


@pytest.mark.parametrize(
    "given",
    [
        {"analysis": "a", "bullet_tags": [{"name": "pat-001", "tag": "helpful", "rationale": "r"}]},
        {"analysis": "a", "bullet_tags": [{"name": "pat-001", "tag": "perhaps"}], "more": 1},
    ],
)
def test_an_object_without_the_newer_keys_or_against_the_schema_is_heard_all_the_same(
    cli: ClaudeCli, answering: Callable[..., MessagesApi], given: dict[str, Any]
) -> None:
    """As after a template of the user's own, or from a model that keeps to no schema: what comes is checked by us."""
    answering(Answer(tools=(ToolCall("StructuredOutput", given),)))

    assert _reflect(cli).tags == given["bullet_tags"]


def test_an_answer_in_words_is_read_where_the_tool_is_not_called(
    cli: ClaudeCli, answering: Callable[..., MessagesApi]
) -> None:
    """The client says that all is well then; the object stands in the text."""
    answering(f"```json\n{json.dumps(ANSWER)}\n```")

    reflection = _reflect(cli)

    assert (reflection.analysis, reflection.tags) == (ANSWER["analysis"], ANSWER["bullet_tags"])


def test_an_answer_that_the_client_lets_go_on_is_read_as_one(
    cli: ClaudeCli, answering: Callable[..., MessagesApi]
) -> None:
    """Its own result is the last piece alone."""
    whole = json.dumps(ANSWER)
    api = answering(Rule(Answer(whole[:70], stop_reason="max_tokens"), times=1), whole[70:])

    assert cli.ask(a_prompt("Tell me."), deadline=soon()).text == whole
    assert len(api.messages()) == 2


def test_an_answer_that_is_cut_again_and_again_says_so(cli: ClaudeCli, answering: Callable[..., MessagesApi]) -> None:
    """What is complete of it can be used."""
    answering(
        Rule(Answer('{"analysis": "a", "bullet_tags": [', stop_reason="max_tokens"), times=1),
        Answer('{"name": "pat-001"}, ', stop_reason="max_tokens"),
    )

    reply = cli.ask(a_prompt("Tell me."), deadline=soon())

    assert reply.is_cut
    assert reply.text.startswith('{"analysis": "a", "bullet_tags": [{"name": "pat-001"}, ')
    assert "API Error" not in reply.text


@pytest.mark.parametrize(
    ("status", "is_lasting"),
    [(401, True), (404, True), (529, False)],
)
def test_an_error_of_the_api_is_known_in_bounded_time(
    cli: ClaudeCli, answering: Callable[..., MessagesApi], status: int, is_lasting: bool
) -> None:
    """The client left alone tries a wrong key for minutes."""
    api = answering(Answer("scripted trouble", status=status))

    with pytest.raises(ModelError, match="Claude Code gave no answer: ") as raised:
        cli.ask(a_prompt("Tell me."), deadline=soon())

    assert raised.value.is_lasting == is_lasting
    assert len(api.messages()) <= 3


def test_an_api_that_hangs_holds_the_client_no_longer_than_the_deadline(
    cli: ClaudeCli, answering: Callable[..., MessagesApi]
) -> None:
    """It is killed."""
    answering(Answer("too late", delay_s=60))
    begun = time.monotonic()

    with pytest.raises(ModelError, match="was stopped"):
        cli.ask(a_prompt("Tell me."), deadline=soon(3))

    assert time.monotonic() - begun < 60


def test_without_a_login_the_error_lasts_and_says_what_to_do(cli: ClaudeCli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to be asked for that."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")

    with pytest.raises(ModelError, match="claude /login") as raised:
        cli.ask(a_prompt("Tell me."), deadline=soon())

    assert raised.value.is_lasting


def test_a_whole_reflection_goes_through_the_client(cli: ClaudeCli, answering: Callable[..., MessagesApi]) -> None:
    """With our template and a transcript that is larger than arguments may be."""
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


@pytest.mark.parametrize(
    "answer",
    [
        Answer("Your credit balance is too low to access the Anthropic API.", status=400),
        Answer("invalid x-api-key", status=401),
        Answer("no permission", status=403),
        Answer("model: nope", status=404),
    ],
    ids=lambda answer: str(answer.status),
)
def test_the_client_tells_the_state_of_the_account(
    cli: ClaudeCli, answering: Callable[..., MessagesApi], answer: Answer
) -> None:
    """In words of its own, from which we know it."""
    answering(answer)

    with pytest.raises(AccountError):
        cli.ask(a_prompt("hello"), deadline=soon())


def test_the_client_tells_a_refusal(cli: ClaudeCli, answering: Callable[..., MessagesApi]) -> None:
    """It calls it an error; we know it from one."""
    answering(Answer("", stop_reason="refusal"))

    assert cli.ask(a_prompt("hello"), deadline=soon()).is_refused
