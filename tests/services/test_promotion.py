"""promote and demote: a point's way between a project's playbook and the user's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from playbook_db.errors import NotFoundError, PointRuleError
from playbook_db.services.playbook import edit, promotion, undo
from playbook_db.services.project import Project, TeamProject, read_playbook
from playbook_db.services.reading import history
from playbook_db.store.engine import Store, open_store
from playbook_db.store.playbook.repository import FileFields


class _KilledError(BaseException):
    """The process is gone."""


def _killed(*_: object, **__: object) -> None:
    raise _KilledError


@pytest.fixture
def own(store: Store) -> Project:
    """The user's own playbook."""
    return Project.of_user(store)


@pytest.fixture
def teams(own: Project, folder: Path, tmp_path: Path) -> Iterator[Project]:
    """A team's playbook, in a database of its own, which the project in `folder` has joined."""
    with open_store(f"sqlite:///{tmp_path / 'team' / 'playbook.db'}") as store:
        yield TeamProject(store, "shop", str(folder), own=Project.in_folder(own.store, str(folder)))


def voted(project: Project, text: str = "say it briefly") -> str:
    revised = edit.add(project, text, section="pref")
    name = revised.changes[0].point.name
    for tag in ("helpful", "helpful", "harmful"):
        edit.vote(project, name, tag)
    return name


def points(project: Project) -> dict[str, tuple[str, int, int]]:
    return {point.name: (point.text, point.helpful, point.harmful) for point in read_playbook(project).points}


@pytest.mark.postgres
def test_promotion_keeps_votes_pin_and_fields(project: Project, own: Project) -> None:
    name = voted(project)
    with project.store.write(project.key) as book:
        book.commit("edit", "more", file=FileFields(extras={name: '{"by": "Ann"}'}))
    edit.pin(project, name)

    move = promotion.promote(project, name, keeps=False)

    assert (move.name, move.copy) == ("pref-001", "upref-001")
    assert points(own) == {"upref-001": ("say it briefly", 2, 1)}
    assert points(project) == {}
    details = edit.find(own, "upref-001")
    assert details.point.section == "USER PREFERENCES"
    assert details.extra == '{"by": "Ann"}'
    assert history.point_in_full(own, "upref-001").details.lifespan.pinned
    left = edit.find(project, name).retired
    assert left is not None
    assert left.reason == "promoted to upref-001"


def test_demotion_moves_a_point_into_the_project(project: Project, own: Project) -> None:
    name = voted(own)

    promotion.demote(project, name, keeps=False)

    assert points(project) == {"pref-001": ("say it briefly", 2, 1)}
    assert points(own) == {}
    left = edit.find(own, name).retired
    assert left is not None
    assert left.reason == f"demoted to pref-001 of {project.key}"


@pytest.mark.parametrize("way", ["promote", "demote"])
@pytest.mark.parametrize("is_teams", [False, True], ids=["one database", "two databases"])
def test_killed_move_can_be_repeated(
    way: str, is_teams: bool, project: Project, teams: Project, own: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = teams if is_teams else project
    source, target = (project, own) if way == "promote" else (own, project)
    name, move = voted(source), getattr(promotion, way)
    with monkeypatch.context() as patch:
        patch.setattr(promotion, "_retire", _killed)
        with pytest.raises(_KilledError):
            move(project, name, keeps=False)
    assert (len(points(source)), len(points(target))) == (1, 1)

    move(project, name, keeps=False)
    again = move(project, name, keeps=False)

    assert points(source) == {}
    assert list(points(target).values()) == [("say it briefly", 2, 1)]
    assert (again.copied, again.retired) == (None, None)


@pytest.mark.postgres
def test_members_can_demote_points_of_one_name(teams: Project, own: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for member, text in (("ann@laptop", "say it briefly"), ("bob@desk", "English names")):
        monkeypatch.setenv("PLAYBOOK_ACTOR", member)
        if points(own):
            edit.edit(own, "upref-001", text=text)  # what bob has under that name
        else:
            voted(own, text)
        promotion.demote(teams, "upref-001", keeps=True)

    assert [text for text, *_ in points(teams).values()] == ["say it briefly", "English names"]


def test_edit_after_a_killed_move_is_kept(project: Project, own: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    name = voted(project)
    with monkeypatch.context() as patch:
        patch.setattr(promotion, "_retire", _killed)
        with pytest.raises(_KilledError):
            promotion.promote(project, name, keeps=False)
    edit.edit(project, name, text="say it in two lines")

    with pytest.raises(PointRuleError, match="already promoted to upref-001"):
        promotion.promote(project, name, keeps=False)

    assert points(project) == {name: ("say it in two lines", 2, 1)}
    assert len(points(own)) == 1


def test_equal_point_counts_as_the_copy(project: Project, own: Project) -> None:
    """It gets the higher counters."""
    name = voted(project)
    edit.add(own, "Say it briefly.", section="pref")
    edit.vote(own, "upref-001", "helpful")
    edit.vote(own, "upref-001", "helpful")
    edit.vote(own, "upref-001", "helpful")

    move = promotion.promote(project, name, keeps=False)

    assert points(own) == {"upref-001": ("Say it briefly.", 3, 1)}
    assert "upref-001 says this already" in move.notes[0]


def test_retired_and_foreign_points_are_not_moved(project: Project, own: Project) -> None:
    name = voted(project)
    edit.retire(project, name)

    with pytest.raises(NotFoundError, match="retired"):
        promotion.promote(project, name, keeps=False)
    with pytest.raises(PointRuleError, match="is in your personal playbook"):
        promotion.promote(project, voted(own), keeps=False)
    with pytest.raises(PointRuleError, match="is not in your personal playbook"):
        promotion.demote(project, name, keeps=False)
    assert points(project) == {}


def test_dry_run_writes_nothing(project: Project, own: Project) -> None:
    name = voted(project)

    move = promotion.promote(project, name, keeps=False, dry_run=True)

    assert move.copy == "upref-001"
    assert move.copied is not None
    assert move.retired is not None
    assert (move.copied.revision, move.retired.revision) == (None, None)
    assert [change.kind for change in (*move.copied.changes, *move.retired.changes)] == ["add", "retire"]
    assert (len(points(project)), len(points(own))) == (1, 0)


def test_undo_names_the_other_playbook(project: Project, own: Project) -> None:
    name = voted(project)
    promotion.promote(project, name, keeps=False)

    here, there = undo.undo(project).result.notes, undo.undo(own).result.notes

    assert here == [f"{name} was promoted to upref-001; undo that in the other playbook, too"]
    assert there == [f"upref-001 was promoted from {name} of {project.key}; undo that in the other playbook, too"]
    assert points(project) == {name: ("say it briefly", 2, 1)}
    assert points(own) == {}
