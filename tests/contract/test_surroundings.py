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


def test_variable_names_the_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path / "some project"))
    named = get_project_dir()
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")

    assert named == tmp_path / "some project"
    assert get_project_dir() == Path.home()


def test_user_folder_is_claude_codes(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usual = get_user_claude_dir()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "elsewhere"))

    assert usual == home / ".claude"
    assert get_user_claude_dir() == tmp_path / "elsewhere"


# --- load_settings ---


UPDATES = ["playbook_update_on_exit", "playbook_update_on_clear", "playbook_update_on_subagent_stop"]


def test_all_updates_are_on_by_default(folder: Path) -> None:
    assert load_settings() == dict.fromkeys(UPDATES, True)


def test_later_settings_files_win(home: Path, folder: Path) -> None:
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
def test_broken_settings_file_is_reported(
    home: Path, folder: Path, capsys: pytest.CaptureFixture[str], broken: bytes
) -> None:
    path = home / ".claude" / "settings.json"
    path.write_bytes(broken)
    (folder / ".claude" / "settings.json").write_text(json.dumps({"playbook_update_on_exit": False}))

    found = load_settings()

    assert [found[update] for update in UPDATES] == [False, True, True]
    assert str(path) in capsys.readouterr().err
    path.write_text("7")
    assert load_settings() == found


# --- load_template ---


def test_package_has_a_template(home: Path) -> None:
    assert not (home / ".claude" / "prompts").exists()
    assert "{key_points}" in load_template("playbook.txt")


def test_users_template_wins(home: Path, plain_template: None) -> None:
    (home / ".claude" / "prompts" / "mine.txt").write_text("läuft {x}\n", encoding="utf-8")

    assert load_template("playbook.txt") == "<{key_points}>"
    assert load_template("mine.txt") == "läuft {x}\n"
    assert format_playbook(a_flat_dict(an_entry("kpt_001", "one"))) == "<[kpt_001] helpful=0 harmful=0 :: one>"


def test_unknown_template_is_an_error() -> None:
    with pytest.raises(SettingError, match="no_such"):
        load_template("no_such.txt")


@pytest.mark.parametrize("path", ["../secret.txt", "sub/playbook.txt", "/etc/hostname", "..", "."])
def test_path_is_no_template_name(home: Path, plain_template: None, path: str) -> None:
    (home / ".claude" / "secret.txt").write_text("secret")

    with pytest.raises(SettingError):
        load_template(path)


def test_template_without_placeholder_is_an_error(home: Path, plain_template: None) -> None:
    path = home / ".claude" / "prompts" / "playbook.txt"
    path.write_text("no place for points")

    with pytest.raises(SettingError, match=re.escape(str(path))):
        format_playbook(a_flat_dict(an_entry("kpt_001", "one")))
    assert format_playbook(a_flat_dict()) == ""
