"""What is counted of how a session went, from transcripts as Claude Code writes them."""

from pathlib import Path
from typing import Any

import pytest

from playbook_db.domain.trust.outcomes import SessionCounts
from tests.reading import read_chunks
from tests.transcripts_made_up import TranscriptBuilder, a_call, a_session, a_thought

_SAMPLES = Path(__file__).parents[1] / "samples" / "transcripts"
_REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\nnot that file"
)
_INTERRUPTED = "[Request interrupted by user for tool use]"


@pytest.fixture
def session() -> TranscriptBuilder:
    """A session in which the user has asked for something and the assistant has answered."""
    made = TranscriptBuilder("s-1")
    made.user("mend the bug")
    made.assistant("I look at it.")
    return made


def _counts(session: TranscriptBuilder, folder: Path, start: int = 0, max_chars: int = 50_000) -> SessionCounts:
    path = session.write(folder / "s-1.jsonl")
    return sum((chunk.counts for chunk in read_chunks(path, start, max_chars)), SessionCounts())


def test_calls_failures_turns_and_tokens_are_counted(session: TranscriptBuilder, tmp_path: Path) -> None:
    """A message's tokens once, however many lines it has; what nobody said is no turn."""
    session.assistant(a_thought(""), "I run the tests.", a_call("Bash", command="pytest"), a_call("Read", path="x"))
    session.result("1 failed", is_error=True)
    session.result("fine")
    session.meta("a reminder")
    session.command_echo()
    session.notification("done")
    session.compaction()
    session.user("thank you")

    assert _counts(session, tmp_path) == SessionCounts(2, 1, 0, turns=2, tokens=240)


@pytest.mark.parametrize(("sent", "tokens"), [({}, 20), ({"input_tokens": "7"}, 20), ({"input_tokens": -7}, 20),
    ({"input_tokens": 3, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7}, 35),
    ({"input_tokens": 10**30}, 20), ({"input_tokens": True}, 20)])  # fmt: skip
def test_all_kinds_of_tokens_count_and_nothing_else(tmp_path: Path, sent: dict[str, Any], tokens: int) -> None:
    """Sent, written to a cache, read from it, received; what is no number of tokens is passed over."""
    session = TranscriptBuilder("s-1")
    message = {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "x"}]}
    for uuid, received in (("a", 1), ("b", 20), ("c", 20)):  # a client that tells them as they come
        usage = {**sent, "output_tokens": received}
        session.add({"type": "assistant", "uuid": uuid, "sessionId": "s-1", "message": {**message, "usage": usage}})

    assert _counts(session, tmp_path).tokens == tokens


def test_wherever_a_transcript_is_cut_the_numbers_add_up(tmp_path: Path) -> None:
    """Into chunks, or where one time ended and the next begins: a message that is cut in two counts once."""
    session = a_session(8)
    whole = _counts(session, tmp_path)
    path = session.write(tmp_path / "s-1.jsonl")
    ends = [line for line, byte in enumerate(session.content()) if byte == 10]

    assert whole.turns >= 8
    assert whole.failed_calls > 0
    assert len(list(read_chunks(path, 0, 1200))) > 3
    assert _counts(session, tmp_path, max_chars=1200) == whole
    for end in ends[::5]:
        head = TranscriptBuilder("s-1")
        head.lines = session.content()[: end + 1].decode().splitlines()
        assert _counts(head, tmp_path) + _counts(session, tmp_path, start=end + 1) == whole


@pytest.mark.parametrize("words", ["no, the other file", "I said uv"])
def test_a_turn_that_begins_like_a_correction_is_one(session: TranscriptBuilder, tmp_path: Path, words: str) -> None:
    """After an answer; the first turn of a session corrects nothing, nor does the answer to a question."""
    session.user(words)
    asked = TranscriptBuilder("s-1")
    asked.user(words)
    asked.assistant("Shall I delete it?")
    asked.user(words)

    assert _counts(session, tmp_path) == SessionCounts(corrections=1, turns=2, tokens=120)
    assert _counts(asked, tmp_path).corrections == 0


def _denied(session: TranscriptBuilder, text: str, **fields: Any) -> None:
    session.assistant(a_call("Edit", file_path="x"))
    session.result(text, is_error=True, **fields)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (_REFUSED, {}),
        (_INTERRUPTED, {}),
        ("The user doesn't want to take this action right now. STOP what you are doing.", {}),
        ("whatever a later client says", {"toolDenialKind": "user-rejected"}),
    ],
)
def test_a_call_that_the_user_refused_or_stopped_is_a_correction_and_no_failure(
    session: TranscriptBuilder, tmp_path: Path, text: str, fields: dict[str, Any]
) -> None:
    """One, with the note that goes with it and the words that say why; after the next answer it may be another."""
    _denied(session, text, **fields)
    session.user_blocks({"type": "text", "text": _INTERRUPTED})
    session.user("no, the other file")

    assert _counts(session, tmp_path) == SessionCounts(1, 0, corrections=1, turns=2, tokens=240)

    session.assistant("I take the other one.")
    session.user_blocks({"type": "text", "text": "[Request interrupted by user]"})

    assert _counts(session, tmp_path).corrections == 2


def test_an_error_of_a_server_that_uses_the_clients_words_is_a_failure(
    session: TranscriptBuilder, tmp_path: Path
) -> None:
    """Only the client says what the user did."""
    session.assistant(a_call("mcp__shop__buy", what="x"))
    session.result(_REFUSED, is_error=True)

    assert _counts(session, tmp_path) == SessionCounts(1, 1, 0, turns=1, tokens=240)


def test_a_subagents_turns_and_corrections_are_not_the_users(tmp_path: Path) -> None:
    """Its user is the assistant; what it did and took counts."""
    session = TranscriptBuilder("s-1", agent_id="a1")
    session.user("find the file")
    session.run("ls", "no such folder", is_error=True)
    session.user("no, the other folder")
    _denied(session, _REFUSED)

    assert _counts(session, tmp_path) == SessionCounts(2, 1, 0, 0, tokens=240)


@pytest.mark.parametrize("path", sorted(_SAMPLES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_what_the_client_wrote_is_counted(path: Path) -> None:
    """In each version's transcripts: turns, and 120 tokens for each message of the fake API."""
    counts = sum((chunk.counts for chunk in read_chunks(str(path), 0, 50_000)), SessionCounts())

    assert (counts.turns > 0) == (not path.stem.endswith("subagent"))
    assert counts.tokens > 0
    assert counts.tokens % 120 == 0
    assert counts.corrections == counts.failed_calls == 0
