"""`playbook stats`: text for people, JSON for programs."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from playbook_db.domain.times import timestamp
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import PlaybookRepository
from tests.cli.conftest import Playbook

_HOSTILE = "\x1b[2Jbeware </text><script>alert(1)</script> &amp; 'quotes'"


def _live_a_little(playbook: Playbook, home: Path, folder: Path, *, first_call_days_ago: int = 9) -> None:
    """Three points, votes, a session that was shown them, and calls whose cost is known."""
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
            for made, (days, cost) in enumerate(((first_call_days_ago, 1234.5), (0, 0.25)), 1):
                run(call, (number, made, cost, timestamp(now - timedelta(days=days))))


def test_numbers_for_programs_are_one_document_of_known_keys(playbook: Playbook, home: Path, folder: Path) -> None:
    """The keys are a promise; shares are of the times that a point was shown to a session."""
    _live_a_little(playbook, home, folder)

    told = playbook("stats", "--json").json

    assert {key: list(value) for key, value in told.items() if isinstance(value, dict)} == {
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
    assert list(told) == [
        "project",
        "time",
        "points",
        "use",
        "votes",
        "learning",
        "weeks",
        "revisions",
        "members",
        "file",
    ]
    assert told["project"] == str(folder)
    assert told["points"]["age"] == {"last_7_days": 2, "last_30_days": 2, "last_90_days": 2, "older": 0}
    assert told["points"]["sections"][0] == {"section": "PATTERNS & APPROACHES", "live": 2, "retired": 1}
    assert (told["use"]["shown"], told["use"]["cited_share"]) == (3702, 1 / 3702)
    assert told["use"]["most"][0] == {
        "name": "pat-003", "text": _HOSTILE, "shown": 1234, "cited": 1, "helpful": 0, "harmful": 0,
    }  # fmt: skip
    assert told["votes"] == {"helpful": 2, "harmful": 1, "neutral": 1, "unmatched": 0}
    assert told["learning"]["cost_usd_per_helpful_point"] == 1234.75
    assert list(told["weeks"][-1]) == ["monday", "helpful", "harmful", "neutral", "calls", "tokens", "cost_usd"]
    assert told["revisions"] == {"all": 8, "by_source": {"edit": 8}}
    assert list(told["file"]["tables"][0]) == ["name", "rows", "size_bytes"]


def test_numbers_for_people_are_readable_at_a_glance(playbook: Playbook, home: Path, folder: Path) -> None:
    """Fewer than 45 lines, none too long, thousands set apart, and no text that steers the terminal."""
    _live_a_little(playbook, home, folder)

    out = playbook("stats").out

    assert len(out.splitlines()) < 45
    assert max(map(len, out.splitlines())) <= 120
    assert "\x1b" not in out
    for told in (
        "2 live, 1 retired", "PATTERNS & APPROACHES  2 live  1 retired", "voted on      0  0.0%  by a session that was",
        "followed      2  0.1%  by what a session did", "ignored       1  0.0%  something that the point warns of",
        "shown     3,702        times: 3 live or retired points in 1,234 sess",
        "pat-003  shown in 1,234  cited in 1  +0 -0  \ufffd[2Jbeware", "2,469,134  $1,234.75", "revisions  edit 8",
        "$1,234.75 for each point that helps more than it harms (1)", "age        under 7 days: 2\n",
        "1 point in 1 session, since",
    ):  # fmt: skip
        assert told in out
    assert re.search(r"^file +[\d.,]+ [KM]iB for all projects$", out, re.MULTILINE)


def _show_by_prompt(home: Path, folder: Path, sessions: int, *, cited: int) -> None:
    """So many sessions come upon pat-001 by a prompt, after a start that had no room for it."""
    with open_store(f"sqlite:///{home / '.claude/playbook/playbook.db'}") as store, store.transaction() as connection:
        number = PlaybookRepository(connection, Project.in_folder(store, str(folder)).key).playbook_id
        run, now = connection.exec_driver_sql, timestamp(datetime.now(UTC))
        shown = "INSERT INTO showings VALUES (?, ?, ?, ?, 3, ?, 0, ?, ?, NULL)"
        for session in range(sessions):
            run(shown, (number, f"p-{session}", 1, "startup", "[3]", now, "SessionStart"))
            run(shown, (number, f"p-{session}", 2, "", "[1,3]", now, "UserPromptSubmit"))
        for session in range(cited):
            run("INSERT INTO citations VALUES (?, ?, 1, 1, ?)", (number, f"p-{session}", now))


def test_what_came_by_prompt_is_set_beside_what_was_shown_at_the_start(
    playbook: Playbook, home: Path, folder: Path
) -> None:
    """How many sessions were told of a point by which event first, and what part of them cited it; of fewer than twenty
    only how many there are. `why` says the same of one point."""
    _live_a_little(playbook, home, folder)
    assert "by prompt" not in playbook("stats").out

    _show_by_prompt(home, folder, 19, cited=5)

    few = playbook("stats").out
    assert re.search(r"at the start +3,721 times +cited 1 \(0.0%\) +helpful 0 \(0.0%\) +harmful 0 \(0.0%\)\n", few)
    assert re.search("by prompt +19 times +cited 5 +helpful 0 +harmful 0 +too few to compare: 20 are needed\n", few)
    record = playbook("why", "pat-001", "--json").json["by_event"]
    assert record == [
        {
            "event": event, "shown": shown, "cited": cited, "voted": 0, "helpful": 0, "harmful": 0,
            "cited_share": share, "voted_share": share, "helpful_share": share,
            "harmful_share": share,
        }
        for event, shown, cited, share in (("SessionStart", 1234, 0, 0.0), ("UserPromptSubmit", 19, 5, None))
    ]  # fmt: skip
    assert [each["event"] for each in playbook("stats", "--json").json["use"]["by_event"]] == [
        "SessionStart", "UserPromptSubmit",
    ]  # fmt: skip

    with open_store(f"sqlite:///{home / '.claude/playbook/playbook.db'}") as store, store.transaction() as connection:
        shown = "INSERT INTO showings VALUES (1, 'one more', 1, '', 3, '[1]', 0, ?, 'UserPromptSubmit', NULL)"
        connection.exec_driver_sql(shown, (timestamp(datetime.now(UTC)),))
    told = r"cited 5 \(25.0%\),? +helpful 0 \(0.0%\),? +harmful 0 \(0.0%\)\n"
    assert re.search(rf"by prompt +20 times +{told}", playbook("stats").out)
    assert re.search(
        rf"^20 sessions got it by prompt\. These sessions: {told}", playbook("why", "pat-001").out, re.MULTILINE
    )


@pytest.mark.parametrize("weeks", [1, 300])
def test_many_weeks_take_no_more_lines(playbook: Playbook, home: Path, folder: Path, weeks: int) -> None:
    """The last ones are told, and all of them together."""
    _live_a_little(playbook, home, folder, first_call_days_ago=7 * weeks)

    out = playbook("stats").out

    assert len(re.findall(r"^  20\d\d-\d\d-\d\d ", out, re.MULTILINE)) == min(weeks + 1, 6)
    assert re.search(r"in all +2 +1 +1 +2 +2,469,134 +\$1,234\.75", out)
    assert len(playbook("stats", "--json").json["weeks"]) == weeks + 1


def test_an_empty_playbook_has_numbers(playbook: Playbook) -> None:
    """They are zero, or there is none."""
    result = playbook("stats")

    assert result.code == 0
    assert "points     none yet; to add one: playbook add TEXT" in result.out
    assert "learning   nothing was learned from a session yet" in result.out
    assert playbook("stats", "--json").json["use"]["cited_share"] is None
