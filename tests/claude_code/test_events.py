"""What Claude Code tells a hook, however odd it is; and which project an event belongs to."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db import projects
from playbook_db.claude_code.hooks import events
from playbook_db.claude_code.hooks.events import Event, parse, session_folder_name
from tests.builders import json_values

FIELDS = tuple(events.Event.__annotations__)
_SESSION = "21085438-3e85-4e82-b7cf-435eb11d75c5"


def _parsed(**fields: Any) -> Event:
    event = parse(json.dumps(fields).encode())
    assert event is not None
    return event


def _event(cwd: Path | str, began: Path | str | None = None) -> Event:
    """An event of a session that began in *began* (default: in *cwd*) and is in *cwd* now."""
    folder = Path.home() / ".claude" / "projects" / session_folder_name(str(began or cwd))
    return _parsed(hook_event_name="SessionEnd", cwd=str(cwd), transcript_path=str(folder / f"{_SESSION}.jsonl"))


def _git(*arguments: str, at: Path) -> None:
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], cwd=at, check=True, capture_output=True
    )


def test_an_event_is_read_as_the_client_writes_it() -> None:
    """One JSON line; fields that we don't know are passed over."""
    event = parse(
        b'{"session_id":"s","transcript_path":"/t/s.jsonl","cwd":"/p","permission_mode":"auto","agent_id":"a1",'
        b'"agent_type":"general-purpose","effort":{"level":"medium"},"hook_event_name":"SubagentStop",'
        b'"stop_hook_active":false,"agent_transcript_path":"/t/s/subagents/agent-a1.jsonl","background_tasks":[]}\n'
    )

    assert event is not None
    assert [getattr(event, name) for name in FIELDS] == [
        "SubagentStop", "s", "/t/s.jsonl", "/p", None, None, None, "a1", "general-purpose",
        "/t/s/subagents/agent-a1.jsonl",
    ]  # fmt: skip


@given(st.binary(max_size=200))
def test_no_bytes_raise_an_error(data: bytes) -> None:
    """They are an event or none."""
    event = parse(data)

    assert event is None or isinstance(event, Event)


@given(json_values | st.dictionaries(st.sampled_from(FIELDS), json_values | st.text(), max_size=5))
def test_every_json_object_is_an_event_and_nothing_else_is(value: Any) -> None:
    """A field is a text or None, whatever it was told as."""
    event = parse(json.dumps(value).encode())

    assert (event is not None) is isinstance(value, dict)
    for name in FIELDS if event else ():
        told = value.get(name)
        assert getattr(event, name) == (told.replace("\0", "?") if isinstance(told, str) and told.isprintable() else
                                        getattr(event, name))  # fmt: skip
        assert isinstance(getattr(event, name), str) is isinstance(told, str)


@given(st.text(st.characters() | st.sampled_from("\ud800\udfff\0💥"), max_size=20))
def test_a_text_comes_out_as_a_database_can_keep_it(text: str) -> None:
    """No half of a surrogate pair, no NUL; everything else as it was told."""
    kept = _parsed(session_id=text).session_id

    assert kept is not None
    assert "\0" not in kept
    assert kept.encode("utf-8").decode("utf-8") == kept
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if "\ufffd" not in whole:
        assert kept == whole.replace("\0", "?")


@pytest.mark.parametrize("value", [None, 1, 0.5, True, [], ["SessionStart"], {}, {"a": "b"}])
def test_a_field_of_another_kind_is_none(value: Any) -> None:
    """Nothing that is told is trusted."""
    event = _parsed(**dict.fromkeys(FIELDS, value))

    assert [getattr(event, name) for name in FIELDS] == [None] * len(FIELDS)
    assert event.project_folder() is None


@pytest.mark.parametrize(
    "data",
    [b"[" * 1_000_000, b'{"a":' * 1_000_000, b'{"a":' * 200_000 + b"1" + b"}" * 200_000, b"9" * 10_000, b"1e999",
     b"NaN", b"{} {}", b'{"cwd":"/p"} x', b"", b" \n", b"\x00", b'{"cwd":"\x01"', b"\xef\xbb\xbf[]"],
)  # fmt: skip
def test_hostile_json_is_no_event(data: bytes) -> None:
    """Nor an error, however deep."""
    assert parse(data) is None


