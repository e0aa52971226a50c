"""The page of sessions, and that of one, as a browser gets them."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
from playbook_db.services.project import Project, open_store
from playbook_db.store.playbook.learning import Call
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.builders import a_key_point
from tests.web.conftest import Answer, Visitor, served

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
SCRIPT = "<script>alert('x')</script>"
ESCAPED = "&lt;script&gt;alert(&#39;x&#39;)&lt;"
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
NAUGHTY = f"job \x1b[31m{SCRIPT}"


@dataclass(frozen=True, slots=True)
class Site:
    """Who opened the pages of a project, its key and its database."""

    visitor: Visitor
    key: str
    url: str

    @contextmanager
    def jobs(self, count: int) -> Iterator[list[int]]:
        """So many jobs that wait, by their numbers; gone afterwards."""
        with open_store(self.url) as store:
            before = {job.id for job in queue.list_jobs(store, self.key)}
            for number in range(count):
                queue.take_in(store, self.key, {"session_id": None, "transcript_path": f"/transcript-{number}"})
            made = [job.id for job in queue.list_jobs(store, self.key) if job.id not in before]
            with store.transaction() as connection:
                connection.execute(sql("UPDATE jobs SET session_id = 'job-' || id"))
        try:
            yield made
        finally:
            with open_store(self.url) as store:
                for number in made:
                    queue.drop(store, self.key, number)

    def state(self, number: int) -> str:
        """The state of a job."""
        with open_store(self.url) as store:
            return next(job.state for job in queue.list_jobs(store, self.key) if job.id == number)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Who opened the pages of a project that learned from 121 sessions, one of them with nothing but markup for a
    name."""
    place = tmp_path_factory.mktemp("sessions")
    home, folder = place / "home", place / "project"
    for made in (home, folder / ".claude"):
        made.mkdir(parents=True)
    url = f"sqlite:///{home / '.claude/playbook/playbook.db'}"
    with open_store(url) as store:
        project = Project.in_folder(store, str(folder))
        _fill(project)
    with served(folder, home) as address:
        visitor = Visitor(address)
        assert visitor.open().status == 303
        yield Site(visitor, project.key, url)


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
    """The last session did one of each, and what it said is no markup."""
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
    """The texts of the rows of the table of that label, its head left out."""
    part = answer.body.partition(f'aria-label="{table}"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", part.partition("<tbody>")[2], re.DOTALL)
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows)
    return [[" ".join(re.sub(r"<[^>]*>", " ", cell).split()) for cell in row] for row in cells]


def test_what_each_session_taught_comes_by_pages(site: Site) -> None:
    """Newest first, with what it added, changed and retired, its votes, and what learning took."""
    first, last = site.visitor.see("/sessions"), site.visitor.see("/sessions", page=3)

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


def test_a_page_that_is_no_page_is_the_first_or_an_empty_one(site: Site) -> None:
    """Whatever a browser asks for, nothing breaks."""
    for page in ("0", "-1", "x", "9" * 9, "9" * 99):
        assert site.visitor.see("/sessions", page=page).status == 200


def test_one_session_is_told_with_all_that_it_did(site: Site) -> None:
    """Its changes and votes with their reasons and evidence, what wasn't done, what was said: none of it as markup."""
    answer = site.visitor.see(f"/sessions/{quote(SCRIPT, safe='')}")

    assert answer.status == 200
    assert "<script>alert" not in answer.body
    assert answer.body.count(ESCAPED) >= 7
    for text in (">added<", ">edited<", ">harmful<", "Skipped operations", "seen here", "make check."):
        assert text in answer.body
    assert f"retire none; reason: {ESCAPED}" in answer.body
    assert "type&#34;" not in answer.body
    assert "1 model call, 1,117 tokens, $0.2500." in " ".join(site.visitor.see("/sessions/session-007").body.split())


