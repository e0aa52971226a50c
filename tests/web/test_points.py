"""The pages of points: the list, one point, and what a person changes there."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from playbook_db.claude_code.setup import guards
from playbook_db.domain.operations import cast_votes
from playbook_db.domain.playbook import Vote
from playbook_db.services.playbook import edit
from playbook_db.store.playbook.repository import RevisionOrigin
from playbook_db.store.queries.list_queries import PointRecord
from tests.web.conftest import Answer, Pages, alert, listed, pages_in, said, visiting, words_of


def _find(pages: Pages, name: str) -> PointRecord:
    with pages.opened() as project:
        return edit.find(project, name)


def _do(pages: Pages, name: str, action: str, *, was: str = "", **form: object) -> Answer:
    """Send a form of the point's page, which showed the text *was*."""
    return pages.send(f"/points/{name}", do=action, **({"was": json.dumps(was)} if was else {}), **form)


def test_search_form_keeps_its_values(pages: Pages) -> None:
    body = pages.see("/points", q="zanzibar", section="ctx", state="live").body

    assert '<option value="ctx" selected>' in body
    assert 'value="zanzibar"' in body


def test_backticks_become_code(pages: Pages) -> None:
    """Markup in them stays text."""
    name = pages.add("Run `make <b>all</b>` twice, ``not`` `once")
    shown = "Run <code>make &lt;b&gt;all&lt;\\/b&gt;</code> twice, ``not`` `once"

    assert f'<span class="text">{shown}</span>' in pages.see("/points", q="twice").body
    assert f'<p class="text lead">{shown}</p>' in pages.see(f"/points/{name}").body


def test_list_is_paged(tmp_path: Path) -> None:
    with pages_in(tmp_path, lambda project: [edit.add(project, f"rule {number}") for number in range(51)]) as pages:
        first, beyond = (pages.see("/points", page=page, sort="age") for page in (1, 9))
        (following,) = re.findall(r'rel="next" href="([^"]+)"', first.body)
        second = pages.see(unescape(following))

    assert (len(listed(first)), listed(second), listed(beyond)) == (50, ["oth-001"], ["oth-001"])
    assert "51 points" in words_of(first)


def test_adding_reports_the_revision(pages: Pages) -> None:
    answer = pages.send("/points", text="First line\r\nsecond line ", section="pref")

    number = pages.revision()
    (name,) = re.findall(rf"added (\S+) \(revision {number}\)", said(answer))
    point = _find(pages, name).point
    assert (point.text, point.section) == ("First line\nsecond line", "USER PREFERENCES")
    assert re.search(rf'class="said".*<a href="/history/{number}\?[^"]*">Undo</a>', answer.body)
    assert "added" not in said(pages.see("/points"))  # only once


@pytest.mark.parametrize(
    ("text", "why"), [("Say it twice", "The playbook says this already: "), (" \r\n ", "can't be stored")]
)
def test_refused_text_stays_in_the_form(pages: Pages, text: str, why: str) -> None:
    if text.strip():
        pages.add(text)
    before = pages.revision()

    answer = pages.send("/points", text=text, section="mis")

    assert (answer.status, pages.revision()) == (409, before)
    assert why in alert(answer)
    assert f'<textarea name="text" rows="3" required>\n{text}'.replace("\r\n", "\n") in answer.body
    assert '<option value="mis" selected>MISTAKES TO AVOID' in answer.body


def test_edit_of_a_changed_point_is_refused(pages: Pages) -> None:
    """Both texts are shown, and the typed one stays in the form."""
    name = pages.add("Use the old tool")
    form = {"section": "oth", "was_in": "oth"}
    assert "edited" in said(_do(pages, name, "edit", text="Use the new tool", was="Use the old tool", **form))

    for was in ("Use the old tool", ""):
        answer = _do(pages, name, "edit", text="Use a third tool", was=was, **form)
        assert answer.status == 409
        assert "reworded meanwhile. Nothing was changed" in alert(answer)
        assert "Its current text, in OTHERS" in words_of(answer)
        assert ">\nUse a third tool</textarea>" in answer.body
        assert _find(pages, name).point.text == "Use the new tool"
    (now,) = set(re.findall(r'name="was" value="([^"]+)"', answer.body))
    _do(pages, name, "edit", text="Use a third tool", was=json.loads(unescape(now)), **form)
    assert _find(pages, name).point.text == "Use a third tool"


