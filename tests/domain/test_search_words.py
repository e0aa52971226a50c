"""What a question asks for, and in which order the answers come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain import search_words
from playbook_db.domain.search_words import MOST_TERMS, Term, ranked, terms


def _words(question: str) -> list[str]:
    return [" ".join(term.words) for term in terms(question)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Why does src/api/users.py fail?", ["src api users py", "src", "api", "users", "py", "fail"]),
        ("parse_header", ["parse header", "parse", "header"]),
        ("parseHeader", ["parseheader", "parse", "header"]),
        ("pip install --no-cache", ["no cache", "pip", "install", "cache"]),
        ("error E1101, then TS2345!", ["error", "e1101", "ts2345"]),
        ("pat-001", ["pat 001", "pat", "001"]),
        ("uv CI Go -x", ["uv", "ci", "go", "x"]),
        ("请重启服务 uv", ["请 重", "重 启", "启 服", "服 务", "uv"]),
        ("猫", ["猫"]),
        ("please do it for me", []),
        ('AND "OR" NOT NEAR( * ^ :', ["near"]),
        ('"; DROP TABLE key_points; --', ["key points", "drop", "table", "key", "points"]),
        ("\0 \ud800 \n", []),
    ],
)
def test_what_a_question_asks_for(question: str, expected: list[str]) -> None:
    """Words that count, short ones too; names whole and by their parts; never an operator."""
    assert _words(question) == expected


def test_of_many_words_the_longest_are_asked_for() -> None:
    """About twelve; identifiers leave two thirds of the room to words."""
    found = terms(" ".join(f"a{n}.py {'word' * n}" for n in range(1, 40)))

    assert len(found) == MOST_TERMS
    assert sum(term.is_whole for term in found) == MOST_TERMS // 3


def test_a_hundred_kilobytes_are_as_good_as_their_beginning() -> None:
    """What somebody pasted costs no more time than what we read of it."""
    assert terms("parser " + "x" * 100_000) == terms("parser " + "x" * (search_words.READ_CHARS - 7))


@given(st.text(max_size=200))
def test_no_text_makes_a_term_that_is_more_than_letters_and_digits(text: str) -> None:
    """So between quotes it is nothing else to FTS5, nor to PostgreSQL."""
    for term in terms(text):
        assert term.words
        assert all(word.isalnum() for word in term.words)


def test_who_has_the_rarer_words_comes_first_and_the_shorter_of_two_alike() -> None:
    """What stands in every text says next to nothing."""
    common, rare = Term(("tests",)), Term(("parser",))
    found = [(common, range(100)), (rare, [7, 3])]

    best = ranked(found, 100, lambda ids: {number: 100 if number == 7 else 400 for number in ids})

    assert [number for number, _ in best[:2]] == [7, 3]
    assert best[2][1] < best[1][1] / 10


def test_what_other_playbooks_hold_has_no_say() -> None:
    """The counts are those of one playbook: two with the same points are answered alike."""
    found = [(Term(("parser",)), [1])]

    assert ranked(found, 10, lambda _: {1: 50}) == ranked(found, 10, lambda _: {1: 50, 2: 90_000})
    assert ranked([], 10, lambda _: {}) == []
