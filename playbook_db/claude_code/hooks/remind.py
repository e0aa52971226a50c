"""The hook of UserPromptSubmit, PreToolUse, PostToolUseFailure and SubagentStart, which shows a few matching points.

The points match the prompt, the error or the subagent's task. A subagent also gets the best points. With a prompt or
an error, points follow that write a name as code which the prompt and a matching point write, too. When a session first
reads or changes a file, the points are shown that name the file, or a function, class or type in it. Claude Code passes
them on with the call's result, and always reads a file before changing it. The script `hooks/touched` skips later calls
on the file.

If no point matches well, the hook prints nothing. `hooks/remind.py` and, for tool calls, `hooks/tool.py` start it.
Standard library only. The user waits for the answer, so the hook stops at a deadline and only logs the reason. It never
starts the worker.
"""

import os
import sys

from playbook_db import settings
from playbook_db.claude_code import registration
from playbook_db.claude_code.hooks import hook_runner, showing, touched
from playbook_db.domain import search_words
from playbook_db.store import sqlite_open
from playbook_db.store.queries import hook_queries
from playbook_db.store.queries.hook_queries import Book

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    Question = tuple[str, list[search_words.Term]]

DEADLINE_S = 0.2
_WAIT_S = 0.05  # for a database that somebody holds
START, PROMPT, FAILURE, SUBAGENT = "SessionStart", "UserPromptSubmit", "PostToolUseFailure", "SubagentStart"
FILE, TASK = "PreToolUse", "Agent"  # TASK is the tool whose call gives a subagent its task
LIMIT_UNITS = {PROMPT: 2500, FAILURE: 2500, FILE: 2500, SUBAGENT: 4000, TASK: 4000}
MOST_UNITS = 18_000  # of prompts, files and errors together, from one compaction to the next
_MOST_OF_MANY, _MANY = 24_000, 1000  # the same, if there are more than so many points
_AROUND_UNITS = 200  # at most: a point's name and counters, and the line above it
MOST_POINTS = {PROMPT: 6, FAILURE: 3, FILE: 6, TASK: 10}
_MOST_BY_WORDS = {PROMPT: 3, FAILURE: 1}  # the others share a name with these
KNOWN, NO_SPACE, HAS_RULE = "the session has it", "no space", "a rule has it"
_FAR_CALLS = 50  # tool calls; a file may show a point again that the start showed so long ago
_COUNTED_AS = {FILE: (PROMPT, "file"), TASK: (SUBAGENT, "task")}  # by the database, with that source
_DEFAULT_AGENT = "general-purpose"
_HEADERS = {
    PROMPT: "From the playbook, what fits this prompt; cite a key point that influences your response by its ID:",
    FILE: "From the playbook, what fits this file; cite a key point that influences your response by its ID:",
    TASK: "From the playbook, what fits this task; cite a key point that influences your work by its ID:",
    FAILURE: "From the playbook, what fits this error; cite a key point that influences your response by its ID:",
}
_NOT_TYPED = ("<task-notification", "<command-", "<local-command-")  # the beginnings of prompts that the client made
_NAMING = ("command", "file_path", "notebook_path", "path", "pattern", "url")  # fields of tools that name something
_READ_CHARS = 1000  # characters of each of these, and of an error's beginning and end; the middle is output


def main(name: str = "remind") -> "NoReturn":
    """Answer the event on standard input as the hook *name*. The first argument is its scope in the settings."""
    hook_runner.run(name, _work, silence=showing.SILENCE, deadline_s=DEADLINE_S, spool=showing.keep_in_spool)


def _work(hook: hook_runner.Hook) -> None:
    read = hook_runner.read(hook, (PROMPT, FILE, FAILURE, SUBAGENT), "no key point was looked for")
    if read is None:
        return
    event, folder = read
    question = question_of(event, folder)
    if (question[1] or event.hook_event_name == SUBAGENT) and _is_wanted(event, folder):
        _answer(hook, event, folder, question)


