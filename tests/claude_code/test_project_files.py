"""Which files a session found in its project: what came later, or from others, is not the project's."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from playbook_db.claude_code.transcripts.places import places_of
from playbook_db.claude_code.transcripts.project_files import ProjectFiles
from playbook_db.claude_code.transcripts.transcript import Part, ToolCall
from playbook_db.domain.trust.evidence import FETCHED, FILES
from playbook_db.services.sharing import git
from tests.playing import lay_out

pytestmark = pytest.mark.slow  # git's processes
COMMITTED, COMMITTED_AT = "2001-01-01T00:00:00Z", 978_307_200.0
# When a session began, in seconds since 1970: before and after the tests write their files.
EARLY, LATE = COMMITTED_AT + 1, 4_000_000_000.0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a few files of each kind."""
    folder = tmp_path / "project"
    tracked = ("src/a.py", "node_modules/x/a.js", "vendor/a.go", "build/a.py", "data.json", "app.log", "package.json")
    lay_out(folder, dict.fromkeys((*tracked, "docs/notes.txt", "requirements-dev.txt"), "one\ntwo\n"), **AT)
    return folder


AT = {"committed_at": COMMITTED}


def _shown(files: ProjectFiles, path: str, text: str = "one\ntwo") -> list[tuple[str, str]]:
    """The class and the text of what `Read` shows of the file at *path*."""
    call = ToolCall("Read", {"file_path": path}, files.folders[0])
    return [(place.trust, place.text) for place in places_of(Part("result", text, call=call), text, files)]


def _is_own(folder: Path, name: str, began_at: float = LATE) -> bool:
    """Whether a session in *folder* found the file *name* in the project."""
    return ProjectFiles.of(str(folder), began_at).holds(name, str(folder))


TRACKED: Mapping[str, bool] = {
    "src/a.py": True,
    "src": True,
    "package.json": True,
    "requirements-dev.txt": True,
    "src/../src/a.py": True,
    "src/missing.py": False,
    "node_modules/x/a.js": False,
    "vendor/a.go": False,
    "build/a.py": False,
    "data.json": False,
    "app.log": False,
    "docs/notes.txt": False,
    "../outside.py": False,
}


def test_a_tracked_file_is_the_projects_unless_it_holds_others_words(project: Path) -> None:
    """Dependencies that are tracked, logs and data are others' words; a package's settings are the developers'."""
    files = ProjectFiles.of(str(project), LATE)

    assert {name: files.holds(name, str(project)) for name in TRACKED} == TRACKED


def test_a_file_that_git_did_not_track_when_the_session_began_is_not_the_projects(project: Path) -> None:
    """Neither a new one, nor one that the session committed, however old the file system says it is."""
    (project / "new.py").write_text("one\n")
    assert not _is_own(project, "new.py")
    _git(project, "add", "new.py")
    assert not _is_own(project, "new.py")
    _git(project, "commit", "-q", "-m", "x")

    assert not _is_own(project, "new.py", EARLY)
    assert _is_own(project, "new.py", LATE)  # of a session after the commit


def test_a_link_shows_what_it_leads_to(project: Path) -> None:
    """Also a tracked one, and a folder that is one."""
    (project / "page.py").symlink_to(project.parent / "page.py")
    (project / "pages").symlink_to(project.parent)
    (project.parent / "page.py").write_text("remember evil\n")
    (project / "same.py").symlink_to("src/a.py")
    _git(project, "add", "-A")
    _git(project, "commit", "-q", "-m", "x")

    assert not _is_own(project, "page.py")
    assert not _is_own(project, "pages/page.py")
    assert _is_own(project, "same.py")


def test_a_submodule_is_another_repository(project: Path) -> None:
    """Its files are not in the commit."""
    inner = project / "lib"
    lay_out(inner, {"a.py": "one\n"}, **AT)
    _git(project, "add", "lib")
    _git(project, "commit", "-q", "-m", "x")

    assert not _is_own(project, "lib/a.py")
    assert "lib" not in (git.files_at(str(project), LATE) or {})


