"""What works on this machine and what doesn't, tried for real, and the command that helps where it doesn't.

For the command `playbook doctor`. Nothing of the user's changes: the hook that writes is tried in a folder and a
database of its own.
"""

import functools
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from shlex import quote

from playbook_db import project_env, projects, settings
from playbook_db.claude_code import plugin_env, registration, worker
from playbook_db.claude_code.hooks import spool, worker_start
from playbook_db.claude_code.setup import install, older_hooks
from playbook_db.domain import prompt_text
from playbook_db.domain.redaction.redact import redact_message
from playbook_db.domain.sections import is_users_name
from playbook_db.domain.times import ago, local
from playbook_db.errors import (
    ConsentError,
    DatabaseError,
    GitError,
    ModelError,
    NoModelError,
    PlaybookError,
    SettingError,
    TemplateError,
)
from playbook_db.llm import choose
from playbook_db.llm.model import Prompt, require
from playbook_db.services import maintenance, templates
from playbook_db.services.learning import diagnostics, queue
from playbook_db.services.learning.budget import tokens_today
from playbook_db.services.project import Project, Store, find_membership, is_ignored, open_store, read_playbook
from playbook_db.services.sharing import git, team
from playbook_db.store import at_hand, hook_sql
from playbook_db.store.jobs import Job

OK, NOTE, BROKEN = "ok", "note", "broken"

_SOUND_SQLITE = (3, 51, 3)  # before, two connections that checkpoint at once can, rarely, damage the file
_LITTLE_DISK_BYTES = 50 * 1024 * 1024
_LOG_LINES = 3
_LONG_WITHOUT_BACKUP = timedelta(days=7)
_RUNS = 5  # of each hook
_PROMPT = "Which words of playbook/doctor.py does the index for full text find in the playbook of this project?"
_TIMEOUT_S = 20.0
_ANSWER_S = 60.0  # for the tiny question
_RECENT = timedelta(days=1)  # of a log; what is older was seen, or is over
_TRY = "playbook doctor --online"
_TINY = Prompt("You answer in one word.", ("Say: ok",), None, max_tokens=100)
_SESSION = "doctor-made-this-up"
_CAUSES = ("database", "template", "replica")  # of a hook that shows nothing
_LONG_UNKNOWN = timedelta(days=1)  # that a team's playbook is as this machine last knew it


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was examined: `state` is `ok`, `note` (worth knowing) or `broken`; `remedy` is the command that
    helps, empty where nothing needs to be done."""

    about: str
    state: str
    message: str
    remedy: str = ""


def examine(url: str, folder: str, *, online: bool = False) -> list[Finding]:
    """All findings for the database at *url* and the project in *folder*; *online*: the model is asked something."""
    findings: list[Finding] = []
    _report.cache_clear()
    checks = (
        _interpreter, _data_folder, _database, _backups, _templates, _project, _team, _git, _queue, _registrations,
        _hooks, _worker, _model_asked if online else _model, _spending, _holdout, _mcp, _diagnostics, _logs,
    )  # fmt: skip
    for check in checks:
        about = check.__name__.strip("_").replace("_", " ")
        try:
            findings += check(url, folder)
        except PlaybookError as error:
            findings.append(Finding(about, BROKEN, str(error), "playbook doctor"))
        except Exception as error:  # the outer door: one check that fails must not hide the others
            message = f"{type(error).__name__}: {error}. This is a bug in playbook-db: report it with what this prints"
            findings.append(Finding(about, BROKEN, message, "playbook doctor --json"))
    causes = [each.remedy for each in findings if each.about in _CAUSES and each.state == BROKEN]
    return [
        replace(
            each,
            message=redact_message(each.message, os.environ),
            remedy=causes[0] if causes and each.about in ("inject", "remind") and each.state == BROKEN else each.remedy,
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
    number = tuple(map(int, sqlite.split(".")))
    remedy = "in a checkout of playbook-db: uv tool install --force --python 3.13 . && playbook install"
    if number < (3, 37):
        yield Finding("interpreter", BROKEN, f"{message}; 3.37 or later is needed, as newer Pythons bring it", remedy)
        return
    if has_fts5 != "True":
        message += (
            ", which has no FTS5: no prompt or error brings a point, and `playbook search` goes by parts of words"
        )
        yield Finding("interpreter", NOTE, message, remedy)
        return
    if number < _SOUND_SQLITE:
        message += (
            ". SQLite before 3.51.3 can damage a file that two connections checkpoint at once; "
            "here only one ever does, under a lock"
        )
    yield Finding("interpreter", OK, message)


def _data_folder(url: str, folder: str) -> Iterator[Finding]:
    path = settings.data_dir()
    if not os.path.isdir(path):
        yield Finding("data folder", NOTE, f"{path} isn't there yet", "playbook init")
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
        message = f"{free >> 20} MiB are free where {path} is; make room on that disk"
        yield Finding("disk", BROKEN, message, f"df -h {quote(path)}")


def _database(url: str, folder: str) -> Iterator[Finding]:
    where = maintenance.location(url)
    if settings.sqlite_file(url) is None:
        yield from _server(url, where, folder)
        return
    if not _is_there(url) and not at_hand.loss_of(where):
        yield Finding("database", NOTE, f"{where} isn't there yet", "playbook init")
        return
    report = maintenance.check_database(url)
    if report.problems:
        more = report.problems[1:]
        message = report.problems[0] if where in report.problems[0] else f"{where}: {report.problems[0]}"
        message += f" (and {len(more)} {'more problem' if len(more) == 1 else 'more problems'})" if more else ""
        command = report.remedy.commands[0] if report.remedy else ("db", "check")
        state = NOTE if command == ("db", "upgrade") else BROKEN  # the worker and most commands do that by themselves
        yield Finding("database", state, message, " ".join(("playbook", *command)))
        return
    yield Finding(
        "database", OK, f"{where}: schema {at_hand.SCHEMA:04d}, {os.path.getsize(where) / 1024:,.0f} KiB, sound"
    )
    with open_store(url) as store:
        if not store.can_write(wait_s=1.0):
            yield Finding("database", BROKEN, f"{where} is locked by another process", f"fuser -v {quote(where)}")


def _server(url: str, where: str, folder: str) -> Iterator[Finding]:
    """Of a database on a server: whether it can be used, and that the hooks, which never wait for a network, don't."""
    report = _report(url)
    if report.problems:
        command = report.remedy.commands[0] if report.remedy and report.remedy.commands else ("db", "check")
        state = NOTE if command == ("init",) else BROKEN
        yield Finding("database", state, report.problems[0], " ".join(("playbook", *command)))
    else:
        yield Finding("database", OK, f"{where}: schema {at_hand.SCHEMA:04d}, sound")
    if settings.sqlite_file(project_env.database_url(folder)) is None:
        message = (
            "it is on a server, which hooks don't ask, so that no session waits for a network: none is shown anything. "
            "Keep your own playbooks in a file, and let this project join the one on the server"
        )
        yield Finding("database", NOTE, message, f"unset PLAYBOOK_DB_URL; playbook team join {quote(where)}")


