"""Places, environment variables and limits. Standard library only; reads, never writes.

Every function reads the environment when it is called, so that a changed variable counts at once.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_FILE_BYTES = 256 * 1024 * 1024  # of a playbook file; a hostile one must not fill the memory
LOCK_WAIT_S = 30.0  # how long a writer waits for the database before it gives up
QUERY_TIMEOUT_S = 60.0  # that SQLite may work on one question of a person's
COLLECT_AFTER = 100_000  # new objects in a process of ours, before Python looks for garbage among them
MAX_ACTOR_LENGTH = 200  # characters
_LIBPQ = {"host", "hostaddr", "dbname", "user", "password", "service"}  # keywords of its connection strings
MAX_DIAGNOSTIC_FILES = 200  # in one project's .claude/diagnostic/
HOLDOUT = "PLAYBOOK_HOLDOUT"  # the variable that says which share of the sessions is shown nothing
DAILY_TOKENS = 1_000_000  # that learning may use where PLAYBOOK_DAILY_TOKENS says nothing


def home() -> str:
    """The user's home directory."""
    return os.path.expanduser("~")


def claude_dir() -> str:
    """Claude Code's own configuration directory: `CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    return os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home(), ".claude")


def data_dir() -> str:
    """The folder of the database, its backups and locks. Not made here."""
    return os.path.join(claude_dir(), "playbook")


def default_database() -> str:
    """The file of the database where nothing names another."""
    return os.path.join(data_dir(), "playbook.db")


def database_url(database: "str | None" = None) -> str:
    """The SQLAlchemy URL of the database: *database*, else `PLAYBOOK_DB_URL`, else the data folder's SQLite file.

    A value without `://` is taken for the path of an SQLite file. Raises SettingError for a slip in a server's URL and
    for libpq's `host=... password=...`, of which a file would be made, with the password in its name.
    """
    value = database or os.environ.get("PLAYBOOK_DB_URL") or default_database()
    if "://" in value:
        return value
    words = {word.partition("=")[0] for word in value.split()} if "=" in value else set()
    if words & _LIBPQ or value.startswith(("postgresql:", "postgresql//", "postgres:", "postgres//")):
        from playbook_db.errors import SettingError  # late: no hook that goes well comes here

        raise SettingError("Write a database on a server as a URL: postgresql://USER:PASSWORD@HOST:5432/DATABASE")
    return "sqlite:///" + os.path.abspath(os.path.expanduser(value))


def sqlite_file(url: str) -> "str | None":
    """The file of the SQLite database at *url*, without SQLAlchemy; None where it is no SQLite file."""
    scheme, _, rest = url.partition("://")
    if scheme.partition("+")[0] != "sqlite" or not rest.startswith("/"):
        return None
    return rest[1:].partition("?")[0] or None


def logs_dir() -> str:
    """Where the hooks and the worker log their errors. Not made here."""
    return os.path.join(data_dir(), "logs")


def spool_dir() -> str:
    """Where a hook writes a job while the database can't be written. Not made here."""
    return os.path.join(data_dir(), "spool")


def worker_lock() -> str:
    """The lock that a worker holds while it runs; its modification time says when one last ran."""
    return os.path.join(data_dir(), "worker.lock")


def skip_mark(session: str) -> str:
    """The file whose being there says that nothing is to be learned from *session*. Not made here."""
    return os.path.join(data_dir(), "skipped", session)


def touched_dir() -> str:
    """The folder with a folder for each session, in which an empty file is kept for each file that it has touched."""
    return os.path.join(data_dir(), "touched")


def runtime_dir() -> str:
    """Where the plugin sets up the environment of its worker. Not made here."""
    return os.path.join(data_dir(), "runtime")


def runtime_python() -> str:
    """The Python of that environment, there once all of it is."""
    return os.path.join(runtime_dir(), "bin", "python")


