"""The list of projects, and the pages of one that is ignored, gone, new or a team's."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

from playbook_db.services import project as project_service
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, open_store
from playbook_db.store.team import memberships
from tests.builders import a_worktree
from tests.members import NAME, NewMember
from tests.web.conftest import Answer, Visitor, listed, said, visiting, words_of


@dataclass(frozen=True, slots=True)
class Projects:
    """The pages of several projects, served from the first of them."""

    visitor: Visitor
    place: Path

    def folder(self, name: str) -> str:
        """The folder of that project."""
        return str(self.place / name)

    def row(self, name: str) -> str:
        """The row of a project in the list of projects."""
        page = self.visitor.see("/projects").body
        rows = [" ".join(unescape(re.sub(r"<[^>]+>", " ", row)).split()) for row in page.split("<tr>")]
        (row,) = [row for row in rows if row.startswith((name, self.folder(name)))]
        return row

    def points(self, name: str) -> Answer:
        """The points of a project, by its link in the list of projects."""
        (link,) = re.findall(rf'href="([^"]*%2F{name})"', self.visitor.see("/projects").body.split("<main")[1])
        return self.visitor.see(unescape(link))


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Projects]:
    """Projects with and without points, an ignored one, and one without its folder."""
    place = tmp_path_factory.mktemp("projects")
    home = place / "home"
    texts = {"first": ["a rule"], "second": ["a rule", "another rule"], "empty": [], "ignored": ["a rule"]}
    with open_store(f"sqlite:///{home / '.claude/playbook/playbook.db'}") as store:
        for name, rules in (texts | {"gone": ["a rule"]}).items():
            (place / name / ".git").mkdir(parents=True)
            project = Project.in_folder(store, str(place / name))
            with store.write(project.key):
                pass
            for rule in rules:
                edit.add(project, rule)
            if name == "ignored":
                project_service.ignore(project, is_ignored=True)
        shutil.rmtree(place / "gone")
        edit.add(Project.of_user(store), "a rule for all")
    with visiting(place / "first", home) as visitor:
        yield Projects(visitor, place)


def test_projects_are_listed_with_their_counts(several: Projects) -> None:
    own = several.row("Your personal")
    assert re.match(r"Your personal playbook 1 1 \d{4}-\d\d-\d\d \d\d:\d\d shown in every project", own)
    assert re.match(rf"{several.folder('second')} 2 [23] \d{{4}}-", several.row("second"))
    assert several.row("empty") == f"{several.folder('empty')} 0 0"
    assert "shown here now" in several.row("first")
    assert "shown here now" not in several.row("second")


def test_links_stay_in_the_chosen_project(several: Projects) -> None:
    second = several.points("second")

    assert [sorted(listed(second)), listed(several.points("first"))] == [["oth-001", "oth-002"], ["oth-001"]]
    links = re.findall(r'href="(/[a-z]+[^"]*)"', second.body)
    assert {link for link in links if "static" not in link and "project=" not in link} == set()
    changed = several.visitor.send(f"/points/oth-002?project={several.folder('second')}", do="helpful")
    assert "voted oth-002 helpful" in said(several.visitor.see(changed.headers["location"]))


def test_ignored_project_says_so(several: Projects) -> None:
    page = several.points("ignored")

    assert "playbook project ignore --off" in several.row("ignored")
    assert "playbook project ignore --off" in words_of(page)
    assert listed(page) == ["oth-001"]
    assert "project ignore" not in words_of(several.points("second"))


@pytest.mark.parametrize("name", ["nothing", "../..", "\x00"])
def test_unknown_project_gets_no_playbook(several: Projects, name: str) -> None:
    before = several.visitor.see("/projects").body.count("<tr>")
    answer = several.visitor.see("/points", project=f"{several.place}/{name}")

    assert answer.status in (404, 409)
    assert "There is no playbook of" in answer.body or "null character" in answer.body
    assert several.visitor.send(f"/points?project={several.place}%2Fnothing", text="a rule").status in (404, 409)
    assert several.visitor.see("/projects").body.count("<tr>") == before


def test_first_point_creates_the_playbook(several: Projects) -> None:
    """The key is the folder of another worktree."""
    linked = a_worktree(several.place / "new", several.place / "new linked")
    with visiting(linked, several.place / "home") as visitor:
        (action,) = set(re.findall(r'action="(/points\?[^"]*)"', visitor.see("/points").body))
        assert visitor.send(action, text="the first rule").status == 303
        assert listed(visitor.see("/points")) == ["oth-001"]


def test_unreachable_team_is_shown_as_last_seen(new_member: NewMember, team_url: str) -> None:
    ann = new_member("ann")
    ann.join(team_url)
    with ann.shared() as project:
        edit.add(project, "a rule of the team's")
    ann.work()
    with ann.own() as own, own.store.write(own.key) as book:
        memberships.join(book, "postgresql://127.0.0.1:1/team", NAME)
    with visiting(ann.folder, ann.home) as visitor:
        page, projects_page = visitor.see("/points"), words_of(visitor.see("/projects"))
        (link,) = set(re.findall(r'href="(/points/oth-001\?[^"]*)"', page.body))
        one = visitor.see(unescape(link))
        changed = visitor.send("/points/oth-001", do="helpful")

    assert listed(page) == ["oth-001"]
    assert "These points are from this machine's replica" in said(page)
    assert "the team's playbook" in words_of(page)
    assert "a rule of the team's" in words_of(one)
    assert (changed.status, "127.0.0.1" in changed.body) == (409, True)
    assert "as this machine last saw it" in projects_page
