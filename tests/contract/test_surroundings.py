"""Where programs look: the folders, the settings and the templates of the user and of the project."""

import json
import re
from pathlib import Path

import pytest

from playbook_db.contract import (
    format_playbook,
    get_project_dir,
    get_user_claude_dir,
    load_settings,
    load_template,
)
from playbook_db.errors import SettingError
from tests.builders import a_flat_dict, an_entry

# --- places ---


def test_the_project_is_the_folder_that_the_variable_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """CLAUDE_PROJECT_DIR, else the home folder; heard at each call."""
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path / "some project"))
    named = get_project_dir()
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")

    assert named == tmp_path / "some project"
    assert get_project_dir() == Path.home()


def test_the_folder_of_the_user_is_claude_codes(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`~/.claude`, or what CLAUDE_CONFIG_DIR names."""
    usual = get_user_claude_dir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))

    assert usual == home / ".claude"
    assert get_user_claude_dir() == tmp_path / "elsewhere"


# --- load_settings ---


UPDATES = ["playbook_update_on_exit", "playbook_update_on_clear", "playbook_update_on_subagent_stop"]


def test_all_updates_are_on_where_no_file_says_otherwise(folder: Path) -> None:
    """The three settings default to true."""
    assert load_settings() == dict.fromkeys(UPDATES, True)


def test_what_a_settings_file_says_wins_and_later_files_win_over_earlier_ones(home: Path, folder: Path) -> None:
    """The user's settings, then the project's, then the project's local ones; other keys come along."""
    (home / ".claude" / "settings.json").write_text(
        json.dumps({"playbook_update_on_exit": False, "playbook_update_on_clear": False, "model": "opus"})
    )
    (folder / ".claude" / "settings.json").write_text(json.dumps({"playbook_update_on_clear": True, "env": {"A": "b"}}))
    (folder / ".claude" / "settings.local.json").write_text(json.dumps({"env": {"C": "d"}}))

    assert load_settings() == {
        "playbook_update_on_exit": False,
        "playbook_update_on_clear": True,
        "playbook_update_on_subagent_stop": True,
        "model": "opus",
        "env": {"C": "d"},
    }


@pytest.mark.parametrize("broken", [b"{", b"", b"\xff\xfe", b"[" * 100_000])
def test_a_settings_file_that_cannot_be_read_is_reported_and_passed_over(
    home: Path, folder: Path, capsys: pytest.CaptureFixture[str], broken: bytes
) -> None:
    """The other files still count, and stderr names the broken one."""
    path = home / ".claude" / "settings.json"
    path.write_bytes(broken)
    (folder / ".claude" / "settings.json").write_text(json.dumps({"playbook_update_on_exit": False}))

    found = load_settings()

    assert [found[update] for update in UPDATES] == [False, True, True]
    assert str(path) in capsys.readouterr().err


def test_settings_that_are_no_object_are_passed_over(home: Path, folder: Path) -> None:
    """A list or a number sets nothing."""
    (home / ".claude" / "settings.json").write_text("[1, 2]")

    assert load_settings() == dict.fromkeys(UPDATES, True)


# --- load_template ---


def test_a_template_ships_with_the_package(home: Path) -> None:
    """Without a file of the user's, the built-in one is there."""
    assert not (home / ".claude" / "prompts").exists()
    assert "{key_points}" in load_template("playbook.txt")


def test_a_file_of_the_user_wins(home: Path, plain_template: None) -> None:
    """The file of that name in ~/.claude/prompts/ stands in the built-in one's place, and is what is injected."""
    (home / ".claude" / "prompts" / "mine.txt").write_text("läuft {x}\n", encoding="utf-8")

    assert load_template("playbook.txt") == "<{key_points}>"
    assert load_template("mine.txt") == "läuft {x}\n"
    assert format_playbook(a_flat_dict(an_entry("kpt_001", "one"))) == "<[kpt_001] helpful=0 harmful=0 :: one>"


def test_an_unknown_template_is_an_error_that_names_it() -> None:
    """A name that neither the user nor the package has."""
    with pytest.raises(SettingError, match="no_such"):
        load_template("no_such.txt")


@pytest.mark.parametrize("path", ["../secret.txt", "sub/playbook.txt", "/etc/hostname", "..", "."])
def test_a_path_is_no_name_of_a_template(home: Path, plain_template: None, path: str) -> None:
    """Nothing outside the folder of prompts is read."""
    (home / ".claude" / "secret.txt").write_text("secret")

    with pytest.raises(SettingError):
        load_template(path)


def test_a_template_of_the_user_without_the_placeholder_is_an_error(home: Path, plain_template: None) -> None:
    """Points must not vanish in silence; the message names the file. An empty playbook needs no template."""
    path = home / ".claude" / "prompts" / "playbook.txt"
    path.write_text("no place for points")

    with pytest.raises(SettingError, match=re.escape(str(path))):
        format_playbook(a_flat_dict(an_entry("kpt_001", "one")))
    assert format_playbook(a_flat_dict()) == ""
