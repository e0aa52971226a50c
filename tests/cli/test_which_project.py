"""Which project a folder belongs to, by the rules of docs/which-project.md."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from playbook_db import __main__, settings
from playbook_db.claude_code.transcripts import finding
from playbook_db.mcp_server import protocol, start, tools
from playbook_db.projects import project_key
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, initialize, open_store
from tests.builders import a_worktree
from tests.claude_code import running
from tests.claude_code.running import Client
from tests.cli.conftest import Playbook
from tests.transcripts import a_session

Layout = Callable[[Path], tuple[Path, Path]]  # makes folders; returns where a session starts, and its project


def _made(*folders: Path) -> None:
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)


def _subfolder(base: Path) -> tuple[Path, Path]:
    _made(base / "repo" / ".git", base / "repo" / "src" / "api")
    return base / "repo" / "src" / "api", base / "repo"


def _mirrored_subfolder(base: Path) -> tuple[Path, Path]:
    _made(base / "repo" / ".git", base / "repo" / "api" / ".claude", base / "repo" / "api" / "src")
    (base / "repo" / "api" / ".claude" / "playbook.json").write_text('{"sections": {}}')
    return base / "repo" / "api" / "src", base / "repo" / "api"


def _initialized_subfolder(base: Path) -> tuple[Path, Path]:
    _made(base / "repo" / ".git", base / "repo" / "api" / "src")
    with open_store(settings.database_url()) as store:
        initialize(Project.in_folder(store, str(base / "repo" / "api")))
    return base / "repo" / "api" / "src", base / "repo" / "api"


def _worktree_outside(base: Path) -> tuple[Path, Path]:
    _made(linked := a_worktree(base / "repo", base / "repo-fix"))
    _made(linked / "src")
    return linked / "src", base / "repo"


def _below_a_known_folder(base: Path) -> tuple[Path, Path]:
    _made(base / "notes" / "2026" / "may")
    return base / "notes" / "2026" / "may", base / "notes"


def _below_home(base: Path) -> tuple[Path, Path]:
    """The home folder may be a repository with a playbook; nothing below belongs to it."""
    _made(Path(settings.home()) / ".git", below := Path(settings.home()) / "scripts")
    return below, below


def _temporary(base: Path) -> tuple[Path, Path]:
    _made(Path(os.environ["TMPDIR"]) / "try")
    return Path(os.environ["TMPDIR"]) / "try", Path(os.environ["TMPDIR"]) / "try"


def _name_of_two_bytes(base: Path) -> tuple[Path, Path]:
    """A path that another one looks like in the client's folder names."""
    repo = base / f"my_app {'é' * 50} {'x' * 120} 🙂"
    _made(repo / ".git", base / repo.name.replace("_", "-") / ".git")
    return repo, repo


LAYOUTS = [
    _subfolder, _initialized_subfolder, _mirrored_subfolder, _worktree_outside, _below_a_known_folder, _below_home,
    _temporary, _name_of_two_bytes,
]  # fmt: skip


@pytest.fixture
def client(folder: Path, home: Path) -> Client:
    return running.a_client(folder, home, is_patient=True)


def _kept_transcript(home: Path, cwd: Path, session: str) -> Path:
    path = home / ".claude" / "projects" / "any-name" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) | {"cwd": str(cwd)} for line in a_session().content().splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_all_interfaces_agree_on_the_project(
    playbook: Playbook, client: Client, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layout: Layout
) -> None:
    """A hook, a command, the MCP server and bootstrap."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    began, belongs_to = layout(tmp_path / "base")
    with open_store(settings.database_url()) as store:
        edit.add(Project.in_folder(store, str(belongs_to)), "use uv")
        for other in (tmp_path / "temporary", home, tmp_path / "base"):
            if other != belongs_to:
                other.mkdir(exist_ok=True, parents=True)
                if layout is not _below_a_known_folder:
                    edit.add(Project.in_folder(store, str(other)), f"a point of {other.name}")
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(began))
    kept = [_kept_transcript(home, began, "s-1"), _kept_transcript(home, tmp_path, "s-2")]

    begun = client.inject(cwd=began)
    client.enqueue(cwd=began)
    served: list[tuple[str, str]] = []
    monkeypatch.setattr(start, "serve", lambda url, place, **_: served.append((url, place)))
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(began)
    assert __main__.serve_tools()

    assert begun.context.count("use uv") == 1
    assert "a point of" not in begun.context
    assert client.rows("SELECT p.key, j.folder FROM jobs j JOIN playbooks p ON p.id = j.playbook_id") == [
        (str(belongs_to), str(began))
    ]
    assert playbook("status", "--json").json["project"] == str(belongs_to)
    assert playbook("--project", str(began), "list").out.startswith("oth-001\t0\t0\tOTHERS\tuse uv")
    assert project_key(served[0][1]) == str(belongs_to)
    with open_store(settings.database_url()) as store:
        assert finding.of_project(store, str(belongs_to)) == [str(kept[0])]


def test_missing_home_is_an_error(playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code's own variable is enough."""
    monkeypatch.setenv("HOME", "~")

    done = playbook("init")

    assert (done.code, os.listdir(), os.listdir(".claude")) == (1, [".claude"], [])
    assert "HOME isn't set to a folder. Set it, or set CLAUDE_CONFIG_DIR." in done.err
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(Path.cwd() / "config"))
    assert playbook("init").code == 0


