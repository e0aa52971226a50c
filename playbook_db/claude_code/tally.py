"""What in a transcript counts for how its session went: calls and failures of tools, the user's turns and corrections,
tokens."""

from playbook_db.claude_code.transcript import INTERRUPTED, Line
from playbook_db.domain.outcomes import SessionCounts, is_correction


class Tally:
    """Counts line by line. What the user does between two answers is one correction at most: an interruption, the
    rejection that goes with it, and the words that say why."""

    def __init__(self, *, is_begun: bool) -> None:
        self._may_correct = is_begun  # there is an answer, and no correction since

    def count(self, line: Line) -> SessionCounts:
        """What *line* adds."""
        entry = line.entry
        if entry is None:
            return SessionCounts(tokens=line.tokens)
        results = [part for part in entry.parts if part.kind == "result"]
        failed = sum(part.is_error and not part.is_stopped for part in results)
        if entry.role == "assistant":
            said = [part.text for part in entry.parts if part.kind == "text"]
            # What answers a question corrects nothing.
            self._may_correct = not (said and said[-1].rstrip().endswith(("?", "？")))
            calls = sum(part.kind == "call" for part in entry.parts)
            return SessionCounts(calls, failed, tokens=line.tokens)
        turn = next((part.said for part in entry.parts if part.said and part.kind == "text"), "")
        is_turn = entry.begins_turn and bool(turn)
        has_stopped = any(part.is_stopped or part.text.startswith(INTERRUPTED) for part in entry.parts)
        is_corrected = self._may_correct and (has_stopped or (is_turn and is_correction(turn)))
        if entry.is_sidechain:
            return SessionCounts(0, failed)
        self._may_correct &= not is_corrected
        return SessionCounts(0, failed, int(is_corrected), int(is_turn))
