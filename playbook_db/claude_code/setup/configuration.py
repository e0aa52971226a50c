"""Reading every setting as this project's sessions have it, with its source, and changing the user's own settings.

In a session, the `env` of the settings files overrides the shell's variables. In a terminal, the shell's variables
override the `env` of the user's settings. A note tells if session and terminal differ.
"""

import json
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass

from playbook_db import project_env, settings
from playbook_db.claude_code import registration
from playbook_db.errors import ArgumentError

SWITCHES = (*registration.SWITCHES, registration.SESSION_MESSAGE, *registration.MOMENTS.values(), registration.ON_GUARD)
VALUES = {
    **dict.fromkeys(SWITCHES, ("true", "false")),
    registration.REVIEW: registration.REVIEW_MODES,
    registration.MCP_WRITES: registration.MCP_MODES,
}
NAMES_IN_SETTINGS = (*VALUES, registration.SUBAGENTS)  # keys of their own, not in `env`
VARIABLES = {  # in `env`, with their defaults; a test compares them with modules that take long to import
    "PLAYBOOK_DAILY_TOKENS": f"{settings.DAILY_TOKENS}",
    "PLAYBOOK_DISABLE": "off",
    "PLAYBOOK_ACTOR": "user and machine, or the session",
    "PLAYBOOK_PRICE_PER_MTOK": "the built-in list of October 2026",
    "PLAYBOOK_CLAUDE": "claude on the PATH",
    "PLAYBOOK_NO_SETUP": "off",
    "PLAYBOOK_EMBEDDER": "none",
    "PLAYBOOK_DB_URL": "playbook.db in the data folder",
    "AGENTIC_CONTEXT_BACKEND": "the API if there is a key, else claude -p",
    "AGENTIC_CONTEXT_API_KEY": "none",
    "ANTHROPIC_AUTH_TOKEN": "none",
    "ANTHROPIC_API_KEY": "none",
    "AGENTIC_CONTEXT_MODEL": "claude-sonnet-5-5; sonnet with claude -p",
    "ANTHROPIC_MODEL": "none",
    "ANTHROPIC_DEFAULT_SONNET_MODEL": "none",
    "ANTHROPIC_DEFAULT_OPUS_MODEL": "the newest known",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL": "the newest known",
    "ANTHROPIC_DEFAULT_FABLE_MODEL": "the newest known",
    "AGENTIC_CONTEXT_BASE_URL": "https://api.anthropic.com",
    "ANTHROPIC_BASE_URL": "none",
    "AGENTIC_CONTEXT_TIMEOUT_S": "30",
    "AGENTIC_CONTEXT_DEDUP_THRESHOLD": "0.85",
    "CLAUDE_CONFIG_DIR": "~/.claude",
}
_IN_WORDS = '["*"] or ["general-purpose", "reviewer"]'
_ENVIRONMENT, _DEFAULT = "the environment", "default"
# A key would stay in the history of the shell. Commands in a terminal need the other two as well.
_NOT_IN_SETTINGS = (*project_env.KEYS, "PLAYBOOK_DB_URL", "CLAUDE_CONFIG_DIR")
_NUMBERS: dict[str, Callable[[str], float]] = {
    "PLAYBOOK_DAILY_TOKENS": int, "AGENTIC_CONTEXT_TIMEOUT_S": float, "AGENTIC_CONTEXT_DEDUP_THRESHOLD": float,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting as this project's sessions have it. Its `value` is in words, without secrets. Its `source` is the path
    of a settings file, the environment or the default. `note` has further remarks for the user."""

    name: str
    value: str
    source: str
    note: str = ""


def read_all(folder: str) -> list[Setting]:
    """Return all settings as the project in *folder* has them, switches first."""
    switches = {name: registration.switch_choice(name, folder) for name in SWITCHES}
    types, types_source = registration.subagents_choice(folder)
    note = f"* is all but {' and '.join(registration.LOOKING)}" if registration.ALL_TYPES in types else ""
    review, review_source = registration.review_choice(folder)
    mcp, mcp_source = registration.mcp_choice(folder)
    waiting = project_env.untrusted(folder)
    return [
        *(Setting(name, json.dumps(is_on), source or _DEFAULT) for name, (is_on, source) in switches.items()),
        Setting(registration.SUBAGENTS, json.dumps(types, ensure_ascii=False), types_source or _DEFAULT, note),
        Setting(registration.REVIEW, review, review_source or _DEFAULT),
        Setting(registration.MCP_WRITES, mcp, mcp_source or _DEFAULT),
        *(_variable(name, default, folder, waiting) for name, default in VARIABLES.items()),
    ]


def write(name: str, value: str | None) -> tuple[str, bool]:
    """Set the user's own setting *name* to *value*; *value* None removes it. Return the settings file, and whether it
    changed. Raises ArgumentError for an invalid value, and InstallError."""
    from playbook_db.claude_code.setup import install  # late: showing them needs none of it

    if name in _NOT_IN_SETTINGS:
        raise ArgumentError(f"{name} isn't kept in Claude Code's settings. Set it in your shell.")
    if name not in NAMES_IN_SETTINGS:
        if value is not None:
            _check(name, value)
        return install.set_value(["env", name], value)
    if value is None:
        return install.set_value([name], None)
    if name == registration.SUBAGENTS:
        return install.set_value([name], _types(value))
    if value not in VALUES[name]:
        raise ArgumentError(f"{name} can't be {value!r}. Give one of {', '.join(VALUES[name])}. Nothing was changed.")
    return install.set_value([name], {"true": True, "false": False}.get(value, value))


def written() -> list[str]:
    """Return those of the user's own settings that `write` can set and that only playbook reads."""
    document = registration.read_settings(registration.settings_file("user", ""))
    top = document if isinstance(document, dict) else {}
    env = top.get("env") or ()
    ours = [name for name in VARIABLES if name not in _NOT_IN_SETTINGS and not name.startswith("ANTHROPIC_")]
    return [*(name for name in NAMES_IN_SETTINGS if name in top), *(name for name in ours if name in env)]


def _check(name: str, value: str) -> None:
    """Raise ArgumentError if the variable *name* can't be *value*."""
    problem = "" if value.strip() else "it must not be empty; to remove it: --unset"
    if name == "AGENTIC_CONTEXT_BACKEND" and value not in ("api", "cli"):
        problem = "it must be api or cli"
    if not problem and name in _NUMBERS:
        try:
            problem = "" if float(_NUMBERS[name](value)) >= 0 else "it must not be negative"
        except ValueError:
            problem = "it must be a number"
    if problem:
        raise ArgumentError(f"{name} can't be {value!r}: {problem}. Nothing was changed.")


def _types(value: str) -> list[str]:
    """Return the types of subagents in *value*, which is a JSON list or a comma-separated list."""
    try:
        types = json.loads(value) if value.lstrip().startswith("[") else [each.strip() for each in value.split(",")]
    except (ValueError, RecursionError):
        types = None
    if not isinstance(types, list) or not all(isinstance(each, str) and each.strip() for each in types):
        raise ArgumentError(
            f"{registration.SUBAGENTS} can't be {value!r}. Give a list of types of subagents, such as {_IN_WORDS}; "
            "[] is none. Nothing was changed."
        )
    return types


def _variable(name: str, default: str, folder: str, waiting: Collection[str]) -> Setting:
    here = os.environ.get(name, "").strip()
    for path in reversed(registration.settings_files(folder)):
        value = (project_env.env_of(path) or {}).get(name, "").strip()
        if value:
            is_users = path == registration.settings_file("user", folder)
            note = f"this terminal has {_shown(name, here) if here else 'none'}"
            if value == here or (is_users and not here):
                note = ""
            if name in waiting and not is_users:
                note = "not used until: playbook project trust"
            return Setting(name, _shown(name, value), path, note)
    return Setting(name, _shown(name, here), _ENVIRONMENT) if here else Setting(name, default, _DEFAULT)


def _shown(name: str, value: str) -> str:
    if name in project_env.KEYS:
        return "set (not shown)"
    if value.isdigit() or (value.startswith(("/", "sqlite:///")) and not set(value) & set(" =?;@")):  # a path
        return value
    from playbook_db.domain.redaction.redact import redact_message  # late: it takes longer than the rest of `config`

    scheme, separator, rest = value.partition("://")
    return redact_message(scheme + separator + rest.rpartition("@")[2])  # a password can have any sign
