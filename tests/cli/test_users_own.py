"""The option --user, and points of the user's own without it."""

from pathlib import Path

import pytest

from tests.cli.conftest import Playbook


def test_user_selects_the_personal_playbook(playbook: Playbook) -> None:
    playbook("add", "use uv here")
    playbook("--user", "add", "say it briefly", "--section", "pref")
    playbook("add", "English names", "--user")

    assert playbook("list").out.split("\t")[0] == "oth-001"
    listed = playbook("list", "--user", "--json").json
    assert [point["name"] for point in listed] == ["upref-001", "uoth-001"]
    assert playbook("--user", "log", "--json").json[0]["revision"] == 2
    assert "say it briefly" in playbook("export", "--user").out
    assert playbook("status", "--user", "--json").json["points"] == 2


def test_personal_names_need_no_option(playbook: Playbook) -> None:
    """Names of both playbooks at once are refused."""
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


def test_user_excludes_project(playbook: Playbook, tmp_path: Path) -> None:
    refused = playbook("--user", "list", "--project", str(tmp_path))

    assert refused.code == 2
    assert "Leave out --project" in refused.err


@pytest.mark.parametrize("command", ["init", "mirror on", "jobs drop 1", "bootstrap", "backup"])
def test_project_commands_refuse_user(playbook: Playbook, command: str) -> None:
    for refused in (playbook("--user", *command.split()), playbook(*command.split(), "--user")):
        assert (refused.code, refused.out) == (2, "")
        assert "--user" in refused.err
