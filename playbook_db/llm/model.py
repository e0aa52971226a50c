"""The interface of a model: prompts, replies and costs. Also fills templates for prompts."""

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from playbook_db.errors import SettingError
from playbook_db.project_env import KEYS

CHARACTERS_A_TOKEN = 4  # an estimate
# Stop reasons of an incomplete reply, and of a refusal.
CUT_REASONS = ("max_tokens", "model_context_window_exceeded")
REFUSED = "refusal"

_LIMITS = r"\b(usage|spending|session|weekly|monthly|opus|sonnet) limits?\b|\bhit your limit\b"
_PAGE = re.compile(r"<(!doctype|html)\b", re.IGNORECASE)
_ABOUT_LIMITS = re.compile(_LIMITS, re.IGNORECASE)
_ABOUT_ACCOUNT = re.compile(
    rf"{_LIMITS}|\bcredit|\bbilling\b|\bpurchase\b|\bpayment\b|\bquota\b|\b(organization|account|workspace) (has|is) "
    r"|\bmodel\b.{0,80}\b(not found|not exist|not available|not supported|not a valid|invalid|unknown)\b"
    r"|\b(invalid|unknown|unsupported|no such|not a valid) model\b",
    re.IGNORECASE,
)


class Prompt(NamedTuple):
    """A question to a model: the system prompt and the user's message.

    The message is split into `blocks`. All but the last are the same in other calls, so they can be cached. The reply
    should follow the JSON `schema` and has at most `max_tokens`.
    """

    system: str
    blocks: tuple[str, ...]
    schema: Mapping[str, Any] | None
    max_tokens: int

    @property
    def text(self) -> str:
        """The user's message as one text."""
        return "".join(self.blocks)


class Usage(NamedTuple):
    """The tokens of a call and their cost in US dollars, or None. `input_tokens` don't include `cached_tokens`."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None


class Reply(NamedTuple):
    """A model's reply.

    `structured` is an object that the API has checked against the schema, or None. `is_cut`: the reply is incomplete.
    `is_refused`: the model refused to answer. `model` is the name of the model that answered.
    """

    text: str
    structured: dict[str, Any] | None
    is_cut: bool
    usage: Usage
    model: str
    duration_ms: int
    is_refused: bool = False


class Model(Protocol):
    """A language model, or a stand-in for one, that answers prompts."""

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """Return the reply to *prompt*. All attempts end by *deadline* (`time.monotonic`). Raises ModelError."""


class Exchange(NamedTuple):
    """A prompt and its reply. Without a reply, `problem` says why there is none."""

    prompt: Prompt
    reply: Reply | None
    problem: str = ""

    @property
    def question(self) -> str:
        """The whole prompt as one text."""
        return "\n\n".join(part for part in (self.prompt.system, self.prompt.text) if part)

    @property
    def answer(self) -> str:
        """The reply and its cost as a text for people. Without a reply, the problem."""
        if self.reply is None:
            return f"({self.problem})"
        reply, usage = self.reply, self.reply.usage
        cost = "unknown cost" if usage.cost_usd is None else f"{usage.cost_usd:.6f} USD"
        return (
            f"{reply.text}\n\n({reply.model}, {reply.duration_ms} ms, {usage.input_tokens} tokens in, "
            f"{usage.cached_tokens} cached, {usage.output_tokens} out, {cost}{', cut off' if reply.is_cut else ''})"
        )


@dataclass(slots=True)
class RecordingModel:
    """A model that asks another model and records all exchanges, including failed ones."""

    model: Model
    exchanges: list[Exchange] = field(default_factory=list)

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """Ask the other model and record the exchange."""
        try:
            reply = self.model.ask(prompt, deadline=deadline)
        except Exception as error:
            self.exchanges.append(Exchange(prompt, None, str(error)))
            raise
        self.exchanges.append(Exchange(prompt, reply))
        return reply


def render_messages(messages: Iterable[Any]) -> str:
    """Render *messages* as text for a prompt. Above each message is the role of its speaker.

    A message is `{"role", "content"}`. Its content is a text or a list of blocks. Other items, and messages without
    text, are left out.
    """
    spoken = [(message.get("role"), _text(message.get("content"))) for message in messages if isinstance(message, dict)]
    return "\n\n".join(f"[{role or 'unknown'}]\n{text}" for role, text in spoken if text.strip())


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return *template* with the first `{name}` replaced by `values[name]`, for each name. Other braces stay."""
    remaining = dict(values)
    return _placeholders(values).sub(lambda match: remaining.pop(match[1], match[0]), template)


