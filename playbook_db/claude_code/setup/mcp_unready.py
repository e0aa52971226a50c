"""An MCP server without tools, which says why the real one can't run yet, and what to do.

With it the client shows no error, and the model can tell the user. Runs on any Python, with the standard library alone.
Each message is one line of JSON.
"""

import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LATEST = "2025-11-25"  # the version of the protocol, if the client names none
_NO_METHOD = {"code": -32601, "message": "this server only says why the playbook's tools aren't available yet"}


def serve(why: str) -> int:
    """Answer each line of stdin until stdin ends, saying *why* there are no tools. Return the exit code."""
    for line in filter(bytes.strip, sys.stdin.buffer):
        reply = answer(line, why)
        if reply is not None:
            try:
                sys.stdout.buffer.write(json.dumps(reply).encode("ascii") + b"\n")
                sys.stdout.buffer.flush()
            except OSError:  # the client has left
                break
    return 0


def answer(line: bytes, why: str) -> "dict[str, Any] | None":
    """Return the answer to the message in *line*, or None if it needs no answer."""
    try:
        message = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        message = {"id": None}
    if not isinstance(message, dict) or "id" not in message or "result" in message:
        return None  # a notification, or an answer of the client's
    reply, method = {"jsonrpc": "2.0", "id": message["id"]}, message.get("method")
    if method == "initialize":
        return {**reply, "result": _initialized(message.get("params"), why)}
    if method in ("ping", "tools/list"):
        return {**reply, "result": {"tools": []} if method == "tools/list" else {}}
    return {**reply, "error": _NO_METHOD}


def _initialized(params: object, why: str) -> "dict[str, Any]":
    version = params.get("protocolVersion") if isinstance(params, dict) else None
    return {
        "protocolVersion": version if isinstance(version, str) and len(version) < 40 else _LATEST,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "playbook", "version": "0"},
        "instructions": "The playbook's tools aren't available yet: " + why,
    }
