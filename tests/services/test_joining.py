"""Joining a team: what a project is called there, and what its own playbook brings into the team's."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from playbook_db.domain import playbook_file
from playbook_db.domain.playbook import normalised
from playbook_db.errors import PlaybookError, ProjectError
from playbook_db.services.playbook import edit, forget, import_export, undo
from playbook_db.services.project import Project, read_playbook
from playbook_db.services.sharing import joining
from playbook_db.store.engine import Store, open_store
from playbook_db.store.playbook.repository import RevisionResult
from tests.builders import list_retired


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Org/repo.git",
        "https://GitHub.com/Org/repo/",
        "https://github.com/Org/repo.git/",
        "https://ann:t0ken@github.com/Org/repo.git",
        "https://ann:t0@ken@github.com/Org/repo.git",
        "https://t0ken@github.com:443/Org/repo",
        "HTTPS://github.com//Org/repo.git",
        "git@github.com:Org/repo.git",
        "github.com:Org/repo",
        "git@github.com:/Org/repo.git",
        "ssh://git@github.com:22/Org/repo.git",
        "ssh://git@github.com/Org/repo",
        "git://github.com/Org/repo.git",
        "git+ssh://git@github.com/Org/repo.git",
    ],
)
def test_all_urls_of_a_remote_give_one_name(url: str) -> None:
    assert joining.name_of_remote(url) == "github.com/Org/repo"


@pytest.mark.parametrize(
    "url",
    [
        "", ".", "..", "../repo.git", "/srv/git/repo.git", "~/repo", "./a:b", "file:///srv/repo.git", "FILE:///srv/repo",
        "file://localhost/srv/repo.git", r"C:\git\repo", "C:/git/repo", "https://github.com", "https://github.com/",
        "https://ann:a/b@", "codecommit::eu-central-1://repo", "ext::sh -c x", "github.com:", "https://u:p@:1/x",
    ],
)  # fmt: skip
def test_paths_give_no_name(url: str) -> None:
    assert joining.name_of_remote(url) is None


@pytest.mark.parametrize(
    "name",
    [
        "/srv/shop", "~/shop", "./shop", "../shop", r"C:\shop", r"\\host\shop", "file:///srv/shop", "user", "", " ",
        " shop", "a\nb", "a\x1bb", "x" * 201, "https://ann:t0ken@github.com/org/repo.git", "git@github.com:org/repo",
    ],
)  # fmt: skip
def test_paths_and_urls_are_refused_as_names(name: str) -> None:
    """The message contains no token of the URL."""
    with pytest.raises(ProjectError, match=r"at most 200 printable.* such as github\.com/org/repo with --as") as raised:
        joining.check_name(name)

    assert "t0ken" not in str(raised.value)


@pytest.mark.parametrize(
    "name", ["shop", "github.com/org/repo", "Ünïcode/é", "github.com/org/repo/packages/@a/b", "a b", "users"]
)
def test_other_names_are_accepted(name: str) -> None:
    assert joining.check_name(name) == name


def _git(folder: Path, *arguments: str) -> None:
    settings = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", *settings, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.slow
def test_name_is_the_remote_and_the_path_in_it(tmp_path: Path) -> None:
    """Worktrees have their repository's name."""
    top = tmp_path / "shop"
    inside = top / "packages" / "api"
    (inside / ".claude").mkdir(parents=True)
    _git(top, "init", "-q")
    _git(top, "commit", "-q", "--allow-empty", "-m", "first")
    _git(top, "remote", "add", "upstream", "https://github.com/other/shop")
    _git(top, "remote", "add", "origin", "https://ann:t0ken@github.com/org/shop.git")
    _git(top, "remote", "set-url", "--push", "origin", "git@elsewhere.org:x/y")
    _git(top, "worktree", "add", "-q", "../shop-2")
    (tmp_path / "shop-2" / "packages" / "api").mkdir(parents=True)

    assert joining.default_name(str(top)) == "github.com/org/shop"
    assert joining.default_name(str(inside)) == "github.com/org/shop/packages/api"
    assert joining.default_name(str(tmp_path / "shop-2")) == "github.com/org/shop"
    assert joining.default_name(str(tmp_path / "shop-2" / "packages" / "api")) == "github.com/org/shop/packages/api"


