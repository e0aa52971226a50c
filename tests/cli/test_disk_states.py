"""States of the disk: an explanation instead of a traceback, and reading works."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from playbook_db.cli.main import EXIT_KNOWN_ERROR
from playbook_db.services import maintenance
from playbook_db.services.project import Project
from playbook_db.services.sharing import mirror
from playbook_db.store.engine import open_store
from tests.claude_code import running
from tests.cli.conftest import Playbook

_READS = (["list"], ["render"], ["show", "oth-001"], ["export"], ["log"], ["stats"], ["at", "1"])


def _a_pipe(path: Path) -> None:
    path.parent.mkdir(parents=True)
    os.mkfifo(path)


def _below_a_file(path: Path) -> None:
    path.parent.parent.mkdir()
    path.parent.touch()


@pytest.mark.nightly(after=5)
@pytest.mark.parametrize("state", [_a_pipe, _below_a_file])
@pytest.mark.parametrize("command", [["list"], ["log"], ["add", "a point"], ["init", "--yes"], ["work"]], ids=" ".join)
def test_obstacle_at_the_database_path_is_named(
    playbook: Playbook, home: Path, state: Callable[[Path], None], command: list[str]
) -> None:
    database = home / ".claude" / "playbook" / "playbook.db"
    state(database)

    done = playbook(*command)

    assert done.code == EXIT_KNOWN_ERROR
    assert str(database.parent) in done.err
    assert "Traceback" not in done.err
    assert "Move" in done.err or command[0] in ("log", "work")


_MOUNTS = {
    "read-only": 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0"',
    "full": 'mount -t tmpfs -o size=1m tmpfs "$0" && cp -a "$0.kept/." "$0" && ! cat /dev/zero 2>&- > "$0/filler"',
}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="NOT HERE: no unshare here, so nothing can be mounted")
@pytest.mark.parametrize("there", ["a log", "a changed mirror"])
@pytest.mark.parametrize(("state", "why"), [("read-only", "file system is read-only"), ("full", "disk is full")])
def test_reading_works_on_a_full_or_read_only_disk(folder: Path, home: Path, state: str, why: str, there: str) -> None:
    """Other commands say why they can't write."""
    client = running.a_client(folder, home, is_patient=True)
    client.add("use uv for everything")
    backup = maintenance.take(f"sqlite:///{client.database}", str(folder / "taken.db")).path
    if there == "a log":
        client.enqueue()
    else:
        with open_store(f"sqlite:///{client.database}") as store:
            mirror.switch(Project.in_folder(store, str(folder)), on=True)
        (folder / ".claude" / "playbook.json").write_text('{"key_points": ["from git"]}')
    shutil.copytree(home, f"{home}.kept")
    namespace = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-m", "-U", "-r"]

    def run(*command: str, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [*namespace, "sh", "-c", f'{_MOUNTS[state]} && exec "$@"', str(home), sys.executable, *command],
            input=stdin, cwd=folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if "mount: " in done.stderr or "unshare: " in done.stderr:
            pytest.skip(f"NOT HERE: nothing can be mounted here: {done.stderr}")
        return done

    session = run("-I", "-S", "-c", running.patient("inject"), "user", stdin=json.dumps(client.start()))
    assert session.returncode == 0, session.stderr
    assert "use uv for everything" in session.stdout
    for command in _READS:
        done = run("-m", "playbook_db", *command)
        assert done.returncode == 0, done.stderr
        assert "use uv for everything" in done.stdout or command == ["stats"]
        assert "was not synced" in done.stderr or there == "a log" or command not in (["list"], ["export"])
    for command in (["add", "another"], ["restore-backup", backup, "--yes"]):
        done = run("-m", "playbook_db", *command)
        assert done.returncode == EXIT_KNOWN_ERROR, done.stderr
        assert "Traceback" not in done.stderr
        assert why in done.stderr or "Read-only file system" in done.stderr


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(not running.are_permissions_binding(), reason="NOT HERE: file permissions bind nobody here")
def test_reading_works_in_a_read_only_folder(folder: Path, home: Path) -> None:
    """A session's start, doctor and the failing command say what helps."""
    client = running.a_client(folder, home, is_patient=True)
    client.add("use uv for everything")
    client.data.chmod(0o500)
    try:
        done = [
            subprocess.run(
                [sys.executable, "-m", "playbook_db", *command],
                cwd=folder, capture_output=True, text=True, check=False, preexec_fn=running.without_roots_powers,
            )
            for command in (["list"], ["log"], ["add", "another"], ["doctor"])
        ]  # fmt: skip
        session = client.inject(before=running.without_roots_powers)
    finally:
        client.data.chmod(0o700)

    assert [each.returncode for each in done] == [0, 0, EXIT_KNOWN_ERROR, 1]
    assert all("use uv" in each for each in (done[0].stdout, done[1].stdout, session.context))
    assert "Traceback" not in done[2].stderr
    assert session.message.startswith("playbook: nothing of this session can be kept: ")
    assert "This is a bug" not in done[3].stdout
    for text in (session.message, done[2].stderr, done[3].stdout):
        assert f"chmod -R u+rwX {client.data}" in text


@pytest.mark.nightly
@pytest.mark.slow
def test_log_of_another_database_is_not_lost(folder: Path, home: Path) -> None:
    """The file is refused until somebody moves the log."""
    client = running.a_client(folder, home, is_patient=True)
    client.add("from the copy")
    copy = client.database.read_bytes()
    client.enqueue()
    log = Path(f"{client.database}-wal")
    kept = log.read_bytes()
    client.database.write_bytes(copy[:4096] + bytes(len(copy) - 4096))
    os.utime(client.database, (log.stat().st_atime + 9, log.stat().st_mtime + 9))
    command = [sys.executable, "-m", "playbook_db", "list"]

    refused = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    message = client.inject().message
    assert (refused.returncode, log.read_bytes()) == (EXIT_KNOWN_ERROR, kept)
    for text in (refused.stderr, message):
        assert f"mv {log} {log}.former" in text

    client.database.write_bytes(copy)
    log.rename(f"{log}.former")
    assert "from the copy" in subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("way", ["PYTHONIOENCODING=ascii", "closed", "full"])
def test_output_errors_undo_no_change(folder: Path, home: Path, way: str) -> None:
    """On a full device, the error says that the playbook was changed."""
    running.a_client(folder, home).add("caf\u00e9 \u2713")
    ends = {"closed": ">&-", "full": ">/dev/full"}
    ours = f"{shlex.quote(sys.executable)} -m playbook_db"
    shell = f"exec env {way} {ours}" if "=" in way else f"exec {ours}"

    def run(arguments: str) -> "subprocess.CompletedProcess[str]":
        command = f"{shell} {arguments} {ends.get(way, '')}"
        return subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, encoding="latin1")

    for arguments in ("list", "add another"):
        done = run(arguments)
        assert done.returncode == (EXIT_KNOWN_ERROR if way == "full" else 0), done.stderr
        assert "Traceback" not in done.stderr
        assert ("is changed already" in done.stderr) is (way == "full")
