"""The documented functions for programs: dicts in, dicts out. Thin; the rules live once, below.

A playbook is a dict with `sections`, or a flat one with `key_points`; a flat one stays flat and gets `kpt_NNN` names.
Functions that the documents describe as never raising report to stderr instead. Source: the scoring, curator and
reflector documents; contract, section 6.
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

from playbook_db import projects, settings
from playbook_db.claude_code import registration
from playbook_db.claude_code.chunks import cited_names
from playbook_db.claude_code.transcript import assistant_texts, read_messages
from playbook_db.domain import duplicates
from playbook_db.domain import operations as _operations
from playbook_db.domain import operations as operations_rules
from playbook_db.domain.draft import Draft
from playbook_db.domain.playbook import LEGACY_PREFIX, Playbook, next_name
from playbook_db.domain.prompt_text import render_point, render_points
from playbook_db.domain.redaction.redact import redact, secret_values, without_private
from playbook_db.domain.sections import SECTION_SLUGS
from playbook_db.errors import PlaybookError, SettingError
from playbook_db.llm import choose, curator, reflector
from playbook_db.llm.model import Exchange, Model, RecordingModel, render_messages
from playbook_db.services import diagnostics, dict_api, similarity, templates
from playbook_db.services.projects import Project
from playbook_db.store.engine import open_store

__all__ = [
    "SECTION_SLUGS",
    "apply_bullet_tags",
    "apply_structured_operations",
    "extract_cited_ids",
    "extract_keypoints",
    "format_playbook",
    "generate_keypoint_name",
    "get_project_dir",
    "get_user_claude_dir",
    "is_diagnostic_mode",
    "load_playbook",
    "load_settings",
    "load_template",
    "load_transcript",
    "prune_harmful",
    "run_curator",
    "run_deduplication",
    "run_reflector",
    "save_diagnostic",
    "save_playbook",
    "update_playbook_data",
]

_PATIENCE_S = 600.0  # for one of the functions that ask a model, all its calls included


# --- places and settings ---


def get_project_dir() -> Path:
    """The project's folder: `CLAUDE_PROJECT_DIR`, else the home folder."""
    return Path(os.environ.get("CLAUDE_PROJECT_DIR") or settings.home())


def get_user_claude_dir() -> Path:
    """Claude Code's configuration folder: `CLAUDE_CONFIG_DIR`, else `~/.claude`."""
    return Path(settings.claude_dir())


def load_settings() -> dict[str, Any]:
    """Claude Code's settings: the user's, then the project's, then the project's local ones, later ones winning.

    The three `playbook_update_on_...` settings are true where no file says otherwise. A file that can't be read is
    reported and passed over.
    """
    merged: dict[str, Any] = dict.fromkeys(registration.SWITCHES, True)
    for path in map(Path, registration.settings_files(str(get_project_dir()))):
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            continue
        except (OSError, ValueError, RecursionError) as error:
            _report([f"{path} can't be read ({error}); it is passed over."])
            continue
        if isinstance(found, dict):
            merged.update(found)
    return merged


def load_template(template_name: str) -> str:
    """The prompt template of that name; the user's in `~/.claude/prompts/` wins. Raises TemplateError."""
    return templates.load_template(template_name)


def is_diagnostic_mode() -> bool:
    """Whether the project's flag file `.claude/diagnostic_mode` is there."""
    return diagnostics.is_on(str(get_project_dir()))


def save_diagnostic(content: str, name: str) -> None:
    """Keep *content* as a file in the project's `.claude/diagnostic/`."""
    diagnostics.save(str(get_project_dir()), content, name)


# --- the playbook as a whole ---


def load_playbook() -> dict[str, Any]:
    """The playbook of the project, from the database, after taking in `.claude/playbook.json` if that changed.

    A file that can't be taken in is reported; the database's playbook, or the empty one, comes back all the same.
    Raises DatabaseError where the database itself can't be used.
    """
    with _project() as project:
        loaded, notes = dict_api.load(project)
    _report(notes)
    return loaded


def save_playbook(playbook: dict[str, Any]) -> None:
    """Store *playbook* and write `.claude/playbook.json`; `last_updated` is now.

    What other processes changed since it was loaded is merged, and *playbook* holds the outcome afterwards. Raises
    PlaybookFileError for an entry that can't be kept, DatabaseError where the database can't be used.
    """
    with _project() as project:
        notes = dict_api.save(project, playbook)
    _report(notes)


