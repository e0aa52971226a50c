"""Versions of a mirror, and the versions that each of them includes."""

from playbook_db.domain.merging.lineage import Lineage, Version


def a_lineage(*lines: str, **known: tuple[int, bool]) -> Lineage:
    """Each line is `COMMIT TIME PARENT...`, the oldest first."""
    parts = [line.split() for line in reversed(lines)]
    versions = (Version(commit, tuple(parents), time) for commit, time, *parents in parts)
    return Lineage(versions, known)


def test_version_includes_its_ancestors() -> None:
    lineage = a_lineage("a t1", "b t2 a", "c t3 b", "d t4 c", "e t5 b", t1=(1, True), t3=(4, False))

    assert lineage.taken_in() == {"a", "b", "c"}
    assert lineage.taken_in(3) == {"a"}


def test_revision_has_all_earlier_imports() -> None:
    """Commits alone can't show this."""
    lineage = a_lineage("a t1", "b t2 a", "c t3 b", "mine t4 a", t1=(1, True), t3=(4, False), t4=(5, True))

    assert lineage.held(lineage.behind(["mine"])) == {"a", "b", "c", "mine"}
    assert lineage.held(lineage.behind(["c"])) == {"a", "b", "c"}


def test_reverted_commit_is_not_imported() -> None:
    reverted = a_lineage("a t1", "b t2 a", "c t1 b", t1=(1, True))
    merged = a_lineage("a t1", "b t2 a", "c t3 a", "m t3 c b", t3=(2, True))

    assert reverted.taken_in() == {"a", "c"}
    assert merged.taken_in() == {"a", "b", "c", "m"}


def test_newest_versions_are_in_no_other() -> None:
    lineage = a_lineage("a t1", "b t2 a", "c t3 a", "copy t3 a", "mine t4 a", t2=(4, False), t4=(5, True), t3=(9, True))

    assert lineage.newest({"a", "b"}) == ["b"]
    assert lineage.newest({"b", "mine"}) == ["mine"]
    assert sorted(lineage.newest({"b", "mine"}, as_git_knows=True)) == ["b", "mine"]
    assert len(lineage.newest({"c", "copy"})) == 1
    assert lineage.newest({"gone"}) == []
