"""What tests/mutations.toml promises, and how each promise is broken.

A change applies to the syntax tree of a function or a constant. So you can move it, rename its locals or reword its
lines without a change of the list. In other files than Python's, a change replaces words.
"""

import ast
import functools
import re
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.sandbox import ROOT


class Promise(NamedTuple):
    """The `behavior` that breaks with a `change` in a `function`, and the `tests` that must fail then.

    `function` is `module:name`, `module:Class.name`, `module:function.inner`; or `file:name` of what SQL creates there.
    """

    behavior: str
    function: str
    change: str
    tests: list[str]

    @property
    def file(self) -> Path:
        """The file to change, from the root of the checkout."""
        place = self.function.partition(":")[0]
        return Path(place if "/" in place else f"{place.replace('.', '/')}.py")

    @property
    def name(self) -> str:
        """What to change in the file; "" means all of it."""
        return self.function.partition(":")[2]


def read_list() -> list[Promise]:
    """The promises of tests/mutations.toml."""
    text = (ROOT / "tests" / "mutations.toml").read_text(encoding="utf-8")
    return [Promise(**entry) for entry in tomllib.loads(text)["promise"]]


def broken(promise: Promise) -> str:
    """The text of the promise's file with the change. Raises LookupError if there is nothing to change."""
    text = (ROOT / promise.file).read_text(encoding="utf-8")
    if promise.file.suffix == ".py":
        node = _find(promise)
        begin = min(each.lineno for each in (node, *getattr(node, "decorator_list", ())))
        part = "".join(text.splitlines(keepends=True)[begin - 1 : node.end_lineno])
        before = ast.unparse(node)
        after = _changed(before, promise.change)
        new = textwrap.indent(after, " " * node.col_offset) + "\n"
    else:
        statement = rf"^ *CREATE (?:\w+ )*{promise.name}\b.*?(?=^ *CREATE |\Z)" if promise.name else r"\A.*"
        found = re.search(statement, text, re.DOTALL | re.MULTILINE)
        part = before = found[0] if found else ""
        new = after = "" if promise.change == "left out" else _with_words(part, *promise.change.split(" -> "))
    if after == before:
        raise LookupError(f"{promise.change!r} changes nothing in {promise.function}")
    return text.replace(part, new, 1)


def _find(promise: Promise) -> Any:
    """The definition of the function or constant. Raises LookupError if there is none."""
    node: Any = _tree(ROOT / promise.file)
    for name in promise.name.split("."):
        node = next((each for each in node.body if name in _names(each)), None)
        if node is None:
            raise LookupError(f"there is no {promise.function}")
    return node


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _names(node: Any) -> list[str]:
    targets = [*getattr(node, "targets", ()), *filter(None, [getattr(node, "target", None)])]
    named = (each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
    return [getattr(node, "name", ""), *(each.id for each in named)]


def _changed(source: str, change: str) -> str:
    """The *source* of a definition with *change*, which leaves decorators and docstring alone."""
    node: Any = ast.parse(source).body[0]
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    documented = [node.body.pop(0)] if is_function and ast.get_docstring(node) else []
    decorators, node.decorator_list = getattr(node, "decorator_list", []), []
    for form, make in _CHANGES:
        if found := re.fullmatch(form, change):
            node = make(node, *found.groups())
            break
    else:
        raise LookupError(f"there is no such change: {change!r}")
    if is_function:
        node.body[:0], node.decorator_list = documented, decorators
    after = ast.unparse(node)
    compile(after, "the change", "exec")
    return after


def _set_value(node: Any, value: str) -> Any:
    node.value = _expression(value)
    return node


def _return(node: Any, value: str) -> Any:
    node.body = ast.parse(f"return {value}").body
    return node


def _replace_calls(node: Any, name: str, value: str = "") -> Any:
    """Put *value* in the place of each call of *name*; if it is empty, the call's first argument, or None."""

    def replaced(each: Any) -> Any:
        if not isinstance(each, ast.Call) or name not in (getattr(each.func, "attr", ""), getattr(each.func, "id", "")):
            return each
        return _expression(value) if value else (*each.args, ast.Constant(None))[0]

    return _Replacing(replaced).visit(node)


def _decide(node: Any, how: str, word: str) -> Any:
    """Make the smallest conditions that name *word* always or never true."""

    def decided(condition: ast.expr) -> ast.expr:
        is_meant = re.search(_pattern(word), ast.unparse(condition))
        return ast.Constant(how == "always") if is_meant else condition

    def replaced(each: Any) -> Any:
        if isinstance(each, ast.If | ast.While | ast.IfExp):
            each.test = decided(each.test)
        elif isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.Not):
            each.operand = decided(each.operand)
        elif isinstance(each, ast.BoolOp | ast.comprehension):
            conditions = each.values if isinstance(each, ast.BoolOp) else each.ifs
            conditions[:] = map(decided, conditions)
        return each

    return _Replacing(replaced).visit(node)


def _pass(node: Any, name: str, value: str) -> Any:
    """Pass *value* in each call that passes an argument by *name*."""
    for each in ast.walk(node):
        if isinstance(each, ast.keyword) and each.arg == name:
            each.value = _expression(value)
    return node


def _reword(node: Any, old: str, new: str) -> Any:
    return ast.parse(_with_words(ast.unparse(node), old, new)).body[0]


def _with_words(text: str, old: str, new: str) -> str:
    return re.sub(_pattern(old), lambda _: new, text)


def _pattern(word: str) -> str:
    """A pattern for *word* by itself: no part of a longer word or operator. `\\n` may precede it in a literal."""
    before, after = (r"\w" if re.match(r"\w", end) else "[<>=!+*/-]" for end in (word[0], word[-1]))
    return rf"(?:(?<!{before})|(?<=\\n)){re.escape(word)}(?!{after})"


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


class _Replacing(ast.NodeTransformer):
    """Puts in each node's place what a function makes of it, the inner nodes first."""

    def __init__(self, replaced: Callable[[Any], Any]) -> None:
        self._replaced = replaced

    def visit(self, node: ast.AST) -> Any:
        """What is made of *node*."""
        return self._replaced(self.generic_visit(node))


_CHANGES: tuple[tuple[str, Callable[..., Any]], ...] = (
    (r"(.+) -> (.+)", _reword),
    (r"= (.+)", _set_value),
    (r"return (.+)", _return),
    (r"(\w+)\(\) is (.+)", _replace_calls),
    (r"without (\w+)", _replace_calls),
    (r"(always|never) (.+)", _decide),
    (r"pass (\w+)=(.+)", _pass),
)
