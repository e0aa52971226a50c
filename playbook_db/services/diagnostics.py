"""What a project's developers asked to see: one file an event in `.claude/diagnostic/`, while the flag file is there.

Source: scoring design, Instrumentation Hooks. Old files are rotated away.
"""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from playbook_db import settings
from playbook_db.domain.playbook import KeyPoint, Skipped
from playbook_db.domain.playbook_file import Migrated
from playbook_db.errors import DiagnosticsError

if TYPE_CHECKING:
    from playbook_db.llm.model import Exchange

_FILE_NAME = re.compile(r"\d{8}T\d{12}Z_[A-Za-z0-9._-]+\.txt")
_SHOWN_TEXT_LENGTH = 80  # characters of a pruned point's text; source: scoring design


def is_on(folder: str) -> bool:
    """Whether the project in *folder* carries the flag file `.claude/diagnostic_mode`."""
    return os.path.exists(os.path.join(folder, ".claude", "diagnostic_mode"))


def save(folder: str, content: str, name: str) -> str:
    """Write *content* into a new file named after the time and *name*; its path.

    Raises DiagnosticsError where it can't be written, or the folder is a link out of the project: a clone may bring
    one.
    """
    kept = os.path.join(folder, ".claude", "diagnostic")
    root = os.path.realpath(folder)
    if os.path.commonpath([os.path.realpath(kept), root]) != root:
        raise DiagnosticsError(f"{kept} is a link out of the project. Nothing was written; put a plain folder there.")
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"
    path = os.path.join(kept, f"{stamp}_{re.sub(r'[^A-Za-z0-9._-]+', '_', name)}.txt")
    try:
        os.makedirs(kept, exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(content)
        _rotate(kept)
    except OSError as error:
        raise DiagnosticsError(f"{path} can't be written: {error.strerror}.") from error
    return path


def migration(folder: str, migrated: Iterable[Migrated]) -> None:
    """Tell which entries of an older shape were read, where diagnostics are on."""
    entries = [{"name": entry.name, "from": entry.shape, "original_score": entry.original_score} for entry in migrated]
    if entries:
        told = json.dumps(entries, indent=2, ensure_ascii=False)
        _tell(folder, [told], f"Migrated {len(entries)} playbook entries:", "playbook_migration")


def pruning(folder: str, pruned: Iterable[KeyPoint]) -> None:
    """Tell which points were pruned and why, where diagnostics are on."""
    lines = [
        f'  - {point.name}: "{point.text[:_SHOWN_TEXT_LENGTH]}" (helpful={point.helpful}, harmful={point.harmful}) '
        "reason: harmful >= 3 AND harmful > helpful"
        for point in pruned
    ]
    _tell(folder, lines, f"Pruned {len(lines)} key points:", "playbook_pruning")


def operations(
    folder: str, count: int, skipped: Iterable[Skipped], unknown_sections: Iterable[tuple[int, str]] = ()
) -> None:
    """Tell how many operations of a batch came, why some were skipped, and which name a section that we don't have,
    where diagnostics are on."""
    told = [f"  - operation {item.index + 1} was skipped: {item.reason}" for item in skipped]
    title = f"{count} operations, {len(told)} skipped:"
    told += [f"  - operation {index + 1} names no section of ours: {section}" for index, section in unknown_sections]
    if count:
        _tell(folder, [*told, ""], title, "curator_operations")


def exchanges(folder: str, who: str, exchanged: Iterable["Exchange"], mask: Callable[[str], str]) -> None:
    """Tell each question to a model and its answer, secrets masked, where diagnostics are on."""
    for exchange in exchanged:
        _tell(folder, [mask(exchange.question), "", "--- answer ---", mask(exchange.answer)], f"{who}:", who)


def _tell(folder: str, lines: list[str], title: str, name: str) -> None:
    if lines and is_on(folder):
        with contextlib.suppress(DiagnosticsError):  # a report must not spoil what it reports on
            save(folder, "\n".join([title, *lines]), name)


def _rotate(kept: str) -> None:
    ours = sorted(name for name in os.listdir(kept) if _FILE_NAME.fullmatch(name))
    surplus = ours[: -settings.DIAGNOSTIC_FILES_KEPT]
    for name in surplus:
        os.unlink(os.path.join(kept, name))
