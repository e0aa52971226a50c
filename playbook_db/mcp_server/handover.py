"""Handing a running session over to the SDK's server. The client's handshake is replayed to that server first."""

import itertools
import json
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from playbook_db.mcp_server import tools

_END = b"\0\n"
_REPLAY = "playbook-replay"  # the id of the `initialize` that is sent again; its answer goes nowhere


def serve(
    url: str, folder: str, shown: Iterable[str], handshake: Sequence[Mapping[str, Any]], lines: Iterable[bytes]
) -> None:
    """Start the SDK's server. Send it the client's *handshake* again, then *lines*, the rest of the client's input.
    Pipes replace its stdin and stdout. The session has seen the points *shown*."""
    begin = [{**message, "id": _REPLAY} if "id" in message else message for message in handshake]
    wire = os.fdopen(os.dup(1), "wb")
    to_sdk, from_sdk = _pipe_for(0), _pipe_for(1)
    source = itertools.chain((json.dumps(message).encode() + b"\n" for message in begin), lines)
    threading.Thread(target=_copy, args=(source, to_sdk), daemon=True).start()
    replayed = f'"id":"{_REPLAY}"'.encode()
    answers = (line for line in iter(from_sdk.readline, _END) if replayed not in line[:100])
    writer = threading.Thread(target=_copy, args=(answers, wire))
    writer.start()
    try:
        tools.serve(url, folder, shown)
    finally:
        os.write(1, _END)  # the SDK leaves a copy of the pipe open
        writer.join()


def _pipe_for(descriptor: int) -> "BinaryIO":
    """Replace the file *descriptor* (0 or 1) with a pipe, and return the pipe's other end."""
    read_end, write_end = os.pipe()
    inner, outer = (read_end, write_end) if descriptor == 0 else (write_end, read_end)
    os.dup2(inner, descriptor)
    os.close(inner)
    return os.fdopen(outer, "wb" if descriptor == 0 else "rb")


def _copy(lines: "Iterable[bytes]", file: "BinaryIO") -> None:
    with suppress(OSError), file:  # the client, or the SDK's server, has ended
        for line in lines:
            file.write(line)
            file.flush()
