"""Choosing the model to ask: Anthropic's API where there is a key, else the user's own Claude Code."""

import os

from playbook_db.errors import NoModelError, SettingError
from playbook_db.llm import anthropic_api, claude_cli
from playbook_db.llm.anthropic_api import AnthropicModel
from playbook_db.llm.claude_cli import ClaudeCli
from playbook_db.llm.model import Model

_NEITHER = (
    "There is no model to ask: neither a key (AGENTIC_CONTEXT_API_KEY, ANTHROPIC_AUTH_TOKEN, ANTHROPIC_API_KEY) nor "
    "Claude Code (`claude` on the PATH, or PLAYBOOK_CLAUDE). Work waits in the queue until there is one."
)
_NO_KEY = (
    "AGENTIC_CONTEXT_BACKEND is api, but there is no key. "
    "Set AGENTIC_CONTEXT_API_KEY, ANTHROPIC_AUTH_TOKEN or ANTHROPIC_API_KEY."
)
_NO_CLIENT = (
    "AGENTIC_CONTEXT_BACKEND is cli, but there is no Claude Code. Put `claude` on the PATH, or set PLAYBOOK_CLAUDE."
)


def find_model() -> Model:
    """The model to ask; `AGENTIC_CONTEXT_BACKEND=api|cli` allows only one of the two.

    Raises NoModelError where there is none, SettingError for another value. Source: contract, section 8.
    """
    backend = os.environ.get("AGENTIC_CONTEXT_BACKEND", "").strip().lower()
    if backend not in ("", "api", "cli"):
        raise SettingError(f"AGENTIC_CONTEXT_BACKEND is {backend!r}; it must be api or cli.")
    if backend != "cli" and anthropic_api.key_name():
        return AnthropicModel()
    if backend == "api":
        raise NoModelError(_NO_KEY)
    binary = claude_cli.find_claude()
    if binary is None:
        raise NoModelError(_NO_CLIENT if backend == "cli" else _NEITHER)
    return ClaudeCli(binary)


def describe_access() -> str:
    """The model and the way to it, in words and without secrets. Asks nobody. Raises as `find_model` does."""
    model = find_model()
    if isinstance(model, ClaudeCli):
        return f"{claude_cli.model_name()} through Claude Code ({model.binary} -p)"
    return f"{anthropic_api.model_name()} at {anthropic_api.base_url()}, key from {anthropic_api.key_name()}"
