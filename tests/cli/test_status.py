"""`playbook status`, as text, as JSON and as a short line."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import OTHERS
from playbook_db.projects import project_key
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.cli.conftest import Playbook

SESSIONS = "for about 18 sessions with 10 prompts and 100 tool calls each"
DAY = f"; reaching the limit costs at most about $2.50 with claude-sonnet-5-5, {SESSIONS}"


def _database() -> str:
    return settings.sqlite_file(settings.database_url()) or ""


def _learn(folder: Path, *texts: str) -> None:
    with open_store(settings.database_url()) as store, store.write(project_key(str(folder))) as book:
        for text in texts:
            book.draft.add(KeyPoint(book.draft.new_name(OTHERS), text, OTHERS))
        book.commit("learn", "learned", origin=RevisionOrigin("5f1c2e1a"))


def _change(statement: str) -> None:
    with closing(sqlite3.connect(_database())) as connection, connection:
        connection.execute(statement)


def _call(key: str, *, days_ago: int = 0, agreed: int = 0) -> None:
    time = (datetime.now(UTC) - timedelta(days=days_ago)).isoformat(timespec="microseconds")
    _change(
        "INSERT INTO model_calls (playbook_id, id, kind, input_tokens, output_tokens, cached_tokens, cost_usd, "
        f"duration_ms, time, agreed) SELECT p.id, (SELECT count(*) FROM model_calls) + 1, 'reflect', 1000, 100, 10, "
        f"0.5, 1, '{time}', {agreed} FROM playbooks AS p WHERE p.key = '{key}'"
    )


@pytest.mark.parametrize("prices", ["", "10,20"])
def test_daily_limit_is_also_in_dollars(playbook: Playbook, monkeypatch: pytest.MonkeyPatch, prices: str) -> None:
    """If the price of the model is known."""
    monkeypatch.setenv("AGENTIC_CONTEXT_MODEL", "some-model")
    monkeypatch.setenv("PLAYBOOK_PRICE_PER_MTOK", prices)

    dollars = "at most about $11.00 with some-model"
    assert (f"; reaching the limit costs {dollars}, {SESSIONS}\n" in playbook("status").out) == bool(prices)
    assert (f"learning may use 1,000,000 tokens a day ({dollars}); " in playbook("install").out) == bool(prices)
    assert (f"PLAYBOOK_DAILY_TOKENS\t1000000\tdefault\t{dollars}\n" in playbook("config").out) == bool(prices)


def test_status_shows_todays_learning_and_cost(playbook: Playbook, folder: Path, home: Path) -> None:
    playbook("add", "use uv")
    _learn(folder, "say why", "say how")
    playbook("--project", str(home), "add", "of another")
    _call(str(folder))
    _call(str(folder), days_ago=2)
    _call(str(home))

    playbook("mirror", "on")
    shown, short = playbook("status"), playbook("status", "--short")
    record = playbook("status", "--json").json

    assert "points         3; a session gets 3; at revision 2\n" in shown.out
    assert ", 2 added: playbook session 5f1c2e1a\n" in shown.out
    assert "mirror         .claude/playbook.json is kept up to date\n" in shown.out
    assert f"used 2,220 of 1,000,000 tokens, for $1.00 in all projects, $0.50 in this one{DAY}" in shown.out
    assert short.out == "playbook: 3 points, learned just now\n"
    assert record["learned"]["changes"] == {"add": 2}
    assert record["learned"]["session"] == "5f1c2e1a"
    assert record["today"] == {
        "tokens": 2220, "daily_tokens": 1_000_000, "agreed_tokens": 0, "cost_usd": 0.5, "cost_usd_all_projects": 1.0,
    }  # fmt: skip


def test_bootstrap_is_counted_separately(playbook: Playbook, folder: Path) -> None:
    playbook("add", "use uv")
    _call(str(folder))
    _call(str(folder), agreed=1)

    shown = playbook("status").out
    assert "1,110 of 1,000,000 tokens and 1,110 that you allowed bootstrap, for $1.00 in all" in shown
    assert playbook("status", "--json").json["today"]["agreed_tokens"] == 1110


def test_waiting_work_has_its_reason(playbook: Playbook, folder: Path) -> None:
    playbook("add", "use uv")
    playbook("mirror", "on")
    (folder / ".claude" / "playbook.json").write_text("<<<<<<< ours\n")
    shown = playbook("status").out
    assert f"waits          {folder}/.claude/playbook.json has conflict markers" in shown
    assert "kept up to date" not in shown
    _change("UPDATE playbooks SET mirror = 'undecided'")
    (folder / ".claude" / "playbook.json").write_text("{}")
    for number, (state, error) in enumerate([("queued", "'waits: no model'")] * 2 + [("failed", "'x'")]):
        _change(
            "INSERT INTO jobs (playbook_id, id, kind, transcript_path, state, error, created_at, not_before) "
            f"VALUES (1, {number + 1}, 'learn', '{number}', '{state}', {error}, '2026', '2999')"
        )

    shown, short = playbook("status").out, playbook("status", "--short").out

    assert "queue          2 sessions waiting, 1 failed\n" in shown
    assert shown.count("waits          no model\n") == 1
    assert f"waits          {folder}/.claude/playbook.json is not in use yet." in shown
    assert short == "playbook: 1 point, 2 sessions waiting, 1 failed, see playbook status\n"


def test_plugin_names_its_own_command(playbook: Playbook, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the plugin alone, a terminal has no command `playbook`."""
    with open_store(settings.database_url()) as store, store.write(project_key(str(folder))) as book:
        book.add_proposal({"text": "one"}, "ADD", (), "outside", "s1")
    monkeypatch.setenv("PLAYBOOK_PLUGIN_ROOT", "/plugin")

    assert "proposals      1 proposal waits: /playbook:review\n" in playbook("status").out
