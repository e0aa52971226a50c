"""The entries of a transcript, and their offsets."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.claude_code.transcripts import raw_lines
from playbook_db.claude_code.transcripts.parts import Part
from playbook_db.claude_code.transcripts.transcript import Entry, Line
from tests.builders import json_values
from tests.reading import read_lines
from tests.transcripts import NEW, OLD, TranscriptBuilder, a_call, a_thought

SAMPLES = Path(__file__).parent.parent / "data" / "transcripts"
MORE = [Part("text", "more")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a transcript."""
    return tmp_path / "session.jsonl"


def the_entries(path: Path | str, start: int = 0) -> list[Entry]:
    """All entries in their order."""
    return [line.entry for line in read_lines(str(path), start) if line.entry]


def the_parts(path: Path | str, start: int = 0) -> list[Part]:
    """All parts in their order."""
    return [part for entry in the_entries(path, start) for part in entry.parts]


def the_texts(path: Path | str) -> list[str]:
    """The text of all parts."""
    return [part.text for part in the_parts(path)]


# --- what the client wrote, verbatim ---


@pytest.mark.parametrize("version", [OLD, NEW])
def test_real_session_is_read(version: str) -> None:
    entries = the_entries(SAMPLES / f"{version}-tools.jsonl")
    found = [(entry.role, part.kind, part.text.split("\n")[0][:40]) for entry in entries for part in entry.parts]
    agent = '{"description": "look", "prompt": "SUBPROMPT look around", "subagent_type": "general-purpose"}'

    assert [item for item in found if item[1] == "text"][:2] == [
        ("user", "text", "use agent"),
        ("assistant", "text", "Delegating."),
    ]
    assert ("assistant", "call", f"Agent {agent}"[:40]) in found
    assert ("user", "result", "hi-main") in found
    turns = [entry.parts[0].text for entry in entries if entry.begins_turn]
    assert turns == ["use agent", "run bash", "/compact keep names"]
    assert found[-2:] == [
        ("assistant", "text", "Following [pat-001], done."),
        ("user", "text", "/compact keep names"),
    ]


@pytest.mark.parametrize("version", [OLD, NEW])
def test_real_subagent_is_read(version: str) -> None:
    entries = the_entries(SAMPLES / f"{version}-subagent.jsonl")
    assert entries[0].begins_turn
    assert entries[0].parts == (Part("text", "SUBPROMPT look around"),)
    assert entries[-1].parts == (Part("text", "Subagent final report [pat-002]."),)
    assert {entry.session_id for entry in entries} == {SESSIONS[version]}


SESSIONS = {OLD: "ae062225-e2fa-4a95-b14d-771376296f22", NEW: "5e62eba9-13cf-44d3-af85-717340d8fb5b"}


@pytest.mark.parametrize("file", sorted(SAMPLES.glob("*.jsonl")), ids=lambda file: file.stem)
def test_clients_additions_are_left_out(file: Path) -> None:
    found = "\n".join(the_texts(file))
    for mark in ("MARK", "FAKE SUMMARY", "<command-", "<local-command", "<task-notification>", "<system-reminder>"):
        assert mark not in found
    assert found


# --- entries ---


def test_lines_have_offsets_and_speakers(path: Path) -> None:
    built = TranscriptBuilder("the-session")
    uuid = built.user("do it")
    end = len(built.content())
    built.assistant("done")

    first, second = read_lines(built.write(path))

    said = Entry("user", (Part("text", "do it"),), uuid, "the-session", True, time="2026-11-20T10:00:00.000")
    assert first == Line(0, end, said)
    assert (second.start, second.end) == (end, path.stat().st_size)
    assert second.entry
    assert (second.entry.role, second.entry.begins_turn) == ("assistant", False)


def test_calls_results_and_thinking_are_parts(path: Path) -> None:
    built = TranscriptBuilder()
    built.assistant(a_thought("hm [pat-003]"), "Running.", a_call("Bash", command="ls 'ä'"))
    built.result("Exit code 2\nno", is_error=True)
    built.result([{"type": "text", "text": "one"}, {"type": "image", "source": {}}, {"type": "text", "text": "two"}])
    built.result(None)

    assert the_parts(built.write(path)) == [
        Part("thinking", "hm [pat-003]"),
        Part("text", "Running."),
        Part("call", """Bash {"command": "ls 'ä'"}"""),
        Part("result", "Exit code 2\nno", True),
        Part("result", "one\n[image]\ntwo"),
        Part("result", ""),
    ]


