"""Our hooks in the text of a settings file: allowed and refused edits."""

import json
from json import JSONDecodeError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbook_db.claude_code.setup import settings_json
from playbook_db.claude_code.setup.settings_json import with_hooks, with_value, without_hooks

STARTED = {"type": "command", "command": "exec inject # playbook-db", "timeout": 5}
ENDED = {"type": "command", "command": "exec 'é' # playbook-db", "timeout": 10}
WANTED: dict[str, settings_json.Entry] = {"SessionStart": {**STARTED}, "SessionEnd": {**ENDED}}
OURS, THEIRS = '{"command": "1 # playbook-db"}', '{"command": "theirs"}'

_NUMBERS = ("1", "1.0", "1.5", "-7", "12345678901234567890123")
_STRINGS = ('"a\\/b"', '"\\u00e9 é 🎉"', '"\\ud800"', '"# playbook-db"', '"NaN, /* no */ // comment, ]}"', '""')
_SCALARS = st.sampled_from((*_NUMBERS, *_STRINGS, "true", "null"))
_SPACE = st.sampled_from(["", "", " ", "\n", "\r\n", "\t", "\n\n  ", " \n"])
_KEYS = st.sampled_from(['"a"', '"b"', '"hooks"', '"command"', '"\\u0061b"', '"é"', '""'])
_FOREIGN_GROUPS = st.sampled_from(
    (
        '"odd"',
        "{}",
        "[ ]",
        '{"hooks": []}',
        '{ "hooks":[{"type": "command"}, 7] }',
        '{"matcher": "*", "hooks": [{"type": "command", "command": "x", "timeout": 1.0}]}',
    )
)


@st.composite
def _containers(draw: st.DrawFn, brackets: str, elements: Any) -> str:
    """A list or an object of *elements*, with any space that JSON allows; no key is used twice."""
    key = (lambda element: element.split(":")[0].strip()) if brackets == "{}" else None
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
_EVENTS = _containers("{}", _members(_EVENT_NAMES, _containers("[]", _FOREIGN_GROUPS)))
_TOP_MEMBERS = _members(st.just('"hooks"'), _EVENTS) | _members(
    st.sampled_from(['"model"', '"env"', '"é\\n"']), _VALUES
)


def _content(text: str) -> Any:
    """The content of *text*, with numbers as texts."""
    return json.loads(text, parse_int=str, parse_float=str)


def _in_order(content: Any) -> str:
    """*content* as one text, in which the order of keys counts."""
    return json.dumps(content)


@given(before=_SPACE, settings=_containers("{}", _TOP_MEMBERS), after=_SPACE)
def test_hooks_are_added_and_removed(before: str, settings: str, after: str) -> None:
    text = before + settings + after
    added, removed = _content(text), _content(text)
    for event, entry in WANTED.items():
        group = {"hooks": [{**entry, "timeout": str(entry["timeout"])}]}
        added.setdefault("hooks", {}).setdefault(event, []).append(group)
        if removed.get("hooks", {}).get(event) == []:
            del removed["hooks"][event]
    if not removed.get("hooks", True):
        del removed["hooks"]

    installed = with_hooks(text, WANTED)

    assert _in_order(_content(installed)) == _in_order(added)
    assert with_hooks(installed, WANTED) == installed
    assert _in_order(_content(without_hooks(installed))) == _in_order(removed)


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ('{\r\n\t"b": []\r\n}', '{\r\n\t"b": [],\r\n\t"env": {\r\n\t\t"A": "é"\r\n\t}\r\n}'),
        ('{\n    "b": {}\n}\n', '{\n    "b": {},\n    "env": {\n        "A": "é"\n    }\n}\n'),
        ('\n{"b":1.5}\n\n', '\n{"b": 1.5, "env": {"A": "é"}}\n\n'),
        ('{"b": "\\ud800\\u00fc"}', '{"b": "\\ud800ü", "env": {"A": "é"}}'),
        ("{}", '{\n  "env": {\n    "A": "é"\n  }\n}'),
    ],
)
def test_new_text_has_the_files_style(text: str, changed: str) -> None:
    assert with_value(text, ("env", "A"), "é") == changed


def test_surplus_hooks_are_removed() -> None:
    groups = f'{{"hooks": [{OURS}, {THEIRS}, {OURS}]}}, {{"hooks": [{OURS}]}}'
    text = f'{{"hooks": {{"Old": [{{"hooks": [{OURS}]}}], "Stop": [{groups}]}}}}'
    expected = {"hooks": {"Stop": [{"hooks": [{**STARTED}, {"command": "theirs"}]}]}}
    assert json.loads(with_hooks(text, {"Stop": {**STARTED}})) == expected


def test_uninstall_removes_hooks_everywhere() -> None:
    text = (
        f'{{"hooks": {{"Old": [{{"hooks": [{OURS}]}}], "Stop": [{{"hooks": [{OURS}, {THEIRS}]}}, {{"hooks": []}}],'
        f' "Empty": [], "Odd": {OURS}}}}}'
    )
    expected = f'{{"hooks": {{"Stop": [{{"hooks": [{THEIRS}]}}, {{"hooks": []}}], "Empty": [], "Odd": {OURS}}}}}'
    assert without_hooks(text) == expected


@pytest.mark.parametrize(
    ("text", "at", "problem"),
    [
        ("", (1, 1), "empty"),
        ('{"a": 1\r\n // b\n}', (2, 2), "no comments"),
        ('{"a": 1} x', (1, 10), "not JSON"),
    ],
)
def test_invalid_json_is_refused_with_its_place(text: str, at: tuple[int, int], problem: str) -> None:
    with pytest.raises(JSONDecodeError, match=problem) as caught:
        with_hooks(text, {"Stop": {**STARTED}})
    assert (caught.value.lineno, caught.value.colno) == at


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a": NaN}', "NaN is not a number"),
        ("[]", "the content must be an object"),
        ('{\n"hooks": null}', '"hooks" must be an object'),
        ('{"a": {"Stop": 1}, "hooks": {"Stop": {}}}', '"hooks.Stop" must be a list'),
        ('{"hooks": {"Stop": [], "\\u0053top": []}}', 'the key "Stop" is used twice'),
        ('{"x": [{"a": 1},\n {"a": 1, "b": {"a": 1}, "a": 2}]}', 'the key "a" is used twice'),
    ],
)
def test_ambiguous_json_is_refused_with_its_key(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        with_hooks(text, {"Stop": {**STARTED}})


@pytest.mark.parametrize("change", [("1.0", "1.25"), ('"a": 1.0,', ""), ("exec inject", "exec other")])
def test_wrong_result_is_refused(monkeypatch: pytest.MonkeyPatch, change: tuple[str, str]) -> None:
    write = settings_json.write_json

    def write_wrong(value: object, indent: int | str | None = None) -> str:
        return write(value, indent).replace(*change) if indent else write(value)

    monkeypatch.setattr(settings_json, "write_json", write_wrong)

    with pytest.raises(ValueError, match="a bug in playbook-db"):
        with_hooks('{\n"a": 1.0\n}', WANTED)


def test_losing_other_hooks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    take_out = settings_json._take_out
    monkeypatch.setattr(settings_json, "_take_out", lambda content, _: take_out(content, lambda hook: True))
    with pytest.raises(ValueError, match="a bug in playbook-db"):
        without_hooks(f'{{"hooks": {{"Stop": [{{"hooks": [{OURS}, {THEIRS}]}}]}}}}')
