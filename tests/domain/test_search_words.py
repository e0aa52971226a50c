"""The search terms of a question, and the order of its answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.domain.search_words import MOST_TERMS, Term, least_fitting, ranked, stretched, terms


def _words(question: str) -> list[str]:
    return [" ".join(term.words) for term in terms(question)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Why does src/api/users.py fail?", ["src api users py", "src", "api", "users", "py", "fail"]),
        ("parseHeader", ["parseheader", "parse", "header"]),
        ("pip install --no-cache", ["no cache", "pip", "install", "cache"]),
        ("error E1101, then TS2345!", ["error", "e1101", "ts2345"]),
        ("pat-001", ["pat 001", "pat", "001"]),
        ("uv CI Go -x", ["uv", "ci", "go", "x"]),
        ("请重启服务 uv", ["请 重", "重 启", "启 服", "服 务", "uv"]),
        ("please do it for me", []),
        ('AND "OR" NOT NEAR( * ^ :', ["near"]),
        ('"; DROP TABLE key_points; --', ["key points", "drop", "table", "key", "points"]),
        ("\0 \ud800 \n", []),
    ],
)
def test_words_of_a_question(question: str, expected: list[str]) -> None:
    """Never an operator of the search."""
    assert _words(question) == expected


def test_long_question_keeps_both_ends() -> None:
    """Identifiers use a third of the terms at most."""
    found = terms(" ".join(f"a{n}.py {'b' * n}" for n in range(3, 80)))

    assert len(found) == MOST_TERMS
    assert sum(term.is_whole for term in found) == MOST_TERMS // 3
    assert {"a3 py", "a79 py", "a3", "b" * 79} <= {" ".join(term.words) for term in found}


@pytest.mark.parametrize(
    ("question", "weight"),
    [
        ("umlaut", 1.0),
        ("tests", 0.6),
        ("wanted", 0.6),  # a form of a stop word
        ("TS2589", 1.5),
        ("42", 0.5),
        ("500", 1.0),
        ("猫", 0.5),
    ],
)
def test_names_weigh_more_than_words(question: str, weight: float) -> None:
    assert terms(question)[0].weight == weight


def test_repeated_word_weighs_more() -> None:
    weights = {term.words[0]: term.weight for term in terms("Pool, pool! src/client.py, client: umlaut in src")}

    assert weights["pool"] == weights["client"] == weights["src"] > weights["umlaut"] == 1.0
    assert weights["pool"] < 1.5


@pytest.mark.parametrize("question", ["umlaut's", "umlaut\u2019s,", "isn't the umlaut", "'umlaut'"])
def test_contractions_are_ignored(question: str) -> None:
    assert _words(question) == ["umlaut"]


def test_middle_of_a_long_question_is_ignored() -> None:
    assert _words("parser " + "x " * 50_000 + "umlaut") == _words("parser x umlaut")


@given(st.text(max_size=200))
def test_terms_are_letters_and_digits(text: str) -> None:
    """So a database reads no operator in them."""
    for term in terms(text):
        assert term.words
        assert all(word.isalnum() for word in term.words)


def test_rare_words_rank_first() -> None:
    common, rare = Term(("tests",)), Term(("parser",))

    best = ranked([(common, range(100)), (rare, [7, 3])], 100)

    assert [number for number, _ in best[:3]] == [3, 7, 0]
    assert best[2][1] < best[1][1] / 100


@pytest.mark.parametrize("live", [1, 20, 500, 10_000])
def test_unique_word_counts_one(live: int) -> None:
    once = [(Term(("parser",)), [1])]

    assert ranked(once, live) == [(1, pytest.approx(1))]
    assert ranked([*once, (Term(("parsers",)), [1])], live) == ranked(once, live)
    assert ranked([*once, (Term(("umlaut",)), [1])], live) == [(1, pytest.approx(2))]
    assert ranked([], live) == []


def test_one_word_is_enough_for_a_short_question() -> None:
    """A common word is not, and an error needs more."""
    few, more = ([Term((f"w{n}",)) for n in range(count)] for count in (9, 11))

    assert 0.6 < least_fitting(few[:1]) == least_fitting(few) < 1
    assert least_fitting(few) < least_fitting(more[:10]) < least_fitting(more)
    assert 1 < least_fitting(few[:5], strongly=True) < 2 < least_fitting(more, strongly=True) == 3


def test_long_point_needs_more() -> None:
    assert [stretched(0.7, "x" * length) for length in (40, 200)] == [0.7, 0.7]
    assert stretched(1.5, "x" * 800) == 3.0
