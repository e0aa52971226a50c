"""Our hooks in Claude Code's settings files: install and uninstall."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from playbook_db import files
from playbook_db.claude_code import registration
from playbook_db.claude_code.setup import install
from playbook_db.errors import InstallError, PlaybookError

NOW = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
FIRST_EVENTS = ("SessionStart", "PreCompact", "SubagentStop", "SessionEnd")  # those of the version before
STAMP = ".before-playbook-20260203T040506.000000Z"
_find_hooks = install.hooks_folder  # before the fixture replaces it


@pytest.fixture(autouse=True)
def hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of hooks to register."""
    made = tmp_path / "the hooks' folder"
    made.mkdir()
    for hook, _ in registration.EVENTS.values():
        (made / f"{hook}.py").write_text("import sys; print(*sys.argv)")
    monkeypatch.setattr(install, "hooks_folder", lambda: str(made))
    return made


@pytest.fixture
def settings(home: Path) -> Path:
    """The path of the user's settings file, in an existing folder."""
    (home / ".claude").mkdir()
    return home / ".claude" / "settings.json"


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_each_event_gets_a_hook_and_timeout(home: Path, folder: Path) -> None:
    done = install.install("user", str(folder), now=NOW)

    path = home / ".claude" / "settings.json"
    hooks = json.loads(path.read_text())["hooks"]
    assert (done.path, done.changed, done.backup) == (str(path), True, None)
    assert list(hooks) == list(registration.EVENTS)
    for event, (hook, timeout_s) in registration.EVENTS.items():
        ((group,),) = [hooks[event]]
        assert group.get("matcher") == registration.MATCHERS.get(event)
        (entry,) = group["hooks"]
        assert (entry["type"], entry["timeout"]) == ("command", timeout_s)
        assert f"{hook}.py" in entry["command"]
        assert registration.is_live(entry["command"])


def test_plugin_registers_the_same_hooks() -> None:
    plugin = json.loads(Path(files.shipped_file("hooks", "hooks.json", what="")).read_text())["hooks"]

    assert list(plugin) == list(registration.EVENTS)
    for event, (hook, timeout_s) in registration.EVENTS.items():
        (group,) = plugin[event]
        command = f'"${{CLAUDE_PLUGIN_ROOT}}/hooks/start" {hook}'
        assert group.pop("matcher", None) == registration.MATCHERS.get(event)
        assert group == {"hooks": [{"type": "command", "command": command, "timeout": timeout_s}]}


