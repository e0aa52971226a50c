"""The checks of `playbook doctor`. Each runs one part of the installation, and names the command that repairs it.

For the command `playbook doctor`. The checks change nothing of the user's.
"""

import functools
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from itertools import takewhile
from shlex import quote

from playbook_db import project_env, projects, settings
from playbook_db.claude_code import plugin_env, registration, worker
from playbook_db.claude_code.hooks import spool, worker_start
from playbook_db.claude_code.setup import guards, install, older_hooks, trial
from playbook_db.domain import prompt_text
from playbook_db.domain.redaction.redact import redact_message
from playbook_db.domain.times import local
from playbook_db.errors import (
    ConsentError,
    DatabaseError,
    GitError,
    NoModelError,
    PlaybookError,
    TemplateError,
)
from playbook_db.llm import choose
from playbook_db.llm.model import Prompt, require
from playbook_db.services import maintenance, templates
from playbook_db.services.learning import queue
from playbook_db.services.project import Project, Store, find_membership, is_ignored, open_store
from playbook_db.services.sharing import git, team
from playbook_db.store import sqlite_open
from playbook_db.store.queries import hook_queries
from playbook_db.store.queries.list_queries import Job

OK, NOTE, BROKEN = "ok", "note", "broken"

_LITTLE_DISK_BYTES = 50 * 1024 * 1024
_LOG_LINES = 3
_LONG_WITHOUT_BACKUP = timedelta(days=7)
_TIMEOUT_S = 20.0
_ANSWER_S = 60.0  # for the answer to _TINY
_RECENT = timedelta(days=1)  # the age of log lines that are shown
_TRY = "playbook doctor --online"
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
    """Return all findings for the database at *url* and the project in *folder*. With *online*, ask the model, too."""
    findings: list[Finding] = []
    _report.cache_clear()
    checks = _CHECKS | {"model access": partial(_model, asks=online)}
    for about, check in checks.items():
        try:
            findings += check(url, folder)
        except PlaybookError as error:
            if not isinstance(error, DatabaseError) or check in (_database, _hooks):  # else _database reports it
                command = error.remedy.commands[0] if error.remedy and error.remedy.commands else ("config",)
                findings.append(Finding(about, BROKEN, str(error), " ".join(("playbook", *command))))
        except Exception as error:  # one check that fails must not hide the others
            message = f"{type(error).__name__}: {error}. This is a bug in playbook-db: report it with this output"
            findings.append(Finding(about, BROKEN, message, "playbook doctor --json"))
    # Only a failing hook has no remedy of its own. What repairs the first broken thing checked before may repair it.
    before = takewhile(lambda each: each.remedy or each.state != BROKEN, findings)
    causes = (each.remedy for each in before if each.state == BROKEN and each.about != "settings")
    cause = next(causes, "playbook db check")
    remedies = [{OK: "", NOTE: each.remedy, BROKEN: each.remedy or cause}[each.state] for each in findings]
    return [
        replace(each, message=redact_message(each.message, os.environ), remedy=remedy)
        for each, remedy in zip(findings, remedies, strict=True)
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
    state = OK
    remedy = "in a checkout of playbook-db: uv tool install --force --python 3.13 . && playbook install"
    number = tuple(map(int, sqlite.split(".")))
    if number < (3, 37):
        state, message = BROKEN, f"{message}; 3.37 or later is needed, which newer Pythons have"
    elif has_fts5 != "True":
        lack = "without FTS5: prompts and errors get no points, and `playbook search` only finds parts of words"
        state, message = NOTE, f"{message}, {lack}"
    elif number < (3, 51, 3):
        danger = "before 3.51.3, SQLite can damage a database if two programs write to it. playbook-db's own processes"
        advice = "avoid that. Let other programs only read it, as with `sqlite3 -readonly`, and keep backups"
        state, message, remedy = NOTE, f"{message}; {danger} {advice}", "playbook backup"
    yield Finding("interpreter", state, message, remedy)


def _data_folder(url: str, folder: str) -> Iterator[Finding]:
    path = settings.data_dir()
    if not os.path.isdir(path):
        yield Finding("data folder", NOTE, f"{path} doesn't exist yet", "playbook init")
        return
    mode = os.stat(path).st_mode & 0o777
    if not os.access(path, os.W_OK | os.X_OK):
        yield Finding("data folder", BROKEN, f"{path} can't be written", f"chmod u+rwx {quote(path)}")
    elif mode & 0o077:
        yield Finding("data folder", NOTE, f"{path} can be read by others (mode {mode:o})", f"chmod 700 {quote(path)}")
    else:
        yield Finding("data folder", OK, path)
    free = shutil.disk_usage(path).free
    if free < _LITTLE_DISK_BYTES:
        message = f"{free >> 20} MiB are free on the disk of {path}; delete something there"
        yield Finding("disk", BROKEN, message, f"df -h {quote(path)}")


def _database(url: str, folder: str) -> Iterator[Finding]:
    """Check whether the database can be used. Hooks can't use a database on a server: they never wait for a network."""
    where, on_server = maintenance.location(url), settings.sqlite_file(url) is None
    if not on_server and not _is_there(url) and not sqlite_open.loss_of(where):
        yield Finding("database", NOTE, f"{where} doesn't exist yet", "playbook init")
        return
    report = _report(url) if on_server else maintenance.check_database(url)
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


def _backups(url: str, folder: str) -> Iterator[Finding]:
    if not _is_there(url):
        return
    last, unsaved = maintenance.unsaved_for(url)
    if last is None:
        yield Finding("backups", NOTE, "there is no backup yet; the worker makes one a day", "playbook backup")
        return
    message = f"the last of {local(last.time.isoformat())}: {last.path}"
    is_old = unsaved > _LONG_WITHOUT_BACKUP
    message += "; it lacks later changes" if is_old else ""
    yield Finding("backups", NOTE if is_old else OK, message, "playbook backup")


def _templates(url: str, folder: str) -> Iterator[Finding]:
    for name, place in {"playbook.txt": prompt_text.PLACEHOLDER, **older_hooks.TEMPLATES}.items():
        path = os.path.join(settings.claude_dir(), "prompts", name)
        try:
            require(templates.load_template(name), place.strip("{}"), path)
        except TemplateError as error:
            yield Finding("template", BROKEN, str(error), f"mv {quote(path)} {quote(path)}.aside")


def _project(url: str, folder: str) -> Iterator[Finding]:
    with _opened(url) as store:
        project = Project.in_folder(store, folder)
        if is_ignored(project):
            message = f"{project.key} is ignored: no session gets its playbook, and nothing is learned from any"
            yield Finding("project", NOTE, message, "playbook project ignore --off")


def _git(url: str, folder: str) -> Iterator[Finding]:
    with suppress(GitError):  # git isn't installed, or refuses a folder of another user
        problem = git.setup_problem(folder)
        if problem:
            yield Finding("git", NOTE, problem, "playbook install --git")


def _team(url: str, folder: str) -> Iterator[Finding]:
    with _opened(url) as store:
        project = Project.in_folder(store, folder)
        membership = find_membership(project)
        if membership is None:
            return
        status = team.read_status(project)
        if status.problem is not None:
            state = NOTE if status.is_away or status.schema is not None else BROKEN  # note: reading still works
            message = f"learning waits: {status.problem}"
        else:
            state, message = OK, f"{status.name} in {status.where}: schema {status.schema:04d}, you may read and write"
        yield Finding("team", state, message, "playbook team status")
        if status.unsent and status.problem:
            message = f"the team's database doesn't know yet which points {status.unsent} sessions were shown"
            yield Finding("team", NOTE, message, "playbook work")
        yield _replica(status, sqlite_open.replica_of(store.where, membership.playbook_id))


def _replica(status: team.TeamStatus, path: str) -> Finding:
    """Check the local copy of the team's playbook, from which the hooks read it."""
    if status.replica_at is None:
        return Finding("replica", NOTE, f"{path} doesn't exist yet, so sessions get no points", "playbook work")
    if status.replica is None:
        remedy = "playbook work" if os.path.isfile(path) else f"mv {quote(path)} {quote(path)}.aside && playbook work"
        return Finding("replica", BROKEN, f"{path} can't be read, so sessions get no points", remedy)
    return Finding("replica", OK, f"{path}: revision {status.replica.revision}")


def _queue(url: str, folder: str) -> Iterator[Finding]:
    waiting = len(spool.waiting())
    if waiting:
        message = "1 file waits" if waiting == 1 else f"{waiting} files wait"
        yield Finding("spool", NOTE, f"{message} in {settings.spool_dir()}", "playbook work")
    with _opened(url) as store:
        jobs = queue.list_jobs(store)
    counts = {state: sum(job.state == state for job in jobs) for state in ("queued", "running", "done", "failed")}
    message = ", ".join(f"{count} {state}" for state, count in counts.items())
    failed = [job for job in jobs if job.state == "failed"]
    if held := _held(jobs):
        last, why = held[-1]
        message += f"; {len(held)} waiting for something else, the last, job {last.id} of {last.key}: {why}"
    if failed:
        message += f"; the last to fail: job {failed[-1].id} of {failed[-1].key}: {failed[-1].error}"
    yield Finding("queue", NOTE if failed or held else OK, message, "playbook jobs --all")


def _held(jobs: Iterable[Job]) -> list[tuple[Job, str]]:
    """Return the jobs that wait for something else, such as a model, each with the reason."""
    errors = [(job, job.error or "") for job in jobs if job.state == "queued"]
    return [(job, why.removeprefix(hook_queries.WAITS)) for job, why in errors if why.startswith(hook_queries.WAITS)]


@contextmanager
def _opened(url: str) -> Iterator[Store]:
    """Open the database. Raises DatabaseError if that fails; the check `_database` reports such errors."""
    if not _is_there(url):
        raise DatabaseError(f"{url} isn't there.")
    with open_store(url) as store:
        yield store


def _is_there(url: str) -> bool:
    path = settings.sqlite_file(url)
    return not _report(url).problems if path is None else os.path.exists(path)


@functools.cache
def _report(url: str) -> maintenance.Report:
    """Return the problems of a database on a server. Ask only once, because an unreachable server answers late."""
    return maintenance.check_database(url, quick=True)


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


def _guards(url: str, folder: str) -> Iterator[Finding]:
    existing = guards.read(folder)
    if command := guards.dead(folder):
        yield Finding("guards", BROKEN, f"the command of a guard can't run: {command}", "playbook install")
    elif existing:
        message = f"{', '.join(guard.name for guard in existing)} in {registration.settings_file('local', folder)}"
        yield Finding("guards", OK, message)


def _hooks(url: str, folder: str) -> Iterator[Finding]:
    for hook, is_well, message in trial.try_hooks(folder):
        yield Finding(hook, OK if is_well else BROKEN, message)


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
    is_this = python == sys.executable and not programs.worker_path and {"", os.getcwd()}.isdisjoint(sys.path)
    command = [python, "-P", "-c", "pass" if is_this else f"import {worker_start.WORKER}"]  # we have imported it
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
    """Check the budget, and which model is configured. With *asks*, also check whether it answers a short question."""
    settings.daily_tokens()  # raises SettingError
    try:
        access = choose.describe_access(folder)
    except NoModelError as error:
        needs_consent = isinstance(error, ConsentError)
        remedy = "playbook project trust" if needs_consent else "npm install -g @anthropic-ai/claude-code"
        yield Finding("model access", NOTE, str(error), remedy)
        return
    if asks:
        reply = choose.find_model(folder).ask(_TINY, deadline=time.monotonic() + _ANSWER_S)
        tokens = reply.usage.input_tokens + reply.usage.cached_tokens + reply.usage.output_tokens
        yield Finding("model access", OK, f"{access}: answered in {reply.duration_ms:,} ms, with {tokens:,} tokens")
    elif refusals := _refusals(url, folder):
        message = f"configured, but not tested now: {access}; learning waits, because of an error: {refusals[-1]}"
        yield Finding("model access", NOTE, message, _TRY)
    else:
        yield Finding("model access", OK, f"configured, but not tested: {access}; to test it: {_TRY}")


def _refusals(url: str, folder: str) -> list[str]:
    """Return why jobs of the project wait for a model. The daily budget is left out."""
    with suppress(DatabaseError), _opened(url) as store:
        held = _held(queue.list_jobs(store, Project.in_folder(store, folder).key))
        return [why for _, why in held if project_env.BUDGET not in why]
    return []


def _logs(url: str, folder: str) -> Iterator[Finding]:
    oldest = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - _RECENT.total_seconds()))
    for name in ("hooks.log", "worker.log"):
        try:
            content = projects.read_plain(os.path.join(settings.logs_dir(), name), settings.MAX_FILE_BYTES)
        except OSError:
            continue
        lines = [line for line in content.decode("utf-8", "replace").splitlines() if oldest <= line < "9"]
        for line in lines[-_LOG_LINES:]:
            yield Finding(name, NOTE, line)


_CHECKS: dict[str, Callable[[str, str], Iterator[Finding]]] = {
    "interpreter": _interpreter, "data folder": _data_folder, "database": _database, "backups": _backups,
    "template": _templates, "project": _project, "team": _team, "git": _git, "queue": _queue, "hooks": _registrations,
    "guards": _guards, "hook": _hooks, "worker": _worker, "model access": _model, "logs": _logs,
}  # fmt: skip
