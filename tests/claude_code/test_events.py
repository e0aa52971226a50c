"""Events of Claude Code, however odd, and their projects."""

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


def test_event_is_read() -> None:
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


@given(json_values | st.dictionaries(st.sampled_from(FIELDS), json_values | st.text(), max_size=5))
def test_only_json_objects_are_events(value: Any) -> None:
    event = parse(json.dumps(value).encode())

    assert (event is not None) is isinstance(value, dict)
    for name in FIELDS if event else ():
        sent = value.get(name)
        assert getattr(event, name) == (sent.replace("\0", "?") if isinstance(sent, str) and sent.isprintable() else
                                        getattr(event, name))  # fmt: skip
        assert isinstance(getattr(event, name), str) is isinstance(sent, str)


@given(st.text(st.characters() | st.sampled_from("\ud800\udfff\0💥"), max_size=20))
def test_texts_fit_into_a_database(text: str) -> None:
    kept = _parsed(session_id=text).session_id

    assert kept is not None
    assert "\0" not in kept
    assert kept.encode("utf-8").decode("utf-8") == kept
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if "\ufffd" not in whole:
        assert kept == whole.replace("\0", "?")


@pytest.mark.parametrize(
    "data",
    [b"[" * 1_000_000, b'{"a":' * 1_000_000, b'{"a":' * 200_000 + b"1" + b"}" * 200_000, b"9" * 10_000, b"1e999",
     b"NaN", b"{} {}", b'{"cwd":"/p"} x', b"", b" \n", b"\x00", b'{"cwd":"\x01"', b"\xef\xbb\xbf[]"],
)  # fmt: skip
def test_hostile_json_is_no_event(data: bytes) -> None:
    assert parse(data) is None


@pytest.mark.parametrize("inside", ["", "/src"])
def test_transcript_names_the_folder(tmp_path: Path, home: Path, inside: str) -> None:
    """`a.b` and `a-b` have the same name for the client."""
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


def test_transcripts_folder_has_the_clients_name() -> None:
    assert session_folder_name("/home/dev/my_project.v2") == "-home-dev-my-project-v2"
    assert session_folder_name("/é1") == "--1"
