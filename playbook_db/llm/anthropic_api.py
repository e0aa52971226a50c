"""Asking a model through Anthropic's API, or through whatever answers like it at another address.

Attempts are counted and waited for here; the SDK's own are switched off. A reply is streamed, so that a long one
shows signs of life; an endpoint that answers in one piece is understood too.
"""

import email.utils
import math
import os
import queue
import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from playbook_db.errors import AccountError, ModelError, SettingError
from playbook_db.llm import prices
from playbook_db.llm.model import (
    CUT_REASONS,
    MAX_REPLY_BYTES,
    MAX_REPLY_CHARS,
    REFUSED,
    TOO_LONG,
    Prompt,
    Reply,
    Usage,
    count_of,
    estimated,
    first_set,
    is_lasting,
    is_of_account,
    shortened,
)  # fmt: skip
from playbook_db.project_env import KEYS

if TYPE_CHECKING:
    import anthropic
    import httpx2

DEFAULT_MODEL = "claude-sonnet-5-5"
DEFAULT_URL = "https://api.anthropic.com"
WAITS_S = (2.0, 4.0)  # between the attempts, so that there are 3
JITTER = 0.25  # of a wait, up or down
MAX_RETRY_AFTER_S = 60.0  # the longest wait that a server can ask for
TIMEOUT_S = 30.0  # without a sign of life
CONNECT_S = 10.0
_BEARER = "ANTHROPIC_AUTH_TOKEN"
_MODELS = ("AGENTIC_CONTEXT_MODEL", "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL")
_URLS = ("AGENTIC_CONTEXT_BASE_URL", "ANTHROPIC_BASE_URL")
_SUFFIX = re.compile(r"\[1m\]$", re.IGNORECASE)  # the client's way to ask for a longer context
_ALIASES = {  # of the client, as 2.1.329 resolves them: where a model of the user's own is named, and ours
    "best": ("ANTHROPIC_DEFAULT_OPUS_MODEL", "claude-opus-5-5"),
    "fable": ("ANTHROPIC_DEFAULT_FABLE_MODEL", "claude-fable-5-2"),
    "haiku": ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "claude-haiku-5-5"),
    "opus": ("ANTHROPIC_DEFAULT_OPUS_MODEL", "claude-opus-5-5"),
    "opusplan": ("ANTHROPIC_DEFAULT_SONNET_MODEL", DEFAULT_MODEL),
    "sonnet": ("ANTHROPIC_DEFAULT_SONNET_MODEL", DEFAULT_MODEL),
}
_NO_CHOICE = ("default", "inherit")  # aliases that leave the model to the client: passed over
_STREAMED_STATUS = {  # of errors within a stream
    "authentication_error": 401, "billing_error": 402, "invalid_request_error": 400, "not_found_error": 404,
    "overloaded_error": 529, "permission_error": 403, "rate_limit_error": 429, "request_too_large": 413,
    "timeout_error": 504,
}  # fmt: skip
_MOVED = (301, 302, 303, 307, 308)  # redirects, which aren't followed
_ABOUT_FORMAT = re.compile(
    r"output_config|output_format|json_schema|structured.output|schema|(extra|unknown|unexpected|unrecogni[sz]ed) "
    r"(input|field|argument|parameter|key|propert)",
    re.IGNORECASE,
)


def key_name() -> str | None:
    """The environment variable that the key is taken from, None where there is no key. Source: contract, section 8."""
    return next((name for name in KEYS if os.environ.get(name, "").strip()), None)


def model_name() -> str:
    """The model that is asked; the client's own aliases, which the API doesn't know, are resolved as it does.

    Source: contract, section 8.
    """
    named = (_SUFFIX.sub("", first_set((name,), "")) for name in _MODELS)
    chosen = next((name for name in named if name and name.lower() not in _NO_CHOICE), DEFAULT_MODEL)
    if chosen.lower() not in _ALIASES:
        return chosen
    variable, model = _ALIASES[chosen.lower()]
    own = _SUFFIX.sub("", first_set((variable,), model))
    return model if own.lower() in (*_ALIASES, *_NO_CHOICE) else own