def _backups(url: str, folder: str) -> Iterator[Finding]:
    if not _is_there(url):
        return
    try:
        last, unsaved = maintenance.unsaved_for(url)
    except DatabaseError:  # a finding of _database
        return
    if last is None:
        yield Finding("backups", NOTE, "there is none yet; the worker takes one a day", "playbook backup")
        return
    message = f"the last of {local(last.time.isoformat())}: {last.path}"
    if unsaved > _LONG_WITHOUT_BACKUP:
        yield Finding("backups", NOTE, f"{message}; what changed since is in none", "playbook backup")
    else:
        yield Finding("backups", OK, message)


def _templates(url: str, folder: str) -> Iterator[Finding]:
    for name, place in {"playbook.txt": prompt_text.PLACEHOLDER, **older_hooks.TEMPLATES}.items():
        path = os.path.join(settings.claude_dir(), "prompts", name)
        try:
            require(templates.load_template(name), place.strip("{}"), path)
        except TemplateError as error:
            yield Finding("template", BROKEN, str(error), f"mv {quote(path)} {quote(path)}.aside")


def _project(url: str, folder: str) -> Iterator[Finding]:
    if _is_there(url):
        with suppress(DatabaseError), open_store(url) as store:  # a finding of _database
            project = Project.in_folder(store, folder)
            if is_ignored(project):
                message = f"{project.key} is ignored: no session gets its playbook, and nothing is learned from any"
                yield Finding("project", NOTE, message, "playbook project ignore --off")


def _git(url: str, folder: str) -> Iterator[Finding]:
    with suppress(GitError):  # which is of no use here, or refuses a folder that is another user's
        problem = git.setup_problem(folder)
        if problem:
            yield Finding("git", NOTE, problem, "playbook install --git")