def _answer(hook: hook_runner.Hook, event: hook_runner.Event, folder: str, question: "Question") -> None:
    """Answer *event* of the session in *folder* with the points that match *question*, and record them as shown."""
    path = showing.database_file(folder)
    if path is None:
        return
    try:
        connection = sqlite_open.connect(path, wait_s=_WAIT_S)
        shown = sources(connection, path, folder)
        if event.hook_event_name == SUBAGENT:
            _show_best(hook, event, shown)
        else:
            _show_matches(hook, event, connection, shown, matches(event, folder, question, shown))
    except Exception as error:  # whatever the driver or the disk may raise; the start's line tells the user
        is_of_index = "point_search" in str(error) or "malformed" in str(error) or "fts5" in str(error)
        remedy = "playbook db check --rebuild-search" if is_of_index else "playbook doctor"
        hook.note(str(error) if "Run: " in str(error) else f"{path}: {error}. No key point was shown; run: {remedy}")


def moment_of(event: hook_runner.Event) -> str:
    """Return the name of *event*, or TASK if it is about a subagent's task."""
    name = event.hook_event_name or ""
    return TASK if name == FILE and event.payload.get("tool_name") == TASK else name


def question_of(event: hook_runner.Event, folder: str) -> "Question":
    """Return the text for which points are searched at *event* of the project in *folder*, and its terms. Without
    terms, no point matches.

    The text is the prompt or task, the path of a file that is touched for the first time, or the error with the command
    or file of the call. A subagent's start has none.
    """
    name, inputs, question = moment_of(event), event.payload.get("tool_input"), ""
    inputs = inputs if isinstance(inputs, dict) else {}
    if name == TASK:
        event.agent_type = hook_runner.storable(inputs.get("subagent_type")) or _DEFAULT_AGENT
        question = _read(inputs.get("prompt"))
    elif name == FILE:
        path = hook_runner.storable(inputs.get("file_path") or inputs.get("notebook_path"))
        if path and touched.is_first(event.session_id, path) and (question := touched.in_project(path, folder) or ""):
            return question, [search_words.phrase(question)]
    elif name == PROMPT:
        question = _read(event.payload.get("prompt"))
        if question.lstrip().startswith(_NOT_TYPED) or _is_slash_command(question):
            return "", []
    elif name == FAILURE and not event.payload.get("is_interrupt"):
        texts = [*map(inputs.get, _NAMING), event.payload.get("error")]
        question = "\n".join([_read(text, _READ_CHARS, _READ_CHARS) for text in texts]).replace(f"{folder}/", "")
    return question, search_words.terms(question)


def matches(
    event: hook_runner.Event, folder: str, question: "Question", sources: "Sequence[showing.Source]"
) -> "list[tuple[float, showing.Source, hook_queries.StoredPoint]]":
    """Return the points of *sources* that match the *question* at *event*, each with its score, best first. Those that
    only share a name with another match come last, with the score 0."""
    name, books = moment_of(event), [(each, each.book) for each in sources if each.book.project.live_points]
    text, terms = question
    names = touched.defined_in(os.path.join(folder, text)) if name == FILE and books else []
    scored: list[tuple[float, showing.Source, hook_queries.StoredPoint]] = []
    for each, book in books:
        if name == FILE:
            points = hook_queries.about_file(book, text, names)
        else:
            points = hook_queries.fitting(book, terms, strongly=name == FAILURE)
        scored += [(score, each, point) for point, score in points]
    scored.sort(key=lambda each: -each[0])
    if scored and name in _MOST_BY_WORDS:
        from playbook_db.domain import code_names  # late: mostly nothing fits

        if names := code_names.shared(text, [point.text for _, _, point in scored]):
            for each, book in books:
                scored += [(0.0, each, point) for point, _ in hook_queries.with_names(book, names)]
    return scored


