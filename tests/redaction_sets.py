"""The secrets and harmless texts of tests/data/secrets, whose README describes their form."""

import json
import lzma
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "data" / "secrets"
_BREAK = "\u2016"  # keeps scanners of repositories quiet
PARTS = ("usual", "hard", "harmless")


@dataclass(frozen=True, slots=True)
class Sample:
    """A text with secrets of a *kind*, or a harmless text without any."""

    part: str
    text: str
    kind: str = "harmless"
    secrets: tuple[str, ...] = ()

    @property
    def pieces(self) -> frozenset[str]:
        runs = [run for secret in self.secrets for run in re.findall(r"[A-Za-z0-9+/_=-]{12,}", secret)]
        return frozenset(run[place : place + 12] for run in runs for place in range(len(run) - 11))

    def leaks_into(self, redacted: str) -> bool:
        """Whether *redacted* still holds a secret, or a piece of it."""
        return any(piece in redacted for piece in (*self.secrets, *self.pieces))

    def is_redacted_by(self, redact: Callable[[str], str]) -> bool:
        """Whether *redact* leaves none of the secrets, or all of a harmless text."""
        redacted = redact(self.text)
        return not any(secret in redacted for secret in self.secrets) and bool(self.secrets or redacted == self.text)


@cache
def known(*, is_anywhere: bool = False) -> tuple[Sample, ...]:
    """Secrets that the rules were written for. Those marked *is_anywhere* can be in any other text."""
    return tuple(_read("known.jsonl", "anywhere" if is_anywhere else ""))


@cache
def harmless(*, is_anywhere: bool = False) -> tuple[str, ...]:
    """Texts that look like secrets, and contain none."""
    return tuple(sample.text for sample in _read("harmless.jsonl", "anywhere" if is_anywhere else ""))


@cache
def blind(part: str, *, is_unread: bool) -> tuple[Sample, ...]:
    """Texts by an author who hadn't seen the rules. Authors of rules haven't read the unread ones."""
    name = "blind-unread.jsonl.xz" if is_unread else "blind.jsonl"
    return tuple(_read(name, part))


def share_right(samples: Collection[Sample], redact: Callable[[str], str]) -> float:
    return sum(sample.is_redacted_by(redact) for sample in samples) / len(samples)


def _read(name: str, part: str) -> Iterator[Sample]:
    content = (_FOLDER / name).read_bytes()
    text = (lzma.decompress(content) if name.endswith(".xz") else content).decode()
    for line in text.replace(_BREAK, "").splitlines():
        row: dict[str, Any] = json.loads(line)
        if part in ("", row["part"]):
            yield Sample(**{**row, "secrets": tuple(row.get("secrets", ()))})
