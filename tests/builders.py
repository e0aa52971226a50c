"""Small makers of values for tests, and the strategies of the property tests."""

from typing import Any

from hypothesis import strategies as st

from playbook_db.rules.playbook import KeyPoint, Playbook, playbook_of
from playbook_db.rules.sections import OTHERS, SECTION_SLUGS


def a_key_point(name: str = "pat-001", text: str = "use type hints", **fields: Any) -> KeyPoint:
    """A key point of which only what matters need be said."""
    return KeyPoint(name, text, **{"section": "PATTERNS & APPROACHES", **fields})


def a_playbook(*points: KeyPoint) -> Playbook:
    """A playbook of *points*, in that order within each section."""
    return playbook_of(points)


def a_flat_dict(*entries: Any, **fields: Any) -> dict[str, Any]:
    """A flat playbook file's content."""
    return {"version": "1.0", "last_updated": None, "key_points": list(entries), **fields}


def a_sections_dict(sections: dict[str, list[Any]], **fields: Any) -> dict[str, Any]:
    """A playbook file's content with all five sections, those not named empty."""
    return {
        "version": "1.0",
        "last_updated": None,
        "sections": {title: sections.get(title, []) for title in SECTION_SLUGS},
        **fields,
    }


def an_entry(name: str, text: str = "use type hints", helpful: int = 0, harmful: int = 0) -> dict[str, Any]:
    """A canonical entry of a playbook file."""
    return {"name": name, "text": text, "helpful": helpful, "harmful": harmful}


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=80).filter(lambda text: bool(text.strip()))
counters = st.integers(0, 2**53)
section_names = st.sampled_from(list(SECTION_SLUGS))


@st.composite
def key_point_lists(draw: st.DrawFn, max_size: int = 8) -> list[KeyPoint]:
    """Points with distinct names of our own making, in any section and order."""
    numbers = draw(st.lists(st.integers(1, 40), unique=True, max_size=max_size))
    points = []
    for number in numbers:
        section = draw(section_names)
        prefix = draw(st.sampled_from([SECTION_SLUGS[section], "kpt"]))
        name = f"{prefix}_{number:03d}" if prefix == "kpt" else f"{prefix}-{number:03d}"
        points.append(KeyPoint(name, draw(texts), section, draw(counters), draw(counters)))
    return points


@st.composite
def playbook_values(draw: st.DrawFn, max_size: int = 8) -> Playbook:
    """Any playbook."""
    return playbook_of(draw(key_point_lists(max_size=max_size)))


__all__ = [
    "OTHERS",
    "a_flat_dict",
    "a_key_point",
    "a_playbook",
    "a_sections_dict",
    "an_entry",
    "counters",
    "key_point_lists",
    "playbook_values",
    "section_names",
    "texts",
]
