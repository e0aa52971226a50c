"""Paths, environment variables and limits. Standard library only; writes nothing.

Each call reads the environment, so that a changed variable counts at once.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_FILE_BYTES = 256 * 1024 * 1024  # of a playbook file; a hostile one must not fill the memory
LOCK_WAIT_S = 30.0  # how long a writer waits for the database
QUERY_TIMEOUT_S = 60.0  # for SQLite to work on one query of the user
COLLECT_AFTER = 100_000  # new objects before Python collects garbage
MAX_ACTOR_LENGTH = 200  # characters
_LIBPQ = {"host", "hostaddr", "dbname", "user", "password", "service"}  # keywords of its connection strings
MAX_DIAGNOSTIC_FILES = 200  # in one project's .claude/diagnostic/
HOLDOUT = "PLAYBOOK_HOLDOUT"  # the share of sessions that are shown nothing
HOLDOUT_POINTS = "PLAYBOOK_HOLDOUT_POINTS"  # the share of its points that a session is not shown
DAILY_TOKENS = 1_000_000  # for learning, unless PLAYBOOK_DAILY_TOKENS is set


def home() -> str:
    """The user's home directory."""
    return os.path.expanduser("~")


def claude_dir() -> str:
    """Claude Code's own configuration directory: `CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home(), ".claude")


def data_dir() -> str:
    """The folder of the database, its backups and locks. Not created here."""
    return os.path.join(claude_dir(), "playbook")


def default_database() -> str:
    """The default file of the database."""
    return os.path.join(data_dir(), "playbook.db")


def database_url(database: "str | None" = None) -> str:
    """The SQLAlchemy URL of the database: *database*, else `PLAYBOOK_DB_URL`, else the data folder's SQLite file.

    A value without `://` is an SQLite file's path. Raises SettingError for a mistyped server's URL, or libpq's
    `host=... password=...`: else the password would be in the name of a new file.
    """
    value = database or os.environ.get("PLAYBOOK_DB_URL") or default_database()
    if "://" in value:
        return value
    words = {word.partition("=")[0] for word in value.split()} if "=" in value else set()
    if words & _LIBPQ or value.startswith(("postgresql:", "postgresql//", "postgres:", "postgres//")):
        from playbook_db.errors import SettingError  # late: a hook without errors doesn't need it

        raise SettingError("Write a database on a server as a URL: postgresql://USER:PASSWORD@HOST:5432/DATABASE")
    return "sqlite:///" + os.path.abspath(os.path.expanduser(value))


def sqlite_file(url: str) -> "str | None":
    """The file of the SQLite database at *url*, or None, without SQLAlchemy."""
    scheme, _, rest = url.partition("://")
    if scheme.partition("+")[0] != "sqlite" or not rest.startswith("/"):
        return None
    return rest[1:].partition("?")[0] or None


def logs_dir() -> str:
    """The folder of the hooks' and the worker's logs. Not created here."""
    return os.path.join(data_dir(), "logs")


def spool_dir() -> str:
    """The folder for jobs of hooks while the database can't be written. Not created here."""
    return os.path.join(data_dir(), "spool")


def worker_lock() -> str:
    """The lock of a running worker; its modification time is that of the last run."""
    return os.path.join(data_dir(), "worker.lock")


def skip_mark(session: str) -> str:
    """The file that excludes *session* from learning, if it exists. Not created here."""
    return os.path.join(data_dir(), "skipped", session)


def touched_dir() -> str:
    """The folder with a folder for each session, which has an empty file for each file that the session touched."""
    return os.path.join(data_dir(), "touched")


def runtime_dir() -> str:
    """The environment that the plugin installs for its worker. Not created here."""
    return os.path.join(data_dir(), "runtime")


def runtime_python() -> str:
    """The Python of that environment; it exists once the environment is complete."""
    return os.path.join(runtime_dir(), "bin", "python")


