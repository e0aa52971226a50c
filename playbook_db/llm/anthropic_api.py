"""A model behind Anthropic's API, or behind a gateway with the same API.

The environment gives the key, the model and the address. This module retries failed calls; the SDK doesn't.
"""

import math
import os
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from playbook_db.errors import AccountError, ModelError, SettingError
from playbook_db.llm import prices
from playbook_db.llm.anthropic_request import Message, RequestError, send, until
from playbook_db.llm.model import (
    CUT_REASONS,
    REFUSED,
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

DEFAULT_MODEL = "claude-sonnet-5-5"
DEFAULT_URL = "https://api.anthropic.com"
WAITS_S = (2.0, 4.0)  # between the 3 attempts
JITTER = 0.25  # the share by which a wait randomly varies, up or down
MAX_RETRY_AFTER_S = 60.0  # the longest wait that a server can ask for
TIMEOUT_S = 30.0  # without any data from the server
_BEARER = "ANTHROPIC_AUTH_TOKEN"
_MODELS = ("AGENTIC_CONTEXT_MODEL", "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL")
_URLS = ("AGENTIC_CONTEXT_BASE_URL", "ANTHROPIC_BASE_URL")
_SUFFIX = re.compile(r"\[1m\]$", re.IGNORECASE)  # Claude Code's sign for a longer context
_ALIASES = {  # in Claude Code 2.1.329: the variable that may name the model, and the default
    "best": ("ANTHROPIC_DEFAULT_OPUS_MODEL", "claude-opus-5-5"),
    "fable": ("ANTHROPIC_DEFAULT_FABLE_MODEL", "claude-fable-5-2"),
    "haiku": ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "claude-haiku-5-5"),
    "opus": ("ANTHROPIC_DEFAULT_OPUS_MODEL", "claude-opus-5-5"),
    "opusplan": ("ANTHROPIC_DEFAULT_SONNET_MODEL", DEFAULT_MODEL),
    "sonnet": ("ANTHROPIC_DEFAULT_SONNET_MODEL", DEFAULT_MODEL),
}
_NO_CHOICE = ("default", "inherit")  # aliases that name no model; the next variable counts
_ABOUT_FORMAT = re.compile(
    r"output_config|output_format|json_schema|structured.output|schema|(extra|unknown|unexpected|unrecogni[sz]ed) "
    r"(input|field|argument|parameter|key|propert)",
    re.IGNORECASE,
)


def key_name() -> str | None:
    """Return the name of the environment variable with the API key, or None. Source: contract, section 8."""
    return next((name for name in KEYS if os.environ.get(name, "").strip()), None)


def model_name() -> str:
    """Return the name of the model to ask. Aliases such as `opus` are resolved. Source: contract, section 8."""
    named = (_SUFFIX.sub("", first_set((name,), "")) for name in _MODELS)
    chosen = next((name for name in named if name and name.lower() not in _NO_CHOICE), DEFAULT_MODEL)
    if chosen.lower() not in _ALIASES:
        return chosen
    variable, model = _ALIASES[chosen.lower()]
    own = _SUFFIX.sub("", first_set((variable,), model))
    return model if own.lower() in (*_ALIASES, *_NO_CHOICE) else own


def base_url() -> str:
    """Return the address of the API. Source: contract, section 8."""
    return first_set(_URLS, DEFAULT_URL)


def shown_address() -> str:
    """Return the address of the API without secrets, for use in a message."""
    return shortened(base_url())


def timeout_s() -> float:
    """Return the number of seconds without data after which a call times out. Raises SettingError."""
    value = os.environ.get("AGENTIC_CONTEXT_TIMEOUT_S", "").strip()
    try:
        seconds = float(value) if value else TIMEOUT_S
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise SettingError(f"AGENTIC_CONTEXT_TIMEOUT_S is {value!r}; it must be a number of seconds above 0.")
    return seconds


