"""The documented functions that other programs call, with dicts. The rules are in `domain` and `services`.

A playbook is a dict with `sections`, or a flat dict with `key_points`. A flat playbook stays flat, and its new names
are `kpt_NNN`. Functions that must never raise report to stderr instead. Source: the scoring, curator and reflector
documents; contract, section 6.
"""

import copy
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from playbook_db import project_env, projects, settings
from playbook_db.claude_code import registration
from playbook_db.claude_code.transcripts.chunks import cited_names
from playbook_db.claude_code.transcripts.transcript import assistant_texts, read_messages
from playbook_db.domain import duplicates
from playbook_db.domain import operations as operation_rules
from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import LEGACY_PREFIX, next_name
from playbook_db.domain.prompt_text import render_point, render_points
from playbook_db.domain.redaction.redact import redact, secret_values, without_private
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.errors import PlaybookError, SettingError
from playbook_db.llm import choose, curator, reflector
from playbook_db.llm.marks import ShownPlaybook
from playbook_db.llm.model import Model, RecordingModel, render_messages
from playbook_db.services import templates
from playbook_db.services.learning import diagnostics
from playbook_db.services.opening import of_team
from playbook_db.services.playbook import dict_api
from playbook_db.services.project import Project, Servers, open_store

__all__ = [
    "SECTION_SLUGS", "apply_bullet_tags", "apply_structured_operations", "extract_cited_ids", "extract_keypoints",
    "format_playbook", "generate_keypoint_name", "get_project_dir", "get_user_claude_dir", "is_diagnostic_mode",
    "load_playbook", "load_settings", "load_template", "load_transcript", "prune_harmful", "run_curator",
    "run_deduplication", "run_reflector", "save_diagnostic", "save_playbook", "update_playbook_data",
]  # fmt: skip

_TIMEOUT_S = 600.0  # for all calls of a model that one function makes


# --- places and settings ---


def get_project_dir() -> Path:
    """Return the project's folder: `CLAUDE_PROJECT_DIR` if set, else the home folder."""
    return Path(os.environ.get("CLAUDE_PROJECT_DIR") or settings.home())


def get_user_claude_dir() -> Path:
    """Return Claude Code's configuration folder: `CLAUDE_CONFIG_DIR` if set, else `~/.claude`."""
    return Path(settings.claude_dir())


def load_settings() -> dict[str, Any]:
    """Return Claude Code's settings, merged from the user's, the project's and the local file. The last file wins.

    The three `playbook_update_on_...` settings are true by default. A file that can't be read is reported and ignored.
    """
    merged: dict[str, Any] = dict.fromkeys(registration.SWITCHES, True)
    for path in registration.settings_files(str(get_project_dir())):
        try:
            content = json.loads(projects.read_plain(path))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError) as error:
            _report([f"{path} can't be read ({error}), so it was ignored."])
            continue
        if isinstance(content, dict):
            merged.update(content)
    return merged


def load_template(template_name: str) -> str:
    """Return a prompt template: the user's file in `~/.claude/prompts/`, or else ours. Raises SettingError."""
    return templates.load_template(template_name)


def is_diagnostic_mode() -> bool:
    """Return whether the file `.claude/diagnostic_mode` exists in the project."""
    return diagnostics.is_on(str(get_project_dir()))


def save_diagnostic(content: str, name: str) -> None:
    """Write *content* to a new file in the project's folder `.claude/diagnostic/`."""
    diagnostics.save(str(get_project_dir()), content, name)


# --- the playbook as a whole ---


def load_playbook() -> dict[str, Any]:
    """Return the project's playbook from the database. If `.claude/playbook.json` was edited, merge it first.

    A file that can't be merged is reported and ignored. Raises DatabaseError if the database can't be used.
    """
    with _project() as project:
        loaded, notes = dict_api.load(project)
    _report(notes)
    return loaded


def save_playbook(playbook: dict[str, Any]) -> None:
    """Store *playbook*, set its `last_updated` to now, and write `.claude/playbook.json`.

    Changes that other processes made since *playbook* was loaded are merged into it. Raises PlaybookFileError if an
    entry is invalid, DatabaseError if the database can't be used.
    """
    with _project() as project:
        notes = dict_api.save(project, playbook)
    _report(notes)


def format_playbook(playbook: Mapping[str, Any]) -> str:
    """Render *playbook* as text for a prompt. An empty playbook gives `""`. A flat playbook has no section headers."""
    reading = dict_api.from_plain(playbook)
    points = reading.playbook.points
    if reading.is_flat:
        return templates.fill_points("\n".join(render_point(p.name, p.helpful, p.harmful, p.text) for p in points))
    return templates.fill_points(render_points(points))


# --- changes to a dict ---


