"""Reading a hook's input and running its work. Even if the work fails, the session gets valid output in time, and
exit code 0.

Claude Code gives a hook a JSON object on standard input, and environment variables. The input isn't trusted: a field
that is missing or has the wrong type becomes None. For the hooks; the worker uses it to write its log. Standard library
only.
"""

import _signal  # type: ignore[import-not-found]  # `signal` itself makes enumerations first
import _thread
import gc
import json
import os
import stat
import sys
import time

from playbook_db import projects, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any, NoReturn

_LOG_BYTES = 256 * 1024  # of which one older file is kept
_CHUNK_BYTES = 1 << 20
_NAME_CHARS = 200  # of a client's folder, before a hash
_GRACE_S = 0.4  # beyond its deadline, for a hook to keep its job and to say in the log what went wrong


class Hook:
    """The input, output and log of a hook. If the work ends or times out without an output, `fallback` is printed.
    `pending` has the records that aren't stored yet."""

    def __init__(self, name: str, fallback: bytes) -> None:
        self.name, self.fallback = name, fallback
        self.pending: list[dict[str, Any]] = []
        self._has_said = False
        self._saying = _thread.allocate_lock()
        self._problems: list[str] = []

    def payload(self) -> bytes:
        """Read all of standard input. Return `b""` if it is closed."""
        chunks = []
        try:
            while chunk := os.read(0, _CHUNK_BYTES):
                chunks.append(chunk)
        except OSError:
            pass
        return b"".join(chunks)

    def say(self, output: bytes, *, wait_s: float = -1) -> bool:
        """Write *output* to standard output, unless an output was written already. Return whether *output* was written.

        If another thread is writing, wait until it ends, or at most *wait_s* seconds, because its reader may be stuck.
        """
        if not self._saying.acquire(timeout=wait_s):
            return False
        try:
            if self._has_said:
                return False
            self._has_said = True
            while output:
                output = output[os.write(1, output) :]
        except OSError:
            pass  # nobody listens any more
        finally:
            self._saying.release()
        return True

    def note(self, problem: str) -> None:
        """Remember *problem*, to log it when the hook ends. So the session never waits for the log."""
        self._problems.append(problem)

    def attempt(self, work: "Callable[[], Any]", consequence: str) -> "Any":
        """Return the result of *work*. If it fails, log the error and its *consequence*, and return None."""
        try:
            return work()
        except Exception as error:  # the rest of the hook's work goes on
            self.note(f"{error}: {consequence}")

    def write_notes(self) -> None:
        """Write the remembered problems to the log, if possible."""
        logs = sys.argv[3] if sys.argv[3:] else settings.logs_dir()  # doctor passes a folder of its own
        while self._problems:
            line = f"{self.name}: {without_secrets(self._problems.pop(0))}"
            append_line(os.path.join(logs, "hooks.log"), line)


class Event:
    """One event of a session. Each field is a string or None."""

    hook_event_name: "str | None"
    session_id: "str | None"
    transcript_path: "str | None"
    cwd: "str | None"
    source: "str | None"
    reason: "str | None"
    trigger: "str | None"
    agent_id: "str | None"
    agent_type: "str | None"
    agent_transcript_path: "str | None"

    def __init__(self, payload: "dict[str, Any]") -> None:
        self.payload = payload  # as it came, with what single events have
        for name in Event.__annotations__:
            setattr(self, name, storable(payload.get(name)))


def read(hook: Hook, names: "Collection[str]", consequence: str) -> "tuple[Event, str] | None":
    """Read the event from the standard input of *hook*. Return it with the session's folder, or None unless Claude Code
    sent it and its name is in *names*. Another host gets no output. If the input can't be parsed, log that and the
    *consequence*."""
    event = parse(hook.payload())
    if event is None:
        hook.note(f"standard input is not a JSON object; {consequence}")
    elif _is_of_another_host(event):
        hook.say(b"")
    elif event.hook_event_name in names:
        folder = os.environ.get("CLAUDE_PROJECT_DIR")  # Claude Code sets it; `cwd` changes during the session
        if folder:
            return event, os.path.abspath(folder)
        if event.cwd and os.path.isabs(event.cwd):
            return event, projects.as_path(event.cwd)
        hook.note(f"neither CLAUDE_PROJECT_DIR nor cwd names the project; {consequence}")
    return None


def _is_of_another_host(event: Event) -> bool:
    """Return whether a different agent sent *event*. Claude Code names a transcript, `projects/FOLDER/SESSION.jsonl`.
    Environment variables don't help, because one agent inherits them from another."""
    above, folder, name = f"//{event.transcript_path or ''}".split("/")[-3:]
    return name in ("", "events.jsonl") or name.startswith("rollout-") or "chats" in (above, folder)


def parse(data: bytes) -> "Event | None":
    """Parse *data* as an event. Return None if it isn't a JSON object."""
    text = data.decode("utf-8", "surrogateescape").strip(" \t\r\n\ufeff")
    payload = scanned(text)
    return Event(payload) if isinstance(payload, dict) else None


