"""Notes in Markdown: which lines are key points, and how points are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.playbook import KeyPoint
from playbook_db.errors import PlaybookFileError
from playbook_db.services.playbook import markdown, point_lines

NOTES = """\
# Harbour

A web shop for boats.

@docs/git.md

## Commands
```bash
make test
make lint
make docs
make bench
```

Run one test with:

```
pytest -x tests/test_one.py
```

Before each commit:

- run the tests
- run the linter

## Code style
- **Always** use `uv`, not [pip](https://pip.pypa.io) ![or so](logo.svg).
- Tests:
  - never mock the database
    1. nor the clock
- Two
  lines

  and a second paragraph

| a | b |
|---|---|
| 1 | 2 |

### Gotchas
<!-- nobody sees this -->
- The cache survives a restart

## Misc
- Don't push to main
- Lunch is at noon
"""


def _texts(text: str) -> list[str]:
    return [note.text for note in markdown.read(text.encode(), source="CLAUDE.md").points]


def test_bullets_and_short_paragraphs_are_points() -> None:
    """A sentence that introduces a list is put before each of its bullets."""
    assert _texts(NOTES) == [
        "A web shop for boats.",
        "Run one test with: `pytest -x tests/test_one.py`",
        "Before each commit: run the tests",
        "Before each commit: run the linter",
        "Always use `uv`, not pip (https://pip.pypa.io) or so.",
        "Tests: never mock the database",
        "Tests: nor the clock",
        "Two lines and a second paragraph",
        "The cache survives a restart",
        "Don't push to main",
        "Lunch is at noon",
    ]


def test_nearest_known_heading_gives_the_section() -> None:
    sections = {note.text: note.section for note in markdown.read(NOTES.encode(), source="x").points}

    assert sections["Before each commit: run the tests"] == "PATTERNS & APPROACHES"
    assert sections["The cache survives a restart"] == "MISTAKES TO AVOID"
    assert sections["Don't push to main"] == "MISTAKES TO AVOID"
    assert sections["Lunch is at noon"] == "OTHERS"


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("Architecture overview", "PROJECT CONTEXT"),
        ("My preferences", "USER PREFERENCES"),
        ("Things to avoid", "MISTAKES TO AVOID"),
        ("Recipes", "OTHERS"),
    ],
)
def test_headings_name_sections_in_other_words(heading: str, section: str) -> None:
    (note,) = markdown.read(f"## {heading}\n- Boats float\n".encode(), source="x").points

    assert note.section == section


def test_left_out_lines_have_numbers_and_reasons() -> None:
    assert markdown.read(NOTES.encode(), source="x").left_out == (
        (5, "it includes another file; import that one: docs/git.md"),
        (8, "a block of code"),
        (36, "a table"),
    )


def test_everything_left_out_has_a_reason() -> None:
    text = f"See @docs/a.md, not `@b.md`.\n\nNever do:\n- {'word ' * 200}\n\n<p>c</p>\n\n<!-- d -->\n"

    assert [reason.partition(";")[0] for _, reason in markdown.read(text.encode(), source="x").left_out] == [
        "the content of docs/a.md",
        "it introduces only what was left out",
        "a bullet of 1,009 characters is too long for a key point",
        "a block of HTML",
    ]


def test_memory_file_is_one_point() -> None:
    """A long file's description is the point."""
    head = "---\nname: tabs\ndescription: Tabs\nmetadata:\n  type: feedback\n---\n"
    text = f"{head}Indent with tabs.\n\n**Why:** the linter\n\n**How:**\n- run `fmt`\n- commit\n"
    (note,) = markdown.read(text.encode(), source="x").points
    long = markdown.read(f"{head}{'word ' * 500}".encode(), source="x")

    whole = "Indent with tabs. Why: the linter; How: run `fmt`; commit"
    assert (note.text, note.section, note.line) == (whole, "USER PREFERENCES", 7)
    assert [note.text for note in long.points] == ["Tabs"]
    assert "its description is proposed" in long.left_out[0][1]


def test_index_of_memory_files_is_left_out() -> None:
    text = b"# Memory\n- [Tabs](feedback_tabs.md) \xe2\x80\x94 no spaces\n- old.md - b\n- Say hello\n"
    notes = markdown.read(text, source="memory/MEMORY.md")

    assert [note.text for note in notes.points] == ["Say hello"]
    assert notes.left_out == ((2, "the lines that only name other files"),)


ACE = """## STRATEGIES & INSIGHTS
[str-00001] helpful=5 harmful=0 :: Check the types
- [str-00002] helpful=3 harmful=1 ::  Consider [edge] cases

## COMMON MISTAKES TO AVOID
[mis-00004] helpful=6 harmful=0 :: Forget time zones
stray
"""


def test_prompt_lines_keep_names_and_votes() -> None:
    """Notes with only a few such lines are notes."""
    reading = point_lines.read(ACE.encode(), source="x", rename_duplicates=False)

    assert reading is not None
    assert [(p.name, p.text, p.section, p.helpful, p.harmful) for p in reading.playbook.points] == [
        ("str-00001", "Check the types", "PATTERNS & APPROACHES", 5, 0),
        ("str-00002", "Consider [edge] cases", "PATTERNS & APPROACHES", 3, 1),
        ("mis-00004", "Forget time zones", "MISTAKES TO AVOID", 6, 0),
    ]
    assert reading.warnings == ("line 7 is no point; it was left out",)
    assert point_lines.read((ACE + "- a\n- b\n").encode(), source="x", rename_duplicates=False) is None


@pytest.mark.parametrize("data", [b"\xff", b"- x\n" * (markdown.MAX_BYTES // 4 + 1)], ids=["no UTF-8", "too large"])
def test_unreadable_notes_are_refused(data: bytes) -> None:
    with pytest.raises(PlaybookFileError, match=r"notes\.md"):
        markdown.read(data, source="notes.md")


@pytest.mark.parametrize("text", ["> " * 5000 + "deep", "[" * 20_000, "---\n"], ids=["deep", "open", "line"])
def test_odd_notes_cause_no_error(text: str) -> None:
    assert len(markdown.read(text.encode(), source="x").points) <= 1


@given(st.one_of(st.text(max_size=60), st.text("ab1 .)(-+*_`[]<>#&;!|~:\\@\n=>/", max_size=30)))
def test_written_points_are_read_again(text: str) -> None:
    text = text.encode("utf-8", "replace").decode().replace("\0", "")
    same = " ".join(text.split())
    if any(map(str.isalnum, same)) and not same.startswith("@"):
        point = KeyPoint("pat-001", text, "PATTERNS & APPROACHES")

        (note,) = markdown.read(markdown.written([point]).encode(), source="x").points

        assert (note.text, note.section) == (same, "PATTERNS & APPROACHES")


def test_playbook_is_written_as_lists_under_headings() -> None:
    points = [
        KeyPoint("pat-001", "Use `uv` for parse_header", "PATTERNS & APPROACHES"),
        KeyPoint("pat-002", "# of workers:\n*two*", "PATTERNS & APPROACHES"),
        KeyPoint("oth-001", "Boats float", "OTHERS"),
    ]

    assert markdown.written(points) == (
        "## PATTERNS & APPROACHES\n\n- Use `uv` for parse_header\n- \\# of workers: \\*two\\*\n\n"
        "## OTHERS\n\n- Boats float\n"
    )
    assert markdown.written([]) == ""
