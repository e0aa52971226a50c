"""What Claude Code tells a hook, however odd it is; and which project an event belongs to."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.claude_code.hooks import hook_runner
from playbook_db.claude_code.hooks.hook_runner import Event, parse, session_folder_name
from tests.builders import json_values

FIELDS = tuple(hook_runner.Event.__annotations__)


def _parsed(**fields: Any) -> Event:
    event = parse(json.dumps(fields).encode())
    assert event is not None
    return event


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


@pytest.mark.parametrize(
    "data",
    [b"[" * 1_000_000, b'{"a":' * 1_000_000, b'{"a":' * 200_000 + b"1" + b"}" * 200_000, b"9" * 10_000, b"1e999",
     b"NaN", b"{} {}", b'{"cwd":"/p"} x', b"", b" \n", b"\x00", b'{"cwd":"\x01"', b"\xef\xbb\xbf[]"],
)  # fmt: skip
def test_hostile_json_is_no_event(data: bytes) -> None:
    """Nor an error, however deep."""
    assert parse(data) is None


@pytest.mark.parametrize("data", [
    b'\xef\xbb\xbf{"transcript_path":"/p"}', b' \r\n{"transcript_path":"/p"}\t\n',
    b'{"transcript_path":"/q","transcript_path":"/p"}',
])  # fmt: skip
def test_what_stands_around_the_object_does_not_matter(data: bytes) -> None:
    """A byte order mark, white space; of a key told twice, the last counts."""
    event = parse(data)

    assert event is not None
    assert event.transcript_path == "/p"


@pytest.mark.parametrize("inside", ["", "/src"])
def test_a_session_s_folder_is_known_by_its_transcript(tmp_path: Path, home: Path, inside: str) -> None:
    """Though `a.b` and `a-b` are one name to the client, and though a link leads there."""
    for name in ("a.b", "a-b"):
        (tmp_path / name / "src").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a.b")
    transcripts = home / ".claude" / "projects" / session_folder_name(os.path.realpath(tmp_path / "a.b"))
    assert hook_runner.folder_of_session("s", str(tmp_path)) == str(tmp_path)  # it has just begun
    transcripts.mkdir(parents=True)
    (transcripts / "s.jsonl").touch()

    for name in ("a.b", "a-b", "link"):
        assert hook_runner.folder_of_session("s", f"{tmp_path / name}{inside}") == str(tmp_path / name)
    assert hook_runner.folder_of_session("s", str(tmp_path)) is None


def test_a_transcript_s_folder_is_named_as_the_client_names_it() -> None:
    """Every character but ASCII letters and digits is a dash."""
    assert session_folder_name("/home/dev/my_project.v2") == "-home-dev-my-project-v2"
    assert session_folder_name("/é1") == "--1"
