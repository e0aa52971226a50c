"""The Model Context Protocol on stdin and stdout: each message is one line of JSON.

The module knows nothing about playbooks. It runs on Python 3.9 and later, with the standard library alone. Messages are
answered one after the other, so a cancelled request has always been answered, and cancelling needs no code.
"""

import json
import os
from contextlib import suppress

from playbook_db import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any, TextIO

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # begin with a handshake
STATELESS = "2026-07-28"  # has no handshake; each message names the version
_META = "io.modelcontextprotocol/"
_CACHED = ("list", "read", "discover")  # ends of methods whose results say how long they may be cached
_ROOTS = "playbook-roots"  # the id of the question for roots
PARSE_ERROR, INVALID_REQUEST, NO_SUCH_METHOD, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
UNKNOWN_VERSION = -32022


class ProtocolError(Exception):
    """Raised by a method that can't answer. The text is a sentence for the client. `code` is JSON-RPC's."""

    def __init__(self, text: str, code: int = INVALID_PARAMS, **data: "Any") -> None:
        super().__init__(text)
        self.error = {"code": code, "message": text, **({"data": data} if data else {})}


class Server:
    """Answers messages by *methods*, which take parameters and return a result. `client`: the client's capabilities."""

    def __init__(self, instructions: str, methods: "Mapping[str, Callable[..., dict[str, Any]]]") -> None:
        self.client: dict[str, Any] = {}
        self._identity = {"name": "playbook", "version": __version__}
        offers: dict[str, Any] = {name: {} for name in ("tools", "resources", "prompts") if f"{name}/list" in methods}
        self._about = {"capabilities": offers, "instructions": instructions}
        self._methods: dict[str, Callable[..., dict[str, Any]]] = {
            "initialize": self._initialize,
            "server/discover": lambda _: {**self._about, "supportedVersions": [STATELESS]},
            "ping": lambda _: {},
            **methods,
        }

    def reply(self, line: bytes) -> str:
        """Return a line with the answer to the message in *line*, or `""` if it needs none. A batch gets one line."""
        answer: Any = {"jsonrpc": "2.0", "id": None, "error": {"code": PARSE_ERROR, "message": "This is not JSON."}}
        with suppress(ValueError, RecursionError):
            message = json.loads(line)
            is_batch = isinstance(message, list) and message != []
            answer = [each for each in map(self._answer, message) if each] if is_batch else self._answer(message)
        return json.dumps(answer, separators=(",", ":")) + "\n" if answer else ""

    def _answer(self, message: "Any") -> "dict[str, Any] | None":
        """Return the answer to *message*. A notification, and an answer of the client's, get none."""
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": None}
        try:
            if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                raise ProtocolError("This is not a JSON-RPC 2.0 message.", INVALID_REQUEST)
            if "id" not in message or "result" in message or "error" in message:
                return None
            if type(message["id"]) not in (int, str) or not isinstance(message.get("method"), str):
                raise ProtocolError("A request needs a method, and a text or a whole number as id.", INVALID_REQUEST)
            answer["id"] = message["id"]
            return {**answer, "result": self._result(message["method"], message.get("params"))}
        except ProtocolError as error:
            return {**answer, "error": error.error}
        except Exception as error:  # a bug; clients keep stderr in a log
            from traceback import print_exc

            print_exc()
            sentence = f"This is a bug in playbook-db ({type(error).__name__}); please report it with the server's log."
            return {**answer, "error": {"code": INTERNAL_ERROR, "message": sentence}}

    def _result(self, method: str, params: "Any") -> "dict[str, Any]":
        params = {} if params is None else params
        meta = (params.get("_meta") or {}) if isinstance(params, dict) else None
        if not isinstance(meta, dict):
            raise ProtocolError("The parameters of a request, and their _meta, must be objects.")
        version = meta.get(f"{_META}protocolVersion", "")
        if version not in ("", STATELESS):
            supported = [*VERSIONS, STATELESS]
            sentence = f"This version of the protocol is unknown. Use one of {', '.join(supported)}."
            raise ProtocolError(sentence, UNKNOWN_VERSION, supported=supported, requested=version)
        if method not in self._methods:
            raise ProtocolError(f"This server has no method {method[:80]!r}.", NO_SUCH_METHOD)
        result = self._methods[method](params)
        if version:
            result = {**result, "resultType": "complete", "_meta": {f"{_META}serverInfo": self._identity}}
            result.update({"ttlMs": 0, "cacheScope": "private"} if method.endswith(_CACHED) else {})
        return result

    def _initialize(self, params: "dict[str, Any]") -> "dict[str, Any]":
        version, client = params.get("protocolVersion"), params.get("capabilities")
        self.client = client if isinstance(client, dict) else {}
        version = version if version in VERSIONS else VERSIONS[-1]
        return {**self._about, "protocolVersion": version, "serverInfo": self._identity}


def serve(server: Server, use_roots: "Callable[[list[str]], object] | None" = None) -> None:
    """Answer messages on stdin until it ends. If the client offers roots, pass their URIs to *use_roots*."""
    lines: Iterable[bytes] = os.fdopen(os.dup(0), "rb")
    out = os.fdopen(os.dup(1), "w", buffering=1)  # by lines
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the programs and prints of a method must not touch the messages
    os.dup2(2, 1)
    with suppress(BrokenPipeError), out:  # the client may leave at any time
        for line in with_roots(server, lines, out, use_roots) if use_roots else lines:
            out.write(server.reply(line) if line.strip() else "")


def explain(why: str) -> None:
    """Serve no tools, but instructions that say *why*. If no server ran at all, clients would show only an error."""
    serve(Server(f"The playbook's tools aren't available yet: {why}", {"tools/list": lambda _: {"tools": []}}))


def with_roots(
    server: Server, lines: "Iterable[bytes]", out: "TextIO", use: "Callable[[list[str]], object]"
) -> "Iterator[bytes]":
    """Yield *lines*. If the client offers roots, ask for them on *out* after the handshake, and *use* them before the
    lines that came meanwhile are yielded."""
    lines, waiting = iter(lines), []
    for line in lines:
        yield line
        if b'"notifications/initialized"' in line:
            break
    if "roots" in server.client:
        out.write(json.dumps({"jsonrpc": "2.0", "id": _ROOTS, "method": "roots/list"}) + "\n")
        for line in lines:
            if _ROOTS.encode() in line:
                with suppress(ValueError, LookupError, TypeError, RecursionError):  # an error: there are no roots
                    use([root["uri"] for root in json.loads(line)["result"]["roots"]])
                break
            waiting.append(line)
    yield from waiting
    yield from lines
