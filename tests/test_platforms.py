"""One module knows the differences between systems, and refuses other systems in one sentence."""

import fcntl
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from playbook_db import files, platforms
from playbook_db.claude_code import plugin_env
from playbook_db.store.sqlite.sqlite_files import open_file
from tests.cli.conftest import Playbook, playbook  # noqa: F401 - a fixture

_ROOT = Path(platforms.__file__).parent
_ONE_SYSTEMS = re.compile(
    r"\bsys\.platform\b|\bimport platform\b|\bos\.name\b|\bfcntl\b|\bmsvcrt\b|\bwinreg\b|/dev/fd|[\"']/proc|\bsetsid\b"
    r"|\bos\.(fork|forkpty|uname|umask|killpg|getuid|geteuid|fchmod|fchown|O_DIRECTORY|O_NOFOLLOW|sched_\w+)\b"
)


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 matches that wrong, so private keys were not masked; use an atomic group."""
    patterns = [*_ROOT.rglob("*.py"), *_ROOT.rglob("*.toml")]
    repeated = {str(path) for path in patterns if re.search(r"\)(?:\{+[0-9,]+\}+|[*+?])\+", path.read_text("utf-8"))}

    assert repeated == set()


def test_one_module_knows_the_systems() -> None:
    code = [*_ROOT.rglob("*.py"), *(_ROOT.parent / "hooks").glob("*.py")]
    there = {path.name for path in code if _ONE_SYSTEMS.search(path.read_text(encoding="utf-8"))}

    assert there == {"platforms.py"}


def test_windows_gets_one_sentence(
    playbook: Playbook,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(platforms, "SYSTEM", "win32")

    for arguments in ([], ["--help"], ["list"], ["web"]):
        done = playbook(*arguments)
        assert (done.code, done.out) == (1, "")
        assert "On Windows use it within WSL" in done.err
        assert "Traceback" not in done.err
    assert plugin_env.main(["--status"]) == 1
    assert "within WSL" in capsys.readouterr().out


def test_error_names_another_owner_and_the_command(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    data, elsewhere = tmp_path / "playbook", tmp_path / "my file.db"
    data.mkdir()
    elsewhere.touch()
    for path in (data, elsewhere):
        os.chown(path, 12345, 12345)

    assert platforms.why_unwritable(str(data), str(data)) == (
        f"{data} belongs to user 12345, and you can't write it",
        f'sudo chown -R "$(id -un)" {data}',
    )
    assert platforms.why_unwritable(str(elsewhere), str(data))[1] == f"sudo chown \"$(id -un)\" '{elsewhere}'"


@pytest.mark.slow
def test_windows_sentence_needs_no_missing_module() -> None:
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['fcntl', 'pwd', 'grp', 'termios', 'resource']));"
        "from playbook_db import platforms; platforms.SYSTEM = 'win32';"
        "from playbook_db.cli.main import main; sys.exit(main(['list']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("playbook: playbook-db runs on Linux and macOS.")


def test_macos_syncs_files_fully(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the file system refuses that request, fsync must do."""
    asked: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: asked.append("fsync"))
    monkeypatch.setattr(fcntl, "fcntl", lambda handle, command: asked.append(command))

    monkeypatch.delattr(fcntl, "F_FULLFSYNC", raising=False)
    files.to_disk(str(tmp_path))
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", "full", raising=False)
    files.to_disk(str(tmp_path))

    def refused(handle: int, command: str) -> None:
        raise OSError(45, "Operation not supported")

    monkeypatch.setattr(fcntl, "fcntl", refused)
    files.to_disk(str(tmp_path))
    assert asked == ["fsync", "full", "fsync"]


def test_macos_syncs_the_database_fully(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "some.db").close()

    with closing(open_file(str(tmp_path / "some.db"), "write")) as connection:
        assert connection.execute("PRAGMA checkpoint_fullfsync").fetchone() == (1,)


def test_folder_is_spelled_as_on_the_disk(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    playbook: Playbook,  # noqa: F811
) -> None:
    """On macOS, `~/shop` and `~/Shop` are one folder with one playbook."""
    for name in ("other case", "Café"):
        (tmp_path / name).mkdir()
    spelled = os.fsencode(tmp_path / "Café") + b"\0"
    assert platforms.as_spelled("other case") == "other case"

    monkeypatch.setattr(fcntl, "F_GETPATH", 50, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda handle, command, buffer: spelled.ljust(len(buffer), b"\0"))
    assert platforms.as_spelled(str(tmp_path / "nothing here")) == str(tmp_path / "nothing here")
    assert f"of {tmp_path}/Café\n" in playbook("--project", str(tmp_path / "other case"), "add", "boats float").out


@pytest.mark.slow
def test_lock_has_all_bytes_or_none(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(20))
    with open(path, "r+b") as ours, _other_holds(path, (10, 5)):
        assert not platforms.lock_bytes(ours, (0, 5), (10, 5))
        with _other_holds(path, (0, 5)):
            assert not platforms.lock_bytes(ours, (0, 5))
    with open(path, "r+b") as ours:
        assert platforms.lock_bytes(ours, (0, 5), (10, 5))


@contextmanager
def _other_holds(path: Path, bytes_locked: tuple[int, int]) -> Iterator[None]:
    """Another process has locked the bytes."""
    code = f"""
from playbook_db import platforms
with open({str(path)!r}, "r+b") as file:
    print(platforms.lock_bytes(file, {bytes_locked}), flush=True)
    input()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        yield
        process.communicate("\n")
