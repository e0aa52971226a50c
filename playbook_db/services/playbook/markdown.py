"""Reading and writing key points in Markdown, as in CLAUDE.md, AGENTS.md or MEMORY.md.

Bullets and short paragraphs become points, and their headings decide the section. A file of the client's own memory
becomes one point. Longer texts, code and tables are reported and left out.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from playbook_db.domain.playbook import KeyPoint
from playbook_db.domain.prompt_text import render_header
from playbook_db.domain.sections import OTHERS, find_section
from playbook_db.errors import PlaybookFileError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_BYTES = 1 << 20  # of a file; what people write by hand is far smaller
MAX_POINT_CHARS = 600  # of a bullet with its content
MAX_MEMORY_CHARS = 2000  # of a file of the client's own memory
MAX_PARAGRAPH_CHARS = 300  # outside a list; a longer one says several things
_MAX_CODE_LINES = 3  # of a command below "Run the tests with:", which is part of the point

_MISTAKES, _PREFERENCES, _CONTEXT = "MISTAKES TO AVOID", "USER PREFERENCES", "PROJECT CONTEXT"
_PATTERNS = "PATTERNS & APPROACHES"
_SPEAKS_OF = (  # the first with a word that begins one of the heading's words
    (_MISTAKES, "mistake|avoid|don'?t|do not|never|pitfall|gotcha|caveat|warning|anti-?pattern|known issue|trouble"),
    (_PREFERENCES, "preference|prefer|communicat|tone|about me"),
    (_CONTEXT, "architect|overview|structur|context|stack|layout|background|environment|setup|set-up|about|domain|"
               "glossar|module|director|folder|depend"),
    (_PATTERNS, "pattern|approach|strateg|insight|heuristic|snippet|style|convention|workflow|practi[cs]e|guideline|"
                "rule|test|command|build|how to|process|commit|review|release|deploy|develop|cod(e|ing)"),
)  # fmt: skip
_HEADINGS = tuple((section, re.compile(rf"\b({words})", re.IGNORECASE)) for section, words in _SPEAKS_OF)
_FORBIDS = re.compile(r"\W*(never|don'?t|do not|avoid)\b", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)?---[ \t]*(\n|\Z)", re.DOTALL)
_KIND = re.compile(r"^\s*type:\s*['\"]?(\w+)", re.MULTILINE)  # the kind of a file in the client's own memory
_OF_KIND = {"user": _PREFERENCES, "feedback": _PREFERENCES, "project": _CONTEXT, "reference": _CONTEXT}
_SUMMARY = re.compile(r"^description:(.+)$", re.MULTILINE)
_INDEX_LINE = re.compile(r"([^()]* \()?[^\s()]+\.md\)?(\s*[—–:-].*)?")  # of MEMORY.md
_OTHER_FILE = re.compile(r"@[~\w./-]+\.\w+")
_MENTIONED_FILE = re.compile(r"(?<![\w`])@([~\w./-]+\.(?:md|mdc|markdown|txt))\b")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#&~|!-])")
_LIST_MARK = re.compile(r"^(\d{1,9})([.)])")


@dataclass(frozen=True, slots=True)
class Note:
    """A possible key point: its text, its section, and its line number in the file."""

    text: str
    section: str
    line: int


@dataclass(frozen=True, slots=True)
class Notes:
    """The possible points in a file, without duplicates. `left_out` has the numbers of skipped lines, with reasons."""

    points: tuple[Note, ...]
    left_out: tuple[tuple[int, str], ...] = ()


@dataclass(slots=True)
class _Block:
    """A paragraph or a bullet, with its line number. The `headings` and the introductory blocks `above` lead to it."""

    text: str
    line: int
    headings: tuple[str, ...]
    above: tuple["_Block", ...]
    is_bullet: bool
    leads: bool = False  # to others

    @property
    def whole(self) -> str:
        """The introductory texts and the block's own text, such as "Before each commit: run the tests"."""
        return " ".join([*(block.text for block in self.above if block.text.endswith(":")), self.text])