def base_url() -> str:
    """The address of the API. Source: contract, section 8."""
    return first_set(_URLS, DEFAULT_URL)


def shown_address() -> str:
    """The address of the API for a message, without what is secret in it."""
    return shortened(base_url())


def timeout_s() -> float:
    """How long a request may go on without a sign of life. Raises SettingError."""
    given = os.environ.get("AGENTIC_CONTEXT_TIMEOUT_S", "").strip()
    try:
        seconds = float(given) if given else TIMEOUT_S
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise SettingError(f"AGENTIC_CONTEXT_TIMEOUT_S is {given!r}; it must be a number of seconds above 0.")
    return seconds


@dataclass(slots=True)
class AnthropicModel:
    """The model that the environment names, asked through the API. `sleep` and `random` are for tests."""

    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random
    _takes_schema: bool = field(default=True, init=False)

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """The reply to *prompt*: at most 3 attempts, none beyond *deadline*. Raises ModelError, SettingError.

        Time-outs, connection errors, 429 and 5xx are tried again, other errors are not. An endpoint that doesn't
        know schemas is asked again without one, and never with one again. Source: contract, section 8.
        """
        prices.price_per_mtok("")  # raises for a wrong setting before anything is paid for
        begun = time.monotonic()
        timeout = timeout_s()
        with _client() as client:
            message, lost = self._ask(client, prompt, timeout, deadline)
        return _reply(message, lost, round((time.monotonic() - begun) * 1000))

    def _ask(
        self, client: "anthropic.Anthropic", prompt: Prompt, timeout: float, deadline: float
    ) -> "tuple[_Message, tuple[int, int]]":
        """The answer, and the tokens that attempts took which broke off, as far as can be told."""
        attempt, lost = 0, (0, 0)
        while True:
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                text = f"The time for asking {model_name()} was over before it answered. Try again later."
                raise ModelError(text, used=lost)
            body = _body(prompt, model_name(), with_schema=self._takes_schema)
            message = _Message()
            try:
                _send(client, body, message, timeout=min(timeout, remaining_s), deadline=deadline)
                return message, lost
            except _RequestError as error:
                is_too_long = isinstance(error, _TooLongError)
                if is_too_long or message.length or message.usage:  # somebody has paid for it
                    sent, received = estimated(prompt, MAX_REPLY_CHARS if is_too_long else message.length)
                    lost = lost[0] + sent, lost[1] + received
                if error.status == 400 and "output_config" in body and _ABOUT_FORMAT.search(error.text):
                    self._takes_schema = False
                    continue
                wait_s = self._wait_s(attempt, error)
                if wait_s is None or time.monotonic() + wait_s >= deadline:
                    raise _model_error(error, attempt + 1, lost) from error
            self.sleep(wait_s)
            attempt += 1

    def _wait_s(self, attempt: int, error: "_RequestError") -> float | None:
        """How long to wait after that attempt (from 0), None where there is no other."""
        is_passing = error.is_readable and (error.status is None or error.status == 429 or error.status >= 500)
        if not is_passing or attempt >= len(WAITS_S):
            return None
        if error.retry_after_s is not None:
            return min(error.retry_after_s, MAX_RETRY_AFTER_S)
        return WAITS_S[attempt] * (1 + JITTER * (2 * self.random() - 1))


class _RequestError(Exception):
    """A request that failed; `status` is None where the API gave none, `is_readable` says whether the answer was one
    of the Messages API."""

    def __init__(
        self, text: str, *, status: int | None = None, retry_after_s: float | None = None, is_readable: bool = True
    ) -> None:
        self.text = shortened(text)
        self.status, self.retry_after_s, self.is_readable = status, retry_after_s, is_readable
        super().__init__(self.text)


class _TooLongError(_RequestError):
    """An answer that was ended since it was too long."""

    def __init__(self) -> None:
        super().__init__(TOO_LONG, is_readable=False)


