"""A light MCP server for sessions that only read. It answers the first requests and finds points without the SDK.

`lists.json` has the SDK's answers to the first requests. Any other message, or one that isn't plainly valid, starts the
SDK's server (module `tools`), which then takes over.
"""

import json
import os
import sys
from importlib.machinery import PathFinder

from playbook_db import platforms, project_env, projects, settings
from playbook_db.errors import SettingError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_META = "io.modelcontextprotocol/"
_OURS = {"jsonrpc", "id", "method", "params"}
_LIST_CHANGES = {"toolsListChanged", "promptsListChanged", "resourcesListChanged"}
_UNHEEDED = {"notifications/cancelled", "notifications/roots/list_changed"}


class ToSdkError(Exception):
    """Raised if only the SDK's server can answer a message."""


def try_to_serve() -> bool:
    """Serve the session of this process. If the command `mcp` has to explain a problem, return False at once."""
    project_env.apply_user_settings()
    if platforms.unsupported() or PathFinder.find_spec("mcp") is None or os.environ.get(project_env.DATABASE):
        return False
    session, named = settings.session(), os.environ.get("CLAUDE_PROJECT_DIR")
    if session and not named:
        from playbook_db.claude_code.hooks import hook_runner

        named = hook_runner.folder_of_session(session, os.getcwd())
    folder = projects.project_dir(named)
    try:
        url = settings.database_url()
    except SettingError:
        return False
    if not os.path.isdir(folder):
        return False
    serve(url, folder)
    return True


def serve(url: str, folder: str) -> None:
    """Serve the project in *folder*, with the database at *url*, on stdin and stdout, until stdin ends."""
    server = LightServer(url, folder)
    lines = os.fdopen(os.dup(0), "rb")
    for line in lines:
        try:
            reply = server.reply(line)
        except ToSdkError:
            import itertools

            from playbook_db.mcp_server import handover

            handover.serve(url, folder, server.shown, server.handshake, itertools.chain([line], lines))
            return
        if reply:
            try:
                sys.stdout.buffer.write(reply + b"\n")
                sys.stdout.buffer.flush()
            except OSError:  # the client has left
                return


class LightServer:
    """A server without the SDK, for the project in `folder` and the database at `url`. `shown` has the points that the
    session has seen here, `handshake` the client's first messages."""

    def __init__(self, url: str, folder: str) -> None:
        self.url, self.folder = url, folder
        self.shown: set[str] = set()
        self.handshake: list[dict[str, Any]] = []
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lists.json"), encoding="utf-8") as file:
            self._lists: dict[str, Any] = json.load(file)

    def reply(self, line: bytes) -> bytes | None:
        """Return the answer to the message in *line*, or None for a notification. Raises ToSdkError."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            raise ToSdkError from None
        if not isinstance(message, dict) or not message.keys() <= _OURS or message.get("jsonrpc") != "2.0":
            raise ToSdkError
        method, params = message.get("method"), message.get("params", {})
        if not isinstance(method, str) or not isinstance(params, dict):
            raise ToSdkError
        if "id" not in message:
            self._note(method, message)
            return None
        number = message["id"]
        if not isinstance(number, int | str) or isinstance(number, bool):
            raise ToSdkError
        if method == "subscriptions/listen":
            reply = self._acknowledge(number, params)
        else:
            reply = {"jsonrpc": "2.0", "id": number, "result": self._result(method, params, message)}
        return json.dumps(reply, separators=(",", ":")).encode("ascii")

    def _note(self, method: str, message: "dict[str, Any]") -> None:
        if method == "notifications/initialized" and self.handshake:
            self.handshake.append(message)
        elif method not in _UNHEEDED:
            raise ToSdkError

    def _result(self, method: str, params: "dict[str, Any]", message: "dict[str, Any]") -> "dict[str, Any]":
        if method == "initialize" and not self.handshake:
            begun = self._begin(params)
            self.handshake = [message]
            return begun
        extra = self._extra(params.get("_meta"))
        if method == "ping" and not extra:
            return {}
        if method == "tools/call" and params.keys() <= {"name", "arguments", "_meta"}:
            return self._call(params.get("name"), params.get("arguments")) | {
                name: value for name, value in extra.items() if name in ("_meta", "resultType")
            }
        result: dict[str, Any] | None = self._lists["results"].get(method)
        if result is None or not params.keys() <= {"_meta"} or (method == "server/discover" and not extra):
            raise ToSdkError
        return result | extra

    def _acknowledge(self, number: int | str, params: "dict[str, Any]") -> "dict[str, Any]":
        """Confirm a subscription to changes of the lists. They never change, so no notification follows."""
        filters = params.get("notifications")
        if not self._extra(params.get("_meta")) or not isinstance(filters, dict) or not filters.keys() <= _LIST_CHANGES:
            raise ToSdkError
        if not all(isinstance(value, bool) for value in filters.values()):
            raise ToSdkError
        return {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {
                "_meta": {f"{_META}subscriptionId": number},
                "notifications": {name: True for name, value in filters.items() if value},
            },
        }

    def _begin(self, params: "dict[str, Any]") -> "dict[str, Any]":
        version, client = params.get("protocolVersion"), params.get("clientInfo")
        if not isinstance(version, str) or not isinstance(client, dict) or not {"name", "version"} <= client.keys():
            raise ToSdkError
        if not isinstance(params.get("capabilities"), dict):
            raise ToSdkError
        versions: list[str] = self._lists["versions"]
        return {**self._lists["initialize"], "protocolVersion": version if version in versions else versions[-1]}

    def _extra(self, meta: object) -> "dict[str, Any]":
        """Return the extra fields of a result for a client without a handshake, whose messages name their version."""
        if meta is None and self.handshake:
            return {}
        if not isinstance(meta, dict):
            raise ToSdkError
        version = meta.get(f"{_META}protocolVersion")
        if version is None and self.handshake:
            return {}
        of_client = meta.get(f"{_META}clientInfo"), meta.get(f"{_META}clientCapabilities")
        if version != self._lists["version"] or not all(isinstance(each, dict) for each in of_client):
            raise ToSdkError
        extra: dict[str, Any] = self._lists["extra"]
        return extra

    def _call(self, tool: object, arguments: object) -> "dict[str, Any]":
        from playbook_db.mcp_server import quick_tools

        answer = quick_tools.call(self.url, self.folder, tool, arguments)
        if answer is None:
            raise ToSdkError
        text, names = answer
        self.shown.update(names)
        return {"content": [{"text": text, "type": "text"}], "isError": False}
