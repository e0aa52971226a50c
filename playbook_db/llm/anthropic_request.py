"""Sending one request to Anthropic's Messages API through its SDK, with a limit of time.

Each failure is a RequestError. `anthropic_api` decides whether to retry, and tells the user.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from playbook_db.llm.model import shortened

if TYPE_CHECKING:
    import anthropic
    import httpx2

CONNECT_S = 10.0
_STREAMED_STATUS = {  # the HTTP status that an error inside a stream stands for
    "authentication_error": 401, "billing_error": 402, "invalid_request_error": 400, "not_found_error": 404,
    "overloaded_error": 529, "permission_error": 403, "rate_limit_error": 429, "request_too_large": 413,
    "timeout_error": 504,
}  # fmt: skip


class RequestError(Exception):
    """A request failed.

    `status` is the HTTP status or None. `is_readable` is false if the answer doesn't follow the API.
    """

    def __init__(
        self, text: str, *, status: int | None = None, retry_after_s: float | None = None, is_readable: bool = True
    ) -> None:
        self.text = shortened(text)
        self.status, self.retry_after_s, self.is_readable = status, retry_after_s, is_readable
        super().__init__(self.text)


@dataclass(slots=True)
class Message:
    """The part of an answer received so far."""

    pieces: list[str] = field(default_factory=list)
    model: str = ""
    stop_reason: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All pieces as one text."""
        return "".join(self.pieces)


def send(client: "anthropic.Anthropic", body: Mapping[str, Any], message: Message, *, timeout: float) -> None:
    """Send the request *body*, and read the answer into *message*. Raises RequestError.

    *timeout* is the longest allowed pause in the answer, in seconds.
    """
    try:
        _read(client, body, message, timeout)
    except Exception as error:
        raise _request_error(error) from error


def until(deadline: float) -> "Callable[[httpx2.Response], None]":
    """Return a hook that ends a response after *deadline* (of `time.monotonic`). Signs of life don't extend it.

    The SDK passes over them, so it can't notice the time.
    """
    import httpx2

    class Timed(httpx2.SyncByteStream):
        def __init__(self, body: httpx2.SyncByteStream) -> None:
            self._body = body

        def __iter__(self) -> Iterator[bytes]:
            for chunk in self._body:
                if time.monotonic() > deadline:
                    raise RequestError("the deadline passed")
                yield chunk

        def close(self) -> None:
            self._body.close()

    def hook(response: httpx2.Response) -> None:
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = Timed(response.stream)

    return hook


def _read(client: "anthropic.Anthropic", body: Mapping[str, Any], message: Message, timeout: float) -> None:
    from anthropic import Timeout, types

    timeouts, is_complete = Timeout(timeout, connect=min(timeout, CONNECT_S)), False
    with client.messages.create(**body, stream=True, timeout=timeouts) as stream:
        if "event-stream" not in stream.response.headers.get("content-type", ""):  # as some gateways answer
            whole = types.Message.model_validate_json(stream.response.read())
            message.model, message.stop_reason = shortened(whole.model), whole.stop_reason
            message.usage = whole.usage.to_dict()
            for block in whole.content:
                message.pieces.append(block.text if block.type == "text" else "")
            return
        for event in stream:
            if event.type == "message_start":
                message.model, message.usage = shortened(event.message.model), event.message.usage.to_dict()
            elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                message.pieces.append(event.delta.text)
            elif event.type == "message_delta":
                message.stop_reason = event.delta.stop_reason
                message.usage |= {key: count for key, count in event.usage.to_dict().items() if count is not None}
            is_complete = event.type == "message_stop"
    if not is_complete:
        raise RequestError("the connection broke before the reply was complete")


def _request_error(error: Exception) -> Exception:
    """Return a RequestError for an *error* of the SDK or the connection. Return other errors, which are bugs, as is."""
    import anthropic
    import httpx2

    if isinstance(error.__cause__, RequestError):  # raised by `until`
        return error.__cause__
    if isinstance(error, anthropic.APIStatusError):
        fields = error.body.get("error") if isinstance(error.body, Mapping) else None
        fields = fields if isinstance(fields, Mapping) else {}
        status = error.status_code if error.status_code >= 300 else _STREAMED_STATUS.get(str(fields.get("type")), 500)
        retry_after_s = _retry_after_s(error.response.headers.get("retry-after", ""))
        return RequestError(
            f"{status} {fields.get('message') or error.message}", status=status, retry_after_s=retry_after_s
        )
    if isinstance(error, (anthropic.APITimeoutError, httpx2.TimeoutException)):
        return RequestError("it took too long")
    if isinstance(error, (anthropic.APIConnectionError, httpx2.TransportError)):
        return RequestError(f"no connection ({error.__cause__ or error})")
    if isinstance(error, httpx2.InvalidURL):
        return RequestError("the address can't be understood", is_readable=False)
    # The SDK doesn't check the fields of events, so a field may be missing or have any type.
    unreadable = (ValueError, TypeError, AttributeError, RecursionError, anthropic.AnthropicError, httpx2.HTTPError)
    if isinstance(error, unreadable):
        return RequestError(f"the answer can't be read ({error})", is_readable=False)
    return error


def _retry_after_s(header: str) -> float | None:
    """Return how many seconds the *header* asks to wait, or None if it is no number. A date counts as none."""
    try:
        seconds = float(header)
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None