@pytest.mark.slow
@pytest.mark.parametrize(
    "remotes",
    [
        {},
        {"origin": "/srv/git/shop.git"},
        {"origin": "../shop.git"},
        {"b": "https://x.org/b", "a": "https://x.org/a"},
    ],
)
def test_without_a_remote_a_name_is_needed(tmp_path: Path, remotes: dict[str, str]) -> None:
    _git(tmp_path, "init", "-q")
    for name, url in remotes.items():
        _git(tmp_path, "remote", "add", name, url)

    with pytest.raises(ProjectError, match=r"no git remote called origin.* with --as NAME"):
        joining.default_name(str(tmp_path))


@pytest.mark.slow
def test_without_git_a_name_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProjectError, match="no git remote called origin"):
        joining.default_name(str(tmp_path))

    monkeypatch.setenv("PATH", os.devnull)
    with pytest.raises(ProjectError, match="no git remote called origin"):
        joining.default_name(str(tmp_path))


# What comes in.


@pytest.fixture
def own(tmp_path: Path, folder: Path) -> Iterator[Project]:
    """The project's playbook before it joins."""
    with open_store(f"sqlite:///{tmp_path / 'own' / 'playbook.db'}") as store:
        yield Project.in_folder(store, str(folder))


@pytest.fixture
def team(store: Store) -> Project:
    return Project(store, "github.com/org/shop")


def _bring(own: Project, team: Project) -> RevisionResult | None:
    with own.store.read(own.key) as mine:
        return joining.merge_own(mine, team)


def _leave(own: Project, team: Project) -> None:
    """What `team leave` does with the points."""
    with team.store.read(team.key) as book:
        reading = import_export.reading_of(book)
    import_export.import_playbook(own, reading, source="the team's", replace=True)


def _points(project: Project) -> list[tuple[str, str, int, int]]:
    return [(point.name, point.text, point.helpful, point.harmful) for point in read_playbook(project).points]


def _export(project: Project) -> str:
    return import_export.export_playbook(project)


@pytest.mark.postgres
def test_first_member_brings_the_whole_playbook(own: Project, team: Project) -> None:
    entries = '{"name": "pat-001", "text": "use uv", "helpful": 3, "harmful": 1, "tag": "x"}'
    text = f'{{"version": "2.0", "mine": [1.50], "sections": {{"PATTERNS & APPROACHES": [{entries}]}}}}'
    import_export.import_playbook(own, playbook_file.decode(text, source="F"), source="F")
    edit.vote(own, "pat-001", "helpful")

    _bring(own, team)

    assert _export(team) == _export(own)
    assert import_export.export_playbook(team, with_extras=True) == import_export.export_playbook(own, with_extras=True)


def test_points_are_merged_into_the_teams(own: Project, team: Project) -> None:
    """Of two counters, the higher one counts."""
    edit.add(team, "use uv")
    edit.add(team, "format first")
    edit.vote(team, "oth-001", "helpful")
    edit.add(own, "never sleep in tests")
    edit.add(own, "Use UV.")
    edit.vote(own, "oth-002", "helpful")
    edit.vote(own, "oth-002", "helpful")

    result = _bring(own, team)

    assert _points(team) == [
        ("oth-001", "use uv", 2, 0), ("oth-002", "format first", 0, 0), ("oth-003", "never sleep in tests", 0, 0),
    ]  # fmt: skip
    assert result is not None
    assert "oth-001 belongs to another text here; the incoming one is now oth-003" in result.notes


def test_joining_twice_changes_nothing(own: Project, team: Project) -> None:
    edit.add(team, "the team's first")
    edit.add(own, "use uv")
    _bring(own, team)
    edit.edit(team, "oth-002", text="use uv, never pip")
    before = _points(team)

    assert _bring(own, team) is None
    assert _points(team) == before


def test_joining_again_brings_what_is_new(own: Project, team: Project) -> None:
    """The team's edits and retirements stay."""
    for text in ("use uv", "use ruff", "use mypy"):
        edit.add(team, text)
    _leave(own, team)
    edit.edit(team, "oth-001", text="use uv, never pip")
    edit.retire(team, "oth-002")
    edit.vote(team, "oth-003", "helpful")
    edit.vote(own, "oth-003", "helpful")
    edit.vote(own, "oth-002", "helpful")
    edit.add(own, "learned alone")

    _bring(own, team)

    assert _points(team) == [
        ("oth-001", "use uv, never pip", 0, 0), ("oth-003", "use mypy", 1, 0), ("oth-004", "learned alone", 0, 0),
    ]  # fmt: skip


