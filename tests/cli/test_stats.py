"""`playbook stats`: text for people, JSON for programs."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playbook_db.domain.times import timestamp
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import PlaybookRepository
from tests.cli.conftest import Playbook

_HOSTILE = "\x1b[2Jbeware </text><script>alert(1)</script> &amp; 'quotes'"


def _live_a_little(playbook: Playbook, home: Path, folder: Path) -> None:
    """Three points, votes, 1,234 sessions that saw them, and two paid calls."""
    for text in ("one", "two", _HOSTILE):
        playbook("add", text, "--section", "pat")
    for name, tag in (("pat-001", "helpful"), ("pat-001", "helpful"), ("pat-002", "harmful"), ("pat-003", "neutral")):
        playbook("vote", name, tag)
    playbook("retire", "pat-002")
    now = datetime.now(UTC)
    with open_store(f"sqlite:///{home / '.claude/playbook/playbook.db'}") as store:
        project = Project.in_folder(store, str(folder))
        with store.transaction() as connection:
            number = PlaybookRepository(connection, project.key).playbook_id
            run = connection.exec_driver_sql
            shown = "INSERT INTO showings VALUES (?, ?, 1, 'startup', 3, '[1, 2, 3]', 0, ?, 'SessionStart', NULL)"
            for session in range(1, 1235):
                run(shown, (number, f"s-{session}", timestamp(now)))
            run("INSERT INTO citations VALUES (?, 's-1', 3, 1, ?)", (number, timestamp(now)))
            for row in (("s-1", 3, 1, 0), ("s-2", 3, 1, 4)):  # the session, the point, followed, ignored
                run("INSERT INTO trials VALUES (?, ?, ?, 0, ?, ?, 0, ?)", (number, *row, timestamp(now)))
            call = "INSERT INTO model_calls VALUES (?, ?, 'reflect', 's-1', 'm', 1000000, 234567, 0, ?, 5, ?, 0)"
            for made, (days, cost) in enumerate(((9, 1234.5), (0, 0.25)), 1):
                run(call, (number, made, cost, timestamp(now - timedelta(days=days))))


def test_json_has_documented_keys(playbook: Playbook, home: Path, folder: Path) -> None:
    _live_a_little(playbook, home, folder)

    found = playbook("stats", "--json").json

    assert {key: list(value) for key, value in found.items() if isinstance(value, dict)} == {
        "points": ["live", "retired", "sections", "age"],
        "use": [
            "shown_since", "cited_since", "sessions_shown", "sessions_citing", "points_shown", "points_cited", "shown",
            "followed", "cited", "ignored", "voted", "helpful", "harmful", "most", "least", "by_event", "cited_share",
            "voted_share", "helpful_share", "harmful_share",
        ],
        "votes": ["helpful", "harmful", "neutral", "unmatched"],
        "learning": [
            "sessions", "chunks", "calls", "input_tokens", "output_tokens", "cached_tokens", "cost_usd", "unpriced",
            "helpful_points", "tokens", "cost_usd_per_helpful_point",
        ],
        "revisions": ["all", "by_source"],
        "file": ["size_bytes", "tables", "backups"],
    }  # fmt: skip
    assert {*found} == {
        *["project", "time", "points", "use", "votes", "learning", "weeks", "revisions", "members", "file"]
    }
    assert found["project"] == str(folder)
    assert found["points"]["age"] == {"last_7_days": 2, "last_30_days": 2, "last_90_days": 2, "older": 0}
    assert found["points"]["sections"][0] == {"section": "PATTERNS & APPROACHES", "live": 2, "retired": 1}
    assert list(found["use"]["most"][0]) == ["name", "text", "shown", "cited", "helpful", "harmful"]
    assert list(found["weeks"][-1]) == ["monday", "helpful", "harmful", "neutral", "calls", "tokens", "cost_usd"]
    assert list(found["file"]["tables"][0]) == ["name", "rows", "size_bytes"]


def test_text_is_short_and_harmless(playbook: Playbook, home: Path, folder: Path) -> None:
    _live_a_little(playbook, home, folder)

    out = playbook("stats").out

    assert len(out.splitlines()) < 45
    assert max(map(len, out.splitlines())) <= 120
    assert "\x1b" not in out
    for found in (
        "shown     3,702        times: 3 live or retired points in 1,234 sess", "2,469,134  $1,234.75",
        "pat-003  shown in 1,234  cited in 1  +0 -0  \ufffd[2Jbeware",
    ):  # fmt: skip
        assert found in out
    assert re.search(r"^file +[\d.,]+ [KM]iB for all projects$", out, re.MULTILINE)


def _show_by_prompt(home: Path, folder: Path, sessions: range, cited: int = 0) -> None:
    """Show pat-001 with a prompt to *sessions*, after a start that left it out."""
    with open_store(f"sqlite:///{home / '.claude/playbook/playbook.db'}") as store, store.transaction() as connection:
        number = PlaybookRepository(connection, Project.in_folder(store, str(folder)).key).playbook_id
        run, now = connection.exec_driver_sql, timestamp(datetime.now(UTC))
        shown = "INSERT INTO showings VALUES (?, ?, ?, ?, 3, ?, 0, ?, ?, NULL)"
        for session in sessions:
            run(shown, (number, f"p-{session}", 1, "startup", "[3]", now, "SessionStart"))
            run(shown, (number, f"p-{session}", 2, "", "[1,3]", now, "UserPromptSubmit"))
        for session in range(cited):
            run("INSERT INTO citations VALUES (?, ?, 1, 1, ?)", (number, f"p-{session}", now))


def test_prompts_and_starts_are_compared(playbook: Playbook, home: Path, folder: Path) -> None:
    """Rates need at least 20 sessions. `why` shows them for one point."""
    _live_a_little(playbook, home, folder)
    assert "by prompt" not in playbook("stats").out

    _show_by_prompt(home, folder, range(19), cited=5)

    few = playbook("stats").out
    assert re.search(r"at the start +3,721 times +cited 1 \(0.0%\) +helpful 0 \(0.0%\) +harmful 0 \(0.0%\)\n", few)
    assert re.search("by prompt +19 times +cited 5 +helpful 0 +harmful 0 +too few to compare: 20 are needed\n", few)
    record = playbook("why", "pat-001", "--json").json["by_event"]
    assert [(each["event"], each["shown"], each["cited"], each["cited_share"]) for each in record] == [
        ("SessionStart", 1234, 0, 0.0), ("UserPromptSubmit", 19, 5, None),
    ]  # fmt: skip

    _show_by_prompt(home, folder, range(19, 20))
    rates = r"cited 5 \(25.0%\),? +helpful 0 \(0.0%\),? +harmful 0 \(0.0%\)\n"
    assert re.search(rf"by prompt +20 times +{rates}", playbook("stats").out)
    assert re.search(rf"\n20 sessions got it by prompt\. These sessions: {rates}", playbook("why", "pat-001").out)
