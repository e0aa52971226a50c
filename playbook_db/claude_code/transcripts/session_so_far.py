"""Finding the session that called the MCP server, and reading its transcript up to now.

Seen with client 2.1.330, in print mode and interactive, by `claude mcp add` and as a plugin: the environment of a
server has `CLAUDE_CODE_SESSION_ID` and `CLAUDE_PROJECT_DIR`, and its working directory is the project. Each call of a
tool has the `_meta` key `claudecode/toolUseId`. After `/clear` the environment still names the old session. The id of
the tool use appears in the transcript of the session that calls, 50 to 150 ms after the call.
"""

import os
import time
from dataclasses import replace
from typing import cast

from playbook_db import project_env
from playbook_db.claude_code import learner, registration
from playbook_db.claude_code.transcripts import finding, transcript
from playbook_db.claude_code.transcripts.chunks import ChunkReader
from playbook_db.claude_code.transcripts.project_files import ProjectFiles
from playbook_db.claude_code.transcripts.transcript import Transcript
from playbook_db.domain.redaction.redact import redact, secret_values, without_private
from playbook_db.domain.trust.evidence import OUTSIDE, Place
from playbook_db.domain.trust.judging import Review
from playbook_db.errors import SettingError
from playbook_db.services.learning import queue
from playbook_db.services.playbook.suggestions import McpSession

TOOL_USE = "claudecode/toolUseId"  # the key in a call's `_meta`
_PATIENCE_S = 1.0  # until the call is in a transcript
_RETRY_S = 0.03
_LATEST = 20  # transcripts; more sessions don't run at once
_TAIL_BYTES = 4 << 20  # at the end of a transcript, with the calls that are under way
# For a session whose transcript can't be read: it may have read a web page.
UNKNOWN = (Place(OUTSIDE, "what the session read, which isn't known", ""),)


def session_of_call(tool_use: str | None, session: str) -> tuple[str, list[str]]:
    """Find the session that makes the call *tool_use*. Return it with its own transcript and the
    subagent's. If no transcript has that call, return *session* and the transcript of that name."""
    until = time.monotonic() + _PATIENCE_S
    while tool_use:
        for path in sorted(finding.everywhere(), key=os.path.getmtime, reverse=True)[:_LATEST]:
            if _has_call(path, tool_use):
                own = transcript.session_of(path)
                return own, list(dict.fromkeys([*_transcripts_of(own), path]))
        if time.monotonic() > until:
            break
        time.sleep(_RETRY_S)
    return session, _transcripts_of(session)


def read(tool_use: str | None, session: str, folder: str, shown: set[str]) -> McpSession:
    """Return the session that makes the call *tool_use* (see `session_of_call`), by its transcripts up to now. The
    server has *shown* it points. Raises SettingError if the session is private."""
    session, paths = session_of_call(tool_use, session)
    if queue.is_skipped(session):
        raise SettingError(
            "The user keeps this session private: it can't change the playbook, and nothing is learned from it."
        )
    secrets = secret_values(os.environ) | secret_values(project_env.project_variables(folder))
    files = ProjectFiles.of(folder)
    places: dict[Place, None] = {}
    cited: set[str] = set()
    try:
        for path in paths:
            reader = ChunkReader(Transcript(path), learner.CHUNK_CHARS, redact=without_private, files=files)
            for chunk in reader.chunks():
                places.update(dict.fromkeys(chunk.places))
                cited.update(chunk.cited)
    except OSError:
        paths = []
    # Only labels are stored, with a quote. To redact all texts would take four times as long as the rest.
    redacted = (replace(place, label=redact(place.label, secrets)) for place in places)
    counts = registration.mcp_choice(folder)[0] == "live"
    review = cast(Review, registration.review_mode(folder))
    places_known = tuple(redacted) if paths else UNKNOWN
    return McpSession(session, frozenset(shown | cited), places_known, secrets, review, counts)


def _transcripts_of(session: str) -> list[str]:
    paths = finding.everywhere(os.path.basename(session)) if session else ()
    return [path for path in paths if not finding.is_subagents(path)]


def _has_call(path: str, tool_use: str) -> bool:
    """Return whether the call *tool_use* is near the end of the transcript at *path*."""
    try:
        with open(path, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - _TAIL_BYTES, 0))
            return f'"{tool_use}"'.encode("utf-8", "replace") in file.read()
    except OSError:
        return False
