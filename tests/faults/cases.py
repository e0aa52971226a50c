"""What is done while a call fails or the power goes: commands, hooks and the worker on one home and one project.

Each case prepares a folder, does one thing in it, and says what the folder holds, so that before and after can be told
apart. Everything runs in forks of one process that has imported it all.
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
BATCH = {
    "operations": [
        {"type": "ADD", "section": "OTHERS", "text": "write a changelog"},
        {"type": "UPDATE", "target_id": "oth-002", "text": "run all tests first"},
        {"type": "DELETE", "target_id": "oth-003"},
    ]
}


@dataclass(frozen=True)
class Place:
    """A folder with a home, a project and files that commands read."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def project(self) -> Path:
        return self.root / "project"

    @property
    def data(self) -> Path:
        return self.home / ".claude" / "playbook"

    @property
    def transcript(self) -> Path:
        return self.root / "session.jsonl"

    @property
    def database(self) -> Path:
        return self.data / "playbook.db"

    def make_folders(self) -> None:
        """An empty home and an empty project."""
        for folder in (self.home / ".claude", self.project / ".claude"):
            folder.mkdir(parents=True)

    def environ(self) -> dict[str, str]:
        """The variables of everything that runs here."""
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
    """How something ended, and what it said."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Case:
    """Something that is done: `prepare` lays out its place, `act` does it, `watched` are files that it writes beside
    the database, below the root. Another `act` may find it done already: `again` is what it ends with then. What
    `waits` after a fault is not done at once by another."""

    name: str
    prepare: Callable[[Place], None]
    act: Callable[[Place], Ended]
    watched: tuple[str, ...] = ()
    again: int = 0
    waits: bool = False


class ScriptedModel:
    """A model that votes *tag* on a point and adds the *text*, on words that the user *said*."""

    def __init__(self, name: str = "oth-001", tag: str = "helpful", *, text: str = SAID, said: str = SAID) -> None:
        vote = {"name": name, "tag": tag, "rationale": "it was followed", "evidence": [said]}
        lesson = {"kind": "worked", "text": said, "cause": "", "fix": "", "applies_to": "", "evidence": [said]}
        addition = {"type": "ADD", "section": "OTHERS", "text": text, "evidence": [said]}
        self._reflection = {"analysis": "It went well.", "bullet_tags": [vote], "lessons": [lesson]}
        self._curation = {"reasoning": "the user asked for it", "operations": [addition]}

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """The reflector's answer, the curator's, or that no text is risky."""
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
    """Run the hook of a session's end in a fork of this process, as Claude Code would; nobody is let start a worker."""
    path = transcript or place.transcript
    event = {
        "session_id": path.stem, "transcript_path": str(path), "cwd": str(place.project), "hook_event_name": name,
        "reason": "exit",
    }  # fmt: skip
    read, write = os.pipe()
    os.write(write, json.dumps(event).encode())
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
    """What `db check` finds wrong; `""` for nothing. A database that is not there yet, or not upgraded, is none."""
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
    """What can be seen of the place: the playbook, its history, the jobs, and the files of *case*."""
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
    """The transcripts that wait to be learned from, or were, in the database or the spool."""
    kept = {json.loads(Path(path).read_bytes())["transcript_path"] for path in spool.waiting()}
    jobs = command("jobs", "--all", "--json", place=place) if place.database.exists() else Ended(1, "", "")
    return sorted(kept | {job["transcript"] for job in json.loads(jobs.out)}) if jobs.code == 0 else sorted(kept)


def _without_times(value: Any) -> Any:
    """JSON without what differs from one run to the next."""
    if isinstance(value, list):
        return [_without_times(each) for each in value]
    if isinstance(value, dict):
        names = ("time", "queued_at", "created_at", "last_updated", "started_at", "finished_at", "updated_at")
        return {name: _without_times(each) for name, each in value.items() if name not in names}
    return value


def _lay_out(place: Place) -> None:
    """A project with some points and a little history."""
    place.make_folders()
    _ok(command("init", place=place))
    for text in POINTS:
        _ok(command("add", text, place=place))
    _ok(command("vote", "oth-001", "helpful", place=place))
    write_transcript(place.transcript, SAID)


def write_transcript(path: Path, said: str, *, cites: str = "oth-001") -> None:
    """The transcript of a session, named by its file, in which the user *said* this and the assistant cites a point."""
    builder = TranscriptBuilder(path.stem)
    builder.user(said)
    builder.assistant(f"I go by [{cites}]. Done.")
    path.write_text("\n".join(builder.lines) + "\n", encoding="utf-8")


def _with_files(place: Place) -> None:
    _lay_out(place)
    (place.root / "batch.json").write_text(json.dumps(BATCH), encoding="utf-8")
    entry = {"name": "oth-001", "text": "use ruff for all linting", "helpful": 3, "harmful": 0}
    others = [entry, {"name": "oth-009", "text": "from elsewhere", "helpful": 1, "harmful": 0}]
    (place.root / "other.json").write_text(json.dumps({"version": "1.0", "sections": {"OTHERS": others}}), "utf-8")


def _with_mirror(place: Place) -> None:
    _lay_out(place)
    _ok(command("mirror", "on", place=place))


def _with_backup(place: Place) -> None:
    _with_mirror(place)
    _ok(command("backup", str(place.root / "kept.db"), place=place))
    _ok(command("add", "a point that the backup lacks", place=place))


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
    _ok(command("init", "--new", place=place))


def work(place: Place) -> Ended:
    """Run the worker; what went wrong is in its log, or stands with the job."""
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


def says(*arguments: str) -> Callable[[Place], Ended]:
    """Run this command; {root} stands for the place's root."""
    return lambda place: command(*(each.format(root=place.root) for each in arguments), place=place)


def _ok(ended: Ended) -> None:
    assert ended.code == 0, ended


CASES = {
    case.name: case
    for case in (
        Case("vote", _lay_out, says("vote", "oth-002", "helpful")),
        Case("lesson", _lay_out, _learn),
        Case("batch", _with_files, says("apply", "{root}/batch.json"), again=1),
        Case("undo", _lay_out, says("undo")),
        Case("forget", _lay_out, says("forget", "oth-004", "--yes"), again=1),
        Case("import", _with_files, says("import", "{root}/other.json")),
        Case("migrate", _with_old_database, says("db", "upgrade")),
        Case("backup", _lay_out, says("backup")),
        Case("backup to a file", _lay_out, says("backup", "{root}/kept.db"), again=1),
        Case("restore", _with_backup, says("restore-backup", "{root}/kept.db", "--yes"), (_MIRROR,)),
        Case("end of a session", _lay_out, lambda place: hook("SessionEnd", place)),
        Case("spool", _without_database, lambda place: hook("SessionEnd", place)),
        Case("worker", _with_spooled_job, work, waits=True),
        Case("mirror", _with_mirror, says("add", "what the mirror gets"), (_MIRROR,), 1),
        Case("settings", _with_settings, says("install"), ("home/.claude/settings.json",)),
    )
}