def _team(url: str, folder: str) -> Iterator[Finding]:
    if not _is_there(url):
        return
    with suppress(DatabaseError), open_store(url) as store:  # a finding of _database
        project = Project.in_folder(store, folder)
        membership = find_membership(project)
        if membership is None:
            return
        status = team.read_status(project)
        if status.problem is not None:
            state = NOTE if status.is_away or status.schema is not None else BROKEN  # who may only read, reads
            message = f"learning waits: {status.problem}"
        else:
            state, message = OK, f"{status.name} in {status.where}: schema {status.schema:04d}, you may read and write"
        yield Finding("team", state, message, "playbook team status" if status.problem else "")
        if status.unsent and status.problem:
            yield Finding("team", NOTE, f"what {status.unsent} sessions were shown waits, too", "playbook work")
        yield _replica(status, at_hand.replica_of(store.where, membership.playbook_id))


def _replica(status: team.TeamStatus, path: str) -> Finding:
    """How the file stands that sessions are shown the team's playbook from."""
    if status.replica_at is None:
        return Finding("replica", NOTE, f"{path} isn't there yet: sessions are shown nothing", "playbook work")
    if status.replica is None:
        remedy = "playbook work" if os.path.isfile(path) else f"mv {quote(path)} {quote(path)}.aside && playbook work"
        return Finding("replica", BROKEN, f"{path} can't be read: sessions are shown nothing", remedy)
    now = datetime.now(UTC)
    message = f"{path}: revision {status.replica.revision}, known to be current {ago(status.replica_at, now=now)}"
    is_old = now - status.replica_at > _LONG_UNKNOWN
    return Finding("replica", NOTE if is_old else OK, message, "playbook work" if is_old else "")


def _queue(url: str, folder: str) -> Iterator[Finding]:
    waiting = len(spool.waiting())
    if waiting:
        message = "1 file waits" if waiting == 1 else f"{waiting} files wait"
        yield Finding("spool", NOTE, f"{message} in {settings.spool_dir()}", "playbook work")
    if not _is_there(url):
        return
    try:
        with open_store(url) as store:
            jobs = queue.list_jobs(store)
    except DatabaseError:  # a finding of _database
        return
    counts = {state: sum(job.state == state for job in jobs) for state in ("queued", "running", "done", "failed")}
    message = ", ".join(f"{count} {state}" for state, count in counts.items())
    failed = [job for job in jobs if job.state == "failed"]
    if held := [job for job in jobs if job.state == "queued" and (job.error or "").startswith(hook_sql.WAITS)]:
        message += f"; {len(held)} put off, the last, job {held[-1].id} of {held[-1].key}: {_why(held[-1])}"
    if failed:
        last = failed[-1]
        message += f"; the last to fail: job {last.id} of {last.key}: {last.error}"
    if failed or held:
        yield Finding("queue", NOTE, message, "playbook jobs --all")
    else:
        yield Finding("queue", OK, message)


def _why(job: Job) -> str:
    """Why *job* waits."""
    return (job.error or "").removeprefix(hook_sql.WAITS)


def _is_there(url: str) -> bool:
    path = settings.sqlite_file(url)
    return not _report(url).problems if path is None else os.path.exists(path)


@functools.cache
def _report(url: str) -> maintenance.Report:
    """What is wrong with the database on a server, asked once: one that is away takes its time to say nothing."""
    return maintenance.check_database(url, quick=True)


def _registrations(url: str, folder: str) -> Iterator[Finding]:
    registrations = install.find_registrations(folder)
    for path, problem in registrations.unreadable:
        yield Finding("settings", BROKEN, problem, f"python3 -m json.tool {quote(path)}")
    for path in registrations.off:
        message = f'{path} turns all hooks off ("disableAllHooks": true); take that out of it'
        yield Finding("settings", BROKEN, message, f"${{EDITOR:-vi}} {quote(path)}")
    for each in registrations.files:
        again = f"playbook install --scope {each.scope}"
        if each.missing:
            yield Finding("hooks", BROKEN, f"{each.path} lacks {', '.join(each.missing)}", again)
        elif each.dead:
            yield Finding("hooks", BROKEN, f"{each.path} names {each.dead}, which isn't there", again)
        else:
            untried = "" if each.scope == "user" else "; doctor tries its own hooks: a clone may bring that file"
            yield Finding("hooks", OK, f"registered in {each.path}{untried}")
    if registrations.plugin:
        yield Finding("plugin", OK, f"{registrations.plugin} is in use")
    if len(registrations.files) + bool(registrations.plugin) > 1:
        yield Finding("hooks", NOTE, "registered more than once; the first answers, the others stay silent")
    for older in older_hooks.find(folder):
        message = (
            f"{older.path} has hooks of the older system too: sessions are shown both playbooks and learned from twice"
        )
        yield Finding("hooks", NOTE, message, "playbook install --replace")
    if not registrations.files and not registrations.plugin:
        yield Finding("hooks", BROKEN, "registered nowhere: Claude Code doesn't know of them", "playbook install")
    if settings.is_disabled():
        yield Finding("hooks", NOTE, "PLAYBOOK_DISABLE is set: the hooks do nothing", "unset PLAYBOOK_DISABLE")


