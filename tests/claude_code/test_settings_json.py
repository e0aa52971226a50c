"""Our hooks in the text of a settings file, whatever that text looks like."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.claude_code import settings_json
from playbook_db.claude_code.settings_json import JsonTextError, with_hooks, without_hooks

STARTED = {"type": "command", "command": "exec inject # playbook-db", "timeout": 5}
ENDED = {"type": "command", "command": "exec 'é' # playbook-db", "timeout": 10}
WANTED: dict[str, settings_json.Entry] = {"SessionStart": {**STARTED}, "SessionEnd": {**ENDED}}

_NUMBERS = ("1", "1.0", "1e5", "-0", "12345678901234567890123", "9" * 5000)
_STRINGS = ('"a\\/b"', '"\\u00e9 é 🎉"', '"\\ud800"', '"# playbook-db"', '"NaN, /* no */ // comment, ]}"', '""')
_SCALARS = st.sampled_from((*_NUMBERS, *_STRINGS, "true", "null"))
_SPACE = st.sampled_from(["", "", " ", "\n", "\r\n", "\t", "\n\n  ", " \n"])
_KEYS = st.sampled_from(['"a"', '"b"', '"hooks"', '"command"', '"\\u0061b"', '"é"', '""'])
_FOREIGN_GROUPS = st.sampled_from(
    (
        '"odd"',
        "{}",
        "null",
        "[ ]",
        '{"hooks": "x"}',
        '{"hooks": []}',
        '{"hooks": 1, "hooks": []}',
        '{ "hooks":[{"type": "command"}, 7] }',
        '{"matcher": "*", "hooks": [{"type": "command", "command": "x", "timeout": 1.0}]}',
        '{"hooks": [{"command": "# playbook-db not", "command": 3}]}',
    )
)


@st.composite
def _containers(draw: st.DrawFn, brackets: str, elements: Any, *, unique: bool = False) -> str:
    """A list or an object of *elements*, with any space that JSON allows."""
    key = (lambda element: element.split(":")[0].strip()) if unique else None
    found = draw(st.lists(elements, max_size=3, unique_by=key))
    inner = ",".join(draw(_SPACE) + element + draw(_SPACE) for element in found) or draw(_SPACE)
    return f"{brackets[0]}{inner}{brackets[1]}"


@st.composite
def _members(draw: st.DrawFn, keys: Any, values: Any) -> str:
    return f"{draw(keys)}{draw(_SPACE)}:{draw(_SPACE)}{draw(values)}"


_VALUES = st.recursive(
    _SCALARS, lambda inner: _containers("[]", inner) | _containers("{}", _members(_KEYS, inner)), max_leaves=6
)
_EVENT_NAMES = st.sampled_from(['"SessionStart"', '"SessionEnd"', '"Stop"', '"\\u0053topped"'])
_EVENTS = _containers("{}", _members(_EVENT_NAMES, _containers("[]", _FOREIGN_GROUPS)), unique=True)
_TOP_MEMBERS = _members(st.just('"hooks"'), _EVENTS) | _members(
    st.sampled_from(['"model"', '"env"', '"é\\n"']), _VALUES
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """The text of a settings file: any content, in any formatting, with foreign hooks or without."""
    text = draw(_SPACE) + draw(_containers("{}", _TOP_MEMBERS, unique=True)) + draw(_SPACE)
    with_number_of_any_length = "9" * 5000 in text
    indent, newline = draw(st.sampled_from([None, 2, 4, "\t", 0])), draw(st.sampled_from(["\n", "\r\n"]))
    if draw(st.booleans()) and not with_number_of_any_length:
        text = json.dumps(json.loads(text), indent=indent).replace("\n", newline) + draw(_SPACE)
    return text


def _content(text: str) -> Any:
    return json.loads(text, parse_int=str)


def _append(text: str, value: object, *, key: str) -> str:
    """*text* with a further member, as our own edits add one."""
    start = len(text) - len(text.lstrip(" \t\r\n"))
    return settings_json.append(text, settings_json._container(text, start, "{"), value, key=key)


@given(text=documents())
def test_an_install_adds_our_hooks_and_nothing_else(text: str) -> None:
    """The parsed content is the old one, with one group of ours behind what each event had."""
    expected = _content(text)
    for event, entry in WANTED.items():
        group = {"hooks": [{**entry, "timeout": str(entry["timeout"])}]}
        expected.setdefault("hooks", {}).setdefault(event, []).append(group)

    assert _content(with_hooks(text, WANTED)) == expected


@given(text=documents())
def test_an_install_keeps_every_character_that_was_there(text: str) -> None:
    """What was written before, spaces apart, is all there after, in its order."""
    new = iter(with_hooks(text, WANTED))

    assert all(letter in new for letter in text if not letter.isspace())


@given(text=documents())
def test_a_second_install_changes_nothing(text: str) -> None:
    """Installing is idempotent to the character."""
    once = with_hooks(text, WANTED)

    assert with_hooks(once, WANTED) == once


@given(text=documents())
def test_an_uninstall_gives_back_the_exact_text_of_before(text: str) -> None:
    """Any formatting, any content: install and uninstall leave no trace."""
    assert without_hooks(with_hooks(text, WANTED), origin=text) == text


@given(text=documents())
def test_a_later_edit_of_the_settings_survives_the_uninstall(text: str) -> None:
    """The file is what it would be had the edit been made without us."""

    def edited(before: str) -> str:
        return _append(before, "x", key="later")

    old = json.loads(edited(text), parse_int=str)
    new = json.loads(without_hooks(edited(with_hooks(text, WANTED)), origin=text), parse_int=str)

    assert new == old


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{}\n",
        '{"a":1}',
        '{"a": 1, "b": [1.0, 1e5]}\n',
        '{ "a": 1 }',
        '{\n  "a": "\\/ é"\n}\n',
        '{\n    "a": 12345678901234567890\n}',
        '{\r\n\t"a": 1\r\n}\r\n',
        '{\n"a":1\n}\n',
        '{\n  "hooks": {\n    "Stop": [{"hooks": [{"type": "command", "command": "x"}]}]\n  },\n\n  "a": 1\n}\n',
        '{"\\u0068ooks": {"Stop": ["odd"]}}',
        '{\n  "a" : 1 ,\n  "b" : 2 }\n',
        '{\n  "hooks": {"SessionStart": [{"hooks": []}]}\n}\n',
    ],
)
def test_an_uninstall_needs_no_backup_to_be_exact(text: str) -> None:
    """Where there were no empty containers on our way, the text alone tells what was ours."""
    assert without_hooks(with_hooks(text, WANTED)) == text


def test_what_is_added_looks_like_the_rest_of_the_file() -> None:
    """Indentation, line breaks and the space at a colon are the file's own."""
    text = '{\r\n\t"a" : 1\r\n}'

    assert _append(text, {"Stop": [{"b": "é"}]}, key="hooks") == (
        '{\r\n\t"a" : 1,\r\n\t"hooks" : {\r\n\t\t"Stop" : [\r\n\t\t\t{\r\n\t\t\t\t"b" : "é"\r\n'
        "\t\t\t}\r\n\t\t]\r\n\t}\r\n}"
    )
    assert _append('{"a":1}', {"b": ["é"]}, key="c") == '{"a":1,"c":{"b":["é"]}}'
    assert _append('{"a": 1}', {"b": [1, 2]}, key="c") == '{"a": 1, "c": {"b": [1, 2]}}'
    assert '\n     "hooks": {\n       "b"' in _append('   {\n     "a": 1\n   }', {"b": 1}, key="hooks")