def _read(text: object, first: int = search_words.READ_FIRST, last: int = search_words.READ_LAST) -> str:
    """Return *first* characters of *text* from its beginning and *last* from its end, or `""` if it isn't a string."""
    if isinstance(text, str) and len(text) > first + last:
        text = f"{text[:first]} {text[-last:]}"
    return hook_runner.storable(text) or ""


def _is_slash_command(prompt: str) -> bool:
    """Return whether *prompt* begins with the name of a slash command, and not with a path."""
    first = prompt.split(None, 1)[:1]
    return bool(first) and first[0][0] == "/" and "/" not in first[0][1:]


def _is_wanted(event: hook_runner.Event, folder: str) -> bool:
    """Return whether this hook should answer *event*: the settings allow it, and no other registration answers."""
    name, session = event.hook_event_name or "", event.session_id
    if moment_of(event) in (SUBAGENT, TASK):
        is_on = registration.is_shown_to_subagent(event.agent_type or "", folder)
    else:
        is_on = registration.is_on(registration.MOMENTS[name], folder)
    if not is_on or (session and os.path.exists(settings.skip_mark(session))):
        return False
    # The user's own settings always answer.
    return sys.argv[1:2] == ["user"] or not registration.answers_elsewhere(name, registration.own_scope(), folder)


def sources(connection: "sqlite_open.Connection", path: str, folder: str) -> "list[showing.Source]":
    """Return the playbooks whose points are shown in *folder*. Return an empty list if the project is ignored."""
    place, key = hook_queries.place_of(connection.execute, folder)
    project = hook_queries.find_project(connection.execute, key)
    if project.is_ignored if project else hook_queries.is_ignored(connection.execute, key):
        return []
    book = shown = Book(connection, project) if project is not None else None
    if project is not None and project.team_name is not None:
        shown = showing.of_team(sqlite_open.replica_of(path, project.id), project.team_name)
    return showing.sources(connection, book, shown, place)


def _show_best(hook: hook_runner.Hook, event: hook_runner.Event, sources: "Sequence[showing.Source]") -> None:
    """Show a subagent the session's best points, in a shorter text."""
    text, points_shown = showing.compose(sources, limit_units=LIMIT_UNITS[SUBAGENT])
    if not text or hook.say(showing.output(SUBAGENT, text, "")):
        showing.keep(hook, event, points_shown)


def _show_matches(
    hook: hook_runner.Hook,
    event: hook_runner.Event,
    connection: "sqlite_open.Connection",
    sources: "Sequence[showing.Source]",
    matches: "Sequence[tuple[float, showing.Source, hook_queries.StoredPoint]]",
) -> None:
    """Show the *matches* that the session hasn't seen yet."""
    if not matches:
        return
    _lock(connection)  # else two errors at once would show the same points
    name, known = moment_of(event), {source: _known(event, source) for source in sources}
    text, judged = choose(name, matches, known)
    chosen = [(source, point) for source, point, reason in judged if not reason]
    named = {(source, point.id) for score, source, point in matches if score >= hook_queries.NAMES_FILE}
    # Claude Code shows these with the file.
    in_rules = [(each, point) for each, point, reason in judged if reason == HAS_RULE and (each, point.id) in named]
    if not chosen or hook.say(_with_task(event, text) if name == TASK else showing.output(name, text, "")):
        recorded = chosen + (in_rules if name == FILE else [])
        by_source = [(each, [point for source, point in recorded if source is each]) for each in sources]
        if name in _COUNTED_AS:
            event.hook_event_name, event.source = _COUNTED_AS[name]
        showing.keep(hook, event, [each for each in by_source if each[1]])


def _with_task(event: hook_runner.Event, text: str) -> bytes:
    """Return the answer that adds *text* to the subagent's task, which is in the tool call of *event*."""
    import json  # late: a subagent takes much longer

    inputs = event.payload["tool_input"]
    changed = {**inputs, "prompt": f"{inputs['prompt']}\n\n{text}"}
    answer = {"hookSpecificOutput": {"hookEventName": FILE, "updatedInput": changed}}
    return json.dumps(answer, separators=(",", ":")).encode("ascii") + b"\n"


