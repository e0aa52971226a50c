"""The points, one point, and what a person does to them, as a browser without scripts has them."""

import html
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
from sqlalchemy import text as sql

from playbook_db.claude_code.setup import guards
from playbook_db.domain.operations import cast_votes
from playbook_db.domain.playbook import Vote
from playbook_db.domain.prompt_text import NEVER_SHOWN
from playbook_db.domain.trust.evidence import Evidence
from playbook_db.domain.trust.following import Trial
from playbook_db.services.opening import open_project
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, open_store, read_playbook
from playbook_db.services.reading import history
from playbook_db.store.playbook.repository import RevisionOrigin
from playbook_db.store.queries import hook_queries, list_queries
from playbook_db.store.queries.list_queries import PointRecord
from tests.web.conftest import Answer, Visitor, served

TAGS = re.compile(r"<[^>]+>")


@dataclass(frozen=True, slots=True)
class Site:
    """Who opened the pages of a project, and where it is; a test has points of its own."""

    visitor: Visitor
    folder: Path
    url: str

    @contextmanager
    def project(self, name: str = "") -> Iterator[Project]:
        """The project, or another one in the same database."""
        with open_project(self.url, str(self.folder / name if name else self.folder), notify=print) as opened:
            yield opened

    @contextmanager
    def own(self) -> Iterator[Project]:
        """The user's own playbook."""
        with open_store(self.url) as store:
            yield Project.of_user(store)

    def add(self, text: str, section: str = "oth") -> str:
        """A new point, by its name."""
        with self.project() as project:
            return edit.add(project, text, section=section).changes[0].point.name

    def find(self, name: str) -> PointRecord:
        """The point as the database has it."""
        with self.project() as project:
            return edit.find(project, name)

    def see(self, path: str, **query: object) -> Answer:
        """A page."""
        return self.visitor.see(path, **query)

    def do(self, name: str, done: str, **form: object) -> Answer:
        """Send the form of the point *name*; the page that comes then."""
        return self.follow(self.visitor.send(f"/points/{name}", do=done, **form))

    def follow(self, answer: Answer) -> Answer:
        """The page to which *answer* leads, if it is a change that was made."""
        return self.visitor.see(answer.headers["location"]) if answer.status == 303 else answer

    def revision(self) -> int:
        """The last revision of the project."""
        with self.project() as project, project.store.read(project.key) as book:
            return book.revision


def words_of(answer: Answer) -> str:
    """What the page says, but for its head."""
    return " ".join(html.unescape(TAGS.sub("", answer.body.split("<main", 1)[1])).split())


def said(answer: Answer) -> str:
    """What the page says of what was done before."""
    return " ".join(
        html.unescape(TAGS.sub("", part)) for part in re.findall(r'class="said"[^>]*>(.*?)</p>', answer.body)
    )


def alert(answer: Answer) -> str:
    """What the page says was not done."""
    return html.unescape(" ".join(re.findall(r'role="alert">(.*?)</p>', answer.body, re.DOTALL)))


def listed(answer: Answer) -> list[str]:
    """The points in the list, in order."""
    return re.findall(r'<li><a class="name" href="[^"]*">([^<]+)</a>', answer.body)


def was(text: str) -> str:
    """*text* as a page gives it along."""
    return json.dumps(text)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One server for all tests of the module."""
    place = tmp_path_factory.mktemp("points")
    home, folder = place / "home", place / "project"
    for made in (home, folder / ".claude", folder / "other" / ".git", folder / "many" / ".git"):
        made.mkdir(parents=True)
    url = f"sqlite:///{home / '.claude/playbook/playbook.db'}"
    with served(folder, home) as address:
        visitor = Visitor(address)
        assert visitor.open().status == 303
        yield Site(visitor, folder, url)


# The list.


def test_a_playbook_without_points_says_how_they_come(site: Site) -> None:
    """In a project and in the user's own playbook, of which other tests may have made points."""
    with site.project("other") as project:
        with project.store.write(project.key):
            pass
        own = Project.of_user(project.store)
        if names := [point.name for point in read_playbook(own).points]:
            edit.retire(own, *names)
    empty = words_of(site.see("/points", project=str(site.folder / "other")))

    assert "There are no key points here yet. They come from your sessions" in empty
    assert "Your personal playbook has no key points yet" in words_of(site.see("/points", project="user:"))


