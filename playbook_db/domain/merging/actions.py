"""Recording a program's actions on a playbook that it loaded, and replaying them after a merge.

A three-way merge sees a playbook only before and after the program ran. If the program used the documented functions,
its votes, operations and prunings are known, and the history shows them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import Change, Playbook, Skipped, Vote, normalised


@dataclass(frozen=True, slots=True)
class RecordedActions:
    """A program's changes and votes in order, and its skipped operations. `items` counts all its operations."""

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
    ) -> "RecordedActions":
        """Return a copy with further actions. The indices of *skipped* count within the new *items*."""
        placed = (replace(each, index=each.index + self.items) for each in skipped)
        changes, votes = (*self.changes, *changes), (*self.votes, *votes)
        return RecordedActions(changes, votes, (*self.skipped, *placed), self.items + items)


def replay(
    draft: Draft, actions: RecordedActions, *, base: Playbook, ours: Playbook, theirs: Playbook
) -> tuple[Vote, ...]:
    """Replace the draft's changes with the program's *actions*. The draft is *ours* with *theirs* merged into it.

    The actions led from *base* to *theirs*. Votes become separate changes. Reasons, successors, and the votes of
    retired points are restored. Return the votes with the draft's names. `matched` is false if a point isn't there.
    """
    translator = _Translator(draft, actions, base, ours, theirs)
    draft.changes[:] = [action for change in draft.changes for action in translator.actions_of(change)]
    return tuple(map(translator.vote, actions.votes))


class _Translator:
    """Translates actions on *theirs* into actions on the draft, where points may have other names."""

    def __init__(
        self, draft: Draft, actions: RecordedActions, base: Playbook, ours: Playbook, theirs: Playbook
    ) -> None:
        self._base, self._ours = base.by_name, ours.by_name
        by_text = {normalised(point.text): point.name for point in reversed(draft.points())}
        self._names = {point.name: point.name for point in base.points}
        for point in theirs.points:
            is_same = point.name in draft and normalised(draft[point.name].text) == normalised(point.text)
            is_new = point.name not in base.by_name and not is_same
            self._names[point.name] = by_text.get(normalised(point.text), point.name) if is_new else point.name
        self._present = set(draft.playbook().by_name) | {change.point.name for change in draft.changes}
        self._retirements = {change.point.name: change for change in actions.changes if change.kind == "retire"}
        self._others = {
            self._names.get(change.point.name): change
            for change in actions.changes
            if change.kind != "retire" and change.reason
        }
        self._voted = {self._names.get(vote.name) for vote in actions.votes}

    def actions_of(self, change: Change) -> Iterator[Change]:
        """Yield the actions of which the draft's *change* consists, in order."""
        name = change.point.name
        before, action = self._ours.get(name), self._others.get(name)
        retirement = self._retirements.get(name) if change.kind == "retire" else None
        if retirement is not None and before is not None and name in self._base:
            point = replace(
                change.point,
                helpful=max(0, before.helpful + retirement.point.helpful - self._base[name].helpful),
                harmful=max(0, before.harmful + retirement.point.harmful - self._base[name].harmful),
            )
            if point != change.point:
                yield Change("vote", point)
            yield Change("retire", point, *self._why(retirement))
            return
        counters = change.point.helpful, change.point.harmful
        if change.kind == "edit" and before is not None and name in self._voted:
            self._voted.discard(name)
            if counters != (before.helpful, before.harmful):
                yield Change("vote", replace(before, helpful=counters[0], harmful=counters[1]))
        if action is None:
            yield change
        else:
            kind = "edit" if (change.kind, action.kind) == ("vote", "edit") else change.kind
            yield replace(change, kind=kind, reason="; ".join(filter(None, (change.reason, action.reason))))

    def vote(self, vote: Vote) -> Vote:
        """Return *vote* with the name that its point has in the draft."""
        name = self._names.get(vote.name, vote.name)
        return replace(vote, name=name, matched=vote.matched and vote.name in self._names and name in self._present)

    def _why(self, retirement: Change) -> tuple[str | None, str | None]:
        """Return the reason of *retirement*, and the successor's name in the draft.

        If the successor was itself retired before the merge, use its own successor.
        """
        reason, successor = retirement.reason, retirement.successor
        while successor is not None and successor not in self._names:
            later = self._retirements.get(successor)
            if later is None or later.successor is None:
                return "; ".join(filter(None, (reason, later.reason if later else None))), None
            reason, successor = (reason or "").replace(successor, later.successor), later.successor
        if successor is None:
            return reason, None
        return (reason or "").replace(successor, self._names[successor]), self._names[successor]
