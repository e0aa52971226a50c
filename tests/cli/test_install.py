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
    """Hooks that are there to be registered."""
    made = tmp_path / "hooks"
    made.mkdir()
    for hook, _ in registration.EVENTS.values():
        (made / f"{hook}.py").write_text("")
    monkeypatch.setattr(install, "hooks_folder", lambda: str(made))


def test_an_install_says_what_it_wrote(playbook: Playbook, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file, the backup, the model and the next commands; the second time, that there was nothing to do."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-api03-not-a-real-key")
    monkeypatch.setenv("SHELL", "/bin/zsh")
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text("{}")

    first, second = playbook("install"), playbook("install")

    (backup,) = path.parent.glob("settings.json.before-playbook-*")
    assert (first.code, second.code, first.err) == (0, 0, "")
    for told in (
        str(path),
        str(backup),
        "SessionStart (inject)",
        "SubagentStart (remind)",
        "1,000,000 tokens a day",
    ):
        assert told in first.out
    assert "learning asks claude-sonnet-5-5 at https://api.anthropic.com, key from ANTHROPIC_API_KEY\n" in first.out
    assert 'add to ~/.zshrc: eval "$(_PLAYBOOK_COMPLETE=zsh_source playbook)"\n' in first.out
    assert install.interpreter() not in first.out
    assert first.out.splitlines()[-1].startswith("next: test it with `playbook doctor`, then run `playbook init`")
    unchanged = "the hooks are registered already; nothing was changed. To test them: `playbook doctor`"
    assert second.out == f"{path}: {unchanged}\n"


def test_an_uninstall_finds_every_scope(playbook: Playbook, home: Path, folder: Path) -> None:
    """Without options, the user's settings and both of the project; the data stays and is named."""
    for scope in ("user", "project", "local"):
        assert playbook("install", "--scope", scope).code == 0

    result = playbook("uninstall")

    assert result.code == 0
    assert result.out.count("the file was removed; it held nothing else") == 3
    assert f"what was learned stays in {home / '.claude' / 'playbook'}" in result.out
    assert not [*home.rglob("settings*"), *folder.rglob("settings*")]


def test_an_uninstall_of_one_scope_leaves_the_others(playbook: Playbook, home: Path, folder: Path) -> None:
    """Only the settings named are changed."""
    playbook("install")
    playbook("install", "--scope", "project")

    playbook("uninstall", "--scope", "user")

    assert not (home / ".claude" / "settings.json").exists()
    assert (folder / ".claude" / "settings.json").exists()


def test_an_uninstall_with_nothing_to_do_says_so(playbook: Playbook) -> None:
    """It is no error."""
    result = playbook("uninstall")

    assert result.code == 0
    assert "no settings file has playbook's hooks" in result.out


def test_a_backup_that_is_kept_is_named(playbook: Playbook, home: Path) -> None:
    """On stderr: it is for the person to decide."""
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"a": 1}')
    playbook("install")
    path.write_text(path.read_text().replace('"a": 1', '"a": 2'))

    assert "before-playbook-" in playbook("uninstall").err


def test_one_broken_file_keeps_the_hooks_in_no_other(playbook: Playbook, home: Path, folder: Path) -> None:
    """The others are cleaned, the broken one is left alone and named, and the exit code says so."""
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


def test_a_refused_install_exits_with_one(playbook: Playbook, home: Path) -> None:
    """With the file, the line and the column."""
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"a": 1,\n// no\n}')

    result = playbook("install")

    assert (result.code, result.out) == (1, "")
    assert f"{path}, line 2, column 1" in result.err


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_a_project_that_isnt_there_is_an_error(command: str, playbook: Playbook, tmp_path: Path) -> None:
    """A folder mistyped is not made."""
    result = playbook(command, "--scope", "project", "--project", str(tmp_path / "typo"))

    assert result.code == 1
    assert "There is no folder" in result.err
    assert not (tmp_path / "typo").exists()


@pytest.fixture
def data(playbook: Playbook, home: Path) -> Path:
    """The data folder, with the database, a private session, and everything that a purge removes."""
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


