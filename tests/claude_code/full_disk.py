"""`python -m tests.claude_code.full_disk SCENARIO FOLDER HOME`: sessions on a disk that is full for a while.

Run by `test_full_disk`, where a disk may be mounted. What came of it is printed as JSON.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from playbook_db import settings
from playbook_db.claude_code import worker
from playbook_db.claude_code.hooks import spool
from tests.claude_code import running
from tests.claude_code.running import Client
from tests.databases import put_empty_database
from tests.learning.conftest import answers, curation, is_reflector, reflection
from tests.messages_api import MessagesApi
from tests.small_disks import fill, mount
from tests.transcripts_made_up import TranscriptBuilder


def _install() -> None:
    subprocess.run([sys.executable, "-m", "playbook_db", "install"], check=True, capture_output=True)


def session(client: Client, name: str) -> dict[str, str]:
    """What events tell of the session *name*, which has a transcript on another disk."""
    path = client.home / f"{name}.jsonl"
    built = TranscriptBuilder(name)
    built.user(f"the errand of {name}.")
    built.assistant("Done.")
    built.write(path)
    os.utime(path, (0, 0))  # it has been silent for long
    return {"session_id": name, "transcript_path": str(path)}


@dataclass(frozen=True, slots=True)
class Learned:
    """What a worker did: the jobs that it took in, the sessions that it found, and those that a model was asked about,
    each as often as it was."""

    spooled: int
    lost: int
    sessions: tuple[str, ...]


def learn() -> Learned:
    """Be the worker."""
    with MessagesApi(*answers(reflection(), curation())) as api:
        os.environ.update(ANTHROPIC_BASE_URL=api.url, ANTHROPIC_API_KEY="sk-ant-test")
        done = worker.run(settings.database_url())
        assert done is not None
        said = [request.last_said for request in api.messages() if is_reflector(request)]
    asked = [name for each in said for name in re.findall(r"the errand of (\S+?)\.", each)]
    return Learned(done.spooled, done.lost, tuple(sorted(asked)))


def _twice() -> list[dict[str, Any]]:
    return [asdict(learn()), asdict(learn())]


def three_ends(client: Client) -> Any:
    """A fresh install and its first session; then the disk is full, and two more sessions begin and all three end."""
    _install()
    sessions = [session(client, f"s-{number}") for number in range(3)]
    client.inject(client.start(**sessions[0]))
    filler = fill(client.data)
    told = [client.inject(client.start(**each)).out.decode() for each in sessions[1:]]
    for each in sessions:
        client.enqueue(client.end(**each))
    kept = [job["session_id"] for job in client.spooled()]
    filler.unlink()
    return {"told": told, "kept": kept, "then": _twice()}


def no_end(client: Client) -> Any:
    """A fresh install, then the disk is full; a session begins, and nobody notes its end."""
    _install()
    filler = fill(client.data)
    told = client.inject(client.start(**session(client, "s-1")))
    filler.unlink()
    return {"message": told.message, "then": _twice()}


def more_ends_than_the_reserve_has(client: Client) -> Any:
    """Each session that began before the disk was full is learned from, by its job or as one without a noted end."""
    _install()
    sessions = [session(client, f"s-{number}") for number in range(spool.RESERVE_FILES + 2)]
    for each in sessions:
        client.inject(client.start(**each))
    filler = fill(client.data)
    for each in sessions:
        client.enqueue(client.end(**each))
    filler.unlink()
    return {"then": _twice()}


def full_from_the_first(client: Client) -> Any:
    """There was never any room: neither for a reserve nor for a session's start."""
    client.data.mkdir(mode=0o700)
    filler = fill(client.data)
    event = session(client, "s-1")
    told = client.inject(client.start(**event))
    client.enqueue(client.end(**event))
    filler.unlink()
    return {"message": told.message, "then": [asdict(learn())]}


def job_with_a_reserve(client: Client) -> Any:
    """What a database can't take is in the spool."""
    put_empty_database(client.database)
    client.enqueue()
    assert client.worker_began()  # until then the process that becomes it holds what the hook had open
    client.rows("SELECT * FROM jobs")  # works the log in and removes it: nothing but the reserve may give room
    fill(client.data)
    client.enqueue(client.subagent_stop())
    return [job["reason"] for job in client.spooled()]


def job_without_a_reserve(client: Client) -> Any:
    """Nothing but the log could say why it isn't, and that is full as well."""
    put_empty_database(client.database)
    fill(client.data)
    client.enqueue(client.subagent_stop())
    return [job["reason"] for job in client.spooled()]


SCENARIOS: tuple[Callable[[Client], Any], ...] = (
    three_ends, no_end, more_ends_than_the_reserve_has, full_from_the_first, job_with_a_reserve, job_without_a_reserve,
)  # fmt: skip


if __name__ == "__main__":
    name, folder, home = sys.argv[1:]
    client = Client(Path(folder), Path(home, ".claude", "playbook", "playbook.db"), Path(home), is_patient=True)
    mount(Path(home, ".claude"))
    running.write_worker(client)
    sys.stdout.write(json.dumps({each.__name__: each for each in SCENARIOS}[name](client)))