def test_a_session_is_titled_by_its_first_prompt(site: Site) -> None:
    """In the list and on its page: without secrets, in one line, cut if it is long. A command's output is no prompt."""
    prompts = {
        "session-119": ["<local-command-stdout>ok</local-command-stdout>", f"mend <b>it\nwith {TOKEN}"],
        "session-118": ["long " * 40],
    }
    folder = Path(site.url.removeprefix("sqlite:///")).parents[1] / "projects" / session_folder_name(site.key)
    folder.mkdir(parents=True)
    for session, texts in prompts.items():
        lines = [{"type": "user", "uuid": text, "message": {"role": "user", "content": text}} for text in texts]
        (folder / f"{session}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))

    rows = _rows(site.visitor.see("/sessions"), "Sessions")
    page = site.visitor.see("/sessions/session-119").body

    assert rows[1][0].startswith("mend &lt;b&gt;it with [masked: ")
    assert [row[0] for row in rows[2:4]] == [f"{'long ' * 15}long…", "Session session-117"]
    assert f"<h1>{rows[1][0]}</h1>" in page
    assert TOKEN not in page
    assert "session-119" in page


def test_a_session_is_found_by_its_id(site: Site) -> None:
    """One that isn't there is told."""
    assert "Session session-007" in site.visitor.see("/sessions/session-007").body
    assert "This session changed nothing." in site.visitor.see("/sessions/session-119").body
    for other in ("session-0", "nobody"):
        answer = site.visitor.see(f"/sessions/{other}")
        assert answer.status == 404
        assert other in answer.body


def test_todays_tokens_stand_beside_the_limit_in_dollars(site: Site) -> None:
    """Of all projects; a model without a known price has none, which a test of `status` tries."""
    words = "Today (UTC): 0 of 1,000,000 tokens, in all projects. The limit is at most about $2.50 with claude-"
    assert words in site.visitor.see("/sessions").body


def test_what_failed_is_told_with_its_remedy_and_tried_again(site: Site) -> None:
    """By a button each; so is what waits through no fault of its own."""
    with site.jobs(4) as (failed, held, waiting, running):
        with open_store(site.url) as store:
            by_id = {job.id: job._replace(attempts=1) for job in queue.list_jobs(store)}
            with store.transaction() as connection:  # as claimed
                connection.execute(sql("UPDATE jobs SET attempts = 1"))
            queue.note_failure(store, by_id[failed], f"no such file {NAUGHTY}. Run: playbook doctor", for_good=True)
            queue.put_off(store, by_id[held], "today's budget is spent", until="2099-01-01T00:00:00.000000+00:00")
            assert waiting < running
        rows = _rows(site.visitor.see("/sessions"), "Waiting and failed jobs")
        told = {row[0]: row for row in rows}

        assert "Run: playbook doctor" in told[f"Session job-{failed}"][4]
        assert "\x1b" not in told[f"Session job-{failed}"][4]
        assert ESCAPED in told[f"Session job-{failed}"][4]
        assert told[f"Session job-{failed}"][5] == "Try again Remove"
        assert told[f"Session job-{held}"][4].startswith("waits: today&#39;s budget is spent Next try: 2099")
        assert told[f"Session job-{waiting}"][4:] == ["", "Remove"]

        assert site.visitor.send("/sessions", do="retry", id=failed).status == 303
        assert f"Job {failed} is queued." in site.visitor.see("/sessions").body
        assert site.state(failed) == "queued"
        assert site.visitor.send("/sessions", do="retry-all").status == 303
        assert "1 job queued, of all projects." in site.visitor.see("/sessions").body
        assert site.visitor.send("/sessions", do="retry-all").status == 303
        assert "No job waits, and none failed." in site.visitor.see("/sessions").body


def test_a_job_is_removed_or_was_already(site: Site) -> None:
    """What isn't there, or is no number, is told; nothing breaks."""
    with site.jobs(1) as (number,):
        assert site.visitor.send("/sessions", do="drop", id=number).status == 303
        assert f"Job {number} is removed." in site.visitor.see("/sessions").body
        for form in ({"do": "drop", "id": number}, {"do": "retry", "id": "x"}, {"do": "retry"}, {"do": "?"}, {}):
            assert site.visitor.send("/sessions", **form).status == 409


def test_of_many_jobs_the_first_are_listed(site: Site) -> None:
    """Those that failed among them; the others by the command that the page names."""
    with site.jobs(60) as numbers:
        with open_store(site.url) as store, store.transaction() as connection:
            connection.execute(sql(f"UPDATE jobs SET state = 'failed' WHERE id = {numbers[-1]}"))
        answer = site.visitor.see("/sessions")

        assert "59 waiting" in answer.body
        rows = _rows(answer, "Waiting and failed jobs")
        assert [row[0] for row in rows][:2] == [f"Session job-{number}" for number in (numbers[-1], numbers[0])]
        assert len(rows) == 50
        assert "These are the first 50 jobs." in answer.body
        assert "<code>playbook jobs</code>" in answer.body


def test_a_playbook_of_no_session_is_told_in_sentences(site: Site) -> None:
    """The user's own, which nothing was learned into yet."""
    answer = site.visitor.see("/sessions", project="user")

    assert answer.status == 200
    for sentence in (
        "No session waits",
        "No session was learned from yet",
    ):
        assert sentence in answer.body
