"""`playbook doctor`: it tries everything, and prints each fault with its remedy."""

import json
import re
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from playbook_db import settings
from playbook_db.claude_code import plugin_env
from playbook_db.claude_code.setup import doctor, install
from playbook_db.services import maintenance
from tests import postgres
from tests.cli.conftest import Playbook, Result
from tests.messages_api import Answer, MessagesApi

pytestmark = [pytest.mark.slow, pytest.mark.allow_hosts(["127.0.0.1"])]  # starts processes, and an API

Findings = Callable[[], dict[str, list[dict[str, Any]]]]


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """Replaces the fixture for all tests, which allows no socket; here the mark `allow_hosts` limits them."""


@pytest.fixture
def findings(playbook: Playbook, quick_doctor: None) -> Findings:
    """Runs doctor, and returns its findings by subject."""

    def examine() -> dict[str, list[dict[str, Any]]]:
        done = playbook("doctor", "--json")
        found: dict[str, list[dict[str, Any]]] = {}
        for finding in done.json["findings"]:
            found.setdefault(finding["about"], []).append(finding)
        broken = _broken(found)
        assert (done.code == 1) == bool(broken) == (not done.json["ok"])
        assert all(finding["remedy"] for finding in broken)
        return found

    return examine


def _broken(found: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [finding for each in found.values() for finding in each if finding["state"] == "broken"]


def _database(home: Path) -> Path:
    return home / ".claude" / "playbook" / "playbook.db"


def test_wrong_search_index_needs_no_repair(playbook: Playbook, findings: Findings) -> None:
    playbook("init")
    playbook("add", "use ruff")
    with closing(sqlite3.connect(settings.sqlite_file(settings.database_url()) or "")) as connection, connection:
        connection.execute("INSERT INTO point_search (rowid, name, text) VALUES (7, 'oth-007', 'nobody said this')")

    (database,) = findings()["database"]

    assert "the full-text index doesn't match the points" in database["message"]
    assert database["remedy"] == "playbook db check --rebuild-search"


@pytest.mark.parametrize(
    ("versions", "state", "words"),
    [
        ("3.13.0 3.51.3 False", "broken", "without FTS5; 3.37 or later with FTS5 is needed"),
        ("3.13.0 3.51.2 True", "note", "can damage a database if different programs write"),
        ("3.9.0 3.36.0 True", "broken", "3.37 or later with FTS5 is needed"),
    ],
)
def test_old_sqlite_is_reported(
    findings: Findings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, versions: str, state: str, words: str
) -> None:
    python = tmp_path / "python"
    answers = f'*pragma_module_list*) echo {versions};; *) exec "{sys.executable}" "$@";;'
    python.write_text(f'#!/bin/sh\ncase "$*" in {answers} esac\n')
    python.chmod(0o755)
    programs = install.Programs(str(python), str(Path(doctor.__file__).parents[3]), sys.executable)
    monkeypatch.setattr(install, "programs", lambda _: programs)

    (interpreter,) = findings()["interpreter"]

    assert interpreter["state"] == state
    assert words in interpreter["message"]
    assert interpreter["remedy"]


@pytest.fixture
def well(playbook: Playbook, home: Path, quick_doctor: None) -> None:
    """A database with a point, and registered hooks."""
    playbook("add", "use type hints")
    assert playbook("install").code == 0


@pytest.mark.usefixtures("well")
def test_doctor_runs_the_hooks_and_leaves_nothing(findings: Findings, home: Path) -> None:
    """Neither a job nor a showing is left."""
    found = findings()

    assert not _broken(found)
    assert "shows 1 point in" in found["inject"][0]["message"]
    assert found["remind"][0]["message"].startswith("searches points for prompts")
    assert found["tool"][0]["message"].startswith("searches points for files")
    assert found["enqueue"][0]["message"].startswith("records a session's end; takes ")
    assert "SQLite" in found["interpreter"][0]["message"]
    with closing(sqlite3.connect(_database(home))) as connection:
        assert connection.execute("SELECT count(*) FROM jobs").fetchone() == (0,)
        assert connection.execute("SELECT count(*) FROM showings").fetchone() == (0,)


def test_new_machine_gets_first_steps(findings: Findings) -> None:
    """A missing database isn't a fault; missing hooks are."""
    found = findings()

    assert found["database"][0]["message"].endswith("doesn't exist yet; the first point or session creates it")
    assert found["inject"][0]["message"].startswith("shows nothing;")
    assert (found["hooks"][0]["state"], found["hooks"][0]["remedy"]) == ("broken", "playbook install")


@pytest.mark.usefixtures("well")
def test_damaged_database_is_broken(findings: Findings, home: Path) -> None:
    path = _database(home)
    path.write_bytes(b"nothing that SQLite wrote" * 100)

    found = findings()

    assert str(path) in found["database"][0]["message"]
    assert found["database"][0]["state"] == "broken"
    assert found["inject"][0]["state"] == "broken"
    assert "file is not a database" in found["inject"][0]["message"]
    assert not (home / ".claude" / "playbook" / "logs" / "hooks.log").exists()


@pytest.mark.usefixtures("well")
def test_locked_database_is_broken(findings: Findings, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "LOCK_WAIT_S", 0.1)
    with closing(sqlite3.connect(_database(home), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        found = findings()

    assert [finding["state"] for finding in found["database"]] == ["broken", "ok"]
    assert "locked" in found["database"][1]["message"]


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda text: text.replace("PreCompact", "PreCompaction"), "lacks PreCompact"),
        (lambda text: text.replace("/inject.py", "/gone.py"), "names a program that is gone"),
        (lambda text: text[:-5], "can't be read"),
        (lambda text: text.replace("{", '{"disableAllHooks": true,', 1), "turns all hooks off"),
    ],
)
@pytest.mark.usefixtures("well")
def test_settings_that_stop_hooks_are_broken(
    findings: Findings, home: Path, edit: Callable[[str], str], words: str
) -> None:
    path = home / ".claude" / "settings.json"
    path.write_text(edit(path.read_text()))

    found = findings()

    broken = [finding["message"] for finding in _broken(found) if finding["about"] in ("hooks", "settings")]
    assert any(words in each and str(path.parent.parent) in each for each in broken), broken