def format_playbook(playbook: Mapping[str, Any]) -> str:
    """The text that goes into a prompt; `""` for an empty playbook. A flat one has no section headers."""
    reading = dict_api.from_plain(playbook)
    points = reading.playbook.points
    if reading.is_flat:
        return templates.fill_points("\n".join(render_point(p.name, p.helpful, p.harmful, p.text) for p in points))
    return templates.fill_points(render_points(points))


# --- changes to a dict ---


def generate_keypoint_name(section_entries: Iterable[Mapping[str, Any] | str], slug: str = LEGACY_PREFIX) -> str:
    """A name one higher than the highest of that slug among *section_entries* (entries, or names)."""
    return next_name((e if isinstance(e, str) else str(e.get("name", "")) for e in section_entries), slug)


def update_playbook_data(playbook: dict[str, Any], extraction_result: Mapping[str, Any]) -> dict[str, Any]:
    """*playbook* after a session: operations (or else new key points), then evaluations, then pruning.

    With operations the dict given stays as it was and a changed copy comes back; if anything unexpected is raised
    among them, none of them is kept.
    """
    asked = extraction_result.get("operations")
    if isinstance(asked, list):
        changed = apply_structured_operations(playbook, asked)
    else:
        changed = _change(playbook, lambda draft: _add_new_points(draft, extraction_result.get("new_key_points")))
    ballot = operations_rules.read_votes(extraction_result.get("evaluations"), tag_key="rating")
    changed = _change(changed, lambda draft: operations_rules.cast_votes(draft, ballot.votes))
    return prune_harmful(changed)


def apply_structured_operations(playbook: dict[str, Any], operations: list[Any]) -> dict[str, Any]:
    """A copy of *playbook* with the curator's operations carried out; the same object for none, or if any raised."""
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
    """Count the reflector's tags in *playbook* itself, which comes back. What can't be counted is reported."""
    ballot = operations_rules.read_votes(bullet_tags)
    unknown: list[str] = []

    def count(draft: Draft) -> None:
        taken = operations_rules.cast_votes(draft, ballot.votes)
        unknown.extend(f"there is no key point {vote.name}; its tag is skipped" for vote in taken if not vote.matched)

    changed = _change(playbook, count)
    _report([*(f"tag {item.index + 1} is skipped: {item.reason}" for item in ballot.skipped), *unknown])
    return changed


def prune_harmful(playbook: dict[str, Any]) -> dict[str, Any]:
    """Take the points out of *playbook* whose votes say that they harm."""

    def prune(draft: Draft) -> None:
        diagnostics.pruning(str(get_project_dir()), operations_rules.prune(draft))

    return _change(playbook, prune)


def run_deduplication(playbook: dict[str, Any], threshold: float | None = None) -> dict[str, Any]:
    """Fold points of *playbook* that are at least *threshold* similar (cosine) into the first of them.

    Without an embedder (`PLAYBOOK_EMBEDDER`) it says so and gives the playbook back as it is.
    """
    try:
        embedder = similarity.load_embedder()
        if embedder is None:
            _report(["no embedder is configured (PLAYBOOK_EMBEDDER); duplicates were not looked for"])
            return playbook
        bound = similarity.threshold(threshold)
        likeness = similarity.cosine(dict_api.from_plain(playbook).playbook.points, embedder)
    except SettingError as error:
        _report([str(error)])
        return playbook
    return _change(playbook, lambda draft: duplicates.fold_similar(draft, likeness, threshold=bound))


def _apply_curator_operations(playbook: dict[str, Any], operations: list[Any]) -> dict[str, Any]:
    """Carry out *operations* on *playbook* itself; invalid ones are skipped and reported."""
    skipped: list[str] = []

    def apply(draft: Draft) -> None:
        left_out = _operations.apply_operations(draft, operations)
        unknown = _operations.unknown_sections(operations)
        diagnostics.operations(str(get_project_dir()), len(operations), left_out, unknown)
        skipped.extend(f"operation {item.index + 1} is skipped: {item.reason}" for item in left_out)
        skipped.extend(f"operation {index + 1}: there is no section {section!r}" for index, section in unknown)

    changed = _change(playbook, apply)
    _report(skipped)
    return changed


# --- transcripts and the model ---


def load_transcript(path: str | Path) -> list[dict[str, str]]:
    """What the user and the assistant said in the transcript at *path*: `[{"role", "content"}]`, content as text.

    Lines that can't be read are skipped and counted on stderr. Raises OSError where the file can't be opened.
    """
    spoken = read_messages(str(path))
    if spoken.broken_lines:
        _report([f"{path}: {spoken.broken_lines} broken lines were skipped"])
    return list(spoken.messages)


def extract_cited_ids(messages: Iterable[Any]) -> list[str]:
    """The names of the key points that the assistant cited, each once."""
    return list(cited_names(assistant_texts(messages)))


