"""The words of the code: each name says one thing, and no name is one of the words that were given up."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import playbook_db

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
TAKE_BACK = re.compile("(take|taken|taking|took)_back(_|$)")
# As Python names its errors; another meaning of a word: what the reflector learned.
FINE = re.compile("NotFoundError$|left_out|not_blank|^lessons$")


def public_names(node: ast.AST) -> Iterator[str]:
    """The public functions, classes, parameters and fields within *node*."""
    yield from (name for name in _names(node, in_class=False) if not name.startswith("_"))


def _names(node: ast.AST, *, in_class: bool) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            if not child.name.startswith("_") or child.name == "__init__":
                arguments = child.args
                yield child.name
                yield from (each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
        elif isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield child.name
            yield from _names(child, in_class=True)
        elif in_class and isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            yield child.target.id


def words_of(name: str) -> list[str]:
    """`read_log` and `ReadLog` are the words `read` and `log`."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", FINE.sub("", name))]


def _better_names(module: str) -> dict[str, str]:
    """The names of *module* for which there are better words, with those."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    names = {Path(module).stem, *public_names(tree)}
    bad = {name: NOT_SAID[word] for name in names for word in words_of(name) if word in NOT_SAID}
    return bad | dict.fromkeys(filter(TAKE_BACK.search, names), "undo, undone")


def test_no_public_name_is_a_word_that_was_given_up() -> None:
    """Of functions, classes, parameters, fields and the module itself."""
    assert {module: bad for module in MODULES if (bad := _better_names(module))} == {}


def test_no_two_public_classes_share_a_name() -> None:
    """One name, one thing."""
    places = defaultdict(list)
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(module)

    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}
