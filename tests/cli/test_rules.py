"""`playbook export --rules`: proven points become files that Claude Code loads, and a block in AGENTS.md."""

import errno
import json
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from playbook_db import files, settings
from playbook_db.claude_code.hooks import remind
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import OTHERS
from playbook_db.projects import project_key
from playbook_db.services.reading import status
from playbook_db.store.engine import open_store
from tests.cli.conftest import Playbook

OF_FILE = "In src/a.py ask @owner: amounts are Decimal <!-- never float"


@pytest.fixture(autouse=True)
def _proven(folder: Path) -> None:
    """A project with a proven point about one file, one about two files, and four that may not become rules."""
    (folder / "src").mkdir()
    for name in ("a.py", "b.py", "[id].tsx"):
        (folder / "src" / name).write_text("x\n")
    points = [
        (OF_FILE, 5, 0),
        ("Keep src/a.py and src/b.py alike", 6, 0),
        ("src/b.py helped less", 4, 0),
        ("src/b.py harmed once", 9, 1),
        ("src/gone.py is named, but is gone", 9, 0),
        ("No file is named here", 9, 0),
    ]
    for text, helpful, harmful in points:
        add_point(folder, text, helpful, harmful)


def add_point(folder: Path, text: str, helpful: int, harmful: int = 0) -> None:
    with open_store(settings.database_url()) as store, store.write(project_key(str(folder))) as book:
        book.draft.add(KeyPoint(book.draft.new_name(OTHERS), text, OTHERS, helpful=helpful, harmful=harmful))
        book.commit("edit", "filled for a test")


def rules(folder: Path) -> dict[str, str]:
    """The written rules by the paths that they name."""
    texts = [path.read_text() for path in (folder / ".claude" / "rules").glob("playbook-*.md")]
    return {text.partition("\nplaybook: ")[0].partition("paths:\n")[2]: text for text in texts}


def waits(folder: Path) -> str:
    """What `playbook status` says about waiting."""
    return "\n".join(status.read(settings.database_url(), str(folder)).waits)


def test_proven_points_become_rules_and_a_block(playbook: Playbook, folder: Path) -> None:
    """Only proven points that name a file are written. `@` and `<!` in a text mean nothing to the client."""
    (folder / "AGENTS.md").write_text("Mine\n")
    done = playbook("export", "--rules", "--yes")
    written, agents = rules(folder), (folder / "AGENTS.md").read_text()

    assert (done.code, set(written)) == (0, {'  - "src/a.py"', '  - "src/a.py"\n  - "src/b.py"'})
    assert "- [oth-001] In src/a.py ask \\@owner: amounts are Decimal <\\!-- never float\n" in written['  - "src/a.py"']
    assert agents.startswith("Mine\n\n<!-- playbook begin ")
    assert [name for name in ("oth-001", "oth-002", "oth-003", "oth-004", "oth-005", "oth-006") if name in agents] == [
        "oth-001",
        "oth-002",
    ]
    assert "+- [oth-002] Keep src/a.py and src/b.py alike" in done.err


def test_pattern_characters_in_paths_are_replaced(playbook: Playbook, folder: Path) -> None:
    """Else `[id]` would mean one letter."""
    add_point(folder, "src/[id].tsx loads lazily", helpful=5)
    playbook("export", "--rules", "--yes")

    assert '  - "src/?id?.tsx"' in rules(folder)


def test_rules_need_consent(playbook: Playbook, folder: Path) -> None:
    done = playbook("export", "--rules")

    assert (done.code, rules(folder), (folder / "AGENTS.md").exists()) == (2, {}, False)


def test_unwritable_rule_is_an_error(playbook: Playbook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "replace_file", Mock(side_effect=OSError(errno.EROFS, "read-only")))

    done = playbook("export", "--rules", "--yes")

    assert (done.code, ".md can't be written: read-only. It was left alone." in done.err) == (1, True)


