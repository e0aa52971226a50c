"""A transcript's lines and chunks from a byte on, as a process reads them that hasn't seen the transcript before."""

from collections.abc import Iterator
from typing import Any

from playbook_db.claude_code.transcripts.chunks import ChunkReader
from playbook_db.claude_code.transcripts.transcript import Line, Transcript
from playbook_db.services.learning.asking import Chunk


def read_lines(path: str, start: int = 0) -> Iterator[Line]:
    transcript = Transcript(path)
    for _ in transcript.lines(start):
        pass
    yield from transcript.lines()


def read_chunks(path: str, start: int, max_chars: int, **given: Any) -> Iterator[Chunk]:
    reader = ChunkReader(Transcript(path), max_chars, **given)
    reader.skip(start)
    yield from reader.chunks()
