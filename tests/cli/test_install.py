"""install and uninstall, as a person sees them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from playbook_db.claude_code import registration
from playbook_db.claude_code.setup import install
from playbook_db.cli import setup
from tests.cli.conftest import Playbook


@pytest.fixture(autouse=True)
def _hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts hooks into a folder."""
    made = tmp_path / "hooks"
    made.mkdir()
    for hook, _ in registration.EVENTS.values():
        (made / f"{hook}.py").write_text("")
    monkeypatch.setattr(install, "hooks_folder", lambda: str(made))


def test_install_reports_its_changes(playbook: Playbook, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-not-a-real-key")
    monkeypatch.setenv("SHELL", "/bin/zsh")
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text("{}")

    first, second = playbook("install"), playbook("install")

    (backup,) = path.parent.glob("settings.json.before-playbook-*")
    assert (first.code, second.code, first.err) == (0, 0, "")
    for part in (str(path), str(backup), "SessionStart (inject)", "1,000,000 tokens a day"):
        assert part in first.out
    assert "learning asks claude-sonnet-5-5 at https://api.anthropic.com, key from ANTHROPIC_API_KEY\n" in first.out
    assert 'add to ~/.zshrc: eval "$(_PLAYBOOK_COMPLETE=zsh_source playbook)"\n' in first.out
    assert install.interpreter() not in first.out
    assert first.out.splitlines()[-1].startswith(
        "next: test it with `playbook doctor`, then start Claude Code in a project"
    )
    unchanged = "the hooks are registered already; nothing was changed. To test them: `playbook doctor`"
    assert second.out == f"{path}: {unchanged}\n"


def test_uninstall_covers_all_scopes(playbook: Playbook, home: Path, folder: Path) -> None:
    for scope in ("user", "project", "local"):
        assert playbook("install", "--scope", scope).code == 0

    result = playbook("uninstall")

    assert result.code == 0
    assert result.out.count("the file was removed; it held nothing else") == 3
    assert f"what was learned stays in {home / '.claude' / 'playbook'}" in result.out
    assert not [*home.rglob("settings*"), *folder.rglob("settings*")]


def test_uninstall_passes_over_a_broken_file(playbook: Playbook, home: Path, folder: Path) -> None:
    """It names the broken file, and fails."""
    playbook("install")
    playbook("install", "--scope", "local")
    path = home / ".claude" / "settings.json"
    broken = path.read_text() + "}"
    path.write_text(broken)

    result = playbook("uninstall")

    assert result.code == 1
    assert f"{path}, line " in result.err
    assert path.read_text() == broken
    assert not (folder / ".claude" / "settings.local.json").exists()


@pytest.fixture
def data(playbook: Playbook, home: Path) -> Path:
    """The data folder, with everything that a purge removes."""
    folder = home / ".claude" / "playbook"
    assert playbook("add", "use uv").code == 0
    assert playbook("install").code == 0
    for name in ("logs", "told", "consents", "guarded", "locks", "spool", "skipped", "runtime-1-2/bin"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "file").write_text("12345")
    (folder / "runtime").symlink_to(folder / "runtime-1-2")
    for name in ("runtime.json", "runtime.lock", "touched", "worker.lock"):
        (folder / name).write_text("{}")
    return folder


def test_purge_keeps_the_database(playbook: Playbook, data: Path, home: Path) -> None:
    """It also keeps the list of skipped sessions, and names each removed file."""
    done, again = playbook("uninstall", "--purge", "--yes"), playbook("uninstall", "--purge", "--yes")

    assert (done.code, again.code) == (0, 0)
    assert f"{data / 'runtime-1-2'} (1 file, 5 bytes)\n" in done.err
    assert f"what was learned stays in {data}" in done.out
    assert {path.name for path in data.iterdir()} == {"playbook.db", "playbook.db.upgrade.lock", "skipped"}
    assert not (home / ".claude" / "settings.json").exists()
    assert "removed 0 " in again.out
    assert "use uv" in playbook("list").out


def test_purge_can_remove_the_database(playbook: Playbook, data: Path) -> None:
    done = playbook("uninstall", "--purge", "--database", "--yes")

    assert done.code == 0
    assert str(data / "playbook.db") in done.err
    assert "stays" not in done.out
    assert not data.exists()


def test_purge_keeps_databases_elsewhere(
    playbook: Playbook, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.db"
    monkeypatch.setenv("PLAYBOOK_DB_URL", str(other))
    other.touch()

    done = playbook("uninstall", "--purge", "--database", "--yes")

    assert (done.code, data.exists(), other.exists()) == (0, False, True)
    assert f"what was learned stays in {other}" in done.out


def test_purge_removes_settings_of_playbook(playbook: Playbook, data: Path, home: Path) -> None:
    assert playbook("config", "PLAYBOOK_DAILY_TOKENS", "5").code == 0
    assert playbook("config", "playbook_review", "all").code == 0
    path = home / ".claude" / "settings.json"
    others = {"env": {"ANTHROPIC_MODEL": "m", "AGENTIC_CONTEXT_API_KEY": "k"}, "model": "opus"}
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**others, **content, "env": {**others["env"], **content["env"]}}))  # type: ignore[dict-item]

    done = playbook("uninstall", "--purge", "--yes")

    assert f"PLAYBOOK_DAILY_TOKENS in {path}" in done.err
    assert f"playbook_review in {path}" in done.err
    assert json.loads(path.read_text()) == others


