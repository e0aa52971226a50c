"""Sending one request to Anthropic's Messages API through its SDK, with limits of time and length.

Each failure is a RequestError. `anthropic_api` decides whether to retry, and tells the user.
"""

import math
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from playbook_db.llm.model import MAX_REPLY_BYTES, MAX_REPLY_CHARS, TOO_LONG, shortened

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


class TooLongError(RequestError):
    """An answer is too long, so the rest of it wasn't read."""

    def __init__(self) -> None:
        super().__init__(TOO_LONG, is_readable=False)


@dataclass(slots=True)
class Message:
    """The part of an answer received so far. `length` is the number of characters in `pieces`."""

    pieces: list[str] = field(default_factory=list)
    model: str = ""
    stop_reason: str | None = None
    usage: dict[str, Any] = field(default_factory=dict)
    length: int = 0

    def add(self, text: str) -> None:
        """Add *text* to `pieces`. Raises TooLongError if the answer gets too long."""
        self.pieces.append(text)
        self.length += len(text)
        if self.length > MAX_REPLY_CHARS:
            raise TooLongError


def send(
    client: "anthropic.Anthropic", body: Mapping[str, Any], message: Message, *, timeout: float, deadline: float
) -> None:
    """Send the request *body*, and read the answer into *message*. Raises RequestError.

    *timeout* is the longest allowed pause in the answer, in seconds. *deadline* is a time of `time.monotonic`. A thread
    reads the answer, because a slow DNS lookup, or an answer that arrives byte by byte, would outlast the deadline.
    """
    errors: list[BaseException] = []

    def read() -> None:
        try:
            _read(client, body, message, timeout)
        except BaseException as error:  # raised below, in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=read, name="playbook-model", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if errors:
        raise _request_error(errors[0]) from errors[0]
    if thread.is_alive():
        raise RequestError("the deadline passed")


def limit(response: "httpx2.Response") -> None:
    """Refuse *response* if it is compressed. Limit its length: reading more raises TooLongError."""
    import httpx2

    stream = response.stream
    packing = response.headers.get("content-encoding", "identity")
    if not isinstance(stream, httpx2.SyncByteStream) or packing != "identity":
        raise RequestError("the reply is compressed, although the request forbids compression", is_readable=False)
    body: httpx2.SyncByteStream = stream

    class Limited(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            length = 0
            for chunk in body:
                length += len(chunk)
                if length > MAX_REPLY_BYTES:
                    raise TooLongError
                yield chunk

        def close(self) -> None:
            body.close()

    response.stream = Limited()


def _read(client: "anthropic.Anthropic", body: Mapping[str, Any], message: Message, timeout: float) -> None:
    from anthropic import Timeout, types

    timeouts, is_complete = Timeout(timeout, connect=min(timeout, CONNECT_S)), False
    with client.messages.create(**body, stream=True, timeout=timeouts) as stream:
        if "event-stream" not in stream.response.headers.get("content-type", ""):  # as some gateways answer
            whole = types.Message.model_validate_json(stream.response.read())
            message.model, message.stop_reason = shortened(whole.model), whole.stop_reason
            message.usage = whole.usage.to_dict()
            for block in whole.content:
                message.add(block.text if block.type == "text" else "")
            return
        for event in stream:
            if event.type == "message_start":
                message.model, message.usage = shortened(event.message.model), event.message.usage.to_dict()
            elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                message.add(event.delta.text)
            elif event.type == "message_delta":
                message.stop_reason = event.delta.stop_reason
                message.usage |= {key: count for key, count in event.usage.to_dict().items() if count is not None}
            is_complete = event.type == "message_stop"
    if not is_complete:
        raise RequestError("the connection broke before the reply was complete")


def _request_error(error: BaseException) -> BaseException:
    """Return a RequestError for an *error* of the SDK or the connection. Return other errors, which are bugs, as is."""
    import anthropic
    import httpx2

    if isinstance(error.__cause__, RequestError):  # raised by `limit`
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