def test_a_hook_of_ours_that_changed_is_changed_where_it_stands() -> None:
    """Only its own values change: its group, its place and what someone added to it stay."""
    group = (
        '{"matcher": "startup",\n "hooks": [{"type": "command", "command": "- # playbook-db", "x": 1.0, "timeout": 9}]}'
    )
    text = f'{{\n  "hooks": {{"SessionStart": [{group}, {{"hooks": []}}]}}\n}}\n'

    changed = with_hooks(text, {"SessionStart": WANTED["SessionStart"]})

    assert changed == text.replace("- #", "exec inject #").replace('"timeout": 9', '"timeout": 5')


def test_a_hook_of_ours_that_is_written_in_another_way_is_left_so() -> None:
    """Equal is what parses to the same."""
    text = with_hooks("{}", WANTED).replace("exec inject", "exec\\u0020inject")

    assert with_hooks(text, WANTED) == text


def test_a_hook_of_ours_that_lacks_its_timeout_is_given_one() -> None:
    """What is missing is added to the entry."""
    text = '{"hooks": {"Stop": [{"hooks": [{"command": "old # playbook-db"}]}]}}'

    assert json.loads(with_hooks(text, {"Stop": {**STARTED}})) == {"hooks": {"Stop": [{"hooks": [STARTED]}]}}


def test_hooks_of_ours_that_are_too_many_go() -> None:
    """One an event is left, the first; one at an event that we no longer use goes with the list it leaves empty."""
    one, other = '{"command": "1 # playbook-db"}', '{"command": "theirs"}'
    groups = f'{{"hooks": [{one}, {other}, {one}]}}, {{"hooks": [{one}]}}'
    text = f'{{"hooks": {{"Old": [{{"hooks": [{one}]}}], "Stop": [{groups}]}}}}'

    expected = {"hooks": {"Stop": [{"hooks": [STARTED, {"command": "theirs"}]}]}}
    assert json.loads(with_hooks(text, {"Stop": {**STARTED}})) == expected


def test_an_uninstall_takes_ours_from_every_event_and_group() -> None:
    """Also where an older version or a person put them; others' hooks in the same group stay."""
    ours, theirs = '{"command": "1 # playbook-db"}', '{"command": "theirs"}'
    text = (
        f'{{"hooks": {{"Old": [{{"hooks": [{ours}]}}], "Stop": [{{"hooks": [{ours}, {theirs}]}}, {{"hooks": []}}]}}}}'
    )

    assert without_hooks(text) == f'{{"hooks": {{"Stop": [{{"hooks": [{theirs}]}}, {{"hooks": []}}]}}}}'


