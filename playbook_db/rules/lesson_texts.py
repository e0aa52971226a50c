"""What a lesson's prompts say of the playbook: its points, those that may say the same, and the room there is. Pure."""

from collections.abc import Collection

from playbook_db.rules import near_duplicates, selection
from playbook_db.rules.playbook import KeyPoint, Playbook
from playbook_db.rules.rendering import render_points

_ROOM_CHARS = 120_000  # of the playbook in a prompt; the best points where not all fit, and the cited ones


def playbook_text(playbook: Playbook, cited: Collection[str]) -> str:
    """The points as a prompt shows them: all, or those cited and the best of the others where there are too many."""
    points = playbook.points
    text = render_points(points)
    if len(text) <= _ROOM_CHARS:
        return text
    first = [playbook.by_name[name] for name in cited if name in playbook.by_name]
    ranked = sorted(points, key=_standing, reverse=True)
    return render_points(selection.choose(dict.fromkeys([*first, *ranked]), [], _ROOM_CHARS))


def candidates(playbook: Playbook) -> str:
    """The points that may say the same in other words, a line for each pair."""
    pairs = near_duplicates.near_pairs(playbook.points)
    return "\n".join(
        f"- {pair.one.name} and {pair.other.name} (words in common: {pair.likeness:.0%})" for pair in pairs
    )


def _standing(point: KeyPoint) -> float:
    return selection.rank(point.helpful, point.harmful, 0)


def room(playbook: Playbook) -> str:
    """What the curator hears of the room in a session's prompt."""
    used = selection.utf16_units(render_points(playbook.points))
    return (
        f"The playbook has {len(playbook.points)} key points, {used} characters. A session is shown at most about "
        f"{selection.LIMIT_UNITS - 1000} characters of it, the best points first."
    )
