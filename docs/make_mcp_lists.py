"""Writes playbook_db/mcp_server/lists.json: the first answers of the MCP server, as the SDK gives them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, cast

from mcp_types import version

PATH = Path(__file__).resolve().parents[1] / "playbook_db" / "mcp_server" / "lists.json"
LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
(MODERN,) = version.MODERN_PROTOCOL_VERSIONS
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "a client", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_SERVE = "from playbook_db.mcp_server import tools; tools.serve('sqlite:////nowhere/playbook.db', '.')"


def results(*questions: tuple[str, dict[str, Any] | None], command: list[str]) -> list[dict[str, Any]]:
    """The results of *questions*, each a method with its parameters, that the server of *command* gives in turns. A
    notification has none."""
    gathered = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        into, out_of = cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout)
        for number, (method, params) in enumerate(questions):
            message = {"jsonrpc": "2.0", "id": number, "method": method} | (
                {} if params is None else {"params": params}
            )
            if method.startswith("notifications/"):
                del message["id"]
            into.write(json.dumps(message).encode() + b"\n")
            into.flush()
            if "id" in message:
                gathered.append(json.loads(out_of.readline())["result"])
    return gathered


def handshake(asked: str) -> list[tuple[str, dict[str, Any] | None]]:
    """The messages with which a client begins that asks for the protocol's version *asked*."""
    client = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "a client", "version": "1"}}
    return [("initialize", client), ("notifications/initialized", None)]


def lists() -> dict[str, Any]:
    """What `lists.json` is to hold."""
    command = [sys.executable, "-c", _SERVE]
    versions = [*version.HANDSHAKE_PROTOCOL_VERSIONS]
    begun, *old = results(*handshake(versions[-1]), *((name, None) for name in LISTS), command=command)
    discovered, *new = results(*((name, {"_meta": META}) for name in ("server/discover", *LISTS)), command=command)
    extra = {key: value for key, value in new[0].items() if key not in old[0]}
    del begun["protocolVersion"]
    by_method = dict(zip(LISTS, old, strict=True))
    by_method["server/discover"] = {key: value for key, value in discovered.items() if key not in extra}
    return {"version": MODERN, "versions": versions, "extra": extra, "initialize": begun, "results": by_method}


def written(content: dict[str, Any]) -> str:
    """*content* as JSON, a line for each list."""
    lines = [f' "{name}": {json.dumps(value)}' for name, value in content.items() if name != "results"]
    results = ",\n".join(f'  "{method}": {json.dumps(result)}' for method, result in content["results"].items())
    return "{\n" + ",\n".join([*lines, f' "results": {{\n{results}\n }}']) + "\n}\n"


if __name__ == "__main__":
    PATH.write_text(written(lists()), encoding="utf-8")
