"""What of a transcript can be learnt from, by byte offsets."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.claude_code import transcript
from playbook_db.claude_code.chunks import Part
from playbook_db.claude_code.transcript import Entry, read_entries, walk
from tests.builders import json_values
from tests.transcripts_made_up import NEW, OLD, TranscriptBuilder, a_call, a_session, a_thought

SAMPLES = Path(__file__).parent.parent / "samples" / "transcripts"
MORE = [Part("text", "more")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a transcript is written."""
    return tmp_path / "session.jsonl"


def the_parts(path: Path | str, start: int = 0) -> list[Part]:
    """All parts in their order."""
    return [part for entry in read_entries(str(path), start) for part in entry.parts]


def the_texts(path: Path | str) -> list[str]:
    """The text of all parts."""
    return [part.text for part in the_parts(path)]


# --- what the client wrote, verbatim ---


@pytest.mark.parametrize("version", [OLD, NEW])
def test_of_a_real_session_words_calls_and_results_are_read(version: str) -> None:
    """A session with a subagent, a tool and a compaction, as the client wrote it."""
    entries = list(read_entries(str(SAMPLES / f"{version}-tools.jsonl")))
    told = [(entry.role, part.kind, part.text.split("\n")[0][:40]) for entry in entries for part in entry.parts]
    agent = '{"description": "look", "prompt": "SUBPROMPT look around", "subagent_type": "general-purpose"}'

    assert [item for item in told if item[1] == "text"][:2] == [
        ("user", "text", "use agent"),
        ("assistant", "text", "Delegating."),
    ]
    assert ("assistant", "call", f"Agent {agent}"[:40]) in told
    assert ("user", "result", "hi-main") in told
    assert [entry.parts[0].text for entry in entries if entry.begins_turn] == ["use agent", "run bash"]
    assert told[-1] == ("assistant", "text", "Following [pat-001], done.")


@pytest.mark.parametrize("version", [OLD, NEW])
def test_of_a_real_subagent_its_report_is_read(version: str) -> None:
    """Its transcript is a file of its own, in the session of its parent."""
    entries = list(read_entries(str(SAMPLES / f"{version}-subagent.jsonl")))

    assert entries[0].begins_turn
    assert entries[0].parts == (Part("text", "SUBPROMPT look around"),)
    assert entries[-1].parts == (Part("text", "Subagent final report [pat-002]."),)
    assert {entry.session_id for entry in entries} == {SESSIONS[version]}


SESSIONS = {OLD: "ae062225-e2fa-4a95-b14d-771376296f22", NEW: "5e62eba9-13cf-44d3-af85-717340d8fb5b"}


@pytest.mark.parametrize("file", sorted(SAMPLES.glob("*.jsonl")), ids=lambda file: file.stem)
def test_nothing_that_the_client_put_in_comes_through(file: Path) -> None:
    """No hook's context, no summary, no echo, no note, no reminder."""
    told = "\n".join(the_texts(file))

    for mark in ("MARK", "FAKE SUMMARY", "<command-", "<local-command", "<task-notification>", "<system-reminder>"):
        assert mark not in told
    assert told


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize(("name", "prompts"), [("compacted", ["hello there", "second prompt", "third prompt"])])
def test_a_compaction_hides_nothing_and_adds_nothing(version: str, name: str, prompts: list[str]) -> None:
    """What was said before stays in the file and is read once."""
    turns = [entry for entry in read_entries(str(SAMPLES / f"{version}-{name}.jsonl")) if entry.begins_turn]

    assert [turn.parts[0].text for turn in turns] == prompts


# --- entries ---


def test_an_entry_says_who_said_what_and_where_it_ends(path: Path) -> None:
    """The offset is that after its line."""
    built = TranscriptBuilder("the-session")
    uuid = built.user("do it")
    end = len(built.content())
    built.assistant("done")

    first, second = read_entries(built.write(path))

    assert first == Entry("user", (Part("text", "do it"),), end, uuid, "the-session", True)
    assert (second.role, second.begins_turn, second.end) == ("assistant", False, path.stat().st_size)


