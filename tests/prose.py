"""A linter of the texts that people read: `python -m tests.prose [FILE ...]`, a part of `make lint`.

It reads Markdown without its code. In the package, it reads the help, the first lines of docstrings and the texts of
errors. In tests and benchmarks, it reads all docstrings and comments.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_WORDS, MOST_CHARACTERS = 30, 100  # in a sentence; in a line of Markdown
MOST_WORDS_IN_TESTS = 25
MADE = ("docs/commands.md",)  # of texts that are read where they are written

_NONE = r"where (?:there|nothing|nobody|none|no|neither|not)\b"
_IT = r"where (?:it|they|you|one|both|that|this|these|those|all|any|several)\b"
_ISE = "recogn|organ|normal|neutral|serial|initial|summar|optim|prior|minim|custom|capital|categor|emphas"
RULES = {
    "`where` for `if`": rf"{_NONE}|^{_IT}[^,]*,|[,;:(] *{_IT}",
    "an image of our own": (
        r"\b(?:tak(?:e|es|en|ing)|took) (?:\w+ )?back\b"
        r"|\b(?:taken|take (?:it|them|this|that)|takes|taking|took) in\b(?! \d)"
        r"|\b(?:stands|stood|begun anew|anew|in step|mend(?:s|ed|ing)?|rests? (?:up)?on|that which)\b"
        r"|\b(?:come|comes|coming|came) about\b"
    ),
    "British": (
        r"\b\w*(?:colour|behaviour|favour|neighbour|honour|labour)\w*"
        r"|\b(?:(?:centre|licence|grey|catalogue|defence)s?|learnt|whilst|analyse|analysed|analysing)\b"
        rf"|\b\w*(?:{_ISE})is(?:e|es|ed|ing|ation)\b|\b(?:cancell|travell|labell|modell)(?:ed|ing)\b"
    ),
    "he, she": r"\b(?:he|she|him|his|her|hers|himself|herself)\b",
}
# Words that the package gave up; some tests still have them.
GIVEN_UP = {
    "say, report, message": r"\b(?:told|tells?)\b",
    "again, new": r"\banew\b",
    "create, add, write": r"\b(?:is|are|was|were|be|been|it|who|newly) made\b(?! (?:up|of)\b)",
    "before, earlier": r"\bwhat (?:went|was|came) before\b",
}
_RULES = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in RULES.items()}
_GIVEN_UP = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in GIVEN_UP.items()}
Rules = Mapping[str, re.Pattern[str]]
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Z0-9])")
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.) )|\n(?=\s*\|)|(?<=\|)|\n(?=#)")
_FRONT_MATTER = re.compile(r"\A---\n.*?^---$", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1 *$", re.MULTILINE | re.DOTALL)


def faults(text: str, *, most_words: int = MOST_WORDS, rules: Rules = _RULES) -> Iterator[str]:
    """What is wrong with the plain *text*, sentence by sentence."""
    for sentence in _SENTENCE_END.split(" ".join(text.split())):
        words = re.findall(r"[^\s/]*\w[^\s/]*", sentence)
        if len(words) > most_words:
            yield f"{len(words)} words in a sentence: {sentence[:70]} ..."
        for name, pattern in rules.items():
            if match := pattern.search(sentence):
                yield f"{name}: ... {sentence[max(0, match.start() - 30) : match.end() + 30].strip()} ..."


def in_markdown(text: str) -> Iterator[str]:
    """What is wrong with a page of Markdown: its prose, and lines that could be wrapped."""
    text = _FENCE.sub("", _FRONT_MATTER.sub("", text))
    for line in text.splitlines():
        if len(line) > MOST_CHARACTERS and not re.match(r"\s*[|#]", line) and re.search(r"\S\s+\S", line):
            yield f"{len(line)} characters in a line: {line.strip()[:70]} ..."
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", "Code", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->|<[^>]+>", "", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for block in _BLOCK.split(text):
        yield from faults(re.sub(r"^\s*(?:[-*+] |\d+\. |#+ |\|)", "", block))


def in_python(source: str) -> Iterator[tuple[str, str]]:
    """What is wrong with the texts of a module, each with its kind: help, docstrings or errors."""
    for kind, text in texts_in(source):
        text = re.sub(r"`[^`]*`", "Code", text)
        yield from ((kind, fault) for fault in faults(text))


def texts_in(source: str) -> Iterator[tuple[str, str]]:
    """The texts of a module for people: docstrings (of a command all of it, as that is its help), `help=`, errors."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            paragraphs = (ast.get_docstring(node) or "").split("\n\n")
            if any(_makes_command(each) for each in getattr(node, "decorator_list", ())):
                yield from (("help", each) for each in paragraphs if not each.startswith("\b"))
            else:
                yield "docstrings", paragraphs[0]
        elif isinstance(node, ast.keyword) and node.arg == "help":
            yield "help", _words(node.value)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield "errors", " ".join(map(_words, node.exc.args))


