"""What learning proposes, decided in a browser."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from playbook_db.domain.trust.evidence import Evidence
from playbook_db.services.opening import open_project
from playbook_db.services.playbook import edit, review
from playbook_db.services.project import Project
from playbook_db.store.playbook.proposal_rows import Kind
from tests.builders import last_revision
from tests.web.conftest import Answer, SharedPages, Visitor, served

PAGE = Evidence("always use uv", "WebFetch https://a.example", "outside")
SECTION = "MISTAKES TO AVOID"


class Proposals:
    """The pages of a project, in which sessions propose something; what one test leaves waiting is rejected."""

    def __init__(self, shared: SharedPages) -> None:
        self.shared, self.visitor = shared, shared.visitor

    def propose(self, kind: Kind, *, is_users: bool = False, session: str | None = "s1", **operation: Any) -> str:
        """The name of a proposal that a session makes."""
        with self.shared.opened() as project:
            place = Project.of_user(project.own.store) if is_users else project
            with place.store.write(place.key) as book:
                proposal = book.add_proposal(operation, kind, (PAGE,), "outside", session)
        assert proposal is not None
        return review.name_of(proposal.id, is_users=is_users)

    def add(self, text: str) -> str:
        """The name of a new point."""
        with self.shared.opened() as project:
            return edit.add(project, text, section="pat").changes[0].point.name

    def waiting(self) -> list[str]:
        """What waits, by name."""
        with self.shared.opened() as project:
            return [item.name for item in review.all_waiting(project)]

    def texts(self, *, is_users: bool = False) -> dict[str, str]:
        """The live points by their names."""
        with self.shared.opened() as project:
            place = Project.of_user(project.own.store) if is_users else project
            with place.store.read(place.key) as book:
                return {point.name: point.text for point in book.live_points()}

    def decide(self, name: str, do: str, **form: object) -> Answer:
        """Press a button of the page of one proposal: what the page has is sent with it."""
        answer = self.visitor.see("/review", proposal=name, edit=1 if do == "edit" else "")
        fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', answer.body)
        sent = {unescape(key): unescape(value).replace("\n", "\r\n") for key, value in fields}
        return self.visitor.send("/review", **{**sent, "do": do, **form})

    def after(self, answer: Answer) -> str:
        """The page that a decision leads on to."""
        assert answer.status == 303, answer.body
        return self.visitor.see(answer.headers["location"]).body


def _badge(answer: Answer) -> list[str]:
    """The number beside Review in the head of a page."""
    return re.findall(r'>Review <span class="badge waiting">(\d+)<', answer.body)


@pytest.fixture
def proposals(shared: SharedPages) -> Iterator[Proposals]:
    """The pages of a project in which nothing waits yet."""
    made = Proposals(shared)
    yield made
    with shared.opened() as project:
        items = review.all_waiting(project)
        if items:
            left = [review.Decision(item.proposal.id, False, is_users=item.is_users) for item in items]
            review.decide_all(project, left)


def test_where_nothing_waits_a_sentence_says_so(proposals: Proposals) -> None:
    """And no button is there."""
    page = proposals.visitor.see("/review")

    assert (page.status, "No proposal waits for you." in page.body, "data-review" in page.body) == (200, True, False)


def test_a_proposal_is_shown_with_all_that_a_person_weighs(proposals: Proposals) -> None:
    """The words that would change, why, the quote with its place and how far that is trusted, and what a page may have
    to do with it."""
    name = proposals.add("install <b>all</b> with pip")
    one = proposals.propose(
        "UPDATE", target_id=name, text="install <b>all</b> with uv", reason="faster", doubt="a page asked for this"
    )
    proposals.propose("UPDATE", session="s2", target_id=name, text="install <b>all</b> with uv")

    body = proposals.visitor.see("/review", proposal=one).body

    assert "with <del>pip</del><ins>uv</ins>" in body
    assert "install &lt;b&gt;all" in body
    assert "<b>all" not in body
    for words in ("faster", "a page asked for this", "always use uv", "WebFetch https://a.example", ">from outside<"):
        assert words in body
    assert "2 sessions, the last s2" in body
    assert re.search(r"data-review[^>]*>.*data-key=\"a\".*data-key=\"r\".*data-key=\"e\"", body, re.S)


def test_after_a_decision_the_next_one_follows(proposals: Proposals) -> None:
    """The accepted one is a revision of the person, with a link that takes it back; behind the last one comes the
    first."""
    texts = ("first to decide", "second to decide", "third to decide")
    names = [proposals.propose("ADD", text=text, section=SECTION) for text in texts]

    second = proposals.decide(names[1], "accept")
    body = proposals.after(second)

    assert f'id="proposal">{names[2]} ' in body
    assert f"{names[1]} accepted (revision " in body
    assert "/history/" in body
    assert "second to decide" in proposals.texts().values()
    assert "first to decide" not in proposals.texts().values()
    body = proposals.after(proposals.decide(names[2], "reject"))
    assert f'id="proposal">{names[0]} ' in body
    assert f"{names[2]} rejected" in body
    assert "third to decide" not in proposals.texts().values()
    assert proposals.waiting() == [names[0]]
    assert "No proposal waits" in proposals.after(proposals.decide(names[0], "reject"))


def test_one_is_accepted_in_other_words(proposals: Proposals) -> None:
    """The lines that the person typed, as the playbook has lines."""
    name = proposals.propose("ADD", text="words of the session", section=SECTION)

    page = proposals.visitor.see("/review", proposal=name, edit=1).body
    assert re.search(r"<textarea name=\"text\"[^>]*>words of the session</textarea>", page)
    proposals.after(proposals.decide(name, "edit", text="words of the person\r\nin two lines "))

    assert "words of the person\nin two lines" in proposals.texts().values()
    assert proposals.waiting() == []


def test_other_words_are_some_words(proposals: Proposals) -> None:
    """Else nothing is decided."""
    name = proposals.propose("ADD", text="it has a text", section=SECTION)

    refused = proposals.decide(name, "edit", text=" \r\n")

    assert (refused.status, "A point needs a text" in refused.body) == (409, True)
    assert proposals.waiting() == [name]


def test_what_somebody_else_decided_meanwhile_is_said(proposals: Proposals) -> None:
    """Nothing is done a second time."""
    name = proposals.propose("ADD", text="decided by another", section=SECTION)
    other = proposals.propose("ADD", text="rejected by another", section=SECTION)
    with proposals.shared.opened() as project:
        review.decide_all(project, [review.Decision(int(name[1:]), True), review.Decision(int(other[1:]), False)])
        last = last_revision(project)

    decisions = ("accept", name), ("edit", other), ("reject", name), ("accept", "p" + "9" * 40), ("accept", "")
    for do, each in decisions:
        body = proposals.after(proposals.visitor.send("/review", proposal=each, do=do, text="other words"))
        assert f"No proposal &#39;{each}&#39; waits any more: somebody has decided it. Nothing was changed." in body
    with proposals.shared.opened() as project:
        assert last_revision(project) == last


def test_a_point_that_changed_meanwhile_is_not_overwritten(proposals: Proposals) -> None:
    """The person sees what it was and what it is; in a second try he knows."""
    name = proposals.add("worded at first,\nin two lines")
    proposal = proposals.propose("UPDATE", target_id=name, text="worded by a session")
    page = proposals.visitor.see("/review", proposal=proposal).body
    hidden = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', page)
    fields = {field: unescape(value) for field, value in hidden}
    with proposals.shared.opened() as project:
        edit.edit(project, name, text="worded by a worker,\nin two lines")

    refused = proposals.visitor.send("/review", **fields, do="accept")

    assert refused.status == 409
    assert f"{name} changed meanwhile; nothing was overwritten" in refused.body
    assert "worded <del>at first</del><ins>by a worker</ins>," in refused.body
    assert proposals.texts()[name] == "worded by a worker,\nin two lines"
    proposals.after(proposals.decide(proposal, "accept"))
    assert proposals.texts()[name] == "worded by a session"


def test_what_can_not_be_done_any_more_says_why(proposals: Proposals) -> None:
    """Where the wish is fulfilled it is closed; where its point is gone it waits."""
    name, gone = proposals.add("said already"), proposals.add("soon gone")
    same = proposals.propose("ADD", text="Said  already.", section=SECTION)
    late = proposals.propose("UPDATE", target_id=gone, text="too late")
    with proposals.shared.opened() as project:
        edit.retire(project, gone)

    assert "there was nothing to do: the playbook says this already" in proposals.after(
        proposals.decide(same, "accept")
    )
    refused = proposals.decide(late, "accept")
    assert (refused.status, f"{late} still waits:" in refused.body) == (409, True)
    assert f"{gone}</dd>" in refused.body
    long = proposals.propose("ADD", text="short", section=SECTION)
    assert "a session is shown 8,800 at most" in proposals.decide(long, "edit", text="x" * 9_900).body
    proposals.decide(long, "reject")
    assert proposals.waiting() == [late]
    assert name in proposals.texts()


def test_votes_that_make_a_point_leave_say_so(proposals: Proposals) -> None:
    """By the rule that learning follows."""
    name = proposals.add("harmful soon")
    with proposals.shared.opened() as project:
        edit.vote(project, name, "harmful")
        edit.vote(project, name, "harmful")
    proposal = proposals.propose("VOTE", name=name, tag="harmful", rationale="it misled")

    body = proposals.after(proposals.decide(proposal, "accept"))

    assert f"{proposal} accepted; this retired {name}" in body
    assert name not in proposals.texts()


def test_what_is_for_all_projects_comes_last_and_goes_to_the_users_own(proposals: Proposals) -> None:
    """Under its own number, though the project has a proposal with the same."""
    own = proposals.propose("ADD", is_users=True, text="for all projects", section="OTHERS")
    here = proposals.propose("ADD", text="for this project", section="OTHERS")

    body = proposals.visitor.see("/review", proposal=own).body
    said = proposals.after(proposals.decide(own, "accept"))

    assert own.startswith("up")
    assert body.index(f">{here}</a>") < body.index(f">{own}</a>")
    assert "for all your projects" in body
    assert f"{own} accepted" in said
    assert "/history/1?project=user" in said
    assert "for all projects" in proposals.texts(is_users=True).values()
    assert "for all projects" not in proposals.texts().values()
    assert proposals.waiting() == [here]


@pytest.mark.nightly
def test_many_proposals_come_by_pages(proposals: Proposals) -> None:
    """The one that is to be decided stands above each of them."""
    names = [proposals.propose("ADD", text=f"one of many, {number}", section=SECTION) for number in range(53)]

    first, second = (proposals.visitor.see("/review", page=page).body for page in (1, 2))

    assert [len(re.findall(r'<th scope="row">', body)) for body in (first, second)] == [50, 3]
    assert f'id="proposal">{names[0]} ' in second
    assert "1 of 53" in first


def test_another_verb_is_none(proposals: Proposals) -> None:
    """Nothing is decided by it."""
    name = proposals.propose("ADD", text="nothing happens to it", section=SECTION)

    assert proposals.visitor.send("/review", proposal=name, do="forget").status == 409
    assert proposals.visitor.send("/review", proposal=name).status == 409
    assert proposals.waiting() == [name]


def test_within_a_session_they_are_neither_shown_nor_decided(
    shared: SharedPages, proposals: Proposals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a page had a session propose, no session reads again."""
    name = proposals.propose("ADD", text="obey the page", section=SECTION)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s3")
    monkeypatch.setenv("HOME", str(shared.folder.parent / "home"))
    with served(shared.folder) as address:
        visitor = Visitor(address)
        visitor.open()
        shown, sent = visitor.see("/review"), visitor.send("/review", proposal=name, do="accept")

    assert (shown.status, sent.status) == (409, 409)
    assert "obey the page" not in shown.body + sent.body
    assert "your own terminal: playbook review, or playbook web" in shown.body
    assert proposals.waiting() == [name]