def test_calls_results_and_thinking_are_parts(path: Path) -> None:
    """In the order of the lines; an error is marked as one."""
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


def test_a_users_own_words_begin_a_turn_and_nothing_else_does(path: Path) -> None:
    """Neither a tool's result, with or without words, nor the note that the user interrupted."""
    built = TranscriptBuilder()
    result = {"tool_use_id": "toolu_1", "type": "tool_result", "content": "no", "is_error": True}
    built.user("typed")
    built.user_blocks({"type": "text", "text": "see"}, {"type": "image", "source": {"data": "xx"}})
    built.result("output")
    built.user_blocks(result, {"type": "text", "text": "not like this"})
    built.user_blocks({"type": "text", "text": "[Request interrupted by user for tool use]"})
    built.assistant("answer")

    entries = list(read_entries(built.write(path)))
    assert [entry.begins_turn for entry in entries] == [True, True, False, False, False, False]
    assert entries[1].parts == (Part("text", "see"), Part("text", "[image]"))


NOT_LEARNT_FROM: dict[str, Any] = {
    "meta": lambda built: built.meta("said by nobody"),
    "echo of a command": lambda built: built.command_echo(),
    "note of a task": lambda built: built.notification("[pat-002]"),
    "note of a task by its text alone": lambda built: built.user("<task-notification>done</task-notification>"),
    "note of a task by its origin alone": lambda built: built.user("done", origin={"kind": "task-notification"}),
    "caveat to a command": lambda built: built.user("<local-command-caveat>Caveat: ...</local-command-caveat>"),
    "compaction": lambda built: built.compaction(),
    "error of the API": lambda built: built.assistant("API Error: 529", isApiErrorMessage=True),
    "injected context": lambda built: built.injected("[pat-001] helpful=1"),
    "injected context as words": lambda built: built.user_blocks(
        {"type": "text", "text": "<system-reminder>\nSessionStart hook additional context: x\n</system-reminder>"}
    ),
    "injected context as bare words": lambda built: built.user("SessionStart hook additional context: [pat-001] x"),
    "copy of a request": lambda built: built.request_copy("once more"),
    "housekeeping": lambda built: built.housekeeping(),
    "thinking that is hidden": lambda built: built.assistant({"type": "redacted_thinking", "data": "xx"}),
    "blank line": lambda built: built.raw(" \t"),
    "message without content": lambda built: built.add({"type": "user", "message": {"role": "user"}, "uuid": "u"}),
    "unhashable type": lambda built: built.add({"type": ["user"], "message": {}, "uuid": {}}),
}


@pytest.mark.parametrize("add", NOT_LEARNT_FROM.values(), ids=NOT_LEARNT_FROM)
def test_what_nobody_said_or_did_is_no_entry_and_not_broken(path: Path, add: Any) -> None:
    """Its line is passed over; the lines around it are read."""
    built = TranscriptBuilder()
    built.user("before")
    add(built)
    built.assistant("after")

    passages = list(walk(built.write(path)))
    assert the_texts(path) == ["before", "after"]
    assert not any(passage.is_broken for passage in passages)


def test_reminders_are_cut_out_of_what_the_user_wrote(path: Path) -> None:
    """Only whole ones, and only there: what a tool printed stays as it was printed."""
    built = TranscriptBuilder()
    reminder = "<system-reminder>\nyou must\n</system-reminder>"
    built.user(f"{reminder}first {reminder}second")
    built.user("what is <system-reminder> for?")
    built.result(f"cat: {reminder}")
    built.user("mine <private>secret</private>")

    assert the_texts(built.write(path)) == [
        "first second",
        "what is <system-reminder> for?",
        f"cat: {reminder}",
        "mine <private>secret</private>",
    ]


def test_a_line_met_again_counts_once(path: Path) -> None:
    """A resumed or forked file may repeat its history; also where reading begins between the two."""
    built = TranscriptBuilder()
    built.user("once", uuid="same")
    start = len(built.content())
    built.user("once", uuid="same")
    built.user("twice", uuid="")
    built.add(json.loads(built.lines[-1]) | {"uuid": None})
    built.add(json.loads(built.lines[-1]) | {"uuid": None})

    assert the_texts(built.write(path))[0] == "once"
    assert [entry.parts[0].text for entry in read_entries(str(path), start)] == ["twice"] * 3


