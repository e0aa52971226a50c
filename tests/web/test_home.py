"""The first page, and rules for all pages."""

import re
from pathlib import Path

from playbook_db.domain.playbook import KeyPoint
from playbook_db.services.project import Project
from playbook_db.services.reading import history
from playbook_db.store.playbook.repository import RevisionOrigin
from tests.web import filled_playbook
from tests.web.conftest import Pages, Visitor, pages_in, words_of

PAGES = ("/", "/points", "/history", "/review", "/sessions", "/numbers", "/projects", "/shown")
_HEADING = re.compile(r"<h[2-6][^>]*>.*?</h[2-6]>", re.DOTALL)


def _learn(project: Project, session: str, *texts: str) -> None:
    with project.store.write(project.key) as book:
        for text in texts:
            book.draft.add(KeyPoint(book.draft.new_name("OTHERS"), text, "OTHERS"))
        book.commit("learn", "learned", origin=RevisionOrigin(session, session))


def test_first_page_shows_only_the_last_session(pages: Pages) -> None:
    with pages.opened() as project:
        _learn(project, "s-early", "An early lesson")
        _learn(project, "s-last", "Deploy with `just ship`")

    page = pages.see("/")

    assert "Deploy with <code>just ship</code>" in page.body
    assert "An early lesson" not in page.body
    assert re.findall(r'class="button" href="(/[a-z]*)', page.body) == ["/points", "/history", "/shown"]


def test_empty_pages_have_no_bare_headings(visitor: Visitor) -> None:
    for page in PAGES:
        body = visitor.see(page).body
        after = [body[found.end() :].lstrip() for found in _HEADING.finditer(body[: body.index("</main>")])]
        assert [each[:40] for each in after if each.startswith(("<h", "</section", "</main", "<h2"))] == [], page
    for page, heading in (("/sessions", "Queue"), ("/numbers", "Cost by week"), ("/numbers", "Use of points")):
        assert f">{heading}<" not in visitor.see(page).body


def test_empty_pages_say_what_is_missing(visitor: Visitor) -> None:
    for page, sentence in (
        ("/", "A few minutes after a session ends, its lessons are here."),
        ("/", "will wait here until you accept it"),
        ("/points", "There are no key points here yet. They come from your sessions"),
        ("/points?project=user", "Your personal playbook has no key points yet"),
        ("/history", "This playbook has no revisions yet."),
        ("/history/at", "0 key points"),
        ("/history/diff?from=0", "There are no differences."),
        ("/review", "No proposal waits for you. Advice from web pages"),
        ("/sessions", "No session was learned from yet"),
        ("/numbers", "No model was called"),
    ):
        assert sentence in words_of(visitor.see(page)), page


def test_no_page_shows_raw_backticks(tmp_path: Path) -> None:
    """A form has the raw text."""
    with pages_in(tmp_path, filled_playbook.fill) as filled:
        with filled.opened() as project:
            edits = history.log(project, history.LogQuery(source="edit"))
            name = next(change.point.name for each in edits for change in each.changes if change.kind == "edit")
        paths = [f"/points/{name}", f"/forget/{name}", "/history/51", "/history/diff?from=10&to=now"]
        for page in (*PAGES[:-1], *paths):
            seen = re.sub(r"<textarea.*?</textarea>|<input[^>]*>", "", filled.see(page).body, flags=re.DOTALL)
            assert re.findall(r".{0,30}`.{0,30}", seen) == [], page