def test_the_list_is_searched_filtered_and_sorted(site: Site) -> None:
    """By a form that works without a script; what was chosen stays in it, and what isn't there is said."""
    first = site.add("Zanzibar needs its own time zone", "ctx")
    second = site.add("Never deploy to Zanzibar on a Friday", "mis")
    site.do(second, "helpful")

    assert listed(site.see("/points", q="zanzibar", sort="votes")) == [second, first]
    assert listed(site.see("/points", q="zanziba")) == [second, first]
    narrowed = site.see("/points", q="zanzibar", section="ctx", state="live")
    assert listed(narrowed) == [first]
    assert '<option value="ctx" selected>' in narrowed.body
    assert 'value="zanzibar"' in narrowed.body
    assert "No key point matches" in words_of(site.see("/points", q="zanzibar", state="pinned"))
    row = words_of(site.see("/points", q="zanzibar", section="mis"))
    assert "↗ +1 helpful in 4 weeks" in row
    assert "shown to 0, cited by 0" in row


def test_what_stands_between_backticks_is_code(site: Site) -> None:
    """In the list and on the point's page; its characters stay text. Other backticks stay as they are."""
    name = site.add("Run `make <b>all</b>` twice, ``not`` `once")
    shown = "Run <code>make &lt;b&gt;all&lt;\\/b&gt;</code> twice, ``not`` `once"

    assert f'<span class="text">{shown}</span>' in site.see("/points", q="twice").body
    assert f'<p class="text lead">{shown}</p>' in site.see(f"/points/{name}").body


def test_what_is_proposed_is_on_the_page_that_decides(site: Site) -> None:
    """As proposals have no votes and no place in the playbook yet."""
    answer = site.see("/points", state="proposed")

    assert (answer.status, answer.headers["location"].partition("?")[0]) == (303, "/review")


def test_a_long_list_comes_by_pages(site: Site) -> None:
    """Fifty rows on each; the links keep what was asked for."""
    with site.project("many") as project:
        for number in range(51):
            edit.add(project, f"rule {number}")
    of = {"project": str(site.folder / "many"), "sort": "age"}

    first, second, beyond = (site.see("/points", page=page, **of) for page in (1, 2, 9))

    assert (len(listed(first)), listed(second), listed(beyond)) == (50, ["oth-001"], ["oth-001"])
    assert "51 points" in words_of(first)
    (following,) = re.findall(r'rel="next" href="([^"]+)"', first.body)
    assert listed(site.visitor.see(html.unescape(following))) == ["oth-001"]


def test_a_damaged_index_is_told_with_what_helps(site: Site) -> None:
    """And the search goes on without it."""
    name = site.add("A marzipan rule")
    path = site.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as connection:
        kept = connection.execute("SELECT id, block FROM point_search_data").fetchall()
        connection.execute("UPDATE point_search_data SET block = x'ffffffffffffffffffff'")
        connection.commit()
        try:
            answer = site.see("/points", q="marzipan")
        finally:
            connection.executemany("UPDATE point_search_data SET block = ? WHERE id = ?", [row[::-1] for row in kept])
            connection.commit()

    assert listed(answer) == [name]
    assert "playbook db check --rebuild-search" in words_of(answer)


# Changes.