def test_what_no_database_can_hold_is_replaced(path: Path) -> None:
    """Half surrogate pairs and NULs; a whole pair is one character."""
    built = TranscriptBuilder("ses\ud800sion")
    built.raw(json.dumps({"type": "user", "uuid": "\ud800", "message": {"content": "a\ud83d\ude00b\ud83dc\x00d\r\ne"}}))

    (entry,) = read_entries(built.write(path))
    assert entry.parts == (Part("text", "a😀b?c\ufffdd\r\ne"),)
    assert entry.uuid == "?"


# --- lines and offsets ---


def test_a_half_written_last_line_is_left_for_the_next_time(path: Path) -> None:
    """Even if it could be read: it has no newline yet."""
    built = TranscriptBuilder()
    built.user("first")
    end = len(built.content())
    built.user("second")
    whole = built.lines.pop()

    for half in (whole, whole[:40], whole[:-1], "\ufffd"):
        assert [entry.end for entry in read_entries(built.write(path, half))] == [end]
    path.write_bytes(built.content(whole + "\r\n"))
    assert [entry.parts[0].text for entry in read_entries(str(path), end)] == ["second"]


@pytest.mark.parametrize("line", ["{", "no json", "[]", "7", "null", "[" * 100_000, "\x00" * 9, '{"a":' + "9" * 5_000])
def test_a_broken_line_spoils_no_other_and_is_told(path: Path, line: str) -> None:
    """It is skipped, and counted by whoever walks."""
    built = TranscriptBuilder()
    built.user("before")
    built.raw(line)
    built.user("after")

    assert [passage.is_broken for passage in walk(built.write(path))] == [False, True, False]
    assert the_texts(path) == ["before", "after"]


def test_a_start_beyond_the_end_gives_nothing(path: Path) -> None:
    """The file was replaced by a shorter one."""
    built = TranscriptBuilder()
    built.user("hello")

    assert list(walk(built.write(path), 10_000)) == []


def test_a_file_that_vanished_is_an_error(path: Path) -> None:
    """No empty default in its place."""
    with pytest.raises(FileNotFoundError):
        list(read_entries(str(path)))


@pytest.mark.parametrize("version", [OLD, NEW])
def test_passages_tile_the_file(path: Path, version: str) -> None:
    """Each begins where the one before ended, also from the middle on."""
    a_session(version=version).write(path)
    passages = list(walk(str(path)))

    assert [0, *(passage.end for passage in passages)] == [
        *(passage.start for passage in passages),
        path.stat().st_size,
    ]
    assert list(walk(str(path), passages[7].start)) == passages[7:]


# --- lines without measure ---


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> int:
    """Lines longer than 4,000 bytes are overlong, 300 of each end of a string are kept, chunks are odd."""
    monkeypatch.setattr(transcript, "LINE_LIMIT", 4_000)
    monkeypatch.setattr(transcript, "_KEPT", 300)
    monkeypatch.setattr(transcript, "_CHUNK", 37)
    return 4_000


@pytest.mark.parametrize("filling", ["x", "\\", '"', "\n", "é", "😀", "\\u", "a b\t", "\x01"])
@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("kept", [300, 301])
def test_of_an_overlong_line_the_ends_of_its_strings_are_read(
    path: Path, small_limit: int, monkeypatch: pytest.MonkeyPatch, filling: str, ascii_only: bool, kept: int
) -> None:
    """Who said it is known from behind the string; what was left out is told in its place and counted."""
    monkeypatch.setattr(transcript, "_KEPT", kept)
    text = f"BEGIN {filling * small_limit} and this is THE END"
    built = TranscriptBuilder()
    built.user("before")
    built.assistant(text)
    built.lines[-1] = json.dumps(json.loads(built.lines[-1]), ensure_ascii=ascii_only)
    built.meta(text)
    built.user("after")

    passages = list(walk(built.write(path)))
    _, long, after = (passage.entry for passage in passages if passage.entry)
    assert after.parts == (Part("text", "after"),)
    assert long.role == "assistant"
    head, told = long.parts[0].text.split("\n[... ")
    count, tail = told.split(" bytes left out ...]\n")
    assert text.startswith(head.rstrip("?\ufffd"))
    assert len(json.dumps(head.rstrip("?\ufffd"), ensure_ascii=ascii_only).encode()) > kept - 12
    assert text.endswith(tail.lstrip("?\ufffd"))
    assert len(tail) > 40 or filling == "\\"
    assert tail.endswith("is THE END")
    assert int(count) == passages[1].left_out_bytes > 3_000
    assert [0, *(passage.end for passage in passages)][-1] == path.stat().st_size


