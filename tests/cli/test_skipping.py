"""sessions skip: what keeps a session from being learned from."""

from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.claude_code.hooks.hook_runner import session_folder_name
from playbook_db.services.learning import queue
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from tests.cli.conftest import Playbook
from tests.learning.conftest import MessagesApi, answers, curation, model_at, reflection
from tests.transcripts import TranscriptBuilder

pytestmark = [pytest.mark.slow, pytest.mark.allow_hosts(["127.0.0.1"])]
GOOD = (*answers(reflection(), curation({"type": "ADD", "text": "say what was run", "section": "OTHERS"})),)
PRIVATE = "what is nobody's business"


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """Replaces the fixture that forbids sockets; the mark `allow_hosts` allows loopback."""


@pytest.fixture
def transcripts(folder: Path) -> Path:
    made = Path(settings.claude_dir(), "projects", session_folder_name(str(folder)))
    made.mkdir(parents=True)
    return made


def _write(path: Path, *said: str, session: str = "s-1") -> str:
    built = TranscriptBuilder(session)
    for text in said:
        built.user(text, uuid=f"{text}-1")
        built.assistant("Following [pat-001].", uuid=f"{text}-2")
    path.parent.mkdir(parents=True, exist_ok=True)
    return str(built.write(path))


def _queue(folder: Path, path: str, session: str) -> None:
    with open_store(settings.database_url()) as store:
        queue.take_in(
            store, Project.in_folder(store, str(folder)).key, {"transcript_path": path, "session_id": session}
        )


def test_skipped_sessions_are_not_learned_from(
    playbook: Playbook, folder: Path, transcripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor their subagents' transcripts."""
    path = _write(transcripts / "s-1.jsonl", PRIVATE)
    agents = _write(transcripts / "s-1" / "subagents" / "agent-1.jsonl", PRIVATE)
    done = playbook("sessions", "skip", "s-1")
    assert done.out == "playbook no longer learns from session s-1\n"
    _write(transcripts / "s-1.jsonl", PRIVATE, "and more of it")
    _queue(folder, path, "s-1")
    _queue(folder, agents, "s-1")
    monkeypatch.setenv("PATH", "/nowhere")

    assert "2 learned from, 0 put off, 0 failed" in playbook("work").out
    with MessagesApi(*GOOD) as api:
        model_at(api, monkeypatch)
        assert "nothing new in 2 transcripts" in playbook("bootstrap", "--yes").out
        refused = playbook("learn", path)
        assert not api.messages()
    assert (refused.code, "playbook sessions skip s-1 --off" in refused.err) == (1, True)
    assert playbook("list", "--json").json == []


def test_skipped_parts_are_never_learned(
    playbook: Playbook, transcripts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither after `--off`, nor from a fork that copied them."""
    path = _write(transcripts / "s-1.jsonl", PRIVATE)
    playbook("sessions", "skip", "s-1")
    _write(transcripts / "s-1.jsonl", PRIVATE, f"more of {PRIVATE}")
    assert "will learn from session s-1 again" in playbook("sessions", "skip", "s-1", "--off").out
    _write(transcripts / "s-1.jsonl", PRIVATE, f"more of {PRIVATE}", "the new part")
    fork = _write(transcripts / "s-2.jsonl", PRIVATE, f"more of {PRIVATE}", "the fork's part", session="s-2")

    with MessagesApi(*GOOD, *GOOD) as api:
        model_at(api, monkeypatch)
        playbook("learn", path)
        playbook("learn", fork)
        asked = "".join(request.last_said for request in api.messages())

    assert "the new part" in asked
    assert "the fork's part" in asked
    assert PRIVATE not in asked
