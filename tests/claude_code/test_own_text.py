"""Text of the playbook and of the built-in memory is not learned again; all other text stays."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.claude_code.transcripts.own_text import (
    MEMORY,
    OURS,
    is_our_tool,
    of_result,
    without_memory,
    without_quotes,
    without_reminders,
)
from tests.reading import read_chunks, read_lines
from tests.transcripts import TranscriptBuilder, a_call, a_thought

FOLDER = "/home/dev/project"
REMEMBERED = "/home/dev/.claude/projects/-home-dev-project/memory"
ENTRIES = "[pat-001] helpful=7 harmful=0 :: Use OLDNEWS, not pip\n[umis-002] helpful=0 harmful=-1 :: Never OLDNEWS\\nx"
WRAPPED = '<cc-memory filenames="testing.md, feedback.md">From memory I see OLDNEWS.</cc-memory>'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of a transcript."""
    return tmp_path / "session.jsonl"


def text_of(built: TranscriptBuilder, path: Path) -> str:
    """The text of the session for the reflector."""
    return "\n\n".join(chunk.text for chunk in read_chunks(built.write(path), 0, 100_000))


def ran(command: str, output: str = "OLDNEWS", folder: str = FOLDER) -> str:
    """The part of a command's output that stays."""
    return of_result(output, "Bash", {"command": command}, folder)


def test_only_news_of_a_session_is_read(path: Path) -> None:
    built = TranscriptBuilder()
    reminder = f"<system-reminder>\nContents of {REMEMBERED}/MEMORY.md (persists across conversations):\nOLDNEWS\n"
    built.injected(f"## PATTERNS & APPROACHES\n{ENTRIES}")
    built.recalled("OLDNEWS", f"{REMEMBERED}/testing.md")
    built.user(f"{reminder}</system-reminder>the user's first words")
    built.user("SessionStart hook additional context: [pat-001] OLDNEWS")
    built.assistant(f"I think so. {WRAPPED} Following [pat-001].", a_thought(f"hm {WRAPPED} so [mis-004]"))
    built.run("playbook list", ENTRIES)
    built.run('cd /x && "/opt/plugin/bin/playbook" why pat-001 --json | jq .', "OLDNEWS")
    built.run(f"cat {REMEMBERED}/testing.md", "OLDNEWS")
    built.run("jq -r '.key_points[].text' .claude/playbook.json", "OLDNEWS")
    built.run(f"cat > {REMEMBERED}/new.md <<'EOF'\nOLDNEWS\nEOF", "")
    for tool, field in ("Read", "file_path"), ("Grep", "path"):
        for file in f"{REMEMBERED}/MEMORY.md", f"{FOLDER}/.claude/playbook.json", f"{FOLDER}/.claude/diagnostic/1.txt":
            built.assistant(a_call(tool, **{field: file}))
            built.result("     1\u2192OLDNEWS")
    built.assistant(a_call("Write", file_path=f"{REMEMBERED}/new.md", content="OLDNEWS"))
    built.result("File created successfully")
    built.assistant(a_call("Read", file_path="/home/dev/.claude/projects/-x/5e62.jsonl"))
    built.result(json.dumps({"additionalContext": f"## OTHER\n{ENTRIES}"}))
    built.command_echo("/playbook:list", "OLDNEWS")
    built.meta(f"The playbook of this project holds these key points:\n\n{ENTRIES}")
    built.user("<bash-input>playbook list</bash-input>")
    built.user("<bash-stdout>OLDNEWS</bash-stdout><bash-stderr></bash-stderr>")
    built.request_copy("OLDNEWS")
    built.add({"type": "api-request", "sessionId": "x", "message": {"role": "user", "content": "OLDNEWS"}})
    built.run("pytest -q", "3 failed, the tests' own words")
    built.user("the user's last words")
    text = text_of(built, path)

    assert "OLDNEWS" not in text
    for news in "the user's first words", "I think so.", "Following [pat-001].", "the tests' own words", "last words":
        assert news in text
    assert text.count(OURS) >= 8
    assert text.count(MEMORY) >= 7


@pytest.mark.parametrize(
    ("said", "stays"),
    [
        (f"a {WRAPPED} b", f"a {MEMORY} b"),
        ("a <cc-memory f='1'>x <cc-memory>y</cc-memory> z</cc-memory> b", f"a {MEMORY} b"),
        ("a <cc-memory>x, never closed\nb\nc", f"a {MEMORY}\nb\nc"),
        ("<cc-memory-like>a</cc-memory-like>", "<cc-memory-like>a</cc-memory-like>"),
    ],
)
def test_wrapped_text_is_removed(said: str, stays: str) -> None:
    """Nested, unclosed and broken tags remove at most their line."""
    assert without_memory(said) == stays


