"""`playbook stats`: text for people, JSON for programs, a picture for both."""

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.cells import cell_len

from playbook_db.domain.times import timestamp
from playbook_db.services.project import Project
from playbook_db.services.reading.trends import MOST_BARS
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.repository import PlaybookRepository
from tests.cli.conftest import Playbook

_SVG = "{http://www.w3.org/2000/svg}"
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
            shown = "INSERT INTO injections VALUES (?, ?, 1, 'startup', 3, '[1, 2, 3]', 0, ?, 'SessionStart', NULL)"
            for session in range(1, 1235):
                run(shown, (number, f"s-{session}", timestamp(now)))
            run("INSERT INTO citations VALUES (?, 's-1', 3, 1, ?)", (number, timestamp(now)))
            call = "INSERT INTO model_calls VALUES (?, ?, 'reflect', 's-1', 'm', 1000000, 234567, 0, ?, 5, ?, 0)"
            for made, (days, cost) in enumerate(((first_call_days_ago, 1234.5), (0, 0.25)), 1):
                run(call, (number, made, cost, timestamp(now - timedelta(days=days))))


def _drawn(path: Path) -> ElementTree.Element:
    return ElementTree.fromstring(path.read_bytes())  # noqa: S314 - our own


def _texts(picture: ElementTree.Element, key: str) -> list[str]:
    """All texts of one chart, with those that appear where somebody points at a column."""
    (chart,) = (each for each in picture.iter(f"{_SVG}g") if each.get("id") == key)
    return [each.text for each in chart.iter() if each.text and each.tag in (f"{_SVG}text", f"{_SVG}title")]


