"""The pages of the history: undo, and pages that aren't there."""

import re
from html import unescape

import pytest

from playbook_db.domain.playbook import KeyPoint
from playbook_db.errors import ProjectError
from playbook_db.services.playbook import edit
from playbook_db.services.project import LastKnownProject
from playbook_db.store.playbook.repository import RevisionOrigin
from playbook_db.web import history_pages, review_page
from playbook_db.web.page_request import PAGE_ROWS, PageRequest
from tests.web.conftest import Answer, Pages

PATTERNS = "PATTERNS & APPROACHES"


def _seen(answer: Answer) -> str:
    """The words of a page, with [-removed-] and {+added+} ones."""
    body = re.sub(r"</?del>", "|", answer.body)
    marked = re.sub(r"<ins>(.*?)</ins>", r"{+\1+}", re.sub(r"\|([^|]*)\|", r"[-\1-]", body), flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", marked)).split()).replace(" ,", ",")


def _edited(pages: Pages, *texts: str) -> tuple[str, int]:
    """The name of a point that had *texts*, one after the other, and its last revision."""
    name = pages.add(texts[0], "pat")
    with pages.opened() as project:
        for text in texts[1:]:
            edit.edit(project, name, text=text)
    return name, pages.revision()


def test_pages_have_each_revision_once(pages: Pages) -> None:
    name = pages.add("voted on often", "pat")
    with pages.opened() as project:
        for _ in range(PAGE_ROWS):
            edit.vote(project, name, "helpful")
    numbers, path = [], "/history"
    while path:
        page = pages.see(path).body
        numbers += [int(number) for number in re.findall(r"<li><a [^>]*>Revision (\d+)<", page)]
        path = unescape("".join(re.findall(r'<a rel="next" href="([^"]*)"', page)))

    assert numbers == list(range(pages.revision(), 0, -1))


def test_undo_reverts_one_revision(pages: Pages) -> None:
    """Later revisions stay, and a second undo does nothing."""
    name, number = _edited(pages, "undo this")
    later = pages.add("and keep that", "pat")

    words = _seen(pages.send(f"/history/{number}", do="undo"))

    assert f"undid revision {number}" in words
    assert name not in pages.texts()
    assert later in pages.texts()
    last = pages.revision()
    page = pages.see(f"/history/{number}")
    assert f"This revision was undone in revision {last}" in _seen(page)
    assert 'value="undo"' not in page.body
    assert "was undone already" in _seen(pages.send(f"/history/{number}", do="undo"))
    assert pages.revision() == last
    pages.send(f"/history/{last}", do="undo")
    assert name in pages.texts()


def _conflict(pages: Pages, first: str) -> tuple[str, int, Answer]:
    """A point that was reworded again after a revision, that revision, and the page that refuses to undo it."""
    name, number = _edited(pages, first, "worded again")
    with pages.opened() as project:
        edit.edit(project, name, text="worded by a worker")
    return name, number, pages.send(f"/history/{number}", do="undo")


def _hidden(page: Answer) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.body))


@pytest.mark.parametrize(("prefer", "text"), [("ours", "worded by a worker"), ("theirs", "worded at first")])
def test_conflict_is_shown_with_two_choices(pages: Pages, prefer: str, text: str) -> None:
    """Nothing is written before the person chooses."""
    name, number, refused = _conflict(pages, "worded at first")

    words = _seen(refused)
    assert refused.status == 409
    assert f"Revision {number} can't be undone" in words
    assert f"{name}, its text worded by a worker worded [-by a worker-]{{+at first+}}" in words
    assert ("Keep the current text" in words, "Use the earlier text" in words) == (True, True)
    assert pages.revision() == number + 1
    pages.send(f"/history/{number}", **_hidden(refused), prefer=prefer)
    assert pages.texts()[name] == text
    with pages.opened() as project:
        edit.retire(project, name)


def test_choice_needs_the_text_that_was_shown(pages: Pages) -> None:
    name, number, refused = _conflict(pages, "chosen at first")
    with pages.opened() as project:
        edit.edit(project, name, text="worded meanwhile by a worker")

    words = _seen(pages.send(f"/history/{number}", **_hidden(refused), prefer="theirs"))

    assert "changed meanwhile" in words
    assert "Nothing was overwritten" in words
    assert pages.texts()[name] == "worded meanwhile by a worker"


def test_session_can_be_undone(pages: Pages) -> None:
    kept = pages.add("taught by a person", "pat")
    for name in ("tau-001", "tau-002"):
        with pages.opened() as project, project.store.write(project.key) as book:
            book.draft.add(KeyPoint(name, f"taught as {name}", PATTERNS))
            number = book.commit("learn", name, origin=RevisionOrigin("taught-0001")).revision

    pages.send(f"/history/{number}", do="undo-session")

    assert {kept, "tau-001", "tau-002"} & pages.texts().keys() == {kept}
    again = _seen(pages.send(f"/history/{number}", do="undo-session"))
    assert "Nothing that was learned from session taught-0001 is still in force" in again


def test_unknown_revision_links_to_the_history(pages: Pages) -> None:
    answer = pages.see("/history/99999")

    assert answer.status == 404
    assert 'role="alert"' in answer.body
    assert "/history?" in answer.body
    assert pages.send("/history/99999", do="undo").status == 404


def test_replica_has_no_history(pages: Pages) -> None:
    """It has the team's points, but neither revisions nor proposals."""
    with pages.opened() as project:
        last_known = LastKnownProject(project.store, project.key, project.folder, own=project)
        request = PageRequest(last_known, {"revision": "1"}, {"at": "1", "from": "1"}, {}, [])
        for (method, _), page in {**history_pages.ROUTES, **review_page.ROUTES}.items():
            if method == "GET":
                with pytest.raises(ProjectError, match="The team's database can't be reached"):
                    page(request)
