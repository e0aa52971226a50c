"""`playbook export --rules`: proven points become files that Claude Code loads, and a block in AGENTS.md."""

import json
import subprocess
from pathlib import Path

import pytest

from playbook_db import settings
from playbook_db.claude_code.hooks import remind
from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.sections import OTHERS
from playbook_db.projects import project_key
from playbook_db.services.reading import status
from playbook_db.services.sharing import rules as service
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
    with open_store(settings.database_url()) as store, store.write(project_key(str(folder))) as book:
        for text, helpful, harmful in points:
            book.draft.add(KeyPoint(book.draft.new_name(OTHERS), text, OTHERS, helpful=helpful, harmful=harmful))
        book.commit("edit", "filled for a test")


def rules(folder: Path) -> dict[str, str]:
    """The written rules by the paths that they name."""
    texts = [path.read_text() for path in (folder / ".claude" / "rules").glob("playbook-*.md")]
    return {text.partition("\nplaybook: ")[0].partition("paths:\n")[2]: text for text in texts}


def waits(folder: Path) -> str:
    """What `playbook status` says about waiting."""
    return "\n".join(status.read(settings.database_url(), str(folder)).waits)


def test_each_set_of_files_gets_one_rule_and_agents_md_a_block(playbook: Playbook, folder: Path) -> None:
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


def test_a_sign_of_patterns_in_a_path_is_replaced(playbook: Playbook, folder: Path) -> None:
    """Else `[id]` would mean one letter."""
    with open_store(settings.database_url()) as store, store.write(project_key(str(folder))) as book:
        book.draft.add(KeyPoint("oth-007", "src/[id].tsx loads lazily", OTHERS, helpful=5))
        book.commit("edit", "filled for a test")
    playbook("export", "--rules", "--yes")

    assert '  - "src/?id?.tsx"' in rules(folder)


def test_nothing_is_written_without_consent(playbook: Playbook, folder: Path) -> None:
    """Without a terminal, `--yes` is needed."""
    done = playbook("export", "--rules")

    assert (done.code, rules(folder), (folder / "AGENTS.md").exists()) == (2, {}, False)


def test_changed_points_make_rules_stale_and_the_next_run_rewrites_them(playbook: Playbook, folder: Path) -> None:
    """A reworded point gets its new text; the file of a retired point is removed."""
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
def test_undo_brings_back_the_very_bytes(playbook: Playbook, folder: Path, before: bytes | None) -> None:
    """A file that was created is removed again."""
    agents = folder / "AGENTS.md"
    if before is not None:
        agents.write_bytes(before)
    playbook("export", "--rules", "--yes")
    assert b"oth-001" in agents.read_bytes()
    done = playbook("export", "--rules", "--undo", "--yes")

    assert done.code == 0
    assert (agents.read_bytes() if agents.exists() else None) == before
    assert not (folder / ".claude" / "rules").exists()


def test_what_was_edited_by_hand_is_left_alone(playbook: Playbook, folder: Path) -> None:
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


def test_a_file_of_somebody_else_stays(playbook: Playbook, folder: Path) -> None:
    """A rule without our signature isn't ours, whatever its name."""
    other = folder / ".claude" / "rules" / "playbook-own.md"
    other.parent.mkdir(parents=True)
    other.write_text("My rule\n")
    playbook("export", "--rules", "--yes")
    playbook("export", "--rules", "--undo", "--yes")

    assert other.read_text() == "My rule\n"


@pytest.mark.parametrize(
    ("mode", "twice", "sentence"), [(0o444, False, "is read-only"), (0o644, True, "has our marks twice")]
)
def test_an_odd_agents_md_is_left_alone(
    playbook: Playbook, folder: Path, mode: int, twice: bool, sentence: str
) -> None:
    """The rules are written all the same."""
    agents = folder / "AGENTS.md"
    agents.write_text("<!-- playbook end -->\n" * 2 if twice else "Mine\n")
    agents.chmod(mode)
    before = agents.read_bytes()
    done = playbook("export", "--rules", "--yes")

    assert (done.code, done.err.count(sentence)) == (1, 1)
    assert (agents.read_bytes(), len(rules(folder))) == (before, 2)


def test_a_session_is_not_shown_a_point_with_a_current_rule(playbook: Playbook, folder: Path) -> None:
    """A rule with an older wording doesn't count."""
    before = playbook("render").out
    playbook("export", "--rules", "--yes")
    after = playbook("render").out
    playbook("edit", "oth-001", "--text", "src/a.py: use Decimal")

    assert ("oth-001" in before, "oth-001" in after, "oth-006" in after) == (True, False, True)
    assert "src/a.py: use Decimal" in playbook("render").out
    listed = json.loads(playbook("search", "--as-prompt", "x", "--file", "src/b.py", "--json").out)
    assert remind.HAS_RULE in json.dumps(listed)


def test_review_proposes_rules_once(folder: Path) -> None:
    """For the points that it hasn't counted yet."""
    key = project_key(str(folder))
    with open_store(settings.database_url()) as store:
        with store.read(key) as book:
            counts = [service.propose(book, str(folder)) for _ in range(2)]
        with store.write(key) as book:
            book.draft.add(KeyPoint("oth-007", "src/b.py is generated", OTHERS, helpful=5))
            book.commit("edit", "filled for a test")
        with store.read(key) as book:
            counts.append(service.propose(book, str(folder)))

    assert counts == [2, 0, 3]


@pytest.mark.slow
def test_what_git_ignores_gets_no_rule(playbook: Playbook, folder: Path) -> None:
    """In a repository, git lists the files of the project, even those that aren't added yet."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / ".gitignore").write_text("src/b.py\n")
    playbook("export", "--rules", "--yes")

    assert set(rules(folder)) == {'  - "src/a.py"'}
