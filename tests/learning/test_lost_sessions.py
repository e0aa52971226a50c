"""Sessions whose end nobody noted are found, and only those that the user wants learned from."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.claude_code import worker
from playbook_db.claude_code.hooks import spool
from playbook_db.claude_code.hooks.hook_runner import session_folder_name
from playbook_db.claude_code.transcripts import finding
from playbook_db.services.learning import queue
from playbook_db.services.project import Project, ignore
from tests.builders import learned_to
from tests.learning.conftest import answers, curation, model_at, reflection
from tests.messages_api import MessagesApi
from tests.transcripts import TranscriptBuilder, note_start

HOUR_S = 3600.0


@pytest.fixture
def kept(learner_project: Project, home: Path) -> Path:
    """The folder in which Claude Code keeps the project's transcripts."""
    folder = home / ".claude" / "projects" / session_folder_name(learner_project.key)
    folder.mkdir(parents=True)
    return folder


def _grow(path: Path, *, silent_s: float, turns: int = 2) -> Path:
    """Write a session's transcript, which has not grown for *silent_s* seconds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    built = TranscriptBuilder(path.stem)
    for turn in range(turns):
        built.user(f"task {turn}: make the tests pass")
        built.assistant("Done.")
    built.write(path)
    os.utime(path, (time.time() - silent_s,) * 2)
    return path


@pytest.fixture
def lost(learner_project: Project, kept: Path) -> Path:
    """The transcript of a session that began, has a subagent, and has been silent for two hours."""
    _grow(kept / "s-1" / "subagents" / "agent-a1.jsonl", silent_s=2 * HOUR_S)
    path = _grow(kept / "s-1.jsonl", silent_s=2 * HOUR_S)
    note_start(path, learner_project.key)
    return path


def _found(project: Project) -> list[str]:
    return [os.path.basename(job["transcript_path"] or "") for _, job in worker.find_lost_sessions(project.store)]


def test_a_session_without_a_noted_end_is_found_with_its_subagents(learner_project: Project, lost: Path) -> None:
    """Each with its session; a subagent's with its parent's transcript."""
    agent = lost.with_suffix("") / "subagents" / "agent-a1.jsonl"

    jobs = [job for _, job in worker.find_lost_sessions(learner_project.store)]

    assert [(job["transcript_path"], job["session_id"], job["parent_path"]) for job in jobs] == [
        (str(agent), "s-1", str(lost)),
        (str(lost), "s-1", None),
    ]


def test_a_session_that_may_go_on_is_left_alone(learner_project: Project, lost: Path) -> None:
    """It grew less than an hour ago."""
    _grow(lost, silent_s=HOUR_S - 60)

    assert _found(learner_project) == ["agent-a1.jsonl"]


def test_a_session_whose_start_is_not_on_record_is_never_touched(learner_project: Project, kept: Path) -> None:
    """It was before the installation, or the user had switched the hooks off: `bootstrap` asks about those first."""
    path = _grow(kept / "s-1.jsonl", silent_s=2 * HOUR_S)

    assert _found(learner_project) == []
    assert finding.everywhere() == [str(path)]


def test_what_waits_already_is_not_found(learner_project: Project, lost: Path) -> None:
    """The queue has it."""
    queue.take_in(learner_project.store, learner_project.key, {"transcript_path": str(lost)})

    assert _found(learner_project) == ["agent-a1.jsonl"]


def test_a_found_session_that_goes_on_is_learned_from_once_in_two_parts(
    learner_project: Project, lost: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to where it was silent, and after it was killed the rest, though nobody noted an end."""
    with MessagesApi(*answers(reflection(), curation())) as api:
        model_at(api, monkeypatch)
        url = str(learner_project.store.url)
        results = [worker.run(url)]
        results += [worker.run(url)]
        _grow(lost, silent_s=2 * HOUR_S, turns=4)
        results += [worker.run(url), worker.run(url)]

    assert [(done.lost, done.learned) for done in results if done] == [(2, 2), (0, 0), (1, 1), (0, 0)]
    assert learned_to(learner_project, str(lost)) == lost.stat().st_size


def _switch(name: str) -> Callable[[Project, Path], None]:
    def off(project: Project, home: Path) -> None:
        (home / ".claude" / "settings.json").write_text(json.dumps({name: False}))

    return off


def _ignore(project: Project, home: Path) -> None:
    ignore(project, is_ignored=True)


def _disable(project: Project, home: Path) -> None:
    settings_file = Path(project.key, ".claude", "settings.local.json")
    settings_file.parent.mkdir(exist_ok=True)
    settings_file.write_text(json.dumps({"env": {"PLAYBOOK_DISABLE": "1"}}))


def _skip(project: Project, home: Path) -> None:
    queue.skip_session("s-1", is_skipped=True)