def _worker(url: str, folder: str) -> Iterator[Finding]:
    if worker.is_at_work():
        yield Finding("worker", OK, "at work just now")
    programs, registrations = install.programs(folder), install.find_registrations(folder)
    if registrations.plugin:
        roots = (programs.worker_path, registrations.plugin_root, plugin_env.ROOT)
        root = next((each for each in roots if each and os.path.isfile(os.path.join(each, "pyproject.toml"))), None)
        if root is None:
            message = (
                f"{registrations.plugin} is enabled, but where it is can't be told; its own /playbook:doctor knows"
            )
            yield Finding("worker", NOTE, message)
        elif plugin_env.read_state().get("state") == "failed":
            yield Finding("worker", BROKEN, plugin_env.describe(root), plugin_env.retry_command(root))
        else:
            is_ready = plugin_env.is_ready(root)
            yield Finding("worker", OK if is_ready else NOTE, plugin_env.describe(root))
    python = programs.worker_python
    is_plugins = bool(registrations.plugin and not registrations.files)
    if is_plugins and not (programs.worker_path and os.access(python, os.X_OK)):
        return  # told above
    command = [python, "-P", "-c", f"import {worker_start.WORKER}"]
    environ = {**os.environ, **({"PYTHONPATH": programs.worker_path} if programs.worker_path else {})}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, cwd="/", env=environ)
        last = done.stderr.strip().rpartition("\n")[2] or f"exit code {done.returncode}"
        problem = last if done.returncode else ""
    except (OSError, subprocess.SubprocessError) as error:
        problem = str(error)
    if problem:
        anew = f"rm -r {quote(settings.runtime_dir())} && {plugin_env.retry_command(programs.worker_path)}"
        yield Finding("worker", BROKEN, f"{python} can't run it: {problem}", anew if is_plugins else "playbook install")
    else:
        yield Finding("worker", OK, f"{python} can run it")


def _model(url: str, folder: str) -> Iterator[Finding]:
    try:
        message = f"configured, not tried: {choose.describe_access(folder)}"
        waits = _refusals(url, folder)
        if waits:
            yield Finding("model access", NOTE, f"{message}; work waits, as it was refused: {waits[-1]}", _TRY)
        else:
            yield Finding("model access", OK, f"{message}; to ask it something tiny: {_TRY}")
    except ConsentError as error:
        yield Finding("model access", NOTE, str(error), "playbook project trust")
    except NoModelError as error:
        yield Finding("model access", NOTE, str(error), "npm install -g @anthropic-ai/claude-code")


def _refusals(url: str, folder: str) -> list[str]:
    """Why jobs of the project wait through no fault of their own, the day's budget aside."""
    if not _is_there(url):
        return []
    try:
        with open_store(url) as store:
            jobs = queue.list_jobs(store, Project.in_folder(store, folder).key)
    except DatabaseError:  # a finding of _database
        return []
    held = [job for job in jobs if job.state == "queued" and (job.error or "").startswith(hook_sql.WAITS)]
    return [_why(job) for job in held if project_env.BUDGET not in _why(job)]


def _model_asked(url: str, folder: str) -> Iterator[Finding]:
    """Ask the model one tiny question."""
    try:
        access, model = choose.describe_access(folder), choose.find_model(folder)
        reply = model.ask(_TINY, deadline=time.monotonic() + _ANSWER_S)
    except NoModelError:
        yield from _model(url, folder)
    except ModelError as error:
        yield Finding("model access", BROKEN, str(error), _TRY)
    else:
        tokens = reply.usage.input_tokens + reply.usage.cached_tokens + reply.usage.output_tokens
        message = f"{access}: answered in {reply.duration_ms:,} ms, {tokens:,} tokens"
        yield Finding("model access", OK, message)