def actor() -> str:
    """Who makes a revision: `PLAYBOOK_ACTOR`, else the session in which we run, else the user's name and the machine's,
    as in `ann@laptop`. One line."""
    return _one_line(os.environ.get("PLAYBOOK_ACTOR", "")) or _one_line(session()) or member()


def member(role: str = "") -> str:
    """The person's name, even inside a session: a session id means nothing on another machine.

    If no variable names the user, as in Claude Code's background, it is their *role* in the team's database, if any.
    """
    from playbook_db import platforms  # late, as for the user's name

    return _one_line(os.environ.get("PLAYBOOK_ACTOR", "")) or _one_line(
        f"{_user_name(role)}@{platforms.machine_name()}"
    )


def session() -> str:
    """The id of the session of Claude Code in which this process runs, `""` in a terminal of the user's own."""
    return os.environ.get("CLAUDE_CODE_SESSION_ID", "")


def require_person() -> None:
    """Raise SettingError within a session of Claude Code: what a page had a session propose, it must not read again in
    another, nor accept."""
    if session():
        from playbook_db.errors import Remedy, SettingError

        raise SettingError(
            "Proposals may hold what a web page wants a model to read, so they are neither shown nor decided within a "
            "session of Claude Code.",
            Remedy("Decide in your own terminal: {}, or {} for the pages.", ("review",), ("web",)),
        )


def is_disabled(environ: "Mapping[str, str] | None" = None) -> bool:
    """Whether `PLAYBOOK_DISABLE` of *environ* (default: the environment) has hooks and worker do nothing."""
    return (os.environ if environ is None else environ).get("PLAYBOOK_DISABLE", "") not in ("", "0")


def daily_tokens(environ: "Mapping[str, str] | None" = None) -> int:
    """The tokens that learning may use in a day: `PLAYBOOK_DAILY_TOKENS` of *environ* (default: the environment), else
    DAILY_TOKENS; 0 is no limit. Raises SettingError."""
    value = (os.environ if environ is None else environ).get("PLAYBOOK_DAILY_TOKENS", "").strip()
    if value.isascii() and value.isdigit():
        return int(value[:18])  # more digits than that are more tokens than there are
    if value:
        from playbook_db.errors import SettingError  # late: the hooks have no use for it

        raise SettingError(f"PLAYBOOK_DAILY_TOKENS is {value!r}; it must be a whole number of tokens, 0 for no limit.")
    return DAILY_TOKENS


def holdout(environ: "Mapping[str, str] | None" = None) -> float:
    """The share of sessions that are shown nothing, to be compared with the others: `PLAYBOOK_HOLDOUT` of *environ*
    (default: the environment), from 0 to 1; 0 where it isn't set. Raises SettingError."""
    value = (os.environ if environ is None else environ).get(HOLDOUT, "").strip()
    try:
        share = float(value or "0")
    except ValueError:
        share = -1.0
    if 0 <= share <= 1:
        return share
    from playbook_db.errors import SettingError  # late: the hooks have no use for it

    raise SettingError(f"{HOLDOUT} is {value!r}; it must be a number from 0 to 1, such as 0.1 for one session in ten.")


def is_held_out(session_id: str, share: float) -> bool:
    """Whether the session is among the *share* that are shown nothing: its id alone decides (FNV-1a, 32 bits), so that
    it stays so when it is resumed or compacted."""
    number = 0x811C9DC5
    for byte in session_id.encode("utf-8", "replace"):
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return number < share * 2**32


def _user_name(role: str) -> str:
    import getpass  # late: the hooks, which make no revisions, don't need it

    try:
        if not any(map(os.environ.get, ("LOGNAME", "USER", "LNAME", "USERNAME"))) and role:
            return role
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user id without a name, as in a container
        from playbook_db import platforms

        return str(platforms.user_number())


def _one_line(text: str) -> str:
    """*text* without what could forge a line, steer a terminal or be no text; at most MAX_ACTOR_LENGTH of it."""
    return "".join(char if char.isprintable() else " " for char in text)[:MAX_ACTOR_LENGTH].strip()
