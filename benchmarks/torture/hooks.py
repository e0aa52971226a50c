"""Mutated payloads and mutated databases for the hooks: exit code 0, valid output in time, nothing overwritten,
and no command that ends with a bug."""

import contextlib
import ctypes
import io
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import sandbox
from benchmarks.torture.damage import HOOK_ENDS
from benchmarks.torture.promises import promise
from playbook_db.claude_code.hooks.hook_runner import parse
from playbook_db.cli.main import main as playbook
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit
from playbook_db.store.engine import open_store
from playbook_db.store.sqlite_open import SCHEMA

HOOKS = sandbox.ROOT / "hooks"
_LONGEST_S = 1.0  # the longer deadline of the two
_STARTS = 50  # of a bare interpreter: what a hook may take beyond that
_PATIENCE_S = 60.0
_BIG_BYTES = 10 * 1024 * 1024
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 24, 1, 2
_STRANGE: tuple[Any, ...] = (
    None, True, 0, -1, 10**400, 0.5, "", " ", "x", "\n", "\x00", "\ud800", "💥" * 40, "/", "/nowhere/at/all", "~", ".",
    "../..", "/dev/null", "/dev/full", "/proc/self/mem", "/" + "a" * 5000, [], {}, [[]], {"": ""},
)  # fmt: skip
_FIELDS = (
    "session_id", "transcript_path", "cwd", "hook_event_name", "source", "reason", "trigger", "agent_id", "agent_type",
    "agent_transcript_path", "model", "something_new",
)  # fmt: skip
_EVENTS: tuple[dict[str, Any], ...] = (
    {"hook_event_name": "SessionStart", "source": "startup"},
    {"hook_event_name": "SessionStart", "source": "compact", "model": "claude-opus-5-5"},
    {"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"},
    {"hook_event_name": "SessionEnd", "reason": "clear"},
    {"hook_event_name": "PreCompact", "trigger": "manual"},
    {"hook_event_name": "SubagentStop", "agent_id": "a1", "agent_type": "", "agent_transcript_path": "/t/a.jsonl"},
    {"hook_event_name": "SomethingNew"},
)
_TEXTS = (
    "In billing/invoice.py amounts are Decimal, never float: rounding differs otherwise",
    "When tools/reindex.sh ends with E4711, its lock is left over: remove var/reindex.lock first",
)
_REMINDERS: tuple[dict[str, Any], ...] = (  # each fits one of the texts
    {
        "hook_event_name": "UserPromptSubmit", "prompt_id": "p1", "permission_mode": "default",
        "prompt": "The rounding in billing/invoice.py is wrong for some amounts",
    },
    {
        "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_use_id": "t1", "is_interrupt": False,
        "tool_input": {"command": "tools/reindex.sh --all", "description": "Make the index anew"},
        "error": "Exit code 1\ntools/reindex.sh: E4711, var/reindex.lock is there", "duration_ms": 43,
    },
    {"hook_event_name": "SubagentStart", "prompt_id": "p1", "agent_id": "a1", "agent_type": "general-purpose"},
)  # fmt: skip
_DATABASES = (
    "sound", "truncated", "turned", "turned", "turned", "schema", "empty", "directory", "permission", "garbage",
    "missing", "read-only", "locked", "no index", "index turned",
)  # fmt: skip


@dataclass(slots=True)
class Hooks:
    """The numbers of payloads and databases, also for each event that reminds.

    It counts the sessions that got points, the reminders of each event and the jobs in the spool. It also has the
    seconds of the slowest hook.
    """

    payloads: int = 0
    databases: int = 0
    reminders: dict[str, int] = field(default_factory=dict)
    told: int = 0
    reminded: dict[str, int] = field(default_factory=dict)
    queued: int = 0
    slowest_s: float = 0.0


def run(folder: Path, *, payloads: int, databases: int, seed: int) -> Hooks:
    """Try what is drawn from *seed*: *payloads* on inject and enqueue, as many of each event on remind, and all of them
    on *databases*. Raises AssertionError if a promise is broken."""
    found = Hooks()
    variables = sandbox.environment(folder)
    with sandbox.opened(folder) as (store, project):
        sandbox.fill(project, 12)
        for text in _TEXTS:
            edit.add(project, text)
        store.tidy()
    sound = Path(sandbox.database_path(folder)).read_bytes()
    for number in range(payloads):
        found.payloads += 1
        _try_payload(folder, variables, found, ("inject", "enqueue"), _EVENTS, f"{seed}-{number}")
        for event in _REMINDERS:
            name = event["hook_event_name"]
            found.reminders[name] = found.reminders.get(name, 0) + 1
            _try_payload(folder, variables, found, ("remind",), (event,), f"{seed}-{name}-{number}")
    with open_store(sandbox.database_url(folder)) as store:
        problems = maintenance.check(store)
        promise(not problems, f"the database is not sound after the payloads: {problems}")
    for number in range(databases):
        rng = random.Random(f"{seed}-database-{number}")
        kind = rng.choice(_DATABASES)
        _put_database(Path(sandbox.database_path(folder)), kind, sound, rng)
        found.databases += 1
        _try_database(folder, variables, found, kind, f"{seed}-{number}")
    return found