def test_form_keeps_every_character(pages: Pages) -> None:
    """Browsers change line endings."""
    text = "one\rtwo\r\nthree \x1b[2J\x9b\u202e</textarea><b>"
    with pages.opened() as project:
        name = edit.apply_batch(project, [{"type": "ADD", "text": text}], origin="a test").changes[0].point.name
    page = pages.see(f"/points/{name}").body
    shown = unescape(re.findall(r'<textarea name="text"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)[0])
    given = json.loads(unescape(re.findall(r'name="was" value="([^"]*)"', page)[0]))
    typed = re.sub(r"\r\n|\r|\n", "\r\n", shown)

    answer = _do(pages, name, "edit", text=typed, section="oth", was=given, was_in="oth")

    assert "nothing changed" in said(answer)
    assert _find(pages, name).point.text == text


def test_votes_need_the_text_that_was_shown(pages: Pages) -> None:
    name = pages.add("To be voted on")

    for tag in ("helpful", "helpful", "harmful", "neutral"):
        answer = _do(pages, name, tag, was="To be voted on")
        assert f"voted {name} {tag} (revision {pages.revision()})" in said(answer)
    refused = _do(pages, name, "harmful", was="An earlier text")

    assert "reworded meanwhile" in alert(refused)
    point = _find(pages, name).point
    assert (point.helpful, point.harmful) == (2, 1)


def test_point_is_pinned_retired_and_restored(pages: Pages) -> None:
    name = pages.add("To retire and restore")

    assert f"{name}: shown first in every session" in said(_do(pages, name, "pin"))
    assert 'value="unpin"' in pages.see(f"/points/{name}").body
    assert "no longer shown first" in said(_do(pages, name, "unpin"))
    assert _do(pages, name, "retire", reason="not any more", was="other").status == 409
    gone = _do(pages, name, "retire", reason=" not any more ", was="To retire and restore")
    assert "retired in revision" in words_of(gone)
    assert "not any more" in words_of(gone)
    assert 'value="retire"' not in gone.body
    assert name in listed(pages.see("/points", state="retired"))
    assert "bring it back" in alert(_do(pages, name, "helpful"))
    assert "restored" in said(_do(pages, name, "restore"))
    assert _find(pages, name).retired is None


@pytest.mark.parametrize("path", ["/points/oth-001", "/history/1", "/review", "/sessions"])
def test_unknown_actions_change_nothing(pages: Pages, path: str) -> None:
    pages.add(f"Left alone by {path}")
    before = pages.revision()

    for form in ({"do": "explode"}, {}):
        assert pages.send(path, **form).status == 409
    assert pages.revision() == before


def test_point_is_promoted(pages: Pages) -> None:
    name, kept = pages.add("Worth knowing everywhere"), pages.add("Worth knowing here, too")

    promoted = _do(pages, name, "promote")

    assert f"retired {name} (revision" in said(promoted)
    (copy,) = re.findall(r"(uoth-\d+) is the copy of", said(promoted))
    assert f"{name} was promoted to {copy} before" in said(_do(pages, name, "promote"))
    elsewhere = pages.see(f"/points/{copy}", project=str(pages.folder))
    assert (elsewhere.status, "project=user" in elsewhere.headers["location"]) == (303, True)
    assert f"voted {copy} helpful" in said(_do(pages, copy, "helpful"))
    with pages.opened(is_users=True) as own:
        assert edit.find(own, copy).point.helpful == 1
    assert f"playbook demote {copy}" in words_of(pages.see(f"/points/{copy}", project="user"))
    _do(pages, kept, "promote", keep="yes")
    assert _find(pages, kept).retired is None


def test_guard_is_created_and_removed(pages: Pages) -> None:
    name = pages.add("Ask <b>first</b>")
    path = pages.folder / ".claude" / "settings.local.json"

    created = _do(pages, name, "guard", pattern=" Bash(git push *) ", mode="deny")
    assert f"{name} refuses calls of Bash(git push *), from now on ({path})" in said(created)
    assert guards.read(str(pages.folder)) == [guards.PointGuard(name, "Bash(git push *)", "deny")]
    replaced = _do(pages, name, "guard", pattern="Edit(<i>*.sql)", mode="whatever")
    assert "The guard asks before calls of Edit(<i>*.sql). So far: 0, of which you allowed 0." in words_of(replaced)
    assert [each.mode for each in guards.read(str(pages.folder))] == ["ask"]
    assert f"{name}: no longer a guard" in said(_do(pages, name, "unguard"))
    assert not path.exists()


def test_forgetting_asks_first_and_erases_all(pages: Pages) -> None:
    code, earlier = "xylophone-4711 is the door's code", "Words before xylophone-4711"
    name = pages.add(earlier)
    _do(pages, name, "edit", text=code, section="oth", was=earlier, was_in="oth")
    asked = pages.see(f"/forget/{name}")
    (seen,) = re.findall(r'name="seen" value="([0-9a-f]{64})"', asked.body)

    assert f"forget {name}: {code}" in words_of(asked)
    assert f"erase {earlier}" in words_of(asked)
    assert "in the history: 2 wordings" in words_of(asked)
    assert "Nothing was erased" in alert(pages.send(f"/forget/{name}", seen=seen))
    _do(pages, name, "retire", reason="because of xylophone-4711")
    changed = pages.send(f"/forget/{name}", seen=seen, sure="yes")
    assert "have changed since they were shown" in alert(changed)
    assert _find(pages, name).point.text == code
    (seen,) = re.findall(r'name="seen" value="([0-9a-f]{64})"', changed.body)
    done = pages.send(f"/forget/{name}", seen=seen, sure="yes")
    assert f"{name} is forgotten (revision {pages.revision()})" in said(done)
    after = [pages.see("/points", q="xylophone"), pages.see("/points", state="retired"), pages.see(f"/points/{name}")]
    assert [code in page.body or "because of xylo" in page.body for page in after] == [False, False, False]
    assert "none of its text is left" in words_of(after[2])
    assert 'value="restore"' not in after[2].body
    assert "was forgotten already" in alert(pages.see(f"/forget/{name}"))


def test_merged_points_name_each_other(pages: Pages) -> None:
    name, other = pages.add("Keep the bright lamp on"), pages.add("A lamp is to be on")
    with pages.opened() as project:
        merge = {"type": "MERGE", "source_ids": [name, other], "merged_text": "Lamps stay on"}
        merged = edit.apply_batch(project, [merge], origin="a test")
    target = next(change.point.name for change in merged.changes if change.kind == "add")

    assert f"retired into {target}" in words_of(pages.see(f"/points/{name}"))
    assert re.search(f"Merged from *{name}, {other}", words_of(pages.see(f"/points/{target}")))


def test_vote_links_to_its_session(pages: Pages) -> None:
    """An id may have any characters."""
    name = pages.add("To be voted on by a session")
    with pages.opened() as project, project.store.write(project.key) as book:
        votes = cast_votes(book.draft, [Vote(name, "harmful", "It was <dark>")])
        book.commit("learn", "learned", votes=votes, origin=RevisionOrigin("sess/ion 1"))

    body = pages.see(f"/points/{name}").body

    assert "It was &lt;dark&gt;" in body
    assert "/sessions/sess%2Fion%201?" in body


def test_unknown_point_suggests_names(pages: Pages) -> None:
    name = pages.add("A point with a name")

    near, unknown = pages.see(f"/points/{name}9"), pages.see("/points/%3Cscript%3Ealert(1)%3C%2Fscript%3E")

    assert (near.status, unknown.status) == (404, 404)
    assert f"Did you mean {name}" in words_of(near)
    assert "<script>alert" not in unknown.body
    assert _do(pages, "oth-98765", "helpful").status == 404


def test_odd_folder_gets_no_playbook_by_accident(tmp_path: Path) -> None:
    bare, home = tmp_path / "bare", tmp_path / "home"
    for each in (bare, home):
        each.mkdir(exist_ok=True)
    with visiting(bare, home) as visitor:
        refused = visitor.send("/points", text="Kept all the same", section="oth")
        assert refused.status == 409
        assert f"{bare} doesn't look like a project" in alert(refused)
        assert "playbook init" in alert(refused)
        assert "Kept all the same" in refused.body
        assert listed(visitor.see("/points")) == []


def test_page_shows_what_a_session_gets(pages: Pages) -> None:
    name = pages.add("`grease_gearbox` before winter")
    for number in range(12):
        pages.add(f"ledger {number}: " + "x" * 950)

    assert "more key points aren't shown here" in words_of(pages.see("/shown"))
    asked = words_of(pages.see("/shown", q="why does grease_gearbox hang"))
    assert re.search(rf"{name}\s*(start\s*shown at the session's start|prompt\s*shown with the prompt)", asked)
    assert 'name="file" value="../outside.py"' in pages.see("/shown", q="zebra", file="../outside.py").body
