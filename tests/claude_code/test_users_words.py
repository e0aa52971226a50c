"""All words of the user are below the user's heading once, except withdrawn ones."""

import re
from pathlib import Path
from typing import Any

import pytest

from playbook_db.domain.trust.evidence import USER
from tests.reading import read_chunks
from tests.transcripts import TranscriptBuilder, a_call

_REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)
_PICTURE = {"type": "image", "source": {"data": "xx"}}


def _chunk(built: TranscriptBuilder, folder: Path) -> Any:
    (chunk,) = read_chunks(built.write(folder / "session.jsonl"), 0, 100_000)
    return chunk


def _below(heading: str, text: str) -> str:
    """The text below each heading of that name."""
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    return "\n".join(
        each.partition("\n")[2] for each in sections if each.partition("\n")[0].partition(",")[0] == heading
    )


def _refused(built: TranscriptBuilder, words: str, **fields: Any) -> None:
    built.assistant(a_call("Bash", command="git push --force"))
    built.result(_REFUSED + words, is_error=True, **fields)


def _answered(built: TranscriptBuilder, answer: str) -> None:
    built.assistant(a_call("AskUserQuestion", questions=[{"question": "Which database?"}]))
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "answered"}
    built.user_blocks(block, toolUseResult={"answers": {"Which database?": answer}})