def test_containers_that_were_there_before_us_stay_though_empty() -> None:
    """`hooks` and the list of an event go only where our install made them."""
    before = '{"hooks": {"SessionEnd": []}, "model": "a"}'
    later = with_hooks(before, WANTED).replace('"model": "a"', '"model": "b"')

    assert without_hooks(later, origin=before) == before.replace('"a"', '"b"')
    assert without_hooks(later) == '{"model": "b"}'


def test_a_key_twice_beside_our_way_is_nobodys_business() -> None:
    """Both stay as they are."""
    text = '{"a": 1, "a": 2, "hooks": {"Stop": [1], "Stop": [2]}}'

    assert without_hooks(with_hooks(text, WANTED)) == text
    assert with_hooks(text, WANTED).startswith(text[:-2])


@pytest.mark.parametrize(
    ("text", "at", "problem"),
    [
        ("", (1, 1), "empty"),
        ("\n ", (2, 2), "empty"),
        ('{"a": 1\r\n // b\n}', (2, 2), "no comments"),
        ('{"a": NaN}', (1, 7), "NaN"),
        ('{"NaN": "-Infinity",\n"a": [-Infinity]}', (2, 7), "-Infinity"),
        ('{"a": 1} x', (1, 10), "no JSON"),
        ("[]", (1, 1), "must be an object"),
        (" 7", (1, 2), "must be an object"),
        ('{"hooks": []}', (1, 11), "must be an object"),
        ('{\n"hooks": null}', (2, 10), "must be an object"),
        ('{"hooks": {"Stop": {}}}', (1, 20), "must be a list"),
        ('{"hooks": {}, "hooks": {}}', (1, 15), "second time"),
        ('{"hooks": {"Stop": [], "Stop": []}}', (1, 24), "second time"),
        ('{"hooks": {"Stop": [{"hooks": [], "hooks": [{"command": "# playbook-db"}]}]}}', (1, 35), "second time"),
        ('{"hooks": {"Stop": [{"hooks": [{"command": "# playbook-db", "command": ""}]}]}}', (1, 61), "second time"),
        ("[" * 100_000, (1, 1), "nested too deeply"),
    ],
)
def test_what_cant_be_edited_safely_is_refused_with_its_place(text: str, at: tuple[int, int], problem: str) -> None:
    """Line and column count from 1, whatever ends the lines."""
    with pytest.raises(JsonTextError, match=problem) as caught:
        with_hooks(text, {"Stop": {**STARTED}})

    assert settings_json.line_and_column(text, caught.value.position) == at


def test_a_comma_before_a_closing_bracket_is_refused() -> None:
    """Python 3.13 points at the comma, older ones behind it; the line is the same."""
    with pytest.raises(JsonTextError, match="no comma before a closing bracket") as caught:
        with_hooks('{\n"a": 1,\n}', WANTED)

    assert settings_json.line_and_column('{\n"a": 1,\n}', caught.value.position)[0] in (2, 3)


@pytest.mark.parametrize("text", ["[]", '{"hooks": 3}', '{"hooks": {"Stop": 1}}', '{"hooks": {}, "hooks": 1}'])
def test_an_uninstall_passes_over_odd_shapes(text: str) -> None:
    """Where nothing is ours there is nothing to refuse."""
    assert without_hooks(text) == text


def test_an_edit_that_comes_out_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in the editing of the text never reaches a file: the result is parsed and compared."""
    append = settings_json.append
    monkeypatch.setattr(settings_json, "append", lambda text, *a, **k: append(text, *a, **k).replace("1.0", "1.00"))

    with pytest.raises(JsonTextError, match="more than our hooks"):
        with_hooks('{"a": 1.0}', WANTED)


def test_an_edit_that_loses_a_key_that_stands_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most readers see the last one only; the comparison sees both."""
    append = settings_json.append
    monkeypatch.setattr(settings_json, "append", lambda text, *a, **k: append(text, *a, **k).replace('"a": 1, ', ""))

    with pytest.raises(JsonTextError, match="more than our hooks"):
        with_hooks('{"a": 1, "a": 2}', WANTED)


@pytest.mark.parametrize("change", [("5", "6"), ("exec inject", "exec other"), ("SessionStart", "Stop")])
def test_a_hook_that_comes_out_wrong_is_refused(monkeypatch: pytest.MonkeyPatch, change: tuple[str, str]) -> None:
    """Ours are then exactly those that were asked for, at their events."""
    append = settings_json.append
    monkeypatch.setattr(settings_json, "append", lambda text, *a, **k: append(text, *a, **k).replace(*change))

    with pytest.raises(JsonTextError, match="more than our hooks"):
        with_hooks('{"a": 1}', {"SessionStart": WANTED["SessionStart"]})


def test_a_removal_that_comes_out_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for an uninstall."""
    text = with_hooks('{"a": 1}', WANTED)
    remove = settings_json.remove
    monkeypatch.setattr(settings_json, "remove", lambda *a: remove(*a).replace('"a"', '"b"'))

    with pytest.raises(JsonTextError, match="more than our hooks"):
        without_hooks(text)