def _lock(connection: "sqlite_open.Connection") -> None:
    """Try to take the write lock until the shown points are recorded. Ignore a failure."""
    try:
        sqlite_open.allow_writes(connection)
        connection.execute("BEGIN IMMEDIATE")
    except sqlite_open.driver().Error:
        pass


def choose(
    name: str,
    matches: "Sequence[tuple[float, showing.Source, hook_queries.StoredPoint]]",
    known: "dict[showing.Source, tuple[set[int], int]]",
) -> "tuple[str, list[tuple[showing.Source, hook_queries.StoredPoint, str]]]":
    """Return the text for the moment *name*, and *matches*, each with the reason why it isn't in the text, or `""`.

    The text has the first of *matches*, up to the allowed number and length. *known* has the ids of the points that the
    session knows, and the length of what it was shown. The shown points are added to these ids.
    """
    from playbook_db.domain import prompt_text  # late: mostly nothing fits

    most_units = _MOST_OF_MANY if sum([each.book.project.live_points for each in known]) > _MANY else MOST_UNITS
    limit_units = min(LIMIT_UNITS[name], most_units - sum([units for _, units in known.values()]))
    lines, judged = [_HEADERS[name]], []
    units = prompt_text.utf16_units(lines[0])
    for score, source, point in matches:
        ids, _ = known[source]
        most = _MOST_BY_WORDS.get(name, MOST_POINTS[name]) if score else MOST_POINTS[name]
        reason = KNOWN if point.id in ids else NO_SPACE if len(lines) > most else ""
        if point.id not in ids and source.rules and hook_queries.has_rule(point, source.rules):
            reason = HAS_RULE
        if not reason:
            time = source.book.project.time
            line = prompt_text.entry(point, time and prompt_text.months_before(time, prompt_text.OLD_MONTHS))
            cost = prompt_text.utf16_units(line) + 1
            reason = NO_SPACE if units + cost > limit_units else ""
            if not reason:
                units += cost
                lines.append(line)
                ids.add(point.id)
        judged.append((source, point, reason))
    return "\n".join(lines), judged


def _known(event: hook_runner.Event, source: showing.Source) -> "tuple[set[int], int]":
    """Return the ids of the points of *source* that the session knows before *event*. Also return the total length of
    the texts that prompts and errors have shown.

    It knows the points in its context and, at an error, those that earlier errors have shown. A compaction removes
    earlier points. A subagent's points count only for that subagent. An error may repeat a point of the session's
    start, because the point matters now. A file may repeat one if the start was many calls ago.
    """
    known: set[int] = set()
    if not event.session_id or moment_of(event) == TASK:  # a subagent knows nothing yet
        return known, 0
    home = source.home
    rows = hook_queries.shown_to(home, event.session_id, by_team=home.project.team_name is not None)
    is_error, is_file = event.hook_event_name == FAILURE, event.hook_event_name == FILE
    repeats_start = is_error or (is_file and touched.calls_since_start(event.transcript_path) > _FAR_CALLS)
    at_moments: list[int] = []
    at_errors: set[int] = set()
    for _, by, start, points in sorted([*rows, *showing.spooled(event.session_id, source)]):
        if by == SUBAGENT and not event.payload.get("agent_id"):
            continue
        if start == "compact":
            known, at_moments = set(), []
        numbers = [int(number) for number in points.strip("[]").split(",") if number.strip().isdigit()]
        if not (repeats_start and by == START):
            known.update(numbers)
        if by == FAILURE:
            at_errors.update(numbers)
        if by in (PROMPT, FAILURE):
            at_moments += numbers
    if is_error:
        known |= at_errors
    if not at_moments:
        return known, 0
    units = hook_queries.text_units(source.book, at_moments)
    return known, units + len(at_moments) * _AROUND_UNITS
