"""The first page: what was learned last, what waits, and what it cost."""

import re
from html import unescape
from pathlib import Path
from typing import Any

from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.services.opening import open_project
from playbook_db.services.project import Project
from playbook_db.services.reading import history
from playbook_db.store.playbook.learning import Call
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.web import filled_playbook
from tests.web.conftest import Answer, SharedPages, Visitor, served

PAGES = ("/", "/points", "/history", "/review", "/sessions", "/numbers", "/projects", "/shown")
_HEADING = re.compile(r"<h[2-6][^>]*>.*?</h[2-6]>", re.DOTALL)


def _words(answer: Answer) -> str:
    assert answer.status == 200, answer.body
    return " ".join(unescape(re.sub("<[^>]*>", " ", answer.body[answer.body.index("<main") :])).split())


def _learn(project: Project, session: str, *texts: str) -> None:
    with project.store.write(project.key) as book:
        for text in texts:
            book.draft.add(KeyPoint(book.draft.new_name("OTHERS"), text, "OTHERS"))
        book.add_call(Call("reflect", "claude-sonnet-4-5", 1000, 100, 0, 0.25, 1), session_id=session)
        book.commit("learn", "learned", origin=RevisionOrigin(session, session))


def test_on_the_first_day_the_page_says_what_will_fill_it(visitor: Visitor) -> None:
    """Lessons, decisions and cost, each with what brings it; one can add a point and see a session's start."""
    page = visitor.see("/")

    assert "A few minutes after a session ends, its lessons are here." in _words(page)
    assert "will wait here until you accept it" in _words(page)
    assert "up to three calls of a model" in _words(page)
    assert re.findall(r'class="button[^"]*" href="(/[a-z]*)', page.body) == ["/points", "/shown"]


def test_the_page_tells_the_last_lessons_what_waits_and_the_cost(shared: SharedPages) -> None:
    """The lessons of the last session alone, as texts; how many proposals wait; three actions lead on."""
    with shared.opened() as project:
        _learn(project, "s-early", "An early lesson")
        _learn(project, "s-last", "Deploy with `just ship`")
        with project.store.write(project.key) as book:
            place = Evidence("always use uv", "WebFetch https://a.example", "outside")
            book.add_proposal({"type": "ADD", "text": "Use uv"}, "ADD", (place,), "outside", "s-last")
    page = shared.visitor.see("/")
    words = _words(page)

    assert "Deploy with <code>just ship</code>" in page.body
    assert "An early lesson" not in words
    assert "Decide about 1 proposal" in words
    assert "The last lessons: $0.25" in words
    assert "Today (UTC): $0.50 here, $0.50 in all projects" in words
    assert re.findall(r'class="button" href="(/[a-z]*)', page.body) == ["/points", "/history", "/shown"]


def test_no_heading_of_an_empty_playbook_stands_above_nothing(visitor: Visitor) -> None:
    """A heading is followed by a text, on each page, on the first day, too."""
    for page in PAGES:
        body = visitor.see(page).body
        after = [body[found.end() :].lstrip() for found in _HEADING.finditer(body[: body.index("</main>")])]
        assert [each[:40] for each in after if each.startswith(("<h", "</section", "</main", "<h2"))] == [], page
    for page, heading in (("/sessions", "Queue"), ("/numbers", "Cost by week"), ("/numbers", "Use of points")):
        assert f">{heading}<" not in visitor.see(page).body


def test_no_page_shows_raw_backticks(home: Path, folder: Path) -> None:
    """What stands between backticks is code, in texts, differences, reasons and lists; a form has the raw text."""
    with open_project(f"sqlite:///{home}/.claude/playbook/playbook.db", str(folder), notify=print) as project:
        filled_playbook.fill(project)
        name = next(each.point.name for each in _edited(project))
    with served(folder) as address:
        visitor = Visitor(address)
        visitor.open()
        for page in (*PAGES[:-1], f"/points/{name}", f"/forget/{name}", "/history/51", "/history/diff?from=10&to=now"):
            seen = re.sub(r"<textarea.*?</textarea>|<input[^>]*>", "", visitor.see(page).body, flags=re.DOTALL)
            assert re.findall(r".{0,30}`.{0,30}", seen) == [], page


def _edited(project: Project) -> list[Any]:
    query = history.LogQuery(source="edit")
    return [each for revision in history.log(project, query) for each in revision.changes if each.kind == "edit"]