def read(data: bytes, *, source: str) -> Notes:
    """Return the points in the Markdown *data*. Errors name the file as *source*. Raises PlaybookFileError."""
    if len(data) > MAX_BYTES:
        raise PlaybookFileError(source, "", f"the file is larger than {MAX_BYTES >> 20} MiB. Split it.")
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise PlaybookFileError(source, f"byte {error.start}", "the text isn't in UTF-8.") from None
    front = _FRONT_MATTER.match(text)
    head = (front[1] or "") if front else ""
    kind = _KIND.search(head)
    usual = _OF_KIND.get(kind[1].lower()) if kind else None
    if front:  # empty lines keep the line numbers
        text = "\n" * front[0].count("\n") + text[front.end() :]
    left_out: list[tuple[int, str]] = []
    blocks = _blocks(text, left_out)
    if source.endswith("MEMORY.md") and (index := [each for each in blocks if _INDEX_LINE.fullmatch(each.whole)]):
        left_out.append((index[0].line, "the lines that only name other files"))
        blocks = [each for each in blocks if each not in index]
    points = [_memory(head, blocks, usual, left_out)] if usual and blocks else _points(blocks, left_out)
    return Notes(tuple(points), tuple(sorted(left_out)))


def _memory(head: str, blocks: Sequence[_Block], section: str, left_out: list[tuple[int, str]]) -> Note:
    """Return a memory of the client as one point: the rule, why, and how to apply it. If that is too long, return the
    description in its front matter, *head*."""
    texts = [each.text if each.text.endswith((".", ":", ";", "!", "?", ")")) else f"{each.text};" for each in blocks]
    whole = " ".join(texts).rstrip(";")
    summary = _SUMMARY.search(head) if len(whole) > MAX_MEMORY_CHARS else None
    if summary:
        left_out.append((blocks[0].line, f"a text of {len(whole):,} characters; its description is proposed instead"))
    return Note(summary[1].strip(" '\"") if summary else whole, section, blocks[0].line)


def _points(blocks: Sequence[_Block], left_out: list[tuple[int, str]]) -> Iterable[Note]:
    """Return the points in *blocks*. Everything else goes into *left_out*."""
    points: dict[str, Note] = {}
    for block in blocks:
        whole, kind = block.whole, "bullet" if block.is_bullet else "paragraph"
        if _OTHER_FILE.fullmatch(whole):
            left_out.append((block.line, f"it includes another file; import that one: {whole[1:]}"))
            continue
        mentioned = _MENTIONED_FILE.findall(whole)
        left_out += [(block.line, f"the content of {name}; to have it, import that file, too") for name in mentioned]
        if len(whole) > (MAX_POINT_CHARS if block.is_bullet else MAX_PARAGRAPH_CHARS):
            left_out.append((block.line, f"a {kind} of {len(whole):,} characters is too long for a key point"))
        elif not (block.leads and block.text.endswith(":")):
            points.setdefault(whole, Note(whole, section_of(block.headings, whole, OTHERS), block.line))
    leads = [each for each in blocks if each.leads and each.text.endswith(":")]
    unused = [each.line for each in leads if not any(each.text in text for text in points)]
    left_out += [(line, "it introduces only what was left out") for line in unused]
    return points.values()


def written(points: Iterable[KeyPoint]) -> str:
    """Return *points* as Markdown lists under their sections' headings. The points must be ordered by section. `read`
    returns the same texts."""
    markdown = _parser()
    groups = (
        "\n".join([render_header(section), "", *(f"- {_escaped(markdown, point.text)}" for point in group)])
        for section, group in groupby(points, key=lambda point: point.section)
    )
    text = "\n\n".join(groups)
    return f"{text}\n" if text else ""