def test_doctor_counts_all_registrations(
    findings: Findings, playbook: Playbook, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the older system, too."""
    monkeypatch.setattr(doctor, "_CHECKS", {"hooks": doctor._registrations})
    old = home / ".claude" / "hooks"
    old.mkdir(parents=True)
    (old / "common.py").write_text("def load_playbook(): ...")
    hook = {"hooks": [{"type": "command", "command": f"python3 {old}/session_end.py"}]}
    settings_file = home / ".claude" / "settings.json"
    settings_file.write_text(json.dumps({"enabledPlugins": {"playbook@us": True}, "hooks": {"SessionEnd": [hook]}}))
    playbook("install")
    monkeypatch.setenv("PLAYBOOK_DISABLE", "1")

    found = findings()

    assert [each["message"] for each in found["plugin"]] == ["playbook@us is in use"]
    beginnings = [f"registered in {settings_file}", "registered more", f"{settings_file} has the older", "PLAYBOOK_D"]
    messages = [each["message"] for each in found["hooks"]]
    assert [text for text, begins in zip(messages, beginnings, strict=True) if not text.startswith(begins)] == []


def test_failed_set_up_of_the_plugin_is_broken(findings: Findings, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_CHECKS", {"worker": doctor._worker})
    monkeypatch.setattr("playbook_db.claude_code.worker.is_at_work", lambda: True)
    monkeypatch.setenv("PLAYBOOK_PLUGIN_ROOT", str(Path(__file__).parents[2]))
    (home / ".claude" / "playbook").mkdir(parents=True)
    (home / ".claude" / "settings.json").write_text('{"enabledPlugins": {"playbook@us": true}}')
    fresh = findings()["worker"]
    state = {"state": "failed", "error": "no route to host", "at": 0}
    (home / ".claude" / "playbook" / "runtime.json").write_text(json.dumps(state))

    failed, running = findings()["worker"]

    assert [each["state"] for each in (*fresh, failed, running)] == ["ok", "note", "broken", "ok"]
    assert running["message"] == "a worker is running now"
    assert "could not be set up" in failed["message"]
    assert re.search(r"setup\.py'? --now$", failed["remedy"])


@pytest.mark.nightly
def test_plugin_checks_its_own_environment(
    findings: Findings, playbook: Playbook, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(__file__).parents[2]
    runtime = home / ".claude" / "playbook" / "runtime"
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".claude" / "settings.json").write_text('{"enabledPlugins": {"playbook@playbook-db": true}}')
    monkeypatch.setenv("PLAYBOOK_PLUGIN_ROOT", str(root))
    playbook("add", "one")
    (runtime / "bin").mkdir(parents=True)
    (runtime / "bin" / "python").symlink_to(sys.executable)
    runtime.with_suffix(".json").write_text(json.dumps({"state": "ready", "made_for": plugin_env._made_for(str(root))}))
    monkeypatch.setattr(plugin_env, "ROOT", str(tmp_path))  # as an installed package, without pyproject.toml

    found = findings()

    assert not _broken(found)
    assert "environment is ready" in found["worker"][0]["message"]
    assert found["worker"][1]["message"] == f"{runtime}/bin/python can run the worker"
    monkeypatch.delenv("PLAYBOOK_PLUGIN_ROOT")
    found = findings()
    assert not _broken(found)
    assert "run its own /playbook:doctor" in found["worker"][0]["message"]


@pytest.mark.nightly
@pytest.mark.usefixtures("well")
def test_server_database_needs_a_team(findings: Findings, playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks connect to no server."""
    postgres.require_server()
    url = postgres.new_database()
    monkeypatch.setenv("PLAYBOOK_DB_URL", str(url))

    playbook("add", "use type hints")
    found = findings()
    status = playbook("status").out
    playbook("work")
    postgres.drop_database(url)
    gone = findings()

    where = maintenance.location(str(url))
    assert found["database"][1]["remedy"] == f"unset PLAYBOOK_DB_URL; playbook team join {quote(where)}"
    assert "which hooks don't ask" in found["database"][1]["message"]
    assert found["inject"][0]["message"].startswith("shows nothing;")
    assert {finding["state"] for each in found.values() for finding in each} == {"ok", "note"}
    assert "1; a session gets none, since hooks don't connect to a server: playbook doctor" in status
    assert [finding["state"] for finding in gone["database"]] == ["broken", "note"]


def _let_hooks_print(output: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make doctor run hooks in *folder* that only print *output*."""
    for name in ("inject", "enqueue", "remind", "tool"):
        (folder / f"{name}.py").write_text(f"print({output!r})")
    programs = install.Programs(sys.executable, str(folder), sys.executable)
    monkeypatch.setattr(install, "programs", lambda _: programs)


@pytest.mark.usefixtures("well")
def test_hook_with_wrong_output_is_broken(
    findings: Findings, playbook: Playbook, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _let_hooks_print("{}", tmp_path, monkeypatch)

    (finding,) = findings()["inject"]
    playbook("retire", "oth-001")
    (empty,) = findings()["inject"]
    _let_hooks_print("'x'", tmp_path, monkeypatch)
    (remind,) = findings()["remind"]

    assert (finding["state"], "though there are points: 1" in finding["message"]) == ("broken", True)
    assert (remind["state"], "not a JSON object" in remind["message"]) == ("broken", True)
    assert (empty["state"], empty["message"].partition(";")[0]) == ("ok", "shows nothing")


def _model_access(done: Result) -> dict[str, Any]:
    (found,) = (finding for finding in done.json["findings"] if finding["about"] == "model access")
    return found


@pytest.mark.nightly(after=1)
@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [("ok", "ok", "answered in"), (Answer("invalid x-api-key", status=401), "broken", "401 invalid x-api-key")],
)
@pytest.mark.usefixtures("quick_doctor")
def test_online_asks_the_model(
    playbook: Playbook, monkeypatch: pytest.MonkeyPatch, answer: Answer | str, state: str, words: str
) -> None:
    """Without it, doctor says that nothing was tested."""
    with MessagesApi(answer) as api:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", api.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-test")
        monkeypatch.setenv("ANTHROPIC_MODEL", "opus")
        offline = _model_access(playbook("doctor", "--json"))
        assert api.messages() == []
        online = _model_access(playbook("doctor", "--online", "--json"))
        (asked,) = api.messages()

    assert offline["state"] == "ok"
    assert offline["message"].startswith(f"configured, but not tested: claude-opus-5-5 at {api.url}")
    assert (online["state"], words in online["message"]) == (state, True)
    assert online["remedy"] == ("playbook config" if state == "broken" else "")
    assert (asked.body["max_tokens"], len(asked.said) < 50) == (100, True)


@pytest.mark.usefixtures("well")
def test_verdict_comes_first(playbook: Playbook, home: Path) -> None:
    well = playbook("doctor")
    notes = well.out.count("\nnote ")
    playbook("project", "ignore")
    noted = playbook("doctor").out.splitlines()
    (home / ".claude" / "settings.json").unlink()
    broken = playbook("doctor")

    assert (well.code, well.out.splitlines()[0][:11]) == (0, "all is well")
    assert noted[0] == f"all is well; {notes + 1} note{'s' * (notes > 0)}"
    assert "        -> playbook project ignore --off" in noted[-4:]
    assert broken.code == 1
    verdict, problem, remedy, *_ = broken.out.splitlines()
    assert verdict.startswith(f"1 problem; {notes + 1} note")
    assert problem.startswith("BROKEN  hooks: not registered")
    assert remedy == "        -> playbook install"
