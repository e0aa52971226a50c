"""One request to Anthropic's Messages API, and its answer as it comes in: in events, or in one piece.

Whatever goes wrong on the way is a RequestError; how often to try, and what to tell the user, is decided elsewhere.
"""

import math
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from playbook_db.llm.model import MAX_REPLY_BYTES, MAX_REPLY_CHARS, TOO_LONG, count_of, shortened

if TYPE_CHECKING:
    import anthropic
    import httpx2

CONNECT_S = 10.0
_STREAMED_STATUS = {  # of errors within a stream
    "authentication_error": 401, "billing_error": 402, "invalid_request_error": 400, "not_found_error": 404,
    "overloaded_error": 529, "permission_error": 403, "rate_limit_error": 429, "request_too_large": 413,
    "timeout_error": 504,
}  # fmt: skip


class RequestError(Exception):
    """A request that failed; `status` is None where the API gave none, `is_readable` says whether the answer was one
    of the Messages API."""

    def __init__(
        self, text: str, *, status: int | None = None, retry_after_s: float | None = None, is_readable: bool = True
    ) -> None:
        self.text = shortened(text)
        self.status, self.retry_after_s, self.is_readable = status, retry_after_s, is_readable
        super().__init__(self.text)


class TooLongError(RequestError):
    """An answer that was ended since it was too long."""

    def __init__(self) -> None:
        super().__init__(TOO_LONG, is_readable=False)


@dataclass(slots=True)
class Message:
    """A message of the API, as far as it was received."""

    pieces: list[str] = field(default_factory=list)
    model: str = ""
    stop_reason: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    length: int = 0

    def add_text(self, text: object) -> None:
        """Add a piece of the text. Raises TooLongError where it gets too long."""
        self.pieces.append(str(text or ""))
        self.length += len(self.pieces[-1])
        if self.length > MAX_REPLY_CHARS:
            raise TooLongError

    def add_usage(self, usage: object) -> None:
        """Keep the counters of *usage*; later ones replace earlier ones."""
        if isinstance(usage, Mapping):
            self.usage |= {key: count_of(usage, key) for key, count in usage.items() if type(count) is int}


