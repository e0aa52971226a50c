"""The list of promises follows the code. `python -m benchmarks.mutations` breaks each of them, which takes long."""

from collections import Counter
from pathlib import Path

from benchmarks.promises import Promise, broken, read_list

ROOT = Path(__file__).parents[1]
LAYERS = {"domain", "store", "llm", "services", "claude_code", "hooks", "contract", "web", "mcp_server", "cli"}
HOOKS = {"enqueue", "events", "hook_runner", "inject", "registration", "remind", "showing", "spool", "worker_start"}


def test_each_promise_can_be_broken() -> None:
    assert {promise.behavior: problem for promise in read_list() if (problem := _problem_of(promise))} == {}


def test_tests_of_promises_exist() -> None:
    """If you rename a test, rename it in the list."""
    named = {test for promise in read_list() for test in promise.tests}

    assert [test for test in sorted(named) if not _is_there(test)] == []
    assert all(promise.tests for promise in read_list())


def test_each_layer_has_promises() -> None:
    """No promise is listed twice."""
    promises = read_list()
    count = Counter(map(_layer_of, promises))

    assert len({promise.behavior for promise in promises}) == len(promises)
    assert len(promises) <= 60
    assert {layer: count[layer] for layer in LAYERS if count[layer] < 3} == {}


def _problem_of(promise: Promise) -> str:
    try:
        broken(promise)
    except (LookupError, SyntaxError) as error:
        return repr(error)
    return ""


def _is_there(test: str) -> bool:
    file, _, name = test.partition("::")
    return (ROOT / file).is_file() and f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def _layer_of(promise: Promise) -> str:
    first, *folders = promise.file.with_suffix("").parts
    if "hooks" in first or (folders[0] == "claude_code" and folders[-1] in HOOKS):
        return "hooks"
    return folders[0]