def test_purge_names_an_installed_plugin(playbook: Playbook, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = home / ".claude" / "plugins" / "installed_plugins.json"
    record.parent.mkdir(parents=True)
    places = [{"scope": "user"}, {"scope": "local", "projectPath": "/work/a b"}]
    record.write_text(json.dumps({"version": 2, "plugins": {"playbook@ours": places, "other@ours": places}}))
    monkeypatch.setenv("PLAYBOOK_PLUGIN_ROOT", str(home / ".claude/plugins/cache/ours/playbook/0.1.0"))

    installed = playbook("uninstall", "--purge", "--yes").err
    record.write_text(json.dumps({"version": 2, "plugins": {}}))
    removed = playbook("uninstall", "--purge", "--yes").err

    assert "to remove it: claude plugin uninstall playbook@ours --scope user\n" in installed
    assert "to remove it: cd '/work/a b' && claude plugin uninstall playbook@ours --scope local\n" in installed
    assert "other@ours" not in installed
    assert "plugin" not in removed


@pytest.mark.parametrize(
    ("arguments", "session", "problem"),
    [
        (("--purge",), "", "There is no terminal to ask on. To remove them, add --yes. Nothing was removed."),
        (("--yes",), "", "--database and --yes need --purge"),
        (("--purge", "--yes", "--scope", "user"), "", "--purge can't be combined with --scope"),
        (("--purge", "--yes", "--database"), "s-1", "your own terminal: playbook uninstall --purge --database"),
    ],
)
def test_refused_purge_removes_nothing(
    playbook: Playbook, data: Path, home: Path, arguments: tuple[str, ...], session: str, problem: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", session)
    before = sorted(home.rglob("*"))

    done = playbook("uninstall", *arguments)

    assert done.code in (1, 2)
    assert problem in done.err
    assert sorted(home.rglob("*")) == before


def test_failed_purge_names_the_file(playbook: Playbook, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("shutil.rmtree", refuse)

    done = playbook("uninstall", "--purge", "--yes")

    assert (done.code, f"{data}/" in done.err) == (1, True)
    assert "can't be removed: Permission denied. Fix that." in done.err


@pytest.mark.parametrize(("answer", "is_removed"), [("n", False), ("y", True)])
def test_purge_asks_on_a_terminal(
    playbook: Playbook, data: Path, home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, is_removed: bool
) -> None:
    monkeypatch.setattr(setup, "is_interactive", lambda: True)

    done = playbook("uninstall", "--purge", stdin=f"{answer}\n")

    assert done.code == 0
    assert (data / "logs").exists() is not is_removed
    assert (home / ".claude" / "settings.json").exists() is not is_removed


@pytest.mark.slow  # starts a process
def test_purge_refuses_while_the_worker_runs(playbook: Playbook, data: Path, home: Path) -> None:
    code = (
        "import sys; from playbook_db.files import alone\n"
        "with alone(sys.argv[1]) as is_alone: print(is_alone, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(data / "worker.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "True\n"
        done = playbook("uninstall", "--purge", "--yes")
        worker.communicate()

    assert done.code == 1
    assert "The worker is running, so no file was removed." in done.err
    assert (data / "runtime" / "bin").exists()
    assert (home / ".claude" / "settings.json").exists()
    assert playbook("uninstall", "--purge", "--yes").code == 0