def send(
    client: "anthropic.Anthropic", body: Mapping[str, Any], message: Message, *, timeout: float, deadline: float
) -> None:
    """Fill *message* with the answer to *body*, by *deadline*; without a sign of life for *timeout* seconds it fails.

    Raises RequestError. A thread reads, since neither the lookup of a name nor a trickle of bytes ends at a deadline.
    """
    errors: list[BaseException] = []

    def read() -> None:
        is_complete = False
        try:
            for event in _events(client, body, timeout):
                is_complete = _add_event(message, event) or is_complete
            if not is_complete:
                raise RequestError("the connection broke before the reply was complete")
        except BaseException as error:  # raised below, in the thread that waits
            errors.append(error)

    thread = threading.Thread(target=read, name="playbook-model", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if errors:
        raise _request_error(errors[0]) from errors[0]
    if thread.is_alive():
        raise RequestError("the time for it was over")


def limit(response: "httpx2.Response") -> None:
    """Let the body of *response*, an error's too, raise TooLongError where it gets too long; it may not be packed."""
    import httpx2

    stream = response.stream
    packing = response.headers.get("content-encoding", "identity")
    if not isinstance(stream, httpx2.SyncByteStream) or packing != "identity":
        raise RequestError("its reply is compressed, which it was asked not to be", is_readable=False)
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


def _events(client: "anthropic.Anthropic", body: Mapping[str, Any], timeout: float) -> Iterator[Mapping[str, Any]]:
    """The events of a stream, as the API sends them; one event with the whole message where it isn't streamed."""
    import json

    from anthropic import Timeout

    timeouts = Timeout(timeout, connect=min(timeout, CONNECT_S))
    with client.messages.with_streaming_response.create(**body, stream=True, timeout=timeouts) as response:
        if "event-stream" not in response.headers.get("content-type", ""):
            yield {"type": "message", "message": json.loads(response.read())}
            return
        data: list[bytes] = []
        for line in _lines(response.iter_bytes()):
            if line.startswith(b"data:"):
                data.append(line[len(b"data:") :])
            elif not line and data:
                yield json.loads(b"\n".join(data))
                data = []


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The lines in *chunks*. Each byte is copied once, however long the line and however small the chunks."""
    parts: list[bytes] = []
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        parts.append(first)
        for other in others:
            yield b"".join(parts).removesuffix(b"\r")
            parts = [other]


def _add_event(message: Message, event: object) -> bool:
    """Add *event* of the stream to *message*. Returns whether the message is complete then."""
    if not isinstance(event, Mapping):
        raise RequestError("the answer is none of the Messages API", is_readable=False)
    kind, start, delta = event.get("type"), event.get("message"), event.get("delta")
    if kind == "error":
        error = event.get("error")
        fields = error if isinstance(error, Mapping) else {}
        name = str(fields.get("type"))
        raise RequestError(f"{name}: {fields.get('message')}", status=_STREAMED_STATUS.get(name, 500))
    if kind == "message":
        return _add_whole(message, start)
    if kind == "message_start" and isinstance(start, Mapping):
        message.model = shortened(str(start.get("model") or ""))
        message.add_usage(start.get("usage"))
    elif kind == "content_block_delta" and isinstance(delta, Mapping) and delta.get("type") == "text_delta":
        message.add_text(delta.get("text"))
    elif kind == "message_delta":
        message.stop_reason = delta.get("stop_reason") if isinstance(delta, Mapping) else None
        message.add_usage(event.get("usage"))
    return kind == "message_stop"


def _add_whole(message: Message, answer: object) -> bool:
    content = answer.get("content") if isinstance(answer, Mapping) else None
    if not isinstance(answer, Mapping) or not isinstance(content, list):
        raise RequestError("the answer is none of the Messages API", is_readable=False)
    blocks = [block for block in content if isinstance(block, Mapping) and block.get("type") == "text"]
    for block in blocks:
        message.add_text(block.get("text"))
    message.model, message.stop_reason = shortened(str(answer.get("model") or "")), answer.get("stop_reason")
    message.add_usage(answer.get("usage"))
    return True


def _request_error(error: BaseException) -> BaseException:
    """The RequestError for *error* of the SDK or the connection; any other error is a bug and comes back as it is."""
    import anthropic
    import httpx2

    if isinstance(error.__cause__, RequestError):  # ours, of limit
        return error.__cause__
    if isinstance(error, anthropic.APIStatusError):
        return RequestError(
            f"{error.status_code} {_text_of(error)}",
            status=error.status_code,
            retry_after_s=_retry_after_s(error.response.headers),
        )
    if isinstance(error, (anthropic.APITimeoutError, httpx2.TimeoutException)):
        return RequestError("it took too long")
    if isinstance(error, (anthropic.APIConnectionError, httpx2.TransportError)):
        return RequestError(f"no connection ({error.__cause__ or error})")
    if isinstance(error, httpx2.InvalidURL):
        return RequestError("the address can't be understood", is_readable=False)
    if isinstance(error, (ValueError, anthropic.AnthropicError, httpx2.HTTPError, RecursionError)):
        return RequestError(f"the answer can't be read ({error})", is_readable=False)
    return error


def _text_of(error: "anthropic.APIStatusError") -> str:
    fields = error.body.get("error") if isinstance(error.body, Mapping) else None
    text = fields.get("message") if isinstance(fields, Mapping) else None
    return str(text or error.message)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait that the header asks for, in seconds or as a date; None where it asks for none that makes sense."""
    header = headers.get("retry-after", "")
    seconds = math.nan
    with suppress(ValueError):
        seconds = float(header)
    if math.isnan(seconds):
        import email.utils  # late: it brings the whole of `email` and `socket`

        with suppress(ValueError, TypeError):
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
    return max(0.0, seconds) if math.isfinite(seconds) else None