def test_a_purge_lists_what_it_removes_and_keeps_the_database(playbook: Playbook, data: Path, home: Path) -> None:
    """And the private sessions, so that none is learned from later; a second purge finds nothing."""
    done, again = playbook("uninstall", "--purge", "--yes"), playbook("uninstall", "--purge", "--yes")

    assert (done.code, again.code) == (0, 0)
    assert f"{data / 'runtime-1-2'} (1 file, 5 bytes)\n" in done.err
    assert f"what was learned stays in {data}" in done.out
    assert {path.name for path in data.iterdir()} >= {"playbook.db", "skipped"}
    assert all(path.name.startswith("playbook.db") or path.name == "skipped" for path in data.iterdir())
    assert not (home / ".claude" / "settings.json").exists()
    assert "removed 0 " in again.out
    assert "use uv" in playbook("list").out


def test_a_purge_removes_the_database_only_if_told_to(playbook: Playbook, data: Path) -> None:
    """With it the whole data folder goes."""
    done = playbook("uninstall", "--purge", "--database", "--yes")

    assert done.code == 0
    assert str(data / "playbook.db") in done.err
    assert "stays" not in done.out
    assert not data.exists()


@pytest.mark.parametrize(
    ("url", "named"), [("", "in {}/other.db"), ("postgresql://ann:pw@/x?host=/none", "on the server of")]
)
def test_a_purge_says_where_a_database_elsewhere_stays(
    playbook: Playbook, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, named: str
) -> None:
    """Even with --database, which removes only the data folder; a password isn't printed."""
    monkeypatch.setenv("PLAYBOOK_DB_URL", url or str(tmp_path / "other.db"))
    (tmp_path / "other.db").touch()

    done = playbook("uninstall", "--purge", "--database", "--yes")

    assert (done.code, data.exists()) == (0, False)
    assert f"what was learned stays {named.format(tmp_path)}" in done.out
    assert "pw" not in done.out + done.err


def test_a_purge_removes_the_settings_that_only_playbook_reads(playbook: Playbook, data: Path, home: Path) -> None:
    """It lists them first. Settings of Claude Code stay, and a key, which `playbook config` never writes."""
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


def test_a_purge_removes_a_settings_file_that_had_only_settings_of_playbook(
    playbook: Playbook, data: Path, home: Path
) -> None:
    """Without an empty `env`."""
    assert playbook("config", "PLAYBOOK_DAILY_TOKENS", "5").code == 0

    assert playbook("uninstall", "--purge", "--yes").code == 0

    assert not (home / ".claude" / "settings.json").exists()


def test_a_purge_names_the_plugin_if_claude_code_still_has_it(
    playbook: Playbook, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every scope, even if it is off. Claude Code keeps a removed plugin's files, so those prove nothing."""
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
def test_a_refused_purge_removes_nothing(
    playbook: Playbook, data: Path, home: Path, arguments: tuple[str, ...], session: str, problem: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Neither the hooks nor any file."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", session)
    before = sorted(home.rglob("*"))

    done = playbook("uninstall", *arguments)

    assert done.code in (1, 2)
    assert problem in done.err
    assert sorted(home.rglob("*")) == before


@pytest.mark.parametrize(("answer", "is_removed"), [("n", False), ("y", True)])
def test_on_a_terminal_a_purge_asks(
    playbook: Playbook, data: Path, home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, is_removed: bool
) -> None:
    """If the answer is no, nothing is removed, the hooks neither."""
    monkeypatch.setattr(setup, "is_interactive", lambda: True)

    done = playbook("uninstall", "--purge", stdin=f"{answer}\n")

    assert done.code == 0
    assert (data / "logs").exists() is not is_removed
    assert (home / ".claude" / "settings.json").exists() is not is_removed


@pytest.mark.slow  # starts a process
def test_a_purge_waits_for_the_worker_to_end(playbook: Playbook, data: Path, home: Path) -> None:
    """Which needs the environment. Nothing is removed until then, the hooks neither."""
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