def test_a_point_is_added_and_the_revision_is_said(site: Site) -> None:
    """With the page where it can be undone, and with its text as it was typed."""
    sent = site.visitor.send("/points", text="First line\r\nsecond line ", section="pref")
    answer = site.follow(sent)

    name = sent.headers["location"].partition("?")[0].rpartition("/")[2]
    point = site.find(name).point
    assert (point.text, point.section) == ("First line\nsecond line", "USER PREFERENCES")
    number = site.revision()
    assert f"added {name} (revision {number})" in said(answer)
    assert re.search(rf'class="said".*<a href="/history/{number}\?[^"]*">Undo</a>', answer.body)
    assert "added" not in said(site.see("/points"))  # it is said once


def test_a_page_that_only_leads_on_takes_nothing_of_what_was_done(site: Site) -> None:
    """The first page does: what was said for the next one is read on the one that it leads to."""
    site.visitor.send("/points", text="Said behind a page that leads on")

    assert "added" in said(site.follow(site.see("/")))


@pytest.mark.parametrize(
    ("text", "why"), [("Say it twice", "The playbook says this already: "), (" \r\n ", "can't be stored")]
)
def test_what_cannot_be_added_is_told_and_stays_in_the_form(site: Site, text: str, why: str) -> None:
    """As the command tells it."""
    if text.strip():
        site.add(text)
    before = site.revision()

    answer = site.visitor.send("/points", text=text, section="mis")

    assert (answer.status, site.revision()) == (409, before)
    assert why in alert(answer)
    assert f'<textarea name="text" rows="3" required>\n{text}'.replace("\r\n", "\n") in answer.body
    assert '<option value="mis" selected>MISTAKES TO AVOID' in answer.body


def test_an_edit_names_what_it_was_based_on(site: Site) -> None:
    """Where the point was reworded meanwhile nothing is overwritten; both texts are shown, and what was typed stays."""
    name = site.add("Use the old tool")
    assert "edited" in said(
        site.do(name, "edit", text="Use the new tool", section="oth", was=was("Use the old tool"), was_in="oth")
    )

    for form in ({"was": was("Use the old tool")}, {"was": "no JSON"}, {}):
        answer = site.do(name, "edit", text="Use a third tool", section="oth", was_in="oth", **form)
        assert answer.status == 409
        assert "reworded meanwhile. Nothing was changed" in alert(answer)
        assert "Its current text, in OTHERS" in words_of(answer)
        assert "Your text" in words_of(answer)
        assert ">\nUse a third tool</textarea>" in answer.body
        assert site.find(name).point.text == "Use the new tool"
    (now,) = set(re.findall(r'name="was" value="([^"]+)"', answer.body))
    site.do(name, "edit", text="Use a third tool", section="oth", was_in="oth", was=html.unescape(now))
    assert site.find(name).point.text == "Use a third tool"


def test_a_move_names_the_section_that_it_was_based_on(site: Site) -> None:
    """The text alone, or the section alone, is changed; who moves what was moved meanwhile is told."""
    name = site.add("To be moved")
    form = {"text": "To be moved", "was": was("To be moved"), "was_in": "oth"}

    assert "nothing changed" in said(site.do(name, "edit", section="oth", **form))
    site.do(name, "edit", section="pat", **form)
    refused = site.do(name, "edit", section="mis", **form)
    site.do(name, "edit", section="oth", **form | {"text": "To be reworded"})  # the section wasn't touched

    assert "moved to PATTERNS & APPROACHES meanwhile" in alert(refused)
    point = site.find(name).point
    assert (point.text, point.section) == ("To be reworded", "PATTERNS & APPROACHES")


