"""Asking through Anthropic's API, or whatever answers like it at another address.

The attempts are counted and the waits between them made here; what goes over the wire is `anthropic_wire`'s.
"""

import math
import os
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from playbook_db.errors import ModelError, SettingError
from playbook_db.llm import anthropic_wire, prices
from playbook_db.llm.anthropic_wire import Failure, Said
from playbook_db.llm.asking import Prompt, Reply, Usage

if TYPE_CHECKING:
    import anthropic

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
            body = anthropic_wire.request(prompt, model_name(), with_schema=self._takes_schema)
            try:
                return anthropic_wire.send(client, body, patience_s=min(patience_s, left_s), deadline=deadline)
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
