"""Made-up playbooks: the same for the same count, texts of about 120 characters, spread over all sections."""

import random
from collections.abc import Iterator

from playbook_db.domain import playbook_file
from playbook_db.domain.playbook import Header, KeyPoint, Playbook, format_name, playbook_of
from playbook_db.domain.sections import SECTION_SLUGS

TEXT_LENGTH = 120  # characters, about; that of the peers' measured playbooks
_WORDS = (
    "always", "never", "before", "after", "when", "the", "a", "test", "run", "check", "file", "commit", "branch",
    "migration", "query", "index", "cache", "retry", "timeout", "async", "await", "client", "server", "token", "schema",
    "column", "transaction", "rollback", "mock", "fixture", "path", "config", "user", "prefer", "avoid", "read",
    "write", "verify", "small", "explicit", "error", "message", "log", "review", "naïve", "Größe", "–", "keep", "it",
)  # fmt: skip


def texts(seed: int = 0) -> Iterator[str]:
    """Sentences without end, each another."""
    rng = random.Random(seed)
    number = 0
    while True:
        number += 1
        text = f"{number}:"
        while len(text) < TEXT_LENGTH:
            text += " " + rng.choice(_WORDS)
        yield text


def playbook(count: int) -> Playbook:
    """A playbook of *count* points, some with votes."""
    rng = random.Random(count)
    sections = list(SECTION_SLUGS)
    points = []
    for number, text in zip(range(1, count + 1), texts(), strict=False):
        section = sections[number % len(sections)]
        name = format_name(SECTION_SLUGS[section], number)
        points.append(KeyPoint(name, text, section, rng.randrange(20), rng.randrange(3)))
    return playbook_of(points, header=Header().stamped("2026-01-01T00:00:00.000000+00:00"))


def file_text(count: int) -> str:
    """The playbook file of `playbook(count)`."""
    return playbook_file.encode(playbook(count))
