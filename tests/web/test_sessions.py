"""The pages of sessions and of one session."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import text as sql

from playbook_db.claude_code.hooks.hook_runner import session_folder_name
from playbook_db.domain import operations
from playbook_db.domain.playbook import Vote
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.services.learning import queue
from playbook_db.services.project import Project
from playbook_db.store.playbook.learning import Call
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.builders import a_key_point
from tests.web.conftest import Answer, Pages, pages_in

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
SCRIPT = "<script>alert('x')</script>"
ESCAPED = "&lt;script&gt;alert(&#39;x&#39;)&lt;"
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
NAUGHTY = f"job \x1b[31m{SCRIPT}"


@contextmanager
def _jobs(pages: Pages, count: int) -> Iterator[list[int]]:
    """The numbers of *count* waiting jobs, which are removed afterwards."""
    with pages.opened() as project:
        for number in range(count):
            queue.take_in(project.store, project.key, {"session_id": None, "transcript_path": f"/transcript-{number}"})
        numbers = [job.id for job in queue.list_jobs(project.store, project.key)]
        with project.store.transaction() as connection:
            connection.execute(sql("UPDATE jobs SET session_id = 'job-' || id"))
        yield numbers
        for number in numbers:
            queue.drop(project.store, project.key, number)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """The pages of a project that learned from 121 sessions; markup is the name of one."""
    with pages_in(tmp_path_factory.mktemp("sessions"), _fill) as opened:
        yield opened


def _fill(project: Project) -> None:
    with project.store.write(project.key, now=NOW - timedelta(days=200)) as book:
        book.draft.add(a_key_point("pat-001", helpful=0, harmful=0))
        book.commit("edit", "added")
    for number in range(120):
        session = f"session-{number:03}"
        with project.store.write(project.key, now=NOW - timedelta(days=120 - number)) as book:
            if number < 119:
                votes = operations.cast_votes(book.draft, [Vote("pat-001", "helpful", "it passed")])
                book.commit("learn", "learned from a session", votes=votes, origin=RevisionOrigin(session))
            book.add_call(Call("reflect", "a-model", 1000 + number, 100, 10, 0.25, 1500), session_id=session)
    _teach(project)


def _teach(project: Project) -> None:
    """The last session did one of each, with markup in every text."""
    said = (Evidence(SCRIPT, f"tool(Bash) {SCRIPT}", "seen"),)
    with project.store.write(project.key, now=NOW) as book:
        batch = [
            {"type": "ADD", "section": "OTHERS", "text": f"A new one {SCRIPT}"},
            {"type": "UPDATE", "target_id": "pat-001", "text": "Run the tests with make check."},
            {"type": "DELETE", "target_id": "none", "reason": SCRIPT},
        ]
        skipped = operations.apply_operations(book.draft, batch)
        votes = operations.cast_votes(book.draft, [Vote("pat-001", "harmful", SCRIPT, evidence=said)])
        book.commit("learn", SCRIPT, votes=votes, skipped=skipped, origin=RevisionOrigin(SCRIPT))


def _rows(answer: Answer, table: str) -> list[list[str]]:
    """The texts in the body of a table."""
    part = answer.body.partition(f'aria-label="{table}"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", part.partition("<tbody>")[2], re.DOTALL)
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows)
    return [[" ".join(re.sub(r"<[^>]*>", " ", cell).split()) for cell in row] for row in cells]


def test_sessions_are_listed_with_their_effect(pages: Pages) -> None:
    first, last = pages.see("/sessions"), pages.see("/sessions", page=3)

    rows = _rows(first, "Sessions")
    assert "121 sessions" in first.body
    assert "1 of 3" in first.body
    assert rows[0][0].startswith(f"Session {ESCAPED}")
    assert rows[0][2:] == ["1", "1", "0", "0", "1", "0", "–"]
    assert rows[1][0] == "Session session-119"
    assert rows[1][2:] == ["0", "0", "0", "0", "0", "1,229", "$0.2500"]
    assert len(rows) == 50
    assert _rows(last, "Sessions")[-1][2:] == ["0", "0", "0", "1", "0", "1,110", "$0.2500"]
    assert len(_rows(last, "Sessions")) == 21


def test_session_shows_all_its_changes(pages: Pages) -> None:
    answer = pages.see(f"/sessions/{quote(SCRIPT, safe='')}")

    assert answer.status == 200
    assert "<script>alert" not in answer.body
    assert answer.body.count(ESCAPED) >= 7
    for text in (">added<", ">edited<", ">harmful<", "Skipped operations", "seen here", "make check."):
        assert text in answer.body
    assert f"retire none; reason: {ESCAPED}" in answer.body
    assert "type&#34;" not in answer.body
    assert "1 model call, 1,117 tokens, $0.2500." in " ".join(pages.see("/sessions/session-007").body.split())


@pytest.fixture
def transcripts(pages: Pages) -> Iterator[Path]:
    """The folder of the project's transcripts, which is removed afterwards."""
    folder = pages.folder.parent / "home" / ".claude" / "projects" / session_folder_name(str(pages.folder))
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(folder)


