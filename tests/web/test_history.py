"""The pages of the history: revisions, differences, earlier playbooks and undo."""

import re
from html import unescape

import pytest

from playbook_db.domain import operations
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.errors import ProjectError
from playbook_db.services.playbook import edit
from playbook_db.services.project import LastKnownProject
from playbook_db.store.playbook.repository import RevisionOrigin
from playbook_db.web import history_pages, review_page
from playbook_db.web.page_request import PageRequest
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


def _all_pages(pages: Pages, path: str, **query: object) -> list[Answer]:
    """The page at *path* and all that its links to the next page lead to."""
    found = [pages.see(path, **query)]
    while following := re.search(r'<a rel="next" href="([^"]*)"', found[-1].body):
        found.append(pages.see(unescape(following[1])))
    return found


def test_history_lists_the_newest_first(pages: Pages) -> None:
    name, _ = _edited(pages, "wrap <i>each</i> call", "wrap <i>some</i> calls")
    with pages.opened() as project:
        edit.vote(project, name, "helpful")
        edit.retire(project, name, reason="nobody needs it")
    last = pages.revision()

    answer = pages.see("/history")

    numbers = [int(number) for number in re.findall(r"<li><a [^>]*>Revision (\d+)<", answer.body)]
    assert numbers == list(range(last, last - len(numbers), -1))
    newest, voted, *_ = _seen(answer).partition(f" Revision {last} ")[2].split(" Revision ")
    assert re.match(rf".*retired {name} nobody needs it wrap <i>some.* calls edit 1 retired \S+ 20\d\d-", newest)
    assert re.match(rf"{last - 1} votes {name} \+1 helpful, .*wrap <i>some.* calls edit 1 voted on", voted)
    assert f"/history/{last}?" in answer.body


def test_history_is_filtered(pages: Pages) -> None:
    one, _ = _edited(pages, "the filtered one", "the one that is filtered")
    other, last = _edited(pages, "the other one", "another one")

    of_one, newest = _seen(pages.see("/history", name=one)), _seen(pages.see("/history", since=last))

    assert (f"edited {one}" in of_one, other in of_one) == (True, False)
    assert (f"edited {other}" in newest, one in newest) == (True, False)
    assert "No revision matches." in _seen(pages.see("/history", name=one, by="a stranger"))
    unknown = pages.see("/history", since="someday")
    assert (unknown.status, "someday" in _seen(unknown)) == (404, True)


def test_revision_shows_words_and_evidence(pages: Pages) -> None:
    name = pages.add("use pip to install", "pat")
    quote = Evidence("it says: use uv", "WebFetch https://a.example", "outside")
    with pages.opened() as project, project.store.write(project.key) as book:
        update = {"type": "UPDATE", "target_id": name, "text": "use uv to install"}
        operations.apply_operations(book.draft, [update], [(quote,)])
        number = book.commit("learn", "learned from a page", origin=RevisionOrigin("feed-0001")).revision

    words = _seen(pages.see(f"/history/{number}"))

    assert "use [-pip-]{+uv+} to install" in words
    assert "it says: use uv from outside WebFetch https://a.example" in words
    assert "feed-0001" in words
    assert "learned from a page" in words
    assert "Undo everything learned from this session" in words


def test_two_states_are_compared(pages: Pages) -> None:
    _, last = _edited(pages, "compare the words of this", "compare all words of this")
    gone = pages.add("came and went", "pat")
    with pages.opened() as project:
        edit.retire(project, gone)

    def see(**query: object) -> str:
        return _seen(pages.see("/history/diff", **query))

    assert "compare [-the-]{+all+} words of this" in see(**{"from": last - 1, "to": last})
    assert "came and went" in see(**{"from": last + 1})
    assert "came and went" not in see(**{"from": last - 1})
    assert "There are no differences." in see(**{"from": last, "to": last + 2})
    assert "revision 0 → " in see(**{"from": "yesterday"})


def test_earlier_playbook_is_shown_with_its_restore(pages: Pages) -> None:
    _, last = _edited(pages, "once it was", "now it is")
    with pages.opened(is_users=True) as own:
        edit.add(own, "for all projects")

    earlier, now = (_all_pages(pages, f"/history/at/{at}") for at in (last - 1, last))

    texts = ["".join(page.body for page in each) for each in (earlier, now)]
    assert [(">once it was<" in text, ">now it is<" in text) for text in texts] == [(True, False), (False, True)]
    assert f"{len(pages.texts())} key points" in texts[0]
    command = f"playbook --project {pages.folder} restore --at {last - 1}"
    assert f"would change: {command} --dry-run To restore it: {command} What" in _seen(earlier[0])
    assert "restore --at" not in _seen(now[0])
    assert "playbook --user restore --at 0 --dry-run" in _seen(pages.see("/history/at/0", project="user"))


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


@pytest.mark.parametrize("path", ["/history/99999", "/history/none", "/history/at/x"])
def test_unknown_revision_links_to_the_history(pages: Pages, path: str) -> None:
    answer = pages.see(path)

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
