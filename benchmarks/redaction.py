"""How many secrets are masked, how many harmless texts change, and how fast that is.

The texts are those of tests/data/secrets. Authors of rules read only a part of the blind set, so the unread part shows
what users may expect.
"""

import json
import random
import statistics
import time
from collections.abc import Callable, Collection
from pathlib import Path

from benchmarks.figures import Figures
from playbook_db.domain.redaction.redact import redact
from tests import redaction_sets
from tests.redaction_sets import Sample

_SEED = 20_000
_SAID = (
    "I read the function and its tests; the parser keeps one token of look-ahead, so the error is reported too late.",
    "def load(path: Path, *, token: str | None = None) -> Config:\n    return Config.of(path, token=token)\n",
    "src/app/settings.py:112: error: Incompatible types in assignment [assignment]\nFound 1 error in 1 file\n",
    'export const login = async (user, password) => client.post("/login", { user, password });\n',
    "drwxr-xr-x  4 ann ann 4096 Mar  1 10:22 node_modules\n-rw-r--r--  1 ann ann  812 Mar  1 10:20 package.json\n",
    "The key point is that a password must never be logged; the secret stays in the store and the cache key is a hash.",
)


def run(folder: Path, *, quick: bool) -> Figures:
    """Recall and false positives, and megabytes per second on transcripts with and without secrets."""
    size = 200_000 if quick else 4_000_000
    rounds = 1 if quick else 5
    plain, mixed = _transcript(size, secrets=False), _transcript(size, secrets=True)
    values = [f"{random.Random(place).getrandbits(128):032x}" for place in range(20)]
    speeds = [
        ("a transcript without secrets", _speed(lambda: redact(plain), len(plain), rounds)),
        ("the same, and 20 values of the environment", _speed(lambda: redact(plain, values), len(plain), rounds)),
        ("a transcript with a secret every 4 kB", _speed(lambda: redact(mixed), len(mixed), rounds)),
    ]
    known, harmless = redaction_sets.known(), redaction_sets.harmless()
    return Figures(
        "Masking secrets",
        ("", "found"),
        (
            _row("known secrets", known),
            (f"{len(harmless)} known harmless texts changed", f"{sum(redact(text) != text for text in harmless)}"),
            *(
                _row(f"blind set, {part}, {'unread' if is_unread else 'read'}", _blind(part, is_unread))
                for part in redaction_sets.PARTS
                for is_unread in (False, True)
            ),
            *((name, f"{speed:.1f} MB/s") for name, speed in speeds),
        ),
        ("A text is right if none of its secrets is left, or if it has none and stays.",),
    )


def _blind(part: str, is_unread: bool) -> Collection[Sample]:
    return redaction_sets.blind(part, is_unread=is_unread)


def _row(name: str, samples: Collection[Sample]) -> tuple[str, str]:
    kinds = len({sample.kind for sample in samples})
    right = sum(sample.is_redacted_by(redact) for sample in samples)
    share = 100 * right / len(samples)
    return f"{name}: {len(samples):,} texts of {kinds} kinds right", f"{right:,} ({share:.1f} %)"


def _transcript(size: int, *, secrets: bool) -> str:
    """About *size* characters of JSON lines, as Claude Code writes them."""
    chance = random.Random(_SEED)
    hidden = [sample.text for sample in redaction_sets.known(is_anywhere=True)]
    lines: list[str] = []
    written = 0
    while written < size:
        said = [chance.choice(_SAID) for _ in range(chance.randrange(4, 40))]
        if secrets:
            said.insert(chance.randrange(len(said)), chance.choice(hidden))
        lines.append(
            json.dumps(
                {
                    "uuid": f"{chance.getrandbits(128):032x}",
                    "message": {"role": "assistant", "content": [{"type": "text", "text": "\n".join(said)}]},
                    "usage": {
                        "input_tokens": chance.randrange(10**6),
                        "cache_read_input_tokens": chance.randrange(10**6),
                    },
                }
            )
        )
        written += len(lines[-1])
    return "\n".join(lines)


def _speed(work: Callable[[], object], size: int, rounds: int) -> float:
    """Megabytes per second: the median over *rounds*."""
    taken: list[float] = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return size / 1e6 / statistics.median(taken)
