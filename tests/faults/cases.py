"""Commands, hooks and the worker, during which a call fails or the power goes.

Each case prepares a place and does one thing in it; `state` shows what changed. All run in forks of one process.
"""

import contextlib
import io
import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playbook_db.claude_code import worker
from playbook_db.claude_code.hooks import enqueue, spool
from playbook_db.cli.main import main as run_command
from playbook_db.llm import choose
from playbook_db.llm.model import Prompt, Reply, Usage
from tests.transcripts import TranscriptBuilder

_MIRROR = "project/.claude/playbook.json"
FROZEN = Path(__file__).parents[1] / "frozen" / "0008.db"
POINTS = ("use ruff for linting", "run the tests first", "never push to main", "answer in English", "keep it small")
SAID = "Please run the linter with ruff before each commit."
_OTHERS = [
    {"name": "oth-001", "text": "use ruff for all linting", "helpful": 3, "harmful": 0},
    {"name": "oth-009", "text": "from elsewhere", "helpful": 1, "harmful": 0},
]
_OPERATIONS = [
    {"type": "ADD", "section": "OTHERS", "text": "write a changelog"},
    {"type": "UPDATE", "target_id": "oth-002", "text": "run all tests first"},
    {"type": "DELETE", "target_id": "oth-003"},
]
FILES = {
    "batch.json": {"operations": _OPERATIONS}, "other.json": {"version": "1.0", "sections": {"OTHERS": _OTHERS}},
}  # fmt: skip


class Place:
    """A folder with a home, a project and files that commands read."""

    def __init__(self, root: Path) -> None:
        self.root, self.home, self.project = root, root / "home", root / "project"
        self.data = self.home / ".claude" / "playbook"
        self.database, self.transcript = self.data / "playbook.db", root / "session.jsonl"

    def make_folders(self) -> None:
        for folder in (self.home / ".claude", self.project / ".claude"):
            folder.mkdir(parents=True)

    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "CLAUDE_PROJECT_DIR": str(self.project),
            "PATH": os.environ.get("PATH", os.defpath),
            "PLAYBOOK_NO_SETUP": "1",
            "PLAYBOOK_ACTOR": "ann",
            **{name: value for name, value in os.environ.items() if name.startswith(("FAULTS_", "LD_"))},
        }


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Case:
    """`watched` are files that `act` writes outside the database. A second `act` ends with `again`, or does nothing at
    once after a fault if it `waits`."""

    name: str
    prepare: Callable[[Place], None]
    act: Callable[[Place], Ended]
    watched: tuple[str, ...] = ()
    again: int = 0
    waits: bool = False


class ScriptedModel:
    """Votes *tag* on a point and adds the *text*, on words that the user *said*."""

    def __init__(self, name: str = "oth-001", tag: str = "helpful", *, text: str = SAID, said: str = SAID) -> None:
        vote = {"name": name, "tag": tag, "rationale": "it was followed", "evidence": [said]}
        lesson = {"kind": "worked", "text": said, "cause": "", "fix": "", "applies_to": "", "evidence": [said]}
        addition = {"type": "ADD", "section": "OTHERS", "text": text, "evidence": [said]}
        self._reflection = {"analysis": "It went well.", "bullet_tags": [vote], "lessons": [lesson]}
        self._curation = {"reasoning": "the user asked for it", "operations": [addition]}

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        text = prompt.text
        if "<notes>" in text:
            numbers = [int(number) for number in re.findall(r'(?m)^(\d+)\. "', text)]
            marks = json.dumps({"risky": [], "safe": numbers})
            return Reply(marks, None, False, Usage(0, 0, 0, 0.0), "scripted", 5)
        is_reflector = "bullet_tags" in f"{prompt.system}{prompt.text}{prompt.schema}"
        answer = self._reflection if is_reflector else self._curation
        return Reply(json.dumps(answer), None, False, Usage(1000, 100, 0, 0.01), "scripted", 5)


def command(*arguments: str, place: Place, stdin: str = "") -> Ended:
    """Run `playbook ARGUMENT ...` in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    with redirect_stdout(out), redirect_stderr(err), contextlib.chdir(place.project):
        code = run_command([*arguments])
    return Ended(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def hook(name: str, place: Place, transcript: Path | None = None) -> Ended:
    """Run the hook of a session's end in a fork of this process. It starts no worker."""
    path = transcript or place.transcript
    event = {"session_id": path.stem, "transcript_path": str(path), "hook_event_name": name, "reason": "exit"}
    read, write = os.pipe()
    os.write(write, json.dumps({**event, "cwd": str(place.project)}).encode())
    os.close(write)
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            os.dup2(read, 0)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            sys.stdin, sys.argv = open(0, encoding="utf-8", closefd=False), ["enqueue", "user", "/bin/true"]  # noqa: SIM115
            enqueue.DEADLINE_S = 300.0
            enqueue.main()
        os._exit(70)
    os.close(read)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    noted = [path.read_text("utf-8") for path in sorted((place.data / "logs").glob("*"))]
    return Ended(code, "", "".join(noted))


def check(place: Place) -> str:
    """What `db check` finds wrong, if anything. A database may be missing or not upgraded yet."""
    if not place.database.exists():
        return ""
    for backup in (place.data / "backups").glob("*.db"):
        with contextlib.closing(sqlite3.connect(f"file:{backup}?mode=ro", uri=True)) as connection:
            try:
                connection.execute("SELECT count(*) FROM key_points")
                (found,) = connection.execute("PRAGMA integrity_check").fetchone()
            except sqlite3.DatabaseError as error:
                found = str(error)
            if found != "ok":
                return f"the backup {backup} is no playbook: {found}"
    ended = command("db", "check", place=place)
    is_not_yet = "is empty: it contains no playbook" in ended.out or "; this playbook-db needs 00" in ended.out
    return "" if ended.code == 0 or is_not_yet else ended.out + ended.err