def test_older_install_gets_missing_events(folder: Path, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = '{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "x"}]}]}, "a": 1.0}'
    settings.write_text(original)
    with monkeypatch.context() as before:
        before.setattr(registration, "EVENTS", {name: registration.EVENTS[name] for name in FIRST_EVENTS})
        install.install("user", str(folder), now=NOW)
    old = json.loads(settings.read_text())["hooks"]
    (found,) = install.find_registrations(str(folder)).files

    done = install.install("user", str(folder), now=NOW)

    new = json.loads(settings.read_text())["hooks"]
    assert found.missing == ("UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "SubagentStart")
    assert done.changed
    assert {event: new[event] for event in FIRST_EVENTS} == {event: old[event] for event in FIRST_EVENTS}
    assert new["UserPromptSubmit"][0]["hooks"][0]["command"] == "x"
    assert all(len(registration.our_hooks({"hooks": new}, event)) == 1 for event in registration.EVENTS)
    install.uninstall("user", str(folder))
    assert settings.read_text() == original


@pytest.mark.slow
def test_registered_command_runs_the_hook(folder: Path, settings: Path, hooks: Path) -> None:
    install.install("project", str(folder), now=NOW)
    content = json.loads((folder / ".claude" / "settings.json").read_text())
    (hook,) = registration.our_hooks(content, "SessionStart")
    ran = subprocess.run(["/bin/sh", "-c", hook["command"]], env={}, capture_output=True, text=True, check=True)
    assert ran.stdout == f"{hooks / 'inject.py'} project {os.path.abspath(sys.executable)}\n"


@pytest.mark.parametrize(
    ("scope", "name", "mode"),
    [("user", None, 0o600), ("project", "settings.json", 0o644), ("local", "settings.local.json", 0o644)],
)
def test_only_the_users_new_file_is_private(scope: str, name: str | None, mode: int, home: Path, folder: Path) -> None:
    install.install(scope, str(folder), now=NOW)
    path = folder / ".claude" / name if name else home / ".claude" / "settings.json"
    assert _mode(path) == mode
    assert _names(path.parent) == [path.name]


def test_moved_install_replaces_the_command(folder: Path, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = b'{"hooks": {"SessionEnd": [{"hooks": []}]}, "a": 1.0}'
    settings.write_bytes(original)
    install.install("user", str(folder), now=NOW)
    before = settings.read_text()
    monkeypatch.setattr(sys, "executable", "/else/where/bin/python")

    install.install("user", str(folder), now=NOW)

    (old,), (new,) = (registration.our_hooks(json.loads(text), "PreCompact") for text in (before, settings.read_text()))
    assert settings.read_text() == before.replace(registration.programs(old["command"])[2], "/else/where/bin/python")
    assert registration.programs(new["command"])[2] == "/else/where/bin/python"
    install.uninstall("user", str(folder))
    assert settings.read_bytes() == original
    assert _names(settings.parent) == ["settings.json"]


THEIRS = '{"type": "command", "command": "x", "timeout": 1.0}'
DEEP = '{"a": ' * 60 + "[1]" + "}" * 60
ODD_FILES = {
    "empty": "{}",
    "two spaces": '{\n  "model": "x",\n  "permissions": {\n    "allow": []\n  }\n}\n',
    "four spaces": '{\n    "model": "x"\n}\n',
    "tabs": '{\n\t"model": "x"\n}\n',
    "one line without spaces": '{"model":"x","env":{"A":"1"}}',
    "BOM, CRLF and four spaces": '\ufeff{\r\n    "model": "x"\r\n}\r\n',
    "unicode": '{"é 日本": "🎉 \u2028 \u202e"}',
    "escapes": '{"a": "\\/ \\u00e9 \\ud83c\\udf89 \\u0000 \\n", "\\u006dodel": 1}',
    "numbers": '{"a": [123456789012345678901234567890, 0, 1.0, 1.5, -2e-07]}',
    "comments in strings": '{"a": "// no, /* no */ NaN, ]}", "b": "# playbook-db"}',
    "deep": DEEP,
    "empty events": '{"hooks": {"SessionStart": [ ], "Stop": []}, "a": {"b": {}, "c": []}}',
    "hooks of others": f'{{"hooks": {{"SessionEnd": [{{"matcher": "*", "hooks": [{THEIRS}, {THEIRS}]}}], "New": []}}}}',
    "hooks in odd shapes": f'{{"hooks": {{"Stop": [{THEIRS}, "odd", null, [{THEIRS}], {{"hooks": "x"}}], "X": {{}}}}}}',
    "matchers of others": f'{{"hooks": {{"SessionStart": [{{"matcher": "startup", "hooks": [{THEIRS}]}}], "X": []}}}}',
}

RESPELLED = {"one line without spaces", "escapes", "empty events"}  # an uninstall changes their spaces or escapes


@pytest.mark.parametrize("name", ODD_FILES)
def test_uninstall_leaves_no_trace(name: str, folder: Path, settings: Path) -> None:
    """A backup is left only if the bytes differ."""
    original = ODD_FILES[name]
    settings.write_bytes(original.encode())
    settings.chmod(0o640)
    before = _content(settings)

    assert install.install("user", str(folder), now=NOW).changed
    installed = settings.read_bytes()
    assert not install.install("user", str(folder), now=NOW).changed
    assert settings.read_bytes() == installed
    hooks = _content(settings)["hooks"]
    assert all(len(registration.our_hooks({"hooks": hooks}, event)) == 1 for event in registration.EVENTS)
    for event, groups in before.get("hooks", {}).items():
        assert groups == hooks[event] or groups == hooks[event][:-1]
    assert json.dumps({**_content(settings), "hooks": 0}) == json.dumps({**before, "hooks": 0})  # in this order
    done = install.uninstall("user", str(folder))

    assert _without_empty_hooks(_content(settings)) == _without_empty_hooks(before)
    assert _mode(settings) == 0o640
    assert done is not None
    assert [Path(backup).read_bytes() for backup in done.backups] == [original.encode()] * (name in RESPELLED)
    assert (settings.read_bytes() == original.encode()) == (name not in RESPELLED)
    assert _names(settings.parent) == sorted(["settings.json", *map(os.path.basename, done.backups)])


@pytest.mark.parametrize("original", ODD_FILES.values(), ids=ODD_FILES)
def test_setting_added_after_install_stays(original: str, folder: Path, settings: Path) -> None:
    settings.write_bytes(original.encode())
    install.set_value(["later"], "é")
    expected = _without_empty_hooks(_content(settings))
    settings.write_bytes(original.encode())

    backup = install.install("user", str(folder), now=NOW).backup
    install.set_value(["later"], "é")
    done = install.uninstall("user", str(folder))

    assert _without_empty_hooks(_content(settings)) == expected
    assert not any(registration.our_hooks(_content(settings), event) for event in registration.EVENTS)
    assert done is not None
    assert done.backups == (backup,)


def _without_empty_hooks(content: dict[str, Any]) -> str:
    """*content* without empty lists of hooks, which an uninstall may take out."""
    hooks = {event: groups for event, groups in content.pop("hooks", {}).items() if groups}
    return json.dumps([content, hooks])


def _content(path: Path) -> Any:
    """The content of the file, with numbers as texts."""
    return json.loads(path.read_bytes().decode("utf-8-sig"), parse_int=str, parse_float=str)


def test_first_backup_is_the_only_one(folder: Path, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text('{"a": 1}')
    backup = install.install("user", str(folder), now=NOW).backup
    install.set_value(["a"], 2)
    monkeypatch.setattr(sys, "executable", "/else/where/bin/python")

    again = install.install("user", str(folder), now=NOW)
    install.uninstall("user", str(folder))
    last = install.install("user", str(folder), now=NOW)

    assert (again.changed, again.backup, last.backup) == (True, None, None)
    assert backup is not None
    assert Path(backup).read_text() == '{"a": 1}'
    assert len(_names(settings.parent)) == 2


def test_created_file_is_removed_again(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / ".claude" / "settings.json"
    install.install("user", str(folder), now=NOW)
    monkeypatch.setattr(sys, "executable", "/else/where/bin/python")
    done_again = install.install("user", str(folder), now=NOW)
    assert (done_again.changed, done_again.backup) == (True, None)

    done = install.uninstall("user", str(folder))

    assert done == install.Uninstalled(str(path), removed=True, backups=())
    assert _names(path.parent) == []


def test_backup_keeps_content_and_mode(folder: Path, settings: Path) -> None:
    settings.write_text('{"a": 1}')
    settings.chmod(0o640)
    done = install.install("user", str(folder), now=NOW)
    assert done.backup == f"{settings}{STAMP}"
    assert Path(done.backup).read_text() == '{"a": 1}'
    assert (_mode(Path(done.backup)), _mode(settings)) == (0o640, 0o640)


@pytest.mark.parametrize("before", [None, '{"a": 1}'])
def test_symlink_is_followed(before: str | None, folder: Path, settings: Path, tmp_path: Path) -> None:
    real = tmp_path / "claude-settings"
    settings.symlink_to(real)
    if before:
        real.write_text(before)

    install.install("user", str(folder), now=NOW)
    assert "hooks" in json.loads(real.read_text())
    install.uninstall("user", str(folder))

    assert settings.is_symlink()
    assert (real.read_text() if real.exists() else None) == before
    assert _names(settings.parent) == ["settings.json"]


def _when_written(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Run *act* each time that the new content is on the disk, but not yet in its place."""
    fsync = os.fsync

    def interrupted(handle: int) -> None:
        fsync(handle)
        act()

    monkeypatch.setattr(os, "fsync", interrupted)


@pytest.mark.parametrize("there", [True, False])
def test_concurrent_edit_stops_the_install(
    there: bool, folder: Path, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if there:
        settings.write_text("{}")
    _when_written(monkeypatch, lambda: settings.write_text('{"a": 2}'))

    with pytest.raises(InstallError, match="Another program has just changed"):
        install.install("user", str(folder), now=NOW)

    assert settings.read_text() == '{"a": 2}'
    assert _names(settings.parent) == ["settings.json"]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b'{\n  "a": 1, // why\n}', r"settings\.json, line 2, column 11: .*no comments"),
        (b'{"a":\n "\xc3\xa9\xff"}', r"settings\.json: this is not UTF-8"),
        (b'\xef\xbb\xbf{"hooks": 1}', r'"hooks" must be an object'),
        (b'{"hooks": {}, "hooks": {}}', r'the key "hooks" is used twice'),
        (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", r"nested too deeply"),
    ],
)
def test_invalid_settings_are_refused(content: bytes, error: str, folder: Path, settings: Path) -> None:
    settings.write_bytes(content)
    with pytest.raises(InstallError, match=error) as caught:
        install.install("user", str(folder), now=NOW)
    assert "Correct the file, and run the command again" in str(caught.value)
    assert settings.read_bytes() == content
    assert _names(settings.parent) == ["settings.json"]


def test_broken_file_is_not_uninstalled(folder: Path, settings: Path) -> None:
    settings.write_text("{ # playbook-db")
    with pytest.raises(InstallError, match="line 1, column 3"):
        install.uninstall("user", str(folder))
    settings.write_text("{ // nothing of ours")
    assert install.uninstall("user", str(folder)) is None


def test_failed_write_leaves_no_files(folder: Path, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.write_text("{}")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(InstallError, match=r"settings\.json can't be written: Permission denied"):
        install.install("user", str(folder), now=NOW)

    assert settings.read_text() == "{}"
    assert _names(settings.parent) == ["settings.json"]


def test_write_protected_settings_are_refused(folder: Path, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replacing the file would remove the protection."""
    settings.write_text("{}")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # even root is refused

    with pytest.raises(InstallError, match="it is write-protected"):
        install.install("user", str(folder), now=NOW)

    assert settings.read_text() == "{}"


def test_path_that_json_cannot_hold_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "hooks_folder", lambda: "/opt/\udcff/hooks")

    with pytest.raises(InstallError, match=r"The path '/opt/\\udcff/hooks' isn't UTF-8"):
        install.install("user", str(folder), now=NOW)


def test_interpreter_is_no_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shim of pyenv runs another Python in each folder."""
    shim, python = tmp_path / "shim", os.path.realpath(sys.executable)
    shim.write_text("#!/bin/sh\n")
    shim.chmod(0o755)
    monkeypatch.setattr(sys, "_base_executable", str(shim))
    assert install.interpreter() == python

    monkeypatch.setattr(sys, "executable", str(shim))
    with pytest.raises(InstallError, match=f"There is no Python interpreter at {shim}"):
        install.interpreter()


def test_plugin_brings_its_programs(
    folder: Path, home: Path, settings: Path, hooks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.write_text('{"enabledPlugins": {"other@x": true, "playbook@x": true, "playbook@y": false}}')
    (folder / ".claude" / "settings.json").write_text("{")
    root = hooks.rename(hooks.with_name("hooks")).parent
    monkeypatch.setenv("PLAYBOOK_PLUGIN_ROOT", str(root))

    found = install.find_registrations(str(folder))

    assert (found.plugin, found.unreadable) == ("playbook@x", (str(folder / ".claude" / "settings.json"),))
    runtime = home / ".claude" / "playbook" / "runtime" / "bin" / "python"
    assert install.programs(str(folder)) == install.Programs(
        install.interpreter(), str(root / "hooks"), str(runtime), str(root)
    )


@pytest.mark.slow
def test_interpreter_is_outside_the_environment(tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    code = "from playbook_db.claude_code.setup import install; print(install.interpreter())"
    package = {"PYTHONPATH": str(Path(install.__file__).parents[3])}
    python = environment / "bin" / "python"
    ran = subprocess.run([python, "-c", code], env=package, capture_output=True, text=True, check=True)

    real = ran.stdout.strip()
    assert real == install.interpreter() == os.path.realpath(real)
    assert not real.startswith(str(environment))


@pytest.mark.parametrize(("scope", "counts"), [("user", True), ("project", False), ("local", False)])
def test_only_user_settings_name_programs(home: Path, folder: Path, hooks: Path, scope: str, counts: bool) -> None:
    """A clone may bring the other files."""
    python = folder / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    programs = {"python": str(python), "hooks_folder": str(hooks), "worker_python": str(python)}
    entry = {"type": "command", "command": registration.command("inject", scope=scope, **programs)}
    path = Path(registration.settings_file(scope, str(folder)))
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [entry]}]}}))

    found = install.programs(str(folder))

    assert (found.python == str(python), found.worker_python == str(python)) == (counts, counts)


def test_installed_hooks_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel has the hooks in the package, a checkout beside it."""
    package = tmp_path / "repository" / "playbook_db"
    monkeypatch.setattr(files, "_PACKAGE", str(package))
    (package / "_hooks").mkdir(parents=True)
    with pytest.raises(PlaybookError, match="lacks its hooks"):
        _find_hooks()

    for folder in (package.parent / "hooks", package / "_hooks"):
        folder.mkdir(exist_ok=True)
        (folder / "inject.py").write_text("")
        assert _find_hooks() == str(folder)
