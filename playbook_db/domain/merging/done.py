"""What a program did to a playbook that it had loaded, and the changes that bring it in, told as it was done.

A three-way merge sees two states. Which votes, operations and prunings lie between them is known where the program used
our functions: then the history says the same as if the database itself had been told.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import Change, Playbook, Skipped, Vote, normalised


@dataclass(frozen=True, slots=True)
class Done:
    """Changes and votes in their order; which items of the lists of operations were skipped, and how many items these
    lists had together."""

    changes: tuple[Change, ...] = ()
    votes: tuple[Vote, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    items: int = 0

    def and_then(
        self,
        changes: Iterable[Change] = (),
        votes: Iterable[Vote] = (),
        skipped: Iterable[Skipped] = (),
        items: int = 0,
    ) -> "Done":
        """The same with what was done next; *skipped* have their places in a list of *items*."""
        placed = (replace(each, index=each.index + self.items) for each in skipped)
        return Done((*self.changes, *changes), (*self.votes, *votes), (*self.skipped, *placed), self.items + items)


def explain(draft: Draft, done: Done, *, base: Playbook, ours: Playbook, theirs: Playbook) -> tuple[Vote, ...]:
    """Let the changes by which *theirs* was merged into the *draft* of *ours* tell what was *done* there to *base*:
    each vote apart from other changes, reasons and successors, the votes that a point had when it left.

    Returns the votes, each under the name that its point has here; one for a point that never came here counts nowhere.
    """
    account = _Account(draft, done, base, ours, theirs)
    draft.changes[:] = [told for change in draft.changes for told in account.told(change)]
    return tuple(map(account.vote, done.votes))


class _Account:
    """What was done there, by the names that points have here."""

    def __init__(self, draft: Draft, done: Done, base: Playbook, ours: Playbook, theirs: Playbook) -> None:
        self._base, self._ours = base.by_name, ours.by_name
        by_text = {normalised(point.text): point.name for point in reversed(draft.points())}
        self._names = {point.name: point.name for point in base.points}
        for point in theirs.points:
            is_same = point.name in draft and normalised(draft[point.name].text) == normalised(point.text)
            if point.name not in base.by_name and not is_same:
                self._names[point.name] = by_text.get(normalised(point.text), point.name)
            else:
                self._names[point.name] = point.name
        self._there = set(draft.playbook().by_name) | {change.point.name for change in draft.changes}
        self._left = {change.point.name: change for change in done.changes if change.kind == "retire"}
        self._others = {
            self._names.get(change.point.name): change
            for change in done.changes
            if change.kind != "retire" and change.reason
        }
        self._voted = {self._names.get(vote.name) for vote in done.votes}

    def told(self, change: Change) -> Iterator[Change]:
        """*change* of the draft as it was done."""
        name = change.point.name
        before, told = self._ours.get(name), self._others.get(name)
        left = self._left.get(name) if change.kind == "retire" else None
        if left is not None and before is not None and name in self._base:
            point = replace(
                change.point,
                helpful=max(0, before.helpful + left.point.helpful - self._base[name].helpful),
                harmful=max(0, before.harmful + left.point.harmful - self._base[name].harmful),
            )
            if point != change.point:
                yield Change("vote", point)
            yield Change("retire", point, *self._why(left))
            return
        counters = change.point.helpful, change.point.harmful
        if change.kind == "edit" and before is not None and name in self._voted:
            self._voted.discard(name)
            if counters != (before.helpful, before.harmful):
                yield Change("vote", replace(before, helpful=counters[0], harmful=counters[1]))
        if told is None:
            yield change
        else:
            kind = "edit" if (change.kind, told.kind) == ("vote", "edit") else change.kind
            yield replace(change, kind=kind, reason="; ".join(filter(None, (change.reason, told.reason))))

    def vote(self, vote: Vote) -> Vote:
        """*vote* under the name that its point has here."""
        name = self._names.get(vote.name, vote.name)
        return replace(vote, name=name, matched=vote.matched and vote.name in self._names and name in self._there)

    def _why(self, left: Change) -> tuple[str | None, str | None]:
        """Why a point left, and the point that took over, by its name here; one that left too before it came here hands
        on to its own."""
        reason, heir = left.reason, left.successor
        while heir is not None and heir not in self._names:
            gone = self._left.get(heir)
            if gone is None or gone.successor is None:
                return "; ".join(filter(None, (reason, gone.reason if gone else None))), None
            reason, heir = (reason or "").replace(heir, gone.successor), gone.successor
        if heir is None:
            return reason, None
        return (reason or "").replace(heir, self._names[heir]), self._names[heir]
