"""The order of a mirror's versions: which versions include which others, according to git and to a database.

A version includes the versions that its commit was made of. A database merges one version after another, so each of
its revisions includes all earlier ones, on any branch. A version that is a revision includes those too, although no
commit shows it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a mirror: its commit, the commits that it was made of, and its `last_updated`."""

    commit: str
    parents: tuple[str, ...]
    time: str


@dataclass(frozen=True, slots=True)
class KnownVersion:
    """A version in a database: the first revision that included it, and whether the version is that revision."""

    revision: int
    is_revision: bool


class Lineage:
    """Versions, newest first: each precedes those that it was made of. *known* has the database's versions by time."""

    def __init__(self, versions: Iterable[Version], known: Mapping[str, KnownVersion]) -> None:
        self._versions = {version.commit: version for version in versions}
        self._known = known
        self._behind: dict[str, frozenset[str]] = {}
        for version in reversed(self._versions.values()):
            made_of = (self._behind.get(parent, frozenset()) for parent in version.parents)
            self._behind[version.commit] = frozenset({version.commit}).union(*made_of)
        self._oldest = {version.time: version.commit for version in self._versions.values()}

    def behind(self, commits: Iterable[str]) -> set[str]:
        """Return the *commits* and all commits that they were made of."""
        return set().union(*(self._behind.get(commit, frozenset()) for commit in commits))

    def taken_in(self, last: int | None = None) -> set[str]:
        """Return the versions that the database includes, if *last* is given up to that revision.

        It also includes all that they were made of, unless a version repeats an older one's content (after a revert).
        """
        has, with_all = set(), set()
        for version in self._versions.values():
            known = self._known.get(version.time)
            if known is not None and (last is None or known.revision <= last):
                has.add(version.commit)
                if len(version.parents) > 1 or self._oldest[version.time] == version.commit:
                    with_all.add(version.commit)
        return has | self.behind(with_all)

    def held(self, behind: Collection[str]) -> set[str]:
        """Return all versions that a commit includes if it was made of the versions *behind*."""
        known = (self._known.get(self._versions[commit].time) for commit in behind if commit in self._versions)
        last = max((each.revision for each in known if each is not None and each.is_revision), default=0)
        return {*behind, *self.taken_in(last)}

    def newest(self, commits: Collection[str], *, as_git_knows: bool = False) -> list[str]:
        """Return those *commits* that no other of them includes. If two include each other, return one.

        With *as_git_knows*, ignore the database.
        """
        known = [commit for commit in commits if commit in self._versions]
        held = {each: self._behind[each] if as_git_knows else self.held(self._behind[each]) for each in known}
        newest: list[str] = []
        for commit in sorted(held, key=lambda commit: len(held[commit]), reverse=True):
            if not any(commit in held[other] for other in newest):
                newest.append(commit)
        return newest
