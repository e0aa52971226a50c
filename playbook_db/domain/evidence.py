"""What a lesson rests on: words of the session, and how far the place where they stand can be trusted."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

# How far a place can be trusted, best first: the user's own words; what the project's tests, compilers, linters and
# builds print; its files; all else, such as a web page.
TRUST = ("user", "tests", "files", "fetched")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A `quote` of a session, the `place` in it where that was found, in words (`""`: nowhere), and the place's
    `trust`, one of TRUST."""

    quote: str
    place: str
    trust: str


def lowest(evidence: Iterable[Evidence]) -> str:
    """The lowest trust among *evidence*; of none at all the lowest there is."""
    return max((each.trust for each in evidence), key=TRUST.index, default=TRUST[-1])


def as_json(evidence: Sequence[Evidence]) -> str | None:
    """*evidence* as a database keeps it: a JSON list; None for none."""
    return json.dumps([asdict(each) for each in evidence], ensure_ascii=False) if evidence else None


def read_json(text: str | None) -> tuple[Evidence, ...]:
    """The evidence that `as_json` wrote as *text*, also after an erasure."""
    listed = json.loads(text or "[]")
    return tuple(Evidence(*(str(item.get(name, "")) for name in ("quote", "place", "trust"))) for item in listed)