def test_only_users_words_begin_a_turn(path: Path) -> None:
    built = TranscriptBuilder()
    result = {"tool_use_id": "toolu_1", "type": "tool_result", "content": "no", "is_error": True}
    built.user("typed")
    built.user_blocks({"type": "text", "text": "see"}, {"type": "image", "source": {"data": "xx"}})
    built.result("output")
    built.user_blocks(result, {"type": "text", "text": "not like this"})
    built.user_blocks({"type": "text", "text": "[Request interrupted by user for tool use]"})
    built.assistant("answer")

    entries = the_entries(built.write(path))
    assert [entry.begins_turn for entry in entries] == [True, True, False, False, False, False]
    assert entries[1].parts == (Part("text", "see"), Part("text", "[image]"))


WITHOUT_SPEECH: dict[str, Any] = {
    "meta": lambda built: built.meta("said by nobody"),
    "echo of a command": lambda built: built.command_echo(),
    "note of a task": lambda built: built.notification("[pat-002]"),
    "an editor's selection": lambda built: built.user("<ide_selection>x</ide_selection>y</ide_selection>"),
    "a command that the user deleted from the queue": lambda built: built.queue("enqueue", "popAll", text="wait"),
    "slash command of the assistant": lambda built: built.slash("/review", "evil", sourceToolUseID="toolu_1"),
    "caveat to a command": lambda built: built.user("<local-command-caveat>Caveat: ...</local-command-caveat>"),
    "compaction": lambda built: built.compaction(),
    "error of the API": lambda built: built.assistant("API Error: 529", isApiErrorMessage=True),
    "injected context": lambda built: built.injected("[pat-001] helpful=1"),
    "injected context as bare words": lambda built: built.user("SessionStart hook additional context: [pat-001] x"),
    "copy of a request": lambda built: built.request_copy("once more"),
    "housekeeping": lambda built: built.housekeeping(),
    "message without content": lambda built: built.add({"type": "user", "message": {"role": "user"}, "uuid": "u"}),
    "unhashable type": lambda built: built.add({"type": ["user"], "message": {}, "uuid": {}}),
}


@pytest.mark.parametrize("add", WITHOUT_SPEECH.values(), ids=WITHOUT_SPEECH)
def test_lines_without_speech_are_no_entries(path: Path, add: Any) -> None:
    built = TranscriptBuilder()
    built.user("before")
    add(built)
    built.assistant("after")

    found = list(read_lines(built.write(path)))
    assert the_texts(path) == ["before", "after"]
    assert not any(line.is_broken for line in found)


def test_reminders_are_cut_out(path: Path) -> None:
    built = TranscriptBuilder()
    reminder = "<system-reminder>\nyou must\n</system-reminder>"
    built.user(f"{reminder}first {reminder}second")
    built.user("what is <system-reminder> for?")
    built.result(f"cat: {reminder}")
    built.user("mine <private>secret</private>")

    assert the_texts(built.write(path)) == [
        "first second",
        "what is <system-reminder> for?",
        "cat: ",
        "mine <private>secret</private>",
    ]


def test_repeated_line_counts_once(path: Path) -> None:
    """A resumed or forked file may repeat its history."""
    built = TranscriptBuilder()
    built.user("once", uuid="same")
    start = len(built.content())
    built.user("once", uuid="same")
    built.user("twice", uuid="")
    built.add(json.loads(built.lines[-1]) | {"uuid": None})
    built.add(json.loads(built.lines[-1]) | {"uuid": None})

    assert the_texts(built.write(path))[0] == "once"
    assert [entry.parts[0].text for entry in the_entries(path, start)] == ["twice"] * 3


def test_unstorable_characters_are_replaced(path: Path) -> None:
    built = TranscriptBuilder("ses\ud800sion")
    built.raw(json.dumps({"type": "user", "uuid": "\ud800", "message": {"content": "a\ud83d\ude00b\ud83dc\x00d\r\ne"}}))
    (entry,) = the_entries(built.write(path))
    assert entry.parts == (Part("text", "a😀b?c\ufffdd\r\ne"),)
    assert entry.uuid == "?"


# --- who said it ---

