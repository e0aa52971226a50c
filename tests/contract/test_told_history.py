"""What the documented functions did to a loaded playbook is in the history as if the database had been told."""

import copy
from pathlib import Path
from typing import Any

import pytest

from playbook_db.contract import (
    apply_bullet_tags,
    load_playbook,
    run_deduplication,
    save_playbook,
    update_playbook_data,
)
from playbook_db.domain import operations as rules
from playbook_db.services.playbook import edit, forget
from playbook_db.services.project import Project
from playbook_db.services.reading import history
from tests.builders import a_sections_dict, an_entry
from tests.contract.playbooks import PATTERNS, an_addition, by_json, write_file
from tests.databases import raw_connection

HISTORY = (
    "SELECT kind, name, helpful, harmful, text, reason, successor FROM history WHERE playbook = ? AND revision = ?"
)
VOTES = "SELECT name, tag, rationale, is_matched FROM vote_log WHERE playbook = ? AND revision = ?"
SKIPPED = "SELECT operation, reason FROM skipped WHERE playbook = ? AND revision = ?"
BATCH = [
    {"type": "MERGE", "source_ids": ["pat-001", "pat-002", "pat-404"], "merged_text": "one and two"},
    {"type": "DELETE", "target_id": "pat-003", "reason": "it is wrong"},
    {"type": "UPDATE", "target_id": "pat-004", "text": "fourth"},
    {"type": "DELETE", "target_id": "pat-999"},
    {"type": "ADD", "text": "new", "section": PATTERNS},
]
TAGS = [
    {"name": "pat-001", "tag": "helpful", "rationale": "it held"},
    {"name": "pat-004", "tag": "harmful"},
    {"name": "pat-005", "tag": "neutral"},
    *[{"name": "pat-006", "tag": "harmful"}] * 3,
    {"name": "pat-777", "tag": "helpful"},
]


@pytest.fixture
def stocked(kept: Project) -> Project:
    """Six points in the database that the functions use."""
    for number in range(1, 7):
        edit.add(kept, f"advice {number}", section="pat")
    return kept


def rows(query: str, project: Project, revision: int) -> list[tuple[Any, ...]]:
    """The rows of *revision*, in any order but one."""
    with raw_connection(project.store) as raw:
        return sorted(raw.execute(query, (project.key, revision)).fetchall(), key=repr)


def learn(project: Project) -> None:
    """What the worker does with these tags and operations."""
    with project.store.write(project.key) as book:
        votes = rules.cast_votes(book.draft, rules.read_votes(TAGS)[0])
        skipped = rules.apply_operations(book.draft, BATCH)
        rules.prune(book.draft)
        book.commit("learn", "learned from a session", votes=votes, skipped=skipped)


@pytest.mark.parametrize("carry", [lambda playbook: playbook, copy.copy, copy.deepcopy])
def test_history_is_the_same_whoever_wrote_it(stocked: Project, tmp_path: Path, carry: Any) -> None:
    """Votes with their reasons, changes with theirs and their successors, skipped operations: by the functions and a
    save, and by the worker."""
    other = Project.in_folder(stocked.store, str(tmp_path))
    for number in range(1, 7):
        edit.add(other, f"advice {number}", section="pat")

    playbook = carry(apply_bullet_tags(load_playbook(), TAGS))
    save_playbook(update_playbook_data(playbook, {"operations": BATCH}))
    learn(other)

    for query in (HISTORY, VOTES, SKIPPED):
        assert rows(query, stocked, 7) == rows(query, other, 7)
    assert {row[0] for row in rows(HISTORY, stocked, 7)} == {"add", "edit", "retire", "vote"}
    assert len(rows(VOTES, stocked, 7)) == 7


def test_nothing_is_told_twice(stocked: Project) -> None:
    """After a save the dict has nothing more to tell, and it never shows as a key."""
    playbook = apply_bullet_tags(load_playbook(), TAGS)
    assert set(playbook) == {"version", "last_updated", "sections"}
    save_playbook(playbook)
    save_playbook(playbook)

    assert (len(rows(VOTES, stocked, 7)), rows(VOTES, stocked, 8)) == (7, [])


def test_dict_that_went_through_json_tells_the_outcome_alone(stocked: Project) -> None:
    """It has forgotten what was done; the counters and points are right all the same."""
    save_playbook(by_json(update_playbook_data(apply_bullet_tags(load_playbook(), TAGS), {"operations": BATCH})))

    assert rows(VOTES, stocked, 7) == []
    assert ("retire", "pat-003", 0, 0, None, "removed on the other side", None) in rows(HISTORY, stocked, 7)


