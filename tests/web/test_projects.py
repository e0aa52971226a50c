"""All projects, as a browser without scripts has them, and what is said of one that is ignored, gone or a team's."""

import html
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from playbook_db.services import project as project_service
from playbook_db.services.opening import open_project
from playbook_db.services.playbook import edit
from playbook_db.services.project import Project, open_store
from playbook_db.store.team import memberships
from tests.builders import a_worktree
from tests.members import NAME, NewMember
from tests.web.conftest import Answer, Visitor, served
from tests.web.test_points import listed, said, words_of


@dataclass(frozen=True, slots=True)
class Projects:
    """Who opened the pages in one of several projects."""

    visitor: Visitor
    place: Path
    url: str

    def folder(self, name: str) -> str:
        """The folder of that project."""
        return str(self.place / name)

    def row(self, name: str) -> str:
        """What the page of all projects says of one."""
        page = self.visitor.see("/projects").body
        rows = [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", row)).split()) for row in page.split("<tr>")]
        (row,) = [row for row in rows if row.startswith(name)]
        return row

    def points(self, name: str) -> Answer:
        """The points of one, as the page of all projects leads to them."""
        (link,) = re.findall(rf'href="([^"]*%2F{name})"', self.visitor.see("/projects").body.split("<main")[1])
        return self.visitor.see(html.unescape(link))


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Projects]:
    """One server for all tests of the module: projects with points, without, ignored, and one whose folder is gone."""
    place = tmp_path_factory.mktemp("projects")
    home = place / "home"
    url = f"sqlite:///{home / '.claude/playbook/playbook.db'}"
    for name in ("first", "second", "empty", "ignored", "gone"):
        (place / name / ".git").mkdir(parents=True)
        with open_project(url, str(place / name), notify=print) as project:
            if name == "empty":
                with project.store.write(project.key):
                    continue
            edit.add(project, f"a rule of {name}")
            if name == "second":
                edit.add(project, "another rule")
            if name == "ignored":
                project_service.ignore(project, is_ignored=True)
    shutil.rmtree(place / "gone")
    with open_store(url) as store:
        edit.add(Project.of_user(store), "a rule for all")
    with served(place / "first", home) as address:
        visitor = Visitor(address)
        assert visitor.open().status == 303
        yield Projects(visitor, place, url)


def test_all_projects_are_listed_with_what_they_hold(several: Projects) -> None:
    """The user's own playbook first; how many points and revisions, the last change, and which is at hand."""
    assert re.match(
        r"Your personal playbook 1 1 \d{4}-\d\d-\d\d \d\d:\d\d shown in every project", several.row("Your personal")
    )
    assert re.match(rf"{several.folder('second')} 2 [23] \d{{4}}-", several.row(several.folder("second")))
    assert re.match(rf"{several.folder('empty')} 0 0$", several.row(several.folder("empty")))
    assert "shown here now" in several.row(several.folder("first"))
    assert "shown here now" not in several.row(several.folder("second"))


def test_whoever_picks_a_project_gets_its_points(several: Projects) -> None:
    """And stays in it, whatever link is taken."""
    second = several.points("second")

    assert [sorted(listed(second)), listed(several.points("first"))] == [["oth-001", "oth-002"], ["oth-001"]]
    links = re.findall(r'href="(/[a-z]+[^"]*)"', second.body)
    assert {link for link in links if "static" not in link and "project=" not in link} == set()
    changed = several.visitor.send(f"/points/oth-002?project={several.folder('second')}", do="helpful")
    assert "voted oth-002 helpful" in said(several.visitor.see(changed.headers["location"]))


def test_a_project_without_points_says_how_they_come(several: Projects) -> None:
    """In a sentence."""
    assert "There are no key points here yet. They come from your sessions" in words_of(several.points("empty"))


def test_an_ignored_project_is_told_as_one(several: Projects) -> None:
    """With the way back, on both pages; its points can be seen."""
    page = several.points("ignored")

    assert "playbook project ignore --off" in several.row(several.folder("ignored"))
    assert "playbook project ignore --off" in words_of(page)
    assert listed(page) == ["oth-001"]
    assert "project ignore" not in words_of(several.points("second"))


def test_a_project_whose_folder_is_gone_keeps_its_points(several: Projects) -> None:
    """They can be seen and changed, and no folder is made."""
    page = several.points("gone")

    assert "playbook project move OLD NEW" in several.row(several.folder("gone"))
    assert listed(page) == ["oth-001"]
    assert several.visitor.send(f"/points/oth-001?project={several.folder('gone')}", do="helpful").status == 303
    assert not Path(several.folder("gone")).exists()


@pytest.mark.parametrize("name", ["nothing", "../..", "\x00", "user", "<b>"])
def test_a_project_that_is_not_there_is_told(several: Projects, name: str) -> None:
    """And gets no playbook by being asked for."""
    before = several.visitor.see("/projects").body.count("<tr>")
    answer = several.visitor.see("/points", project=f"{several.place}/{name}")

    assert answer.status in (404, 409)
    assert "There is no playbook of" in answer.body or "null character" in answer.body
    assert several.visitor.send(f"/points?project={several.place}%2Fnothing", text="a rule").status in (404, 409)
    assert several.visitor.see("/projects").body.count("<tr>") == before


def test_a_worktree_has_the_pages_of_its_repository(several: Projects) -> None:
    """Whose folder its links name, and in which nothing is made."""
    linked = a_worktree(Path(several.folder("second")), several.place / "linked")
    with served(linked, several.place / "home") as address:
        visitor = Visitor(address)
        visitor.open()
        page = visitor.see("/points")
        assert sorted(listed(page)) == ["oth-001", "oth-002"]
        (link,) = set(re.findall(r'href="(/points\?project=[^"&]*)"', page.body))
        assert sorted(listed(visitor.see(link))) == ["oth-001", "oth-002"]


def test_a_new_project_gets_its_playbook_by_the_first_point(several: Projects) -> None:
    """Though its key is the folder of another worktree, as all its links say."""
    linked = a_worktree(several.place / "new", several.place / "new linked")
    with served(linked, several.place / "home") as address:
        visitor = Visitor(address)
        visitor.open()
        (action,) = set(re.findall(r'action="(/points\?[^"]*)"', visitor.see("/points").body))
        assert visitor.send(action, text="the first rule").status == 303
        assert listed(visitor.see("/points")) == ["oth-001"]


def test_a_team_whose_database_is_away_is_shown_as_it_was_last_known(new_member: NewMember, team_url: str) -> None:
    """With a line that says so; a change is refused with the command's sentence, and nothing is changed."""
    ann = new_member("ann")
    ann.join(team_url)
    with ann.shared() as project:
        edit.add(project, "a rule of the team's")
    ann.work()
    with ann.own() as own, own.store.write(own.key) as book:
        memberships.join(book, "postgresql://127.0.0.1:1/team", NAME)
    with served(ann.folder, ann.home) as address:
        visitor = Visitor(address)
        visitor.open()
        page, projects_page = visitor.see("/points"), words_of(visitor.see("/projects"))
        (link,) = set(re.findall(r'href="(/points/oth-001\?[^"]*)"', page.body))
        one = visitor.see(html.unescape(link))
        changed = visitor.send("/points/oth-001", do="helpful")

    assert listed(page) == ["oth-001"]
    assert "These points are from this machine's replica" in said(page)
    assert "the team's playbook" in words_of(page)
    assert "a rule of the team's" in words_of(one)
    assert (changed.status, "127.0.0.1" in changed.body) == (409, True)
    assert "as this machine last saw it" in projects_page
