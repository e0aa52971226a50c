"""The names of functions, classes and types: those that a file defines, and those that a text writes as code.

The hooks use this module, so it imports almost nothing.
"""

from playbook_db.domain import search_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

MOST_NAMES = 64  # of one file
MOST_POINTS = 20  # a name that stands in more points says too little
_LEAST_LETTERS = 5  # of a name without `_`
_LINES_AT_ONCE = 256  # between two looks at the clock
_KEYWORDS = (
    "def class function function* func fn fun interface trait struct enum union record type protocol actor object "
    "module namespace mod delegate macro_rules! FUNCTION PROCEDURE TABLE VIEW"
)
_MODIFIERS = (
    "export default public private protected internal fileprivate static final abstract async sealed open override "
    "virtual partial inline extern unsafe pub pub(crate) pub(super) data suspend declare local typedef const CREATE OR "
    "REPLACE"
)
_NO_METHODS = (
    "if else for while switch catch return new do try with when match until foreach using constructor toString equals "
    "hashCode"
)
_KEYWORD_SET, _BEFORE_NAMES, _NO_METHOD_SET = map(frozenset, map(str.split, (_KEYWORDS, _MODIFIERS, _NO_METHODS)))
_PATH_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
_APART = {sign: " " for sign in range(128) if not chr(sign).isalnum() and chr(sign) not in "_."}
_APART[ord("(")] = "( "


def defined(text: str, is_late: "Callable[[], bool]") -> "list[str]":
    """Return at most MOST_NAMES names that the source *text* defines: those after a keyword such as `def` or `class`,
    and those before a parenthesis and the brace of a body. Stop as soon as *is_late* returns true."""
    names: dict[str, None] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if len(names) >= MOST_NAMES or (number % _LINES_AT_ONCE == _LINES_AT_ONCE - 1 and is_late()):
            break
        name = _after_keyword(line)
        if not name and line.rstrip()[-1:] == "{":
            name = _before_body(line if line.strip() != "{" else lines[number - 1])
        if _can_count(name):
            names[name] = None
    return [*names][:MOST_NAMES]


def _after_keyword(line: str) -> str:
    words = line.split(None, 6)
    for at, word in enumerate(words[:-1]):
        is_keyword = word in _KEYWORD_SET or (word == "const" and line[:1] > " ")
        if is_keyword and words[at + 1] not in _KEYWORD_SET:
            rest = " ".join(words[at + 1 :])
            if rest[0] == "(":  # the receiver of a method in Go
                rest = rest.partition(")")[2]
            return _head(rest.lstrip())
        if not is_keyword and word not in _BEFORE_NAMES:
            break
    return ""


def _head(rest: str) -> str:
    end = next((place for place, sign in enumerate(rest) if not (sign.isalnum() or sign in "_.")), len(rest))
    return rest[:end].rpartition(".")[2]


def _before_body(head: str) -> str:
    start, _, rest = head.partition("(")
    words = start.translate(_APART).split()
    if not rest or not start[-1:].isalnum() or "=" in start or "." in start or "=>" in rest or "function" in rest:
        return ""  # an assignment, or a call with a function as an argument
    return words[-1] if _NO_METHOD_SET.isdisjoint(words) else ""


def written(text: str) -> "set[str]":
    """Return the code words of *text*: words with `_` or inner capitals, words that fill backticks, classes as in
    `Worker.run`, and `name(` for a word before a parenthesis."""
    names: set[str] = set()
    for number, part in enumerate(text.replace("::", ".").split("`")):
        if number % 2:
            names.add(part.partition("(")[0])
        for word in part.translate(_APART).split():
            *owners, name = word.strip(".(").split(".")
            names.update([each for each in (*owners, name) if _is_telling(each)])
            names.update([each for each in owners if each[:1].isupper()])
            if word[-1] == "(" and not owners:
                names.add(f"{name}(")
    return names


def has(words: "Collection[str]", name: str) -> bool:
    """Return whether the code *words* have *name*. A common word only counts as `name(`."""
    is_common = not _is_telling(name) and search_words.is_common(name.lower())
    return (name in words and not is_common) or f"{name}(" in words


def shared(question: str, texts: "Iterable[str]") -> "list[str]":
    """Return the names that the question *question* and at least one of *texts* write as code."""
    words = written(question)
    words &= set().union(*map(written, texts if words else ()))
    names = sorted({word.rstrip("(") for word in words if _can_count(word.rstrip("("))})
    return [name for name in names[:MOST_NAMES] if has(words, name)]


def has_path(text: str, end: str, path: str) -> bool:
    """Return whether *text* names the file *path* by its *end*, or by a longer end of it."""
    at = text.find(end)
    while at >= 0:
        above, below = text[:at], text[at + len(end) :][:2]
        above = above[len(above.rstrip(_PATH_CHARS)) :].lstrip("./")
        is_longer = below[:1].isalnum() or below[:1] in ("_", "-", "/") or (below[:1] == "." and below[1:].isalnum())
        if not is_longer and f"/{path}".endswith(f"/{above}{end}"):
            return "/" in end or "." in end or not end.islower() or end in written(text)
        at = text.find(end, at + 1)
    return False


def _can_count(name: str) -> bool:
    return "_" in name.strip("_") or len(name.strip("_")) >= _LEAST_LETTERS


def _is_telling(name: str) -> bool:
    return "_" in name.strip("_") or (name[1:] != name[1:].lower() and not name.isupper())