def actor() -> str:
    """The actor of a revision, on one line: `PLAYBOOK_ACTOR`, else this session's id, else `ann@laptop`."""
    return _actor_name(os.environ.get("PLAYBOOK_ACTOR", "")) or _actor_name(session()) or member()


def member(role: str = "") -> str:
    """The person's name, even inside a session: a session id means nothing on another machine.

    If no variable names the user, as in Claude Code's background, it is their *role* in the team's database, if any.
    """
    from playbook_db import platforms  # late: hooks don't need it

    return _actor_name(os.environ.get("PLAYBOOK_ACTOR", "")) or _actor_name(
        f"{_user_name(role)}@{platforms.machine_name()}"
    )


def session() -> str:
    """The id of the session of Claude Code that runs this process; `""` in the user's own terminal."""
    return os.environ.get("CLAUDE_CODE_SESSION_ID", "")


def require_person() -> None:
    """Raise SettingError within a session of Claude Code, which must neither read nor accept proposals."""
    if session():
        from playbook_db.errors import Remedy, SettingError

        raise SettingError(
            "Proposals may repeat what a web page told a model, so a session of Claude Code neither shows nor decides "
            "them.",
            Remedy("Decide in your own terminal: {}, or {} for the pages.", ("review",), ("web",)),
        )


def is_disabled(environ: "Mapping[str, str]" = os.environ) -> bool:
    """Whether `PLAYBOOK_DISABLE` turns hooks and worker off."""
    return environ.get("PLAYBOOK_DISABLE", "") not in ("", "0")


def daily_tokens(environ: "Mapping[str, str]" = os.environ) -> int:
    """The tokens that learning may use a day: `PLAYBOOK_DAILY_TOKENS`, else DAILY_TOKENS; 0 means no limit.

    Raises SettingError.
    """
    value = environ.get("PLAYBOOK_DAILY_TOKENS", "").strip()
    if value.isascii() and value.isdigit():
        return int(value[:18])  # 18 digits fit into any database
    if value:
        from playbook_db.errors import SettingError  # late, as above

        raise SettingError(f"PLAYBOOK_DAILY_TOKENS is {value!r}; it must be a whole number of tokens, 0 for no limit.")
    return DAILY_TOKENS


def holdout(environ: "Mapping[str, str]" = os.environ, name: str = HOLDOUT) -> float:
    """The share of sessions, or with HOLDOUT_POINTS of points, that is held back for comparison: the variable *name*,
    from 0 (default) to 1.

    Raises SettingError.
    """
    value = environ.get(name, "").strip()
    try:
        share = float(value or "0")
    except ValueError:
        share = -1.0
    if 0 <= share <= 1:
        return share
    from playbook_db.errors import SettingError  # late, as above

    raise SettingError(f"{name} is {value!r}; it must be a number from 0 to 1, such as 0.1 for one in ten.")


def is_held_out(session_id: str, share: float, point: int = 0) -> bool:
    """Whether the session is in the *share* that are shown nothing, or the *point* in the share that the session isn't
    shown. Their ids alone decide (FNV-1a, 32 bits), so it stays the same when the session is resumed or compacted."""
    text = f"{point} {session_id} held back" if point else session_id  # FNV-1a mixes the last bytes too little
    number = 0x811C9DC5
    for byte in text.encode("utf-8", "replace"):
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return number < share * 2**32


def _user_name(role: str) -> str:
    import getpass  # late: hooks make no revisions

    try:
        if not any(map(os.environ.get, ("LOGNAME", "USER", "LNAME", "USERNAME"))) and role:
            return role
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user id without a name, as in a container
        from playbook_db import platforms

        return str(platforms.user_number())


def _actor_name(text: str) -> str:
    """*text* on one line, without characters that could control a terminal, at most MAX_ACTOR_LENGTH of it."""
    return "".join(char if char.isprintable() else " " for char in text)[:MAX_ACTOR_LENGTH].strip()
