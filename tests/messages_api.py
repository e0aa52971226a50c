"""A Messages API on loopback, whose answers are scripted and which remembers everything it was asked.

    with MessagesApi(Rule("at once", said="hurry"), Answer(status=429, headers={"retry-after": "1"})) as api:
        ...  # a client with ANTHROPIC_BASE_URL=api.url
        assert api.messages()[0].last_said == "hello"

It answers /v1/messages (one JSON value or a stream), /v1/messages/count_tokens and /v1/models. It refuses to be a
proxy. `outward()` lists the programs that tried to use it as one.
"""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from types import TracebackType
from typing import Any, Self

from tests import marking
from tests.messages_cache import PromptCache
from tests.messages_server import Server
from tests.messages_wire import Answer, Request, ToolCall, Usage

__all__ = ["Answer", "MessagesApi", "PromptCache", "Request", "Rule", "ToolCall", "Usage"]

Scripted = Answer | str | Callable[[Request], Answer | str]


@dataclass(frozen=True, slots=True)
class Rule:
    """An answer, and to what it is given. Without a condition it is given to everything.

    `said` and `system` are regular expressions, searched in the user's last message and in the system prompt. `when` is
    a claim about the request. After `times` answers the rule is used up.
    """

    answer: Scripted
    said: str = ""
    system: str = ""
    when: Callable[[Request], bool] | None = None
    times: int | None = None

    def fits(self, request: Request) -> bool:
        if self.when and not self.when(request):
            return False
        return bool(re.search(self.said, request.last_said) and re.search(self.system, request.system))


def _is_for_marks(request: Request) -> bool:
    return request.is_message and marking.is_asked(f"{request.last_said}{request.system}{request.body}")


class MessagesApi:
    """The server; it listens from `with` on. The first rule that fits gives the answer, else "Done.".

    With a `cache`, the answers contain the tokens of each request. A request for risky lessons gets `marks`, or the
    answer that none is risky; such requests are only in `marked`.
    """

    def __init__(
        self, *rules: Rule | Scripted, cache: PromptCache | None = None, marks: Scripted | None = None
    ) -> None:
        self._cache = cache
        self._marks = marks
        made = [rule if isinstance(rule, Rule) else Rule(rule) for rule in rules]
        self._rules = [*made, Rule("Done.")]
        self._used = [0] * len(self._rules)
        self._requests: list[Request] = []
        self._news = threading.Condition()
        self._numbers = count(1)
        self._server = Server(self._take, self._answer_to)

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def requests(self) -> list[Request]:
        with self._news:
            return list(self._requests)

    def messages(self) -> list[Request]:
        """The requests for a message, oldest first, without those for marks."""
        return [request for request in self.requests if request.is_message and not _is_for_marks(request)]

    def marked(self) -> list[Request]:
        return [request for request in self.requests if _is_for_marks(request)]

    def outward(self) -> list[str]:
        """Where a client wanted to go through us as a proxy."""
        return [request.path for request in self.requests if request.method == "CONNECT" or "://" in request.path]

    def wait_for(self, wanted: Callable[[list[Request]], Any], timeout_s: float = 300.0) -> bool:
        """Wait until *wanted* is true of the requests for a message; whether it came true in time."""
        with self._news:
            return self._news.wait_for(
                lambda: bool(wanted([r for r in self._requests if r.is_message and not _is_for_marks(r)])), timeout_s
            )

    def _take(self, request: Request) -> int:
        with self._news:
            self._requests.append(request)
            self._news.notify_all()
            return next(self._numbers)

    def _answer_to(self, request: Request) -> Answer:
        """What is answered to *request*; its rule is used once."""
        if _is_for_marks(request):
            scripted: Scripted = self._marks or marking.marks(request.last_said)
        else:
            with self._news:
                places = [place for place, rule in enumerate(self._rules) if self._is_usable(place, rule, request)]
                self._used[places[0]] += 1
            scripted = self._rules[places[0]].answer
        said = scripted(request) if callable(scripted) else scripted
        answer = Answer(said) if isinstance(said, str) else said
        return answer if self._cache is None else replace(answer, usage=self._cache.take(request))

    def _is_usable(self, place: int, rule: Rule, request: Request) -> bool:
        return (rule.times is None or self._used[place] < rule.times) and rule.fits(request)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