def test_missing_current_folder_is_an_error(
    playbook: Playbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    done = playbook("list")

    assert (done.code, "The current folder is gone." in done.err) == (1, True)


def test_server_keeps_the_named_project(playbook: Playbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The roots of its client don't replace it."""
    served: list[str] = []
    monkeypatch.setattr(start, "serve", lambda _, folder: served.append(folder))

    playbook("--project", str(tmp_path), "mcp")

    assert [*served, os.environ["CLAUDE_PROJECT_DIR"]] == [str(tmp_path)] * 2


@pytest.fixture
def nowhere(home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home folder as the current one."""
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(home)
    return home


def test_stray_server_uses_the_clients_roots(
    playbook: Playbook, nowhere: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert playbook("--project", str(folder), "add", "use uv").code == 0
    written = io.StringIO()
    version = {"protocolVersion": "2025-06-18", "clientInfo": {"name": "x", "version": "1"}}
    begin = {"method": "initialize", "id": 1, "params": {**version, "capabilities": {"roots": {}}}}
    call = {"method": "tools/call", "id": 2, "params": {"name": "list", "arguments": {}}}
    roots = {"id": "playbook-roots", "result": {"roots": [{"uri": "https://x/y"}, {"uri": folder.as_uri()}]}}
    messages = (begin, {"method": "notifications/initialized"}, call, roots)
    lines = (json.dumps({"jsonrpc": "2.0", **each}).encode() for each in messages)
    served = tools.PlaybookTools(settings.database_url(), str(nowhere), "mcp-1")
    server = start.server_of(served)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", "")

    add = json.dumps({"jsonrpc": "2.0", **call, "params": {"name": "add", "arguments": {"text": "x"}}}).encode()

    assert "doesn't look like a project, so no playbook is made for it" in server.reply(add)
    answers = [server.reply(line) for line in protocol.with_roots(server, lines, written, served.use_roots)]

    assert [*protocol.with_roots(server, [b"1", b'"notifications/initialized"', b"2"], io.StringIO(), print)] == [
        b"1", b'"notifications/initialized"', b"2",
    ]  # fmt: skip
    assert json.loads(written.getvalue())["method"] == "roots/list"
    assert "use uv" in answers[-1]
    assert served.folder == str(folder)


@pytest.mark.slow
def test_removed_playbook_is_backed_up_first(playbook: Playbook, folder: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    playbook("add", "use uv")
    playbook("--project", str(gone), "add", "use npm")
    gone.rmdir()

    assert playbook("project", "remove", str(gone)).code == 2
    done = playbook("project", "remove", str(gone), "--yes", "--json")

    assert done.json["project"] == str(gone)
    assert Path(done.json["backup"]).is_file()
    assert [each["project"] for each in playbook("project", "list", "--json").json] == [str(folder)]
    assert "There is no playbook of" in playbook("project", "remove", str(gone), "--yes").err
    assert playbook("db", "check").code == 0


def test_init_creates_a_project_in_a_subfolder(
    playbook: Playbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _made(tmp_path / "repo" / ".git", tmp_path / "repo" / "api" / "src")
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(tmp_path / "repo" / "api")
    before = playbook("status", "--json").json["project"]

    assert playbook("init").out.startswith(f"{tmp_path / 'repo' / 'api'} has 0 key points")
    monkeypatch.chdir(tmp_path / "repo" / "api" / "src")
    after = playbook("status", "--json").json["project"]
    assert (before, after) == (str(tmp_path / "repo"), str(tmp_path / "repo" / "api"))
