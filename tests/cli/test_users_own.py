"""The option --user, and points of the user's own without it."""

from pathlib import Path

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
    assert "one at a time" in both.err
    assert playbook("show", "oth-001", "--json").json["helpful"] == 0


def test_user_goes_without_a_project(playbook: Playbook, tmp_path: Path) -> None:
    """Which of the two is meant can't be told."""
    refused = playbook("--user", "list", "--project", str(tmp_path))

    assert refused.code == 2
    assert "without --project" in refused.err