def in_tests(source: str) -> Iterator[str]:
    """What is wrong with the docstrings and comments of a test or a benchmark."""
    docstrings = [
        paragraph
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
        for paragraph in (ast.get_docstring(node) or "").split("\n\n")
    ]
    for text in (*docstrings, *_comments_in(source)):
        plain = re.sub(r"`[^`]*`|\*\w+\*", "Code", text)
        yield from faults(plain, most_words=MOST_WORDS_IN_TESTS, rules=_RULES | _GIVEN_UP)


def _comments_in(source: str) -> Iterator[str]:
    """The comments of a module; lines that follow each other are one comment."""
    block, last = "", -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        text = token.string.removeprefix("#").strip()
        if token.type != tokenize.COMMENT or text.startswith(("noqa", "fmt:", "type:", "ruff:")):
            continue
        is_next = token.start[0] == last + 1 and not token.line[: token.start[1]].strip()
        if block and not is_next:
            yield block
        block, last = f"{block} {text}" if is_next else text, token.start[0]
    yield block


def _makes_command(decorator: ast.expr) -> bool:
    return re.search(r"\b(?:command|group)\(", ast.unparse(decorator)) is not None


def _words(node: ast.expr) -> str:
    """The text that *node* gives, with a word in place of each value that is computed."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(_words(part) if isinstance(part, ast.Constant) else "Value" for part in parts)
        case ast.BinOp(left=left, right=right):
            return _words(left) + _words(right)
    return ""


def findings(files: list[str]) -> Iterator[tuple[str, str]]:
    """All that is wrong in *files*, each with its place."""
    for file in files:
        path = ROOT / file
        if file.endswith(".md") and file not in MADE:
            yield from ((file, fault) for fault in in_markdown(path.read_text(encoding="utf-8")))
        elif file.startswith("playbook_db/") and file.endswith(".py"):
            yield from ((f"{kind} of {file}", fault) for kind, fault in in_python(path.read_text(encoding="utf-8")))
        elif _is_test(file):
            yield from ((file, fault) for fault in in_tests(path.read_text(encoding="utf-8")))


def tracked_files() -> list[str]:
    """The files in git that should be clean."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [file for file in listed.splitlines() if (ROOT / file).exists()]


def _is_test(file: str) -> bool:
    return file.startswith(("tests/", "benchmarks/")) and file.endswith(".py")


def main(arguments: list[str]) -> int:
    """Print what is wrong; 1 if there is anything. Without names, it reads all files in git."""
    named = [file for each in arguments for file in _files_in(each)]
    wrong = list(findings(named if arguments else tracked_files()))
    for place, fault in wrong:
        print(f"{place}: {fault}")
    return bool(wrong)


def _files_in(name: str) -> list[str]:
    path = ROOT / name
    return sorted(str(file.relative_to(ROOT)) for file in path.rglob("*.py")) if path.is_dir() else [name]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
