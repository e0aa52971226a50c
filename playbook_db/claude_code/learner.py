"""Learning from a whole transcript: its chunks one after the other, from where the cursor stands."""

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

from playbook_db.claude_code import chunks, transcript
from playbook_db.domain.redaction.redact import redact, secret_values, without_private
from playbook_db.errors import TimeOverError
from playbook_db.services import learn, queue
from playbook_db.services.learn import LearnResult, SourceChunk
from playbook_db.services.projects import Project
from playbook_db.store.jobs import Job

if TYPE_CHECKING:
    from playbook_db.llm.model import Model

CHUNK_CHARS = 240_000  # of transcript in one prompt: some 60,000 to 80,000 tokens
JOB_DEADLINE_S = 900.0  # for all calls of one chunk together


@dataclass(frozen=True, slots=True)
class Summary:
    """What a transcript taught: how many chunks were looked at, and what came of those that were new."""

    chunks: int = 0
    learnt: tuple[LearnResult, ...] = field(default=())

    @property
    def tokens(self) -> int:
        """The tokens that it took."""
        return sum(call.input_tokens + call.output_tokens for each in self.learnt for call in each.calls)

    @property
    def revisions(self) -> list[int]:
        """The revisions that came of it."""
        return [each.revision.revision for each in self.learnt if each.revision and each.revision.revision]


def learn_transcript(
    project: Project,
    path: str,
    model: "Model",
    *,
    finishes: Job | None = None,
    progress: Callable[[int], None] | None = None,
    until: float = math.inf,
) -> Summary:
    """Learn from what is new in the transcript at *path*; the job that it *finishes* ends in the last chunk's commit.

    *progress* is told up to which byte it has come; no chunk is begun after *until* (of `time.monotonic`). Raises
    FileNotFoundError, ModelError, NoModelError, BudgetError, TimeOverError, DatabaseError; what was learnt until then
    is kept.
    """
    secrets = secret_values(os.environ)
    first_uuid = _first_uuid(path)
    start = _start(project, path, first_uuid)

    def clean(text: str) -> str:
        return redact(without_private(text), secrets)

    done: list[LearnResult] = []
    ended = False
    for chunk, is_last in _with_last(chunks.read_chunks(path, start, CHUNK_CHARS, redact=clean)):
        if time.monotonic() > until:
            raise TimeOverError(f"{path} is learnt from up to byte {chunk.start}. The next worker goes on.")
        source = SourceChunk(
            path,
            chunk.start,
            chunk.end,
            chunk.text,
            chunk.cited,
            chunk.session_id or _session_of(path),
            chunk.last_uuid or None,
            first_uuid,
        )
        outcome = learn.learn(
            project,
            source,
            model,
            deadline=time.monotonic() + JOB_DEADLINE_S,
            secrets=secrets,
            finishes=finishes if is_last else None,
        )
        done.append(outcome)
        ended = is_last and not outcome.was_known
        if progress is not None:
            progress(chunk.end)
    if finishes is not None and not ended:
        queue.finish(project.store, finishes)
    return Summary(len(done), tuple(outcome for outcome in done if not outcome.was_known))


def _start(project: Project, path: str, first_uuid: str | None) -> int:
    """Where in the transcript to begin: the cursor; for a file not seen before, after what a fork copied into it."""
    if first_uuid is None:
        return queue.learned_to(project, path)
    queue.begin_anew_if_another(project, path, first_uuid)
    reached = queue.learned_to(project, path)
    if reached:
        return reached
    copied = 0
    for origin, origin_reached in queue.transcripts_beginning_with(project, first_uuid).items():
        if os.path.isfile(origin):
            copied = max(copied, _end_of_copy(path, _uuids(origin, origin_reached)))
    if copied:
        queue.skip_to(project, path, copied, session_id=_session_of(path), first_uuid=first_uuid)
    return copied


def _uuids(path: str, end: int) -> frozenset[str]:
    """The entries of the transcript at *path* before the byte *end*."""
    lines = takewhile(lambda line: line.end <= end, transcript.read_lines(path))
    return frozenset(line.entry.uuid for line in lines if line.entry)


def _end_of_copy(path: str, known: frozenset[str]) -> int:
    """Where in the transcript at *path* the entries end that are *known*, from its beginning on."""
    copied = 0
    for line in transcript.read_lines(path):
        if line.entry and line.entry.uuid not in known:
            break
        copied = line.end if line.entry else copied
    return copied


def _first_uuid(path: str) -> str | None:
    return next((line.entry.uuid for line in transcript.read_lines(path) if line.entry and line.entry.uuid), None)


def _with_last(found: Iterator[chunks.Chunk]) -> Iterator[tuple[chunks.Chunk, bool]]:
    """Each chunk, and whether it is the last."""
    before = None
    for chunk in found:
        if before is not None:
            yield before, False
        before = chunk
    if before is not None:
        yield before, True


def _session_of(path: str) -> str:
    """The session that a transcript's name tells; for a subagent's, that of the folder it is in."""
    folder, name = os.path.split(path)
    if os.path.basename(folder) == "subagents":
        return os.path.basename(os.path.dirname(folder))
    return name.removesuffix(".jsonl")