def scanned(text: str) -> "Any":
    """Parse *text* as JSON. Return None if it isn't valid."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def storable(value: object) -> "str | None":
    """Return *value* without NUL and lone surrogates, so that it can be stored, or None if it isn't a string."""
    if not isinstance(value, str):
        return None
    return projects.as_text(value).encode("utf-8", "replace").decode("utf-8").replace("\0", "?")


def session_folder_name(folder: str) -> str:
    """Return the name of the folder in which Claude Code keeps the transcripts of sessions that began in *folder*."""
    return "".join([char if char.isascii() and char.isalnum() else "-" * (1 + (char > "\uffff")) for char in folder])


def folder_of_session(session_id: str, cwd: str) -> "str | None":
    """Return the session's first folder if it is *cwd* (the shell's current folder) or above it, else None.

    The shell has no `CLAUDE_PROJECT_DIR` (seen with client 2.1.329). A session without a transcript has just begun.
    """
    root = os.path.join(settings.claude_dir(), "projects")
    try:
        names = [name for name in os.listdir(root) if os.path.exists(os.path.join(root, name, f"{session_id}.jsonl"))]
    except OSError:
        names = []
    for here in projects.upwards(os.path.normpath(cwd)):
        for each in (here, os.path.realpath(here)):  # a long name ends with a hash
            if not names or session_folder_name(each)[:_NAME_CHARS] in [name[:_NAME_CHARS] for name in names]:
                return here
    return None


def run(
    name: str,
    work: "Callable[[Hook], None]",
    *,
    silence: bytes,
    deadline_s: float,
    spool: "Callable[[Hook, dict[str, Any], str], object]",
) -> "NoReturn":
    """Do *work* and end this process with exit code 0.

    If the work prints nothing, *silence* is printed, or the hook's `fallback` if the work changed it. After
    *deadline_s* seconds *spool* stores each record in `pending`, with the reason. Then the process ends, even if the
    work is still waiting. The interpreter's own shutdown is skipped, because it takes milliseconds and would close the
    database. If the process still runs, a signal ends it a little later. The shell that started it turns that into exit
    code 0 (see `hooks/start` and `registration.command`).
    """
    if sys.getfilesystemencoding() != "utf-8":  # the locale's: one folder would have two keys
        os.execv(sys.executable, [sys.executable, "-X", "utf8", "-I", "-S", *sys.argv])  # noqa: S606
    hook = Hook(name, silence)
    gc.disable()  # collecting would close an unused connection, which makes SQLite move the whole log into the file
    try:
        if not settings.is_disabled() and settings.has_home():
            _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
            _signal.setitimer(_signal.ITIMER_REAL, deadline_s + _GRACE_S)
            _thread.start_new_thread(_end_in_time, (hook, deadline_s, spool))
            work(hook)
    except BaseException as error:  # the outer door: nothing may reach the session
        hook.note(f"{type(error).__name__}: {error}")
    finally:
        hook.say(hook.fallback)
        hook.write_notes()
        os._exit(0)


def append_line(path: str, text: str) -> None:
    """Append a line with the time and *text* to the log at *path*, if possible."""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {' '.join(text.split())[:2000]}\n"
    try:
        for folder in (settings.data_dir(), os.path.dirname(path)):  # the mode is the last folder's alone
            os.makedirs(folder, mode=0o700, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK, 0o600)
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                return  # a named pipe would keep us waiting
            if status.st_size > _LOG_BYTES:
                os.replace(path, path + ".1")
            os.write(file, line.encode("utf-8", "replace"))
        finally:
            os.close(file)
    except OSError:
        pass  # nowhere left to say it


def without_secrets(text: str) -> str:
    """Return *text* on one line, without the values of secret variables and without users in URLs.

    `redact_message` recognizes many more secrets. But loading it takes too long for a hook and needs Python 3.11.
    """
    for name, value in os.environ.items():
        is_secret = any(word in name.upper() for word in ("KEY", "TOKEN", "SECRET", "PASSW", "AUTH"))
        if is_secret and len(value) >= 8 and not value.startswith("/"):
            text = text.replace(value, "[masked: environment value]")
    return " ".join([_without_user(word) for word in text.split()])


def _without_user(word: str) -> str:
    scheme, separator, rest = word.partition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def timestamp() -> str:
    """Return the current time in the database's format: UTC, ISO 8601, with microseconds."""
    microseconds = int(time.time() * 1e6)
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(microseconds // 10**6))
    return f"{seconds}.{microseconds % 10**6:06d}+00:00"


def _end_in_time(hook: Hook, deadline_s: float, spool: "Callable[[Hook, dict[str, Any], str], object]") -> None:
    """End the process after *deadline_s* seconds. A signal handler would only run after a call into C returns."""
    time.sleep(deadline_s)
    try:
        is_late = hook.say(hook.fallback, wait_s=_GRACE_S / 2)
        for record in [*hook.pending]:
            spool(hook, record, "the database didn't answer in time")
        if is_late:
            hook.note(f"it took longer than {deadline_s:g} s; the session continued")
        hook.write_notes()
    finally:
        os._exit(0)