async def extract_keypoints(
    messages: list[dict[str, Any]], playbook: dict[str, Any], diagnostic_name: str = "keypoints"
) -> dict[str, Any]:
    """What a session teaches, in one model call: `{"new_key_points", "evaluations"}`, and `operations` if the model
    gave any. Empty on any failure."""

    def ask(model: Model) -> dict[str, Any]:
        extracted = reflector.extract(
            model,
            template=load_template("reflection.txt"),
            transcript=_told(messages),
            playbook_text=format_playbook(playbook),
            deadline=time.monotonic() + _PATIENCE_S,
        )
        found = {"new_key_points": extracted.new_key_points, "evaluations": extracted.evaluations}
        return found if extracted.operations is None else {**found, "operations": extracted.operations}

    return await _asked(ask, {"new_key_points": [], "evaluations": []}, diagnostic_name)


async def run_reflector(
    messages: list[dict[str, Any]], playbook: dict[str, Any], cited_ids: list[str]
) -> dict[str, Any]:
    """How the key points did in a session: `{"analysis", "bullet_tags"}`. Empty on any failure."""

    def ask(model: Model) -> dict[str, Any]:
        reflection = reflector.reflect(
            model,
            template=load_template("reflector.txt"),
            transcript=_told(messages),
            playbook_text=format_playbook(playbook),
            cited=cited_ids,
            deadline=time.monotonic() + _PATIENCE_S,
        )
        return {"analysis": reflection.analysis, "bullet_tags": reflection.bullet_tags}

    return await _asked(ask, {"analysis": "", "bullet_tags": []}, "reflector")


async def run_curator(reflector_output: dict[str, Any], playbook: dict[str, Any]) -> dict[str, Any]:
    """What to change in the playbook: `{"reasoning", "operations"}`. Empty on any failure."""

    def ask(model: Model) -> dict[str, Any]:
        curation = curator.curate(
            model,
            template=load_template("curator.txt"),
            analysis=_masked(str(reflector_output.get("analysis") or "")),
            playbook_text=format_playbook(playbook),
            candidates="",
            size=f"the playbook holds {len(dict_api.from_plain(playbook).playbook.points)} key points.",
            deadline=time.monotonic() + _PATIENCE_S,
        )
        return {"reasoning": curation.reasoning, "operations": curation.operations}

    return await _asked(ask, {"reasoning": "", "operations": []}, "curator")


def _told(messages: Iterable[Any]) -> str:
    """*messages* as a model may see them: without what is private, secrets masked."""
    return _masked(without_private(render_messages(messages)))


def _masked(text: str) -> str:
    return redact(text, secret_values(os.environ))


async def _asked(ask: Callable[[Model], dict[str, Any]], empty: dict[str, Any], name: str) -> dict[str, Any]:
    """What *ask* makes of a model's answers, in a thread; *empty*, and a report, on any failure."""
    import asyncio  # late: whoever asks nobody does without it

    try:
        recording = RecordingModel(choose.find_model())
        try:
            return await asyncio.to_thread(ask, recording)
        finally:
            _keep_exchanges(recording.exchanges, name)
    except Exception as error:  # the documents promise that nothing is raised
        _report([f"{name}: {error}" if isinstance(error, PlaybookError) else f"{name}: {error!r}"])
        return empty


def _keep_exchanges(exchanges: Iterable[Exchange], name: str) -> None:
    if not is_diagnostic_mode():
        return
    for exchange in exchanges:
        with suppress(PlaybookError):  # a report must not spoil what it reports on
            save_diagnostic(_masked(f"{exchange.question}\n\n--- answer ---\n{exchange.answer}\n"), name)


def _change(playbook: dict[str, Any], work: Callable[[Draft], object]) -> dict[str, Any]:
    """Let *work* change *playbook* itself, which comes back."""
    reading = dict_api.from_plain(playbook)
    draft = Draft(reading.playbook, flat=reading.is_flat)
    work(draft)
    changed: Playbook = draft.playbook()
    dict_api.write_back(playbook, changed, flat=reading.is_flat)
    return playbook


def _add_new_points(draft: Draft, entries: object) -> None:
    skipped = _operations.apply_new_points(draft, entries)
    _report(f"new key point {item.index + 1} is skipped: {item.reason}" for item in skipped)


@contextmanager
def _project() -> Iterator[Project]:
    with open_store(settings.database_url()) as store:
        yield Project(store, projects.project_dir(str(get_project_dir())))


def _report(lines: Iterable[str]) -> None:
    for line in lines:
        sys.stderr.write(f"playbook: {line}\n")