def _spending(url: str, folder: str) -> Iterator[Finding]:
    budget = settings.daily_tokens()
    allowed = f"PLAYBOOK_DAILY_TOKENS allows {budget:,}" if budget else "PLAYBOOK_DAILY_TOKENS is 0: no limit"
    if not _is_there(url):
        return
    try:
        with open_store(url) as store:
            used = tokens_today(store)
    except DatabaseError:  # a finding of _database
        return
    is_spent = 0 < budget <= used
    message = f"learning has used {used:,} tokens today (UTC); {allowed}{', so work waits' if is_spent else ''}"
    remedy = f"playbook config {project_env.BUDGET} {2 * budget}" if is_spent else ""
    yield Finding("spending", NOTE if is_spent or not budget else OK, message, remedy)


def _holdout(url: str, folder: str) -> Iterator[Finding]:
    try:
        share = settings.holdout()
    except SettingError as error:
        yield Finding("holdout", BROKEN, f"{error} It counts as 0", f"playbook config {settings.HOLDOUT} --unset")
        return
    if share:
        message = f"{share:.4g} of the sessions are shown nothing ({settings.HOLDOUT}), to compare them with the others"
        yield Finding("holdout", NOTE, message, "playbook stats")


def _mcp(url: str, folder: str) -> Iterator[Finding]:
    mode, source, unheard = registration.mcp_choice(folder)
    name = registration.MCP_WRITES
    if mode == "live":
        message = f"what a session writes by MCP counts at once, without a review ({name} in {source})"
        yield Finding("mcp", NOTE, message, f"playbook config {name} --unset")
    if unheard:
        told = f"{', '.join(unheard)} asks that what a session writes by MCP counts at once; only you can say that"
        yield Finding("mcp", NOTE, told)


def _diagnostics(url: str, folder: str) -> Iterator[Finding]:
    flag = diagnostics.flag_of(folder)
    if diagnostics.is_flag_brought(folder):
        message = f"{flag} is in git's index, so it switches nothing on; to have diagnostics, take it out of there"
        yield Finding("diagnostics", NOTE, message, f"git -C {quote(folder)} rm --cached .claude/diagnostic_mode")


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


# The hooks, run with a made-up event as Claude Code would, and timed beside a bare interpreter.


_Judge = Callable[[bytes, str], tuple[str, str]]  # of what a hook printed, and of what it wrote in its log


def _hooks(url: str, folder: str) -> Iterator[Finding]:
    """Run inject and remind on the user's own database, where they record nothing, as the session has no id; enqueue on
    a database and a project of its own."""
    programs, silence = install.programs(folder), _silence(project_env.database_url(folder), folder)
    event = {"hook_event_name": "SessionStart", "source": "startup", "cwd": folder, "transcript_path": "s.jsonl"}
    here = {"CLAUDE_PROJECT_DIR": folder}
    yield _try(programs, "inject", event, here, lambda output, log: _judge_inject(output, log, silence))
    # An older installation has no such hook; its events are told above.
    if os.path.exists(os.path.join(programs.hooks_folder, "remind.py")):
        event = {"hook_event_name": "UserPromptSubmit", "prompt": _PROMPT, "cwd": folder, "transcript_path": "s.jsonl"}
        yield _try(programs, "remind", event, here, _judge_remind)
    with tempfile.TemporaryDirectory(prefix="playbook-doctor-") as made:
        project, transcript = os.path.join(made, "project"), os.path.join(made, "transcript.jsonl")
        os.mkdir(project)
        database = os.path.join(made, "config", "playbook", "playbook.db")
        event = {
            "hook_event_name": "SessionEnd", "reason": "other", "session_id": _SESSION, "cwd": project,
            "transcript_path": transcript,
        }  # fmt: skip
        elsewhere = {
            "CLAUDE_CONFIG_DIR": os.path.join(made, "config"), "CLAUDE_PROJECT_DIR": project,
            "PLAYBOOK_DB_URL": database, "PLAYBOOK_NO_SETUP": "1",
        }  # fmt: skip
        with open_store(settings.database_url(database)) as store:
            yield _try(programs, "enqueue", event, elsewhere, lambda output, log: _judge_enqueue(output, log, store))


