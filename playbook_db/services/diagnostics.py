"""What a project's developers asked to see: one file an event in `.claude/diagnostic/`, while the flag file is there.

Source: scoring design, Instrumentation Hooks. Old files are rotated away.
"""

import contextlib
import os
import re
from collections.abc import Iterable
from datetime import UTC, datetime

from playbook_db import settings
from playbook_db.errors import DiagnosticsError
from playbook_db.rules.legacy import Migrated
from playbook_db.rules.playbook import KeyPoint, Skipped

_FILE_NAME = re.compile(r"\d{8}T\d{12}Z_[A-Za-z0-9._-]+\.txt")
_SHOWN_TEXT_LENGTH = 80  # characters of a pruned point's text; source: scoring design


def is_on(folder: str) -> bool:
    """Whether the project in *folder* carries the flag file `.claude/diagnostic_mode`."""
    return os.path.exists(os.path.join(folder, ".claude", "diagnostic_mode"))


def save(folder: str, content: str, name: str) -> str:
    """Write *content* into a new file named after the time and *name*; its path.

    Raises DiagnosticsError where the folder is a link out of the project: a clone may bring one.
    """
    kept = os.path.join(folder, ".claude", "diagnostic")
    os.makedirs(kept, exist_ok=True)
    root = os.path.realpath(folder)
    if os.path.commonpath([os.path.realpath(kept), root]) != root:
        raise DiagnosticsError(f"{kept} is a link out of the project. Nothing was written; put a plain folder there.")
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"
    path = os.path.join(kept, f"{stamp}_{re.sub(r'[^A-Za-z0-9._-]+', '_', name)}.txt")
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(content)
    _rotate(kept)
    return path


def migration(folder: str, migrated: Iterable[Migrated]) -> None:
    """Tell which entries of an older shape were read, where diagnostics are on."""
    lines = [f"  - {entry.name}: from {entry.shape}, score {entry.original_score}" for entry in migrated]
    _tell(folder, lines, f"Migrated {len(lines)} playbook entries:", "playbook_migration")


def pruning(folder: str, pruned: Iterable[KeyPoint]) -> None:
    """Tell which points were pruned and why, where diagnostics are on."""
    lines = [
        f'  - {point.name}: "{point.text[:_SHOWN_TEXT_LENGTH]}" (helpful={point.helpful}, harmful={point.harmful}) '
        "reason: harmful >= 3 AND harmful > helpful"
        for point in pruned
    ]
    _tell(folder, lines, f"Pruned {len(lines)} key points:", "playbook_pruning")


def operations(folder: str, count: int, skipped: Iterable[Skipped]) -> None:
    """Tell how many operations of a batch were carried out and why the others weren't, where diagnostics are on."""
    lines = [f"  - operation {item.index + 1}: {item.reason}" for item in skipped]
    if count:
        _tell(folder, [*lines, ""], f"{count} operations, {len(lines)} skipped:", "curator_operations")


def _tell(folder: str, lines: list[str], title: str, name: str) -> None:
    if lines and is_on(folder):
        with contextlib.suppress(OSError, DiagnosticsError):  # a report must not spoil what it reports on
            save(folder, "\n".join([title, *lines]), name)


def _rotate(kept: str) -> None:
    ours = sorted(name for name in os.listdir(kept) if _FILE_NAME.fullmatch(name))
    surplus = ours[: -settings.DIAGNOSTIC_FILES_KEPT]
    for name in surplus:
        os.unlink(os.path.join(kept, name))
