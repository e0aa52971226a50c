"""Plain states of the disk: words instead of a traceback, and what can be read is read."""

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from playbook_db.cli import main as door
from playbook_db.cli.main import EXIT_BUG, EXIT_KNOWN_ERROR
from playbook_db.services import maintenance
from playbook_db.services.project import Project
from playbook_db.services.sharing import mirror
from playbook_db.store.engine import open_store
from tests.claude_code import running
from tests.cli.conftest import Playbook
from tests.databases import put_empty_database
from tests.transcripts import TranscriptBuilder

_READS = (["list"], ["list", "--json"], ["render"], ["show", "oth-001"], ["export"], ["log"], ["stats"], ["at", "1"])
_COMMANDS = (*_READS, ["add", "a point"], ["init", "--yes"], ["work"], ["db", "check"], ["db", "upgrade"], ["backup"])
_OF_A_FILE = (["restore-backup", "FILE", "--yes"], ["learn", "FILE"])


@pytest.fixture
def data(home: Path) -> Path:
    """Where the data folder is, or would be."""
    return home / ".claude" / "playbook"


def _a_pipe(path: Path) -> None:
    path.parent.mkdir(parents=True)
    os.mkfifo(path)


def _a_folder(path: Path) -> None:
    path.mkdir(parents=True)


def _below_a_file(path: Path) -> None:
    path.parent.parent.mkdir()
    path.parent.touch()


def _below_a_file_of_claude_s_name(path: Path) -> None:
    path.parent.parent.touch()


