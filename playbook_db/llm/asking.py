"""What every model has in common: a prompt, its reply, what that cost, and who can be asked.

Touches nothing; who is asked decides how.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked. `stable` stays the same from one call to the next, comes first and may be cached.

    `schema` is the JSON schema that the reply should follow; `max_tokens` are those of the reply.
    """

    system: str
    stable: str
    changing: str
    schema: Mapping[str, Any] | None
    max_tokens: int


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
    """What a model said. `structured` is there where the other side vouches for the schema.

    `is_cut` tells that the reply ended before it was complete; `model` is the name of who answered.
    """

    text: str
    structured: dict[str, Any] | None
    is_cut: bool
    usage: Usage
    model: str
    duration_ms: int


class Model(Protocol):
    """Somebody who can be asked."""

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """The reply to *prompt*, by *deadline* (of `time.monotonic`), all attempts included. Raises ModelError."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and what came of it: a reply, or a `problem`."""

    prompt: Prompt
    reply: Reply | None
    problem: str = ""

    @property
    def question(self) -> str:
        """The whole prompt, as text."""
        return "\n\n".join(part for part in (self.prompt.system, self.prompt.stable + self.prompt.changing) if part)

    @property
    def answer(self) -> str:
        """What was said, or what went wrong, with the cost."""
        if self.reply is None:
            return f"({self.problem})"
        reply, usage = self.reply, self.reply.usage
        cost = "unknown cost" if usage.cost_usd is None else f"{usage.cost_usd:.6f} USD"
        return (
            f"{reply.text}\n\n({reply.model}, {reply.duration_ms} ms, {usage.input_tokens} tokens in, "
            f"{usage.cached_tokens} cached, {usage.output_tokens} out, {cost}{', cut off' if reply.is_cut else ''})"
        )


@dataclass(slots=True)
class Recording:
    """A model that remembers every exchange with the one behind it, those that failed too."""

    model: Model
    exchanges: list[Exchange] = field(default_factory=list)

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """Ask the model behind."""
        try:
            reply = self.model.ask(prompt, deadline=deadline)
        except Exception as error:
            self.exchanges.append(Exchange(prompt, None, str(error)))
            raise
        self.exchanges.append(Exchange(prompt, reply))
        return reply
