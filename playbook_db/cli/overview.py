"""The output of `playbook` without a command, above the list of commands."""

import os
from datetime import UTC, datetime

from playbook_db import settings
from playbook_db.cli.context import database_and_folder, notify, of_user
from playbook_db.cli.output import count_of, one_line, playbook_of, say
from playbook_db.domain.times import ago


def print_overview() -> None:
    """Print how many points the playbook has, how many proposals wait, and what was learned last."""
    url, folder = database_and_folder()
    path = settings.sqlite_file(url)
    if path is not None and not os.path.exists(path):
        say("There is no playbook yet. To add this project: playbook init")
        return
    from playbook_db.services.reading import command_reads
    from playbook_db.services.reading import status as service

    status = service.read(url, folder)
    if folder is not None and not status.points and (moved := command_reads.moved_from(url, folder)):
        notify([moved])
    proposals = f"; {waiting_in_words(status.proposals)} ({settings.review_command()})" if status.proposals else ""
    say(f"{playbook_of(status.key)}: {count_of(status.points, 'key point')}{proposals}")
    if lesson := command_reads.last_lesson(url, folder):
        name, text, time = lesson
        say(f'Last lesson, {ago(datetime.fromisoformat(time), now=datetime.now(UTC))}: "{one_line(text)}" [{name}]')
    elif not status.points:
        say(f"Add a point with: playbook{of_user()} add TEXT")


def waiting_in_words(count: int) -> str:
    """Return how many proposals wait."""
    return f"{count_of(count, 'proposal')} wait{'s' * (count == 1)}"