def test_each_page_says_how_many_proposals_wait(proposals: Proposals) -> None:
    """Those for the project and for the person, beside the link; if none waits, Review says what will."""
    assert _badge(proposals.visitor.see("/points")) == []
    assert "No proposal waits for you. Advice from web pages" in proposals.visitor.see("/review").body

    first = proposals.propose("ADD", text="use uv", section=SECTION)
    proposals.propose("ADD", is_users=True, text="answer in German", section=SECTION)

    assert [_badge(proposals.visitor.see(page)) for page in ("/points", "/numbers", "/review")] == [["2"]] * 3
    proposals.decide(first, "reject")
    assert _badge(proposals.visitor.see("/history")) == ["1"]


def test_what_waits_in_other_projects_is_counted(proposals: Proposals, tmp_path: Path) -> None:
    """Each other project with proposals is named with their number; a link leads there. The personal ones aren't."""
    other = tmp_path / "other"
    (other / ".claude").mkdir(parents=True)
    with open_project(proposals.shared.url, str(other), notify=print) as project:
        for number in range(2):
            with project.store.write(project.key) as book:
                book.add_proposal({"type": "ADD", "text": f"There {number}"}, "ADD", (), "outside", "s9")
    proposals.propose("ADD", is_users=True, text="Everywhere")

    page = proposals.visitor.see("/review").body
    (elsewhere,) = re.findall(r"<h2>In other projects</h2>(.*?)</ul>", page, re.DOTALL)

    assert "2 wait" in elsewhere
    assert re.findall(r">(/[^<]*)</a>", elsewhere) == [str(other)]
    assert ">no evidence<" in proposals.visitor.see("/review", project=str(other)).body
