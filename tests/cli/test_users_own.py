"""The option --user, and points of the user's own without it."""

from pathlib import Path

import pytest

from tests.cli.conftest import Playbook


def test_user_means_the_users_own_playbook_in_place_of_the_projects(playbook: Playbook) -> None:
    """Before the command's name or behind it."""
    playbook("add", "use uv here")
    playbook("--user", "add", "say it briefly", "--section", "pref")
    playbook("add", "English names", "--user")

    assert playbook("list").out.split("\t")[0] == "oth-001"
    listed = playbook("list", "--user", "--json").json
    assert [point["name"] for point in listed] == ["upref-001", "uoth-001"]
    assert playbook("--user", "log", "--json").json[0]["revision"] == 2
    assert "say it briefly" in playbook("export", "--user").out
    assert playbook("status", "--user", "--json").json["points"] == 2


def test_a_command_acts_on_the_playbook_that_a_name_belongs_to(playbook: Playbook) -> None:
    """A name of the user's own needs no --user; names of both at once are refused."""
    playbook("add", "use uv here")
    playbook("--user", "add", "say it briefly")

    assert playbook("vote", "uoth-001", "helpful").code == 0
    assert playbook("edit", "uoth-001", "--text", "briefly").code == 0
    assert playbook("retire", "uoth-001").code == 0
    assert playbook("restore", "uoth-001").code == 0
    shown = playbook("show", "uoth-001", "--json").json
    assert (shown["helpful"], shown["text"]) == (1, "briefly")
    assert [each["revision"] for each in playbook("log", "uoth-001", "--json").json] == [5, 4, 3, 2, 1]
    both = playbook("vote", "oth-001", "uoth-001", "helpful")
    assert both.code == 2
    assert "Name points of one playbook" in both.err
    assert playbook("show", "oth-001", "--json").json["helpful"] == 0


def test_user_goes_without_a_project(playbook: Playbook, tmp_path: Path) -> None:
    """Which of the two is meant can't be told."""
    refused = playbook("--user", "list", "--project", str(tmp_path))

    assert refused.code == 2
    assert "Leave out --project" in refused.err


@pytest.mark.parametrize(
    "arguments",
    [
        *(["init"], ["mirror", "on"], ["team", "status"], ["project", "list"], ["project", "ignore"], ["install"]),
        *(["doctor"], ["jobs"], ["jobs", "drop", "1"], ["bootstrap"], ["config"], ["db", "path"], ["backup"]),
    ],
)
def test_what_is_about_a_project_or_the_database_goes_without_user(playbook: Playbook, arguments: list[str]) -> None:
    """Said before the command or behind it, nothing is done."""
    for refused in (playbook("--user", *arguments), playbook(*arguments, "--user")):
        assert refused.code == 2
        assert "--user" in refused.err
        assert refused.out == ""
    assert playbook("list", "--user", "--json").json == []


def test_every_command_on_one_playbook_has_user(playbook: Playbook) -> None:
    """What changes it, what looks at it, what takes back; what is shown names it, not a key."""
    playbook("add", "use uv here")
    added = playbook("--user", "add", "say it briefly")
    playbook("--user", "add", "say it in brief")

    assert added.out.endswith("revision 1 of your personal playbook\n")
    assert "your personal playbook" in playbook("status", "--user").out
    assert playbook("search", "briefly", "--user", "--json").json[0]["name"] == "uoth-001"
    assert playbook("why", "uoth-001", "--json").code == 0
    assert playbook("stats", "--user", "--json").json["points"]["live"] == 2
    sql = "SELECT name FROM live_key_points WHERE playbook = :project"
    assert [row["name"] for row in playbook("sql", sql, "--user", "--json").json] == ["uoth-001", "uoth-002"]
    assert playbook("dedup", "--user", "--json").code == 0
    assert playbook("dedup", "--merge", "uoth-001", "uoth-002").code == 0
    assert playbook("undo", "--user").code == 0
    assert playbook("diff", "2", "--user", "--json").code == 0
    assert playbook("review", "--user", "--json").json == []
    assert playbook("pin", "uoth-001").code == 0
    assert playbook("forget", "uoth-002", "--yes").code == 0
    batch = '[{"type": "ADD", "text": "English names"}]'
    assert playbook("apply", "-", "--user", stdin=batch).code == 0
    assert [each["name"] for each in playbook("list", "--user", "--json").json] == ["uoth-001", "uoth-003"]
    assert [each["name"] for each in playbook("list", "--json").json] == ["oth-001"]


def test_render_prints_what_a_session_is_told_of_both(playbook: Playbook) -> None:
    """The project's first; with --user the user's own alone, as a project without a playbook is told them."""
    playbook("add", "use uv here")
    alone = playbook("render").out
    playbook("--user", "add", "say it briefly")

    both, own = (playbook("render", *given).out for given in ([], ["--user"]))

    header = "## OTHERS (the user's own, in every project)"
    entry = "[oth-001] helpful=0 harmful=0 :: use uv here"
    added = f"\n\n{header}\n[uoth-001] helpful=0 harmful=0 :: say it briefly"
    assert both == alone.replace(entry, entry + added)
    assert own == alone.replace(f"## OTHERS\n{entry}", added.lstrip("\n"))
    playbook("retire", "oth-001")
    assert playbook("render").out == own


def test_status_tells_how_many_of_ones_own_there_are(playbook: Playbook) -> None:
    """In a project that has no playbook, too."""
    assert "your own" not in playbook("status").out
    playbook("--user", "add", "say it briefly")

    status = playbook("status", "--json").json
    assert (status["points"], status["shown"], status["user_points"], status["user_shown"]) == (0, 0, 1, 1)
    assert "1 point; a session gets 1: playbook list --user" in playbook("status").out
    status = playbook("status", "--user", "--json").json
    assert (status["points"], status["shown"], status["user_points"]) == (1, 1, 1)
    assert status["project"] == "user"
