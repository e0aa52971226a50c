"""Each entry of the tables of redaction masks its secrets, or leaves its texts alone.

A test goes through a table and lists every entry that fails.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from playbook_db.domain.redaction import commands, rules, token_patterns
from playbook_db.domain.redaction.escapes import places_of
from playbook_db.domain.redaction.redact import redact
from playbook_db.domain.redaction.token_patterns import Pattern
from tests import redaction_sets

_TOKEN = "aB3dE6gH9jK2mN5pQ8sT1vW4"  # noqa: S105
_PASSWORD = "tR7kq2Lw9"  # noqa: S105
_HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c"
_UUID = "3f2b8c1a-9d4e-4c6b-a5f7-e1d2c3b4a596"
# What follows the prefix of a token: each pattern takes one of these.
_TAILS = (
    *(_TOKEN, _TOKEN + _TOKEN, _TOKEN.upper()[:16], (_TOKEN + _TOKEN)[:36], _HEX[:32], _HEX + _HEX[:24], _UUID),
    *(_TOKEN[:20] + "." + _TOKEN + _TOKEN, (_TOKEN + _TOKEN)[:14] + "." + _HEX + _HEX, "0123456_" + _TOKEN.upper()),
    f"{_TOKEN[:22]}.{_TOKEN[:6]}.{_TOKEN}{_TOKEN[:6]}",
    *("." + _HEX[:32] + "." + _HEX[:32], _HEX[:32] + "." + _HEX[:32], _TOKEN + _TOKEN + _TOKEN, _TOKEN[:20] + "==."),
)
_AROUND = (Path(__file__).parents[1] / "data" / "secrets" / "around.txt").read_text(encoding="utf-8").splitlines()


@cache
def _known_texts() -> tuple[str, ...]:
    blind = (each for part in ("usual", "hard") for each in redaction_sets.blind(part, is_unread=False))
    return tuple(each.text for each in (*redaction_sets.known(), *blind))


def _texts_for(anchor: str) -> list[str]:
    made = [f"see {anchor}{tail}" for tail in _TAILS]
    values = {"P": _PASSWORD, "T": _TOKEN, "H": _HEX, "U": _UUID, "L": (_TOKEN * 3)[:64]}
    values |= {"X": "0x" + _HEX + _HEX[:24], "R": _HEX[:28]}
    values |= {"B": ", ".join(map(str, range(64))), "K": (_TOKEN * 4)[:86] + "=="}
    values |= {"N": "-".join(["471108"] * 8), "V": _HEX.upper(), "M": (_TOKEN * 2)[:43] + "="}
    values |= {"O": (_HEX + "z9" + _HEX)[14:44]}
    for text in _AROUND:
        parts = text.replace("\\n", "\n").replace("{a}", anchor).split("\u00a7")
        made.append(parts[0] + "".join(values[part[0]] + part[1:] for part in parts[1:]))
    return made


def _is_tried(anchor: str, pattern: Pattern, text: str) -> bool:
    _, template, accepts = pattern
    regex = token_patterns.compile_pattern(template, anchor)
    places = list(places_of(anchor, text)) if anchor else None
    return any(accepts(match[1]) for match in token_patterns._matches(regex, text, places))


_ALL = (
    *((anchor, pattern) for anchor, patterns in token_patterns.TOKENS.rows for pattern in patterns),
    *token_patterns.HEADERS,
    *commands.COMMANDS,
)


def _is_found_and_masked(anchor: str, pattern: Pattern) -> bool:
    tried = next((text for text in (*_texts_for(anchor), *_known_texts()) if _is_tried(anchor, pattern, text)), None)
    return tried is not None and "[masked: " in redact(tried)


def test_patterns_mask_their_secrets() -> None:
    assert [f"{pattern[0]} {anchor!r}" for anchor, pattern in _ALL if not _is_found_and_masked(anchor, pattern)] == []


def test_call_has_a_password() -> None:
    calls = [literal for literal, _ in commands._CALLS.rows]

    assert [call for call in calls if _TOKEN in redact(f'{call}"h", "{_TOKEN}")')] == []


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({*rules.FOREIGN_PASSWORDS, *rules.FOREIGN_SECRETS}, "{}: §"),
        ({word.upper() for word in rules.PASSWORDS | rules.GLUED_KEYS}, 'MY_{} = "§"'),
        (rules.KEYED - rules.PUBLIC_KEYS, '{}_key = "§"'),
        (rules.AFTERTHOUGHTS, 'password_{} = "§"'),
    ],
)
def test_names_mean_secrets(words: set[str], text: str) -> None:
    assert [word for word in sorted(words) if _TOKEN in redact(text.format(word).replace("§", _TOKEN))] == []


def test_name_about_a_secret_has_none() -> None:
    texts = [f'password_{word} = "{_PASSWORD}"' for word in sorted(rules.ABOUT)]
    texts += [f'{word}_key = "{_PASSWORD}"' for word in sorted(rules.PUBLIC_KEYS - rules.ABOUT)]

    assert [text for text in texts if redact(text) != text] == []


def test_harmless_word_in_a_name_means_none() -> None:
    texts = [f'auth_for_{word} = "{_TOKEN}"' for word in sorted(rules.NO_SECRETS)]

    assert [text for text in texts if redact(text) != text] == []
    assert _TOKEN not in redact(f'auth_for_ci = "{_TOKEN}"')


def test_common_word_is_no_password() -> None:
    texts = [
        text for word in sorted(rules.TALK) for text in (f"DB_PASSWORD={word}", f'password = "lantern {word} orchid"')
    ]

    assert [text for text in texts if redact(text) != text] == []
    assert redact("DB_PASSWORD=mountainbike") == "DB_PASSWORD=[masked: password]"
    assert redact('password = "lantern candle orchid"') == 'password = "[masked: password]"'


def test_id_stays() -> None:
    texts = [f"see {prefix}_{_TOKEN}xY7zQ" for prefix in rules.IDS]

    assert [text for text in texts if redact(text) != text] == []
    assert redact(f"see qvx_{_TOKEN}xY7zQ") == "see [masked: token]"


_ROWS = {  # the cells of a row of each list
    **dict.fromkeys(("OPTIONS", "PASSWORD_COMMANDS", "TOKEN_COMMANDS"), ("commands", "between")),
    **dict.fromkeys(("PREFIXED", "FORMS", "HEADED"), ("kind", "anchors", "regex", "check")),
}


def _faults_of(row: tuple[str, ...], cells: tuple[str, ...]) -> list[str]:
    """What is wrong with *row*, one sentence each."""
    if not isinstance(row, tuple) or len(row) != len(cells) or not all(isinstance(cell, str) for cell in row):
        return [f"{row!r}: a row is a tuple of {len(cells)} texts: {', '.join(cells)}."]
    given = dict(zip(cells, row, strict=True))
    regex = given.get("regex", given.get("between", ""))
    try:
        compiled = token_patterns.compile_pattern(regex, "x")
    except re.error as error:
        return [f"{row!r}: {regex!r} is no regular expression: {error}."]
    faults = [f"{row!r}: {part} is not in PARTS." for part in re.findall(r"(?<!\?P)<[a-z_]+>", compiled.pattern)]
    if "check" in given and given["check"] not in token_patterns._CHECKS:
        faults.append(f"{row!r}: unknown check {given['check']!r}; use one of {', '.join(token_patterns._CHECKS)}.")
    if "between" in given and compiled.groups:
        faults.append(f"{row!r}: a group captures; write (?:...).")
    return faults


def test_tables_have_valid_rows() -> None:
    """A contributor reads here which row is wrong, and why."""
    rows = [(row, cells) for name, cells in _ROWS.items() for row in getattr(rules, name)]

    assert [fault for row, cells in rows for fault in _faults_of(row, cells)] == []
    assert len(rows) > 90
    assert all(listed for name, listed in vars(rules).items() if name.isupper())
