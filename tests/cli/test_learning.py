"""learn, bootstrap, jobs, sessions, why."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.claude_code.hooks.hook_runner import session_folder_name
from playbook_db.services.learning import queue
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, read_playbook
from playbook_db.store.engine import open_store
from tests.cli.conftest import Playbook
from tests.learning.conftest import Answer, MessagesApi, Rule, answers, curation, is_reflector, model_at, reflection
from tests.messages_api import Usage
from tests.transcripts import TranscriptBuilder

pytestmark = [pytest.mark.slow, pytest.mark.allow_hosts(["127.0.0.1"])]
ADD = {"type": "ADD", "text": "say what was run", "section": "USER PREFERENCES"}
GOOD = answers(reflection(("pat-001", "helpful")), curation(ADD))
HELPFUL = answers(reflection(("pat-001", "helpful")), curation())


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """Replaces the fixture that forbids sockets; the mark `allow_hosts` allows loopback."""


@pytest.fixture(autouse=True)
def _point(folder: Path, home: Path) -> None:
    """Adds the point that the model votes on, pat-001."""
    with open_store(settings.database_url()) as store:
        edit.add(Project.in_folder(store, str(folder)), "run the tests first", section="PATTERNS & APPROACHES")


@pytest.fixture
def sessions_folder(folder: Path) -> Path:
    made = Path(settings.claude_dir(), "projects", session_folder_name(str(folder)))
    made.mkdir(parents=True)
    return made


def _session(path: Path, *said: str, minutes_old: int = 0, cited: str = "[pat-001]") -> str:
    built = TranscriptBuilder(path.stem)
    for text in said:
        built.user(f"{text} first, and say what it was")
        built.assistant(f"Following {cited}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    built.write(path)
    then = path.stat().st_mtime - 60 * minutes_old
    os.utime(path, (then, then))
    return str(path)


def _queue(folder: Path, path: str) -> None:
    with open_store(settings.database_url()) as store:
        queue.take_in(store, Project.in_folder(store, str(folder)).key, {"transcript_path": path, "session_id": "s-1"})


def _helpful(folder: Path) -> int:
    with open_store(settings.database_url()) as store:
        return read_playbook(Project.in_folder(store, str(folder))).by_name["pat-001"].helpful


def _asked_about(api: MessagesApi, *said: str) -> list[str]:
    """Which of *said* the reflector was asked about, in order."""
    asked = [request.last_said for request in api.messages() if is_reflector(request)]
    return [next(text for text in said if text in prompt) for prompt in asked]


def test_transcript_is_learned_from_once(playbook: Playbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal shows how far it is."""
    path = _session(tmp_path / "s-1.jsonl", "mend the bug")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with MessagesApi(*GOOD) as api:
        model_at(api, monkeypatch)
        first = playbook("learn", path)
        second = playbook("learn", os.path.relpath(path))
        assert len(api.messages()) == 2

    assert (first.code, first.out) == (0, f"learned from 360 tokens; revisions of {Path.cwd()}: 2\n")
    assert "100%" in first.err
    assert (second.code, second.out) == (0, f"nothing new in {path}\n")
    assert "say what was run" in playbook("list").out