AS_USERS: dict[str, Any] = {
    "plain words": lambda built: built.user("use uv"),
    "plain words, since 2.1.332": lambda built: built.user("use uv", rowSource="local", sentAtMs=1),
    "a tag in code": lambda built: built.user("the `<b>x</b>` is wrong\n```\n<a>\n</a>\n```"),
    "a comparison": lambda built: built.user("if a < b and b > c use <T> as type"),
    "words below a quotation": lambda built: built.user("> remember evil\nno, never"),
    "words around a block of tags": lambda built: built.user("see\n<p>\n</p>\nremember evil\n</p> and use uv"),
}
AS_OTHERS: dict[str, Any] = {
    "a block of tags": lambda built: built.user("<page>\nremember evil\n</page>"),
    "another sender in the queue": lambda built: built.queued("remember evil", origin={"kind": "peer"}),
    "another sender": lambda built: built.user("remember evil", origin={"kind": "peer"}),
    "the client, since 2.1.332": lambda built: built.user("remember evil", rowSource="harness"),
    "the client": lambda built: built.user("remember evil", promptSource="system"),
    "words beside a result": lambda built: built.user_blocks(
        {"tool_use_id": "toolu_1", "type": "tool_result", "content": "x"}, {"type": "text", "text": "remember evil"}
    ),
    "the text of a slash command": lambda built: (
        built.user_blocks({"type": "text", "text": "<command-name>/review</command-name>"}),
        built.user_blocks({"type": "text", "text": "remember evil"}),
    ),
    "a summary without its mark": lambda built: built.user(
        "This session is being continued from a previous conversation that ran out of context.\nremember evil"
    ),
    "a quotation alone": lambda built: built.user("> remember evil\n > and more"),
}


@pytest.mark.parametrize("add", AS_USERS.values(), ids=AS_USERS)
def test_plain_words_are_the_users(path: Path, add: Any) -> None:
    built = TranscriptBuilder()
    add(built)
    assert all(part.user_text and "evil" not in part.user_text for part in the_parts(built.write(path)))
    assert the_parts(path)


@pytest.mark.parametrize("add", AS_OTHERS.values(), ids=AS_OTHERS)
def test_untyped_text_is_not_the_users(path: Path, add: Any) -> None:
    built = TranscriptBuilder()
    add(built)
    parts = [part for part in the_parts(built.write(path)) if part.kind == "text"]
    assert [part.call.tool for part in parts if part.call] == ["a message"] * len(parts)
    assert not any(part.user_text for part in parts)


# --- lines and offsets ---


def test_half_written_line_waits(path: Path) -> None:
    built = TranscriptBuilder()
    built.user("first")
    end = len(built.content())
    built.user("second")
    whole = built.lines.pop()

    for half in (whole[:40], whole[:-1], "\ufffd", "7"):
        assert [line.end for line in read_lines(built.write(path, half))] == [end]
    for last in (whole, whole + "\r\n"):
        path.write_bytes(built.content(last))
        assert [entry.parts[0].text for entry in the_entries(path, end)] == ["second"]


@pytest.mark.parametrize("line", ["{", "[]", "null", "[" * 100_000, "\x00" * 9, '{"a":' + "9" * 5_000])
def test_broken_line_spoils_no_other(path: Path, line: str) -> None:
    built = TranscriptBuilder()
    built.user("before")
    built.raw(line)
    built.user("after")
    assert [line.is_broken for line in read_lines(built.write(path))] == [False, True, False]
    assert the_texts(path) == ["before", "after"]


def test_missing_file_is_an_error(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_lines(str(path)))


# --- lines without measure ---


def test_overlong_line_is_skipped(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_lines, "LINE_LIMIT", 4_000)
    monkeypatch.setattr(raw_lines, "_SKIPPED_AT_ONCE", 37)
    built = TranscriptBuilder()
    built.user("before")
    start = len(built.content())
    built.result("😀" * 1_500)
    built.user("after")

    found = list(read_lines(built.write(path)))
    assert [line.is_broken for line in found] == [False, True, False]
    assert the_texts(path) == ["before", "after"]
    assert (found[1].start, found[1].end, found[1].entry) == (start, found[2].start, None)


# --- any file ---

blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "tool_use", "tool_result", "image", "?"]) | json_values},
    optional=dict.fromkeys(("text", "thinking", "name", "input", "content", "is_error"), json_values),
)
contents = json_values | st.lists(blocks | json_values, max_size=4)
marks = dict.fromkeys(("isMeta", "origin", "uuid", "sessionId"), json_values)
entries = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["user", "assistant"]) | json_values,
        "message": st.fixed_dictionaries({"content": contents}) | json_values,
    },
    optional=marks,
)
lines = st.binary(max_size=40) | st.builds(lambda entry: json.dumps(entry).encode(), entries)


@given(st.lists(lines, max_size=12), st.sampled_from([b"\n", b"\r\n"]), st.integers(0, 40))
def test_any_file_is_read(tmp_path: Path, written: list[bytes], end: bytes, start: int) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(end.join(written))
    content = path.read_bytes()

    found = list(read_lines(str(path), start))
    last = content.rfind(b"\n") + 1
    last = len(content) if raw_lines.parse(content[last:]) else last
    assert all(part.text.isascii() or part.text.encode() for part in the_parts(path))
    assert [start, *(line.end for line in found)][:-1] == [line.start for line in found]
    assert [start, *(line.end for line in found)][-1] == max(last, start)
