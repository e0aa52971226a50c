"""How sessions use points: the events at which a session is shown points, and how often it followed them."""

from dataclasses import dataclass

FEWEST_SESSIONS = 20  # with fewer, no shares are given
EVENTS = {  # the events at which a session is shown points
    "SessionStart": "at the start", "UserPromptSubmit": "by prompt", "PostToolUseFailure": "at an error",
    "SubagentStart": "to a subagent",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Totals:
    """In how many sessions a point was shown, followed and ignored, and how many calls failed because of that."""

    shown: int = 0
    followed: int = 0
    ignored: int = 0
    failed_calls: int = 0

    @property
    def in_words(self) -> str:
        """The numbers in a sentence, or "" if no session followed or ignored the point."""
        if not self.followed and not self.ignored:
            return ""
        text = f"shown in {self.shown} session{'s' * (self.shown != 1)}, followed in {self.followed}"
        cost = f", which cost {self.failed_calls} failed call{'s' * (self.failed_calls != 1)}"
        return f"{text}, ignored in {self.ignored}{cost if self.failed_calls else ''}"
