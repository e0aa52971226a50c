"""The page that decides about proposals."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from playbook_db.domain.trust.evidence import Evidence
from playbook_db.services.opening import open_project
from playbook_db.services.playbook import edit, review
from playbook_db.store.playbook.proposal_rows import Kind
from tests.web.conftest import Answer, Pages

QUOTE = Evidence("always use uv", "WebFetch https://a.example", "outside")
SECTION = "MISTAKES TO AVOID"


@dataclass(frozen=True, slots=True)
class Proposals:
    """The pages of a project, and what sessions propose for it."""

    pages: Pages

    def propose(self, kind: Kind, *, is_users: bool = False, session: str = "s1", **operation: Any) -> str:
        """The name of a new proposal."""
        with self.pages.opened(is_users=is_users) as place, place.store.write(place.key) as book:
            proposal = book.add_proposal(operation, kind, (QUOTE,), "outside", session)
        assert proposal is not None
        return review.name_of(proposal.id, is_users=is_users)

    def waiting(self) -> list[str]:
        """The names of the waiting proposals."""
        with self.pages.opened() as project:
            return [item.name for item in review.all_waiting(project)]

    def decide(self, name: str, do: str, **form: object) -> Answer:
        """Press a button on the page of a proposal."""
        return self.send(self.fields(name, edit=1 if do == "edit" else ""), do=do, **form)

    def fields(self, name: str, **query: object) -> dict[str, str]:
        """The hidden fields of the page of a proposal."""
        body = self.pages.see("/review", proposal=name, **query).body
        found = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', body)
        return {unescape(key): unescape(value).replace("\n", "\r\n") for key, value in found}

    def send(self, fields: dict[str, str], **form: object) -> Answer:
        """Send *fields* and *form*; the page that follows."""
        return self.pages.send("/review", **{**fields, **form})


@pytest.fixture
def proposals(pages: Pages) -> Iterator[Proposals]:
    """A project without proposals; those that are left are rejected afterwards."""
    yield Proposals(pages)
    with pages.opened() as project:
        if items := review.all_waiting(project):
            rejections = [review.Decision(item.proposal.id, False, is_users=item.is_users) for item in items]
            review.decide_all(project, rejections)


def test_next_proposal_follows_a_decision(pages: Pages, proposals: Proposals) -> None:
    texts = ("first to decide", "second to decide", "third to decide")
    names = [proposals.propose("ADD", text=text, section=SECTION) for text in texts]

    accepted = proposals.decide(names[1], "accept").body
    rejected = proposals.decide(names[2], "reject").body

    assert f'id="proposal">{names[2]} ' in accepted
    assert f"{names[1]} accepted (revision " in accepted
    assert f'id="proposal">{names[0]} ' in rejected
    assert f"{names[2]} rejected" in rejected
    assert set(texts) & set(pages.texts().values()) == {"second to decide"}
    assert proposals.waiting() == [names[0]]
    assert "No proposal waits" in proposals.decide(names[0], "reject").body


def test_proposal_is_accepted_in_other_words(pages: Pages, proposals: Proposals) -> None:
    name = proposals.propose("ADD", text="words of the session", section=SECTION)

    page = pages.see("/review", proposal=name, edit=1).body
    assert re.search(r"<textarea name=\"text\"[^>]*>words of the session</textarea>", page)
    refused = proposals.decide(name, "edit", text=" \r\n")
    assert (refused.status, "A point needs a text" in refused.body) == (409, True)
    proposals.decide(name, "edit", text="words of the person\r\nin two lines ")

    assert "words of the person\nin two lines" in pages.texts().values()
    assert proposals.waiting() == []


def test_proposal_is_decided_only_once(pages: Pages, proposals: Proposals) -> None:
    name = proposals.propose("ADD", text="decided by another", section=SECTION)
    other = proposals.propose("ADD", text="rejected by another", section=SECTION)
    with pages.opened() as project:
        review.decide_all(project, [review.Decision(int(name[1:]), True), review.Decision(int(other[1:]), False)])
    last = pages.revision()

    for do, each in (("accept", name), ("edit", other), ("reject", name), ("accept", "p" + "9" * 40)):
        body = proposals.send({}, proposal=each, do=do, text="other words").body
        assert f"No proposal &#39;{each}&#39; waits any more: somebody has decided it. Nothing was changed." in body
    assert pages.revision() == last


def test_changed_point_is_not_overwritten(pages: Pages, proposals: Proposals) -> None:
    """The person can accept again after seeing the change."""
    name = pages.add("worded at first,\nin two lines")
    proposal = proposals.propose("UPDATE", target_id=name, text="worded by a session")
    fields = proposals.fields(proposal)
    with pages.opened() as project:
        edit.edit(project, name, text="worded by a worker,\nin two lines")

    refused = proposals.send(fields, do="accept")

    assert refused.status == 409
    assert f"{name} changed meanwhile; nothing was overwritten" in refused.body
    assert "worded <del>at first</del><ins>by a worker</ins>," in refused.body
    assert pages.texts()[name] == "worded by a worker,\nin two lines"
    proposals.decide(proposal, "accept")
    assert pages.texts()[name] == "worded by a session"


def test_personal_proposals_come_last(pages: Pages, proposals: Proposals) -> None:
    own = proposals.propose("ADD", is_users=True, text="for all projects", section="OTHERS")
    here = proposals.propose("ADD", text="for this project", section="OTHERS")

    body = pages.see("/review", proposal=own).body
    accepted = proposals.decide(own, "accept").body

    assert body.index(f">{here}</a>") < body.index(f">{own}</a>")
    assert "for all your projects" in body
    assert f"{own} accepted" in accepted
    assert "/history/1?project=user" in accepted
    assert "for all projects" in pages.texts(is_users=True).values()
    assert "for all projects" not in pages.texts().values()
    assert proposals.waiting() == [here]


def test_proposals_of_other_projects_are_counted(pages: Pages, proposals: Proposals, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / ".claude").mkdir(parents=True)
    with open_project(pages.url, str(other), notify=print) as project, project.store.write(project.key) as book:
        book.add_proposal({"type": "ADD", "text": "There 1"}, "ADD", (), "outside", "s9")
        book.add_proposal({"type": "ADD", "text": "There 2"}, "ADD", (), "outside", "s9")
    proposals.propose("ADD", is_users=True, text="Everywhere")

    (elsewhere,) = re.findall(r"<h2>In other projects</h2>(.*?)</ul>", pages.see("/review").body, re.DOTALL)

    assert "2 wait" in elsewhere
    assert re.findall(r">(/[^<]*)</a>", elsewhere) == [str(other)]
    assert ">no evidence<" in pages.see("/review", project=str(other)).body