def _end_unwanted(project: Project, home: Path) -> None:
    spool.note_end("s-1", is_kept=False)


@pytest.mark.nightly(after=2)
@pytest.mark.parametrize(
    ("exclude", "learned"),
    [
        pytest.param(lambda *_: None, 2, id="nothing"),
        pytest.param(_ignore, 0, id="the project is ignored"),
        pytest.param(_skip, 0, id="the session is skipped"),
        pytest.param(_disable, 0, id="the project disables us"),
        pytest.param(_end_unwanted, 0, id="its end was not wanted"),
        pytest.param(_switch("playbook_update_on_exit"), 1, id="not on exit"),
        pytest.param(_switch("playbook_update_on_clear"), 1, id="not on clear"),
        pytest.param(_switch("playbook_update_on_subagent_stop"), 1, id="not from subagents"),
    ],
)
def test_what_the_user_excludes_is_sent_to_no_model(
    learner_project: Project,
    lost: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    exclude: Callable[[Project, Path], None],
    learned: int,
) -> None:
    """A session that was cleared left no job on purpose, and looks the same as one that was killed."""
    exclude(learner_project, home)

    with MessagesApi(*answers(reflection(), curation())) as api:
        model_at(api, monkeypatch)
        worker.run(str(learner_project.store.url))
        assert len(api.messages()) == 2 * learned


def test_a_project_that_was_ignored_for_a_while_keeps_that_time_s_sessions_out(
    learner_project: Project, lost: Path
) -> None:
    """As long as a worker looked: then the start is forgotten."""
    ignore(learner_project, is_ignored=True)
    assert _found(learner_project) == []
    ignore(learner_project, is_ignored=False)

    assert _found(learner_project) == []
    assert lost.exists()


def test_private_parts_of_a_found_session_stay_private(
    learner_project: Project, lost: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a session whose end was noted."""
    text = lost.read_text().replace("make the tests pass", "<private>the launch code</private> go")
    assert "the launch code" in text
    lost.write_text(text)
    os.utime(lost, (0, 0))

    with MessagesApi(*answers(reflection(), curation())) as api:
        model_at(api, monkeypatch)
        worker.run(str(learner_project.store.url))
        assert len(api.messages()) == 4
        assert not any("the launch code" in request.said for request in api.messages())


def test_after_a_noted_end_only_older_transcripts_are_found(learner_project: Project, lost: Path) -> None:
    """A subagent that was killed with its session is learned from, a session resumed with disabled hooks isn't."""
    start, end = (f"{settings.spool_dir()}/s-1{suffix}" for suffix in (spool.STARTED, spool.ENDED))
    spool.note_end("s-1", is_kept=True)
    os.utime(end, (time.time() - 3 * HOUR_S,) * 2)
    agent = lost.with_suffix("") / "subagents" / "agent-a1.jsonl"
    os.utime(agent, (time.time() - 3 * HOUR_S,) * 2)

    assert _found(learner_project) == ["agent-a1.jsonl"]
    assert not os.path.exists(start)
    assert not os.path.exists(end)  # an hour after the end all that there was is found
    assert _found(learner_project) == []


def test_a_start_is_forgotten_after_30_days(learner_project: Project, lost: Path) -> None:
    """Claude Code has removed the transcript by then. A resumed session counts anew."""
    start = f"{settings.spool_dir()}/s-1{spool.STARTED}"
    long_ago = (time.time() - 31 * 24 * HOUR_S,) * 2
    os.utime(start, long_ago)
    note_start(lost, learner_project.key)
    assert len(_found(learner_project)) == 2
    assert os.path.exists(start)

    os.utime(start, long_ago)
    assert len(_found(learner_project)) == 2
    assert not os.path.exists(start)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "7", "[" * 100_000])
def test_a_start_that_cannot_be_read_harms_nobody(learner_project: Project, lost: Path, content: str) -> None:
    """A hook may be killed while it writes one."""
    Path(settings.spool_dir(), f"s-0{spool.STARTED}").write_text(content)

    assert len(_found(learner_project)) == 2


def test_a_folder_that_is_gone_has_no_lost_sessions(learner_project: Project, lost: Path) -> None:
    """Nobody knows any more which settings it had."""
    os.rename(learner_project.key, f"{learner_project.key}-moved")

    assert _found(learner_project) == []


def test_a_folder_that_is_called_like_a_transcript_is_no_lost_session(learner_project: Project, lost: Path) -> None:
    """Nothing is queued for it."""
    odd = lost.with_suffix("") / "subagents" / "odd.jsonl"
    odd.mkdir()
    os.utime(odd, (0, 0))

    assert _found(learner_project) == ["agent-a1.jsonl", "s-1.jsonl"]
