"""The protocol of a model: a prompt, its reply, its cost; and how prompts are made from templates and messages."""

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from playbook_db.errors import TemplateError
from playbook_db.project_env import KEYS

MAX_REPLY_CHARS = 1_000_000  # of what a model says; some 60,000 are usual at most
MAX_REPLY_BYTES = 8_000_000  # of a reply on its way: in small pieces, each in an event of its own
TOO_LONG = f"its reply was longer than {MAX_REPLY_CHARS // 10**6} MB and was ended"
CHARACTERS_A_TOKEN = 4  # about, for an estimate
CUT_REASONS = ("max_tokens", "model_context_window_exceeded")  # why a reply stops before it is complete
REFUSED = "refusal"  # and why there is none


_LIMITS = r"\b(usage|spending|session|weekly|monthly|opus|sonnet) limits?\b|\bhit your limit\b"
_PAGE = re.compile(r"<(!doctype|html)\b", re.IGNORECASE)
_ABOUT_LIMITS = re.compile(_LIMITS, re.IGNORECASE)
_ABOUT_ACCOUNT = re.compile(
    rf"{_LIMITS}|\bcredit|\bbilling\b|\bpurchase\b|\bpayment\b|\bquota\b|\b(organization|account|workspace) (has|is) "
    r"|\bmodel\b.{0,80}\b(not found|not exist|not available|not supported|not a valid|invalid|unknown)\b"
    r"|\b(invalid|unknown|unsupported|no such|not a valid) model\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked: `system`, and the message of the user in `blocks`, each but the last of which ends where
    other calls say the same up to there, so that it may be cached.

    `schema` is the JSON schema that the reply should follow; `max_tokens` is the limit of the reply.
    """

    system: str
    blocks: tuple[str, ...]
    schema: Mapping[str, Any] | None
    max_tokens: int

    @property
    def text(self) -> str:
        """The whole message of the user."""
        return "".join(self.blocks)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, and what they cost in US dollars (None: unknown).

    `input_tokens` are those paid in full; `cached_tokens`, read from a cache, are not among them.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply. `structured` is an object that the API has checked against the schema, None without one.

    `is_cut` says that the reply ended before it was complete, `is_refused` that the model refused to give one; `model`
    is the name of the model that answered.
    """

    text: str
    structured: dict[str, Any] | None
    is_cut: bool
    usage: Usage
    model: str
    duration_ms: int
    is_refused: bool = False


class Model(Protocol):
    """A model that can be asked."""

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """The reply to *prompt*, by *deadline* (of `time.monotonic`), all attempts included. Raises ModelError."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its reply, or the `problem` because of which there is none."""

    prompt: Prompt
    reply: Reply | None
    problem: str = ""

    @property
    def question(self) -> str:
        """The whole prompt, as text."""
        return "\n\n".join(part for part in (self.prompt.system, self.prompt.text) if part)

    @property
    def answer(self) -> str:
        """The reply with its cost, or the problem, as text."""
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
    """A model that passes each question on to another and keeps the exchanges, also those that failed."""

    model: Model
    exchanges: list[Exchange] = field(default_factory=list)

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """The reply of the other model."""
        try:
            reply = self.model.ask(prompt, deadline=deadline)
        except Exception as error:
            self.exchanges.append(Exchange(prompt, None, str(error)))
            raise
        self.exchanges.append(Exchange(prompt, reply))
        return reply


def render_messages(messages: Iterable[Any]) -> str:
    """*messages* (`{"role", "content"}`, the content a text or a list of blocks) as the text for a prompt.

    Each comes under the role of its speaker. What is no message, or has no text, is left out.
    """
    spoken = [(message.get("role"), _text(message.get("content"))) for message in messages if isinstance(message, dict)]
    return "\n\n".join(f"[{role or 'unknown'}]\n{text}" for role, text in spoken if text.strip())


def fill(template: str, values: Mapping[str, str]) -> str:
    """*template* with the first `{name}` of each of *values* replaced by its value.

    Nothing else in braces is replaced, neither in the template nor in a value.
    """
    remaining = dict(values)
    return _placeholders(values).sub(lambda match: remaining.pop(match[1], match[0]), template)


def fill_blocks(template: str, values: Mapping[str, str], *, stable: Collection[str] = ()) -> tuple[str, ...]:
    """*template*, filled as `fill` does, in the blocks of a prompt: what stands before its first placeholder, what
    stands from there before the first that isn't *stable* (whose value is the same in several calls), and the rest."""
    places = [(match.start(), match[1]) for match in _placeholders(values).finditer(template)]
    first = next((place for place, _ in places), len(template))
    second = next((place for place, name in places if name not in stable), len(template))
    later = {name: value for name, value in values.items() if f"{{{name}}}" not in template[:second]}
    blocks = template[:first], fill(template[first:second], values), fill(template[second:], later)
    return tuple(block for block in blocks if block)


def require(template: str, name: str, file: str) -> None:
    """Raise TemplateError where *template*, the text of *file*, lacks the placeholder."""
    if f"{{{name}}}" not in template:
        raise TemplateError(
            f"Your template {file} lacks {{{name}}}. Add it, or move the file away to use the built-in one."
        )


def enclosed(text: str, tag: str) -> str:
    """*text* for a place between `<tag>` and `</tag>`, changed so that it can't close them itself."""
    return re.sub(rf"<(?=/\s*{re.escape(tag)})", "<\u200b", text, flags=re.IGNORECASE)


def object_schema(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    """The JSON schema of an object with these keys and no others."""
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def first_set(names: Iterable[str], default: str) -> str:
    """The value of the first of these environment variables that is set."""
    return next((value for name in names if (value := os.environ.get(name, "").strip())), default)


def shortened(text: str) -> str:
    """The text of an error from outside, without secrets, on one line and without its full stop, for a sentence.

    The user's own key is no secret by its look where a gateway's administrator chose words for it.
    """
    from playbook_db.domain.redaction.redact import MIN_VALUE_CHARS, redact_message  # late: for errors alone

    for key in filter(None, (os.environ.get(name, "").strip() for name in KEYS)):
        text = text.replace(key, "[masked: API key]") if len(key) >= MIN_VALUE_CHARS else text
    return " ".join(redact_message(text, os.environ).split())[:300].rstrip(".")


def estimated(prompt: Prompt, received_chars: int) -> tuple[int, int]:
    """The tokens, about, of *prompt* and of a reply to it of so many characters, where nobody told them."""
    sent = len(prompt.system) + len(prompt.text)
    return sent // CHARACTERS_A_TOKEN, received_chars // CHARACTERS_A_TOKEN


def count_of(counts: Mapping[str, Any], key: str) -> int:
    """The number of tokens under *key*, as another program told them; 0 where that is no such number."""
    count = counts.get(key)
    return count if type(count) is int and 0 <= count < 10**12 else 0


def is_lasting(status: int | None) -> bool:
    """Whether a request that failed with this HTTP status will be refused later too."""
    return status is not None and 400 <= status < 500 and status not in (408, 409, 425, 429)


def is_of_account(status: int | None, text: str) -> bool:
    """Whether a request that failed with this HTTP status and *text* was refused for the account or its settings, so
    that every other would be too.

    A 400 may be about the request itself, and a page of HTML with a 403 comes from a filter that looks into it. What
    limits an account is told with several statuses, or with none by the client.
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
