"""Diagnostic files: one for each event, in `.claude/diagnostic/` of a project that turned them on with a flag file.

Old diagnostic files are deleted. Source: scoring design, Instrumentation Hooks.
"""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from playbook_db import projects, settings
from playbook_db.domain.operations import PRUNE_MIN_HARMFUL, unknown_sections
from playbook_db.domain.playbook import Change, KeyPoint, Skipped
from playbook_db.domain.playbook_file import Migrated
from playbook_db.errors import GitError, PlaybookError

if TYPE_CHECKING:
    from playbook_db.llm.model import Exchange

_FILE_NAME = re.compile(r"\d{8}T\d{12}Z_[A-Za-z0-9._-]+\.txt")
_DONE = {"add": "added", "edit": "reworded", "retire": "retired"}
_SHOWN_TEXT_LENGTH = 80  # characters of a pruned point's text; source: scoring design


def is_on(folder: str) -> bool:
    """Return whether the project in *folder* has its own flag file `.claude/diagnostic_mode`. A flag file from a clone
    doesn't count."""
    return os.path.exists(flag_of(folder)) and not is_flag_brought(folder)


def flag_of(folder: str) -> str:
    """Return the path of the flag file of the project in *folder*."""
    return os.path.join(folder, ".claude", "diagnostic_mode")


def is_flag_brought(folder: str) -> bool:
    """Return whether the flag file may come from a clone. It may if it is in git's index, or if git can't tell."""
    flag = flag_of(folder)
    place = os.path.realpath(os.path.dirname(flag))
    top = next((each for each in projects.upwards(place) if os.path.lexists(os.path.join(each, ".git"))), None)
    if top is None or not os.path.lexists(flag):
        return False
    from playbook_db.services.sharing import git  # late: few projects have the flag

    try:
        return git.is_tracked(top, os.path.relpath(os.path.join(place, os.path.basename(flag)), top))
    except GitError:
        return True


def save(folder: str, content: str, name: str) -> str:
    """Write *content* to a new file that only its owner can read, named after the time and *name*. Return its path.
    Raises PlaybookError if it can't be written, or if the folder is a symbolic link that leaves the project."""
    target = os.path.join(folder, ".claude", "diagnostic")
    root = os.path.realpath(folder)
    if os.path.commonpath([os.path.realpath(target), root]) != root:
        raise PlaybookError(f"{target} links outside the project. Nothing was written; put a plain folder there.")
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"
    path = os.path.join(target, f"{stamp}_{re.sub(r'[^A-Za-z0-9._-]+', '_', name)}.txt")
    try:
        os.makedirs(target, mode=0o700, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(content)
        ours = sorted(name for name in os.listdir(target) if _FILE_NAME.fullmatch(name))
        for surplus in ours[: -settings.MAX_DIAGNOSTIC_FILES]:
            os.unlink(os.path.join(target, surplus))
    except OSError as error:
        raise PlaybookError(f"{path} can't be written: {error.strerror}.") from error
    return path


def migration(folder: str | None, migrated: Iterable[Migrated]) -> None:
    """Report the playbook's entries that were converted from an older format."""
    entries = [{"name": entry.name, "from": entry.shape, "original_score": entry.original_score} for entry in migrated]
    if entries:
        lines = [json.dumps(entries, indent=2, ensure_ascii=False)]
        _report(folder, lines, f"Migrated {len(entries)} playbook entries:", "playbook_migration")


def pruning(folder: str | None, pruned: Iterable[KeyPoint]) -> None:
    """Report the points that were pruned, and why."""
    lines = [
        f'  - {point.name}: "{point.text[:_SHOWN_TEXT_LENGTH]}" (helpful={point.helpful}, harmful={point.harmful}) '
        f"reason: harmful >= {PRUNE_MIN_HARMFUL} AND harmful > helpful"
        for point in pruned
    ]
    _report(folder, lines, f"Pruned {len(lines)} key points:", "playbook_pruning")


def operations(
    folder: str | None, batch: Sequence[object], skipped: Sequence[Skipped], changes: Iterable[Change]
) -> None:
    """Report the effect of a *batch* of operations: its *changes*, the *skipped* operations, and operations with an
    unknown section name."""
    done = ((_DONE[change.kind], change.point.name, change.reason) for change in changes if change.kind in _DONE)
    lines = [f"  - {verb} {name}" + (f": {reason}" if reason else "") for verb, name, reason in done]
    lines += [f"  - operation {item.index + 1} was skipped: {item.reason}" for item in skipped]
    title = f"{len(batch)} operations, {len(batch) - len(skipped)} applied, {len(skipped)} skipped:"
    unknown = unknown_sections(batch)
    lines += [f"  - operation {index + 1} names no section of ours: {section}" for index, section in unknown]
    if batch:
        _report(folder, [*lines, ""], title, "curator_operations")


def exchanges(folder: str | None, role: str, exchanged: Iterable["Exchange"], redact: Callable[[str], str]) -> None:
    """Report each question to the model and its answer. *redact* removes the secrets."""
    for exchange in exchanged:
        _report(folder, [redact(exchange.question), "", "--- answer ---", redact(exchange.answer)], f"{role}:", role)


def _report(folder: str | None, lines: list[str], title: str, name: str) -> None:
    if lines and folder is not None and is_on(folder):
        with contextlib.suppress(PlaybookError):  # a report that fails must not fail the work
            save(folder, "\n".join([title, *lines]), name)
