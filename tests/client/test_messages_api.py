"""The API that stands in for Anthropic's: what it answers, and what it remembers."""

import http.client
import json
from typing import Any

import pytest

from tests.messages_api import Answer, MessagesApi, Rule, ToolCall, Usage

HELLO: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hello"}]}


def _ask(api: MessagesApi, path: str = "/v1/messages", **body: Any) -> tuple[int, dict[str, str], str]:
    """POST *body*, else GET; status, headers, text."""
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=10)
    try:
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None, {"x-api-key": "k"})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()
    finally:
        connection.close()


def test_rules_are_tried_in_order_and_used_up() -> None:
    """The first that fits answers; after `times` the next one does; "Done." comes last."""
    with MessagesApi(Rule("once", said="hello", times=1), Rule("never", system="terse")) as api:
        texts = [json.loads(_ask(api, **HELLO)[2])["content"][0]["text"] for _ in range(2)]

    assert texts == ["once", "Done."]
    assert [request.last_said for request in api.messages()] == ["hello", "hello"]
    assert api.messages()[0].headers["x-api-key"] == "k"


def test_an_error_comes_with_its_status_type_and_headers() -> None:
    """As a client that tries again needs them."""
    with MessagesApi(Answer("slow down", status=429, headers={"retry-after": "7"})) as api:
        status, headers, text = _ask(api, **HELLO)

    assert (status, headers["retry-after"]) == (429, "7")
    assert json.loads(text)["error"] == {"type": "rate_limit_error", "message": "slow down"}


def test_a_stream_adds_up_to_the_message() -> None:
    """Text in pieces, a tool's input as JSON, the stop reason and the tokens at the end."""
    said = Answer("x" * 500, tools=(ToolCall("T", {"a": 1}),), usage=Usage(cache_read_input_tokens=5))
    with MessagesApi(said) as api:
        text = _ask(api, **HELLO, stream=True)[2]
    events = [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]
    deltas = [event["delta"] for event in events if event["type"] == "content_block_delta"]

    assert "".join(delta.get("text", "") for delta in deltas) == "x" * 500
    assert json.loads(deltas[-1]["partial_json"]) == {"a": 1}
    assert events[0]["message"]["usage"]["cache_read_input_tokens"] == 5
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-1] == {"type": "message_stop"}


def test_a_stream_that_is_cut_ends_before_its_end() -> None:
    """So that a client can be tested that loses its connection."""
    with MessagesApi(Answer("hello", cut_after=3)) as api:
        text = _ask(api, **HELLO, stream=True)[2]

    assert text.count("event:") == 3
    assert "message_stop" not in text


@pytest.mark.parametrize("path", ["/v1/models", "/v1/messages/count_tokens", "/v1/else"])
def test_the_other_paths(path: str) -> None:
    """Models are listed, tokens counted, anything else isn't found; none of them is a message."""
    with MessagesApi() as api:
        status, _, text = _ask(api, path, **(HELLO if "count" in path else {}))

    wanted = {"/v1/models": "data", "/v1/messages/count_tokens": "input_tokens", "/v1/else": "error"}
    assert status == (404 if path == "/v1/else" else 200)
    assert wanted[path] in json.loads(text)
    assert api.messages() == []