SAID: dict[str, Any] = {
    "queued": lambda built: built.queued("use uv"),
    "queued with a picture": lambda built: built.queued([{"type": "text", "text": "use uv"}, _PICTURE]),
    "queued, of an older client": lambda built: built.queue("enqueue", "remove", text="use uv"),
    "queued twice": lambda built: (built.queue("enqueue", "remove", text="use uv"), built.queued("use uv")),
    "queued twice the other way": lambda built: (
        built.queue("enqueue", text="use uv"), built.queued("use uv"), built.queue("remove", text="use uv")
    ),
    "queued, then an entry": lambda built: (
        built.queue("enqueue", "dequeue", text="use uv"), built.user("use uv", promptSource="queued")
    ),
    "slash command": lambda built: built.slash("/review", "use uv"),
    "slash command of an older client": lambda built: built.slash("/review", "use uv", origin=None, promptSource=None),
    "refusal": lambda built: _refused(built, "use uv"),
    "refusal with feedback": lambda built: _refused(
        built, "use uv", userFeedback="use uv", holdsPersonsWords=True, toolDenialKind="user-rejected"
    ),
    "answer": lambda built: _answered(built, "use uv"),
    "command after !": lambda built: built.user("<bash-input>use uv</bash-input>"),
    "words beside an editor's note": lambda built: built.user_blocks(
        {"type": "text", "text": "<ide_opened_file>The user opened evil.py</ide_opened_file>"},
        {"type": "text", "text": "use uv"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("say", SAID.values(), ids=SAID)
def test_users_words_appear_once(tmp_path: Path, say: Any) -> None:
    built = TranscriptBuilder()
    built.assistant("before")
    say(built)
    built.assistant("after")
    chunk = _chunk(built, tmp_path)

    assert chunk.text.count("use uv") == 1
    assert "use uv" in _below("User", chunk.text)
    assert chunk.text.index("before") < chunk.text.index("use uv") < chunk.text.index("after")
    assert next(place.text.strip() for place in chunk.places if place.trust == USER).endswith("use uv")


def test_refusals_and_answers_name_their_subject(tmp_path: Path) -> None:
    built = TranscriptBuilder()
    _refused(built, "not to main")
    _answered(built, "SQLite")
    text = _chunk(built, tmp_path).text

    assert "## User, refusing Bash git push --force\n\nnot to main\n" in text
    assert "Answer to 'Which database?': SQLite" in _below("User", text)
    assert "doesn't want to proceed" in _below("Tool (error)", text)


def test_output_of_a_command_is_not_the_users(tmp_path: Path) -> None:
    built = TranscriptBuilder()
    built.user("<bash-input>cat notes</bash-input>")
    built.user("<bash-stdout>from now on</bash-stdout><bash-stderr></bash-stderr>")
    built.user("always force", origin={"kind": "peer"})
    text = _chunk(built, tmp_path).text

    assert _below("User", text).strip() == "! cat notes"
    assert _below("Tool", text).strip() == "from now on"
    assert _below("Message", text).strip() == "always force"


def test_withdrawn_prompt_is_left_out(tmp_path: Path) -> None:
    built = TranscriptBuilder()
    root = built.user("begin")
    gone = built.user("use pip", parentUuid=root)
    answer = built.assistant("I use pip.", parentUuid=gone)
    built.result("pip is gone", is_error=True, parentUuid=answer)
    last = built.user("use uv", parentUuid=root)
    calls = built.assistant(a_call("Bash", command="uv sync"), parentUuid=last)
    built.result("first result", parentUuid=calls)
    built.result("second result", tool_id="toolu_2", parentUuid=calls)
    text = _chunk(built, tmp_path).text

    assert "pip" not in text
    assert "use uv" in text
    assert "first result" in text
    assert "second result" in text


def test_prompts_without_a_parent_stay(tmp_path: Path) -> None:
    built = TranscriptBuilder()
    built.user("one", parentUuid=None)
    built.user("two", parentUuid=None)
    assert _below("User", _chunk(built, tmp_path).text).split() == ["one", "two"]


def test_rewritten_history_counts_once(tmp_path: Path) -> None:
    built = TranscriptBuilder()
    first = built.user("use uv", uuid="a1")
    said = built.assistant("I use uv.", parentUuid=first, uuid="a2")
    built.assistant(a_call("Bash", command="uv sync"), parentUuid=said, uuid="a3")
    built.result("synced", parentUuid="a3", uuid="a4")
    built.user("go on", parentUuid="a4", uuid="a5")
    built.lines += [re.sub(r'("(?:parentU|u)uid": )"a', r'\1"b', line) for line in built.lines[1:]]
    built.assistant("I use uv.", parentUuid="b5", uuid="c1")
    built.user("go on", parentUuid="c1")
    built.assistant(a_call("Bash", command="uv sync"))
    built.result("synced")
    text = _chunk(built, tmp_path).text

    assert [*filter(None, _below("User", text).split("\n"))] == ["use uv", "go on", "go on"]
    assert text.count("I use uv.") == 2
    assert text.count("synced") == 2


def test_distant_results_name_their_call(tmp_path: Path) -> None:
    built = TranscriptBuilder()
    calls = [{**a_call("Bash", command=f"run {name}"), "id": name} for name in ("a", "b", "c", "d")]
    built.assistant(*calls[:2])
    built.result("of a", tool_id="a")
    built.result("of b", tool_id="b", is_error=True)
    built.result("of c", tool_id="c")
    built.assistant(calls[2], calls[3])
    built.result("of d", tool_id="d")
    text = _chunk(built, tmp_path).text

    assert _below("Tool: Bash run a", text).strip() == "of a"
    assert _below("Tool (error): Bash run b", text).strip() == "of b"
    assert _below("Tool: Bash run c", text).strip() == "of c"
    assert _below("Tool", text).strip() == "of d"


def test_uninformative_results_are_left_out(tmp_path: Path) -> None:
    built = TranscriptBuilder()
    for tool in ("Skill", "ToolSearch", "TaskStop", "KillShell"):
        built.assistant(a_call(tool, query="x"))
        built.result("noise")
        built.assistant(a_call(tool, query="x"))
        built.result(f"{tool} failed", is_error=True)
    built.run("wait", "begin\n" + "waiting\n" * 50 + "done")
    built.assistant(a_call("Write", file_path="/x/a.py", content="once = 1\ntwice = 2\n"))
    built.result("File created")
    for shown in ("     1\u2192once = 1\n     2\u2192twice = 2", "     1\u2192once = 1"):
        built.assistant(a_call("Read", file_path="/x/a.py"))
        built.result(shown)
    text = _chunk(built, tmp_path).text

    assert "noise" not in text
    assert text.count(" failed") == 4
    assert "begin\nwaiting\n[... 49 equal lines ...]\ndone" in text
    assert text.count("twice = 2") == 1
    assert text.count("\u2192once = 1") == 1
