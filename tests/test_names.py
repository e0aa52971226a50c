"""The words of the code: each name says one thing, and no name is one of the words that were given up."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import playbook_db
from tests import prose

ROOT = Path(playbook_db.__file__).parent
MODULES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}
INSTEAD = {
    "message, row, record, text": "tell tells told",
    "result, matches, query, filter": "found wanted asked look looks seen",
    "chunk": "stretch stretches lesson lessons passage passages",
    "erase, redact": "blank blanked scrub entomb mask masked",
    "retired, undone": "left gone",
    "repository": "past standing",
    "learned": "learnt",
    "layer, package, module": "floor room house",
}
NOT_SAID = {word: instead for instead, words in INSTEAD.items() for word in words.split()}
# Words that no name in a clean test has.
GIVEN_UP = {"told", "tell", "tells", "anew", "learnt", "mend", "mends", "mended", "entombed", "whoever"}
TAKE_BACK = re.compile("(take|taken|taking|took)_back(_|$)")
# They say when a thing came, not what it is.
PARTICIPLES = {"given", "found", "made", "kept", "said", "told", "asked", "left"}
PREDICATES = {"is", "was", "are", "were", "has", "have", "had", "can", "not", "be"}
# As Python names its errors; another meaning of a word: what the reflector learned.
FINE = re.compile("^connection_made$|NotFoundError$|left_out|not_blank|lessons?(_|$)", re.IGNORECASE)


def names_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.MatchAs(name=str()):
                yield str(node.name)
            case ast.arg():
                yield node.arg
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def words_of(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", FINE.sub("", name))]


def _better_name(name: str) -> str | None:
    """What to say instead of *name*; None if it is fine."""
    first, *_ = words = words_of(name) or [""]
    if TAKE_BACK.search(name):
        return "undo, undone"
    if first in PREDICATES:
        return None
    if words[-1] in PARTICIPLES:
        return "a noun: what the thing is"
    return next((NOT_SAID[word] for word in words if word in NOT_SAID), None)


def _better_names(module: str) -> dict[str, str]:
    names = {Path(module).stem, *names_in(ast.parse(MODULES[module].read_text(encoding="utf-8")))}
    return {name: better for name in names if (better := _better_name(name))}


def test_no_name_has_a_given_up_word() -> None:
    assert {module: bad for module in MODULES if (bad := _better_names(module))} == {}


@pytest.mark.parametrize(
    "name", ["told", "_points_found", "kept", "stretch_of", "taken_back_in", "_told", "gone_paths"]
)
def test_given_up_names_are_found(name: str) -> None:
    assert _better_name(name)


def test_tests_have_no_given_up_word() -> None:
    files = [path for folder in ("tests", "benchmarks") for path in (prose.ROOT / folder).rglob("*.py")]
    bad = {path.name: names for path in files if (names := _given_up(path.read_text(encoding="utf-8")))}

    assert bad == {}


def _given_up(source: str) -> list[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    return [name for name in names if GIVEN_UP.intersection(words_of(name)) or TAKE_BACK.search(name)]


def test_no_two_public_classes_share_a_name() -> None:
    places = defaultdict(list)
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module)

    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}