def test_joining_again_without_a_copy_restores_nothing(own: Project, team: Project) -> None:
    edit.add(team, "the team's first")
    edit.add(own, "use uv")
    edit.add(own, "use ruff")
    _bring(own, team)
    assert [text for _, text, _, _ in _points(team)] == ["the team's first", "use uv", "use ruff"]
    edit.edit(team, "oth-003", text="use uv, never pip")
    edit.retire(team, "oth-002")
    edit.vote(own, "oth-001", "helpful")

    _bring(own, team)

    assert _points(team) == [("oth-001", "the team's first", 0, 0), ("oth-003", "use uv, never pip", 0, 0)]


@pytest.mark.postgres
def test_joining_retires_nothing_of_the_teams(own: Project, team: Project) -> None:
    edit.add(team, "use uv")
    edit.add(team, "use ruff")
    edit.add(own, "alone")
    _bring(own, team)
    _leave(own, team)
    before = _points(team)

    edit.retire(own, "oth-002")
    _bring(own, team)
    assert _points(team) == before

    undo.go_back(own, "0")
    assert _points(own) == []
    _bring(own, team)
    assert _points(team) == before


@pytest.mark.postgres
def test_points_that_the_team_retired_stay_retired(own: Project, team: Project) -> None:
    edit.add(team, "use pip")
    edit.retire(team, "oth-001")
    edit.add(own, "first")
    edit.add(own, "Use pip.")

    result = _bring(own, team)

    assert [text for _, text, _, _ in _points(team)] == ["first"]
    assert result is not None
    assert "oth-002 has a text that was retired or reworded here; it stays so" in "; ".join(result.notes)


def test_points_that_the_team_forgot_stay_out(own: Project, team: Project) -> None:
    edit.add(team, "the secret")
    forget.forget(team, forget.Request(name="oth-001"))
    edit.add(own, "the secret")

    assert _bring(own, team) is None
    assert _points(team) == []


def test_teams_top_level_keys_stay(own: Project, team: Project) -> None:
    for project, text in ((team, '{"a": 1, "key_points": []}'), (own, '{"a": 2, "b": 3, "key_points": []}')):
        import_export.import_playbook(project, playbook_file.decode(text, source="F"), source="F")
    edit.add(own, "use uv")

    _bring(own, team)

    with team.store.read(team.key) as book:
        assert book.header.get("a") == 1


_TEXTS = ("use uv", "Use UV.", "use ruff", "use mypy", "write tests", "no globals")


def _do_anything(project: Project, random: Random) -> None:
    names = [point.name for point in read_playbook(project).points]
    retired = list(list_retired(project))
    with suppress(PlaybookError):  # as an undo that collides
        match random.choice("aavvertu"):
            case "v" if names:
                edit.vote(project, random.choice(names), random.choice(["helpful", "harmful"]))
            case "e" if names:
                edit.edit(project, random.choice(names), text=f"{random.choice(_TEXTS)} {random.randrange(9)}")
            case "r" if names:
                edit.retire(project, random.choice(names))
            case "t" if retired:
                edit.restore(project, random.choice(retired))
            case "u":
                undo.undo(project)
            case _:
                edit.add(project, f"{random.choice(_TEXTS)}{random.choice(['', ' 1', ' 2'])}")


@pytest.mark.slow
@pytest.mark.sqlite
@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(3, 12))])
def test_joining_keeps_the_teams_decisions(own: Project, team: Project, seed: int) -> None:
    """After random changes on both sides."""
    random, is_member = Random(seed), False
    for _ in range(30):
        _do_anything(team if is_member or random.random() < 0.4 else own, random)
        if random.random() < 0.3:
            is_member = not is_member
            if not is_member and random.random() < 0.5:
                _leave(own, team)
            elif is_member:
                _join_and_compare(own, team)


def _join_and_compare(own: Project, team: Project) -> None:
    before = read_playbook(team).by_name
    live = {normalised(point.text) for point in before.values()}
    retired = {normalised(each.point.text) for each in list_retired(team).values()} - live

    _bring(own, team)

    after = read_playbook(team).by_name
    for name, point in before.items():
        if after[name].text == point.text:
            assert after[name].helpful >= point.helpful
            assert after[name].harmful >= point.harmful
    assert not {normalised(point.text) for point in after.values()} & retired
    again = _bring(own, team)
    assert again is None
    assert read_playbook(team).by_name == after