def fill_blocks(template: str, values: Mapping[str, str], *, stable: Collection[str] = ()) -> tuple[str, ...]:
    """Fill *template* like `fill`, and split the result into blocks for a prompt.

    The first block ends before the first placeholder. The second one ends before the first placeholder that isn't
    *stable*. Stable placeholders have the same value in several calls.
    """
    places = [(match.start(), match[1]) for match in _placeholders(values).finditer(template)]
    first = next((place for place, _ in places), len(template))
    second = next((place for place, name in places if name not in stable), len(template))
    later = {name: value for name, value in values.items() if f"{{{name}}}" not in template[:second]}
    blocks = template[:first], fill(template[first:second], values), fill(template[second:], later)
    return tuple(block for block in blocks if block)


def require(template: str, name: str, file: str) -> None:
    """Raise SettingError if *template* lacks the placeholder *name*. *file* is the template's file in the message."""
    if f"{{{name}}}" not in template:
        raise SettingError(
            f"Your template {file} lacks {{{name}}}. Add it, or move the file away to use the built-in one."
        )


def enclosed(text: str, tag: str) -> str:
    """Return *text* in a form that is safe between `<tag>` and `</tag>`: each `</tag>` in it is broken up."""
    return re.sub(rf"<(?=/\s*{re.escape(tag)})", "<\u200b", text, flags=re.IGNORECASE)


def object_schema(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    """Return a JSON schema for an object with *required* and *optional* keys and no others."""
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def first_set(names: Iterable[str], default: str) -> str:
    """Return the value of the first set environment variable in *names*, or *default* if none is set."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), default)


def shortened(text: str) -> str:
    """Return another program's error *text* as one line of at most 300 characters, without secrets or a final period.

    The user's own key is replaced by exact match, since a gateway's key may look like plain words.
    """
    from playbook_db.domain.redaction.redact import MIN_VALUE_CHARS, redact_message  # late: for errors alone

    for key in filter(None, (os.environ.get(name, "").strip() for name in KEYS)):
        text = text.replace(key, "[masked: API key]") if len(key) >= MIN_VALUE_CHARS else text
    return " ".join(redact_message(text, os.environ).split())[:300].rstrip(".")


def estimated(prompt: Prompt, received_chars: int) -> tuple[int, int]:
    """Return estimates of the tokens in *prompt* and of the tokens in a reply with *received_chars* characters."""
    sent = len(prompt.system) + len(prompt.text)
    return sent // CHARACTERS_A_TOKEN, received_chars // CHARACTERS_A_TOKEN


def count_of(counts: Mapping[str, Any], key: str) -> int:
    """Return the number of tokens that another program reports under *key*, or 0 if the number isn't plausible."""
    count = counts.get(key)
    return count if type(count) is int and 0 <= count < 10**12 else 0


def is_lasting(status: int | None) -> bool:
    """Return whether a request that failed with this HTTP status would fail again if it is retried later."""
    return status is not None and 400 <= status < 500 and status not in (408, 409, 425, 429)


def is_of_account(status: int | None, text: str) -> bool:
    """Return whether the account caused a request to fail, so that all other requests would fail, too.

    A 400 may be about the request itself. A 403 with an HTML page comes from a filter that reads the request. Errors
    about an account's limits have several statuses, or none if they come from the client.
    """
    if status in (401, 402, 404):
        return True
    if status == 403:
        return not _PAGE.search(text)
    return bool((_ABOUT_ACCOUNT if status == 400 else _ABOUT_LIMITS).search(text))


def _placeholders(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(r"\{(" + "|".join(re.escape(name) for name in names) + r")\}")


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for block in content if (text := _block(block)))
    return ""


def _block(block: object) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    if block.get("type") == "tool_use":
        return f"(uses {block.get('name')}: {json.dumps(block.get('input'), ensure_ascii=False, default=str)})"
    if block.get("type") == "tool_result":
        return f"({'error' if block.get('is_error') else 'result'}: {_text(block.get('content'))})"
    return next((block[key] for key in ("text", "thinking") if isinstance(block.get(key), str)), "")