def test_first_prompt_is_the_title(pages: Pages, transcripts: Path) -> None:
    """A command's output is no prompt."""
    prompts = {
        "session-119": ["<local-command-stdout>ok</local-command-stdout>", f"repair <b>it\nwith {TOKEN}"],
        "session-118": ["long " * 40],
    }
    for session, texts in prompts.items():
        lines = [{"type": "user", "uuid": text, "message": {"role": "user", "content": text}} for text in texts]
        (transcripts / f"{session}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    rows = _rows(pages.see("/sessions"), "Sessions")
    page = pages.see("/sessions/session-119").body

    assert rows[1][0].startswith("repair &lt;b&gt;it with [masked: ")
    assert [row[0] for row in rows[2:4]] == [f"{'long ' * 15}long…", "Session session-117"]
    assert f"<h1>{rows[1][0]}</h1>" in page
    assert TOKEN not in page
    assert "session-119" in page


def test_unknown_session_is_a_404_page(pages: Pages) -> None:
    assert "Session session-007" in pages.see("/sessions/session-007").body
    assert "This session changed nothing." in pages.see("/sessions/session-119").body
    for other in ("session-0", "nobody"):
        answer = pages.see(f"/sessions/{other}")
        assert answer.status == 404
        assert other in answer.body


def test_failed_jobs_can_be_retried(pages: Pages) -> None:
    with _jobs(pages, 3) as (failed, held, waiting):
        with pages.opened() as project:
            store = project.store
            with store.transaction() as connection:  # as a worker claims jobs
                connection.execute(sql("UPDATE jobs SET attempts = 1"))
            by_id = {job.id: job for job in queue.list_jobs(store)}
            queue.note_failure(store, by_id[failed], f"no such file {NAUGHTY}. Run: playbook doctor", for_good=True)
            queue.put_off(store, by_id[held], "today's budget is spent", until="2099-01-01T00:00:00.000000+00:00")
        rows = {row[0]: row for row in _rows(pages.see("/sessions"), "Waiting and failed jobs")}

        assert "Run: playbook doctor" in rows[f"Session job-{failed}"][4]
        assert "\x1b" not in rows[f"Session job-{failed}"][4]
        assert ESCAPED in rows[f"Session job-{failed}"][4]
        assert rows[f"Session job-{failed}"][5] == "Try again Remove"
        assert rows[f"Session job-{held}"][4].startswith("waits: today&#39;s budget is spent Next try: 2099")
        assert rows[f"Session job-{waiting}"][4:] == ["", "Remove"]

        assert f"Job {failed} is queued." in pages.send("/sessions", do="retry", id=failed).body
        with pages.opened() as project:
            assert [job.state for job in queue.list_jobs(project.store) if job.id == failed] == ["queued"]
        assert "1 job queued, of all projects." in pages.send("/sessions", do="retry-all").body
        assert "No job waits, and none failed." in pages.send("/sessions", do="retry-all").body


def test_job_is_removed_once(pages: Pages) -> None:
    with _jobs(pages, 1) as (number,):
        assert f"Job {number} is removed." in pages.send("/sessions", do="drop", id=number).body
        for form in ({"do": "drop", "id": number}, {"do": "retry", "id": "x"}, {"do": "retry"}):
            assert pages.send("/sessions", **form).status == 409