@dataclass(slots=True)
class AnthropicModel:
    """The model that this environment names, asked through the API. `sleep` and `random` are for tests."""

    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random
    _takes_schema: bool = field(default=True, init=False)

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """Return the reply to *prompt*. Try at most 3 times, never after *deadline*. Raises ModelError, SettingError.

        A call is retried after a time-out, a connection error, 429 or 5xx. If the server rejects a schema, the call is
        repeated without one, and later calls have none. Source: contract, section 8.
        """
        prices.price_per_mtok("")  # raises SettingError before a call costs anything
        started_at = time.monotonic()
        timeout = timeout_s()
        with _client(deadline) as client:
            message, lost_tokens = self._ask(client, prompt, timeout, deadline)
        return _reply(message, lost_tokens, round((time.monotonic() - started_at) * 1000))

    def _ask(
        self, client: "anthropic.Anthropic", prompt: Prompt, timeout: float, deadline: float
    ) -> "tuple[Message, tuple[int, int]]":
        """Return the answer, and an estimate of the tokens that failed attempts sent and received."""
        attempt, lost_tokens = 0, (0, 0)
        while True:
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                text = f"The deadline passed before {model_name()} answered. Try again later."
                raise ModelError(text, used=lost_tokens)
            body = _body(prompt, model_name(), with_schema=self._takes_schema)
            message = Message()
            try:
                send(client, body, message, timeout=min(timeout, remaining_s))
                return message, lost_tokens
            except RequestError as error:
                if message.pieces or message.usage:  # somebody has paid for it
                    sent, received = estimated(prompt, len(message.text))
                    lost_tokens = lost_tokens[0] + sent, lost_tokens[1] + received
                if error.status == 400 and "output_config" in body and _ABOUT_FORMAT.search(error.text):
                    self._takes_schema = False
                    continue
                wait_s = self._wait_s(attempt, error)
                if wait_s is None or time.monotonic() + wait_s >= deadline:
                    raise _model_error(error, attempt + 1, lost_tokens) from error
            self.sleep(wait_s)
            attempt += 1

    def _wait_s(self, attempt: int, error: "RequestError") -> float | None:
        """Return how many seconds to wait after *attempt* (counted from 0), or None after the last attempt."""
        is_passing = error.is_readable and (error.status is None or error.status == 429 or error.status >= 500)
        if not is_passing or attempt >= len(WAITS_S):
            return None
        if error.retry_after_s is not None:
            return min(error.retry_after_s, MAX_RETRY_AFTER_S)
        return WAITS_S[attempt] * (1 + JITTER * (2 * self.random() - 1))


def _client(deadline: float) -> "anthropic.Anthropic":
    """Return an API client that doesn't retry and that stops reading at *deadline*.

    Raises AccountError without a key or a valid address.
    """
    name = key_name()
    if name is None:
        raise AccountError(f"There is no key for Anthropic's API. Set one of {', '.join(KEYS)}.")
    key = os.environ[name].strip()
    import anthropic  # late: it costs most of a second
    import httpx2

    hooks = {"response": [until(deadline)]}
    try:
        return anthropic.Anthropic(
            **{"auth_token" if name == _BEARER else "api_key": key},  # type: ignore[arg-type]
            base_url=base_url(),
            max_retries=0,
            # A redirect isn't followed: it would send the transcript to another address.
            http_client=anthropic.DefaultHttpxClient(follow_redirects=False, event_hooks=hooks),
        )
    except httpx2.InvalidURL:  # the text of this error may contain a part of the password
        names = " or ".join(_URLS)
        raise AccountError(f"{shown_address()} is not a valid address. Correct {names}.") from None


def _body(prompt: Prompt, model: str, *, with_schema: bool) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": block} for block in prompt.blocks if block]
    for block in content[:-1]:
        block["cache_control"] = {"type": "ephemeral"}
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


def _reply(message: Message, lost_tokens: tuple[int, int], duration_ms: int) -> Reply:
    model = message.model or model_name()
    fresh = count_of(message.usage, "input_tokens") + lost_tokens[0]  # neither read from the cache nor written to it
    cached = count_of(message.usage, "cache_read_input_tokens")
    written = count_of(message.usage, "cache_creation_input_tokens")
    output = count_of(message.usage, "output_tokens") + lost_tokens[1]  # thinking included
    cost = prices.cost_usd(
        model, input_tokens=fresh, output_tokens=output, cached_tokens=cached, written_tokens=written
    )
    usage = Usage(fresh + written, output, cached, cost)
    is_cut, is_refused = message.stop_reason in CUT_REASONS, message.stop_reason == REFUSED
    return Reply(message.text, None, is_cut, usage, model, duration_ms, is_refused)


def _model_error(error: RequestError, attempts: int, used: tuple[int, int]) -> ModelError:
    tried = f" after {attempts} attempts" if attempts > 1 else ""
    is_redirect = 300 <= (error.status or 0) < 400
    hint = {
        401: f" Check {key_name()}.",
        403: f" Check what the key in {key_name()} may do.",
        404: f" Check the model's name ({model_name()}) and the address.",
    }.get(error.status or 0, "")
    if is_redirect:
        hint = f" It names another address, to which nothing is sent. Correct {' or '.join(_URLS)}."
    text = f"{model_name()} at {shown_address()} gave no answer{tried}: {error.text}.{hint}"
    if is_redirect or is_of_account(error.status, error.text):
        return AccountError(text, used=used)
    return ModelError(text, is_lasting=is_lasting(error.status), used=used)
