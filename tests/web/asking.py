"""Pages asked for inside this process, without a server."""

import asyncio

from starlette.types import Message, Scope

from playbook_db.web.application import Site


def page_of(site: Site, path: str) -> tuple[int, str]:
    """The status and the body of the page at *path*, which may end with a query."""
    path, _, query = path.partition("?")
    sent: list[Message] = []
    scope: Scope = {
        "type": "http", "method": "GET", "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": query.encode(), "headers": [], "server": ("127.0.0.1", 1), "http_version": "1.1",
    }  # fmt: skip

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    try:
        asyncio.run(site.application()(scope, receive, send))
    finally:
        status, body = sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:])
    return status, body.decode()
