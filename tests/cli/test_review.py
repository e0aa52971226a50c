"""review: a person decides what learning proposes."""

import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playbook_db import settings
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.projects import project_key
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.playbook.proposal_rows import Kind
from tests.cli.conftest import Playbook, grow_once
from tests.terminals import read_to_end

PAGE = Evidence("always use uv", "WebFetch https://a.example", "outside")
Propose = Callable[..., None]


@pytest.fixture
def propose(playbook: Playbook, folder: Path) -> Propose:
    """Adds a proposal; the playbook has three points."""

    def grow() -> None:
        for text in ("Use pip", "Test first", "Write tests first"):
            playbook("add", text, "--section", "pat")

    grow_once("review", folder, grow)

    def add(kind: Kind, session: str = "s1", evidence: tuple[Evidence, ...] = (PAGE,), **operation: Any) -> None:
        with open_store(settings.database_url()) as store, store.write(project_key(str(folder))) as book:
            assert book.add_proposal(operation, kind, evidence, "outside", session)

    return add


@pytest.fixture
def five(propose: Propose) -> Propose:
    """Adds a proposal of each kind."""
    propose("ADD", text="Never force-push", section="MISTAKES TO AVOID")
    propose("UPDATE", target_id="pat-001", text="Use uv")
    propose("MERGE", source_ids=["pat-002", "pat-003"], merged_text="Write the tests first")
    propose("DELETE", target_id="pat-001", reason="uv took its place")
    propose("VOTE", name="pat-001", tag="harmful", rationale="the page says so")
    return propose


def _texts(playbook: Playbook) -> dict[str, str]:
    return {point["name"]: point["text"] for point in playbook("list", "--json").json}


def _waiting(playbook: Playbook) -> list[str]:
    names: list[str] = [record["name"] for record in playbook("review", "--json").json]
    return names


def test_accepted_proposals_are_one_revision(five: Propose, playbook: Playbook) -> None:
    """It has the person, the session and the evidence."""
    done = playbook("review", "--accept", "1", "p2", "3", "--reject", "p4", "--accept=5", "--json")

    (revision, *_) = playbook("log", "--json").json
    assert (done.code, done.json["accepted"], done.json["rejected"]) == (0, [1, 2, 3, 5], [4])
    assert done.json["revision"] == revision["revision"] == 4
    assert (revision["source"], revision["message"]) == ("edit", "accepted proposals 1, 2, 3, 5")
    assert (revision["actor"], revision["session"]) == ("ann@laptop", "s1")
    assert _texts(playbook) == {
        "pat-001": "Use uv", "pat-004": "Write the tests first", "mis-001": "Never force-push",
    }  # fmt: skip
    assert playbook("show", "pat-001", "--json").json["harmful"] == 1
    rows = playbook("sql", "SELECT evidence FROM changes UNION ALL SELECT evidence FROM votes", "--json").json
    assert sum("always use uv" in (row["evidence"] or "") for row in rows) >= 6
    assert _waiting(playbook) == []
    assert playbook("review", "--accept", "1").code == 1


def test_outdated_proposals_say_why(five: Propose, playbook: Playbook) -> None:
    """Those whose wish is fulfilled are closed; the others wait."""
    playbook("add", "never FORCE-push.")
    playbook("retire", "pat-001", "pat-002")

    done = playbook("review", "--accept", "1", "2", "3", "4", "5")

    assert done.code == 1
    assert "accepted  p1, but nothing changed: the playbook says this already\n" in done.out
    assert "accepted  p4, but nothing changed: pat-001 is no longer in the playbook\n" in done.out
    assert "p2 still waits: there is no point pat-001" in done.err
    assert "missing: pat-002" in done.err
    assert _waiting(playbook) == ["p2", "p3", "p5"]
    assert playbook("review", "--reject", "2", "3", "5").out == "rejected  p2, p3, p5\n"
    assert playbook("list", "--proposed").err == "playbook: no proposals\n"


@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        ("--accept pat-001", 1, "pat-001 may mean p2 or p4 or p5"),
        ("--reject 1 nothing", 1, "No proposal 'nothing' waits"),
        ("--accept 1 --reject p1", 2, "can't be both"),
        ("1", 2, "unexpected extra argument"),
    ],
)
def test_unclear_options_decide_nothing(five: Propose, playbook: Playbook, options: str, code: int, why: str) -> None:
    done = playbook("review", *options.split())

    assert (done.code, why in done.err) == (code, True)
    assert len(_waiting(playbook)) == 5


