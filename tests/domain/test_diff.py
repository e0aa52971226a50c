"""Differences between two playbooks, and between two texts."""

import time
from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.merging.diff import Comparison, KeyChange, compare, compare_words, marked
from playbook_db.domain.playbook import Header, KeyPoint, Playbook, playbook_of
from tests.builders import a_key_point, a_playbook, playbook_values, versions_of


def carry_out(found: Comparison, before: Playbook) -> list[KeyPoint]:
    """Apply *found* to *before*; positions count for nothing."""
    points = dict(before.by_name)
    for gone in found.retired:
        del points[gone.name]
    for pair in found.reworded:
        points[pair.after.name] = replace(points[pair.after.name], text=pair.after.text)
    for pair in found.voted:
        now = pair.after
        points[now.name] = replace(points[now.name], helpful=now.helpful, harmful=now.harmful)
    placed = {moved.now.point.name: moved.now for moved in found.moved} | {at.point.name: at for at in found.added}
    order = [name for name in points if name not in placed]
    for name, at in placed.items():
        known = points.get(name, at.point)
        points[name] = replace(known, section=at.point.section)
    made = [points[name] for name in order]
    for at in sorted(placed.values(), key=lambda placed: placed.point.position):
        point = points[at.point.name]
        if at.behind is None:
            made.insert(0, point)
        else:
            made.insert(1 + next(i for i, p in enumerate(made) if p.name == at.behind), point)
    return list(playbook_of(made).points)


def content(points: "list[KeyPoint]") -> list[KeyPoint]:
    """The points without their positions."""
    return [replace(point, position=0) for point in points]


@st.composite
def two_playbooks(draw: st.DrawFn) -> tuple[Playbook, Playbook]:
    """Two versions of a playbook, or two unrelated ones."""
    before = draw(playbook_values())
    after = draw(versions_of(before) | playbook_values())
    return before, playbook_of(after.points)


@given(two_playbooks())
def test_difference_leads_to_the_other_playbook(both: tuple[Playbook, Playbook]) -> None:
    before, after = both

    made = carry_out(compare(before, after), before)

    assert content(made) == content(list(after.points))


@given(two_playbooks())
def test_same_content_has_no_difference(both: tuple[Playbook, Playbook]) -> None:
    """Positions only keep the order."""
    before, after = both

    assert (not any(compare(before, after))) == (before.content == after.content)
    assert not any(compare(before, before))


@given(st.permutations([f"pat-{number:03d}" for number in range(1, 7)]))
def test_as_few_points_as_possible_have_moved(names: list[str]) -> None:
    before = a_playbook(*(a_key_point(name) for name in sorted(names)))
    after = a_playbook(*(a_key_point(name) for name in names))

    moved = {moved.before.name for moved in compare(before, after).moved}

    stayed = [name for name in names if name not in moved]
    assert stayed == sorted(stayed)
    more = combinations(names, len(stayed) + 1)
    assert all(list(some) != sorted(some) for some in more)


def test_moved_point_names_the_point_before_it() -> None:
    one, two, three = (a_key_point(f"pat-{number}") for number in (1, 2, 3))
    elsewhere = replace(two, section="OTHERS")

    (moved,) = compare(a_playbook(one, two, three), a_playbook(one, three, elsewhere)).moved
    assert (moved.before.name, moved.now.point.section, moved.now.behind) == ("pat-2", "OTHERS", None)

    (moved,) = compare(a_playbook(one, two, three), a_playbook(two, three, one)).moved
    assert (moved.before.name, moved.now.behind) == ("pat-1", "pat-3")

    found = compare(a_playbook(one, two), a_playbook(three, two))
    assert (found.moved, [placed.behind for placed in found.added]) == ((), [None])


def test_keys_are_compared_as_json() -> None:
    """The time is ignored."""
    before = Header((("version", "1.0"), ("last_updated", "a"), ("sections", None), ("n", 1), ("gone", {"x": 1})))
    after = Header((("last_updated", "b"), ("version", "1.0"), ("n", True), ("new", None)))

    found = compare(Playbook(header=before), Playbook(header=after))

    assert found.keys == (
        KeyChange("n", "1", "true"),
        KeyChange("gone", '{"x": 1}', None),
        KeyChange("new", None, "null"),
    )


wordy = st.lists(st.sampled_from(["use", "ruff", "mypy", " ", "  ", "\n", ".", "!", "é", "-"]), max_size=12).map(
    "".join
)


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("use ruff", "use ruff", "use ruff"),
        ("use ruff", "use mypy", "use [-ruff-]{+mypy+}"),
        ("use ruff", "use ruff always", "use ruff{+ always+}"),
        ("always use ruff", "use ruff", "[-always -]use ruff"),
        ("a b c d", "a x y d", "a [-b c-]{+x y+} d"),
        ("", "new", "{+new+}"),
        ("old", "", "[-old-]"),
        ("run pnpm test.", "run pnpm test!", "run pnpm test[-.-]{+!+}"),
    ],
)
def test_changed_words_are_marked(before: str, after: str, shown: str) -> None:
    assert marked(before, after) == shown


@given(wordy | st.text(), wordy | st.text())
def test_pieces_give_both_texts(before: str, after: str) -> None:
    pieces = compare_words(before, after)

    assert "".join(piece.before for piece in pieces) == before
    assert "".join(piece.after for piece in pieces) == after
    assert all(one.is_same != other.is_same for one, other in pairwise(pieces))


@pytest.mark.slow
@pytest.mark.parametrize("times", [150, 50_000])
def test_long_texts_are_compared_quickly(times: int) -> None:
    before = "begin " + "one one two " * times + "end"
    after = "begin " + "two one one " * times + "end"
    started = time.process_time()

    shown = marked(before, after)

    assert time.process_time() - started < 2
    assert shown.startswith("begin ")
    assert shown.endswith(" end")