@pytest.mark.parametrize("data", [b'\xef\xbb\xbf{"cwd":"/p"}', b' \r\n{"cwd":"/p"}\t\n', b'{"cwd":"/q","cwd":"/p"}'])
def test_what_stands_around_the_object_does_not_matter(data: bytes) -> None:
    """A byte order mark, white space; of a key told twice, the last counts."""
    event = parse(data)

    assert event is not None
    assert event.cwd == "/p"


def test_the_project_is_what_the_client_says(folder: Path) -> None:
    """CLAUDE_PROJECT_DIR, wherever the session went since."""
    assert _event("/somewhere/else").project_folder() == str(folder)


def test_without_it_the_transcript_tells_where_the_session_began(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though cwd moved into a folder that would be a project of its own."""
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    inner = folder / "vendor" / "lib"
    (inner / ".git").mkdir(parents=True)

    assert _event(inner, began=folder).project_folder() == str(folder)
    assert _event(folder, began=folder).project_folder() == str(folder)


def test_a_project_that_cannot_be_told_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that began in a folder that isn't above cwd: no playbook rather than the wrong one."""
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")

    assert _event(folder, began=folder.parent / "another").project_folder() is None


def test_a_transcript_elsewhere_tells_nothing_of_the_project(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then cwd is all there is: the project around it."""
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    (folder / "deep").mkdir()

    assert _parsed(cwd=str(folder / "deep"), transcript_path="/var/x/t.jsonl").project_folder() == str(folder)
    assert _parsed(cwd=str(folder / "deep")).project_folder() == str(folder)


@pytest.mark.parametrize("cwd", ["", "project", "./project", "~"])
def test_a_folder_that_is_not_absolute_tells_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch, cwd: str) -> None:
    """Relative to what?"""
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")

    assert _parsed(cwd=cwd).project_folder() is None


def test_the_home_folder_is_a_project_like_any_other(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a session that began there; its `.claude` makes no other folder part of it."""
    (home / ".claude").mkdir()
    (home / "notes").mkdir()

    assert _event(home / "notes", began=home).project_folder() == str(home)
    assert _parsed(cwd=str(home / "notes")).project_folder() == str(home / "notes")


def test_a_folder_and_a_link_to_it_are_one_project(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the client names the transcript's folder: by the link or by what it leads to."""
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    link = tmp_path / "link"
    link.symlink_to(folder)

    assert _event(link, began=link).project_folder() == str(link)
    found = [_event(link / ".claude", began=began).project_folder() for began in (link, folder)]

    assert None not in found
    assert {projects.project_key(told or "") for told in found} == {os.path.realpath(folder)}


@pytest.mark.slow
def test_worktrees_of_a_repository_are_one_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder inside one is keyed by its twin in the main one."""
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    _git("init", "-q", at=main)
    _git("commit", "-q", "--allow-empty", "-m", "x", at=main)
    _git("worktree", "add", "-q", str(linked), at=main)
    (main / "app").mkdir()
    (linked / "app").mkdir()

    for inside in (".", "app"):
        told = [_event((tree / inside).resolve()).project_folder() or "" for tree in (main, linked)]
        assert len(set(told)) == 2
        assert len({projects.project_key(each) for each in told}) == 1


def test_two_folders_of_one_name_are_two_projects(tmp_path: Path) -> None:
    """What their paths have in common says nothing."""
    twins = [tmp_path / "a" / "app", tmp_path / "b" / "app"]
    for twin in twins:
        twin.mkdir(parents=True)

    keys = {projects.project_key(_event(twin).project_folder() or "") for twin in twins}

    assert keys == {os.path.realpath(twin) for twin in twins}


def test_folders_whose_transcripts_share_a_folder_are_told_apart_by_cwd(tmp_path: Path) -> None:
    """`a.b` and `a-b` are one name to the client."""
    for name in ("a.b", "a-b"):
        (tmp_path / name / "src").mkdir(parents=True)
        assert _event(tmp_path / name / "src", began=tmp_path / name).project_folder() == str(tmp_path / name)


def test_a_transcript_s_folder_is_named_as_the_client_names_it() -> None:
    """Every character but ASCII letters and digits is a dash."""
    assert session_folder_name("/home/dev/my_project.v2") == "-home-dev-my-project-v2"
    assert session_folder_name("/é1") == "--1"