def test_a_text_goes_through_the_form_and_back_without_a_change(site: Site) -> None:
    """Whatever ends its lines, and whatever in it can't be seen: a browser sends another end, and leaves out a first
    empty line."""
    text = "one\rtwo\r\nthree \x1b[2J\x9b\u202e</textarea><b>"
    with site.project() as project:
        edit.apply_batch(project, [{"type": "ADD", "text": text}], origin="a test")
        name = next(point.name for point in history.at(project, "now").playbook.points if "three" in point.text)
    page = site.see(f"/points/{name}").body
    shown = html.unescape(re.findall(r'<textarea name="text"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)[0])
    given = html.unescape(re.findall(r'name="was" value="([^"]*)"', page)[0])
    typed = re.sub(r"\r\n|\r|\n", "\r\n", shown)

    answer = site.do(name, "edit", text=typed, section="oth", was=given, was_in="oth")

    assert "nothing changed" in said(answer)
    assert site.find(name).point.text == text


def test_no_page_has_a_character_that_steers_or_hides(site: Site) -> None:
    """Neither where a text is shown nor in a field, whoever wrote it."""
    steering = "a\x1b[2J\x9b1m\u202eb"
    query = quote(steering)
    name = site.add(f"{steering} one")
    pages = [
        site.visitor.send("/points", text=f"{steering} one", section="oth"),  # it is there already
        *(site.see(f"/points{path}") for path in ("", f"/{name}", f"?q={query}", f"/{query}")),
        *(site.see(f"/history?{field}={query}") for field in ("name", "by", "session", "since", "until")),
        *(site.see(path) for path in (f"/diff?from={query}", f"/at?at={query}", f"/review?proposal={query}")),
    ]

    for page in pages:
        unseen = [char for char in page.body if any(first <= ord(char) <= last for first, last in NEVER_SHOWN)]
        assert unseen == [], page.body
    assert "a\ufffd[2J" in pages[1].body


def test_votes_are_cast_on_the_text_that_was_shown(site: Site) -> None:
    """One revision each, of which the page tells; not on another text."""
    name = site.add("To be voted on")

    for tag in ("helpful", "helpful", "harmful", "neutral"):
        answer = site.do(name, tag, was=was("To be voted on"))
        assert f"voted {name} {tag} (revision {site.revision()})" in said(answer)
    refused = site.do(name, "harmful", was=was("What it said before"))

    assert "reworded meanwhile" in alert(refused)
    point = site.find(name).point
    assert (point.helpful, point.harmful) == (2, 1)


def test_a_point_is_pinned_retired_and_restored(site: Site) -> None:
    """And each page offers what can be done next."""
    name = site.add("To leave and to come back")

    assert f"{name}: shown first in every session" in said(site.do(name, "pin"))
    assert 'value="unpin"' in site.see(f"/points/{name}").body
    assert "no longer shown first" in said(site.do(name, "unpin"))
    assert site.do(name, "retire", reason="not any more", was=was("other")).status == 409
    gone = site.do(name, "retire", reason=" not any more ", was=was("To leave and to come back"))
    assert "retired in revision" in words_of(gone)
    assert "not any more" in words_of(gone)
    assert 'value="retire"' not in gone.body
    assert name in listed(site.see("/points", state="retired"))
    assert "bring it back" in alert(site.do(name, "helpful"))
    assert "restored" in said(site.do(name, "restore"))
    assert "is live; there is nothing to restore" in alert(site.do(name, "restore"))
    assert site.find(name).retired is None


def test_what_nobody_offers_is_refused(site: Site) -> None:
    """With a sentence."""
    name = site.add("To be left alone")

    answer = site.do(name, "explode")

    assert answer.status == 409
    assert "Nothing was changed" in answer.body


def test_a_point_moves_into_the_users_own_playbook(site: Site) -> None:
    """Its name tells whose it is, whichever project is at hand; each revision that was made is said."""
    name = site.add("Worth knowing everywhere")
    promoted = site.do(name, "promote")

    assert re.search(r"(uoth-\d+) is the copy of", said(promoted))
    assert f"retired {name} (revision" in said(promoted)
    assert "project=user" in promoted.body
    copy = re.findall(r"uoth-\d+", said(promoted))[0]
    assert f"{name} was promoted to {copy} before" in said(site.do(name, "promote"))
    elsewhere = site.see(f"/points/{copy}", project=str(site.folder))
    assert (elsewhere.status, "project=user" in elsewhere.headers["location"]) == (303, True)
    voted = site.do(copy, "helpful")  # the form's address names the project
    assert f"voted {copy} helpful" in said(voted)
    with site.own() as own:
        assert edit.find(own, copy).point.helpful == 1
    assert f"playbook demote {copy}" in words_of(site.see(f"/points/{copy}", project="user"))
    kept = site.add("Worth knowing here, too")
    site.do(kept, "promote", keep="yes")
    assert site.find(kept).retired is None


# Guards.


def test_a_point_becomes_a_guard_and_is_none_again(site: Site) -> None:
    """By the rules of the command, in the local settings of the project that is shown."""
    name = site.add("Ask <b>first</b>")
    path = site.folder / ".claude" / "settings.local.json"

    made = site.do(name, "guard", pattern=" Bash(git push *) ", mode="deny")
    assert f"{name} refuses calls of Bash(git push *), from now on ({path})" in said(made)
    assert "The guard refuses calls of Bash(git push *). So far: 0." in words_of(made)
    assert guards.read(str(site.folder)) == [guards.PointGuard(name, "Bash(git push *)", "deny")]
    replaced = site.do(name, "guard", pattern="Edit(<i>*.sql)", mode="whatever")
    assert "The guard asks before calls of Edit(<i>*.sql). So far: 0, of which you allowed 0." in words_of(replaced)
    assert [each.mode for each in guards.read(str(site.folder))] == ["ask"]
    assert f"{name}: no longer a guard" in said(site.do(name, "unguard"))
    assert not path.exists()


def test_a_guard_that_can_not_be_created_is_told_and_stays_in_the_form(site: Site) -> None:
    """In the words of the command; nothing is changed."""
    name = site.add("Not every call")
    path = site.folder / ".claude" / "settings.local.json"

    refused = site.do(name, "guard", pattern="Bash(*)", mode="deny")
    assert (refused.status, path.exists()) == (409, False)
    assert "A guard's pattern names a tool and some of its calls" in alert(refused)
    assert 'value="Bash(*)"' in refused.body
    assert '<option value="deny" selected>' in refused.body
    path.write_text("{ broken")
    try:
        assert f"{path}, line 1" in alert(site.do(name, "guard", pattern="Bash(x *)", mode="ask"))
        assert path.read_text() == "{ broken"
    finally:
        path.unlink()
    site.do(name, "retire", was=was("Not every call"))
    assert 'name="pattern"' not in site.see(f"/points/{name}").body
    assert site.do(name, "guard", pattern="Bash(x *)", mode="ask").status == 409
    assert not path.exists()


def test_a_point_of_the_users_own_is_no_guard_on_its_page(site: Site) -> None:
    """As guards belong to a project, and none is at hand."""
    with site.own() as own:
        name = edit.add(own, "Ask everywhere").changes[0].point.name

    assert 'name="pattern"' not in site.see(f"/points/{name}", project="user:").body
    refused = site.visitor.send(f"/points/{name}?project=user:", do="guard", pattern="Bash(x *)", mode="ask")
    assert "Guards need a project's folder" in alert(refused)


# Forgetting.


def test_forgetting_shows_what_goes_asks_and_leaves_nothing(site: Site) -> None:
    """In any page; not before the person said so, and not more than was shown."""
    code = "xylophone-4711 is the door's code"
    name = site.add("Words before xylophone-4711")
    site.do(name, "edit", text=code, section="oth", was=was("Words before xylophone-4711"), was_in="oth")
    asked = site.see(f"/forget/{name}")
    (seen,) = re.findall(r'name="seen" value="([0-9a-f]{64})"', asked.body)

    assert f"forget {name}: {code}" in words_of(asked)
    assert "erase Words before xylophone-4711" in words_of(asked)
    assert "in the history: 2 wordings" in words_of(asked)
    unsure = site.visitor.send(f"/forget/{name}", seen=seen)
    assert "Nothing was erased" in alert(unsure)
    site.do(name, "retire", reason="because of xylophone-4711")
    changed = site.visitor.send(f"/forget/{name}", seen=seen, sure="yes")
    assert "have changed since they were shown" in alert(changed)
    assert site.find(name).point.text == code
    (seen,) = re.findall(r'name="seen" value="([0-9a-f]{64})"', changed.body)
    done = site.follow(site.visitor.send(f"/forget/{name}", seen=seen, sure="yes"))
    assert f"{name} is forgotten (revision {site.revision()})" in said(done)
    pages = [site.see("/points", q="xylophone"), site.see("/points", state="retired"), site.see(f"/points/{name}")]
    assert [code in page.body or "because of xylo" in page.body for page in pages] == [False, False, False]
    assert "none of its text is left" in words_of(pages[2])
    assert 'value="restore"' not in pages[2].body
    again = site.see(f"/forget/{name}")
    assert (again.status, "was forgotten already" in html.unescape(again.body)) == (409, True)


def test_within_a_session_nothing_is_forgotten(folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by the command: whoever asks there may be no person."""
    with open_project(f"sqlite:///{home / '.claude/playbook/playbook.db'}", str(folder), notify=print) as project:
        edit.add(project, "Still there")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "a-session")
    with served(folder) as address:
        visitor = Visitor(address)
        visitor.open()
        shown = visitor.see("/forget/oth-001")
        refused = visitor.send("/forget/oth-001", sure="yes", seen="0" * 64)
        assert "Erase it for good" not in shown.body
        assert (refused.status, "Run it in your own terminal: playbook forget " in refused.body) == (409, True)
        assert listed(visitor.see("/points")) == ["oth-001"]


def test_within_a_session_no_guard_is_created_or_removed(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by the command."""
    with open_project(f"sqlite:///{home / '.claude/playbook/playbook.db'}", str(folder), notify=print) as project:
        edit.add(project, "Ask first")
    guards.add(str(folder), made := guards.PointGuard("oth-001", "Bash(x *)", "ask"))
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "a-session")
    with served(folder) as address:
        visitor = Visitor(address)
        visitor.open()
        for form in ({"do": "unguard"}, {"do": "guard", "pattern": "Bash(y *)", "mode": "deny"}):
            assert "Only a person can create or remove guards" in alert(visitor.send("/points/oth-001", **form))
    assert guards.read(str(folder)) == [made]


# One point.


def test_the_life_of_a_point_tells_what_why_tells(site: Site) -> None:
    """Texts with the changed words marked, votes with reason and evidence, sessions, merges, where it was cited."""
    name, other = site.add("Keep the bright lamp on"), site.add("A lamp is to be on")
    site.do(name, "edit", text="Keep the dim lamp on", section="oth", was=was("Keep the bright lamp on"), was_in="oth")
    with site.project() as project:
        with project.store.write(project.key) as book:
            quote = Evidence("<i>the lamp was off</i>", "Bash: make test", "seen")
            ballot = [Vote(name, "harmful", "It was <dark>", ignored=True, evidence=(quote,))]
            book.commit("learn", "learned", votes=cast_votes(book.draft, ballot), origin=RevisionOrigin("sess/ion 1"))
            of = {"playbook_id": book.playbook_id, "session_id": "s-lamp", "source": "startup", "revision": 1}
            number = list_queries.point_id(book, name)
            shown = {**of, "points": f"[{number}]", "left_out": 0, "now": book.now, "event": "UserPromptSubmit"}
            book.connection.execute(sql(hook_queries.ADD_SHOWING), shown)
            cited = {"p": book.playbook_id, "id": number, "t": book.now}
            cite = "INSERT INTO citations VALUES (:p, 's-lamp', :id, 1, :t)"
            book.connection.execute(sql(cite), cited)
            assert number is not None
            book.add_trial(number, Trial(True, 2, 1), session_id="s-lamp")
        merge = {"type": "MERGE", "source_ids": [name, other], "merged_text": "Lamps stay on"}
        merged = edit.apply_batch(project, [merge], origin="a test")
    target = next(change.point.name for change in merged.changes if change.kind == "add")

    body, page = site.see(f"/points/{name}").body, words_of(site.see(f"/points/{name}"))

    assert "Keep the <del>bright</del><ins>dim</ins> lamp on" in body
    assert "It was &lt;dark&gt;" in body
    assert "&lt;i&gt;the lamp was off&lt;" in body
    assert "seen here; Bash: make test" in page
    assert "not followed, which cost the session time" in page
    assert "/sessions/sess%2Fion%201?" in body
    assert f"retired into {target}" in page
    assert "session s-lamp" in page
    assert "shown by prompt" in page
    assert "Shown in 1 session, followed in 1, ignored in 1, which cost 1 failed call." in page
    assert "ignored by 1" in words_of(site.see("/points", q="lamp", sort="ignored", state="retired"))
    assert f"Merged from{name}, {other}" in words_of(site.see(f"/points/{target}")).replace(
        "Merged from ", "Merged from"
    )


def test_a_long_life_comes_by_pages(site: Site) -> None:
    """Its end first; none of it is left out."""
    name = site.add("Voted on for years")
    with site.project() as project:
        for _ in range(60):
            edit.vote(project, name, "helpful")
    first = site.see(f"/points/{name}")
    (earlier,) = re.findall(r'rel="next" href="([^"]+)"', first.body)
    second = site.visitor.see(html.unescape(earlier))

    revisions = [re.findall(r">revision (\d+)</a></span>", page.body) for page in (first, second)]
    assert [len(each) for each in revisions] == [50, 11]
    assert len({*revisions[0], *revisions[1]}) == 61
    assert 'rel="next"' not in second.body


def test_an_unknown_point_is_a_page_that_says_what_to_do(site: Site) -> None:
    """With the names that are like it, and ways on; nothing of the address runs."""
    name = site.add("A point with a name")

    near, none = site.see(f"/points/{name}9"), site.see("/points/%3Cscript%3Ealert(1)%3C%2Fscript%3E")

    assert (near.status, none.status) == (404, 404)
    assert f"Did you mean {name}" in words_of(near)
    assert "<script>alert" not in none.body
    assert site.do("oth-98765", "helpful").status == 404


def test_a_folder_that_looks_like_no_project_gets_no_playbook_by_the_way(site: Site, tmp_path: Path) -> None:
    """The form keeps the text, and says which command creates a playbook there."""
    bare, home = tmp_path / "bare", tmp_path / "home"
    for made in (bare, home):
        made.mkdir(exist_ok=True)
    with served(bare, home) as address:
        visitor = Visitor(address)
        visitor.open()
        refused = visitor.send("/points", text="Kept all the same", section="oth")
        assert refused.status == 409
        assert f"{bare} doesn't look like a project" in alert(refused)
        assert "playbook init" in alert(refused)
        assert "Kept all the same" in refused.body

        assert listed(visitor.see("/points")) == []


def test_a_page_shows_what_a_session_gets_and_why(site: Site) -> None:
    """The text of a session's start with its last line, and a reason for each match."""
    name = site.add("`grease_gearbox` before winter")
    for number in range(12):
        site.add(f"ledger {number}: " + "x" * 950)

    plain = words_of(site.see("/shown"))
    assert "more key points aren't shown here" in plain
    asked = words_of(site.see("/shown", q="why does grease_gearbox hang"))
    assert re.search(rf"{name}\s*(start\s*shown at the session's start|prompt\s*shown with the prompt)", asked)
    assert "grease, gearbox" in asked or "grease_gearbox" in asked
    wrong = site.see("/shown", q="zebra", file="../outside.py")
    assert wrong.status == 200
    assert "There is no file ../outside.py" in words_of(wrong)
    assert 'name="file" value="../outside.py"' in wrong.body
