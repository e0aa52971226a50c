"""One request to Anthropic's API, and what came back of it. Nothing is tried twice here.

The reply is streamed, so that a long one shows signs of life; an endpoint that answers in one piece is understood too.
"""

import email.utils
import math
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from playbook_db.llm.asking import Prompt

if TYPE_CHECKING:
    import anthropic

CONNECT_S = 10.0
_CUT = ("max_tokens", "model_context_window_exceeded")
_SHOWN_ERROR_CHARS = 300
_MAY_PASS = (408, 409, 425, 429)  # of the 4xx
_STREAMED_STATUS = {"overloaded_error": 529, "rate_limit_error": 429, "timeout_error": 504}  # errors within a stream


class Failure(Exception):  # noqa: N818 - it never leaves this room
    """A request that failed, with its `status` where the API gave one.

    `is_passing` tells that another attempt may help.
    """

    def __init__(self, text: str, *, status: int | None = None, retry_after_s: float | None = None) -> None:
        self.text = " ".join(text.split())[:_SHOWN_ERROR_CHARS].rstrip(".")
        self.status, self.retry_after_s = status, retry_after_s
        super().__init__(self.text)

    @property
    def is_passing(self) -> bool:
        """Time-outs and connection errors, which have no status, 429 and 5xx. Source: contract, section 8."""
        return self.status is None or self.status == 429 or self.status >= 500

    @property
    def is_lasting(self) -> bool:
        """Whether the same question will be turned away later too."""
        return self.status is not None and 400 <= self.status < 500 and self.status not in _MAY_PASS


class Unreadable(Failure):
    """An answer that is none of the Messages API's. Source: contract, section 8: not tried again."""

    is_passing = False


@dataclass(slots=True)
class Said:
    """A message of the API, as it adds up."""

    text: str = ""
    model: str = ""
    stop_reason: str | None = None
    usage: dict[str, int] = field(default_factory=dict)

    @property
    def is_cut(self) -> bool:
        """Whether it ended before it was complete."""
        return self.stop_reason in _CUT

    @property
    def input_tokens(self) -> int:
        """Neither read from the cache nor put into it."""
        return self.usage.get("input_tokens", 0)

    @property
    def output_tokens(self) -> int:
        """Those of the reply, thinking included."""
        return self.usage.get("output_tokens", 0)

    @property
    def cached_tokens(self) -> int:
        """Read from the cache."""
        return self.usage.get("cache_read_input_tokens", 0)

    @property
    def written_tokens(self) -> int:
        """Put into the cache."""
        return self.usage.get("cache_creation_input_tokens", 0)

    def add_usage(self, usage: object) -> None:
        """Take in counters; later ones replace earlier ones."""
        if isinstance(usage, Mapping):
            self.usage |= {key: count for key, count in usage.items() if type(count) is int and count >= 0}


def request(prompt: Prompt, model: str, *, with_schema: bool) -> dict[str, Any]:
    """The body of a request; the stable part comes first and is marked for the cache."""
    content: list[dict[str, Any]] = []
    if prompt.stable:
        content.append({"type": "text", "text": prompt.stable, "cache_control": {"type": "ephemeral"}})
    if prompt.changing:
        content.append({"type": "text", "text": prompt.changing})
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": prompt.max_tokens,
        "messages": [{"role": "user", "content": content}],
    }
    if prompt.system:
        body["system"] = prompt.system
    if prompt.schema is not None and with_schema:
        body["output_config"] = {"format": {"type": "json_schema", "schema": dict(prompt.schema)}}
    return body


def send(client: "anthropic.Anthropic", body: Mapping[str, Any], *, patience_s: float, deadline: float) -> Said:
    """What is said to *body*, by *deadline* at the latest; nothing may come for *patience_s* at most.

    Raises Failure. A thread reads, since neither a name that is looked up nor a trickle of bytes minds a deadline.
    """
    events: queue.SimpleQueue[Mapping[str, Any] | BaseException | None] = queue.SimpleQueue()

    def read() -> None:
        try:
            for event in _events(client, body, patience_s):
                events.put(event)
            events.put(None)
        except BaseException as error:  # it is raised where it is waited for
            events.put(error)

    threading.Thread(target=read, name="playbook-model", daemon=True).start()
    said, is_whole = Said(), False
    while True:
        try:
            event = events.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise Failure("the time for it was over") from None
        if isinstance(event, BaseException):
            raise _failure(event) from event
        if event is None:
            break
        is_whole = _take(said, event) or is_whole
    if not is_whole:
        raise Failure("the connection broke before the reply was complete")
    return said