def payload(rng: random.Random, folder: Path, events: Sequence[Mapping[str, Any]] = _EVENTS) -> bytes:
    """The input of a hook for one of *events*, often damaged."""
    told: dict[str, Any] = {
        "session_id": f"s{rng.randrange(10**6)}",
        "transcript_path": str(folder / "home/.claude/projects/-x" / "s.jsonl"),
        "cwd": str(folder / "project"),
        **rng.choice(events),
    }
    fields = (*_FIELDS, *(name for name in told if name not in _FIELDS))
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        name = rng.choice(fields)
        if rng.random() < 0.4:
            told.pop(name, None)
        else:
            told[name] = rng.choice(
                (*_STRANGE, {name: told.get(name)}, [told.get(name)] * 99, f"{told.get(name)}\0" * 9)
            )
    if rng.random() < 0.02:
        told[rng.choice(("prompt", "error", "tool_input"))] = rng.choice(("é", "漢", "a/b ", "x")) * (_BIG_BYTES // 4)
    whole: Any = told if rng.random() < 0.9 else rng.choice([[told], *_STRANGE])
    data = json.dumps(whole, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass") + b"\n"
    accident = rng.choice(("none",) * 6 + ("empty", "truncated", "turned", "twice", "deep", "not json", "big"))
    if accident == "empty":
        return b""
    if accident == "truncated":
        return data[: rng.randrange(len(data))]
    if accident == "turned":
        return _turned(data, rng, 4)
    if accident == "twice":
        return data + data
    if accident == "deep":
        return b"[" * 100_000 + data
    if accident == "not json":
        return rng.randbytes(rng.choice((1, 20, 4000)))
    if accident == "big" and rng.random() < 0.3:
        return rng.choice((b"[", b"x", b" ", b"1,")) * _BIG_BYTES
    return data


def _put_database(path: Path, kind: str, sound: bytes, rng: random.Random) -> None:
    """Put a database after an accident of *kind* at *path*."""
    if path.is_dir():
        path.rmdir()
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    if kind == "directory":
        path.mkdir()
        return
    made = {
        "empty": lambda: b"",
        "garbage": lambda: rng.randbytes(9000),
        "truncated": lambda: sound[: rng.randrange(len(sound))],
        "turned": lambda: _turned(sound, rng, rng.choice((1, 1, 5, 100))),
    }.get(kind, lambda: sound)()
    if kind == "missing":
        return
    path.write_bytes(made)
    if "index" in kind:
        _turn_index(path, kind, rng)
    if kind == "schema":
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"PRAGMA user_version = {rng.choice((0, 1, SCHEMA + 1, 2**31 - 1))}")
    if kind == "permission":
        path.chmod(0)


def _turn_index(path: Path, kind: str, rng: random.Random) -> None:
    """Take the index for full text out of the database at *path*, as a SQLite without FTS5 leaves it, or damage it."""
    with closing(sqlite3.connect(path)) as connection, connection:
        if kind == "no index":
            made = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%point_search%'"
            for (name,) in connection.execute(made).fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            connection.execute("DROP TABLE point_search")
        else:
            blocks = connection.execute("SELECT id, length(block) FROM point_search_data").fetchall()
            for number, size in rng.sample(blocks, k=rng.randrange(1, len(blocks) + 1)):
                connection.execute(
                    "UPDATE point_search_data SET block = ? WHERE id = ?", (rng.randbytes(size or 9), number)
                )


@contextlib.contextmanager
def _in_the_way(path: Path, kind: str, rng: random.Random) -> Iterator[None]:
    """Somebody who holds the database, or a folder that can't be written, for as long as the hooks run."""
    if kind == "read-only":
        path.chmod(0o400)
        path.parent.chmod(0o500)
        yield
        path.parent.chmod(0o700)
        path.chmod(0o600)
    elif kind == "locked":
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            if rng.random() < 0.5:  # readers are locked out, too
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            yield
            connection.execute("ROLLBACK")
    else:
        yield


def _try_database(folder: Path, variables: Mapping[str, str], found: Hooks, kind: str, seed: str) -> None:
    path, what, rng = Path(sandbox.database_path(folder)), f"database {seed} ({kind})", random.Random(seed)
    spool = folder / "home/.claude/playbook/spool"
    event = {
        "session_id": seed, "transcript_path": "/t/s.jsonl", "cwd": str(sandbox.project_folder(folder)),
        "source": "startup",
    }  # fmt: skip
    events = [("inject", {"hook_event_name": "SessionStart"}), *(("remind", each) for each in _REMINDERS)]
    with _in_the_way(path, kind, rng):
        before = _content(path)
        for hook, fields in events:
            # A new session, because no session gets the same points twice.
            session = f"{seed} {fields['hook_event_name']}"
            data = json.dumps({**event, **fields, "session_id": session}).encode()
            if _run(hook, data, variables, found, what, before=bind_permissions) == b"{}\n":
                promise(_content(path) == before, f"{what}: {hook} could not read it and changed it")
            before = _content(path)
        shutil.rmtree(spool, ignore_errors=True)
        data = json.dumps({**event, "hook_event_name": "SessionEnd"}).encode()
        _run("enqueue", data, variables, found, what, before=bind_permissions)
        if list(spool.glob("*.json")):
            promise(_content(path) == before, f"{what}: enqueue could not use it and changed it")
            found.queued += 1
    for command in (["list"], ["log"], ["render"], ["db", "check"], ["add", what]):
        said = io.StringIO()
        with (
            sandbox.living_in(variables),
            contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")),
            contextlib.redirect_stderr(said),
        ):
            code = playbook(command)
        promise(code in (0, 1), f"{what}: `playbook {command[0]}` ended with {code}: {said.getvalue()[-2000:]}")


def _content(path: Path) -> object:
    if not path.exists():
        return None
    if path.is_dir():
        return sorted(os.listdir(path))
    mode = path.stat().st_mode
    path.chmod(0o600)  # it may be one that nobody may read
    try:
        return path.read_bytes()
    finally:
        path.chmod(mode)


def _try_payload(
    folder: Path,
    variables: Mapping[str, str],
    found: Hooks,
    hooks: Sequence[str],
    events: Sequence[Mapping[str, Any]],
    seed: str,
) -> None:
    data = payload(random.Random(seed), folder, events)
    (folder / "payload").write_bytes(data)
    for hook in hooks:
        _run(hook, data, variables, found, f"payload {seed}, kept as {folder / 'payload'}")


def _run(
    hook: str,
    data: bytes,
    variables: Mapping[str, str],
    found: Hooks,
    what: str,
    *,
    before: Callable[[], None] | None = None,
) -> bytes:
    """Run *hook* on *data*, check the promises of all hooks, and return its output."""
    began = time.monotonic()
    try:
        done = subprocess.run(
            [os.path.realpath(sys.executable), "-I", "-S", str(HOOKS / f"{hook}.py"), "user", _nothing()],
            input=data,
            capture_output=True,
            env=dict(variables),
            timeout=_PATIENCE_S,
            preexec_fn=before,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"{what}: {hook} never ended") from error
    took_s = time.monotonic() - began
    found.slowest_s = max(found.slowest_s, took_s)
    promise(done.returncode in HOOK_ENDS, f"{what}: {hook} ended with {done.returncode}: {done.stderr[-500:]!r}")
    promise(not done.stderr, f"{what}: {hook} said on stderr: {done.stderr[-500:]!r}")
    in_time = took_s < _LONGEST_S or took_s < _LONGEST_S + _STARTS * _bare_start_s()
    promise(in_time, f"{what}: {hook} took {took_s:.1f} s")
    if hook == "enqueue":
        promise(not done.stdout, f"{what}: enqueue said {done.stdout[:500]!r}")
        return b""
    event = parse(data)
    is_another_hosts = event is not None and not (event.transcript_path or "").endswith(".jsonl")
    may_say_nothing = done.returncode != 0 or is_another_hosts
    promise(
        (may_say_nothing and not done.stdout) or isinstance(_value(done.stdout), dict),
        f"{what}: {hook} said no JSON object: {done.stdout[:500]!r}",
    )
    value = _value(done.stdout)
    answer = value.get("hookSpecificOutput") if isinstance(value, dict) else None
    if hook == "inject":
        found.told += answer is not None
    elif answer is not None:
        promise(bool(answer["additionalContext"].strip()), f"{what}: {hook} said nothing at length")
        name = answer["hookEventName"]
        found.reminded[name] = found.reminded.get(name, 0) + 1
    return done.stdout


def _bare_start_s() -> float:
    """What this machine, as busy as it is now, takes to start a process."""
    began = time.monotonic()
    subprocess.run([os.path.realpath(sys.executable), "-I", "-S", "-c", "pass"], check=True)
    return time.monotonic() - began


def _value(data: bytes) -> object:
    try:
        return json.loads(data)
    except ValueError:
        return None


def _nothing() -> str:
    """A program that does nothing, in the place of the worker's Python."""
    return shutil.which("true") or "/bin/true"


def bind_permissions() -> None:
    """Let file permissions bind a process even where it is root's."""
    if os.geteuid() == 0 and sys.platform == "linux":
        libc = ctypes.CDLL(None)
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def _turned(data: bytes, rng: random.Random, count: int) -> bytes:
    turned = bytearray(data)
    for _ in range(count):
        turned[rng.randrange(len(turned))] = rng.randrange(256)
    return bytes(turned)