@pytest.mark.parametrize(
    ("said", "stays"),
    [
        ("<system-reminder>x</system-reminder>a", "a"),
        ("<system-reminder>x<system-reminder>y</system-reminder>z</system-reminder>a", "a"),
        ("what is <system-reminder> for? <system-reminder>x</system-reminder>", "what is <system-reminder> for? "),
        ("a</system-reminder>b", "a</system-reminder>b"),
    ],
)
def test_users_words_stay_between_reminders(said: str, stays: str) -> None:
    assert without_reminders(said) == stays


@pytest.mark.parametrize(
    "command",
    [
        'PLAYBOOK_DB=x "/opt/plugin/bin/playbook" log',
        "uv run playbook list | head -3",
        "echo hi; playbook stats",
        "git show HEAD:.claude/playbook.json",
        'sqlite3 ~/.claude/playbook/playbook.db "SELECT text FROM key_points"',
    ],
)
def test_output_of_our_commands_is_left_out(command: str) -> None:
    assert ran(command) == OURS


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("cd ~/.claude/projects/-home-dev-project/memory && cat *.md", FOLDER),
        ("cat MEMORY.md", REMEMBERED),
        ("tail ~/.claude/agent-memory/reviewer/MEMORY.md", FOLDER),
    ],
)
def test_output_of_the_memory_is_left_out(command: str, folder: str) -> None:
    assert ran(command, folder=folder) == MEMORY


@pytest.mark.parametrize(
    "command",
    ["pytest -q 2>&1; git add .claude/playbook.json", "ansible-playbook site.yml", "git commit -m 'playbook list'"],
)
def test_output_of_other_commands_stays(command: str) -> None:
    assert ran(command) == "OLDNEWS"


def test_other_servers_output_stays() -> None:
    names = ("playbook__search", "plugin_playbook_playbook__add", "my_playbook__run", "ansible__playbook_")
    assert [is_our_tool(f"mcp__{name}") for name in names] == [True, True, False, False]


def test_our_text_in_other_output_is_removed() -> None:
    diff = "diff --git a/x.py b/x.py\n+new\n"
    mirror = "diff --git a/.claude/playbook.json b/.claude/playbook.json\n--- a\n+OLDNEWS\n"
    assert without_quotes(f"{mirror}{diff}") == f"{OURS}\n{diff}"
    hits = "x.py:3:pip\n./.claude/playbook.json:7:OLDNEWS\ny.py:4:pip"
    assert without_quotes(hits) == f"x.py:3:pip\n{OURS}\ny.py:4:pip"
    assert without_quotes(f"before\n{ENTRIES}\nafter") == f"before\n{OURS}\nafter"
    assert json.loads(without_quotes(json.dumps({"text": f"a\n{ENTRIES}", "more": "b"}))) == {
        "text": f"a\n{OURS}",
        "more": "b",
    }
    assert without_quotes("a <system-reminder>This memory is 3 days old: x</system-reminder>b") == "a b"
    assert without_quotes("a <system-reminder>be kind") == "a <system-reminder>be kind"


@pytest.mark.parametrize("before", ["", "PreToolUse:Bash hook error: "])
def test_guards_refusal_is_removed(before: str) -> None:
    """The name of an imported point may be any text."""
    refusal = f"{before}[two words (2)] OLDNEWS (x) (your guard; to remove it: playbook unguard 'two words (2)')"
    assert without_quotes(f"{refusal}\nmore") == f"{OURS}\nmore"


tags = st.sampled_from(
    ["<cc-memory>", '<cc-memory filenames="a">', "</cc-memory>", "<system-reminder>", "</system-reminder>", "\n", "<",
     "word ", "[pat-001] helpful=1 harmful=0 :: x", ".claude/playbook.json:1:x", "diff --git a/.claude/playbook/"]
)  # fmt: skip


@given(st.lists(tags, max_size=40).map("".join))
def test_users_words_survive_any_tags(tmp_path: Path, text: str) -> None:
    for clean in without_memory, without_reminders, without_quotes:
        assert isinstance(clean(text), str)
    assert without_memory(f"{text}\nlast words").endswith(("last words", MEMORY))
    built: Any = TranscriptBuilder()
    built.user(f"{text}\nlast words")
    (entry,) = [line.entry for line in read_lines(built.write(tmp_path / "any.jsonl")) if line.entry] or [None]
    assert entry is None or entry.parts[0].text.rstrip().endswith(("last words", "</system-reminder>"))