def _events(client: "anthropic.Anthropic", body: Mapping[str, Any], patience_s: float) -> Iterator[Mapping[str, Any]]:
    """The events of a stream, as the API sends them; one event with a whole message where it isn't streamed."""
    import json

    import httpx2
    from anthropic import Stream

    patience = httpx2.Timeout(patience_s, connect=min(patience_s, CONNECT_S))
    with client.messages.with_streaming_response.create(**body, stream=True, timeout=patience) as answered:
        if "event-stream" not in answered.headers.get("content-type", ""):
            yield {"type": "message", "message": json.loads(answered.read())}
            return
        for event in Stream.raw_events(answered.http_response):
            if event.data and event.event != "ping":
                yield json.loads(event.data)


def _take(said: Said, event: object) -> bool:
    """Add *event* to what was said; whether that makes it whole."""
    if not isinstance(event, Mapping):
        raise Unreadable("the answer is none of the Messages API")
    kind, message, delta = event.get("type"), event.get("message"), event.get("delta")
    if kind == "error":
        raise _streamed_error(event.get("error"))
    if kind == "message":
        return _take_whole(said, message)
    if kind == "message_start" and isinstance(message, Mapping):
        said.model = str(message.get("model") or "")
        said.add_usage(message.get("usage"))
    elif kind == "content_block_delta" and isinstance(delta, Mapping) and delta.get("type") == "text_delta":
        said.text += str(delta.get("text") or "")
    elif kind == "message_delta":
        said.stop_reason = delta.get("stop_reason") if isinstance(delta, Mapping) else None
        said.add_usage(event.get("usage"))
    return kind == "message_stop"


def _take_whole(said: Said, message: object) -> bool:
    content = message.get("content") if isinstance(message, Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(content, list):
        raise Unreadable("the answer is none of the Messages API")
    blocks = [block for block in content if isinstance(block, Mapping) and block.get("type") == "text"]
    said.text = "".join(str(block.get("text") or "") for block in blocks)
    said.model, said.stop_reason = str(message.get("model") or ""), message.get("stop_reason")
    said.add_usage(message.get("usage"))
    return True


def _streamed_error(error: object) -> Failure:
    told = error if isinstance(error, Mapping) else {}
    kind = str(told.get("type"))
    return Failure(f"{kind}: {told.get('message')}", status=_STREAMED_STATUS.get(kind, 500))


def _failure(error: BaseException) -> BaseException:
    """*error* as a Failure; one that is a bug of ours stays what it is."""
    import anthropic
    import httpx2

    if isinstance(error, anthropic.APIStatusError):
        return Failure(
            f"{error.status_code} {_message(error)}",
            status=error.status_code,
            retry_after_s=_retry_after_s(error.response.headers),
        )
    if isinstance(error, (anthropic.APITimeoutError, httpx2.TimeoutException)):
        return Failure("it took too long")
    if isinstance(error, (anthropic.APIConnectionError, httpx2.TransportError)):
        cause = error.__cause__ or error
        return Failure(f"no connection ({cause!r})")
    if isinstance(error, httpx2.InvalidURL):
        return Unreadable(f"the address is none ({error})")
    if isinstance(error, (ValueError, anthropic.AnthropicError, httpx2.HTTPError, RecursionError)):
        return Unreadable(f"the answer can't be read ({error!r})")
    return error


def _message(error: "anthropic.APIStatusError") -> str:
    told = error.body.get("error") if isinstance(error.body, Mapping) else None
    message = told.get("message") if isinstance(told, Mapping) else None
    return str(message or error.message)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds, or a date, from the header; None where there is none that makes sense."""
    given = headers.get("retry-after", "")
    seconds = math.nan
    with suppress(ValueError):
        seconds = float(given)
    if math.isnan(seconds):
        with suppress(ValueError, TypeError):
            seconds = email.utils.parsedate_to_datetime(given).timestamp() - time.time()
    return max(0.0, seconds) if math.isfinite(seconds) else None
