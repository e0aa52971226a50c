"""What goes over the wire of the Messages API: a request, an answer, an answer as JSON and as a stream of events.

Pure: what is answered, and when, is `messages_api`'s.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

PIECE = 200  # characters of text in one event of a stream
ERROR_TYPES = {  # by status; others are `api_error`
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for a tool."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer is said to have cost, in tokens."""

    input_tokens: int = 100
    output_tokens: int = 20
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says, or what goes wrong.

    With a `status` other than 200 `text` is the error's message. `stop_reason` is found out from `tools` where it
    isn't given. `cut_after` is the number of a stream's events after which the connection breaks.
    """

    text: str = ""
    tools: tuple[ToolCall, ...] = ()
    stop_reason: str | None = None
    usage: Usage = Usage()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut_after: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it came in. Names of `headers` are in lower case; `at` is a time.time()."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    at: float

    @property
    def is_message(self) -> bool:
        return (self.method, self.path) == ("POST", "/v1/messages")

    @property
    def system(self) -> str:
        return text_of(self.body.get("system"))

    @property
    def said(self) -> str:
        """All messages of the conversation, as text, whoever said them."""
        return "\n".join(text_of(message.get("content")) for message in self.body.get("messages") or ())

    @property
    def last_said(self) -> str:
        users = [message for message in self.body.get("messages") or () if message.get("role") == "user"]
        return text_of(users[-1].get("content")) if users else ""


def error_body(status: int, message: str, request_id: str) -> dict[str, Any]:
    error = {"type": ERROR_TYPES.get(status, "api_error"), "message": message}
    return {"type": "error", "error": error, "request_id": request_id}


def message_body(answer: Answer, *, model: str, number: int) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    for index, call in enumerate(answer.tools):
        made = f"toolu_{number:06}{index:02}"
        content.append({"type": "tool_use", "id": made, "name": call.name, "input": dict(call.input)})
    return {
        "id": f"msg_{number:012}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": answer.stop_reason or ("tool_use" if answer.tools else "end_turn"),
        "stop_sequence": None,
        "usage": asdict(answer.usage),
    }


def stream(message: Mapping[str, Any]) -> Iterator[bytes]:
    """*message* as server-sent events."""
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield _event("message_start", message=begun)
    for index, block in enumerate(message["content"]):
        yield from _block(index, block)
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=ended, usage={"output_tokens": message["usage"]["output_tokens"]})
    yield _event("message_stop")


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(_text_of_block(block) for block in content or ())


def _block(index: int, block: dict[str, Any]) -> Iterator[bytes]:
    if block["type"] == "text":
        empty = {**block, "text": ""}
        pieces = [block["text"][start : start + PIECE] for start in range(0, len(block["text"]), PIECE)]
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    else:
        empty = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
    yield _event("content_block_start", index=index, content_block=empty)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(name: str, **data: Any) -> bytes:
    return f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode()


def _text_of_block(block: Mapping[str, Any]) -> str:
    if block.get("type") == "tool_result":
        return text_of(block.get("content"))
    if block.get("type") == "tool_use":
        return json.dumps(block.get("input"), ensure_ascii=False)
    return str(block.get("text", ""))
