"""Which versions of a mirror hold which."""

from playbook_db.domain.merging.lineage import Lineage, Version


def a_lineage(*lines: str, **known: tuple[int, bool]) -> Lineage:
    """Of lines `COMMIT TIME PARENT...`, the oldest first; what is known stands by its time."""
    parts = [line.split() for line in reversed(lines)]
    versions = (Version(commit, tuple(parents), time) for commit, time, *parents in parts)
    return Lineage(versions, known)


def test_who_took_a_version_in_has_all_that_is_behind_it() -> None:
    """Also what was never looked at by itself; nothing of what came later."""
    lineage = a_lineage("a t1", "b t2 a", "c t3 b", "d t4 c", "e t5 b", t1=(1, True), t3=(4, False))

    assert lineage.taken_in() == {"a", "b", "c"}
    assert lineage.taken_in(3) == {"a"}


def test_a_revision_holds_what_was_taken_in_before_whatever_its_branch() -> None:
    """That is what commits can't tell."""
    lineage = a_lineage("a t1", "b t2 a", "c t3 b", "mine t4 a", t1=(1, True), t3=(4, False), t4=(5, True))

    assert lineage.held(lineage.behind(["mine"])) == {"a", "b", "c", "mine"}
    assert lineage.held(lineage.behind(["c"])) == {"a", "b", "c"}


def test_content_that_came_back_says_nothing_of_what_was_in_between() -> None:
    """As of a commit that was reverted; a merge that kept one side's content holds the other."""
    reverted = a_lineage("a t1", "b t2 a", "c t1 b", t1=(1, True))
    merged = a_lineage("a t1", "b t2 a", "c t3 a", "m t3 c b", t3=(2, True))

    assert reverted.taken_in() == {"a", "c"}
    assert merged.taken_in() == {"a", "b", "c", "m"}


def test_the_newest_are_those_that_no_other_holds() -> None:
    """By a commit, or by what the database knows; of two that hold each other one is enough."""
    lineage = a_lineage("a t1", "b t2 a", "c t3 a", "copy t3 a", "mine t4 a", t2=(4, False), t4=(5, True), t3=(9, True))

    assert lineage.newest({"a", "b"}) == ["b"]
    assert lineage.newest({"b", "mine"}) == ["mine"]
    assert sorted(lineage.newest({"b", "mine"}, as_git_knows=True)) == ["b", "mine"]
    assert len(lineage.newest({"c", "copy"})) == 1
    assert lineage.newest({"gone"}) == []
