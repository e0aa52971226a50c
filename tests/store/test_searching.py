"""Search for points: a file and a server give the same answers."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks.quality import retrieval_corpus
from playbook_db.domain import playbook_file
from playbook_db.services import maintenance
from playbook_db.services.playbook import edit, import_export
from playbook_db.services.playbook.forget import Request, forget
from playbook_db.services.project import Project
from playbook_db.store.engine import open_store
from playbook_db.store.postgres.postgres_dialect import MATCHING
from tests.databases import DISTRIBUTED, KINDS, raw_connection
from tests.postgres import drop_database, new_database, require_server

pytestmark = pytest.mark.postgres

TEXTS = (
    "In src/api/users.py the session must be closed",
    "Install with uv and --no-cache",
    "parse_header wants bytes",
    "E1101 comes from a stale stub",
    "改了配置要重启服务",
    "Кэш и Café, École; नमस्ते दुनिया",
    "NUL\0stands here",
    "retired advice",
)


@pytest.fixture
def filled(project: Project) -> Project:
    """A project with these points; the last is retired."""
    for text in TEXTS:
        edit.add(project, text)
    edit.retire(project, "oth-008")
    return project


def _import(project: Project, texts: Iterable[str]) -> None:
    entries = [{"name": f"oth-{number:04}", "text": text} for number, text in enumerate(texts, 1)]
    document = json.dumps({"version": "1.0", "sections": {"OTHERS": entries}}).encode()
    import_export.import_playbook(project, playbook_file.decode(document, source="a test"), source="a test")


def _scored(project: Project, question: str) -> list[tuple[str, float]]:
    with project.store.read(project.key) as book:
        found = book.search(question)
    assert not found.is_damaged
    return [(point.name, score) for point, score in found.points]


def _found(project: Project, question: str) -> list[str]:
    return [name for name, _ in _scored(project, question)]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("why does users.py fail", ["oth-001"]),
        ("API", ["oth-001"]),
        ("caching", ["oth-002"]),
        ("the header", ["oth-003"]),
        ("置要", ["oth-005"]),
        ("cafe КЭШ", ["oth-006"]),
        ("दुनिया", ["oth-006"]),
        ("oth-004", ["oth-004"]),
        ("oth", []),
        ("retired", []),
        ("\0 '' \\ :* | & ! <-> ( \ufdd0", []),
    ],
)
def test_search_finds(filled: Project, question: str, expected: list[str]) -> None:
    """Whole names, their parts, other forms of a word, other scripts, and no operators."""
    assert _found(filled, question) == expected


def test_index_follows_every_change(filled: Project) -> None:
    edit.edit(filled, "oth-002", text="Install with pip")
    assert (_found(filled, "cache"), _found(filled, "pip")) == ([], ["oth-002"])
    edit.retire(filled, "oth-002")
    assert _found(filled, "pip") == []
    edit.restore(filled, "oth-002")
    assert _found(filled, "pip") == ["oth-002"]
    forget(filled, Request(name="oth-002"))
    assert _found(filled, "pip") == []
    maintenance.rebuild_search(str(filled.store.url))
    assert _found(filled, "users.py E1101") == ["oth-001", "oth-004"]


def test_other_points_change_no_score(filled: Project) -> None:
    before = _scored(filled, "the session header of users.py")
    other = Project(filled.store, f"{filled.key}/other")
    for number in range(20):
        edit.add(other, f"session header users.py {number}")

    assert _scored(filled, "the session header of users.py") == before
    assert len(before) == 2


@pytest.mark.parametrize("text", ["x" * 30_000, " ".join(map(str, range(60_000)))])
def test_no_text_is_too_long_for_the_index(project: Project, text: str) -> None:
    _import(project, [f"begin {text}"])

    assert _found(project, "begins") == ["oth-0001"]


@pytest.mark.slow
def test_server_answers_as_a_file_does(tmp_path: Path) -> None:
    """The questions of the benchmark get the same names and scores."""
    require_server()
    splits = retrieval_corpus.SPLITS
    texts = [*dict.fromkeys(point.text for point in retrieval_corpus.read_points("named"))]
    asked = [each.text for split in splits for each in retrieval_corpus.read_prompts(split)]
    asked += [each.text for split in splits for each in retrieval_corpus.read_nothing(split)]
    asked = asked[::8]
    answers = []
    for kind in KINDS.values():
        with open_store(kind.new(tmp_path)) as store:
            project = Project(store, "/work/harbour")
            _import(project, texts)
            answers.append({question: _scored(project, question) for question in asked})

    of_file, of_server = answers
    for question, answer in of_file.items():
        assert of_server[question] == answer, question
    assert sum(map(len, of_file.values())) > 100


@pytest.mark.slow
def test_server_search_uses_its_index() -> None:
    """Each text that is read costs a millisecond."""
    if DISTRIBUTED:
        pytest.skip("Citus needs the playbook in the query, and its planner uses statistics")
    require_server()
    url = new_database()
    with open_store(url.render_as_string(hide_password=False)) as store:
        _import(Project(store, "/work/harbour"), (f"use ruff, number {number}" for number in range(200)))
        with raw_connection(store) as raw:
            values = {"words": ["ruff"], "wholes": [False], "playbook_id": 1, "most": 9}
            plan = "\n".join(row[0] for row in raw.execute("EXPLAIN " + MATCHING, values))
    drop_database(url)

    assert "Bitmap Index Scan on ix_key_points_search" in plan
