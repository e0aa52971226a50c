"""The commands on a team, and all the others in a project that has joined one."""

import json
import os
import pty
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from playbook_db import contract, settings
from playbook_db.projects import project_key
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store, open_store
from tests import postgres
from tests.cli.conftest import Playbook
from tests.members import NAME

pytestmark = pytest.mark.slow  # a server

AWAY = "postgresql://ann@/playbooks?host=/nowhere"


@pytest.fixture
def shared(team_server: Store) -> Project:
    return Project(team_server, NAME)


@pytest.fixture
def joined(playbook: Playbook, shared: Project, team_url: str) -> Playbook:
    """The command in a project that has joined a team; each had one point."""
    edit.add(shared, "the team's")
    playbook("add", "use uv")
    assert playbook("team", "join", team_url, "--as", NAME, "--yes").code == 0
    return playbook


def test_joining_shows_its_changes_first(playbook: Playbook, shared: Project, team_url: str) -> None:
    edit.add(shared, "the team's")
    playbook("add", "use uv\nalways")

    refused = playbook("team", "join", team_url, "--as", NAME)

    assert refused.code == 1
    assert f"{NAME} is a playbook of 1 point in postgresql:///" in refused.err
    assert "oth-001 belongs to another text here; the incoming one is now oth-002" in refused.err
    assert "would add: 1 added\n  add [oth-002] use uv always\n" in refused.err
    assert "Nothing was added, and the project hasn't joined" in refused.err
    assert "the team's" not in playbook("list").out
    assert playbook("team", "status").code == 1

    done = playbook("team", "join", team_url, "--as", NAME, "--yes", "--json")

    assert done.json["name"] == NAME
    assert done.json["revision"] == 2
    assert "the team's" in playbook("list").out


def test_own_proposals_do_not_join(playbook: Playbook, shared: Project, team_url: str, folder: Path) -> None:
    playbook("add", "use uv")
    with open_store(settings.database_url()) as store, store.write(project_key(str(folder))) as book:
        book.add_proposal({"text": "of a page"}, "ADD", (), "outside", "s1")

    joined = playbook("team", "join", team_url, "--as", NAME, "--yes")

    assert "1 proposal of the project's own playbook can't be decided after joining" in joined.err
    assert playbook("review", "--json").json == []


def test_empty_project_joins_without_a_question(playbook: Playbook, shared: Project, team_url: str) -> None:
    """The URL may come from standard input, which hides it from other users."""
    edit.add(shared, "the team's")

    done = playbook("team", "join", "-", "--as", NAME, stdin=f"{team_url}\n")

    assert done.code == 0
    assert f"has joined {NAME} in postgresql:///" in done.out
    assert "the team's" in playbook("list").out


def test_sessions_cannot_join_a_team(playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "a-session")

    done = playbook("team", "join", AWAY, "--as", NAME, "--yes")

    assert done.code == 1
    assert "Run it in your own terminal: playbook team join" in done.err


def test_project_without_a_remote_needs_a_name(playbook: Playbook, team_url: str) -> None:
    assert "Choose a name with --as NAME" in playbook("team", "join", team_url).err
    assert "is no path, no URL" in playbook("team", "join", team_url, "--as", os.getcwd()).err


def _on_terminal(*arguments: str, typed: dict[str, str]) -> tuple[int, str]:
    """Run `playbook` on a terminal; once a key of *typed* is seen, type its value. Return exit code and output."""
    process, leader = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-m", "playbook_db", *arguments])  # noqa: S606
    seen, waiting, ends_at = b"", dict(typed), time.monotonic() + 60
    while time.monotonic() < ends_at:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
        for text in [text for text in waiting if text.encode() in seen]:
            os.write(leader, waiting.pop(text).encode() + b"\n")
    _, status = os.waitpid(process, 0)
    os.close(leader)
    return os.waitstatus_to_exitcode(status), seen.decode().replace("\r", "")


@pytest.mark.nightly
def test_terminal_asks_for_password_and_consent(playbook: Playbook, team_url: str) -> None:
    with postgres.making_roles(), postgres.connected(make_url(team_url)) as owner:
        for statement in ("DROP ROLE IF EXISTS typed", "CREATE ROLE typed LOGIN SUPERUSER PASSWORD 'h0rse'"):
            owner.execute(statement.encode())
        postgres.ask_for_password(owner, "typed")
    guarded = make_url(team_url).set(username="typed", drivername="postgresql").render_as_string()
    playbook("add", "use uv")
    answers = {"Password for": "h0rse", "Add them?": "n"}

    code, seen = _on_terminal("team", "join", "-", "--as", NAME, typed={"URL": guarded, **answers})
    assert code == 1
    assert "h0rse" not in seen
    assert guarded not in seen
    assert playbook("team", "status").code == 1

    code, seen = _on_terminal("team", "join", guarded, "--as", NAME, typed={**answers, "Add them?": "y"})
    assert code == 0
    assert "h0rse" not in seen
    assert playbook("team", "status", "--json").json["problem"] is None


_IMPORTED = '{"version": "1.0", "key_points": [{"name": "kpt_001", "text": "imported", "score": -3}]}'
_CURATED = '[{"type": "ADD", "text": "curated", "section": "OTHERS"}]'


