"""One request to Anthropic's API, and what came back of it. Nothing is tried twice here.

The reply is streamed, so that a long one shows signs of life; an endpoint that answers in one piece is understood too.
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

from playbook_db.errors import ModelError, SettingError
from playbook_db.llm import prices
from playbook_db.llm.model import Prompt, Reply, Usage

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


# Asking through Anthropic's API, or whatever answers like it at another address.
#
# The attempts are counted and the waits between them made here; what goes over the wire is `anthropic_wire`'s.


DEFAULT_MODEL = "claude-sonnet-5-5"
DEFAULT_URL = "https://api.anthropic.com"
WAITS_S = (2.0, 4.0)  # between the attempts, so that there are 3
JITTER = 0.25  # of a wait, up or down
MAX_RETRY_AFTER_S = 60.0  # however long the other side asks to be left alone
TIMEOUT_S = 30.0  # without a sign of life
_KEYS = ("AGENTIC_CONTEXT_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY")  # the first that is set
_BEARER = "ANTHROPIC_AUTH_TOKEN"
_MODELS = ("AGENTIC_CONTEXT_MODEL", "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL")
_URLS = ("AGENTIC_CONTEXT_BASE_URL", "ANTHROPIC_BASE_URL")
_ABOUT_FORMAT = re.compile(
    r"output_config|output_format|json_schema|structured.output|schema|(extra|unknown|unexpected|unrecogni[sz]ed) "
    r"(input|field|argument|parameter|key|propert)",
    re.IGNORECASE,
)


def key_name() -> str | None:
    """The environment variable that the key is taken from, None where there is no key. Source: contract, section 8."""
    return next((name for name in _KEYS if os.environ.get(name, "").strip()), None)


def model_name() -> str:
    """The model that is asked. Source: contract, section 8."""
    return _first(_MODELS) or DEFAULT_MODEL


def base_url() -> str:
    """Where the API is. Source: contract, section 8."""
    return _first(_URLS) or DEFAULT_URL


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

        Time-outs, connection errors, 429 and 5xx are tried again, other errors are not; an endpoint that doesn't
        know about schemas is asked once more without, and without from then on. Source: contract, section 8.
        """
        prices.price_per_mtok("")  # a setting that can't be read is told before anything is paid for
        begun = time.monotonic()
        patience_s = timeout_s()
        with _client() as client:
            said = self._ask(client, prompt, patience_s, deadline)
        return _reply(said, round((time.monotonic() - begun) * 1000))

    def _ask(self, client: "anthropic.Anthropic", prompt: Prompt, patience_s: float, deadline: float) -> Said:
        attempt = 0
        while True:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise ModelError(f"The time for asking {model_name()} was over before it answered. Try again later.")
            body = request(prompt, model_name(), with_schema=self._takes_schema)
            try:
                return send(client, body, patience_s=min(patience_s, left_s), deadline=deadline)
            except Failure as failure:
                if failure.status == 400 and "output_config" in body and _ABOUT_FORMAT.search(failure.text):
                    self._takes_schema = False
                    continue
                wait_s = self._wait_s(attempt, failure)
                if wait_s is None or time.monotonic() + wait_s >= deadline:
                    raise _error(failure, attempt + 1) from failure
            self.sleep(wait_s)
            attempt += 1

    def _wait_s(self, attempt: int, failure: Failure) -> float | None:
        """How long to wait after that attempt (from 0), None where there is no other."""
        if not failure.is_passing or attempt >= len(WAITS_S):
            return None
        if failure.retry_after_s is not None:
            return min(failure.retry_after_s, MAX_RETRY_AFTER_S)
        return WAITS_S[attempt] * (1 + JITTER * (2 * self.random() - 1))


def _client() -> "anthropic.Anthropic":
    """A client for one call, with nothing of its own: no other credentials, no attempts."""
    name = key_name()
    if name is None:
        raise ModelError(f"There is no key for Anthropic's API. Set one of {', '.join(_KEYS)}.", is_lasting=True)
    key = os.environ[name].strip()
    import anthropic  # late: it costs most of a second

    if name == _BEARER:
        return anthropic.Anthropic(auth_token=key, base_url=base_url(), max_retries=0)
    return anthropic.Anthropic(api_key=key, base_url=base_url(), max_retries=0)


def _reply(said: Said, duration_ms: int) -> Reply:
    model = said.model or model_name()
    cost = prices.cost_usd(
        model,
        input_tokens=said.input_tokens,
        output_tokens=said.output_tokens,
        cached_tokens=said.cached_tokens,
        written_tokens=said.written_tokens,
    )
    usage = Usage(said.input_tokens + said.written_tokens, said.output_tokens, said.cached_tokens, cost)
    return Reply(said.text, None, said.is_cut, usage, model, duration_ms)


def _error(failure: Failure, attempts: int) -> ModelError:
    tried = f" after {attempts} attempts" if attempts > 1 else ""
    hint = {
        401: f" Check {key_name()}.",
        403: f" Check what the key in {key_name()} may do.",
        404: f" Check the model's name ({model_name()}) and the address.",
    }.get(failure.status or 0, "")
    return ModelError(
        f"{model_name()} at {base_url()} gave no answer{tried}: {failure.text}.{hint}",
        is_lasting=failure.is_lasting,
        retry_after_s=failure.retry_after_s,
    )


def _first(names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := os.environ.get(name, "").strip())), None)
