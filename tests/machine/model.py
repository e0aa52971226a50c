"""A playbook as the contract describes it: points by name, and the state after each revision."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace

SLUGS = ("pat", "mis", "pref", "ctx", "oth")
TITLES = {
    "pat": "PATTERNS & APPROACHES",
    "mis": "MISTAKES TO AVOID",
    "pref": "USER PREFERENCES",
    "ctx": "PROJECT CONTEXT",
    "oth": "OTHERS",
}
PRUNED_FROM = 3  # harmful votes
FORGOTTEN = "[forgotten]"


@dataclass(frozen=True)
class Point:
    slug: str
    text: str
    helpful: int = 0
    harmful: int = 0
    live: bool = True

    @property
    def is_harmful(self) -> bool:
        return self.live and self.harmful >= PRUNED_FROM and self.harmful > self.helpful


State = dict[str, Point]


class Refused(Exception):  # noqa: N818 - it is an answer, not an error
    """The playbook refuses a change: nothing happens."""


@dataclass
class Model:
    """All points by name, the state after each revision, and the ranges that undos undid. States start at `base`."""

    prefix: str = ""  # of its points' names
    points: State = field(default_factory=dict)
    highest: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SLUGS, 0))  # number given of each slug
    states: list[State] = field(default_factory=lambda: [{}])
    base: int = 0
    undos: dict[int, range] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    proposed: set[str] = field(default_factory=set)  # texts that wait for a person
    rejected: set[str] = field(default_factory=set)  # those that a person did not want

    def copy(self) -> "Model":
        return copy.deepcopy(self)

    @property
    def live(self) -> State:
        return live(self.points)

    def names(self, *, live: bool = True) -> list[str]:
        """The live points, or the retired ones that can come back."""
        return sorted(name for name, point in self.points.items() if point.live is live and name not in self.forgotten)

    def saying(self, text: str) -> list[str]:
        return [name for name, point in self.live.items() if point.text == text]

    # Changes.

    def attempt(self, change: Callable[["Model"], object]) -> bool:
        """Make a *change*, unless it raises Refused. Returns whether it happened."""
        points, highest = dict(self.points), dict(self.highest)
        try:
            change(self)
        except Refused:
            self.points, self.highest = points, highest
            return False
        return True

    def add(self, text: str, slug: str, helpful: int = 0, harmful: int = 0) -> str:
        """Add a point, or raise Refused if a live point says the same."""
        if self.saying(text):
            raise Refused
        return self.give(Point(slug, text, helpful, harmful))

    def next_name(self, slug: str) -> str:
        return f"{self.prefix}{slug}-{self.highest[slug] + 1:03}"

    def give(self, point: Point) -> str:
        name = self.next_name(point.slug)
        self.highest[point.slug] += 1
        self.points[name] = point
        return name

    def change(self, name: str, **fields: object) -> None:
        self.points[name] = replace(self.points[name], **fields)  # type: ignore[arg-type]

    def vote(self, name: str, tag: str) -> None:
        point = self.points[name]
        self.change(name, helpful=point.helpful + (tag == "helpful"), harmful=point.harmful + (tag == "harmful"))

    def reword(self, name: str, text: str) -> None:
        self.change(name, text=text)

    def retire(self, name: str) -> None:
        self.change(name, live=False)

    def restore(self, name: str) -> None:
        self.change(name, live=True)

    def merge(self, names: list[str], text: str) -> None:
        sources = [self.points[name] for name in names]
        helpful, harmful = (sum(getattr(point, tag) for point in sources) for tag in ("helpful", "harmful"))
        self.give(Point(sources[0].slug, text, helpful, harmful))
        for name in names:
            self.retire(name)

    def prune(self) -> None:
        for name, point in self.live.items():
            if point.is_harmful:
                self.retire(name)

    def forget(self, name: str) -> None:
        """Erase all texts that a point ever had, wherever they are."""
        states = (*self.states, self.points)
        words = {state[name].text for state in states if name in state}
        for each, point in list(self.points.items()):
            if point.text in words:
                self.forgotten.add(each)
                self.retire(each)
        for state in states:
            for each, point in state.items():
                if point.text in words or each in self.forgotten:
                    state[each] = replace(point, text=FORGOTTEN)

    def become(self, state: State) -> None:
        """Retire all live points but these."""
        for name in self.live.keys() - state.keys():
            self.retire(name)
        self.points.update(state)
        for name in state:
            slug, number = name.removeprefix(self.prefix).split("-")
            self.highest[slug] = max(self.highest[slug], int(number))

    # History.

    @property
    def head(self) -> int:
        return len(self.states) - 1

    def commit(self) -> None:
        self.states.append(dict(self.points))

    def undo(self, first: int, last: int) -> None:
        """Merge the states before, after and now. Refused if a revision would be undone twice, or changed since."""
        undos = {**self.undos, self.head + 1: range(first, last + 1)}
        counts: dict[int, int] = {}  # 1 or, if a revision is undone, 0
        for number in range(self.head + 1, self.base, -1):
            counts[number] = 1 - sum(counts[undo] for undo, undone in undos.items() if number in undone)
            if counts[number] < 0:
                raise Refused
        before, after, new = self.states[first - 1], self.states[last], dict(self.points)
        for name, then in after.items():
            old = before.get(name) or replace(then, live=False)
            if name not in self.forgotten and old != then:
                new[name] = _undone(old, then, new[name])
        self.points = new


def live(state: State) -> State:
    return {name: point for name, point in state.items() if point.live}


def _undone(before: Point, after: Point, now: Point) -> Point:
    helpful = max(0, now.helpful - (after.helpful - before.helpful))
    harmful = max(0, now.harmful - (after.harmful - before.harmful))
    if now.live and after.live and not before.live:  # it came with these revisions
        if (now.text, now.slug) != (after.text, after.slug):
            raise Refused
        return replace(before, helpful=helpful, harmful=harmful, live=False)
    is_live = now.live or (before.live and not after.live)
    text, slug = (
        _merged(getattr(before, key), getattr(after, key), getattr(now, key), is_live) for key in ("text", "slug")
    )
    return Point(slug, text, helpful, harmful, is_live)


def _merged(before: str, after: str, now: str, is_live: bool) -> str:
    if now == after:
        return before
    if before in (after, now) or not is_live:
        return now
    raise Refused
