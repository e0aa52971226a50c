"""Sessions that ended without a word, as a kill lets them: their transcripts have grown past their cursors."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from playbook_db import settings
from playbook_db.claude_code import user_settings
from playbook_db.claude_code.events import session_folder_name
from playbook_db.services import cursors
from playbook_db.store.engine import Store

QUIET_S = 600.0  # a transcript that grew later than that may belong to a session that goes on


@dataclass(frozen=True, slots=True)
class LostSession:
    """A transcript of the project `key` that nobody queued; `parent_path` is a subagent's session's."""

    key: str
    path: str
    session_id: str
    parent_path: str | None


def find(store: Store) -> Iterator[LostSession]:
    """The transcripts of all projects that grew since they were learnt from, wait in no queue, and are quiet.

    Those older than the project's playbook are for `playbook bootstrap`.
    """
    for known in cursors.known_transcripts(store):
        since = datetime.fromisoformat(known.created_at).timestamp()
        folders = {os.path.join(settings.claude_dir(), "projects", session_folder_name(known.key))}
        folders |= {os.path.dirname(path) for path in known.cursors if not _is_subagents(path)}
        for path in _transcripts(sorted(folders)):
            try:
                status = os.stat(path)
            except OSError:
                continue
            is_new = status.st_size > known.cursors.get(path, 0) and status.st_mtime >= since
            is_quiet = time.time() - status.st_mtime >= QUIET_S
            if is_new and is_quiet and path not in known.with_jobs and _is_wanted(path, known.key):
                yield _lost(known.key, path)


def transcripts_of(key: str) -> list[str]:
    """All transcripts that Claude Code keeps of sessions in the folder *key*, subagents' included, oldest first."""
    folder = os.path.join(settings.claude_dir(), "projects", session_folder_name(key))
    return sorted(_transcripts([folder]), key=lambda path: (os.stat(path).st_mtime, path))


def _is_wanted(path: str, folder: str) -> bool:
    """Whether the user's settings let us learn from how the session may have ended: nobody knows whether it was
    cleared or killed."""
    if _is_subagents(path):
        return user_settings.is_on("playbook_update_on_subagent_stop", folder)
    return all(user_settings.is_on(f"playbook_update_on_{end}", folder) for end in ("exit", "clear"))


def _lost(key: str, path: str) -> LostSession:
    folder, name = os.path.split(path)
    if not _is_subagents(path):
        return LostSession(key, path, name.removesuffix(".jsonl"), None)
    session = os.path.dirname(folder)
    return LostSession(key, path, os.path.basename(session), session + ".jsonl")


def _is_subagents(path: str) -> bool:
    return os.path.basename(os.path.dirname(path)) == "subagents"


def _transcripts(folders: list[str]) -> Iterator[str]:
    for folder in folders:
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".jsonl") and os.path.isfile(path):
                yield path
            elif os.path.isdir(os.path.join(path, "subagents")):
                yield from _transcripts([os.path.join(path, "subagents")])