def generate_keypoint_name(section_entries: Iterable[Mapping[str, Any] | str], slug: str = LEGACY_PREFIX) -> str:
    """Return the next free name with *slug*. *section_entries* are the entries of a section, or their names."""
    return next_name((e if isinstance(e, str) else str(e.get("name", "")) for e in section_entries), slug)


def update_playbook_data(playbook: dict[str, Any], extraction_result: Mapping[str, Any] | None) -> dict[str, Any]:
    """Apply a session's result to *playbook*: operations or new key points, then evaluations. Then prune *playbook*.

    If the result has operations, return a changed copy. If one of them fails unexpectedly, none is applied. If it has
    no operations, add its new key points to *playbook* itself. A result that isn't a dict changes nothing.
    """
    if not isinstance(extraction_result, Mapping):
        _report([f"a session's result must be a dict, but this is {extraction_result!r:.60}; nothing was changed"])
        return playbook
    operations = extraction_result.get("operations")
    if isinstance(operations, list):
        playbook = apply_structured_operations(playbook, operations)
    else:
        entries = extraction_result.get("new_key_points")
        with _draft(playbook) as draft:
            skipped = operation_rules.apply_new_points(draft, entries)
        _report(f"new key point {item.index + 1} is skipped: {item.reason}" for item in skipped)
    votes, _ = operation_rules.read_votes(extraction_result.get("evaluations"), tag_key="rating")
    with _draft(playbook) as draft:
        operation_rules.cast_votes(draft, votes)
    return prune_harmful(playbook)


def apply_structured_operations(playbook: dict[str, Any], operations: list[Any]) -> dict[str, Any]:
    """Return a copy of *playbook* with *operations* applied. Without operations, or on an error, return *playbook*."""
    if not operations:
        return playbook
    try:
        return _apply_curator_operations(copy.deepcopy(playbook), operations)
    except Exception as error:  # the documents ask for a rollback on anything unexpected
        _report([f"the curator's operations were rolled back: {error!r}"])
        if is_diagnostic_mode():
            save_diagnostic(f"Rolled back {len(operations)} operations: {error!r}", "curator_rollback")
        return playbook


def apply_bullet_tags(playbook: dict[str, Any], bullet_tags: list[Any]) -> dict[str, Any]:
    """Add the votes in *bullet_tags* to *playbook*, and return *playbook*. Report tags that can't be counted."""
    tags, skipped = operation_rules.read_votes(bullet_tags)
    with _draft(playbook) as draft:
        votes = operation_rules.cast_votes(draft, tags)
    _report(f"tag {item.index + 1} is skipped: {item.reason}" for item in skipped)
    _report(f"there is no key point {vote.name}; its tag is skipped" for vote in votes if not vote.matched)
    return playbook


def prune_harmful(playbook: dict[str, Any]) -> dict[str, Any]:
    """Remove the points with 3 or more harmful votes, and more of them than helpful ones. Return *playbook*."""
    with _draft(playbook) as draft:
        diagnostics.pruning(str(get_project_dir()), operation_rules.prune(draft))
    return playbook


def run_deduplication(playbook: dict[str, Any], threshold: float | None = None) -> dict[str, Any]:
    """Merge points of *playbook* whose cosine similarity is at least *threshold*, and return *playbook*.

    Without an embedder (`PLAYBOOK_EMBEDDER`) nothing changes, and a report says so.
    """
    try:
        embedder = dict_api.load_embedder()
        if embedder is None:
            _report(["no embedder is configured (PLAYBOOK_EMBEDDER); duplicates were not searched"])
            return playbook
        bound = dict_api.similarity_threshold(threshold)
        likeness = dict_api.cosine(dict_api.from_plain(playbook).playbook.points, embedder)
    except SettingError as error:
        _report([str(error)])
        return playbook
    with _draft(playbook) as draft:
        duplicates.fold_similar(draft, likeness, threshold=bound)
    return playbook


def _apply_curator_operations(playbook: dict[str, Any], operations: list[Any]) -> dict[str, Any]:
    """Apply *operations* to *playbook*, and return *playbook*. Invalid operations are skipped and reported."""
    unknown = operation_rules.unknown_sections(operations)
    with _draft(playbook) as draft:
        skipped = operation_rules.apply_operations(draft, operations)
        diagnostics.operations(str(get_project_dir()), operations, skipped, draft.changes)
    _report(f"operation {item.index + 1} is skipped: {item.reason}" for item in skipped)
    _report(f"operation {index + 1}: there is no section {section!r}" for index, section in unknown)
    return playbook


# --- transcripts and the model ---


def load_transcript(path: str | Path) -> list[dict[str, str]]:
    """Return the messages in the transcript at *path* as `[{"role", "content"}]`. Each content is a text.

    Lines that can't be read are skipped and counted on stderr. Raises OSError if the file can't be opened.
    """
    transcript = read_messages(str(path))
    if transcript.broken_lines:
        _report([f"{path}: {transcript.broken_lines} broken lines were skipped"])
    return list(transcript.messages)