def test_sessions_cannot_review(five: Propose, playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page could make the model accept its own proposal."""
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s2")

    for command in (["review"], ["review", "--json"], ["review", "--accept", "1"], ["list", "--proposed"]):
        done = playbook(*command)
        assert (done.code, done.out) == (1, "")
        assert "your own terminal: playbook review, or playbook web" in done.err
    assert "5 proposals wait" in playbook("status").out


def _on_terminal(keys: str) -> tuple[int, str]:
    """What `playbook review` shows on a terminal where *keys* are typed, and its exit code."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "playbook_db", "review"]
    environment = {**os.environ, "TERM": "dumb"}
    with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, env=environment) as process:
        os.close(follower)
        threading.Thread(target=os.write, args=(leader, keys.encode())).start()
        seen = read_to_end(leader)
    return process.returncode, seen


@pytest.mark.slow
def test_terminal_reviews_one_by_one(
    five: Propose, playbook: Playbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was decided before `quit` is saved, in one revision; an editor that fails decides nothing."""
    editor = tmp_path / "editor"
    editor.write_text(f"mkdir {tmp_path}/once && exit 1; sed -i s/force-push/force-push,.ever/ $1")
    monkeypatch.setenv("EDITOR", f"sh {editor}")
    code, seen = _on_terminal("x\ne\ne\na\nr\nq\n")

    assert code == 0
    assert seen.count("The editor failed") == 1
    assert "p2 UPDATE pat-001" in seen
    assert "Use [-pip-]{+uv+}" in re.sub("\x1b\\[[0-9;]*m", "", seen)
    assert 'evidence: "always use uv" (from outside; WebFetch https://a.example)' in seen
    assert "now: [pat-002] +0 -0 Test first" in seen
    assert _texts(playbook)["mis-001"] == "Never force-push,.ever"
    assert _texts(playbook)["pat-001"] == "Use uv"
    assert _waiting(playbook) == ["p4", "p5"]
    assert playbook("log", "--json").json[0]["message"] == "accepted proposals 1, 2"


@pytest.mark.slow
def test_hostile_proposal_is_shown_harmless(propose: Propose) -> None:
    """Its control characters don't reach the terminal."""
    hostile = "a\x1b]0;b\x07\x9b2J\u202e\x7f"
    page = Evidence(hostile, hostile, "outside")
    propose("ADD", text=hostile, section="OTHERS", reason=hostile, doubt=hostile, evidence=(page,), session=hostile)
    _, seen = _on_terminal("q\n")

    assert seen.count("a\ufffd]0;b") >= 4
    assert not set("\x07\x9b\u202e\x7f") & set(re.sub("\x1b\\[[0-9;]*m", "", seen))
    assert "\x1b]" not in seen


@pytest.mark.nightly
@pytest.mark.slow
def test_interrupted_review_decides_nothing(five: Propose, playbook: Playbook) -> None:
    code, _ = _on_terminal("a\n\x04")

    assert code == 130
    assert len(_waiting(playbook)) == 5


def test_personal_proposals_are_reviewed_anywhere(propose: Propose, playbook: Playbook) -> None:
    propose("ADD", text="Never force-push", section="MISTAKES TO AVOID")
    wish = {"text": "Answer in English", "section": "USER PREFERENCES"}
    with open_store(settings.database_url()) as store, store.write(Project.of_user(store).key) as book:
        assert book.add_proposal(wish, "ADD", (), "user", "s1")

    assert _waiting(playbook) == ["p1", "up1"]
    lines = playbook("review").out.splitlines()
    assert ["for all your projects" in line for line in lines] == [False, True]
    assert playbook("status", "--json").json["proposals"] == 2
    assert playbook("status", "--user", "--json").json["proposals"] == 1

    done = playbook("review", "--accept", "up1", "--reject", "1", "--json").json

    assert (done["rejected"], done["accepted"]) == ([1], [])
    assert done["user"]["accepted"] == [1]
    assert [point["text"] for point in playbook("list", "--user", "--json").json] == ["Answer in English"]
    assert "Answer in English" not in playbook("list").out
    assert _waiting(playbook) == []
