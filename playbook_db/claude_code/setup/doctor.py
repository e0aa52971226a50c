"""The checks of `playbook doctor`. Each runs one part of the installation, and names the command that repairs it.

For the command `playbook doctor`. The checks change nothing of the user's.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from shlex import quote

from playbook_db import platforms, project_env, settings
from playbook_db.claude_code import plugin_env, worker
from playbook_db.claude_code.hooks import worker_start
from playbook_db.claude_code.setup import install, older_hooks, trial
from playbook_db.domain.redaction.redact import redact_message
from playbook_db.errors import DatabaseError, NoModelError, PlaybookError
from playbook_db.llm import choose
from playbook_db.llm.model import Prompt
from playbook_db.services import maintenance
from playbook_db.services.project import open_store
from playbook_db.services.reading import status as reading
from playbook_db.store import sqlite_open

BROKEN, OK, NOTE = "broken", "ok", "note"  # in the order of the findings

_TIMEOUT_S = 20.0
_ANSWER_S = 60.0  # for the answer to _TINY
_TINY = Prompt("You answer in one word.", ("Say: ok",), None, max_tokens=100)


@dataclass(frozen=True, slots=True)
class Finding:
    """One result of a check. Its `state` is `ok`, `note` (worth knowing) or `broken`. `remedy` is the command that
    helps, or `""` if nothing needs to be done."""

    about: str
    state: str
    message: str
    remedy: str = ""


def examine(url: str, folder: str, *, online: bool = False) -> list[Finding]:
    """Return all findings for the database at *url* and the project in *folder*: problems first, notes last.

    With *online*, ask the model, too.
    """
    findings: list[Finding] = []
    checks = _CHECKS | {"model access": partial(_model, asks=online)}
    for about, check in checks.items():
        try:
            findings += check(url, folder)
        except PlaybookError as error:
            if not isinstance(error, DatabaseError) or check is _database:  # else _database reports it
                command = error.remedy.commands[0] if error.remedy and error.remedy.commands else ("config",)
                findings.append(Finding(about, BROKEN, str(error), " ".join(("playbook", *command))))
        except OSError as error:  # of the disk
            findings.append(Finding(about, BROKEN, f"{error.filename or about}: {error.strerror or error}"))
        except Exception as error:  # one check that fails must not hide the others
            message = f"{type(error).__name__}: {error}. This is a bug in playbook-db: report it with this output"
            findings.append(Finding(about, BROKEN, message, "playbook doctor --json"))
    # Only a failing hook has no remedy of its own. What repairs the first broken thing may repair it.
    cause = next((each.remedy for each in findings if each.state == BROKEN and each.remedy), "playbook install")
    findings.sort(key=lambda each: (BROKEN, OK, NOTE).index(each.state))
    return [
        replace(
            each,
            message=redact_message(each.message, os.environ),
            remedy=each.remedy or (cause if each.state == BROKEN else ""),
        )
        for each in findings
    ]


def _interpreter(url: str, folder: str) -> Iterator[Finding]:
    python = install.programs(folder).python
    code = (
        "import sys; from sqlite3 import connect, sqlite_version\n"
        "modules = connect(':memory:').execute('SELECT name FROM pragma_module_list')\n"
        "print(sys.version.split()[0], sqlite_version, ('fts5',) in modules)"
    )
    done = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
    version, sqlite, has_fts5 = done.stdout.split()
    message = f"{python}: Python {version}, SQLite {sqlite}"
    state, remedy = OK, ""
    again = "in a checkout of playbook-db: uv tool install --force --python 3.13 . && playbook install"
    number = tuple(map(int, sqlite.split(".")))
    if number < (3, 37) or has_fts5 != "True":
        lack = "" if has_fts5 == "True" else " without FTS5"
        message = f"{message}{lack}; 3.37 or later with FTS5 is needed, which newer Pythons have"
        state, remedy = BROKEN, again
    elif number < (3, 51, 3):
        advice = "playbook-db works well with it. Let other programs only read the database (`sqlite3 -readonly`)"
        danger = "before 3.51.3, SQLite can damage a database if different programs write to it at once"
        state, message, remedy = NOTE, f"{message}: {advice}; {danger}", "playbook backup"
    yield Finding("interpreter", state, message, remedy)


def _database(url: str, folder: str) -> Iterator[Finding]:
    """Check whether the database can be used. Hooks can't use a database on a server: they never wait for a network."""
    where, on_server = maintenance.location(url), settings.sqlite_file(url) is None
    if obstacle := sqlite_open.unwritable(settings.sqlite_file(url)):
        reason, mends = platforms.why_unwritable(obstacle, settings.data_dir())
        yield Finding("database", BROKEN, f"{reason}, so nothing can be kept", mends)
        return
    if not on_server and not os.path.exists(where) and not sqlite_open.loss_of(where):
        yield Finding("database", NOTE, f"{where} doesn't exist yet; the first point or session creates it")
        return
    report = maintenance.check_database(url, quick=on_server)
    if report.problems:
        message, *more = report.problems
        message = message if on_server or where in message else f"{where}: {message}"
        message += f" (and {len(more)} {'more problem' if len(more) == 1 else 'more problems'})" if more else ""
        command = report.remedy.commands[0] if report.remedy and report.remedy.commands else ("db", "check")
        # The worker and most commands upgrade a file by themselves.
        state = NOTE if command == (("init",) if on_server else ("db", "upgrade")) else BROKEN
        yield Finding("database", state, message, " ".join(("playbook", *command)))
    else:
        size = "" if on_server else f" {os.path.getsize(where) / 1024:,.0f} KiB,"
        yield Finding("database", OK, f"{where}: schema {sqlite_open.SCHEMA:04d},{size} sound")
    if on_server and settings.sqlite_file(project_env.database_url(folder)) is None:
        message = (
            "it is on a server, which hooks don't ask, since no session may wait for a network. So sessions are shown "
            "nothing. Keep your own playbooks in a file, and let this project join the server as a team"
        )
        yield Finding("database", NOTE, message, f"unset PLAYBOOK_DB_URL; playbook team join {quote(where)}")
    if not on_server and not report.problems:
        with open_store(url) as store:
            if not store.can_write(wait_s=1.0):
                yield Finding("database", BROKEN, f"{where} is locked by another process", f"fuser -v {quote(where)}")


