"""The MCP server where there isn't one yet: it has no tools, and says why and what to do.

The client shows no error so, and whoever asks for the tools is told. Runs on any Python that a machine has, with the
standard library alone: a line of JSON in, a line out, as the SDK's servers speak it.
"""

import json
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LATEST = "2025-11-25"  # of the protocol's versions those with `initialize`; the client's own is as good
_NO_METHOD, _NO_REQUEST, _NO_JSON = -32601, -32600, -32700
_NOTHING: "dict[str, dict[str, Any]]" = {  # the answer by method
    "ping": {},
    "tools/list": {"tools": []},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
    "prompts/list": {"prompts": []},
}


def serve(why: str) -> int:
    """Answer on stdin and stdout, with *why* there are no tools, until stdin ends. The exit code."""
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
    """The answer to the message in *line*; None where it wants none."""
    try:
        message = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return _no_request(None, _NO_JSON, "this is no JSON")
    if not isinstance(message, dict):
        return _no_request(None, _NO_REQUEST, "this is no message of JSON-RPC")
    number, method = message.get("id"), message.get("method")
    if "id" not in message or method is None:
        return None  # a notification, or an answer to nothing that was asked
    if not isinstance(number, (int, str)) or not isinstance(method, str):
        return _no_request(None, _NO_REQUEST, "this is no message of JSON-RPC")
    result = _begun(message.get("params"), why) if method == "initialize" else _NOTHING.get(method)
    if result is None:
        return _no_request(number, _NO_METHOD, "there is no method " + method[:80])
    return {"jsonrpc": "2.0", "id": number, "result": result}


def _begun(params: object, why: str) -> "dict[str, Any]":
    version = params.get("protocolVersion") if isinstance(params, dict) else None
    return {
        "protocolVersion": version if isinstance(version, str) and len(version) < 40 else _LATEST,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "playbook", "version": "0"},
        "instructions": "The playbook's tools aren't there yet: " + why,
    }


def _no_request(number: object, code: int, why: str) -> "dict[str, Any]":
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": why}}