@pytest.mark.nightly
def test_commands_write_the_teams_playbook(joined: Playbook, shared: Project, team_server: Store) -> None:
    """The project's own playbook is unchanged, except what was forgotten."""
    for arguments, stdin in (
        (("add", "new"), ""),
        (("edit", "oth-003", "--text", "reworded"), ""),
        (("vote", "oth-002", "helpful"), ""),
        (("retire", "oth-003"), ""),
        (("restore", "oth-003"), ""),
        (("undo",), ""),
        (("restore", "--at", "2"), ""),
        (("import", "-"), _IMPORTED),
        (("prune",), ""),
        (("apply", "-"), _CURATED),
        (("forget", "oth-002", "--yes"), ""),
    ):
        with team_server.read(NAME) as book:
            before = book.revision

        done = joined(*arguments, stdin=stdin)

        assert done.code == 0, (arguments, done.err)
        with team_server.read(NAME) as book:
            assert book.revision == before + 1, (arguments, done.out)
            points = {point.name: point.text for point in book.playbook().points}
        rows = [line.split("\t") for line in joined("list").out.splitlines()]
        assert {row[0]: row[4] for row in rows} == points
        assert joined("status", "--json").json["revision"] == before + 1
    joined("team", "leave", "--no-copy")
    assert joined("list").out == ""  # it was forgotten there, so it is here
    assert "[forgotten]" in joined("list", "--retired").out


@pytest.mark.nightly
def test_other_commands_work_in_a_team(joined: Playbook) -> None:
    for line in (
        "list", "list --sort used", "list team", "search the team", "search --all team",
        "render", "export", "at 2", "show oth-001", "show 1",
        "list --retired", "log", "log oth-002", "diff 1", "why oth-002", "stats", "sessions", "jobs", "jobs --all",
        "status", "status --short", "project list", "project ignore", "project ignore --off", "project trust",
        "prune --dry-run", "db check", "db upgrade", "backup", "backup --list", "config", "init", "work", "team status",
        "sessions skip s-1", "dedup",
    ):  # fmt: skip
        done = joined(*line.split())
        assert done.code == 0, (line, done.err)
        if line.split()[0] in ("list", "search", "render", "export", "at") and "--retired" not in line:
            assert "the team's" in done.out, line
    question = "SELECT name FROM live_key_points WHERE playbook = :project ORDER BY name"
    assert joined("sql", question, "--csv").out.split() == ["name", "oth-001", "oth-002"]
    for switch in ("on", "off"):
        assert "the team's: its members share it" in joined("mirror", switch).err


def test_missing_server_leaves_the_replica(joined: Playbook, home: Path) -> None:
    """Commands that read points show its age; the others fail."""
    _move_away(home)
    for command in (("list",), ("search", "team"), ("show", "oth-001"), ("render",)):
        done = joined(*command)
        assert done.code == 0
        assert "the team's" in done.out
        assert "can't be reached" in done.err
        assert "These points are from this machine's replica, which was current" in done.err
    for command in (("add", "x"), ("log",), ("export",), ("stats",), ("sql", "SELECT 1"), ("init",), ("undo",)):
        done = joined(*command)
        assert (done.code, done.out) == (1, "")
        assert "Check the address, the server and the network." in done.err
    found = json.loads(joined("team", "status", "--json").out)
    assert "can't be reached" in found["problem"]
    assert found["replica"]["revision"] == 2


def _move_away(home: Path) -> None:
    path = home / ".claude" / "playbook" / "playbook.db"
    with open_store(f"sqlite:///{path}") as store, store.transaction() as connection:
        connection.exec_driver_sql("UPDATE memberships SET url = ?", (AWAY,))


def test_leaving_copies_the_teams_points(joined: Playbook, home: Path) -> None:
    _move_away(home)

    left = joined("team", "leave")

    assert left.code == 0
    assert "has its own playbook again, with the team's points (revision 2)" in left.out
    assert "the points were copied from this machine's replica, which was current just now" in left.err
    assert "the team's" in joined("list").out
    assert joined("undo").code == 0
    assert "the team's" not in joined("list").out


def test_other_projects_are_not_the_teams(joined: Playbook, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()

    joined("--project", str(other), "add", "of the other project")
    joined("--db", str(tmp_path / "other.db"), "add", "of the other database")

    assert "of the other" not in joined("list").out
    assert "the team's" not in joined("--project", str(other), "list").out
    assert "the team's" not in joined("--db", str(tmp_path / "other.db"), "list").out


def test_programs_use_the_teams_playbook(joined: Playbook, shared: Project) -> None:
    loaded = contract.load_playbook()
    edit.add(shared, "meanwhile")
    vote = {"evaluations": [{"name": "oth-001", "rating": "helpful"}], "operations": []}

    contract.save_playbook(contract.update_playbook_data(loaded, vote))

    assert "the team's" in contract.format_playbook(loaded)
    lines = joined("list").out.splitlines()
    assert [line.split("\t")[1] for line in lines] == ["1", "0", "0"]


def test_promotion_keeps_the_teams_point(joined: Playbook, shared: Project, folder: Path) -> None:
    """Demotion into a team needs consent."""
    promoted = joined("promote", "oth-001", "--json").json
    assert (promoted["copy"], promoted["retired"]) == ("uoth-001", None)
    assert "oth-001" in read_playbook(shared).by_name
    assert [each["text"] for each in joined("list", "--user", "--json").json] == ["the team's"]

    assert joined("promote", "oth-001", "--retire").code == 0
    assert "oth-001" not in read_playbook(shared).by_name
    undone = joined("undo")
    assert "oth-001 was promoted to uoth-001; undo that in the other playbook, too" in undone.err
    joined("--user", "undo")

    joined("add", "--user", "say it briefly")
    refused = joined("demote", "uoth-002")
    assert refused.code == 1
    assert "There is no terminal to ask on. To do it, add --yes." in refused.err
    assert "say it briefly" not in joined("list").out
    assert joined("demote", "uoth-002", "--dry-run").code == 0
    assert joined("demote", "uoth-002", "--yes").code == 0
    assert "say it briefly" in [point.text for point in read_playbook(shared).points]
    assert joined("list", "--user", "--json").json == []
