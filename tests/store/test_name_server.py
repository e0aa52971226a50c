"""A name server that never answers, in a network of the test's own."""

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
    with time_limits.at_most(4.0), open_store("postgresql://ann:x@db.example.org/playbooks") as store:
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
_MOUNT = 'mount --bind "$0" /etc/resolv.conf && exec "$@"'


@pytest.mark.slow
def test_silent_name_server_is_asked_once(tmp_path: Path) -> None:
    """The C library asks twice by default, 5 seconds each. One question is two packets: IPv4 and IPv6."""
    config = tmp_path / "resolv.conf"
    config.write_text("nameserver 127.0.0.1\n")
    user = [] if os.geteuid() == 0 else ["-U", "-r"]
    isolated = ["unshare", "-m", "-n", *user, "sh", "-c", _MOUNT, str(config)]
    if not sys.platform.startswith("linux") or subprocess.run([*isolated, "true"], check=False).returncode:
        pytest.skip("THIS SYSTEM ALLOWS NO NETWORK OF ONE'S OWN (unshare -n): the name server was not tried")
    clean = {name: value for name, value in os.environ.items() if name != "RES_OPTIONS"}
    ask = [*isolated, sys.executable, "-c", _CONNECT]
    done = subprocess.run(ask, check=True, capture_output=True, text=True, env=clean)

    error, packets = done.stdout.splitlines()
    assert "db.example.org" in error
    assert int(packets) == 2
