"""Claude Code as the model, with small programs in its place; the real one is in tests/client."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playbook_db.errors import AccountError, ModelError, NoModelError
from playbook_db.llm.claude_cli import ClaudeCli
from tests.llm.conftest import a_prompt, soon

pytestmark = pytest.mark.slow  # starts processes

Fake = Callable[..., ClaudeCli]
RESULT: dict[str, Any] = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "yes",
    "stop_reason": "end_turn",
    "total_cost_usd": 0.25,
    "usage": {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 3},
    "modelUsage": {"claude-sonnet-5-5": {}},
}


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """Makes a `claude` out of lines of Python; `say(value)` prints JSON."""

    def make(*lines: str) -> ClaudeCli:
        program = tmp_path / "claude"
        head = "import json, os, sys, time\nsay = lambda value: print(json.dumps(value))\n"
        program.with_suffix(".py").write_text(head + "\n".join(lines))
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "$0.py" "$@"\n')
        program.chmod(0o755)
        return ClaudeCli(str(program))

    return make


@pytest.fixture
def telling(fake: Fake) -> Callable[..., Any]:
    """Asks a `claude` for one thing that it sees, which is a Python expression."""

    def ask(expression: str, **prompt: Any) -> Any:
        model = fake(f"said = sys.stdin.read(); say({{**{RESULT!r}, 'result': json.dumps({expression})}})")
        return json.loads(model.ask(a_prompt(**prompt), deadline=soon()).text)

    return ask


def test_client_gets_nothing_but_the_question(telling: Callable[..., Any]) -> None:
    """The client has no hooks, tools or servers, and keeps no session."""
    assert telling("sys.argv[1:]", schema={"type": "object"}) == [
        "-p",
        *("--output-format", "json", "--verbose"),
        *("--model", "sonnet"),
        *("--settings", '{"disableAllHooks":true}'),
        *("--tools", ""),
        "--strict-mcp-config",
        "--no-session-persistence",
        *("--system-prompt", "You judge."),
        *("--json-schema", '{"type": "object"}'),
    ]
    assert "--json-schema" not in telling("sys.argv")


def test_client_runs_in_an_empty_folder(telling: Callable[..., Any], tmp_path: Path) -> None:
    where, found = telling("[os.getcwd(), os.listdir()]")

    assert found == []
    assert not os.path.exists(where)
    assert where != str(tmp_path)


def test_our_hooks_keep_still(telling: Callable[..., Any]) -> None:
    names = ("PLAYBOOK_DISABLE", "CLAUDE_CODE_MAX_RETRIES", "CLAUDE_CODE_MAX_OUTPUT_TOKENS")

    assert telling(f"[os.environ[name] for name in {names}]") == ["1", "2", "50"]


def test_named_model_is_used(telling: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_MODEL", "b")
    assert telling("sys.argv[sys.argv.index('--model') + 1]") == "b"
    monkeypatch.setenv("AGENTIC_CONTEXT_MODEL", "a")
    assert telling("sys.argv[sys.argv.index('--model') + 1]") == "a"


@pytest.mark.parametrize("text", ["/compact now", "!ls", "# remember", "", "\n/clear"])
def test_first_line_is_never_the_prompts(telling: Callable[..., Any], text: str) -> None:
    """Otherwise a text that begins with / would be a command."""
    said = telling("said", blocks=(text, " case"))

    assert said.startswith("What follows")
    assert said.endswith(f"{text} case")


def test_at_signs_read_no_file(fake: Fake) -> None:
    model = fake(
        "said = sys.stdin.read(); assert '@/' not in said and '@pytest' not in said",
        f"say({{**{RESULT!r}, 'result': said, 'structured_output': {{'list': [said]}}}})",
    )

    reply = model.ask(a_prompt(blocks=("see @/etc/hostname ", "and @pytest.fixture")), deadline=soon())

    assert reply.text.endswith("see @/etc/hostname and @pytest.fixture")
    assert reply.structured == {"list": [reply.text]}


def test_huge_prompt_arrives_whole(telling: Callable[..., Any]) -> None:
    assert telling("len(said)", blocks=("é" * 2_000_000,)) > 2_000_000


def test_object_against_the_schema_is_taken_if_client_gave_up(fake: Fake) -> None:
    result = {"type": "result", "subtype": "error_max_structured_output_retries", "is_error": True}
    result["errors"] = ["Failed to provide valid structured output"]
    calls = [{"type": "tool_use", "name": "StructuredOutput", "input": {"a": number}} for number in (1, 2)]
    entries = [{"type": "assistant", "message": {"content": [call]}} for call in calls]

    assert fake(f"say({[*entries, result]!r})").ask(a_prompt(), deadline=soon()).structured == {"a": 2}
    with pytest.raises(ModelError, match="gave no answer: Failed to provide valid structured output"):
        fake(f"say({[{'type': 'system'}, result]!r})").ask(a_prompt(), deadline=soon())


def test_tokens_cost_and_model_are_read(fake: Fake) -> None:
    reply = fake(f"say({RESULT!r})").ask(a_prompt(), deadline=soon())

    assert (reply.text, reply.structured, reply.is_cut, reply.model) == ("yes", None, False, "claude-sonnet-5-5")
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cost_usd) == (15, 3, 7, 0.25)


@pytest.mark.parametrize(
    "odd", [{"usage": None, "modelUsage": None, "total_cost_usd": None}, {"usage": {"input_tokens": "?"}}]
)
def test_missing_usage_is_unknown(fake: Fake, odd: dict[str, Any]) -> None:
    reply = fake(f"say({ {**RESULT, **odd}!r})").ask(a_prompt(), deadline=soon())

    assert (reply.text, reply.usage.input_tokens) == ("yes", 0)


def message(text: str, model: str = "m") -> dict[str, Any]:
    """Return the client's entry for an answer of the model."""
    return {"type": "assistant", "message": {"model": model, "content": [{"type": "text", "text": text}]}}