def test_learning_without_a_model_names_the_key(
    playbook: Playbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    done = playbook("learn", _session(tmp_path / "s-1.jsonl", "mend the bug"))

    assert done.code == 1
    assert "ANTHROPIC_API_KEY" in done.err


def test_bootstrap_learns_oldest_first(
    playbook: Playbook, sessions_folder: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads subagents' transcripts, too. The second time nothing is new."""
    _session(sessions_folder / "new.jsonl", "the newest", minutes_old=1)
    _session(sessions_folder / "old.jsonl", "the oldest", minutes_old=90)
    _session(sessions_folder / "new" / "subagents" / "agent-a1.jsonl", "the subagent", minutes_old=30)
    with MessagesApi(*HELPFUL) as api:
        model_at(api, monkeypatch)
        first = playbook("bootstrap", "--yes")
        second = playbook("bootstrap")
        shown = _asked_about(api, "the oldest", "the subagent", "the newest")

    assert (first.code, first.out) == (0, f"learned from 3 transcripts, 720 tokens, for {folder}\n")
    assert "3 transcripts to learn from, at most about" in first.err
    assert shown == ["the oldest", "the subagent", "the newest"]
    assert (second.code, second.out) == (0, "nothing new in 3 transcripts\n")
    assert _helpful(folder) == 3


def test_bootstrap_stops_at_the_agreed_budget(
    playbook: Playbook, folder: Path, sessions_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on when it is called again."""
    _session(sessions_folder / "one.jsonl", "session one", minutes_old=1)
    monkeypatch.setenv("PLAYBOOK_DAILY_TOKENS", "1")
    lessons = [{"kind": "worked", "text": "a session needs tests"}]
    dear = Answer(json.dumps(json.loads(reflection()) | {"lessons": lessons}), usage=Usage(10**6, 1))
    with MessagesApi(Rule(dear, when=is_reflector, times=1), *HELPFUL) as api:
        model_at(api, monkeypatch)
        first = playbook("bootstrap", "--yes")
        assert len(api.messages()) == 1
        second = playbook("bootstrap", "--yes")

    assert first.code == 1
    assert "1,000,001 tokens were used" in first.err
    assert "To continue: playbook bootstrap" in first.err
    assert second.out == f"learned from 1 transcript, 120 tokens, for {Path.cwd()}\n"


def test_bootstrap_uses_no_daily_tokens(
    playbook: Playbook, sessions_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (_session(tmp_path / f"{name}.jsonl", name, minutes_old=1) for name in ("one", "two"))
    _session(sessions_folder / "three.jsonl", "session three", minutes_old=1)
    with MessagesApi(*HELPFUL) as api:
        model_at(api, monkeypatch)
        assert playbook("learn", first).code == 0
        monkeypatch.setenv("PLAYBOOK_DAILY_TOKENS", "241")  # of which 240 are used
        assert playbook("bootstrap", "--yes").code == 0
        done = playbook("learn", second)

    assert done.code == 1
    assert "360 tokens were used today" in done.err


def test_bootstrap_needs_consent(playbook: Playbook, sessions_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _session(sessions_folder / "one.jsonl", "session one", minutes_old=1)
    with MessagesApi(*HELPFUL) as api:
        model_at(api, monkeypatch)
        done = playbook("bootstrap")

    assert (done.code, done.out, api.messages()) == (2, "", [])
    assert "1 transcript to learn from, at most about" in done.err
    assert "There is no terminal to ask on. To start, add --yes. Nothing was sent." in done.err


def test_estimate_counts_only_what_is_sent(
    playbook: Playbook, sessions_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's own records in the file don't count."""
    path = _session(sessions_folder / "one.jsonl", "session one", minutes_old=1)
    lines = Path(path).read_text()
    found = []
    for more in ("", json.dumps({"type": "api-request-blob", "blob": "x" * 400_000}) + "\n"):
        Path(path).write_text(lines + more)
        with MessagesApi(*HELPFUL) as api:
            model_at(api, monkeypatch)
            found.append(playbook("bootstrap").err.partition("\n")[0])

    assert found[0] == found[1]
    assert " tokens for 1 prompt and " in found[0]


def test_bootstrap_continues_after_an_error(
    playbook: Playbook, sessions_folder: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sends nothing twice."""
    for age, name in ((90, "one"), (60, "two"), (30, "three")):
        _session(sessions_folder / f"{name}.jsonl", f"session {name}", minutes_old=age)
    curated: list[int] = []

    def failing(request: object) -> Answer:
        curated.append(1)
        return Answer("no", status=400) if len(curated) == 2 else Answer(curation())

    with MessagesApi(HELPFUL[0], Rule(failing)) as api:
        model_at(api, monkeypatch)
        first = playbook("bootstrap", "--yes")
        second = playbook("bootstrap", "--yes")
        shown = _asked_about(api, "session one", "session two", "session three")

    assert (first.code, second.code) == (1, 0)
    assert "no" in first.err
    assert second.out.startswith("learned from 2 transcripts")
    assert shown == ["session one", "session two", "session three"]
    assert len(curated) == 4
    assert _helpful(folder) == 3


def test_failed_jobs_can_be_retried(
    playbook: Playbook, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _queue(folder, _session(tmp_path / "s-1.jsonl", "mend the bug"))
    refusing = Rule(Answer("no such luck", status=413), times=1)
    with MessagesApi(refusing, *HELPFUL) as api:
        model_at(api, monkeypatch)
        assert playbook("work").code == 0
        (failed,) = playbook("jobs", "--json").json
        again = playbook("jobs", "retry", str(failed["id"]))
        (queued,) = playbook("jobs", "--json").json
        assert playbook("work").out.endswith(f"\nchanged the playbook of {Path.cwd()}\n")
        (done,) = playbook("jobs", "--json").json

    assert (failed["state"], failed["attempts"]) == ("failed", 1)
    assert "no such luck" in failed["error"]
    assert again.out == f"job {failed['id']} of {Path.cwd()} is queued; to run it now: playbook work\n"
    assert (queued["state"], queued["attempts"], queued["error"]) == ("queued", 0, None)
    assert done["state"] == "done"
    assert _helpful(folder) == 1


def test_jobs_can_be_dropped(playbook: Playbook, folder: Path) -> None:
    _queue(folder, "/t/s-1.jsonl")
    (job,) = playbook("jobs", "--json").json

    done = playbook("jobs", "drop", str(job["id"]))

    assert (done.code, done.out) == (0, f"job {job['id']} of {Path.cwd()} is removed\n")
    assert playbook("jobs", "--json").json == []
    assert playbook("jobs", "drop", str(job["id"])).code == 1


def test_sessions_list_revisions_and_tokens(
    playbook: Playbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MessagesApi(*GOOD) as api:
        model_at(api, monkeypatch)
        for name in ("s-1", "s-2"):
            playbook("learn", _session(tmp_path / f"{name}.jsonl", f"session {name}"))

    found = playbook("sessions", "--json").json
    assert [(each["session"], each["calls"], each["tokens"]) for each in found] == [("s-2", 2, 240), ("s-1", 3, 360)]
    lines = playbook("sessions").out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["s-2", "s-1"]
    assert lines[0].split("\t")[2:5] == ["1", "2", "240"]


def test_why_shows_the_history_of_a_point(
    playbook: Playbook, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update = {"type": "UPDATE", "target_id": "pat-001", "text": "run the fast tests first"}
    merge = {"type": "MERGE", "source_ids": ["pat-001", "pat-002"], "merged_text": "run the fast tests first, then all"}
    with open_store(settings.database_url()) as store:
        edit.add(Project.in_folder(store, str(folder)), "run all tests in the end", section="PATTERNS & APPROACHES")
    voted = reflection(("pat-001", "helpful"), ("pat-002", "harmful"))
    was_cited = "[pat-001, pat-002]"
    with MessagesApi(*answers(voted, curation(update)), *answers(reflection(), curation(merge))) as api:
        model_at(api, monkeypatch)
        playbook("learn", _session(tmp_path / "s-1.jsonl", "mend the bug first, in the end", cited=was_cited))
    with MessagesApi(*answers(reflection(), curation(merge))) as api:
        model_at(api, monkeypatch)
        playbook("learn", _session(tmp_path / "s-2.jsonl", "and another"))

    life = playbook("why", "pat-001", "--json").json
    assert [(event["kind"], event["session"], event["successor"]) for event in life["events"]] == [
        ("add", None, None), ("edit", "s-1", None), ("helpful", "s-1", None), ("retire", "s-2", "pat-003"),
    ]  # fmt: skip
    assert playbook("why", "pat-003", "--json").json["merged"] == ["pat-001", "pat-002"]
    shown = playbook("why", "pat-001").out
    assert re.search(r"helpful\tpat-001 was helpful .*mend the bug.*\tsession s-1", shown)
    assert "into pat-003" in shown
    merged = r"Merged from pat-001, pat-002 on \d{4}-\d\d-\d\d by [^.]*session s-2\. Nothing has happened to it since\."
    assert re.match(merged, playbook("why", "pat-003").out)
    assert re.match(r"Added on .*\. Since then: 1 edit, 1 helpful vote, 1 retirement\.", shown)
