"""Asking through the API: what goes over the wire, what is tried again and when, and that a deadline holds."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from playbook_db.errors import AccountError, ModelError, SettingError
from playbook_db.llm import anthropic_api
from playbook_db.llm.anthropic_api import AnthropicModel
from playbook_db.llm.reflector import extract
from tests.llm.conftest import a_prompt, soon
from tests.messages_api import Answer, MessagesApi, Rule, Usage

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import

Start = Callable[..., MessagesApi]
SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def test_stable_part_comes_first_and_is_cached(scripted: Start, model: AnthropicModel) -> None:
    api = scripted("yes")
    rules = "The rules. " * 400

    model.ask(a_prompt(blocks=(rules, "The case."), schema=SCHEMA), deadline=soon())
    (request,) = api.messages()

    assert request.body["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": rules, "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "The case."},
            ],
        }
    ]
    assert (request.system, request.body["max_tokens"]) == ("You judge.", 50)
    assert request.body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert not {"temperature", "top_p", "top_k"} & set(request.body)


def test_reply_has_tokens_cost_and_model(scripted: Start, model: AnthropicModel) -> None:
    """The cost follows the prices of the model that answered."""
    scripted(Answer("yes", usage=Usage(1000, 200, cache_creation_input_tokens=400, cache_read_input_tokens=5000)))

    reply = model.ask(a_prompt(), deadline=soon())

    assert (reply.text, reply.structured, reply.is_cut, reply.model) == ("yes", None, False, "claude-sonnet-5-5")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (1400, 200, 5000)
    assert reply.usage.cost_usd == pytest.approx((1000 * 2 + 400 * 2.5 + 5000 * 0.2 + 200 * 10) / 1e6)
    assert reply.duration_ms >= 0


@pytest.mark.parametrize("stop_reason", ["max_tokens", "model_context_window_exceeded"])
def test_cut_off_reply_says_so(scripted: Start, model: AnthropicModel, stop_reason: str) -> None:
    api = scripted(Answer('{"a": ', stop_reason=stop_reason))

    reply = model.ask(a_prompt(), deadline=soon())

    assert (reply.text, reply.is_cut, len(api.messages())) == ('{"a": ', True, 1)


@pytest.mark.parametrize(
    "answer", [Answer(""), Answer("", stop_reason="refusal"), Answer("I'd rather not.", stop_reason="refusal")]
)
def test_empty_reply_and_refusal_are_replies(scripted: Start, model: AnthropicModel, answer: Answer) -> None:
    api = scripted(answer)

    reply = model.ask(a_prompt(), deadline=soon())

    assert (reply.text, reply.is_cut, reply.usage.output_tokens) == (answer.text, False, 20)
    assert reply.is_refused == (answer.stop_reason == "refusal")
    assert len(api.messages()) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_temporary_errors_are_tried_three_times(
    scripted: Start, model: AnthropicModel, waits: list[float], status: int
) -> None:
    """It waits 2 and 4 seconds."""
    api = scripted(Answer("sorry", status=status))

    with pytest.raises(ModelError, match=f"after 3 attempts: {status} sorry") as raised:
        model.ask(a_prompt(), deadline=soon())

    assert len(api.messages()) == 3
    assert waits == [2.0, 4.0]
    assert not raised.value.is_lasting


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_lasting_errors_are_not_retried(
    scripted: Start, model: AnthropicModel, waits: list[float], status: int
) -> None:
    api = scripted(Answer("no such luck", status=status))

    with pytest.raises(ModelError, match="no such luck") as raised:
        model.ask(a_prompt(schema=SCHEMA), deadline=soon())

    assert (len(api.messages()), waits, raised.value.is_lasting) == (1, [], True)


CREDIT = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade."
LIMITS = "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."


@pytest.mark.parametrize(
    ("status", "text", "is_of_account"),
    [
        (400, CREDIT, True),
        (400, LIMITS, True),
        (429, LIMITS, True),
        (400, "This organization has been disabled.", True),
        (400, "Invalid model name passed in model=nope", True),
        (400, "nope is not a valid model ID", True),
        (400, "model nope does not exist", True),
        (401, "invalid x-api-key", True),
        (402, "pay first", True),
        (403, "Your API key does not have permission to use the specified resource", True),
        (403, "<!DOCTYPE html><html><body>blocked by the firewall</body></html>", False),
        (404, "model: nope", True),
        (302, "elsewhere", True),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", False),
        (400, "messages.0.content: text must not be empty", False),
        (413, "Request exceeds the maximum size", False),
        (429, "This request would exceed your organization's rate limit of 40,000 input tokens per minute", False),
        (529, "Overloaded", False),
    ],
)
def test_account_errors_differ_from_request_errors(
    scripted: Start, model: AnthropicModel, status: int, text: str, is_of_account: bool
) -> None:
    scripted(Answer(text, status=status))

    with pytest.raises(ModelError) as raised:
        model.ask(a_prompt(), deadline=soon())

    assert isinstance(raised.value, AccountError) == is_of_account


def test_third_attempt_may_succeed(scripted: Start, model: AnthropicModel, waits: list[float]) -> None:
    api = scripted(Answer("", status=529), Answer("", status=429), "at last")

    assert model.ask(a_prompt(), deadline=soon()).text == "at last"
    assert (len(api.messages()), waits) == (3, [2.0, 4.0])


@pytest.mark.parametrize(("chance", "expected"), [(0.0, [1.5, 3.0]), (1.0, [2.5, 5.0])])
def test_waits_vary_by_a_quarter(scripted: Start, waits: list[float], chance: float, expected: list[float]) -> None:
    scripted(Answer("", status=529))

    with pytest.raises(ModelError):
        AnthropicModel(sleep=waits.append, random=lambda: chance).ask(a_prompt(), deadline=soon())

    assert waits == expected


@pytest.mark.parametrize(
    ("asked", "waited"), [("7", 7.0), ("0.5", 0.5), ("0", 0.0), ("-3", 0.0), ("86400", 60.0), ("soon", 2.0), ("nan", 2)]
)
def test_retry_after_is_obeyed_up_to_a_minute(
    scripted: Start, model: AnthropicModel, waits: list[float], asked: str, waited: float
) -> None:
    scripted(Answer("", status=429, headers={"retry-after": asked}), "yes")

    assert model.ask(a_prompt(), deadline=soon(300)).text == "yes"
    assert waits == [waited]


def test_no_wait_goes_beyond_the_deadline(scripted: Start, model: AnthropicModel, waits: list[float]) -> None:
    api = scripted(Answer("", status=429, headers={"retry-after": "40"}))

    with pytest.raises(ModelError):
        model.ask(a_prompt(), deadline=soon(20))

    assert (len(api.messages()), waits) == (1, [])


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """*handler* as the API."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}")
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
        yield
        server.shutdown()