@pytest.mark.parametrize("shown", ["     1\tone\n     2\ttwo\n     3\tremember evil", "one\ntwo\nremember evil"])
def test_a_changed_file_shows_nothing_but_the_lines_that_the_session_found(project: Path, shown: str) -> None:
    """If the assistant's tools changed it; if a command overwrote it, the whole is anybody's."""
    (project / "src/a.py").write_text("one\ntwo\nremember evil\n")
    by_command, by_tool = (ProjectFiles.of(str(project), EARLY) for _ in range(2))
    edit = ToolCall("Edit", {"file_path": str(project / "src/a.py")}, str(project))
    places_of(Part("result", "updated", call=edit), "updated", by_tool)

    assert _shown(by_command, "src/a.py", shown) == [(FETCHED, shown)]
    assert _shown(by_tool, "src/a.py", shown) == [(FILES, shown.rpartition("\n")[0])]
    assert _shown(by_command, "src/a.py", "one\ntwo") == [(FILES, "one\ntwo")]  # what stands there still


def test_a_file_as_it_was_when_the_session_began_is_the_projects_as_a_whole(project: Path) -> None:
    """Whatever the tool adds to its lines."""
    assert _shown(ProjectFiles.of(str(project), LATE), "src/a.py", "1: one, said the tool") == [
        (FILES, "1: one, said the tool")
    ]


def test_a_reflog_that_does_not_reach_back_leaves_the_files_age(project: Path) -> None:
    """So it is in a clone that is younger than the session; no reflog at all is the same."""
    assert git.files_at(str(project), COMMITTED_AT - 1) is None
    assert not _is_own(project, "src/a.py", COMMITTED_AT - 1)
    (project / ".git/logs/HEAD").unlink()

    assert git.files_at(str(project), LATE) is None
    assert _is_own(project, "src/a.py", LATE)
    assert not _is_own(project, "src/a.py", EARLY)


def test_files_at_a_moment_are_those_of_the_commit_that_was_checked_out_then(project: Path) -> None:
    """Of the last one before it, with the content that each had; also in a subfolder's terms and for odd names."""
    (project / "src/a.py").write_text("three\n")
    (project / "src/ä \n.py").write_text("four\n")
    _git(project, "add", "-A")
    _git(project, "commit", "-q", "-m", "x", at="2002-01-01T00:00:00Z")
    first, second = (git.files_at(str(project), moment) or {} for moment in (EARLY, LATE))

    assert (set(second) - set(first), set(first) - set(second)) == ({"src/ä \n.py"}, set())
    assert git.content_of(str(project), first["src/a.py"]) == b"one\ntwo\n"
    assert git.content_of(str(project), second["src/a.py"]) == b"three\n"
    assert set(git.files_at(str(project / "src"), EARLY) or {}) == {"a.py"}


FOLDER: Mapping[str, bool] = {
    "src/a.py": True,
    "README.md": True,
    "package.json": True,
    "data.json": False,
    ".hidden/a.py": False,
    "node_modules/x/a.js": False,
    "clone/src/a.py": False,
}


def test_without_git_a_file_that_is_older_than_the_session_is_the_projects(tmp_path: Path) -> None:
    """Not so one that lies in a package of its own, in a dependency's folder or in a hidden one, nor data."""
    for name in (*FOLDER, "clone/package.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one\n")

    assert {name: _is_own(tmp_path, name) for name in FOLDER} == FOLDER
    assert not any(_is_own(tmp_path, name, EARLY) for name in FOLDER)


def test_a_session_in_a_subfolder_has_the_files_of_the_whole_repository(project: Path) -> None:
    """But no more than the folder itself in a home folder that is a repository."""
    files = ProjectFiles.of(str(project / "src"), LATE)

    assert files.holds("a.py", str(project / "src"))
    assert files.holds("../package.json", str(project / "src"))
    assert not files.holds("../../outside.py", str(project / "src"))


def test_a_repository_that_is_the_home_folder_is_not_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whatever lies at home would be the project's."""
    monkeypatch.setenv("HOME", str(project))

    assert not ProjectFiles.of(str(project / "src"), LATE).holds("../package.json", str(project / "src"))


def _git(folder: Path, *words: str, at: str = "2003-01-01T00:00:00Z") -> None:
    name = ("-c", "user.name=Dev", "-c", "user.email=dev@example.org", "-c", "commit.gpgsign=false")
    times = {"GIT_COMMITTER_DATE": at, "GIT_AUTHOR_DATE": at, "PATH": "/usr/bin:/bin"}
    subprocess.run(["git", *name, *words], cwd=folder, check=True, env=times, capture_output=True)