@dataclass(slots=True)
class _Message:
    """A message of the API, as far as it was received."""

    pieces: list[str] = field(default_factory=list)
    model: str = ""
    stop_reason: str | None = None
    usage: dict[str, int] = field(default_factory=dict)
    length: int = 0

    def add_text(self, text: object) -> None:
        """Add a piece of the text. Raises _TooLongError where it gets too long."""
        self.pieces.append(str(text or ""))
        self.length += len(self.pieces[-1])
        if self.length > MAX_REPLY_CHARS:
            raise _TooLongError

    def add_usage(self, usage: object) -> None:
        """Keep the counters of *usage*; later ones replace earlier ones."""
        if isinstance(usage, Mapping):
            self.usage |= {key: count_of(usage, key) for key, count in usage.items() if type(count) is int}


def _client() -> "anthropic.Anthropic":
    """A client for one call that uses our key only and makes no attempts of its own."""
    name = key_name()
    if name is None:
        raise AccountError(f"There is no key for Anthropic's API. Set one of {', '.join(KEYS)}.")
    key = os.environ[name].strip()
    import anthropic  # late: it costs most of a second
    import httpx2

    try:
        return anthropic.Anthropic(
            **{"auth_token" if name == _BEARER else "api_key": key},  # type: ignore[arg-type]
            base_url=base_url(),
            max_retries=0,
            default_headers={"accept-encoding": "identity"},
            # To follow where an address points to would send the transcript there.
            http_client=anthropic.DefaultHttpxClient(follow_redirects=False, event_hooks={"response": [_limit]}),
        )
    except httpx2.InvalidURL:  # its words hold what it took for a port
        names = " or ".join(_URLS)
        raise AccountError(f"{shown_address()} is no address. Correct {names}.") from None


def _body(prompt: Prompt, model: str, *, with_schema: bool) -> dict[str, Any]:
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


def _send(
    client: "anthropic.Anthropic", body: Mapping[str, Any], message: _Message, *, timeout: float, deadline: float
) -> None:
    """Fill *message* with the answer to *body*, by *deadline*; without a sign of life for *timeout* seconds it fails.

    Raises _RequestError. A thread reads, since neither the lookup of a name nor a trickle of bytes ends at a deadline.
    """
    events: queue.SimpleQueue[Mapping[str, Any] | BaseException | None] = queue.SimpleQueue()

    def read() -> None:
        try:
            for event in _events(client, body, timeout):
                events.put(event)
            events.put(None)
        except BaseException as error:  # raised below, in the thread that waits
            events.put(error)

    threading.Thread(target=read, name="playbook-model", daemon=True).start()
    is_complete = False
    while True:
        try:
            event = events.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            raise _RequestError("the time for it was over") from None
        if isinstance(event, BaseException):
            raise _request_error(event) from event
        if event is None:
            break
        is_complete = _add_event(message, event) or is_complete
    if not is_complete:
        raise _RequestError("the connection broke before the reply was complete")


