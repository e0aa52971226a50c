"""The reflector specification without a model: citations, the directive to cite, tags and their votes."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from playbook_db.contract import (
    apply_bullet_tags,
    extract_cited_ids,
    format_playbook,
    load_template,
)
from tests.builders import a_flat_dict, a_sections_dict, an_entry
from tests.contract.playbooks import PATTERNS, Layout, a_dict, by_name, entries_of

Tagged = Callable[[list[Any], list[Any]], dict[str, dict[str, Any]]]


def an_assistant(*texts: str) -> list[dict[str, Any]]:
    """Messages of the assistant with those texts."""
    return [{"role": "assistant", "content": text} for text in texts]


def a_tag(name: str, tag: str) -> dict[str, str]:
    """A tag as the reflector gives it."""
    return {"name": name, "tag": tag, "rationale": "because"}


# --- citations ---


def test_citations_are_found_once() -> None:
    messages = [
        {"role": "user", "content": "Help me refactor this code"},
        {"role": "assistant", "content": "Based on [pat-001] and [mis-002], I recommend..."},
        {"role": "user", "content": "What about [pat-003]?"},
        {"role": "assistant", "content": "Good point. Also applying [pat-001] here..."},
    ]

    assert sorted(extract_cited_ids(messages)) == ["mis-002", "pat-001"]


def test_no_citations_give_an_empty_list() -> None:
    asked = {"role": "user", "content": "Help me with this, as [pat-001] says"}

    assert extract_cited_ids([asked, *an_assistant("Sure, here is the solution...")]) == []
    assert extract_cited_ids([asked]) == []
    assert extract_cited_ids([]) == []


def test_text_and_thinking_blocks_are_read() -> None:
    blocks = [
        {"type": "thinking", "thinking": "recall [mis-001]", "signature": "x"},
        {"type": "text", "text": "as in [pat-001]"},
        {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "echo [ctx-001]"}},
    ]

    assert sorted(extract_cited_ids([{"role": "assistant", "content": blocks}])) == ["mis-001", "pat-001"]


def test_blocks_of_the_user_are_not_read() -> None:
    blocks = [
        {"type": "text", "text": "[pat-001]"},
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "[pat-002]"},
    ]

    assert extract_cited_ids([{"role": "user", "content": blocks}]) == []


@pytest.mark.parametrize("odd", [None, "assistant [pat-002]", 7, {}, {"role": "assistant"}])
def test_odd_messages_are_ignored(odd: object) -> None:
    assert extract_cited_ids([odd, *an_assistant("[pat-001]"), odd]) == ["pat-001"]


# --- the directive ---


def test_template_asks_to_cite_names() -> None:
    template = load_template("playbook.txt")

    assert "When a key point from the playbook influences your response, cite its ID in your reasoning" in template
    assert extract_cited_ids(an_assistant(template)) == ["pat-001"]


def test_directive_keeps_the_entries() -> None:
    shown = format_playbook(a_sections_dict({PATTERNS: [an_entry("pat-001", "use type hints", 3, 0)]}))

    assert f"\n## {PATTERNS}\n[pat-001] helpful=3 harmful=0 :: use type hints\n" in shown
    assert "cite its ID" in shown


# --- tags ---


@pytest.fixture
def tagged(layout: Layout) -> Tagged:
    """Applies tags to entries of either layout; the entries, by name."""
    return lambda entries, tags: by_name(apply_bullet_tags(a_dict(layout, *entries), tags))


@pytest.mark.parametrize(("tag", "helpful", "harmful"), [("harmful", 3, 2), ("useful", 3, 1)])
def test_tag_counts_as_a_rating(tagged: Tagged, tag: str, helpful: int, harmful: int) -> None:
    after = tagged([an_entry("pat-001", "use types", 3, 1)], [a_tag("pat-001", tag)])

    assert after == {"pat-001": an_entry("pat-001", "use types", helpful, harmful)}


def test_tags_applied_twice_count_twice(layout: Layout) -> None:
    playbook = a_dict(layout, an_entry("pat-001", "use types"))
    tags = [a_tag("pat-001", "helpful")]

    apply_bullet_tags(apply_bullet_tags(playbook, tags), tags)

    assert by_name(playbook)["pat-001"]["helpful"] == 2


def test_tags_prune_nothing(tagged: Tagged) -> None:
    after = tagged([an_entry("pat-001", "bad", harmful=5)], [a_tag("pat-001", "harmful")])

    assert after == {"pat-001": an_entry("pat-001", "bad", harmful=6)}


def test_tag_for_an_unknown_point_is_reported(tagged: Tagged, capsys: pytest.CaptureFixture[str]) -> None:
    after = tagged([an_entry("pat-001", "use types")], [a_tag("pat-999", "helpful"), a_tag("pat-001", "helpful")])

    assert after == {"pat-001": an_entry("pat-001", "use types", helpful=1)}
    assert "pat-999" in capsys.readouterr().err


def test_unknown_tag_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    playbook = a_flat_dict(an_entry("kpt_001"))

    apply_bullet_tags(playbook, [a_tag("kpt_001", tag) for tag in ("helpful", "harmful", "neutral")])
    silence = capsys.readouterr().err
    apply_bullet_tags(playbook, [a_tag("kpt_001", "useful")])

    assert silence == ""
    assert "tag" in capsys.readouterr().err


@pytest.mark.parametrize("tags", [None, []])
def test_no_tags_change_nothing(layout: Layout, capsys: pytest.CaptureFixture[str], tags: list[Any] | None) -> None:
    playbook = a_dict(layout, an_entry("pat-001", "use types", 3, 1))
    before = copy.deepcopy(playbook)

    assert apply_bullet_tags(playbook, tags) == before  # type: ignore[arg-type]
    assert capsys.readouterr().err == ""


def test_odd_tags_are_skipped(tagged: Tagged) -> None:
    odd = [None, 7, "pat-001", [], {}, {"name": "pat-001"}, {"tag": "helpful"}, {"name": ["pat-001"], "tag": "helpful"}]

    after = tagged([an_entry("pat-001", "use types")], [*odd, a_tag("pat-001", "helpful"), {"name": None, "tag": []}])

    assert after == {"pat-001": an_entry("pat-001", "use types", helpful=1)}


def test_tags_are_applied_in_place(layout: Layout) -> None:
    playbook = a_dict(layout, an_entry("pat-001", "use types"))
    (entry,) = entries_of(playbook)

    after = apply_bullet_tags(playbook, [a_tag("pat-001", "helpful")])

    assert after is playbook
    assert entries_of(after)[0] is entry
    assert entry["helpful"] == 1
