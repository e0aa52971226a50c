"""The commands for teams, and other commands in a project that has joined one."""

import json
from pathlib import Path

import pytest

from playbook_db import contract, settings
from playbook_db.projects import project_key
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import Store, open_store
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

    assert (done.json["name"], done.json["revision"]) == (NAME, 2)
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


@pytest.mark.nightly
def test_commands_write_the_teams_playbook(joined: Playbook, shared: Project, team_server: Store) -> None:
    """The project's own playbook is unchanged, except what was forgotten."""
    operations = '[{"type": "ADD", "text": "curated", "section": "OTHERS"}]'
    for command in (
        "add new", "edit oth-003 --text reworded", "vote oth-002 helpful", "retire oth-003", "restore oth-003", "undo",
        "restore --at 2", "apply -", "forget oth-002 --yes",
    ):  # fmt: skip
        with team_server.read(NAME) as book:
            before = book.revision

        done = joined(*command.split(), stdin=operations)

        assert done.code == 0, (command, done.err)
        with team_server.read(NAME) as book:
            assert book.revision == before + 1, (command, done.out)
            points = {point.name: point.text for point in book.playbook().points}
        assert {each["name"]: each["text"] for each in joined("list", "--json").json} == points
    joined("team", "leave", "--no-copy")
    assert joined("list").out == ""  # it was forgotten there, so it is here
    assert "[forgotten]" in joined("list", "--retired").out


@pytest.mark.nightly
def test_other_commands_work_in_a_team(joined: Playbook) -> None:
    for line in (
        "list",
        "search the team",
        "search --all team",
        "render",
        "export",
        "at 2",
        "show oth-001",
        "why oth-001",
    ):
        assert "the team's" in joined(*line.split()).out, line
    for line in (
        "show 1", "log", "diff 1", "stats", "sessions", "jobs", "status", "project list", "prune --dry-run", "db check",
        "backup", "config", "init", "work", "team status", "sessions skip s-1", "dedup",
    ):  # fmt: skip
        done = joined(*line.split())
        assert done.code == 0, (line, done.err)
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
    with open_store(settings.database_url()) as store, store.transaction() as connection:
        values = "1, 's-1', '2026-03-01', 'startup', 1, '[1]', 0, 'SessionStart', NULL, NULL"
        connection.exec_driver_sql(f"INSERT INTO unsent_showings VALUES ({values})")

    left = joined("team", "leave")

    assert left.code == 0
    assert "has its own playbook again, with the team's points (revision 2)" in left.out
    assert "the points were copied from this machine's replica, which was current just now" in left.err
    assert "the team's database doesn't know which points 1 session here got" in left.err
    assert "the team's" in joined("list").out
    assert joined("undo").code == 0
    assert "the team's" not in joined("list").out


def test_programs_use_the_teams_playbook(joined: Playbook, shared: Project) -> None:
    loaded = contract.load_playbook()
    edit.add(shared, "meanwhile")
    vote = {"evaluations": [{"name": "oth-001", "rating": "helpful"}], "operations": []}

    contract.save_playbook(contract.update_playbook_data(loaded, vote))

    assert "the team's" in contract.format_playbook(loaded)
    lines = joined("list").out.splitlines()
    assert [line.split("\t")[1] for line in lines] == ["1", "0", "0"]


def test_promotion_keeps_the_teams_point(joined: Playbook, shared: Project, folder: Path) -> None:
    promoted = joined("promote", "oth-001", "--json").json
    assert (promoted["copy"], promoted["retired"]) == ("uoth-001", None)
    assert "oth-001" in read_playbook(shared).by_name

    assert joined("promote", "oth-001", "--retire").code == 0
    assert "oth-001" not in read_playbook(shared).by_name
    undone = joined("undo")
    assert "oth-001 was promoted to uoth-001; undo that in the other playbook, too" in undone.err
    joined("--user", "undo")


def test_demotion_into_a_team_needs_consent(joined: Playbook, shared: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    joined("add", "--user", "say it briefly")
    refused = joined("demote", "uoth-001")
    assert refused.code == 1
    assert "There is no terminal to ask on. To do it, add --yes." in refused.err
    with monkeypatch.context() as terminal:
        terminal.setattr("playbook_db.cli.change.points.is_interactive", lambda: True)
        assert f"All members of the team's playbook {NAME} would get uoth-001." in joined("demote", "uoth-001").err
    assert [point.text for point in read_playbook(shared).points] == ["the team's", "use uv"]
    assert joined("demote", "uoth-001", "--yes").code == 0
    assert "say it briefly" in [point.text for point in read_playbook(shared).points]
    assert joined("list", "--user", "--json").json == []
