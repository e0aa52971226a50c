"""Learning from a whole transcript: its chunks one after the other, from where the cursor stands.

For the worker and the commands `learn` and `bootstrap`.
"""

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from playbook_db import project_env
from playbook_db.claude_code import chunks, registration, transcript
from playbook_db.claude_code.project_files import ProjectFiles
from playbook_db.domain.judging import Review
from playbook_db.domain.redaction.redact import redact, secret_values, without_private
from playbook_db.errors import RefusalError, SkippedSessionError, TimeOverError
from playbook_db.projects import as_text
from playbook_db.services import learn, queue
from playbook_db.services.learn import LearnResult
from playbook_db.services.project import Project
from playbook_db.store.jobs import Job

if TYPE_CHECKING:
    from playbook_db.llm.model import Model

CHUNK_CHARS = 240_000  # of transcript in one prompt: some 60,000 to 80,000 tokens
JOB_DEADLINE_S = 900.0  # for all calls of one chunk together


@dataclass(frozen=True, slots=True)
class TranscriptResult:
    """What a transcript taught: how many `chunks` were read, what came of those that were new, and which the model
    `refused` to judge, in words."""

    chunks: int
    learned: tuple[LearnResult, ...]
    refused: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """The tokens that it took, as a budget counts them: those from a cache too."""
        calls = [call for each in self.learned for call in each.calls]
        return sum(call.input_tokens + call.cached_tokens + call.output_tokens for call in calls)

    @property
    def proposals(self) -> int:
        """How many proposals came of it."""
        return sum(each.proposals for each in self.learned)

    @property
    def revisions(self) -> list[int]:
        """The revisions that came of it."""
        return [each.revision.revision for each in self.learned if each.revision and each.revision.revision]


def learn_transcript(
    project: Project,
    path: str,
    model: "Model",
    *,
    finishes: Job | None = None,
    progress: Callable[[int], None] | None = None,
    until: float = math.inf,
    budget: learn.Budget | None = None,
) -> TranscriptResult:
    """Learn from what is new in the transcript at *path*; the job that it *finishes* ends in the last chunk's commit,
    unless the model refused to judge a chunk.

    *progress* is called with the byte up to which it has come; no chunk is begun after *until* (of `time.monotonic`);
    without a *budget* the daily one holds.
    Raises SkippedSessionError, FileNotFoundError, ModelError, NoModelError, BudgetError, TimeOverError, DatabaseError;
    what was learned until then is kept.
    """
    secrets = secret_values(os.environ) | secret_values(project_env.brought(project.folder or project.key))

    def clean(text: str) -> str:
        return redact(without_private(text), secrets)

    if pass_over(project, path):
        raise SkippedSessionError(session_of(path))
    queue.bring_cursor(project, path, session_id=session_of(path))
    start, first_uuid = _begin(project, path)
    results: list[LearnResult] = []
    refused: list[str] = []
    found = ProjectFiles.of(project.folder or project.key, transcript.began_at(path))
    review = cast(Review, registration.review_mode(project.folder or project.key))
    new_chunks = chunks.read_chunks(path, start, CHUNK_CHARS, redact=clean, files=found)
    chunk = next(new_chunks, None)
    while chunk is not None:
        following = next(new_chunks, None)
        if time.monotonic() > until:
            raise TimeOverError(f"{path} is learned from up to byte {chunk.start}. The next worker goes on.")
        try:
            result = learn.learn(
                project,
                replace(chunk, session_id=chunk.session_id or session_of(path), first_uuid=first_uuid),
                model,
                deadline=time.monotonic() + JOB_DEADLINE_S,
                secrets=secrets,
                finishes=None if following or refused or project.is_team else finishes,
                budget=budget,
                review=review,
            )
            results.append(result)
        except RefusalError as error:
            refused.append(str(error))
        if progress is not None:
            progress(chunk.end)
        chunk = following
    queue.follow_cursor(project, path, session_id=session_of(path))
    # A team's database has no jobs: there the cursor alone makes each chunk count once.
    if finishes is not None and not refused and (project.is_team or not results or results[-1].was_known):
        queue.finish(project.own.store, finishes)
    learned = tuple(result for result in results if not result.was_known)
    return TranscriptResult(len(results), learned, tuple(refused))


def pass_over(project: Project, path: str) -> bool:
    """Whether the session of the transcript at *path* is to be kept out; it then counts as learned from to its end, for
    a fork of it too."""
    if not queue.is_skipped(session_of(path)):
        return False
    first_uuid = _first_uuid(path)
    cursor = queue.read_cursor(project, path, first_uuid)
    end = max(os.path.getsize(path), cursor.offset)
    queue.move_cursor(project, path, cursor, end, session_id=session_of(path), first_uuid=first_uuid)
    queue.follow_cursor(project, path, session_id=session_of(path))
    return True


def session_of(path: str) -> str:
    """The session that a transcript's name tells; for a subagent's, that of the folder it is in."""
    folder, name = os.path.split(path)
    if os.path.basename(folder) == "subagents":
        return as_text(os.path.basename(os.path.dirname(folder)))
    return as_text(name.removesuffix(".jsonl"))


def _begin(project: Project, path: str) -> tuple[int, str | None]:
    """Where in the transcript to begin, and its first entry: at the cursor; in one that is new, or has taken another's
    place, after what a fork copied into it."""
    first_uuid = _first_uuid(path)
    cursor = queue.read_cursor(project, path, first_uuid)
    if not cursor.is_new:
        return cursor.offset, first_uuid
    known = {uuid for relative, end in cursor.relatives.items() for uuid in _uuids(relative, end)}
    copied = 0
    for line in transcript.read_lines(path) if known else ():
        if line.entry and line.entry.uuid not in known:
            break
        copied = line.end if line.entry else copied
    if copied != cursor.offset:
        queue.move_cursor(project, path, cursor, copied, session_id=session_of(path), first_uuid=first_uuid)
    return copied, first_uuid


def _first_uuid(path: str) -> str | None:
    entries = (line.entry for line in transcript.read_lines(path) if line.entry)
    return next((entry.uuid for entry in entries if entry.uuid), None)


def _uuids(path: str, end: int) -> Iterator[str]:
    """The entries before the byte *end* of the transcript at *path*, if it is still there."""
    for line in transcript.read_lines(path) if os.path.isfile(path) else ():
        if line.end > end:
            return
        if line.entry:
            yield line.entry.uuid