@pytest.mark.nightly(after=8)
@pytest.mark.parametrize("state", [_a_pipe, _a_folder, _below_a_file, _below_a_file_of_claude_s_name])
@pytest.mark.parametrize("command", [*_COMMANDS, *_OF_A_FILE], ids=" ".join)
def test_a_place_that_can_hold_no_database_is_told(
    playbook: Playbook,
    data: Path,
    state: Callable[[Path], None],
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exit code 1, in no time, and what is in the way is named."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test-key")
    put_empty_database(tmp_path / "file")
    state(data / "playbook.db")

    told = playbook(*[str(tmp_path / "file") if word == "FILE" else word for word in command])

    assert told.code == EXIT_KNOWN_ERROR
    assert str(data.parent) in told.err
    assert "Traceback" not in told.err
    if command[0] in ("list", "add", "init", "learn") or (
        command[0] == "restore-backup" and state in (_a_pipe, _a_folder)
    ):
        assert "Move" in told.err


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), EXIT_KNOWN_ERROR),
        (PermissionError(errno.EACCES, "Permission denied", "/a/file"), EXIT_KNOWN_ERROR),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "/a/file"), EXIT_BUG),
        (OSError(errno.EBADF, "Bad file descriptor"), EXIT_BUG),
    ],
)
def test_a_state_of_the_disk_is_no_bug(
    playbook: Playbook, monkeypatch: pytest.MonkeyPatch, error: OSError, code: int
) -> None:
    """Whoever comes upon it; what only a mistake of ours can bring about keeps its traceback."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(door.cli, "main", fail)

    told = playbook("list")

    assert told.code == code
    assert str(error.strerror) in told.err
    assert str(error.filename or "") in told.err
    assert ("Traceback" in told.err) is (code == EXIT_BUG)


_SHOWN = """
import json, os, subprocess, sys
state, home, folder, root = sys.argv[1:]
if state == "read-only":
    subprocess.run(["mount", "--bind", home, home], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", home], check=True)
else:
    subprocess.run(["cp", "-a", home, home + ".kept"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", home], check=True)
    subprocess.run(["cp", "-a", home + ".kept/.", home], check=True)
    with open(home + "/filler", "wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass
sys.path.insert(0, root)
from tests.claude_code import running
from pathlib import Path
client = running.Client(Path(folder), Path(home, ".claude/playbook/playbook.db"), Path(home))
told = client.inject()
os.environ["PLAYBOOK_CLAUDE"] = str(Path(folder, "claude"))
ended = {"inject": [told.code, told.out.decode(), told.err.decode()]}
from playbook_db.cli.main import run
os.chdir(folder)
for command in json.load(sys.stdin):
    said = [os.memfd_create("stdout"), os.memfd_create("stderr")]
    process = os.fork()  # what all import takes longer than most of them
    if not process:
        os.dup2(said[0], 1)
        os.dup2(said[1], 2)
        sys.argv = ["playbook", *command]
        run()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    ended[" ".join(command)] = [code, *(os.pread(each, 1_000_000, 0).decode() for each in said)]
print(json.dumps(ended))
"""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("state", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)], ids=["pipe", "endless"])
def test_a_template_that_never_ends_is_told(
    playbook: Playbook, folder: Path, home: Path, state: Callable[[Path], None]
) -> None:
    """In no time, and without filling the memory."""
    playbook("add", "a point")
    own = home / ".claude" / "prompts" / "playbook.txt"
    own.parent.mkdir()
    state(own)

    told = subprocess.run(
        ["/bin/sh", "-c", 'ulimit -v 2000000; exec "$0" -m playbook_db render', sys.executable],
        cwd=folder, capture_output=True, text=True, timeout=300,
    )  # fmt: skip

    assert told.returncode == EXIT_KNOWN_ERROR
    assert f"{own} can't be read" in told.stderr


_CLAUDE = """#!/bin/sh
/bin/cat > /dev/null
echo '{"type": "result", "is_error": false, "result": "{}"}'
"""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("there", ["a file", "a log", "a changed mirror"])
@pytest.mark.parametrize(("state", "why"), [("read-only", "file system is read-only"), ("full", "disk is full")])
def test_on_a_disk_that_takes_nothing_what_is_there_is_read(
    folder: Path, home: Path, state: str, why: str, there: str
) -> None:
    """By the hook and every command that only looks, as the database is one file, as a hook left it with a log, and
    where a mirror waits; the others say why they can't."""
    client = running.a_client(folder, home, is_patient=True)
    client.add("use uv for everything")
    if there == "a log":
        client.enqueue()
    elif there == "a changed mirror":
        with open_store(f"sqlite:///{client.database}") as store:
            mirror.switch(Project.in_folder(store, str(folder)), on=True)
        (folder / ".claude" / "playbook.json").write_text('{"key_points": ["from git"]}')
    assert (client.data / "playbook.db-wal").exists() is (there == "a log")
    backup = maintenance.take(f"sqlite:///{client.database}", str(folder / "taken.db")).path
    session = TranscriptBuilder("s-1")
    session.user("mend the bug")
    learn, restore = ["learn", session.write(folder / "s-1.jsonl")], ["restore-backup", backup, "--yes"]
    (folder / "claude").write_text(_CLAUDE)
    (folder / "claude").chmod(0o755)
    namespace = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-m", "-U", "-r"]
    if shutil.which("unshare") is None:
        pytest.skip("NOT HERE: no unshare here, so nothing can be mounted")
    writes = [["add", "another"], learn, restore]
    commands = (*_READS, ["sql", "SELECT text FROM live_key_points"], ["jobs"], ["db", "check"], *writes)

    done = subprocess.run(
        [*namespace, sys.executable, "-c", _SHOWN, state, str(home), str(folder), str(running.ROOT)],
        input=json.dumps(commands), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if "CalledProcessError" in done.stderr and "'mount'" in done.stderr:
        pytest.skip(f"NOT HERE: nothing can be mounted here: {done.stderr[-300:]}")

    ended = json.loads(done.stdout)
    for command in map(" ".join, writes):
        code, out, err = ended.pop(command)
        assert (code, "Traceback" in err) == (EXIT_KNOWN_ERROR, False), (command, err)
        assert why in err or "Read-only file system" in err
    for command, (code, out, err) in ended.items():
        is_noted = "was not synced" in err
        is_empty = command == "jobs" and "no jobs yet" in err
        assert (code, is_noted or is_empty or not err) == (0, True), err
        assert is_noted is (there == "a changed mirror") or command not in ("list", "export")
        assert command in ("stats", "jobs", "db check") or "use uv for everything" in out, command


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(not running.are_permissions_binding(), reason="NOT HERE: file permissions bind nobody here")
def test_in_a_folder_that_may_not_be_written_what_is_there_is_read(folder: Path, home: Path) -> None:
    """As on a disk that takes nothing. A session's start, doctor and the command that fails say why and what helps."""
    client = running.a_client(folder, home, is_patient=True)
    client.add("use uv for everything")
    client.data.chmod(0o500)
    try:
        told = [
            subprocess.run(
                [sys.executable, "-m", "playbook_db", *command],
                cwd=folder, capture_output=True, text=True, check=False, preexec_fn=running.without_roots_powers,
            )
            for command in (["list"], ["log"], ["add", "another"], ["doctor"])
        ]  # fmt: skip
        session = client.inject(before=running.without_roots_powers)
    finally:
        client.data.chmod(0o700)

    assert [each.returncode for each in told] == [0, 0, EXIT_KNOWN_ERROR, 1]
    assert all("use uv" in each for each in (told[0].stdout, told[1].stdout, session.context))
    assert "Traceback" not in told[2].stderr
    assert session.message.startswith("playbook: nothing of this session can be kept: ")
    assert "This is a bug" not in told[3].stdout
    for text in (session.message, told[2].stderr, told[3].stdout):
        assert f"chmod -R u+rwX {client.data}" in text


@pytest.mark.nightly
@pytest.mark.slow
def test_a_file_put_beside_the_log_of_another_is_refused_and_nothing_is_lost(folder: Path, home: Path) -> None:
    """By each command that reads and by the hook; once the log is moved away, the new file is read."""
    client = running.a_client(folder, home, is_patient=True)
    client.add("from the copy")
    copy = client.database.read_bytes()
    client.enqueue()
    log = Path(f"{client.database}-wal")
    kept = log.read_bytes()
    client.database.write_bytes(copy[:4096] + bytes(len(copy) - 4096))
    os.utime(client.database, (log.stat().st_atime + 9, log.stat().st_mtime + 9))
    command = [sys.executable, "-m", "playbook_db", "list"]

    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    message = client.inject().message
    assert (told.returncode, log.read_bytes()) == (EXIT_KNOWN_ERROR, kept)
    for text in (told.stderr, message):
        assert f"mv {log} {log}.former" in text

    client.database.write_bytes(copy)
    log.rename(f"{log}.former")
    assert "from the copy" in subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("way", ["PYTHONIOENCODING=ascii", "PYTHONIOENCODING=latin1", "closed", "full"])
def test_output_fails_no_command_that_did_its_work(folder: Path, home: Path, way: str) -> None:
    """A character that the encoding lacks is escaped; on a full device the error says that the change was made."""
    running.a_client(folder, home).add("caf\u00e9 \u2713")
    ends = {"closed": ">&-", "full": ">/dev/full"}
    shell = f"exec env {way} {sys.executable} -m playbook_db" if "=" in way else f"exec {sys.executable} -m playbook_db"

    def run(arguments: str) -> "subprocess.CompletedProcess[str]":
        command = f"{shell} {arguments} {ends.get(way, '')}"
        return subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, encoding="latin1")

    for arguments in ("list", "add another"):
        done = run(arguments)
        assert done.returncode == (EXIT_KNOWN_ERROR if way == "full" else 0), done.stderr
        assert "Traceback" not in done.stderr
        assert ("is changed already" in done.stderr) is (way == "full")
