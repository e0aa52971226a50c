"""How many secrets the masking finds, what it takes for one that is none, and what it costs.

The secrets are made up here and now, the same for the same seed, in prose, code, JSON, dumps and over several lines.
Those by an author who had not seen the rules are counted in two halves, by kind: the rules' authors may look at the
misses of the first, so the second says what the world may expect.
"""

import json
import random
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.figures import Figures
from playbook_db.domain.redaction.redact import redact
from tests import blind_secrets, blind_texts, later_blind_sets
from tests.harmless_texts import HARMLESS
from tests.secrets_made_up import made_up_secrets

_SEED = 20_000
_HALVES = 11  # the seed that splits the kinds into those looked at and the others
_SAID = (
    "I read the function and its tests; the parser keeps one token of look-ahead, so the error is reported too late.",
    "def load(path: Path, *, token: str | None = None) -> Config:\n    return Config.of(path, token=token)\n",
    "src/app/settings.py:112: error: Incompatible types in assignment [assignment]\nFound 1 error in 1 file\n",
    'export const login = async (user, password) => client.post("/login", { user, password });\n',
    "drwxr-xr-x  4 ann ann 4096 Mar  1 10:22 node_modules\n-rw-r--r--  1 ann ann  812 Mar  1 10:20 package.json\n",
    "The key point is that a password must never be logged; the secret stays in the store and the cache key is a hash.",
)


def run(folder: Path, *, quick: bool) -> Figures:
    """Recall and false positives over several seeds; megabytes per second on transcripts with and without secrets."""
    seeds = range(_SEED, _SEED + (2 if quick else 50))
    found, secrets, kinds = _recall(seeds)
    wrong = sum(redact(text) != text for text in HARMLESS)
    size = 200_000 if quick else 4_000_000
    rounds = 1 if quick else 5
    plain, mixed = _transcript(size, secrets=False), _transcript(size, secrets=True)
    values = [f"{random.Random(place).getrandbits(128):032x}" for place in range(20)]
    speeds = [
        ("a transcript without secrets", _speed(lambda: redact(plain), len(plain), rounds)),
        ("the same, and 20 values of the environment", _speed(lambda: redact(plain, values), len(plain), rounds)),
        ("a transcript with a secret every 4 kB", _speed(lambda: redact(mixed), len(mixed), rounds)),
    ]
    return Figures(
        "Masking secrets",
        ("", "found"),
        (
            (f"{secrets:,} secrets of {kinds} kinds masked", f"{100 * found / secrets:.2f} %"),
            (f"{len(HARMLESS)} harmless texts changed", f"{wrong}"),
            *_blind_rows("usual", blind_secrets.usual()),
            *_blind_rows("hard", blind_secrets.hard()),
            *_blind_harmless_rows(),
            *(row for name in later_blind_sets.NAMES for row in _second_rows(name)),
            *map(_third_row, later_blind_sets.NAMES),
            *(
                _row(f"{author} blind set, {name}", name, blind_texts.rows(name, author))
                for author in ("twelfth", "thirteenth")
                for name in blind_texts.NAMES
            ),
            *((name, f"{speed:.1f} MB/s") for name, speed in speeds),
        ),
        ("A secret counts as masked when no twelve characters of it in a row are left.",),
    )


def _recall(seeds: Sequence[int]) -> tuple[int, int, int]:
    found = secrets = 0
    kinds: set[str] = set()
    for seed in seeds:
        for made in made_up_secrets(seed):
            secrets += 1
            found += not made.leaks_into(redact(made.text))
            kinds.add(made.kind)
    return found, secrets, len(kinds)


def looked_at(names: Iterable[str]) -> frozenset[str]:
    """The half of *names*, drawn by chance, whose misses may be looked at."""
    drawn = sorted(set(names))
    random.Random(_HALVES).shuffle(drawn)
    return frozenset(drawn[: len(drawn) // 2])


def missed(case: blind_secrets.Case) -> bool:
    """Whether the secret of *case* is still there."""
    return case.secret in redact(case.text)


def _blind_rows(name: str, cases: Sequence[blind_secrets.Case]) -> Iterator[tuple[str, str]]:
    seen = looked_at(case.kind for case in cases)
    for half, is_seen in ("looked at", True), ("not looked at", False):
        part = [case for case in cases if (case.kind in seen) == is_seen]
        found = sum(not missed(case) for case in part)
        kinds = len({case.kind for case in part})
        yield (
            f"blind set, {name}, {half}: {len(part)} secrets of {kinds} kinds masked",
            f"{found} ({100 * found / len(part):.1f} %)",
        )


def _blind_harmless_rows() -> Iterator[tuple[str, str]]:
    texts = blind_secrets.harmless()
    seen = looked_at(texts)
    for half, is_seen in ("looked at", True), ("not looked at", False):
        part = [text for text in texts if (text in seen) == is_seen]
        yield f"blind set, harmless, {half}: {len(part)} texts changed", f"{sum(redact(text) != text for text in part)}"


def _second_rows(name: str) -> Iterator[tuple[str, str]]:
    for half, is_seen in ("looked at", True), ("not looked at", False):
        part = [row for row in later_blind_sets.rows(name) if later_blind_sets.is_looked_at(name, row[0]) == is_seen]
        yield _row(f"second blind set, {name}, {half}", name, part)


def _third_row(name: str) -> tuple[str, str]:
    return _row(f"third blind set, {name}", name, later_blind_sets.rows(name, "third"))


def _row(what: str, name: str, part: Sequence[later_blind_sets.Row]) -> tuple[str, str]:
    kinds = len({kind for kind, _, _ in part})
    done = sum(is_done(text, secrets) for _, text, secrets in part)
    outcome = "left alone" if name == "harmless" else "masked"
    return f"{what}: {len(part)} texts of {kinds} kinds {outcome}", f"{done} ({100 * done / len(part):.1f} %)"


def is_done(text: str, secrets: Collection[str]) -> bool:
    """Whether redacting *text* leaves none of *secrets*, and all of a text without secrets."""
    redacted = redact(text)
    return not any(secret in redacted for secret in secrets) and bool(secrets or redacted == text)


def _transcript(size: int, *, secrets: bool) -> str:
    """About *size* characters of JSON lines, as Claude Code writes them."""
    chance = random.Random(_SEED)
    hidden = [made.text for made in made_up_secrets(_SEED)]
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