@pytest.mark.smoke
def test_what_others_did_meanwhile_stays_true(stocked: Project) -> None:
    """A name that was given to another point meanwhile, in reasons and successors too; votes of both sides."""
    playbook = apply_bullet_tags(load_playbook(), [{"name": "pat-003", "tag": "harmful"}])
    playbook = update_playbook_data(playbook, {"operations": BATCH})
    edit.add(stocked, "somebody else's", section="pat")
    edit.vote(stocked, "pat-003", "helpful")

    apply_bullet_tags(playbook, [{"name": "pat-007", "tag": "helpful"}])
    save_playbook(playbook)

    told = rows(HISTORY, stocked, 9)
    assert ("retire", "pat-001", 0, 0, None, "merged into pat-009", "pat-009") in told
    assert ("retire", "pat-003", 1, 1, None, "it is wrong", None) in told
    assert ("vote", "pat-003", 1, 1, None, None, None) in told
    assert ("pat-009", "helpful", None, 1) in rows(VOTES, stocked, 9)


def test_point_that_came_and_went_before_the_save_hands_its_sources_on(stocked: Project) -> None:
    """What was merged twice has the last one for its successor; what then left, none, and says why."""
    first = {"type": "MERGE", "source_ids": ["pat-001", "pat-002"], "merged_text": "one and two"}
    second = {"type": "MERGE", "source_ids": ["pat-007", "pat-003"], "merged_text": "all three"}
    third = {"type": "MERGE", "source_ids": ["pat-004", "pat-005"], "merged_text": "four and five"}
    gone = {"type": "DELETE", "target_id": "pat-009", "reason": "not so"}

    save_playbook(update_playbook_data(load_playbook(), {"operations": [first, second, third, gone]}))

    told = {row[1]: row[-2:] for row in rows(HISTORY, stocked, 7)}
    assert told["pat-001"] == told["pat-003"] == ("merged into pat-008", "pat-008")
    assert told["pat-004"] == ("merged into pat-009; not so", None)


def test_fold_of_duplicates_tells_itself(stocked: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """What took over the votes, and of whom."""
    edit.vote(stocked, "pat-002", "helpful")
    monkeypatch.setenv("PLAYBOOK_EMBEDDER", "tests.contract.test_told_history:embed")

    save_playbook(run_deduplication(load_playbook(), 0.9))

    assert rows(HISTORY, stocked, 8) == [
        ("edit", "pat-001", 1, 0, None, "added the votes of its duplicate pat-002", None),
        ("retire", "pat-002", 1, 0, None, "duplicate of pat-001", "pat-001"),
    ]


def test_fold_of_a_duplicate_without_votes_names_its_successor(
    stocked: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nothing of that one changed."""
    monkeypatch.setenv("PLAYBOOK_EMBEDDER", "tests.contract.test_told_history:embed")

    save_playbook(run_deduplication(load_playbook(), 0.9))

    assert rows(HISTORY, stocked, 7) == [("retire", "pat-002", 0, 0, None, "duplicate of pat-001", "pat-001")]


def embed(texts: list[str]) -> list[list[float]]:
    """Vectors of which the first two are alike, and no others."""
    alike = [max(place, 1) for place in range(len(texts))]
    return [[float(place == own) for place in range(len(texts))] for own in alike]


@pytest.mark.parametrize("result", [None, 5, "x", []])
def test_result_that_is_none_gives_the_playbook_back(folder: Path, result: Any) -> None:
    """Nothing is raised, nothing pruned."""
    write_file(folder, a_sections_dict({PATTERNS: [an_entry("pat-001", "bad", 0, 9)]}))
    playbook = load_playbook()
    before = copy.deepcopy(playbook)

    assert update_playbook_data(playbook, result) is playbook
    assert playbook == before


def test_skipped_new_points_are_kept_with_their_reasons(stocked: Project) -> None:
    """Those of several sessions side by side."""
    playbook = load_playbook()
    for text in ("advice 1", "new", "new"):
        playbook = update_playbook_data(playbook, an_addition(text))
    save_playbook(playbook)

    assert [row[1] for row in rows(SKIPPED, stocked, 7)] == ["the playbook says this already"] * 2


@pytest.mark.smoke
def test_what_was_forgotten_meanwhile_comes_back_in_no_reason(stocked: Project) -> None:
    """Votes count; what a program loaded before says beside them may hold the forgotten text."""
    playbook = apply_bullet_tags(load_playbook(), [{"name": "pat-002", "tag": "helpful", "rationale": "like advice 1"}])
    gone = {"type": "DELETE", "target_id": "pat-003", "reason": "says no more than advice 1"}
    playbook = update_playbook_data(playbook, {"operations": [gone, {"type": "ADD", "text": "advice 1"}]})
    forget.forget(stocked, forget.Request(name="pat-001"))

    save_playbook(playbook)

    last = len(list(history.log(stocked, history.LogQuery())))
    assert rows(VOTES, stocked, last) == [("pat-002", "helpful", None, 1)]
    assert rows(SKIPPED, stocked, last) == []
    assert ("retire", "pat-003", 0, 0, None, "removed on the other side", None) in rows(HISTORY, stocked, last)