def _project(url: str, folder: str) -> Iterator[Finding]:
    """Check what `status` says, too: jobs, and what waits for the user."""
    status = reading.read(url, folder)
    if status.is_ignored:
        message = f"{status.key} is ignored: no session gets its playbook, and nothing is learned from any"
        yield Finding("project", NOTE, message, "playbook project ignore --off")
    jobs = f"{status.queued} queued, {status.running} running, {status.failed} failed"
    yield Finding("queue", NOTE if status.failed else OK, jobs, "playbook jobs" * bool(status.failed))
    for reason in status.waits:
        yield Finding("project", NOTE, reason, "playbook status")


def _registrations(url: str, folder: str) -> Iterator[Finding]:
    registrations = install.find_registrations(folder)
    for path in registrations.unreadable:
        message = f"{path} can't be read as a JSON object; Claude Code ignores it"
        yield Finding("settings", BROKEN, message, f"python3 -m json.tool {quote(path)}")
    for path in registrations.off:
        message = f'{path} turns all hooks off ("disableAllHooks": true); remove that line'
        yield Finding("settings", BROKEN, message, f"${{EDITOR:-vi}} {quote(path)}")
    for each in registrations.files:
        again = f"playbook install --scope {each.scope}"
        if each.missing:
            yield Finding("hooks", BROKEN, f"{each.path} lacks {', '.join(each.missing)}", again)
        elif each.is_dead:
            yield Finding("hooks", BROKEN, f"{each.path} names a program that is gone, or that can't run", again)
        else:
            untried = "" if each.scope == "user" else "; not run, since that file may come with a clone"
            yield Finding("hooks", OK, f"registered in {each.path}{untried}")
    if registrations.plugin:
        yield Finding("plugin", OK, f"{registrations.plugin} is in use")
    if len(registrations.files) + bool(registrations.plugin) > 1:
        yield Finding("hooks", NOTE, "registered more than once; only the first registration is used")
    for older in older_hooks.find(folder):
        message = (
            f"{older.path} has the older system's hooks, too: sessions get both playbooks, and are learned from twice"
        )
        yield Finding("hooks", NOTE, message, "playbook install --replace")
    if not registrations.files and not registrations.plugin:
        yield Finding("hooks", BROKEN, "not registered, so Claude Code doesn't run them", "playbook install")
    if settings.is_disabled():
        yield Finding("hooks", NOTE, "PLAYBOOK_DISABLE is set, so the hooks do nothing", "unset PLAYBOOK_DISABLE")


