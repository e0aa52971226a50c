"""A name server that never answers, in a network and a mount of the test's own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.nightly

_CONNECT = """
import fcntl, socket, struct

with socket.socket() as any_socket:  # a new network's own address is down
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))
silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
silent.bind(("127.0.0.1", 53))
from playbook_db.store.engine import open_store
from playbook_db.store.team import time_limits

try:
    with time_limits.at_most(time_limits.{limit}), open_store("postgresql://ann:x@db.example.org/playbooks") as store:
        store.projects()
except Exception as error:
    print(type(error).__name__, error)
silent.setblocking(False)
questions = 0
try:
    while silent.recv(4096):
        questions += 1
except BlockingIOError:
    print(questions)
"""


def _isolated(folder: Path) -> list[str]:
    """The start of a command line that gives its command a network, and a resolv.conf, of its own."""
    config = folder / "resolv.conf"
    config.write_text("nameserver 127.0.0.1\n")
    mount = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'
    return ["unshare", "-m", "-n", *([] if os.geteuid() == 0 else ["-U", "-r"]), "sh", "-c", mount, str(config)]


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "questions"), [("REPLICA_S", 2), ("LONG_S", 4)])
def test_a_command_asks_a_silent_name_server_once(limit: str, questions: int, tmp_path: Path) -> None:
    """By default the C library asks twice, 5 seconds each, which no limit of the driver includes. A question is two
    packets: one for each version of IP."""
    start = _isolated(tmp_path)
    if not sys.platform.startswith("linux") or subprocess.run([*start, "true"], check=False).returncode:
        pytest.skip("THIS SYSTEM ALLOWS NO NETWORK OF ONE'S OWN (unshare -n): the name server was not tried")
    ask = [*start, sys.executable, "-c", _CONNECT.format(limit=limit)]
    clean = {name: value for name, value in os.environ.items() if name != "RES_OPTIONS"}
    done = subprocess.run(ask, check=True, capture_output=True, text=True, env=clean)

    said, asked = done.stdout.splitlines()
    assert "db.example.org" in said
    assert int(asked) == questions
