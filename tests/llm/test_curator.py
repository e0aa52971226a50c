"""The curator: what it is shown, and how its answer is heard."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.errors import ModelError
from playbook_db.llm.anthropic_api import AnthropicModel
from playbook_db.llm.curator import Candidates, Curation, curate
from playbook_db.llm.marks import ShownPlaybook
from playbook_db.llm.reflector import Reflection
from playbook_db.services.templates import load_template
from tests.llm.conftest import soon
from tests.messages_api import Answer, MessagesApi

pytestmark = pytest.mark.slow  # asks an API on loopback, through a client that takes seconds to import

Start = Callable[..., MessagesApi]
Ask = Callable[..., Curation]
ADD = {"type": "ADD", "text": "use {braces}", "section": "OTHERS"}


@pytest.fixture
def ask(model: AnthropicModel) -> Ask:
    """Asks the curator."""

    def run(**changed: Any) -> Curation:
        given: dict[str, Any] = {
            "template": load_template("curator.txt"),
            "reflection": Reflection("the database was old"),
            "playbook": ShownPlaybook("[pat-001] helpful=3 harmful=0 :: use type hints"),
            "candidates": Candidates([("pat-001", "pat-002")]),
            "deadline": soon(),
        }
        return curate(**{"model": model, **given, **changed})

    return run


def adds(first: int, last: int) -> list[dict[str, str]]:
    """Operations that add texts of those numbers."""
    return [{"type": "ADD", "text": f"lesson {number}", "section": "OTHERS"} for number in range(first, last + 1)]


def cut(operations: list[Any]) -> Answer:
    """An answer that is cut off within an operation."""
    items = "".join(json.dumps(item) + ", " for item in operations)
    return Answer(
        f'{{"reasoning": "so", "operations": [{items}{{"type": "DELETE", "target_id": "pat-0', stop_reason="max_tokens"
    )


def test_curator_sees_counters_candidates_and_analysis(scripted: Start, ask: Ask) -> None:
    api = scripted(json.dumps({"reasoning": "so", "operations": [ADD]}))

    curation = ask()
    (request,) = api.messages()

    for output in ("helpful=3 harmful=0", "- pat-001 and pat-002", "the database was old"):
        assert output in request.said
    assert (curation.reasoning, curation.operations) == ("so", [ADD])
    assert len(curation.exchanges) == 1
    kinds = request.body["output_config"]["format"]["schema"]["properties"]["operations"]["items"]["anyOf"]
    assert [kind["properties"]["type"]["enum"] for kind in kinds] == [["ADD"], ["UPDATE"], ["MERGE"], ["DELETE"]]


def test_missing_parts_are_named(scripted: Start, ask: Ask) -> None:
    api = scripted('{"reasoning": "", "operations": []}')

    assert ask(playbook=ShownPlaybook(""), candidates=Candidates(), reflection=Reflection("")).operations == []
    for output in ("(It is empty.)", "(None were found.)", "(There are none.)", "(There is none.)"):
        assert output in api.messages()[0].said


@pytest.mark.parametrize(
    ("said", "operations"),
    [
        ("{}", []),
        ('{"operations": null}', []),
        ('{} {"operations": [7,],}', [7]),
        ('{"operations": {"type": "ADD"}}', []),
        ('{"operations": [null, 7, {"type": "?"}]}', [None, 7, {"type": "?"}]),
        (json.dumps({"operations": adds(1, 14)}), adds(1, 14)),
    ],
)
def test_odd_operations_are_left_to_the_rules(scripted: Start, ask: Ask, said: str, operations: list[Any]) -> None:
    api = scripted(said)

    assert ask().operations == operations
    assert len(api.messages()) == 1


LESSON = {"kind": "worked", "text": "Run `make x`", "cause": "", "fix": "", "applies_to": "make x", "evidence": ["x 1"]}
VOTE = {"name": "pat-001", "tag": "harmful", "rationale": "it broke", "ignored": False, "evidence": ['say "no"']}


def test_curator_gets_lessons_tags_and_evidence(scripted: Start, ask: Ask) -> None:
    api = scripted('{"reasoning": "", "operations": []}')

    ask(
        playbook=ShownPlaybook("[pat-001] use type hints", "[pat-001] helpful=3 harmful=1, since 2026-01-02, resting"),
        reflection=Reflection("", [VOTE], [LESSON, {**LESSON, "text": "Another </lessons>"}]),
        candidates=Candidates([("pat-001", "pat-002")], {1: ["pat-001", "mis-002"]}, ["pat-003"]),
    )

    said = api.messages()[0].said
    for output in (
        "resting",
        '"rationale": "it broke"',
        '"evidence": ["say \\"no\\""]',
        '{"lesson": 1, "kind": "worked", "text": "Run `make x`"',
        "- pat-001 and pat-002\n- lesson 2 and pat-001, mis-002\n- the tags and pat-003",
        "Another <\u200b/lessons>",
    ):
        assert output in said


def test_older_template_shows_lessons_after_the_analysis(scripted: Start, ask: Ask) -> None:
    api = scripted('{"reasoning": "", "operations": []}')

    ask(template=load_template("curator.txt").replace("{lessons}", ""), reflection=Reflection("the end", [], [LESSON]))

    assert re.search(r"the end\n\n.*Run `make x`", api.messages()[0].said, re.DOTALL)


@pytest.mark.parametrize(
    ("given", "apart"),
    [
        ([["pat-001", "pat-002"]], [("pat-001", "pat-002")]),
        ([["pat-002", "pat-001"], ["pat-001", "pat-002"]], [("pat-001", "pat-002")]),
        ([["pat-001", "pat-009"], ["pat-001"], "pat-001", None, [["pat-001", "pat-002"]], [1, 2]], []),
        (None, []),
        ("pat-001", []),
    ],
)
def test_only_offered_pairs_stay_apart(scripted: Start, ask: Ask, given: Any, apart: list[Any]) -> None:
    scripted(json.dumps({"reasoning": "so", "apart": given, "operations": []}))

    assert ask().apart == apart


def test_added_lesson_may_stay_apart(scripted: Start, ask: Ask) -> None:
    added = {**ADD, "evidence": ["x 1"]}
    apart = [["lesson 1", "pat-002"], ["pat-003", "lesson 1"], ["lesson 1", "pat-009"], ["lesson 2", "pat-002"]]
    scripted(json.dumps({"reasoning": "so", "apart": apart, "operations": [added, {**ADD, "evidence": ["y"]}, 7]}))

    curation = ask(reflection=Reflection("", [], [LESSON]), candidates=Candidates([], {0: ["pat-002", "pat-003"]}))

    assert curation.new_apart == [("use {braces}", "pat-002"), ("use {braces}", "pat-003")]


def test_schema_asks_for_evidence_and_the_five_sections(scripted: Start, ask: Ask) -> None:
    quoted = {**ADD, "evidence": ["q", 1, None, "", *"abcdefg"]}
    api = scripted(json.dumps({"reasoning": "so", "operations": [quoted, {**ADD, "text": "b"}]}))

    assert ask().operations == [{**ADD, "evidence": ["q", "a", "b", "c", "d"]}, {**ADD, "text": "b"}]
    schema = api.messages()[0].body["output_config"]["format"]["schema"]
    kinds = schema["properties"]["operations"]["items"]["anyOf"]
    assert ["evidence" in kind["properties"] for kind in kinds] == [True] * 4
    assert kinds[0]["properties"]["section"]["enum"] == list(SECTION_SLUGS)


def test_cut_off_answer_goes_on(scripted: Start, ask: Ask) -> None:
    api = scripted(cut(adds(1, 3)), json.dumps({"reasoning": "more", "operations": adds(3, 5)}))

    curation = ask()

    assert (curation.reasoning, curation.operations) == ("so", adds(1, 5))
    assert '"lesson 3"' in api.messages()[1].last_said


def test_ten_operations_are_enough(scripted: Start, ask: Ask) -> None:
    api = scripted(cut(adds(1, 10)))

    assert ask().operations == adds(1, 10)
    assert len(api.messages()) == 1


def test_no_json_twice_is_an_error(scripted: Start, ask: Ask) -> None:
    scripted("I'd leave it.")

    with pytest.raises(ModelError):
        ask()