def _hooks(url: str, folder: str) -> Iterator[Finding]:
    for hook, problem, message in trial.try_hooks(folder):
        yield Finding(hook, BROKEN if problem else OK, problem or message)


def _worker(url: str, folder: str) -> Iterator[Finding]:
    if worker.is_at_work():
        yield Finding("worker", OK, "a worker is running now")
    programs, registrations = install.programs(folder), install.find_registrations(folder)
    if registrations.plugin:
        yield _plugin_env(registrations.plugin)
    python = programs.worker_python
    is_plugins = bool(registrations.plugin and not registrations.files)
    if is_plugins and not (programs.worker_path and os.access(python, os.X_OK)):
        return  # reported by _plugin_env
    command = [python, "-P", "-c", f"import {worker_start.WORKER}"]
    environ = {**os.environ, **({"PYTHONPATH": programs.worker_path} if programs.worker_path else {})}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, cwd="/", env=environ)
        last = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        problem = last if done.returncode else ""
    except (OSError, subprocess.SubprocessError) as error:
        problem = str(error)
    if problem:
        reinstall = f"rm -r {quote(settings.runtime_dir())} && {plugin_env.retry_command(programs.worker_path)}"
        remedy = reinstall if is_plugins else "playbook install"
        yield Finding("worker", BROKEN, f"{python} can't run the worker: {problem}", remedy)
    else:
        yield Finding("worker", OK, f"{python} can run the worker")


def _plugin_env(plugin: str) -> Finding:
    """Check the environment that the *plugin* sets up for the worker."""
    root = install.plugin_root() or plugin_env.ROOT
    if not os.path.isfile(os.path.join(root, "pyproject.toml")):
        message = f"{plugin} is enabled, but its folder isn't known here; run its own /playbook:doctor"
        return Finding("worker", NOTE, message)
    if plugin_env.read_state().get("state") == "failed":
        return Finding("worker", BROKEN, plugin_env.describe(root), plugin_env.retry_command(root))
    return Finding("worker", OK if plugin_env.is_ready(root) else NOTE, plugin_env.describe(root))


def _model(url: str, folder: str, *, asks: bool = False) -> Iterator[Finding]:
    """Check which model is configured. With *asks*, also check whether it answers a short question."""
    if project_env.untrusted(folder):  # _project reports it
        return
    try:
        access = choose.describe_access(folder)
    except NoModelError as error:
        yield Finding("model access", NOTE, str(error), "npm install -g @anthropic-ai/claude-code")
        return
    if asks:
        reply = choose.find_model(folder).ask(_TINY, deadline=time.monotonic() + _ANSWER_S)
        tokens = reply.usage.input_tokens + reply.usage.cached_tokens + reply.usage.output_tokens
        yield Finding("model access", OK, f"{access}: answered in {reply.duration_ms:,} ms, with {tokens:,} tokens")
    else:
        yield Finding("model access", OK, f"configured, but not tested: {access}; to test it: playbook doctor --online")


_CHECKS: dict[str, Callable[[str, str], Iterator[Finding]]] = {
    "interpreter": _interpreter, "database": _database, "project": _project, "hooks": _registrations, "hook": _hooks,
    "worker": _worker, "model access": _model,
}  # fmt: skip