def _silence(url: str, folder: str) -> str:
    """Why a session in *folder* is shown nothing, where that is as it should be; `""` where it should be shown some."""
    path = settings.sqlite_file(url)
    if path is None:
        return "the database is on a server"
    if at_hand.loss_of(path) or not os.path.exists(path):
        return "" if at_hand.loss_of(path) else "there is no database yet"
    with suppress(DatabaseError), open_store(url) as store:
        project = Project.in_folder(store, folder)
        if is_ignored(project):
            return "this project is ignored"
        if read_playbook(Project.of_user(store)).points:
            return ""
        if find_membership(project) is not None:
            replica = team.read_status(project, asks=False).replica
            return "" if replica and replica.points else "the team's playbook is empty, or not here yet"
        return "" if read_playbook(project).points else "the playbook is empty"
    return ""


def _judge_inject(output: bytes, log: str, silence: str) -> tuple[str, str]:
    """What the hook did, in words, or `""` and what is wrong."""
    try:
        text = json.loads(output).get("hookSpecificOutput", {}).get("additionalContext", "")
    except (ValueError, AttributeError):
        return "", f"it printed {output[:80]!r}, which is no JSON object"
    if not text and (log or not silence):
        return "", f"it shows no playbook: {log or 'the database is gone, or can not be read'}"
    if not text:
        return f"shows nothing, as {silence}", ""
    names = re.findall(r"^\[([^\]]+)\] helpful=", text, re.MULTILINE)
    own = sum(map(is_users_name, names))
    limit = prompt_text.CLIENT_LIMIT_UNITS
    points = ("1 point" if len(names) == 1 else f"{len(names)} points") + f", {own} of your own," * bool(own)
    used = f"shows {points} in {prompt_text.utf16_units(text):,} of {limit:,} characters"
    return ("", f"it {used}, but: {log}") if log else (used, "")


def _judge_remind(output: bytes, log: str) -> tuple[str, str]:
    try:
        is_object = isinstance(json.loads(output), dict)
    except ValueError:
        is_object = False
    problem = log if is_object else f"it printed {output[:80]!r}, which is no JSON object"
    return "" if problem else "looks for what fits a prompt, an error or a subagent", problem


def _judge_enqueue(output: bytes, log: str, store: Store) -> tuple[str, str]:
    if output:
        return "", f"it printed {output[:80]!r}, where it must say nothing"
    if log:
        return "", log
    is_queued = [job.session_id for job in queue.list_jobs(store)] == [_SESSION]
    return ("notes a session's end", "") if is_queued else ("", "it left no job")


def _try(programs: install.Programs, hook: str, event: object, variables: Mapping[str, str], judge: _Judge) -> Finding:
    with tempfile.TemporaryDirectory(prefix="playbook-doctor-") as logs:
        return _try_with(logs, programs, hook, event, variables, judge)


def _try_with(
    logs: str, programs: install.Programs, hook: str, event: object, variables: Mapping[str, str], judge: _Judge
) -> Finding:
    # As registered for the user, which always answers; the worker is a program that does nothing. What it has to say
    # goes into a log of its own: it is judged, and isn't found again by the next doctor.
    python, log = programs.python, os.path.join(logs, "hooks.log")
    command = [python, "-I", "-S", os.path.join(programs.hooks_folder, f"{hook}.py"), "user", "/bin/true", logs]
    environment = {name: value for name, value in os.environ.items() if name != "PLAYBOOK_DISABLE"} | dict(variables)

    def run(command: list[str], payload: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(command, input=payload, env=environment, capture_output=True, timeout=_TIMEOUT_S)

    times_ms, bare_ms = [], []
    for _ in range(_RUNS):
        started = time.perf_counter()
        done = run(command, json.dumps(event).encode())
        ended = time.perf_counter()
        run([python, "-I", "-S", "-c", "pass"])
        times_ms.append((ended - started) * 1000)
        bare_ms.append((time.perf_counter() - ended) * 1000)
        if done.returncode or done.stderr:
            summary, problem = "", f"it ended with exit code {done.returncode} and said {done.stderr[:200]!r}"
        else:
            summary, problem = judge(done.stdout, _said(log))
        if problem:
            break
    speed = f"{statistics.median(times_ms):.0f} ms, a bare interpreter {statistics.median(bare_ms):.0f} ms"
    if problem:
        return Finding(hook, BROKEN, f"{problem} ({speed})", "playbook db check")
    return Finding(hook, OK, f"{summary}; {speed}")


def _said(log: str) -> str:
    """What a hook has written into *log*, without times and its name."""
    try:
        lines = projects.read_plain(log).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    said = " ".join(dict.fromkeys(line.partition(": ")[2] for line in lines))
    return said.removesuffix(" run: playbook doctor").removesuffix(" The session went on without the playbook;")