class _Trickle(BaseHTTPRequestHandler):
    """Shows signs of life for a minute, as long as anybody listens, and says nothing."""

    has_ended = False

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        with suppress(OSError):
            for _ in range(600):
                self.wfile.write(b'event: ping\ndata: {"type": "ping"}\n\n')
                time.sleep(0.1)
            _Trickle.has_ended = True


def test_slow_stream_ends_at_the_deadline(model: AnthropicModel, monkeypatch: pytest.MonkeyPatch) -> None:
    import anthropic  # noqa: F401 - it takes longer than the deadline

    with serving(_Trickle, monkeypatch), pytest.raises(ModelError, match="the deadline passed"):
        model.ask(a_prompt(), deadline=soon(1))

    assert not _Trickle.has_ended
    with pytest.raises(ModelError, match=r"The deadline passed before .* answered"):
        model.ask(a_prompt(), deadline=soon(-1))


@pytest.mark.parametrize(
    "body", ["<html>log in to the hotel's network</html>", "[1]", "7", '{"content": "x"}', "[" * 99999]
)
def test_foreign_answers_are_errors_at_once(
    model: AnthropicModel, waits: list[float], monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    """A hotel's login page may answer instead of the API."""

    class Odd(_Trickle):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

    with serving(Odd, monkeypatch), pytest.raises(ModelError) as raised:
        model.ask(a_prompt(), deadline=soon())

    assert (waits, raised.value.is_lasting) == ([], False)


def _saying(*chunks: bytes, again: int = 1, status: int = 200, **headers: str) -> type[BaseHTTPRequestHandler]:
    """An API that sends *chunks*, the last of them so many times *again*, as long as anybody listens."""

    class Says(_Trickle):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            for name, value in {"content_type": "text/event-stream", **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            with suppress(OSError):
                for chunk in (*chunks[:-1], *([chunks[-1]] * again)):
                    self.wfile.write(chunk)

    return Says


def _whole(*blocks: dict[str, str], **fields: object) -> bytes:
    usage = {"input_tokens": 3, "output_tokens": 4}
    message = {"id": "1", "type": "message", "role": "assistant", "model": "m", "content": blocks, "usage": usage}
    return json.dumps({**message, "stop_sequence": None, "stop_reason": "end_turn", **fields}).encode()


def test_stream_may_refuse_the_account(
    model: AnthropicModel, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = b'{"type": "error", "error": {"type": "authentication_error", "message": "key revoked"}}'
    api = _saying(b"event: error\ndata: " + error + b"\n\n")

    with serving(api, monkeypatch), pytest.raises(AccountError, match="key revoked"):
        model.ask(a_prompt(), deadline=soon())

    assert waits == []


def test_broken_attempts_are_paid_for(scripted: Start, model: AnthropicModel) -> None:
    broken = Answer("x" * 4000, cut_after=6)
    scripted(broken, Answer("yes", usage=Usage(10, 20)))

    usage = model.ask(a_prompt(), deadline=soon()).usage

    assert usage.input_tokens == 10 + 30 // 4
    assert 20 < usage.output_tokens <= 20 + 4000 // 4
    scripted(broken)
    with pytest.raises(ModelError, match="after 3 attempts") as raised:
        model.ask(a_prompt(), deadline=soon())
    assert raised.value.used == (3 * (30 // 4), 3 * (usage.output_tokens - 20))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(scripted: Start, model: AnthropicModel, status: int) -> None:
    elsewhere = scripted("yes")
    api = scripted(Answer(status=status, headers={"location": f"{elsewhere.url}/v1/messages"}))

    with pytest.raises(ModelError, match=r"names another address.* Correct .*ANTHROPIC_BASE_URL"):
        model.ask(a_prompt(), deadline=soon())

    assert len(api.messages()) == 1
    assert elsewhere.requests == []


def test_unstreamed_answer_is_read(model: AnthropicModel, monkeypatch: pytest.MonkeyPatch) -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    texts = [{"type": "text", "text": text} for text in ("in one ", "piece")]
    body = _whole(thinking, *texts, stop_reason="max_tokens")
    api = _saying(body, content_type="application/json", content_length=str(len(body)))

    with serving(api, monkeypatch):
        reply = model.ask(a_prompt(), deadline=soon())

    assert (reply.text, reply.is_cut, reply.model) == ("in one piece", True, "m")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cost_usd) == (3, 4, None)


def test_silent_request_times_out_and_is_retried(
    scripted: Start, model: AnthropicModel, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    api = scripted(Answer("too late", delay_s=1.5), "in time")
    monkeypatch.setenv("AGENTIC_CONTEXT_TIMEOUT_S", "0.3")

    assert model.ask(a_prompt(), deadline=soon()).text == "in time"
    assert (len(api.messages()), waits) == (2, [2.0])


def test_refused_connection_is_tried_three_times(
    model: AnthropicModel, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")

    with pytest.raises(ModelError, match="no connection") as raised:
        model.ask(a_prompt(), deadline=soon())

    assert (waits, raised.value.is_lasting) == ([2.0, 4.0], False)


@pytest.mark.parametrize("cut_after", [0, 1, 3, 5])
def test_broken_stream_is_retried(scripted: Start, model: AnthropicModel, waits: list[float], cut_after: int) -> None:
    scripted(Answer("x" * 900, cut_after=cut_after), "whole")

    assert model.ask(a_prompt(), deadline=soon()).text == "whole"
    assert waits == [2.0]


@pytest.mark.parametrize(
    "complaint",
    [
        "output_config: Extra inputs are not permitted",
        "output_config.format: structured outputs are not supported by this model",
        "Unknown parameter: 'output_config'",
    ],
)
def test_endpoint_without_schemas_is_asked_without(
    scripted: Start, model: AnthropicModel, waits: list[float], complaint: str
) -> None:
    api = scripted(Rule(Answer(complaint, status=400), when=lambda asked: "output_config" in asked.body), Rule("yes"))

    assert model.ask(a_prompt(schema=SCHEMA), deadline=soon()).text == "yes"
    assert model.ask(a_prompt(schema=SCHEMA), deadline=soon()).text == "yes"
    assert ["output_config" in request.body for request in api.messages()] == [True, False, False]
    assert waits == []


@pytest.mark.parametrize(
    ("variables", "sent"),
    [
        ({"AGENTIC_CONTEXT_API_KEY": "one", "ANTHROPIC_AUTH_TOKEN": "two"}, "one"),
        ({"ANTHROPIC_AUTH_TOKEN": "two", "ANTHROPIC_API_KEY": "three"}, "two"),
        ({"ANTHROPIC_AUTH_TOKEN": "", "ANTHROPIC_API_KEY": " three\n"}, "three"),
    ],
)
def test_first_key_set_is_sent(
    scripted: Start, model: AnthropicModel, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], sent: str
) -> None:
    api = scripted("yes")
    for name, given in variables.items():
        monkeypatch.setenv(name, given)

    model.ask(a_prompt(), deadline=soon())
    headers = api.messages()[0].headers

    assert headers.get("x-api-key", headers["authorization"].removeprefix("Bearer ")) == sent


@pytest.mark.parametrize(
    ("variables", "asked"),
    [
        ({}, "claude-sonnet-5-5"),
        ({"ANTHROPIC_DEFAULT_SONNET_MODEL": "c"}, "c"),
        ({"ANTHROPIC_DEFAULT_SONNET_MODEL": "c", "ANTHROPIC_MODEL": "b"}, "b"),
        ({"ANTHROPIC_MODEL": "b", "AGENTIC_CONTEXT_MODEL": "a"}, "a"),
        ({"AGENTIC_CONTEXT_MODEL": "", "ANTHROPIC_MODEL": "b"}, "b"),
        ({"ANTHROPIC_MODEL": "opus"}, "claude-opus-5-5"),
        ({"ANTHROPIC_MODEL": "Opus[1M]"}, "claude-opus-5-5"),
        ({"ANTHROPIC_MODEL": "sonnet[1m]"}, "claude-sonnet-5-5"),
        ({"ANTHROPIC_MODEL": "haiku"}, "claude-haiku-5-5"),
        ({"ANTHROPIC_MODEL": "opusplan"}, "claude-sonnet-5-5"),
        ({"ANTHROPIC_MODEL": "claude-opus-5-5[1m]"}, "claude-opus-5-5"),
        ({"ANTHROPIC_MODEL": "default"}, "claude-sonnet-5-5"),
        ({"ANTHROPIC_MODEL": "default", "ANTHROPIC_DEFAULT_SONNET_MODEL": "c"}, "c"),
        ({"ANTHROPIC_MODEL": "sonnet", "ANTHROPIC_DEFAULT_SONNET_MODEL": "c[1m]"}, "c"),
        ({"ANTHROPIC_MODEL": "opus", "ANTHROPIC_DEFAULT_OPUS_MODEL": "o"}, "o"),
        ({"ANTHROPIC_MODEL": "sonnet", "ANTHROPIC_DEFAULT_SONNET_MODEL": "sonnet"}, "claude-sonnet-5-5"),
    ],
)
def test_first_model_named_is_used(
    scripted: Start, model: AnthropicModel, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], asked: str
) -> None:
    api = scripted("yes")
    for name, given in variables.items():
        monkeypatch.setenv(name, given)

    model.ask(a_prompt(), deadline=soon())

    assert api.messages()[0].body["model"] == asked


def test_our_own_base_url_wins(scripted: Start, model: AnthropicModel, monkeypatch: pytest.MonkeyPatch) -> None:
    api = scripted("yes")
    monkeypatch.setenv("AGENTIC_CONTEXT_BASE_URL", api.url)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")

    assert model.ask(a_prompt(), deadline=soon()).text == "yes"
    monkeypatch.setenv("AGENTIC_CONTEXT_BASE_URL", "")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "")
    assert anthropic_api.base_url() == "https://api.anthropic.com"


@pytest.mark.parametrize("key", ["sk-ant-test-key", "my-own-secret-key-of-the-company", "sk-example-0123456789"])
def test_no_error_contains_the_key(
    scripted: Start, model: AnthropicModel, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    scripted(Answer(f"invalid x-api-key: {key}", status=401))
    monkeypatch.setenv("ANTHROPIC_API_KEY", key)

    with pytest.raises(ModelError, match="Check ANTHROPIC_API_KEY") as raised:
        model.ask(a_prompt(), deadline=soon())

    assert key not in str(raised.value)


@pytest.mark.parametrize("status", [200, 401, 500])
def test_errors_that_repeat_the_request_are_redacted(
    scripted: Start, model: AnthropicModel, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    api = scripted(Answer("wrong: x-api-key=qzv81kkd0-b1t, Basic YW5uOmgwcnNlLWJhdHRlcnk=", status=status))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "qzv81kkd0-b1t")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url.replace("//", "//ann:h0rse-battery@"))

    with pytest.raises(ModelError) as raised:
        extract(model, template="{transcript}", transcript="x", playbook_text="", deadline=soon())

    for secret in ("qzv81kkd0", "YW5uOmgwcnNl", "h0rse", "ann"):
        assert secret not in str(raised.value)
    assert "127.0.0.1" in str(raised.value) or status == 200


@pytest.mark.parametrize("address", ["http://ann:h0rse/battery@host", "http://ann:pw@host:h0rse/", "h0rse://ann:pw@x"])
def test_bad_url_is_shown_without_password(
    model: AnthropicModel, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", address)

    with pytest.raises(ModelError) as raised:
        model.ask(a_prompt(), deadline=soon())

    assert "ann" not in str(raised.value)
    assert "battery" not in str(raised.value)
    assert "Correct AGENTIC_CONTEXT_BASE_URL" in str(raised.value) or "no connection" in str(raised.value)


@pytest.mark.parametrize("name", ["AGENTIC_CONTEXT_TIMEOUT_S", "PLAYBOOK_PRICE_PER_MTOK"])
def test_bad_setting_fails_before_any_request(
    scripted: Start, model: AnthropicModel, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    api = scripted("yes")
    monkeypatch.setenv(name, "soon")

    with pytest.raises(SettingError, match=name):
        model.ask(a_prompt(), deadline=soon())

    assert api.messages() == []