def test_pieces_of_an_answer_are_joined(fake: Fake) -> None:
    entries = [{"type": "system"}, message('{"a": "on'), {"type": "user"}, message('e"}'), {**RESULT, "result": 'e"}'}]

    assert fake(f"say({entries!r})").ask(a_prompt(), deadline=soon()).text == '{"a": "one"}'


def test_client_that_gives_up_reports_a_cut(fake: Fake) -> None:
    output = "API Error: Claude's response exceeded the 50 output token maximum."
    entries = [message('{"a": '), message(output, "<synthetic>"), {**RESULT, "is_error": True, "result": output}]

    reply = fake(f"say({entries!r}); sys.exit(1)").ask(a_prompt(), deadline=soon())

    assert (reply.text, reply.is_cut) == ('{"a": ', True)


@pytest.mark.parametrize(
    ("lines", "is_lasting"),
    [
        (f"say({ {**RESULT, 'is_error': True, 'api_error_status': 401}!r}); sys.exit(1)", True),
        (f"say({ {**RESULT, 'is_error': True, 'api_error_status': 400}!r})", True),
        (f"say({ {**RESULT, 'is_error': True, 'api_error_status': 429}!r}); sys.exit(1)", False),
        (f"say({ {**RESULT, 'is_error': True, 'api_error_status': 529}!r}); sys.exit(1)", False),
        (f"say({ {**RESULT, 'is_error': True, 'result': 'Please run /login'}!r}); sys.exit(1)", True),
        (f"say({RESULT!r}); sys.exit(3)", False),
        ("sys.stderr.write('unknown option --tools'); sys.exit(1)", False),
        ("print('not json')", False),
        ("print('[' * 100000)", False),
        ("say([])", False),
        ("say({'type': 'else'})", False),
        ("", False),
    ],
)
def test_failure_is_the_exit_code_or_the_flag(fake: Fake, lines: str, is_lasting: bool) -> None:
    with pytest.raises(ModelError, match="Claude Code gave no answer") as raised:
        fake(lines).ask(a_prompt(), deadline=soon())

    assert raised.value.is_lasting == is_lasting


@pytest.mark.parametrize(
    ("status", "text", "is_of_account"),
    [
        (400, "Credit balance is too low", True),
        (400, "API Error: 400 You have reached your specified API usage limits. You will regain access soon.", True),
        (401, "Invalid API key · Fix external API key", True),
        (403, "Failed to authenticate. API Error: 403 no permission", True),
        (404, "There's an issue with the selected model (nope). It may not exist or you may not have access.", True),
        (429, "You've hit your limit · resets 3pm", True),
        (None, "Claude AI usage limit reached|1790000000", True),
        (None, "Please run /login", True),
        (400, "API Error: 400 prompt is too long", False),
        (529, "API Error: Overloaded", False),
        (None, "something else", False),
    ],
)
def test_account_errors_differ_from_request_errors(
    fake: Fake, status: int | None, text: str, is_of_account: bool
) -> None:
    told = {**RESULT, "is_error": True, "api_error_status": status, "result": text}

    with pytest.raises(ModelError) as raised:
        fake(f"say({told!r}); sys.exit(1)").ask(a_prompt(), deadline=soon())

    assert isinstance(raised.value, AccountError) == is_of_account


def test_missing_client_and_passed_deadline_are_errors(fake: Fake, tmp_path: Path) -> None:
    with pytest.raises(NoModelError, match=r"can't be started .*Set PLAYBOOK_CLAUDE"):
        ClaudeCli(str(tmp_path / "none")).ask(a_prompt(), deadline=soon())
    with pytest.raises(ModelError, match="deadline passed before Claude Code was asked"):
        fake(f"say({RESULT!r})").ask(a_prompt(), deadline=soon(-1))


def test_refusal_is_a_reply(fake: Fake) -> None:
    told = {**RESULT, "is_error": True, "stop_reason": "refusal", "result": "Sonnet's safeguards flagged this message"}

    reply = fake(f"say({told!r}); sys.exit(1)").ask(a_prompt(), deadline=soon())

    assert (reply.is_refused, reply.usage.output_tokens) == (True, 3)


@pytest.mark.parametrize("reads", ["sys.stdin.read()", "pass"])
def test_hanging_client_is_killed_with_its_children(fake: Fake, tmp_path: Path, reads: str) -> None:
    note, outlived = tmp_path / "pid", tmp_path / "outlived"
    model = fake(
        reads,
        "child = os.fork()",
        "if child:",
        f"    open({str(note)!r}, 'w').write(str(child))",
        "time.sleep(60)",
        f"open({str(outlived)!r}, 'w')",
    )

    with pytest.raises(ModelError, match="was stopped") as raised:
        model.ask(a_prompt(blocks=("x" * 1_000_000, "The case.")), deadline=soon(1))

    assert not outlived.exists()
    assert not raised.value.is_lasting
    assert not _is_running(int(note.read_text()))


def _is_running(pid: int) -> bool:
    for _ in range(50):  # whoever inherits it may take a moment to bury it
        state = subprocess.run(["/bin/ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
        if not state.strip() or state.startswith("Z"):
            return False
        time.sleep(0.02)
    return True
