"""Finding out which versions of a mirror file include which other versions, from git's history and a database.

A version includes the versions of its parent commits. A database merges one version after another, so each of its
revisions includes all versions that were merged earlier, on any branch. So does a version that a revision wrote,
although no commit shows it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a mirror file: its commit, the parents of the commit, and its `last_updated`."""

    commit: str
    parents: tuple[str, ...]
    time: str


class Lineage:
    """The ancestry of *versions*, given newest first. *known* has the versions that a database knows, by time: the
    first revision that includes the version, and whether that revision wrote it."""

    def __init__(self, versions: Iterable[Version], known: Mapping[str, tuple[int, bool]]) -> None:
        self._versions = {version.commit: version for version in versions}
        self._known = known
        self._behind: dict[str, frozenset[str]] = {}
        for version in reversed(self._versions.values()):
            made_of = (self._behind.get(parent, frozenset()) for parent in version.parents)
            self._behind[version.commit] = frozenset({version.commit}).union(*made_of)
        self._oldest = {version.time: version.commit for version in self._versions.values()}

    def behind(self, commits: Iterable[str]) -> set[str]:
        """Return the *commits* and all their ancestors."""
        return set().union(*(self._behind.get(commit, frozenset()) for commit in commits))

    def taken_in(self, last: int | None = None) -> set[str]:
        """Return the versions that the database includes. With *last*, only count revisions up to *last*.

        The ancestors of a version are included, too, unless it repeats an older version's content, as after a revert.
        """
        has, with_all = set(), set()
        for version in self._versions.values():
            known = self._known.get(version.time)
            if known is not None and (last is None or known[0] <= last):
                has.add(version.commit)
                if len(version.parents) > 1 or self._oldest[version.time] == version.commit:
                    with_all.add(version.commit)
        return has | self.behind(with_all)

    def held(self, behind: Collection[str]) -> set[str]:
        """Return all versions that a commit includes: its ancestors *behind*, and those that the database adds."""
        times = (self._versions[commit].time for commit in behind if commit in self._versions)
        known = (self._known[time] for time in times if time in self._known)
        last = max((revision for revision, is_writer in known if is_writer), default=0)
        return {*behind, *self.taken_in(last)}

    def newest(self, commits: Collection[str], *, as_git_knows: bool = False) -> list[str]:
        """Return the *commits* that no other given commit includes. If two include each other, return one of them.

        *as_git_knows*: ignore the database.
        """
        known = [commit for commit in commits if commit in self._versions]
        held = {each: self._behind[each] if as_git_knows else self.held(self._behind[each]) for each in known}
        newest: list[str] = []
        for commit in sorted(held, key=lambda commit: len(held[commit]), reverse=True):
            if not any(commit in held[other] for other in newest):
                newest.append(commit)
        return newest