def _blocks(text: str, left_out: list[tuple[int, str]]) -> list[_Block]:
    """Return the paragraphs and bullets of *text* that contain words. Everything else goes into *left_out*."""
    blocks: list[_Block] = []
    headings: list[tuple[int, str]] = []
    above: list[_Block | None] = []  # the leading block of each open list, and the first of each open item
    last: _Block | None = None  # which the next token may go on with
    before, depth = "", 0
    for token in _parser().parse(text):
        line, kind = (token.map[0] + 1 if token.map else 0), token.type
        if kind == "inline" and before == "heading_open":
            headings = [each for each in headings if each[0] < depth] + [(depth, _plain(token.children or []))]
            last = None
        elif kind == "inline" and before == "paragraph_open":
            paragraph = _plain(token.children or [])
            if last is not None and above and above[-1] is last:  # a bullet's second paragraph
                last.text = f"{last.text} {paragraph}".strip()
            elif any(map(str.isalnum, paragraph)):
                leading = tuple(block for block in above if block is not None)
                last = _Block(paragraph, line, tuple(heading for _, heading in headings), leading, bool(above))
                blocks.append(last)
                for block in leading:
                    block.leads = True
                if above and above[-1] is None:
                    above[-1] = last
        elif kind in ("fence", "code_block"):
            code = [each.strip() for each in token.content.splitlines() if each.strip()]
            if last is not None and last.text.endswith(":") and 0 < len(code) <= _MAX_CODE_LINES:
                last.text = f"{last.text} {'; '.join(f'`{each}`' for each in code)}"
            else:
                left_out.append((line, "a block of code"))
            last = None
        elif kind == "heading_open":
            depth = int(token.tag[1:])
        elif kind in ("bullet_list_open", "ordered_list_open"):
            above.append(last if last is not None and last.text.endswith(":") and last not in above else None)
        elif kind == "list_item_open":
            above.append(None)
            last = None
        elif kind in ("list_item_close", "bullet_list_close", "ordered_list_close"):
            above.pop()
            last = None
        elif kind == "table_open":
            left_out.append((line, "a table"))
        elif kind == "html_block" and not token.content.lstrip().startswith("<!--"):
            left_out.append((line, "a block of HTML"))
        before = kind
    return blocks


def section_of(headings: Sequence[str], text: str, usual: str) -> str:
    """Return the section that the nearest heading names. If no heading names one, choose a section for *text*."""
    for heading in reversed(headings):
        named = find_section(heading) or next((section for section, words in _HEADINGS if words.search(heading)), None)
        if named:
            return named
    return _MISTAKES if usual == OTHERS and _FORBIDS.match(text) else usual


def _plain(tokens: Sequence["Token"]) -> str:
    """Return the text of a paragraph on one line, without emphasis. It keeps code in backticks and the targets of
    links."""
    parts: list[str] = []
    targets: list[tuple[str, int]] = []
    for token in tokens:
        if token.type == "code_inline":
            pad = " " if "`" in (token.content[:1], token.content[-1:]) else ""
            parts.append(f"{token.markup}{pad}{token.content}{pad}{token.markup}")
        elif token.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif token.type == "link_open":
            targets.append((str(token.attrGet("href") or ""), len(parts)))
        elif token.type == "link_close":
            target, begin = targets.pop()
            label = "".join(parts[begin:])
            if target not in ("", label, f"mailto:{label}"):
                parts.append(f" ({target})")
        elif token.type == "image":
            parts.append(token.content)
        elif token.type == "html_inline":
            parts.append("" if token.content.startswith("<!--") else token.content)
        elif token.content:
            parts.append(token.content)
    return " ".join("".join(parts).split())


def _escaped(markdown: "MarkdownIt", text: str) -> str:
    line = " ".join(text.split())
    if _is_plain(markdown, line):
        return line
    escaped = _LIST_MARK.sub(r"\1\\\2", _SPECIAL.sub(r"\\\1", line))
    return escaped.replace("+", "\\+", 1) if escaped.startswith("+") else escaped


def _is_plain(markdown: "MarkdownIt", line: str) -> bool:
    tokens = markdown.parse(f"- {line}\n")
    kinds = [token.type for token in tokens if token.type.endswith(("_open", "inline"))]
    return kinds == ["bullet_list_open", "list_item_open", "paragraph_open", "inline"] and (
        next(_plain(token.children or []) for token in tokens if token.type == "inline") == line
    )


def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # late: few commands need it

    return MarkdownIt("commonmark").enable("table")
