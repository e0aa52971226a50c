"""Older copies: what was forgotten here since does not come back with one."""

from hypothesis import given

from playbook_db.domain.erasure import MARK, Eraser
from playbook_db.domain.merge import as_forgotten, header_as_forgotten, incoming, may_have_been
from playbook_db.domain.playbook import Header, Playbook
from playbook_db.domain.playbook_file import Reading
from tests.builders import a_key_point, a_playbook, texts


@given(texts, texts, texts)
def test_what_was_forgotten_is_known_again(before: str, secret: str, after: str) -> None:
    """An older copy of a text from which something was taken may have been it."""
    old = before + secret + after
    now = Eraser(frozenset({secret})).erase(old)

    assert now == old or may_have_been(old, now)
    assert not may_have_been(old, old)


def test_an_older_copy_s_text_counts_as_unchanged() -> None:
    """The other side, which comes from before an erasure, has not reworded what was blanked since."""
    base = a_playbook(a_key_point("pat-001", f"use {MARK} here"), a_key_point("pat-002", "plain"))
    theirs = a_playbook(a_key_point("pat-001", "use Zanzibar here"), a_key_point("pat-002", "other"))

    merged, (note,) = as_forgotten(base.by_name, theirs)

    assert "pat-001" in note
    assert [point.text for point in merged.points] == [f"use {MARK} here", "other"]


def test_an_older_copy_s_header_counts_as_unchanged() -> None:
    """Keys and values alike."""
    base = Header((("sections", None), ("team", f"the {MARK} team"), (MARK, 1), ("plain", 1)))
    theirs = Header((("sections", None), ("team", "the Zanzibar team"), ("Zanzibar", 1), ("plain", 2), ("new", 3)))

    assert dict(header_as_forgotten(base, theirs).fields) == {**dict(base.fields), "plain": 2, "new": 3}


def test_a_forgotten_name_does_not_come_in() -> None:
    """Whatever it says now; the user hears of it."""
    theirs = a_playbook(a_key_point("pat-001"), a_key_point("pat-002"))

    kept, notes = incoming(Reading(theirs), Playbook(), {"pat-001"})

    assert list(kept.by_name) == ["pat-002"]
    assert notes == ("pat-001 was forgotten here; the text that came in for it was left out",)
