"""The environment variables that a project sets. They decide who gets transcripts only if the user trusts the project.

Claude Code passes the `env` of a project's `.claude/settings.json` and `settings.local.json` (also the local file of
the main worktree) to hooks. This `env` overrides the user's settings and the shell (seen with version 2.1.329). If a
project sets keys or addresses, nothing is learned from it until the user trusts these values. A worker that a session
of such a project started does no other project's jobs, since the user's own values may be hidden.

For the hooks, too: standard library only.
"""

import os

from playbook_db import projects, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

DATABASE = "PLAYBOOK_DB_URL"
BUDGET = "PLAYBOOK_DAILY_TOKENS"
KEYS = ("AGENTIC_CONTEXT_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY")  # the first one that is set counts
_URLS = ("AGENTIC_CONTEXT_BASE_URL", "ANTHROPIC_BASE_URL")
_DECIDING = (  # first letters of the variables that decide who gets a transcript, in capitals
    "ANTHROPIC_", "AGENTIC_CONTEXT_", "CLAUDE_CODE_USE_", DATABASE, "PLAYBOOK_CLAUDE", "PATH", "HTTPS_PROXY",
    "HTTP_PROXY", "ALL_PROXY",
)  # fmt: skip
_HARMLESS = (
    "AGENTIC_CONTEXT_MODEL", "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL", "ANTHROPIC_DEFAULT_FABLE_MODEL", "AGENTIC_CONTEXT_TIMEOUT_S",
    "AGENTIC_CONTEXT_DEDUP_THRESHOLD", "PLAYBOOK_PRICE_PER_MTOK",
)  # fmt: skip
_IN_SESSION = "CLAUDECODE"  # Claude Code sets it for all its processes
_OURS = ("PLAYBOOK", "AGENTIC", "ANTHROPIC")  # the first words of variables that this package reads
_ONLY = "PLAYBOOK_ONLY_PROJECT"  # the folder whose jobs alone a worker does


def project_variables(folder: str) -> "dict[str, str]":
    """Return the variables that the project in *folder* sets. Claude Code's user settings belong to no project.

    If a settings file of the project can't be read, all variables that send data elsewhere count as the project's.
    """
    variables: dict[str, str] = {}
    for path in _its_files(folder):
        env = env_of(path)
        if env is None:
            env = {name: os.environ[name] for name in filter(_takes_elsewhere, os.environ)}
        for name, value in env.items():
            if name not in variables or variables[name] != os.environ.get(name):  # the session's value wins
                variables[name] = value
    return variables


def apply_user_settings() -> None:
    """In a terminal, set the variables of Claude Code's user settings, as in a session. The shell's values win."""
    if _IN_SESSION not in os.environ:
        for name, value in (env_of(_users_file()) or {}).items():
            if name.partition("_")[0] in _OURS and not os.environ.get(name):
                os.environ[name] = value


def questions(folder: str) -> "dict[str, str]":
    """Return the project's variables that need the user's trust."""
    variables = project_variables(folder)
    return {name: value for name, value in variables.items() if value.strip() and _takes_elsewhere(name)}


def untrusted(folder: str) -> "list[str]":
    """Return the names of the project's variables because of which nothing is learned from it."""
    names = list(questions(folder))
    return names if names and not consent(folder) else []


def consent(folder: str) -> "bool | None":
    """Return whether the user trusts what `questions` returns now, or None if there is no answer."""
    record = _read_record(folder)
    return record.get("agreed") if record.get("values") == _digest(folder) else None  # type: ignore[return-value]


def record_consent(folder: str, *, agreed: bool) -> None:
    """Store the user's answer to `questions`. Raises OSError."""
    import json

    from playbook_db import files

    path = _record_path(folder)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    record = {"project": projects.project_key(folder), "values": _digest(folder), "agreed": agreed}
    temporary = f"{path}.{os.getpid()}.tmp"
    files.replace_file(path, json.dumps(record).encode("ascii"), mode=0o600, temporary=temporary)


def worker_environment(folder: str) -> "dict[str, str]":
    """Return the environment for a worker that a session in *folder* starts: the session's without the project's
    variables. If they hide values that learning needs, the worker does the project's own jobs alone."""
    variables = project_variables(folder)
    environ = {name: value for name, value in os.environ.items() if variables.get(name) != value}
    if any(_takes_elsewhere(name) or name in _HARMLESS for name in variables):
        environ[_ONLY] = folder
    if DATABASE in variables:
        environ[DATABASE] = database_url(folder)
    if BUDGET in variables and (budget := (env_of(_users_file()) or {}).get(BUDGET)):
        environ[BUDGET] = budget
    environ.pop(_IN_SESSION, None)
    return environ