def extract_cited_ids(messages: Iterable[Any]) -> list[str]:
    """Return the names of the key points that the assistant cites in *messages*, each name once."""
    return list(cited_names(assistant_texts(messages)))


async def extract_keypoints(
    messages: list[dict[str, Any]], playbook: dict[str, Any], diagnostic_name: str = "keypoints"
) -> dict[str, Any]:
    """Ask the model for a session's lessons. Return `{"new_key_points", "evaluations"}`, perhaps with `operations`.
    The lists are empty on any failure."""

    def ask(model: Model) -> dict[str, Any]:
        return reflector.extract(
            model,
            template=load_template("reflection.txt"),
            transcript=_transcript(messages),
            playbook_text=format_playbook(playbook),
            deadline=time.monotonic() + _TIMEOUT_S,
        )

    return await _ask(ask, {"new_key_points": [], "evaluations": []}, diagnostic_name)


async def run_reflector(
    messages: list[dict[str, Any]], playbook: dict[str, Any], cited_ids: list[str]
) -> dict[str, Any]:
    """Ask the model which points helped or harmed. Return `{"analysis", "bullet_tags"}`, both empty on any failure."""

    def ask(model: Model) -> dict[str, Any]:
        answer = reflector.reflect(
            model,
            template=load_template("reflector.txt"),
            transcript=_transcript(messages),
            playbook=ShownPlaybook(format_playbook(playbook)),
            cited=cited_ids,
            deadline=time.monotonic() + _TIMEOUT_S,
        )
        return {"analysis": answer.analysis, "bullet_tags": _documented(answer.tags)}

    return await _ask(ask, {"analysis": "", "bullet_tags": []}, "reflector")


async def run_curator(reflector_output: dict[str, Any], playbook: dict[str, Any]) -> dict[str, Any]:
    """Ask the model for changes to the playbook. Return `{"reasoning", "operations"}`, both empty on any failure."""

    def ask(model: Model) -> dict[str, Any]:
        answer = curator.curate(
            model,
            template=load_template("curator.txt"),
            reflection=reflector.Reflection(_redacted(str(reflector_output.get("analysis") or ""))),
            playbook=ShownPlaybook(format_playbook(playbook)),
            deadline=time.monotonic() + _TIMEOUT_S,
        )
        return {"reasoning": answer.reasoning, "operations": _documented(answer.operations)}

    return await _ask(ask, {"reasoning": "", "operations": []}, "curator")


def _documented(items: list[Any]) -> list[Any]:
    """Remove undocumented keys from the *items* of a model's answer."""
    return [
        {key: value for key, value in item.items() if key not in ("evidence", "ignored")}
        if isinstance(item, dict)
        else item
        for item in items
    ]


def _transcript(messages: Iterable[Any]) -> str:
    """Render *messages* as text for a model. Private parts are removed, and secrets are masked."""
    return _redacted(without_private(render_messages(messages)))


def _redacted(text: str) -> str:
    return redact(text, secret_values(os.environ))


async def _ask(ask: Callable[[Model], dict[str, Any]], empty: dict[str, Any], name: str) -> dict[str, Any]:
    """Call *ask* with the model, in a thread, and return the result. On any failure, report it and return *empty*."""
    import asyncio  # late: programs that ask no model don't need it

    try:
        if "CLAUDECODE" in os.environ:  # in a session, which has its project's variables
            project_env.job_environment(os.path.abspath(get_project_dir()))
        recording = RecordingModel(choose.find_model())
        try:
            return await asyncio.to_thread(ask, recording)
        finally:
            for exchange in recording.exchanges if is_diagnostic_mode() else ():
                with suppress(PlaybookError):  # a report that fails must not fail the work
                    save_diagnostic(_redacted(f"{exchange.question}\n\n--- answer ---\n{exchange.answer}\n"), name)
    except Exception as error:  # the documents promise that nothing is raised
        _report([f"{name}: {error}" if isinstance(error, PlaybookError) else f"{name}: {error!r}"])
        return empty


@contextmanager
def _draft(playbook: dict[str, Any]) -> Iterator[Draft]:
    """Yield a draft of *playbook*, and at the end write the draft's changes back to *playbook*."""
    reading = dict_api.from_plain(playbook)
    _report(reading.warnings)
    draft = Draft(reading.playbook, flat=reading.is_flat)
    yield draft
    dict_api.write_back(playbook, draft.playbook(), flat=reading.is_flat)


@contextmanager
def _project() -> Iterator[Project]:
    folder = os.path.abspath(get_project_dir())
    with (
        open_store(project_env.database_url(folder)) as store,
        Servers() as servers,
        of_team(Project.in_folder(store, folder), servers) as project,
    ):
        yield project


def _report(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stderr.write(f"playbook: {line}\n")