def state(place: Place, case: Case) -> dict[str, Any]:
    """The playbook, its history, the jobs, and the files of *case*."""
    seen: dict[str, Any] = {"jobs": kept_jobs(place)}
    if place.database.exists():
        for arguments in (("export",), ("log", "--json")):
            ended = command(*arguments, place=place)
            seen[arguments[0]] = _without_times(json.loads(ended.out)) if ended.code == 0 else ended.err
    for name in case.watched:
        path = place.root / name
        seen[name] = _without_times(json.loads(path.read_bytes())) if path.exists() else None
    return seen


def kept_jobs(place: Place) -> list[str]:
    """The transcripts of all jobs in the database and the spool."""
    kept = {json.loads(Path(path).read_bytes())["transcript_path"] for path in spool.waiting()}
    jobs = command("jobs", "--all", "--json", place=place) if place.database.exists() else Ended(1, "", "")
    return sorted(kept | {job["transcript"] for job in json.loads(jobs.out)}) if jobs.code == 0 else sorted(kept)


def _without_times(value: Any) -> Any:
    """JSON without what differs between runs."""
    if isinstance(value, list):
        return [_without_times(each) for each in value]
    if isinstance(value, dict):
        names = ("time", "queued_at", "created_at", "last_updated", "started_at", "finished_at", "updated_at")
        return {name: _without_times(each) for name, each in value.items() if name not in names}
    return value


def write_transcript(path: Path, said: str, *, cites: str = "oth-001") -> None:
    """Write a session in which the user *said* this and the assistant cites a point."""
    builder = TranscriptBuilder(path.stem)
    builder.user(said)
    builder.assistant(f"I go by [{cites}]. Done.")
    path.write_text("\n".join(builder.lines) + "\n", encoding="utf-8")


def run(line: str, place: Place) -> Ended:
    """Run a command. {root} is the place's root, and what follows `add` is one argument."""
    arguments = line.replace("{root}", str(place.root)).split(" ", 1 if line.startswith("add ") else -1)
    return command(*arguments, place=place)


def _ok(ended: Ended) -> None:
    assert ended.code == 0, ended


def _lay_out(place: Place, *more: str) -> None:
    """A project with some points and a little history, after *more* commands."""
    place.make_folders()
    for name, content in FILES.items():
        (place.root / name).write_text(json.dumps(content), encoding="utf-8")
    for line in ("init", *(f"add {text}" for text in POINTS), "vote oth-001 helpful", *more):
        _ok(run(line, place))
    write_transcript(place.transcript, SAID)


def _with_old_database(place: Place) -> None:
    place.make_folders()
    place.data.mkdir(mode=0o700)
    shutil.copyfile(FROZEN, place.database)
    place.database.chmod(0o600)


def _with_settings(place: Place) -> None:
    _lay_out(place)
    given = {"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    (place.home / ".claude" / "settings.json").write_text(json.dumps(given, indent=2), encoding="utf-8")


def _without_database(place: Place) -> None:
    _lay_out(place)
    for path in place.data.glob("playbook.db*"):
        path.unlink()


def _with_spooled_job(place: Place) -> None:
    _without_database(place)
    _ok(hook("SessionEnd", place))
    _ok(run("init --new", place))


def work(place: Place) -> Ended:
    """Run the worker. Errors are in its log or in the job."""
    choose.find_model = lambda folder=None: ScriptedModel()
    with suppress(SystemExit):
        worker.main()
    log = place.data / "logs" / "worker.log"
    jobs = command("jobs", "--all", "--json", place=place)
    errors = "".join(str(job["error"] or "") for job in json.loads(jobs.out)) if jobs.code == 0 else jobs.err
    return Ended(0, "", errors + (log.read_text("utf-8") if log.exists() else ""))


def _learn(place: Place) -> Ended:
    choose.find_model = lambda folder=None: ScriptedModel()
    return command("learn", str(place.transcript), place=place)


def _case(
    name: str, act: str, *more: str, watched: tuple[str, ...] = (), again: int = 0, prepare: Any = _lay_out
) -> Case:
    """Run the command *act* after *more* commands."""
    return Case(name, lambda place: prepare(place, *more), lambda place: run(act, place), watched, again)


CASES = {
    case.name: case
    for case in (
        _case("vote", "vote oth-002 helpful"),
        Case("lesson", _lay_out, _learn),
        _case("batch", "apply {root}/batch.json", again=1),
        _case("undo", "undo"),
        _case("forget", "forget oth-004 --yes", again=1),
        _case("import", "import {root}/other.json"),
        _case("migrate", "db upgrade", prepare=_with_old_database),
        _case("backup", "backup"),
        _case("backup to a file", "backup {root}/kept.db", again=1),
        _case(
            "restore", "restore-backup {root}/kept.db --yes",
            "mirror on", "backup {root}/kept.db", "add a point that the backup lacks", watched=(_MIRROR,),
        ),
        Case("end of a session", _lay_out, lambda place: hook("SessionEnd", place)),
        Case("spool", _without_database, lambda place: hook("SessionEnd", place)),
        Case("worker", _with_spooled_job, work, waits=True),
        _case("mirror", "add what the mirror gets", "mirror on", watched=(_MIRROR,), again=1),
        _case("settings", "install", watched=("home/.claude/settings.json",), prepare=_with_settings),
    )
}  # fmt: skip
