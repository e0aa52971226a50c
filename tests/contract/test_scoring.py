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
    """The one entry that load_playbook() makes of *raw*, which stands alone in the file."""
    write_file(folder, a_dict(layout, raw, section=OTHERS))
    (entry,) = entries_of(load_playbook())
    return entry


# --- votes ---


@pytest.mark.parametrize(("rating", "helpful", "harmful"), [("harmful", 3, 2), ("bogus", 3, 1)])
def test_a_rating_moves_its_own_counter_by_one_and_no_other(
    session: Session, rating: str, helpful: int, harmful: int
) -> None:
    """And one that nobody knows moves none."""
    after = session([A_POINT], {"evaluations": [{"name": "kpt_001", "rating": rating}]})

    assert after == {"kpt_001": an_entry("kpt_001", "use types", helpful, harmful)}


def test_a_new_key_point_starts_with_no_votes_at_all(session: Session) -> None:
    """A point that a session adds has 0/0 and exactly the four canonical keys."""
    after = session([A_POINT], {"new_key_points": ["write tests first"], "evaluations": []})

    (new,) = (entry for entry in after.values() if entry["text"] == "write tests first")
    assert list(new) == CANONICAL_KEYS
    assert (new["helpful"], new["harmful"]) == (0, 0)


# --- older shapes ---


@pytest.mark.postgres
def test_a_file_of_mixed_shapes_loads_as_documented(folder: Path) -> None:
    """The data contract's own example: four shapes in one file, header untouched, everything under OTHERS."""
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


def test_no_entry_ever_holds_a_score_after_loading_or_saving(folder: Path, older_file: dict[str, Any]) -> None:
    """Loaded and written entries have exactly name, text, helpful and harmful, in that order."""
    loaded = load_playbook()
    entries = entries_of(loaded)
    save_playbook(loaded)

    for found in (entries, entries_of(read_file(folder)), entries_of(load_playbook())):
        assert [list(entry) for entry in found] == [CANONICAL_KEYS] * len(OLDER_SHAPES)


def test_loading_saving_and_loading_again_gives_the_same_playbook(older_file: dict[str, Any]) -> None:
    """A migration is stable: only last_updated differs between the first and the second load."""
    first = load_playbook()
    untouched = copy.deepcopy(dict(first))
    save_playbook(first)
    second = load_playbook()

    assert second["version"] == untouched["version"] == "1.7"
    assert second["sections"] == untouched["sections"]
    assert len(entries_of(second)) == len(OLDER_SHAPES)


@pytest.mark.parametrize("raw", OLDER_SHAPES.values(), ids=OLDER_SHAPES)
def test_an_older_entry_in_a_dict_is_migrated_as_one_in_a_file(folder: Path, layout: Layout, raw: Any) -> None:
    """The dict functions read the same shapes as load_playbook(), with the same outcome."""
    from_file = load_entry(folder, layout, raw)

    (in_dict,) = entries_of(apply_bullet_tags(a_dict(layout, raw, section=OTHERS), []))

    assert in_dict == from_file


def test_load_playbook_without_any_file_is_the_empty_playbook(folder: Path) -> None:
    """No file, no database: version 1.0, no last_updated, five empty sections; nothing is written into the project."""
    assert load_playbook() == a_sections_dict({})
    assert list((folder / ".claude").iterdir()) == []


# --- the prompt's text ---


def test_the_prompt_shows_each_point_with_its_counts(layout: Layout) -> None:
    """One line a point, `[name] helpful=N harmful=N :: text`, joined by line breaks, inside the template."""
    playbook = a_dict(layout, an_entry("kpt_001", "use type hints", 5, 1), an_entry("kpt_002", "prefer pathlib"))

    shown = format_playbook(playbook)

    block = "[kpt_001] helpful=5 harmful=1 :: use type hints\n[kpt_002] helpful=0 harmful=0 :: prefer pathlib"
    header = f"## {PATTERNS}\n" if layout == "sections" else ""
    assert shown == load_template("playbook.txt").replace("{key_points}", header + block)


def test_the_template_explains_the_counts() -> None:
    """It says what helpful and harmful counts mean, asks to weigh their ratio, and has the placeholder once."""
    template = load_template("playbook.txt").lower()

    assert "helpful" in template
    assert "harmful" in template
    assert "ratio of helpful to harmful" in template
    assert template.count("{key_points}") == 1