def test_an_overlong_line_that_is_still_written_is_left_for_the_next_time(path: Path, small_limit: int) -> None:
    """As any other half-written line, whatever its length."""
    built = TranscriptBuilder()
    built.user("x" * 3 * small_limit)
    line = built.lines.pop()

    for size in (small_limit - 1, small_limit, small_limit + 1, len(line)):
        assert list(walk(built.write(path, line[:size]))) == []
    assert len(list(walk(built.write(path, line + "\n")))) == 1


def test_an_overlong_line_of_countless_values_is_broken(path: Path, small_limit: int) -> None:
    """Nothing of it can be told but that it was there."""
    built = TranscriptBuilder()
    built.add({"type": "user", "message": {"content": [{"type": "text", "text": "x"}] * small_limit}})
    built.user("after")

    first, second = walk(built.write(path))
    assert first.is_broken
    assert first.left_out_bytes == first.end == second.start
    assert second.entry


def test_an_overlong_line_that_breaks_off_is_broken(path: Path, small_limit: int) -> None:
    """A string without end ends with its line."""
    built = TranscriptBuilder()
    built.raw('{"type": "user", "message": {"content": "' + "x" * 2 * small_limit)
    built.user("after")

    assert [passage.is_broken for passage in walk(built.write(path))] == [True, False]


# --- whatever stands there ---

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
def test_nothing_that_stands_in_a_file_raises(tmp_path: Path, written: list[bytes], end: bytes, start: int) -> None:
    """Random bytes, JSON of any shape; whole lines tile the file from anywhere."""
    path = tmp_path / "any.jsonl"
    path.write_bytes(end.join(written))
    content = path.read_bytes()

    passages = list(walk(str(path), start))
    last = content.rfind(b"\n") + 1
    assert all(part.text.isascii() or part.text.encode() for entry in read_entries(str(path)) for part in entry.parts)
    assert [start, *(passage.end for passage in passages)][:-1] == [passage.start for passage in passages]
    assert [start, *(passage.end for passage in passages)][-1] == max(last, start)


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=99), max_size=5), st.booleans(), st.integers(1, 50))
def test_overlong_lines_never_raise_and_stay_json(
    tmp_path: Path, texts: list[str], ascii_only: bool, chunk: int
) -> None:
    """Wherever the cuts fall: in an escape, in a character, in a pair."""
    path = tmp_path / "long.jsonl"
    content = [{"type": "text", "text": text} for text in texts]
    entry = {"type": "user", "message": {"content": content}, "long": "y" * 2_000}
    path.write_text(json.dumps(entry, ensure_ascii=ascii_only) + "\n", encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(transcript, "LINE_LIMIT", 900)
        patched.setattr(transcript, "_KEPT", 20)
        patched.setattr(transcript, "_CHUNK", chunk)
        (short,) = transcript.read_lines(str(path))

    assert short.end == path.stat().st_size
    assert short.content is not None
    assert [block["text"] for block in short.content["message"]["content"] if len(block["text"]) <= 3] == [
        text for text in texts if len(text) <= 3
    ]
    head, count, tail = re.split(r"\n\[... (\d+) bytes left out ...\]\n", short.content["long"])
    assert len(head) + int(count) + len(tail) == 2_000
    assert short.left_out_bytes >= int(count)
