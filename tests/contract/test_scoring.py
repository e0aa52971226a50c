"""The scoring documents: entries and their counters, older shapes of them, votes, pruning, the prompt's text."""

import copy
from pathlib import Path
from typing import Any

import pytest

from playbook_db.contract import (
    apply_bullet_tags,
    format_playbook,
    load_playbook,
    load_template,
    save_playbook,
)
from tests.builders import a_sections_dict, an_entry
from tests.contract.playbooks import (
    OTHERS,
    PATTERNS,
    Layout,
    Session,
    a_dict,
    entries_of,
    read_file,
    write_file,
)

A_POINT = an_entry("kpt_001", "use types", helpful=3, harmful=1)
CANONICAL_KEYS = ["name", "text", "helpful", "harmful"]

OLDER_SHAPES = {
    "a bare string": "use types",
    "an object with a text alone": {"text": "use types"},
    "an object with name and text": {"name": "kpt_001", "text": "use types"},
    "an object with a positive score": {"name": "kpt_001", "text": "use types", "score": 5},
    "an object with a negative score": {"name": "kpt_001", "text": "use types", "score": -3},
    "an object with a score and no name": {"text": "use types", "score": -7},
    "an object with counters and a left-over score": {**A_POINT, "score": 2},
    "an object with counters and no name": {"text": "use types", "helpful": 3, "harmful": 1},
    "a canonical object": A_POINT,
}


def load_entry(folder: Path, layout: Layout, raw: Any) -> dict[str, Any]:
    """Return the entry that load_playbook() reads from a file that has only *raw*."""
    write_file(folder, a_dict(layout, raw, section=OTHERS))
    (entry,) = entries_of(load_playbook())
    return entry


# --- votes ---


@pytest.mark.parametrize(("rating", "helpful", "harmful"), [("harmful", 3, 2), ("bogus", 3, 1)])
def test_rating_changes_its_counter_by_one(session: Session, rating: str, helpful: int, harmful: int) -> None:
    after = session([A_POINT], {"evaluations": [{"name": "kpt_001", "rating": rating}]})

    assert after == {"kpt_001": an_entry("kpt_001", "use types", helpful, harmful)}


def test_new_point_has_no_votes(session: Session) -> None:
    after = session([A_POINT], {"new_key_points": ["write tests first"], "evaluations": []})

    (new,) = (entry for entry in after.values() if entry["text"] == "write tests first")
    assert list(new) == CANONICAL_KEYS
    assert (new["helpful"], new["harmful"]) == (0, 0)


# --- older shapes ---


@pytest.mark.postgres
def test_mixed_shapes_load_as_documented(folder: Path) -> None:
    """The data contract's own example."""
    mixed = [
        "Use type hints",
        {"name": "kpt_002", "text": "Prefer pathlib"},
        {"name": "kpt_003", "text": "Avoid globals", "score": -3},
        {"name": "kpt_004", "text": "Write tests", "helpful": 8, "harmful": 2},
    ]
    write_file(folder, {"version": "1.0", "last_updated": "2026-01-15T10:00:00", "key_points": mixed})

    loaded = load_playbook()

    assert (loaded["version"], loaded["last_updated"]) == ("1.0", "2026-01-15T10:00:00")
    assert loaded["sections"][OTHERS] == [
        an_entry("kpt_001", "Use type hints"),
        an_entry("kpt_002", "Prefer pathlib"),
        an_entry("kpt_003", "Avoid globals", harmful=3),
        an_entry("kpt_004", "Write tests", helpful=8, harmful=2),
    ]
    assert [section for section, listed in loaded["sections"].items() if listed] == [OTHERS]


@pytest.fixture
def older_file(folder: Path, layout: Layout) -> dict[str, Any]:
    """A file that holds every older shape, each under a name of its own where it has one; its content."""
    raws = copy.deepcopy(list(OLDER_SHAPES.values()))
    for place, raw in enumerate(raws, 11):
        if isinstance(raw, dict) and "name" in raw:
            raw["name"] = f"kpt_{place:03d}"
    content = a_dict(layout, *raws, version="1.7")
    write_file(folder, content)
    return content


def test_no_entry_keeps_a_score(folder: Path, older_file: dict[str, Any]) -> None:
    loaded = load_playbook()
    entries = entries_of(loaded)
    save_playbook(loaded)

    for found in (entries, entries_of(read_file(folder)), entries_of(load_playbook())):
        assert [list(entry) for entry in found] == [CANONICAL_KEYS] * len(OLDER_SHAPES)


def test_migration_is_stable(older_file: dict[str, Any]) -> None:
    first = load_playbook()
    untouched = copy.deepcopy(dict(first))
    save_playbook(first)
    second = load_playbook()

    assert second["version"] == untouched["version"] == "1.7"
    assert second["sections"] == untouched["sections"]
    assert len(entries_of(second)) == len(OLDER_SHAPES)


@pytest.mark.parametrize("raw", OLDER_SHAPES.values(), ids=OLDER_SHAPES)
def test_dicts_are_migrated_like_files(folder: Path, layout: Layout, raw: Any) -> None:
    from_file = load_entry(folder, layout, raw)

    (in_dict,) = entries_of(apply_bullet_tags(a_dict(layout, raw, section=OTHERS), []))

    assert in_dict == from_file


def test_no_file_gives_the_empty_playbook(folder: Path) -> None:
    assert load_playbook() == a_sections_dict({})
    assert list((folder / ".claude").iterdir()) == []


# --- the prompt's text ---


def test_prompt_has_each_point_with_counts(layout: Layout) -> None:
    playbook = a_dict(layout, an_entry("kpt_001", "use type hints", 5, 1), an_entry("kpt_002", "prefer pathlib"))

    shown = format_playbook(playbook)

    block = "[kpt_001] helpful=5 harmful=1 :: use type hints\n[kpt_002] helpful=0 harmful=0 :: prefer pathlib"
    header = f"## {PATTERNS}\n" if layout == "sections" else ""
    assert shown == load_template("playbook.txt").replace("{key_points}", header + block)


def test_template_explains_the_counts() -> None:
    template = load_template("playbook.txt").lower()

    assert "helpful" in template
    assert "harmful" in template
    assert "ratio of helpful to harmful" in template
    assert template.count("{key_points}") == 1
