"""Messages of the user that correct the assistant."""

import pytest

from playbook_db.domain.trust.corrections import is_correction


@pytest.mark.parametrize(
    "text",
    [
        "no, the other file", "No. Use uv.", "NO!", "no", "Nope, not there", "stop", "Stop. That's production.",
        "no - use pnpm", "no — use pnpm", "wrong: it was the other", "That's wrong, it needs a lock",
        "that’s not what I asked for", "This is not right", "I said uv, not pip", "I told you to run the tests",
        "why did you delete the test?", "undo that please", "revert this", "you forgot the migration", "  no,\nuse x",
        "Nein, die andere Datei", "das ist falsch", "So nicht!", "non, pas celui-là", "C'est faux", "no, usa uv",
        "así no", "não, use o outro", "нет, другой файл", "это не то", "不对，用另一个", "違います", "틀렸어",
    ],
)  # fmt: skip
def test_corrections_are_recognized(text: str) -> None:
    assert is_correction(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "no problem, go on", "No-op functions should be removed", "nobody uses this", "now add a test", "note: x",
        "stop the server and start it again", "Wrong answers must raise an error", "mend the bug", "yes, do that",
        "thank you", "not yet", "I saidan", "undo the migration 0005", "revert commit abc", "Actually, also add x",
        "nonsense words", "falsches Passwort melden", "non-ASCII names fail", "please say no, then",
        "neem de tests mee", "noch ein Test", "stopping is fine", "你好", "mal sehen, was geht", "halting problem",
    ],
)  # fmt: skip
def test_other_messages_are_no_corrections(text: str) -> None:
    assert not is_correction(text)