def _limit(response: "httpx2.Response") -> None:
    """Let the body of *response*, an error's too, raise _TooLongError where it gets too long; it may not be packed."""
    import httpx2

    given = response.stream
    packing = response.headers.get("content-encoding", "identity")
    if not isinstance(given, httpx2.SyncByteStream) or packing != "identity":
        raise _RequestError("its reply is compressed, which it was asked not to be", is_readable=False)
    body: httpx2.SyncByteStream = given

    class Limited(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            length = 0
            for chunk in body:
                length += len(chunk)
                if length > MAX_REPLY_BYTES:
                    raise _TooLongError
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
    begun: list[bytes] = []
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        begun.append(first)
        for other in others:
            yield b"".join(begun).removesuffix(b"\r")
            begun = [other]


def _add_event(message: _Message, event: object) -> bool:
    """Add *event* of the stream to *message*. Returns whether the message is complete then."""
    if not isinstance(event, Mapping):
        raise _RequestError("the answer is none of the Messages API", is_readable=False)
    kind, start, delta = event.get("type"), event.get("message"), event.get("delta")
    if kind == "error":
        error = event.get("error")
        fields = error if isinstance(error, Mapping) else {}
        name = str(fields.get("type"))
        raise _RequestError(f"{name}: {fields.get('message')}", status=_STREAMED_STATUS.get(name, 500))
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


def _add_whole(message: _Message, answer: object) -> bool:
    content = answer.get("content") if isinstance(answer, Mapping) else None
    if not isinstance(answer, Mapping) or not isinstance(content, list):
        raise _RequestError("the answer is none of the Messages API", is_readable=False)
    blocks = [block for block in content if isinstance(block, Mapping) and block.get("type") == "text"]
    for block in blocks:
        message.add_text(block.get("text"))
    message.model, message.stop_reason = shortened(str(answer.get("model") or "")), answer.get("stop_reason")
    message.add_usage(answer.get("usage"))
    return True


def _request_error(error: BaseException) -> BaseException:
    """The _RequestError for *error* of the SDK or the connection; any other error is a bug and comes back as it is."""
    import anthropic
    import httpx2

    if isinstance(error.__cause__, _RequestError):  # ours, of _limit
        return error.__cause__
    if isinstance(error, anthropic.APIStatusError):
        return _RequestError(
            f"{error.status_code} {_text_of(error)}",
            status=error.status_code,
            retry_after_s=_retry_after_s(error.response.headers),
        )
    if isinstance(error, (anthropic.APITimeoutError, httpx2.TimeoutException)):
        return _RequestError("it took too long")
    if isinstance(error, (anthropic.APIConnectionError, httpx2.TransportError)):
        return _RequestError(f"no connection ({error.__cause__ or error!r})")
    if isinstance(error, httpx2.InvalidURL):
        return _RequestError("the address can't be understood", is_readable=False)
    if isinstance(error, (ValueError, anthropic.AnthropicError, httpx2.HTTPError, RecursionError)):
        return _RequestError(f"the answer can't be read ({error!r})", is_readable=False)
    return error


def _text_of(error: "anthropic.APIStatusError") -> str:
    fields = error.body.get("error") if isinstance(error.body, Mapping) else None
    text = fields.get("message") if isinstance(fields, Mapping) else None
    return str(text or error.message)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait that the header asks for, in seconds or as a date; None where it asks for none that makes sense."""
    given = headers.get("retry-after", "")
    seconds = math.nan
    with suppress(ValueError):
        seconds = float(given)
    if math.isnan(seconds):
        with suppress(ValueError, TypeError):
            seconds = email.utils.parsedate_to_datetime(given).timestamp() - time.time()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _reply(message: _Message, lost: tuple[int, int], duration_ms: int) -> Reply:
    model = message.model or model_name()
    fresh = message.usage.get("input_tokens", 0) + lost[0]  # neither read from the cache nor written to it
    cached = message.usage.get("cache_read_input_tokens", 0)
    written = message.usage.get("cache_creation_input_tokens", 0)
    output = message.usage.get("output_tokens", 0) + lost[1]  # thinking included
    cost = prices.cost_usd(
        model, input_tokens=fresh, output_tokens=output, cached_tokens=cached, written_tokens=written
    )
    usage = Usage(fresh + written, output, cached, cost)
    is_cut, is_refused = message.stop_reason in CUT_REASONS, message.stop_reason == REFUSED
    return Reply("".join(message.pieces), None, is_cut, usage, model, duration_ms, is_refused)


def _model_error(error: _RequestError, attempts: int, used: tuple[int, int]) -> ModelError:
    tried = f" after {attempts} attempts" if attempts > 1 else ""
    moved = f" It names another address, to which nothing is sent. Correct {' or '.join(_URLS)}."
    hint = {
        **dict.fromkeys(_MOVED, moved),
        401: f" Check {key_name()}.",
        403: f" Check what the key in {key_name()} may do.",
        404: f" Check the model's name ({model_name()}) and the address.",
    }.get(error.status or 0, "")
    text = f"{model_name()} at {shown_address()} gave no answer{tried}: {error.text}.{hint}"
    if error.status in _MOVED or is_of_account(error.status, error.text):
        return AccountError(text, used=used)
    return ModelError(
        text,
        is_lasting=is_lasting(error.status),
        retry_after_s=error.retry_after_s,
        used=used,
    )
