"""The counts of a session, and the turns that correct it."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from playbook_db.domain.trust.following import CORRECTED, FAILED
from tests.reading import read_chunks
from tests.transcripts import TranscriptBuilder, a_call, a_session, a_thought

_REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\nnot that file"
)
_INTERRUPTED = "[Request interrupted by user for tool use]"


@pytest.fixture
def session() -> TranscriptBuilder:
    """A session in which the user has asked for something and the assistant has answered."""
    made = TranscriptBuilder("s-1")
    made.user("fix the bug")
    made.assistant("I look at it.")
    return made


class _Counts(NamedTuple):
    prompts: int
    calls: int
    failed: int
    corrections: int


def _counts(session: TranscriptBuilder, folder: Path, start: int = 0, max_chars: int = 50_000) -> _Counts:
    return _counts_of(session.write(folder / "s-1.jsonl"), start, max_chars)


def _counts_of(path: str, start: int = 0, max_chars: int = 50_000) -> _Counts:
    chunks = list(read_chunks(path, start, max_chars))
    ends = [act.outcome for chunk in chunks for act in chunk.acts]
    prompts, calls = sum(chunk.prompts for chunk in chunks), sum(chunk.calls for chunk in chunks)
    return _Counts(prompts, calls, ends.count(FAILED), ends.count(CORRECTED))


def test_calls_failures_and_prompts_are_counted(session: TranscriptBuilder, tmp_path: Path) -> None:
    session.assistant(a_thought(""), "I run the tests.", a_call("Bash", command="pytest"), a_call("Read", path="x"))
    session.result("1 failed", is_error=True)
    session.result("fine")
    session.meta("a reminder")
    session.command_echo()
    session.notification("done")
    session.compaction()
    session.user("thank you")

    assert _counts(session, tmp_path) == _Counts(prompts=2, calls=2, failed=1, corrections=0)


def test_counts_add_up_across_chunks(tmp_path: Path) -> None:
    session = a_session(8)
    whole = _counts(session, tmp_path)
    path = session.write(tmp_path / "s-1.jsonl")
    ends = [line for line, byte in enumerate(session.content()) if byte == 10]

    assert whole.prompts >= 8
    assert whole.failed > 0
    assert len(list(read_chunks(path, 0, 1200))) > 3
    assert _counts(session, tmp_path, max_chars=1200) == whole
    for end in ends[::5]:
        head = TranscriptBuilder("s-1")
        head.lines = session.content()[: end + 1].decode().splitlines()
        both = zip(_counts(head, tmp_path), _counts(session, tmp_path, start=end + 1), strict=True)
        assert tuple(map(sum, both)) == whole


@pytest.mark.parametrize("words", ["no, the other file", "I said uv"])
def test_corrections_are_recognized(session: TranscriptBuilder, tmp_path: Path, words: str) -> None:
    """The answer to a question is no correction."""
    session.user(words)
    asked = TranscriptBuilder("s-1")
    asked.user(words)
    asked.assistant("Shall I delete it?")
    asked.user(words)

    assert _counts(session, tmp_path) == _Counts(prompts=2, calls=0, failed=0, corrections=1)
    assert _counts(asked, tmp_path).corrections == 0


def _denied(session: TranscriptBuilder, text: str, **fields: Any) -> None:
    session.assistant(a_call("Edit", file_path="x"))
    session.result(text, is_error=True, **fields)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (_REFUSED, {}),
        (_INTERRUPTED, {}),
        ("whatever a later client says", {"toolDenialKind": "user-rejected"}),
    ],
)
def test_refused_call_is_no_failure(
    session: TranscriptBuilder, tmp_path: Path, text: str, fields: dict[str, Any]
) -> None:
    _denied(session, text, **fields)
    session.user_blocks({"type": "text", "text": _INTERRUPTED})
    session.user("no, the other file")

    has_words = int(text == _REFUSED)
    assert _counts(session, tmp_path) == _Counts(prompts=2, calls=1, failed=0, corrections=has_words)

    session.assistant("I take the other one.")
    session.user("no, that one")

    assert _counts(session, tmp_path).corrections == has_words + 1


def test_subagents_turns_are_not_the_users(tmp_path: Path) -> None:
    session = TranscriptBuilder("s-1", agent_id="a1")
    session.user("find the file")
    session.run("ls", "no such folder", is_error=True)
    session.user("no, the other folder")
    _denied(session, _REFUSED)
    assert _counts(session, tmp_path) == _Counts(prompts=0, calls=2, failed=1, corrections=0)