def test_stale_rules_are_rewritten(playbook: Playbook, folder: Path) -> None:
    playbook("export", "--rules", "--yes")
    assert waits(folder) == ""
    playbook("edit", "oth-001", "--text", "src/a.py: use Decimal")
    playbook("retire", "oth-002")
    said = waits(folder)
    playbook("export", "--rules", "--yes")

    assert said.count(".claude/rules/playbook-") == 2
    assert "AGENTS.md" in said
    assert (waits(folder), len(rules(folder))) == ("", 1)
    assert "src/a.py: use Decimal" in rules(folder)['  - "src/a.py"']
    assert playbook("export", "--rules", "--yes").out == "the rules are up to date\n"


@pytest.mark.parametrize("before", [None, b"", b"Mine", b"Mine\n", b"# Mine\r\n\r\ntext\r\n"])
def test_undo_restores_agents_md_exactly(playbook: Playbook, folder: Path, before: bytes | None) -> None:
    agents = folder / "AGENTS.md"
    if before is not None:
        agents.write_bytes(before)
    playbook("export", "--rules", "--yes")
    assert b"oth-001" in agents.read_bytes()
    done = playbook("export", "--rules", "--undo", "--yes")

    assert done.code == 0
    assert (agents.read_bytes() if agents.exists() else None) == before
    assert not (folder / ".claude" / "rules").exists()


def test_hand_edited_rules_are_kept(playbook: Playbook, folder: Path) -> None:
    """Even with `--yes`: the difference is shown, and one sentence says why."""
    playbook("export", "--rules", "--yes")
    rule = next((folder / ".claude" / "rules").glob("playbook-*.md"))
    agents = folder / "AGENTS.md"
    for path in (rule, agents):
        path.write_text(path.read_text().replace("From the playbook;", "I say:"))
    before = rule.read_bytes(), agents.read_bytes()
    done = playbook("export", "--rules", "--yes")
    playbook("export", "--rules", "--undo", "--yes")

    assert done.err.count("was edited by hand, so it was left alone") == 2
    assert "-I say: cite" in done.err
    assert (rule.read_bytes(), agents.read_bytes()) == before


@pytest.mark.parametrize(
    ("answers", "has_rules", "has_agents"), [("n\nn\n", False, False), ("y\nn\n", True, False), ("n\ny\n", False, True)]
)
def test_terminal_asks_about_rules_and_agents_md(
    playbook: Playbook, folder: Path, monkeypatch: pytest.MonkeyPatch, answers: str, has_rules: bool, has_agents: bool
) -> None:
    monkeypatch.setattr("playbook_db.cli.share.rules.is_interactive", lambda: True)
    done = playbook("export", "--rules", stdin=answers)

    assert "Change these rules? [y/N]: " in done.err
    assert f"There is no {folder / 'AGENTS.md'}. Create it? [y/N]: " in done.err
    assert (done.code, len(rules(folder)) == 2) == (0, has_rules)
    assert (folder / "AGENTS.md").exists() == has_agents


@pytest.mark.parametrize(("answer", "is_kept"), [("n", True), ("y", False)])
def test_terminal_asks_before_overwriting_a_hand_edit(
    playbook: Playbook, folder: Path, monkeypatch: pytest.MonkeyPatch, answer: str, is_kept: bool
) -> None:
    """Even with `--yes`."""
    playbook("export", "--rules", "--yes")
    agents = folder / "AGENTS.md"
    agents.write_text(agents.read_text().replace("From the playbook;", "I say:"))
    monkeypatch.setattr("playbook_db.cli.share.rules.is_interactive", lambda: True)
    done = playbook("export", "--rules", "--yes", stdin=f"{answer}\n")

    assert f"{agents} was edited by hand. Overwrite it? [y/N]: " in done.err
    assert ("I say:" in agents.read_text()) == is_kept


