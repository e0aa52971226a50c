"""Erasing a text or a pattern everywhere, and nothing else."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.erasure import MARK, Eraser, read_pattern
from playbook_db.errors import ArgumentError
from tests.builders import json_values, texts

_SAMPLE = 'the "token" is Zanzibär\\4711\nkeep it'


def _of_texts(*secrets: str) -> Eraser:
    return Eraser(frozenset(secrets))


def _of_pattern(pattern: str) -> Eraser:
    return Eraser(pattern=re.compile(pattern))


@given(texts, texts, texts)
def test_text_is_erased_everywhere(before: str, secret: str, after: str) -> None:
    """A text of less than four characters is erased only if it is the whole value."""
    erased = _of_texts(secret).erase(f"{before} {secret} {after}")

    if len(secret.strip()) >= 4:
        assert secret not in erased.replace(MARK, "")
        assert erased.startswith(before[:1] or " ") or MARK in erased[: len(MARK)]
    assert _of_texts(secret).erase(secret) == MARK


@given(texts, st.lists(texts, max_size=3))
def test_erasing_twice_changes_nothing(text: str, secrets: list[str]) -> None:
    once = _of_texts(*secrets).erase(text)

    assert _of_texts(*secrets).erase(once) == once


@given(texts)
def test_other_texts_are_unchanged(text: str) -> None:
    eraser = Eraser(frozenset({"\ue000\ue001\ue002\ue003"}), re.compile("\ue000"))

    assert (eraser.erase(text), eraser.finds(text)) == (text, False)
    assert (eraser.erase_file(text), eraser.erase_json(text), eraser.erase_header(text)) == (text, text, text)


@pytest.mark.parametrize("text", ["pytest", "the latest", "Äußertest", "test2"])
def test_part_of_a_word_is_not_erased(text: str) -> None:
    """A text of three letters is erased only if it is the whole value."""
    assert _of_texts("test").erase(f"use {text} always") == f"use {text} always"
    assert (_of_texts("use").erase(" use\n"), _of_texts("use").erase("use it")) == (MARK, "use it")


@pytest.mark.parametrize("text", ["test", "a_test.", '"test"', "x\\ntest", "不要test提"])
def test_whole_words_are_erased(text: str) -> None:
    """A long text is erased in any place, as is one in a script without capitals."""
    assert not _of_texts("test").erase(text).count("test")
    assert _of_texts("不要提交密").erase("请不要提交密码") == f"请{MARK}码"
    assert _of_texts("correcthorsebattery").erase("xcorrecthorsebatteryx") == f"x{MARK}x"


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("depth", [1, 2])
def test_escaped_text_is_erased(ascii_only: bool, depth: int) -> None:
    written = _SAMPLE
    for _ in range(depth):
        written = json.dumps(written, ensure_ascii=ascii_only and depth == 1)

    erased = _of_texts(_SAMPLE).erase_file(f"asked: {written}, and so on")

    assert "Zanzib" not in erased
    assert erased.endswith(", and so on")
    assert _of_texts(_SAMPLE).erase("worker: " + " ".join(_SAMPLE.split()) + " failed") == f"worker: {MARK} failed"


def test_pattern_matches_escaped_text() -> None:
    written = json.dumps({"told": "keep Zanzibär\nsecret"})

    assert json.loads(_of_pattern("är\ns").erase_file(f"{written}")) == {"told": f"keep Zanzib{MARK}ecret"}


def test_overlapping_matches_are_one_mark() -> None:
    assert _of_texts("alpha beta", "beta gamma").erase("x alpha beta gamma y") == f"x {MARK} y"
    assert _of_pattern(r"\d+").erase(f"a 12{MARK}34 b") == f"a {MARK} b"


def test_mark_is_never_matched() -> None:
    assert not _of_pattern("forgotten|get").finds(f"use {MARK} here")
    assert _of_pattern("forgotten").erase("forgotten things") == f"{MARK} things"


def test_only_punctuation_is_nothing_left() -> None:
    assert _of_texts("use ruff").leaves_nothing("Use ruff? use ruff!") is False
    assert _of_texts("use ruff").leaves_nothing("use ruff; use ruff.")
    assert not _of_texts("use ruff").leaves_nothing(MARK)
    assert not _of_texts("use ruff").leaves_nothing("...")


@given(json_values)
def test_json_stays_json(value: Any) -> None:
    text = json.dumps({"told": value, "Zanzibar": ["x Zanzibar y", 4711]}, indent=1)
    eraser = _of_pattern("Zanzibar|^4711$")

    erased = json.loads(eraser.erase_json(text))

    assert erased == {"told": value, MARK: [f"x {MARK} y", MARK]}
    plain = json.dumps(value, indent=3)
    assert eraser.erase_json(plain) == plain


def test_broken_json_is_erased_as_text() -> None:
    assert _of_texts("Zanzibar").erase_json('{"text": "Zanzibar') == f'{{"text": "{MARK}'
    assert _of_texts("Zanzibar").erase_file(r'a "\x" of Zanzibar') == rf'a "\x" of {MARK}'


def test_half_a_surrogate_pair_stays_an_escape() -> None:
    assert _of_texts("Zanzibar").erase_json('{"note": "\\ud83d Zanzibar"}') == f'{{"note": "\\ud83d {MARK}"}}'


def test_equal_keys_all_stay() -> None:
    assert json.loads(_of_pattern("[ab]x").erase_json('{"ax": 1, "bx": 2}')) == {MARK: 1, f"{MARK} 2": 2}


def test_header_keeps_its_required_keys() -> None:
    header = {"version": "1.0", "last_updated": "2026-11-21T00:00:00+00:00", "sections": None, "team": "Zanzibar"}

    erased = json.loads(_of_pattern(".+").erase_header(json.dumps(header)))

    assert erased == {"version": MARK, "last_updated": header["last_updated"], "sections": None, MARK: MARK}


@pytest.mark.parametrize(
    ("pattern", "place"),
    [
        ("a(b", " at character 2: "),
        ("[z-a]", " at character 2: "),
        ("*", " at character 1: "),
        ("", ": "),
        ("x*", ": "),
    ],
)
def test_unusable_pattern_is_refused(pattern: str, place: str) -> None:
    with pytest.raises(ArgumentError, match=f"as a pattern{place}.*Nothing was changed"):
        read_pattern(pattern)
