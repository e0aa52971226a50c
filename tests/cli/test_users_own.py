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


@pytest.mark.parametrize(
    "arguments",
    [
        *(["init"], ["mirror", "on"], ["team", "status"], ["project", "list"], ["project", "ignore"], ["install"]),
        *(["doctor"], ["jobs"], ["jobs", "drop", "1"], ["bootstrap"], ["config"], ["db", "path"], ["backup"]),
    ],
)
def test_project_commands_refuse_user(playbook: Playbook, arguments: list[str]) -> None:
    for refused in (playbook("--user", *arguments), playbook(*arguments, "--user")):
        assert refused.code == 2
        assert "--user" in refused.err
        assert refused.out == ""
    assert playbook("list", "--user", "--json").json == []


def test_render_shows_both_playbooks(playbook: Playbook) -> None:
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


def test_status_counts_personal_points(playbook: Playbook) -> None:
    assert "your own" not in playbook("status").out
    playbook("--user", "add", "say it briefly")

    status = playbook("status", "--json").json
    assert (status["points"], status["shown"], status["user_points"], status["user_shown"]) == (0, 0, 1, 1)
    assert "1 point; a session gets 1: playbook list --user" in playbook("status").out
    status = playbook("status", "--user", "--json").json
    assert (status["points"], status["shown"], status["user_points"]) == (1, 1, 1)
    assert status["project"] == "user"