def test_subfolder_writes_rules_into_the_project(
    playbook: Playbook, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(folder / "src")
    playbook("export", "--rules", "--yes")

    assert (len(rules(folder)), (folder / "AGENTS.md").exists()) == (2, True)


@pytest.mark.slow
def test_worktree_gets_rules_of_its_own(
    playbook: Playbook, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has only `src/a.py`; the main worktree, whose playbook it shares, is unchanged."""
    linked = tmp_path / "linked"
    person = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "src/a.py"], [*person, "commit", "-qm", "a"], ["worktree", "add", linked]):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    monkeypatch.delenv("CLAUDE_PROJECT_DIR")
    monkeypatch.chdir(linked)
    playbook("export", "--rules", "--yes")

    assert (set(rules(linked)), rules(folder)) == ({'  - "src/a.py"'}, {})
    assert [(each / "AGENTS.md").exists() for each in (linked, folder)] == [True, False]


def test_unsigned_rules_are_kept(playbook: Playbook, folder: Path) -> None:
    other = folder / ".claude" / "rules" / "playbook-own.md"
    other.parent.mkdir(parents=True)
    other.write_text("My rule\n")
    playbook("export", "--rules", "--yes")
    playbook("export", "--rules", "--undo", "--yes")

    assert other.read_text() == "My rule\n"


BLOCK = "<!-- playbook begin 0123456789abcdef: x -->\nText\n<!-- playbook end -->\n"


@pytest.mark.parametrize(
    ("text", "mode", "sentence"),
    [
        ("Mine\n", 0o444, "is read-only"),
        ("<!-- playbook end -->\n" * 2, 0o644, "has our marks twice"),
        (BLOCK * 2, 0o644, "has our marks twice"),
    ],
    ids=["read-only", "two end marks", "two blocks"],
)
def test_odd_agents_md_is_unchanged(playbook: Playbook, folder: Path, text: str, mode: int, sentence: str) -> None:
    """The rules are written all the same."""
    agents = folder / "AGENTS.md"
    agents.write_text(text)
    agents.chmod(mode)
    before = agents.read_bytes()
    done = playbook("export", "--rules", "--yes")

    assert (done.code, done.err.count(sentence)) == (1, 1)
    assert (agents.read_bytes(), len(rules(folder))) == (before, 2)


def test_sessions_skip_points_with_current_rules(playbook: Playbook, folder: Path) -> None:
    """A rule with an older wording doesn't count."""
    before = playbook("render").out
    playbook("export", "--rules", "--yes")
    after = playbook("render").out
    playbook("edit", "oth-001", "--text", "src/a.py: use Decimal")

    assert ("oth-001" in before, "oth-001" in after, "oth-006" in after) == (True, False, True)
    assert "src/a.py: use Decimal" in playbook("render").out
    listed = json.loads(playbook("search", "--as-prompt", "x", "--file", "src/b.py", "--json").out)
    assert remind.HAS_RULE in json.dumps(listed)


def test_review_proposes_rules_once(playbook: Playbook, folder: Path) -> None:
    """Once for each set of points."""
    with open_store(settings.database_url()) as store, store.write(project_key(str(folder))) as book:
        for text in ("one", "two", "three"):
            book.add_proposal({"text": text}, "ADD", (), "outside", "s1")
    said = [playbook("review", "--reject", number).err for number in ("1", "2")]
    add_point(folder, "src/b.py is generated", helpful=5)
    said.append(playbook("review", "--reject", "3").err)

    sentence = "points helped 5 times or more, and name files of this project. To let Claude Code load them with these"
    assert said[0] == f"playbook: 2 {sentence} files: playbook export --rules\n"
    assert (said[1], f"3 {sentence}" in said[2]) == ("", True)


@pytest.mark.slow
def test_files_that_git_ignores_get_no_rule(playbook: Playbook, folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / ".gitignore").write_text("src/b.py\n")
    playbook("export", "--rules", "--yes")

    assert set(rules(folder)) == {'  - "src/a.py"'}
