"""Choosing the model to ask: Anthropic's API if there is a key, otherwise the user's own Claude Code."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from playbook_db import project_env
from playbook_db.errors import NoModelError, PlaybookError, SettingError
from playbook_db.llm import anthropic_api, claude_cli, prices
from playbook_db.llm.anthropic_api import AnthropicModel
from playbook_db.llm.claude_cli import ClaudeCli
from playbook_db.llm.model import Model, Prompt, Reply

_SET_KEY = "set AGENTIC_CONTEXT_API_KEY, ANTHROPIC_AUTH_TOKEN or ANTHROPIC_API_KEY"
_ADVICE = {  # for each value of AGENTIC_CONTEXT_BACKEND
    "": f"Install Claude Code (`claude` on the PATH, or PLAYBOOK_CLAUDE), or {_SET_KEY}",
    "api": f"AGENTIC_CONTEXT_BACKEND allows only api. Unset it, or {_SET_KEY}",
    "cli": "AGENTIC_CONTEXT_BACKEND allows only cli. Unset it, or put `claude` on the PATH, or set PLAYBOOK_CLAUDE",
}
_OUTPUT_SHARE = 0.05  # about so many tokens are received for each token sent
# What learning takes, about. docs/internals/evidence.md says how it was measured.
TOKENS_A_CALL = 400  # with its result and the assistant's words about it
TOKENS_A_PROMPT = 500
TOKENS_A_PART = 8_000  # of a transcript: for the instructions and answers of two calls


def find_model(folder: str | None = None) -> Model:
    """Return the model for the project in *folder*. Without *folder*, return the model that the environment names.

    Raises SettingError. Raises NoModelError if there is no model or the user must consent first. Source: contract,
    section 8.
    """
    environ = project_env.job_environment(folder) if folder else os.environ
    if environ == os.environ:
        return _find()
    with living_in(environ):
        return _InEnvironment(_find(), environ)


def describe_access(folder: str) -> str:
    """Describe the model that the project in *folder* asks, without secrets. Raises the errors of `find_model`."""
    with living_in(project_env.job_environment(folder)):
        model = _find()
        if isinstance(model, ClaudeCli):
            return f"{claude_cli.model_name()} through Claude Code ({model.binary} -p)"
        return f"{anthropic_api.model_name()} at {anthropic_api.shown_address()}, key from {anthropic_api.key_name()}"


def sessions_in_words(tokens: int) -> str:
    """Return for how many usual sessions *tokens* are enough, as in "about 16 sessions with 10 prompts and 100 tool
    calls each"."""
    count = tokens // (TOKENS_A_PART + 10 * TOKENS_A_PROMPT + 100 * TOKENS_A_CALL)
    return f"about {count:,} sessions with 10 prompts and 100 tool calls each"


def cost_in_words(tokens: int, folder: str) -> str:
    """Estimate the cost of *tokens* for the project in *folder*, as in "at most about $2.50 with claude-sonnet-5-5".
    Return "" if the model's price is unknown, or the model can't be found without asking the user."""
    try:
        with living_in(project_env.job_environment(folder)):
            model = anthropic_api.model_name()
            cost = prices.cost_usd(model, input_tokens=tokens, output_tokens=int(tokens * _OUTPUT_SHARE))
    except PlaybookError:
        return ""
    return "" if cost is None else f"at most about ${cost:,.2f} with {model}"


@contextmanager
def living_in(environ: Mapping[str, str]) -> Iterator[None]:
    """Replace this process's environment with *environ* inside a `with` block."""
    before, new = dict(os.environ), dict(environ)
    try:
        os.environ.clear()
        os.environ.update(new)
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


class _InEnvironment(NamedTuple):
    """A model that is asked with the environment `environ` instead of the process's own."""

    model: Model
    environ: Mapping[str, str]

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """Ask the model with the environment `environ`."""
        with living_in(self.environ):
            return self.model.ask(prompt, deadline=deadline)


def _find() -> Model:
    """Return the model that this environment names. `AGENTIC_CONTEXT_BACKEND` may allow only `api` or only `cli`."""
    backend = os.environ.get("AGENTIC_CONTEXT_BACKEND", "").strip().lower()
    if backend not in _ADVICE:
        raise SettingError(f"AGENTIC_CONTEXT_BACKEND is {backend!r}; it must be api or cli.")
    if backend != "cli" and anthropic_api.key_name():
        return AnthropicModel()
    binary = None if backend == "api" else claude_cli.find_claude()
    if binary is None:
        raise NoModelError(f"There is no model to ask. {_ADVICE[backend]}. Sessions wait in the queue until then.")
    return ClaudeCli(binary)
