"""What differs between two playbooks, and which words differ between two texts."""

import time
from dataclasses import replace
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.merging.diff import Comparison, KeyChange, compare, compare_words, longest_increasing, marked
from playbook_db.domain.playbook import Header, KeyPoint, Playbook, playbook_of
from tests.builders import a_key_point, a_playbook, headers, playbook_values, versions_of


def carry_out(found: Comparison, before: Playbook) -> list[KeyPoint]:
    """The points of *before* after all that *found* tells, in order; their positions count for nothing."""
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
    """The points but for their positions."""
    return [replace(point, position=0) for point in points]


@st.composite
def two_playbooks(draw: st.DrawFn) -> tuple[Playbook, Playbook]:
    """A playbook, and what somebody may have made of it; or any other."""
    before = draw(playbook_values())
    after = draw(versions_of(before) | playbook_values())
    return before, playbook_of(after.points)


@given(two_playbooks())
def test_carrying_out_the_difference_gives_the_other_playbook(both: tuple[Playbook, Playbook]) -> None:
    """It is complete: points, texts, sections, counters and order."""
    before, after = both

    made = carry_out(compare(before, after), before)

    assert content(made) == content(list(after.points))


@given(two_playbooks())
def test_nothing_differs_where_content_and_order_are_the_same_and_only_there(both: tuple[Playbook, Playbook]) -> None:
    """Positions are how the order is kept, not a content."""
    before, after = both

    assert (not any(compare(before, after))) == (before.content == after.content)
    assert not any(compare(before, before))


@given(st.permutations([f"pat-{number:03d}" for number in range(1, 7)]))
def test_as_few_points_as_possible_count_as_moved(names: list[str]) -> None:
    """Those that are left stand in the same order as before, and no larger set of points does."""
    before = a_playbook(*(a_key_point(name) for name in sorted(names)))
    after = a_playbook(*(a_key_point(name) for name in names))

    moved = {moved.before.name for moved in compare(before, after).moved}

    stayed = [name for name in names if name not in moved]
    assert stayed == sorted(stayed)
    more = combinations(names, len(stayed) + 1)
    assert all(list(some) != sorted(some) for some in more)


def test_a_point_moves_to_another_section_or_behind_another_point() -> None:
    """It is told behind which one it stands now; what comes or goes around it moves nobody."""
    one, two, three = (a_key_point(f"pat-{number}") for number in (1, 2, 3))
    elsewhere = replace(two, section="OTHERS")

    (moved,) = compare(a_playbook(one, two, three), a_playbook(one, three, elsewhere)).moved
    assert (moved.before.name, moved.now.point.section, moved.now.behind) == ("pat-2", "OTHERS", None)

    (moved,) = compare(a_playbook(one, two, three), a_playbook(two, three, one)).moved
    assert (moved.before.name, moved.now.behind) == ("pat-1", "pat-3")

    found = compare(a_playbook(one, two), a_playbook(three, two))
    assert (found.moved, [placed.behind for placed in found.added]) == ((), [None])


def test_one_point_can_be_reworded_moved_and_voted_on_at_once() -> None:
    """Each is told in its own list."""
    before = a_key_point("pat-1", "use ruff", helpful=2)
    after = replace(before, text="use mypy", section="OTHERS", helpful=1, harmful=3)

    found = compare(a_playbook(before), a_playbook(after))

    assert [len(told) for told in (found.reworded, found.moved, found.voted)] == [1, 1, 1]
    assert (found.added, found.retired) == ((), ())


def test_top_level_keys_are_compared_as_json_and_the_time_is_not() -> None:
    """To JSON 1, 1.0 and true differ; `last_updated` is another in every file."""
    before = Header((("version", "1.0"), ("last_updated", "a"), ("sections", None), ("n", 1), ("gone", {"x": 1})))
    after = Header((("last_updated", "b"), ("version", "1.0"), ("n", True), ("new", None)))

    found = compare(Playbook(header=before), Playbook(header=after))

    assert found.keys == (
        KeyChange("n", "1", "true"),
        KeyChange("gone", '{"x": 1}', None),
        KeyChange("new", None, "null"),
    )


@given(headers(), headers())
def test_no_key_but_the_time_goes_unnoticed(one: Header, other: Header) -> None:
    """The same keys with the same values, or a difference."""
    keys = {change.key for change in compare(Playbook(header=one), Playbook(header=other)).keys}

    assert not any(compare(Playbook(header=one), Playbook(header=one)))
    assert keys >= (dict(one.fields).keys() ^ dict(other.fields).keys()) - {"last_updated"}
    assert "last_updated" not in keys


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
    """What went stands before what came; a phrase that changed as a whole is marked as a whole."""
    assert marked(before, after) == shown


@given(wordy | st.text(), wordy | st.text())
def test_the_pieces_give_both_texts_again(before: str, after: str) -> None:
    """Nothing is lost between the marks, and no two pieces of the same kind stand side by side."""
    pieces = compare_words(before, after)

    assert "".join(piece.before for piece in pieces) == before
    assert "".join(piece.after for piece in pieces) == after
    assert all(one.is_same != other.is_same for one, other in pairwise(pieces))


@given(wordy)
def test_a_text_differs_from_itself_in_nothing(text: str) -> None:
    """No marks where nothing changed."""
    assert marked(text, text) == text


@pytest.mark.slow
@pytest.mark.parametrize("times", [150, 50_000])
def test_no_two_texts_take_long_to_compare(times: int) -> None:
    """What somebody wrote must not keep the command busy: neither many words nor few that come again and again."""
    before = "begin " + "one one two " * times + "end"
    after = "begin " + "two one one " * times + "end"
    started = time.process_time()

    shown = marked(before, after)

    assert time.process_time() - started < 2
    assert shown.startswith("begin ")
    assert shown.endswith(" end")


@given(st.lists(st.integers(0, 30), max_size=30))
def test_no_increasing_subsequence_is_longer(keys: list[int]) -> None:
    """As few keys as possible are left out."""
    places = longest_increasing(keys)
    longest: list[int] = []
    for place, key in enumerate(keys):
        longest.append(1 + max((longest[n] for n in range(place) if keys[n] < key), default=0))

    chosen = [keys[place] for place in places]
    assert places == sorted(set(places))
    assert chosen == sorted(set(chosen))
    assert len(places) == max(longest, default=0)
