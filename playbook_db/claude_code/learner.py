"""Learning from a transcript, chunk by chunk, from the cursor to the end.

For the worker and the commands `learn` and `bootstrap`.
"""

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from playbook_db import project_env
from playbook_db.claude_code import registration
from playbook_db.claude_code.transcripts.chunks import ChunkReader
from playbook_db.claude_code.transcripts.project_files import ProjectFiles
from playbook_db.claude_code.transcripts.transcript import Transcript
from playbook_db.domain.redaction.redact import redact, secret_values, without_private
from playbook_db.domain.trust.judging import Review
from playbook_db.errors import BudgetError, PlaybookError, RefusalError, Remedy
from playbook_db.llm.model import Model
from playbook_db.services.learning import cursor, learn, queue
from playbook_db.services.learning.budget import Budget
from playbook_db.services.learning.cursor import Cursor
from playbook_db.services.learning.learn import LearnResult
from playbook_db.services.project import Project
from playbook_db.store.queries.list_queries import Job

CHUNK_CHARS = 240_000  # of transcript in one prompt: some 60,000 to 80,000 tokens
JOB_DEADLINE_S = 900.0  # for all calls of one chunk together
_MOST_MEASURED = 8 << 20  # bytes of transcripts that an estimate reads


@dataclass(frozen=True, slots=True)
class TranscriptResult:
    """The result of learning from a transcript: the number of `chunks`, the results of new ones, and refusals."""

    chunks: int
    learned: tuple[LearnResult, ...]
    refused: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        """Return how many tokens were used, including cached ones. A budget counts them, too."""
        calls = [call for each in self.learned for call in each.calls]
        return sum(call.input_tokens + call.cached_tokens + call.output_tokens for call in calls)

    @property
    def proposals(self) -> int:
        """Return the number of new proposals."""
        return sum(each.proposals for each in self.learned)

    @property
    def revisions(self) -> list[int]:
        """Return the numbers of the new revisions."""
        return [each.revision.revision for each in self.learned if each.revision and each.revision.revision]


def learn_transcript(
    project: Project,
    path: str,
    model: Model,
    *,
    folder: str | None = None,
    finishes: Job | None = None,
    progress: Callable[[int], None] | None = None,
    until: float = math.inf,
    budget: Budget | None = None,
) -> TranscriptResult:
    """Learn from the new part of the transcript at *path*, of a session in *folder* (default: the project's).

    The commit of the last chunk ends the job *finishes*, unless the model refused to judge a chunk. *progress* is
    called with the byte reached so far. No chunk is started after *until* (of `time.monotonic`). The default *budget*
    is the daily one. Raises PlaybookError, FileNotFoundError, ModelError, NoModelError, BudgetError,
    BudgetError, DatabaseError. Lessons from before an error are kept.
    """
    source = Transcript(path)
    if pass_over(project, path):
        remedy = Remedy("To learn from the rest of the session: {}", ("sessions", "skip", source.session_id, "--off"))
        raise PlaybookError(f"You excluded session {source.session_id}, so nothing is learned from it.", remedy)
    folder = folder or project.folder or project.key
    variables = project_env.project_variables(folder)
    secrets = frozenset(secret_values(os.environ) | secret_values(variables))
    review = cast(Review, registration.review_mode(folder))
    results: list[LearnResult] = []
    refused: list[str] = []
    with cursor.opened(project, path, session_id=source.session_id, first_uuid=source.first_uuid) as at:
        reader = _reader(folder, source, at, secrets)
        new_chunks = reader.chunks()
        chunk = next(new_chunks, None)
        while chunk is not None:
            following = next(new_chunks, None)
            if time.monotonic() > until:
                raise BudgetError(f"{path}: learning stopped at byte {chunk.start}. The next worker continues.")
            try:
                result = learn.learn(
                    project,
                    chunk,
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
    # A team's database has no jobs: there the cursor alone makes each chunk count once.
    if finishes is not None and not refused and (project.is_team or not results or results[-1].already_learned):
        queue.finish(project.own.store, finishes)
    learned = tuple(result for result in results if not result.already_learned)
    return TranscriptResult(len(results), learned, tuple(refused))


def measure(unread: Mapping[str, int]) -> tuple[int, int, int, int]:
    """Return what learning from transcripts would send: bytes of them, parts, prompts and tool calls. *unread* has how
    many bytes at the end of each transcript are new. Only the first megabytes are read; the rest counts alike. Raises
    OSError if a file can't be read."""
    bytes_read, sent, prompts, calls = 0, list[int](), 0, 0
    for path, new in unread.items():
        if bytes_read < _MOST_MEASURED:
            reader = ChunkReader(Transcript(path), CHUNK_CHARS)
            reader.skip(os.path.getsize(path) - new)
            for chunk in reader.chunks():
                sent += [len(chunk.text.encode())] if chunk.text else []
                prompts += chunk.prompts
                calls += chunk.calls
            bytes_read += new
    whole = sum(unread.values()) / max(bytes_read, 1)
    size, parts, prompts, calls = (math.ceil(each * whole) for each in (sum(sent), len(sent), prompts, calls))
    return size, parts, prompts, calls


def pass_over(project: Project, path: str) -> bool:
    """Return whether the user has excluded the session of the transcript at *path*. If so, mark the whole transcript as
    learned from, also for its forks."""
    source = Transcript(path)
    if not queue.is_skipped(source.session_id):
        return False
    with cursor.opened(project, path, session_id=source.session_id, first_uuid=source.first_uuid) as at:
        at.move(max(os.path.getsize(path), at.offset))
    return True


def new_bytes(project: Project, path: str) -> int:
    """Return how many bytes of the transcript at *path* are new."""
    source = Transcript(path)
    if pass_over(project, path):
        return 0
    with cursor.opened(project, path, session_id=source.session_id, first_uuid=source.first_uuid) as at:
        return os.path.getsize(path) - at.offset


def _reader(folder: str, source: Transcript, at: Cursor, secrets: frozenset[str]) -> ChunkReader:
    """Return a reader of *source* from the cursor *at* on."""

    def clean(text: str) -> str:
        return redact(without_private(text), secrets)

    files = ProjectFiles.of(folder)
    reader = ChunkReader(source, CHUNK_CHARS, redact=clean, files=files)
    if at.is_new:
        relatives = at.relatives()
        reader.skip_entries({uuid for path in relatives for uuid in _uuids(path, relatives[path])})
        if reader.end != at.offset:
            at.move(reader.end)
    else:
        reader.skip(at.offset)
    return reader


def _uuids(path: str, end: int) -> set[str]:
    """Return the uuids of the entries before the byte *end* of the transcript at *path*, if the file still exists."""
    lines = Transcript(path).lines(end) if os.path.isfile(path) else ()
    return {line.entry.uuid for line in lines if line.entry}