def job_environment(folder: str) -> "dict[str, str]":
    """Return the environment in which a model is asked about the project in *folder*.

    Raises NoModelError if the user must trust the project first, OtherProjectError if this worker is another project's.
    """
    from playbook_db import errors  # late: no hook asks a model

    if names := untrusted(folder):
        raise errors.NoModelError(
            f"The settings of {folder} set {', '.join(names)}, so your key and the project's transcripts may go to a "
            "place that the project chose. Nothing is learned from the project until you trust it.",
            errors.Remedy("To see the values and decide: {}", ("project", "trust")),
        )
    environ = dict(os.environ)
    only = environ.get(_ONLY, folder)
    if only != folder and projects.project_key(only) != projects.project_key(folder):
        raise errors.OtherProjectError(
            f"A session in {only} started this worker, and that project's settings hide your own keys or addresses. "
            "The work continues when a session in another project starts a worker."
        )
    variables = project_variables(folder)
    if any(variables.get(name, "").strip() for name in KEYS):
        if any(variables.get(name, "").strip() for name in _URLS):  # the user's keys don't go there
            for name in (*KEYS, *_URLS, "ANTHROPIC_CUSTOM_HEADERS"):
                environ.pop(name, None)
        environ["AGENTIC_CONTEXT_BACKEND"] = "api"
    used = variables.keys() - {DATABASE}
    return {**environ, **{name: variables[name] for name in used if _takes_elsewhere(name) or name in _HARMLESS}}


def database_url(folder: str) -> str:
    """Return the URL of the database. A URL that the project in *folder* sets is used only with the user's consent."""
    value = os.environ.get(DATABASE)
    if not value or project_variables(folder).get(DATABASE) != value or consent(folder):
        return settings.database_url()
    return settings.database_url((env_of(_users_file()) or {}).get(DATABASE) or settings.default_database())


def _takes_elsewhere(name: str) -> bool:
    return name.upper().startswith(_DECIDING) and name.upper() not in _HARMLESS


def _its_files(folder: str) -> "list[str]":
    local = os.path.join(".claude", "settings.local.json")
    paths = os.path.join(folder, ".claude", "settings.json"), os.path.join(projects.repository(folder), local)
    existing = [*filter(os.path.exists, dict.fromkeys((*paths, os.path.join(folder, local))))]
    users = os.path.dirname(os.path.realpath(_users_file())) if existing else ""
    return [path for path in existing if os.path.dirname(os.path.realpath(path)) != users]


def _users_file() -> str:
    return os.path.join(settings.claude_dir(), "settings.json")


def env_of(path: str) -> "dict[str, str] | None":
    """Return the `env` in the settings file at *path*, as Claude Code reads it, or None if it can't be read here."""
    content = _content(path)
    if not content:
        return None if os.path.isfile(path) and os.path.getsize(path) else {}
    if b'"env"' not in content and b"\\u" not in content and b"\0" not in content:
        return {}
    import json  # late: most projects have no settings

    text = content.decode(json.detect_encoding(content), "replace")  # as Claude Code reads it, damaged or not
    try:
        document = json.loads(text, parse_int=float)
    except ValueError:
        return {}
    except RecursionError:
        return None
    env = document.get("env") if isinstance(document, dict) else None
    return dict(_passed_on(env)) if isinstance(env, dict) else {}


def _content(path: str) -> bytes:
    try:
        return projects.read_plain(path)
    except OSError:
        return b""


def _passed_on(env: "dict[str, object]") -> "Iterator[tuple[str, str]]":
    for name, value in env.items():
        text = value if isinstance(value, str) else _in_javascript(value)
        if _takes_elsewhere(name) and not (isinstance(value, str) and _can_be_given(name, value)):
            text = os.environ.get(name)  # the value that Claude Code made of it
        if text is not None and _can_be_given(name, text):
            yield name, text


def _in_javascript(value: object) -> "str | None":
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).lower() if isinstance(value, (bool, float)) else None


def _can_be_given(name: str, text: str) -> bool:
    """Return whether an environment can contain the variable *name* with the value *text*."""
    try:
        return bool(name) and "=" not in name and b"\0" not in os.fsencode(f"{name}={text}")
    except UnicodeEncodeError:
        return False


def _digest(folder: str) -> str:
    """Return a hash of the variables in `questions`, since their values may contain a password."""
    import hashlib

    return hashlib.sha256(repr(sorted(questions(folder).items())).encode("utf-8", "surrogateescape")).hexdigest()


def _record_path(folder: str) -> str:
    from zlib import crc32  # names the file; the record inside has the project's key

    key = projects.project_key(folder).encode("utf-8", "surrogateescape")
    return os.path.join(settings.data_dir(), "consents", f"{crc32(key):08x}.json")


def _read_record(folder: str) -> "dict[str, object]":
    import json

    try:
        record = json.loads(projects.read_plain(_record_path(folder)))
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) and record.get("project") == projects.project_key(folder) else {}