def test_numbers_for_programs_are_one_document_of_known_keys(playbook: Playbook, home: Path, folder: Path) -> None:
    """The keys are a promise; shares are of the times that a point was shown to a session."""
    _live_a_little(playbook, home, folder)

    told = playbook("stats", "--json").json

    assert {key: list(value) for key, value in told.items() if isinstance(value, dict)} == {
        "points": ["live", "retired", "sections", "age"],
        "use": [
            "shown_since", "cited_since", "sessions_shown", "sessions_citing", "points_shown", "points_cited", "shown",
            "cited", "voted", "helpful", "harmful", "most", "least", "by_event", "cited_share", "voted_share",
            "helpful_share", "harmful_share",
        ],
        "votes": ["helpful", "harmful", "neutral", "unmatched"],
        "learning": [
            "sessions", "chunks", "calls", "input_tokens", "output_tokens", "cached_tokens", "cost_usd", "unpriced",
            "helpful_points", "tokens", "cost_usd_per_helpful_point",
        ],
        "revisions": ["all", "by_source"],
        "holdout": [
            "since", "until", "sessions_held_out", "sessions_shown", "is_enough", "confidence", "measures",
        ],
        "holdout_points": ["trials", "needed", "difference", "low", "high", "detectable"],
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
        "holdout",
        "holdout_points",
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
        shown = "INSERT INTO injections VALUES (?, ?, ?, ?, 3, ?, 0, ?, ?, NULL)"
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
        shown = "INSERT INTO injections VALUES (1, 'one more', 1, '', 3, '[1]', 0, ?, 'UserPromptSubmit', NULL)"
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


def test_an_empty_playbook_has_numbers_and_a_picture(playbook: Playbook, folder: Path) -> None:
    """A chart without values says so and has no axis. The file has a size."""
    result = playbook("stats", "--svg", "empty.svg")

    assert result.code == 0
    assert "points     none yet; to add one: playbook add TEXT" in result.out
    assert "learning   nothing was learned from a session yet" in result.out
    assert (folder / "empty.svg").read_text().count("nothing yet") == 4
    assert _texts(_drawn(folder / "empty.svg"), "points") == ["Points over time", "nothing yet"]
    assert playbook("stats", "--json").json["use"]["cited_share"] is None


def test_the_picture_holds_the_numbers_of_the_json(playbook: Playbook, home: Path, folder: Path) -> None:
    """Each chart shows what `--json` says."""
    _live_a_little(playbook, home, folder)

    result = playbook("stats", "--json", "--svg", "numbers.svg")

    told, picture = result.json, _drawn(folder / "numbers.svg")
    assert result.err == "playbook: drew numbers.svg\n"
    votes = _texts(picture, "votes")
    for week in told["weeks"]:
        assert f"{week['monday']}: {week['helpful']:,} helpful, {week['harmful']:,} harmful" in votes
    assert f"{datetime.now(UTC):%Y-%m-%d}: {told['points']['live']}" in _texts(picture, "points")
    use = told["use"]
    counts = ", ".join(f"{use[name]:,} {name}" for name in ("shown", "cited", "helpful", "harmful"))
    assert any(text.endswith(f": {counts}") for text in _texts(picture, "uses"))
    costs = [float(text.partition("$")[2].replace(",", "")) for text in _texts(picture, "cost") if ": $" in text]
    assert sum(costs) == told["learning"]["cost_usd"]


def test_the_picture_asks_nothing_of_the_network_and_runs_nothing(playbook: Playbook, home: Path, folder: Path) -> None:
    """One document, whole in itself: no script, no style sheet, font or picture from elsewhere; ids are unique."""
    _live_a_little(playbook, home, folder)
    playbook("stats", "--svg", "numbers.svg")

    text = (folder / "numbers.svg").read_text()
    elements = list(_drawn(folder / "numbers.svg").iter())

    assert {each.tag.removeprefix(_SVG) for each in elements} <= {
        "svg", "title", "rect", "text", "g", "style", "path",
    }  # fmt: skip
    attributes = [(name, value) for each in elements for name, value in each.attrib.items()]
    assert not [name for name, _ in attributes if "href" in name or name.startswith("on")]
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\(|<\?xml-stylesheet|<!DOCTYPE", text)
    ids = [value for name, value in attributes if name == "id"]
    assert len(ids) == len(set(ids)) == 4


def test_a_projects_name_is_a_text_in_the_picture(playbook: Playbook, tmp_path: Path) -> None:
    """Whatever characters its folder has; and the picture says of which day it is."""
    folder = tmp_path / "<script>alert('&amp;') \x1b[2J\x07"
    folder.mkdir(parents=True)

    assert playbook("stats", "--project", str(folder), "--svg", str(tmp_path / "named.svg")).code == 0

    picture = _drawn(tmp_path / "named.svg")
    first, second = (each.text or "" for each in picture.findall(f"{_SVG}text"))
    assert first.endswith("/<script>alert('&amp;') \ufffd[2J\ufffd")
    assert second.startswith(f"{datetime.now(UTC):%Y-%m-%d} · ")


@pytest.mark.parametrize("folder", ["x" * 200, "目录" * 40])
def test_a_long_path_is_told_by_its_end(playbook: Playbook, tmp_path: Path, folder: str) -> None:
    """As much of it as there is room for, also where a character takes two columns."""
    (tmp_path / folder).mkdir()

    assert playbook("stats", "--project", str(tmp_path / folder), "--svg", str(tmp_path / "named.svg")).code == 0

    title = _drawn(tmp_path / "named.svg").find(f"{_SVG}text")
    assert title is not None
    assert (title.text or "").startswith("The playbook of …")
    assert cell_len(title.text or "") == len("The playbook of …") + 80
    assert (title.text or "").endswith(folder[-40:])


def test_more_than_a_years_weeks_are_drawn_as_months(playbook: Playbook, home: Path, folder: Path) -> None:
    """Bars stay wide enough to be seen, and nothing is left out."""
    _live_a_little(playbook, home, folder, first_call_days_ago=7 * MOST_BARS)
    playbook("stats", "--svg", "years.svg")

    votes = _texts(_drawn(folder / "years.svg"), "votes")

    assert "Helpful and harmful by month" in votes
    assert {"0 helpful, 0 harmful", "2 helpful, 1 harmful"} <= {text.partition(": ")[2] for text in votes}


def test_a_picture_that_can_not_be_written_leaves_the_old_one(
    playbook: Playbook, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole or not at all; a folder that isn't there is named."""
    playbook("stats", "--svg", "numbers.svg")
    before = (folder / "numbers.svg").read_bytes()
    nowhere = playbook("stats", "--svg", "nowhere/numbers.svg")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    full = playbook("stats", "--svg", "numbers.svg")

    assert (nowhere.code, nowhere.out) == (2, "")
    assert "nowhere/numbers.svg can't be written" in nowhere.err
    assert "numbers.svg can't be written: No space left on device" in full.err
    assert (folder / "numbers.svg").read_bytes() == before
    assert [path.name for path in folder.iterdir() if path.is_file()] == ["numbers.svg"]


def test_without_jinja_a_picture_is_refused_with_the_way_to_it(
    playbook: Playbook, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A known error that names the package and the extra; the numbers alone need nothing of it."""
    for name in ("page_request", "numbers"):
        monkeypatch.delitem(sys.modules, f"playbook_db.web.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "jinja2", None)

    result = playbook("stats", "--svg", "numbers.svg")

    assert (result.code, result.out) == (1, "")
    assert "A picture needs jinja2, which isn't installed" in result.err
    assert "'.[web]' in a checkout" in result.err
    assert not (folder / "numbers.svg").exists()
    assert playbook("stats", "--json").code == 0


def test_a_lost_module_of_ours_is_a_bug_and_no_missing_extra(
    playbook: Playbook, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No install would bring it."""
    monkeypatch.setitem(sys.modules, "playbook_db.web.numbers", None)

    result = playbook("stats", "--svg", "numbers.svg")

    assert result.code == 3
    assert "'.[web]'" not in result.err


def _hold_out(playbook: Playbook, home: Path, folder: Path, *, held_out: int, shown: int) -> None:
    """So many sessions with the playbook, which fail less often, and without it."""
    playbook("add", "one")
    with open_store(f"sqlite:///{home / '.claude/playbook/playbook.db'}") as store, store.transaction() as connection:
        number = PlaybookRepository(connection, Project.in_folder(store, str(folder)).key).playbook_id
        for session in range(held_out + shown):
            is_held_out = session % ((held_out + shown) // held_out) == 0 and session // held_out < held_out
            given = (number, f"s-{session}", "[]" if is_held_out else "[1]", f"2026-03-01T00:00:00.{session:06d}+00:00")
            run = connection.exec_driver_sql
            run("INSERT INTO injections VALUES (?, ?, 1, 'startup', 1, ?, 0, ?, 'SessionStart', NULL)", given)
            failed = session % 3 + (4 if is_held_out else 0)
            run("INSERT INTO session_outcomes VALUES (?, ?, 20, ?, 0, 5, 1234567, '2026')", (*given[:2], failed))


def test_sessions_with_and_without_the_playbook_are_compared(playbook: Playbook, home: Path, folder: Path) -> None:
    """In words that claim no more than there is."""
    _hold_out(playbook, home, folder, held_out=25, shown=75)

    lines = playbook("stats").out.splitlines()

    at = next(number for number, line in enumerate(lines) if line.startswith("compared"))
    assert "25 sessions without the playbook, 72 with it, 2026-03-01 to 2026-03-01" in lines[at]
    assert re.fullmatch(
        r"  failed tool calls +[45]\.\d +[01]\.\d +-4\.\d +-4\.\d to -3\.\d +fewer with the playbook", lines[at + 2]
    )
    assert re.fullmatch(r"  turns +5.0 +5.0 +\+0.0 +\+0.0 to \+0.0 +no clear difference", lines[at + 4])
    assert lines[at + 5].split()[:3] == ["tokens", "1,234,567", "1,234,567"]
    assert "no proof" in lines[at + 7]


def test_too_few_sessions_to_compare_are_called_so(playbook: Playbook, home: Path, folder: Path) -> None:
    """There is no interval then; where no session was held out nothing is said."""
    playbook("add", "one")
    assert "HOLDOUT" not in playbook("stats").out
    _hold_out(playbook, home, folder, held_out=10, shown=90)

    text = playbook("stats").out

    assert "10 sessions without the playbook" in text
    assert text.count("too few sessions") == 5
    assert "20 of each are needed" in text
    assert playbook("stats", "--json").json["holdout"]["measures"]["turns"]["low"] is None


def _hold_back(playbook: Playbook, home: Path, folder: Path, sessions: int) -> None:
    """So many sessions from which one of three points is held back, in turn. It goes wrong in four of five of them, and
    the next point in the fifth. A fourth point is pinned. Another session can hold nothing back."""
    for text in ("one", "two", "three", "four"):
        playbook("add", text)
    playbook("pin", "oth-004")
    with open_store(f"sqlite:///{home / '.claude/playbook/playbook.db'}") as store, store.transaction() as connection:
        number = PlaybookRepository(connection, Project.in_folder(store, str(folder)).key).playbook_id
        run = connection.exec_driver_sql
        for session in range(sessions + 1):
            held = session % 3 + 1
            shown = [point for point in (1, 2, 3, 4) if point != held]
            lists = (str(shown), f"[{held}]" if session < sessions else None)
            given = (number, f"s-{session}", lists[0], f"2026-03-01T00:00:00.{session:06d}+00:00", lists[1])
            run("INSERT INTO injections VALUES (?, ?, 1, 'startup', 1, ?, 0, ?, 'SessionStart', ?)", given)
            for point in (1, 2, 3, 4):
                wrong = session % 5 > 0 if point == held else point == held % 3 + 1 and session % 5 == 0
                row = (number, f"s-{session}", point, point == held and session < sessions, 2 * wrong or point == 4)
                run("INSERT INTO trials VALUES (?, ?, ?, ?, 0, ?, 0, '2026-03-01')", row)


def test_points_that_were_held_back_are_compared_with_those_shown(playbook: Playbook, home: Path, folder: Path) -> None:
    """30 were held back and 24 went wrong, 60 were shown and 6 did. In each session one was, and two weren't: 24 times
    a difference of -1, 6 times of +1/2. Pinned points and sessions that can hold nothing back don't count."""
    assert "held back" not in playbook("stats").out
    _hold_back(playbook, home, folder, 30)

    told = playbook("stats", "--json").json["holdout_points"]

    counts = {"held_back": 30, "held_back_wrong": 24, "shown": 60, "shown_wrong": 6}
    mean, variance = -0.7, (24 * 0.3**2 + 6 * 1.2**2) / 29
    half = 2.0452 * (variance / 30) ** 0.5
    assert told["trials"] == counts
    assert (told["difference"], told["low"], told["high"]) == pytest.approx((mean, mean - half, mean + half), abs=1e-4)
    lines = playbook("stats").out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("held back"))
    assert lines[at + 1] == "  24 of 30 went wrong without the point, 6 of 60 with it"
    assert re.fullmatch(r"  the difference is -70.0% \(95% interval -92.8% to -47.2%\); such .*", lines[at + 2])


def test_a_point_s_own_interval_is_in_its_history(playbook: Playbook, home: Path, folder: Path) -> None:
    """10 of its 30 sessions didn't get it. A point that was never held back has none."""
    _hold_back(playbook, home, folder, 30)

    said = playbook("why", "oth-001").out.splitlines()

    assert "8 of 10 went wrong without the point, 2 of 20 with it." in said
    assert any(re.fullmatch(r"The difference is -61.4% \(95% interval -.*", line) for line in said)
    assert playbook("why", "oth-001", "--json").json["holdout"]["trials"]["held_back_wrong"] == 8
    assert playbook("why", "oth-004", "--json").json["holdout"] is None
    assert "without the point" not in playbook("why", "oth-004").out
