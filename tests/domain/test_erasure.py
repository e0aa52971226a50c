"""Blanking: what is to be forgotten goes wherever it stands, and nothing else does."""

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
def test_a_text_is_gone_wherever_it_stood(before: str, secret: str, after: str) -> None:
    """As a passage from four characters on, in words of its own; a shorter one, and white space, only where it is all
    there is."""
    erased = _of_texts(secret).erase(f"{before} {secret} {after}")

    if len(secret.strip()) >= 4:
        assert secret not in erased.replace(MARK, "")
        assert erased.startswith(before[:1] or " ") or MARK in erased[: len(MARK)]
    assert _of_texts(secret).erase(secret) == MARK


@given(texts, st.lists(texts, max_size=3))
def test_erasing_twice_changes_nothing(text: str, secrets: list[str]) -> None:
    """What is erased stays as it is."""
    once = _of_texts(*secrets).erase(text)

    assert _of_texts(*secrets).erase(once) == once


@given(texts)
def test_a_text_that_is_not_there_changes_nothing(text: str) -> None:
    """To the letter."""
    eraser = Eraser(frozenset({"\ue000\ue001\ue002\ue003"}), re.compile("\ue000"))

    assert (eraser.erase(text), eraser.finds(text)) == (text, False)
    assert (eraser.erase_file(text), eraser.erase_json(text), eraser.erase_header(text)) == (text, text, text)


def test_a_short_text_goes_only_where_it_is_all_there_is() -> None:
    """`use` stands in many texts by chance."""
    eraser = _of_texts("use")

    assert (eraser.erase("use"), eraser.erase(" use\n"), eraser.erase("use it")) == (MARK, MARK, "use it")


@pytest.mark.parametrize("text", ["pytest", "the latest", "tests", "Äußertest", "test2"])
def test_a_short_text_is_not_torn_out_of_a_word(text: str) -> None:
    """Forgetting the point `test` doesn't spoil the advice to use pytest."""
    assert _of_texts("test").erase(f"use {text} always") == f"use {text} always"


@pytest.mark.parametrize("text", ["test", "a_test.", '"test"', "x\\ntest", "不要test提"])
def test_a_short_text_goes_where_words_of_its_own_say_it(text: str) -> None:
    """Also after an escape; a long one goes wherever it stands, and so does one in a script without capitals."""
    assert not _of_texts("test").erase(text).count("test")
    assert _of_texts("不要提交密").erase("请不要提交密码") == f"请{MARK}码"
    assert _of_texts("correcthorsebattery").erase("xcorrecthorsebatteryx") == f"x{MARK}x"


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("depth", [1, 2])
def test_a_text_is_found_with_the_escapes_of_json(ascii_only: bool, depth: int) -> None:
    """Also as JSON inside JSON, and on one line as a log has it."""
    written = _SAMPLE
    for _ in range(depth):
        written = json.dumps(written, ensure_ascii=ascii_only and depth == 1)

    erased = _of_texts(_SAMPLE).erase_file(f"asked: {written}, and so on")

    assert "Zanzib" not in erased
    assert erased.endswith(", and so on")
    assert _of_texts(_SAMPLE).erase("worker: " + " ".join(_SAMPLE.split()) + " failed") == f"worker: {MARK} failed"


def test_what_a_pattern_matches_goes_from_escaped_text_too() -> None:
    """The string in a file is looked at as what it means, and written in its own way again."""
    written = json.dumps({"told": "keep Zanzibär\nsecret"})

    assert json.loads(_of_pattern("är\ns").erase_file(f"{written}")) == {"told": f"keep Zanzib{MARK}ecret"}


def test_what_overlaps_is_one_mark() -> None:
    """Two texts that share words leave one mark, and what touches an old mark joins it."""
    assert _of_texts("alpha beta", "beta gamma").erase("x alpha beta gamma y") == f"x {MARK} y"
    assert _of_pattern(r"\d+").erase(f"a 12{MARK}34 b") == f"a {MARK} b"


def test_the_mark_itself_is_never_matched() -> None:
    """A pattern such as `forgotten` finds nothing in what is erased."""
    assert not _of_pattern("forgotten|get").finds(f"use {MARK} here")
    assert _of_pattern("forgotten").erase("forgotten things") == f"{MARK} things"


def test_of_a_text_that_is_all_matched_nothing_is_left() -> None:
    """Punctuation alone is nothing."""
    assert _of_texts("use ruff").leaves_nothing("Use ruff? use ruff!") is False
    assert _of_texts("use ruff").leaves_nothing("use ruff; use ruff.")
    assert not _of_texts("use ruff").leaves_nothing(MARK)
    assert not _of_texts("use ruff").leaves_nothing("...")


@given(json_values)
def test_json_stays_json_and_only_what_matches_goes(value: Any) -> None:
    """Strings, keys and numbers are erased inside; an untouched text stays to the letter."""
    text = json.dumps({"told": value, "Zanzibar": ["x Zanzibar y", 4711]}, indent=1)
    eraser = _of_pattern("Zanzibar|^4711$")

    erased = json.loads(eraser.erase_json(text))

    assert erased == {"told": value, MARK: [f"x {MARK} y", MARK]}
    plain = json.dumps(value, indent=3)
    assert eraser.erase_json(plain) == plain


def test_what_is_no_json_is_blanked_as_text() -> None:
    """Half an operation, cut off, is a text like any other."""
    assert _of_texts("Zanzibar").erase_json('{"text": "Zanzibar') == f'{{"text": "{MARK}'


def test_keys_that_become_the_same_all_stay() -> None:
    """Nothing but the words goes."""
    assert json.loads(_of_pattern("[ab]x").erase_json('{"ax": 1, "bx": 2}')) == {MARK: 1, f"{MARK} 2": 2}


def test_a_header_keeps_the_keys_that_a_file_needs() -> None:
    """A pattern that matches everything can't make a playbook unreadable, or forget which revision it is."""
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
def test_a_pattern_that_can_not_be_used_is_refused(pattern: str, place: str) -> None:
    """One with a mistake in it, with the place; one that matches the empty text, and so everything."""
    with pytest.raises(ArgumentError, match=f"as a pattern{place}.*Nothing was changed"):
        read_pattern(pattern)
