"""The history in a browser: what was done, what differs, the playbook as it was, and the way back."""

import re
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest

from playbook_db.domain import operations
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.errors import ProjectError
from playbook_db.services.playbook import edit
from playbook_db.services.project import LastKnownProject, Project
from playbook_db.store.playbook.repository import RevisionOrigin
from playbook_db.web import history_pages, review_page
from playbook_db.web.page_request import PAGE_ROWS, PageRequest
from tests.builders import last_revision
from tests.web.conftest import Answer, SharedPages, Visitor

PATTERNS = "PATTERNS & APPROACHES"
QUOTE = Evidence("it says: use uv", "WebFetch https://a.example", "outside")


def _seen(answer: Answer) -> str:
    """The page as it is read: its words, with [-those that went-] and {+those that came+}."""
    body = re.sub(r"</?del>", "|", answer.body)
    marked = re.sub(r"<ins>(.*?)</ins>", r"{+\1+}", re.sub(r"\|([^|]*)\|", r"[-\1-]", body), flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", marked)).split()).replace(" ,", ",")


def _after(shared: SharedPages, answer: Answer) -> str:
    """The page that a change leads on to."""
    assert answer.status == 303, answer.body
    return _seen(shared.visitor.see(answer.headers["location"]))


def _texts(project: Project) -> dict[str, str]:
    with project.store.read(project.key) as book:
        return {point.name: point.text for point in book.live_points()}


def _add(project: Project, text: str) -> str:
    """The name of a new point."""
    return edit.add(project, text, section="pat").changes[0].point.name


def test_the_newest_revisions_come_first_each_with_what_changed(shared: SharedPages) -> None:
    """What was changed, then who did it, and when; a link leads to each. The filters are folded until one is used."""
    with shared.opened() as project:
        name = _add(project, "wrap <i>each</i> call")
        edit.edit(project, name, text="wrap <i>some</i> calls")
        edit.vote(project, name, "helpful")
        edit.retire(project, name, reason="nobody needs it")
        last = last_revision(project)

    answer = shared.visitor.see("/history")
    numbers = [int(number) for number in re.findall(r"<li><a [^>]*>Revision (\d+)<", answer.body)]
    words = _seen(answer)

    assert numbers == list(range(last, last - len(numbers), -1))
    newest, voted, *_ = words.partition(f" Revision {last} ")[2].split(" Revision ")
    assert re.match(rf".*retired {name} nobody needs it wrap <i>some.* calls edit 1 retired \S+ 20\d\d-", newest)
    assert re.match(rf"{last - 1} votes {name} \+1 helpful, .*wrap <i>some.* calls edit 1 voted on", voted)
    assert answer.body.count("<details>") == 1
    assert "<details open>" in shared.visitor.see("/history", name=name).body
    assert f"/history/{last}?" in answer.body
    assert re.search(r'<time datetime="20\d\d-', answer.body)


def test_a_filter_shows_those_alone(shared: SharedPages) -> None:
    """One point, who, how, since and until; what can't be found says so."""
    with shared.opened() as project:
        one, other = _add(project, "the filtered one"), _add(project, "the other one")
        edit.edit(project, one, text="the one that is filtered")
        edit.edit(project, other, text="another one")
        last = last_revision(project)

    def see(**query: object) -> str:
        return _seen(shared.visitor.see("/history", **query))

    assert f"edited {one}" in see(name=one)
    assert other not in see(name=one)
    assert other in see(since=last)
    assert one not in see(since=last)
    assert f"edited {one}" in see(until=last - 1)
    assert f"edited {other}" not in see(until=last - 1)
    assert "No revision matches." in see(name=one, source="learn")
    assert "No revision matches." in see(name=one, by="a stranger")
    for query in ({"name": "pat-999"}, {"since": "someday"}, {"session": "unknown"}, {"until": "99999"}):
        answer = shared.visitor.see("/history", **query)
        assert answer.status == 404
        assert 'role="alert"' in answer.body
        assert next(iter(query.values())) in _seen(answer)


def test_many_revisions_come_by_pages(shared: SharedPages) -> None:
    """Each page has those before the ones of the page before it, and the way back to the newest ones."""
    with shared.opened() as project:
        name = _add(project, "voted on again and again")
        for _ in range(2 * PAGE_ROWS):
            edit.vote(project, name, "helpful")
        last = last_revision(project)
    found: list[int] = []
    address = "/history"
    while address:
        page = shared.visitor.see(address)
        found += map(int, re.findall(r"<li><a [^>]*>Revision (\d+)<", page.body))
        older = re.search(r'<a rel="next" href="(/history\?[^"]*)"', page.body)
        address = unescape(older[1]) if older else ""

    assert found == list(range(last, 0, -1))
    body = shared.visitor.see("/history", until=last - PAGE_ROWS, name=name).body
    newest = re.search(r'<a rel="prev" href="(/history\?[^"]*)"', body)
    assert newest
    assert parse_qs(urlsplit(unescape(newest[1])).query).keys() == {"project", "name"}


def test_a_revision_tells_all_that_is_kept_of_it(shared: SharedPages) -> None:
    """Its changes with the words marked, on what they rest, its votes and its session."""
    with shared.opened() as project:
        name = _add(project, "use pip to install")
        with project.store.write(project.key) as book:
            update = {"type": "UPDATE", "target_id": name, "text": "use uv to install"}
            operations.apply_operations(book.draft, [update], [(QUOTE,)])
            number = book.commit("learn", "learned from a page", origin=RevisionOrigin("feed-0001")).revision

    words = _seen(shared.visitor.see(f"/history/{number}"))

    assert "use [-pip-]{+uv+} to install" in words
    assert "it says: use uv from outside WebFetch https://a.example" in words
    assert "feed-0001" in words
    assert "learned from a page" in words
    assert "Undo everything learned from this session" in words


def test_a_large_revision_comes_by_pages(shared: SharedPages) -> None:
    """No page of it has more than the others."""
    with shared.opened() as project, project.store.write(project.key) as book:
        for number in range(PAGE_ROWS + 7):
            book.draft.add(KeyPoint(f"lar-{number:03d}", f"large {number}", PATTERNS))
        number = book.commit("import", "a large one").revision or 0

    first, second = (shared.visitor.see(f"/history/{number}", page=page) for page in (1, 2))

    assert [len(re.findall(r"large \d+<", page.body)) for page in (first, second)] == [PAGE_ROWS, 7]
    assert f"{PAGE_ROWS + 7} added" in first.body
    assert "a large one added lar-000" in _seen(shared.visitor.see("/history", since=number, until=number))


def test_any_two_states_are_compared(shared: SharedPages) -> None:
    """By their numbers or by times; to now where nothing else is said."""
    with shared.opened() as project:
        before = last_revision(project)
        name = _add(project, "compare the words of this")
        edit.edit(project, name, text="compare all words of this")
        gone = _add(project, "came and went")
        edit.retire(project, gone)

    def see(**query: object) -> str:
        return _seen(shared.visitor.see("/history/diff", **query))

    assert "compare [-the-]{+all+} words of this" in see(**{"from": before + 1, "to": before + 2})
    assert "came and went" in see(**{"from": before + 3})
    assert "came and went" not in see(**{"from": before})
    assert "There are no differences." in see(**{"from": before + 2, "to": before + 4})
    assert "revision 0 → " in see(**{"from": "yesterday"})
    assert "Compare" in see()
    wrong = shared.visitor.see("/history/diff", **{"from": "someday"})
    assert wrong.status == 404
    assert "names no revision" in _seen(wrong) or "is not a revision or a time" in _seen(wrong)


def test_the_playbook_as_it_was_comes_by_pages(shared: SharedPages) -> None:
    """In the playbook's order, at a number or a time."""
    with shared.opened() as project, project.store.write(project.key) as book:
        for number in range(PAGE_ROWS + 3):
            book.draft.add(KeyPoint(f"was-{number:03d}", f"once {number:03d} it was", PATTERNS))
        then = book.commit("import", "many").revision or 0
    with shared.opened() as project:
        live = len(_texts(project))
        edit.edit(project, "was-000", text="now another")

    pages = [shared.visitor.see(f"/history/at/{then}", page=page).body for page in range(1, 2 + live // PAGE_ROWS)]
    shown = [name for page in pages for name in re.findall(r">once (\d+) it was<", page)]

    assert shown == [f"{number:03d}" for number in range(PAGE_ROWS + 3)]
    assert max(page.count('class="votes"') for page in pages) == PAGE_ROWS
    assert f"{live} key points" in pages[0]
    assert "now another" in shared.visitor.see("/history/at", at="now", name="x").body + "".join(
        shared.visitor.see("/history/at", at="now", page=page).body for page in range(1, 2 + live // PAGE_ROWS)
    )
    assert shared.visitor.see("/history/at/999999").status == 404
    assert "0 key points" in _seen(shared.visitor.see("/history/at/0"))


def test_an_undo_takes_back_one_revision(shared: SharedPages) -> None:
    """What came later stays; the undone one says so, and a second time nothing is done."""
    with shared.opened() as project:
        name = _add(project, "undo this")
        number = last_revision(project)
        later = _add(project, "and keep that")

    done = shared.visitor.send(f"/history/{number}", do="undo")
    words = _after(shared, done)

    assert f"undid revision {number}" in words
    with shared.opened() as project:
        assert name not in _texts(project)
        assert later in _texts(project)
        last = last_revision(project)
    page = shared.visitor.see(f"/history/{number}")
    assert f"This revision was undone in revision {last}" in _seen(page)
    assert 'value="undo"' not in page.body
    again = _after(shared, shared.visitor.send(f"/history/{number}", do="undo"))
    assert "was undone already" in again
    with shared.opened() as project:
        assert last_revision(project) == last
    _after(shared, shared.visitor.send(f"/history/{last}", do="undo"))
    with shared.opened() as project:
        assert name in _texts(project)


@pytest.mark.parametrize(("prefer", "text"), [("ours", "worded by a worker"), ("theirs", "worded at first")])
def test_what_collides_is_shown_with_the_two_choices(shared: SharedPages, prefer: str, text: str) -> None:
    """Nothing is written before one of them is taken."""
    with shared.opened() as project:
        name = _add(project, "worded at first")
        edit.edit(project, name, text="worded again")
        number = last_revision(project)
        edit.edit(project, name, text="worded by a worker")
        last = last_revision(project)

    refused = shared.visitor.send(f"/history/{number}", do="undo")

    assert refused.status == 409
    words = _seen(refused)
    assert f"Revision {number} can't be undone" in words
    assert f"{name}, its text worded by a worker worded [-by a worker-]{{+at first+}}" in words
    assert ("Keep the current text" in words, "Use the earlier text" in words) == (True, True)
    with shared.opened() as project:
        assert last_revision(project) == last
    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', refused.body))
    assert shared.visitor.send(f"/history/{number}", **form, prefer=prefer).status == 303
    with shared.opened() as project:
        assert _texts(project)[name] == text
        edit.retire(project, name)


def test_a_choice_about_what_changed_meanwhile_is_not_carried_out(shared: SharedPages) -> None:
    """The person hasn't seen that text."""
    with shared.opened() as project:
        name = _add(project, "chosen at first")
        edit.edit(project, name, text="chosen again")
        number = last_revision(project)
        edit.edit(project, name, text="seen by the person")
    refused = shared.visitor.send(f"/history/{number}", do="undo")
    form = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', refused.body))
    with shared.opened() as project:
        edit.edit(project, name, text="worded meanwhile by a worker")

    words = _after(shared, shared.visitor.send(f"/history/{number}", **form, prefer="theirs"))

    assert "changed meanwhile" in words
    assert "Nothing was overwritten" in words
    with shared.opened() as project:
        assert _texts(project)[name] == "worded meanwhile by a worker"


def test_all_that_a_session_taught_is_taken_back(shared: SharedPages) -> None:
    """And nothing else."""
    with shared.opened() as project:
        kept = _add(project, "taught by a person")
        for text in ("taught first", "taught second"):
            with project.store.write(project.key) as book:
                book.draft.add(KeyPoint(text.replace("taught ", "tau-"), text, PATTERNS))
                number = book.commit("learn", text, origin=RevisionOrigin("taught-0001")).revision

    _after(shared, shared.visitor.send(f"/history/{number}", do="undo-session"))

    with shared.opened() as project:
        texts = _texts(project)
        assert kept in texts
        assert not [text for text in texts.values() if text in ("taught first", "taught second")]
    again = _after(shared, shared.visitor.send(f"/history/{number}", do="undo-session"))
    assert "Nothing that was learned from session taught-0001 is still in force" in again


def test_the_playbook_as_it_was_names_the_command_that_restores_it(shared: SharedPages) -> None:
    """For this project, from any folder, with its preview. The last state has nothing to restore."""
    with shared.opened() as project:
        then = _add(project, "restored with all") and last_revision(project)
        _add(project, "lost with the rest")
        last = last_revision(project)
        _add(Project.of_user(project.store), "restored in all projects")

    words = _seen(shared.visitor.see(f"/history/at/{then}"))
    command = f"playbook --project {shared.folder} restore --at {then}"
    assert f"what restoring this playbook would change: {command} --dry-run To restore it: {command} What" in words
    assert "playbook --user restore --at 0 --dry-run" in _seen(shared.visitor.see("/history/at/0", project="user"))
    assert "restore --at" not in _seen(shared.visitor.see(f"/history/at/{last}"))


@pytest.mark.parametrize("path", ["/history/99999", "/history/0", "/history/none", "/history/r", "/history/at/x"])
def test_what_is_no_revision_has_a_page_that_says_so(shared: SharedPages, path: str) -> None:
    """With the way to those that there are."""
    answer = shared.visitor.see(path)

    assert answer.status == 404
    assert 'role="alert"' in answer.body
    assert "/history?" in answer.body
    if not path.startswith("/history/at"):
        assert shared.visitor.send(path, do="undo").status == 404


def test_what_a_form_can_not_mean_changes_nothing(shared: SharedPages) -> None:
    """Neither another verb nor a number that is none is an error of ours."""
    with shared.opened() as project:
        _add(project, "stays whatever is sent")
        last = last_revision(project)

    assert shared.visitor.send(f"/history/{last}", do="erase").status == 409
    for page in ("0", "-1", "x", "9" * 30):
        assert shared.visitor.see(f"/history/{last}", page=page).status == 200
        assert shared.visitor.see("/history/at", page=page).status == 200
        assert shared.visitor.see("/history/diff", **{"from": 0, "page": page}).status == 200
    with shared.opened() as project:
        assert last_revision(project) == last


def test_a_playbook_without_revisions_has_its_pages(visitor: Visitor) -> None:
    """Each says that there is nothing yet."""
    assert "This playbook has no revisions yet." in visitor.see("/history").body
    assert "0 key points" in _seen(visitor.see("/history/at"))
    assert "0 key points" in _seen(visitor.see("/history/at", at="yesterday"))
    assert "There are no differences." in visitor.see("/history/diff", **{"from": "0"}).body
    assert "No proposal waits for you." in visitor.see("/review").body
    assert visitor.see("/history/1").status == 404
    assert visitor.send("/history/1", do="undo").status == 404


def test_what_this_machine_last_knew_of_a_team_is_no_history(shared: SharedPages) -> None:
    """It has the points alone: a history of it would have holes, and the proposals no words."""
    with shared.opened() as project:
        last_known = LastKnownProject(project.store, project.key, project.folder, own=project)
        request = PageRequest(last_known, {"revision": "1"}, {"at": "1", "from": "1"}, {}, [])
        for (method, _), page in {**history_pages.ROUTES, **review_page.ROUTES}.items():
            if method == "GET":
                with pytest.raises(ProjectError, match="The team's database can't be reached"):
                    page(request)


def test_the_addresses_keep_what_was_asked(shared: SharedPages) -> None:
    """A page of a comparison leads to the next one of the same comparison."""
    with shared.opened() as project, project.store.write(project.key) as book:
        for number in range(PAGE_ROWS + 1):
            book.draft.add(KeyPoint(f"dif-{number:03d}", f"it differs {number}", PATTERNS))
        book.commit("import", "differences")
    page = shared.visitor.see("/history/diff", **{"from": 0, "to": "now"})
    following = re.search(r'<a rel="next" href="([^"]*)"', page.body)

    assert following is not None
    query = parse_qs(urlsplit(unescape(following[1])).query)
    assert (query["from"], query["to"], query["page"]) == (["0"], ["now"], ["2"])
    names: list[str] = []
    while following is not None:
        names += re.findall(r'>added</span> <a class="name"[^>]*>([^<]*)<', page.body)
        following = re.search(r'<a rel="next" href="([^"]*)"', page.body)
        page = shared.visitor.see(unescape(following[1])) if following else page
    with shared.opened() as project:
        assert names == list(_texts(project))
