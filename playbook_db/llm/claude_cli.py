"""Asking a model through the user's own Claude Code (`claude -p`), for users without an API key.

Claude Code may only answer. It gets no tools, servers, files or hooks (our hooks would start it again), and it saves no
session. The effect of its arguments was observed with version 2.1.329.
"""

import json
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from playbook_db import platforms
from playbook_db.errors import AccountError, ModelError, NoModelError
from playbook_db.llm.model import (
    CUT_REASONS,
    REFUSED,
    Prompt,
    Reply,
    Usage,
    count_of,
    first_set,
    is_lasting,
    is_of_account,
    shortened,
)

if TYPE_CHECKING:
    import subprocess

TIMEOUT_S = 600.0  # of one call, if the deadline is later
RETRIES = "2"  # by Claude Code; by default it retries for minutes, even with a wrong key
DEFAULT_MODEL = "sonnet"  # an alias; the client resolves it for the account
FIRST_LINE = "What follows is all there is to answer.\n\n"  # otherwise a prompt that begins with / is a command
_AT, _BROKEN_AT = "@", "@\u200b"  # Claude Code replaces `@path` with the content of that file
_GAVE_UP = "output token maximum"  # Claude Code's message if its attempts to continue were cut off as well
_UNFITTING = "error_max_structured_output_retries"  # no object followed the schema; `json_replies` accepts more
_OF_THE_CLIENT = "<synthetic>"  # the model's name in messages that Claude Code wrote itself


def find_claude() -> str | None:
    """Return the path of Claude Code: `PLAYBOOK_CLAUDE`, or `claude` on the PATH. Return None if there is none."""
    binary = shutil.which(os.path.expanduser(os.environ.get("PLAYBOOK_CLAUDE", "").strip()) or "claude")
    return os.path.abspath(binary) if binary else None


def model_name() -> str:
    """Return the name of the model that Claude Code should use."""
    return first_set(("AGENTIC_CONTEXT_MODEL", "ANTHROPIC_MODEL"), DEFAULT_MODEL)


class ClaudeCli(NamedTuple):
    """A model behind the program `binary`, Claude Code, which is started for each reply."""

    binary: str

    def ask(self, prompt: Prompt, *, deadline: float) -> Reply:
        """Return the reply to *prompt*. At *deadline*, kill Claude Code and its whole process group.

        Raises ModelError. Raises NoModelError if Claude Code can't be started.
        """
        started_at = time.monotonic()
        timeout_s = min(deadline - started_at, TIMEOUT_S)
        if timeout_s <= 0:
            raise ModelError("The deadline passed before Claude Code was asked. Try again later.")
        code, out, err = self._run(prompt, timeout_s)
        entries = _entries(out)
        result: dict[str, Any] = next((entry for entry in reversed(entries) if entry.get("type") == "result"), {})
        is_answered = result.get("stop_reason") == REFUSED
        if result.get("subtype") == _UNFITTING:
            inputs = [block.get("input") for block in _blocks(entries, "tool_use")]
            result["structured_output"] = next((each for each in reversed(inputs) if isinstance(each, dict)), None)
            is_answered = is_answered or result["structured_output"] is not None
        has_failed = not result or code != 0 or bool(result.get("is_error"))
        is_cut = has_failed and _GAVE_UP in str(result.get("result"))
        if has_failed and not is_cut and not is_answered:
            raise _error(code, result, out, err)
        return _reply(entries, result, is_cut=is_cut, duration_ms=round((time.monotonic() - started_at) * 1000))

    def _run(self, prompt: Prompt, timeout_s: float) -> tuple[int, str, str]:
        import subprocess  # late: `status` and `config` only ask whether Claude Code is there
        import tempfile

        with (
            tempfile.TemporaryDirectory(prefix="playbook-") as folder,
            tempfile.TemporaryFile() as question,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            question.write((FIRST_LINE + prompt.text.replace(_AT, _BROKEN_AT)).encode("utf-8", "replace"))
            question.seek(0)
            try:
                process = subprocess.Popen(
                    self._command(prompt),
                    stdin=question,
                    stdout=out,
                    stderr=err,
                    cwd=folder,
                    env={
                        **os.environ,
                        "PLAYBOOK_DISABLE": "1",  # if our hooks run in spite of the arguments, they do nothing
                        "CLAUDE_CODE_MAX_RETRIES": RETRIES,
                        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(prompt.max_tokens),
                    },
                    start_new_session=True,
                )
            except OSError as error:
                raise NoModelError(
                    f"Claude Code can't be started ({error}). Set PLAYBOOK_CLAUDE to its path, or give a key."
                ) from error
            try:
                process.wait(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                text = f"Claude Code gave no answer within {timeout_s:.0f} s and was stopped. Try again later."
                raise ModelError(text) from None
            finally:
                _end(process)
            return process.returncode, _read(out), _read(err)

    def _command(self, prompt: Prompt) -> list[str]:
        command = [
            self.binary,
            "-p",
            "--output-format", "json", "--verbose",
            "--model", model_name(),
            "--settings", '{"disableAllHooks":true}',
            "--tools", "",
            "--strict-mcp-config",
            "--no-session-persistence",
            "--system-prompt", prompt.system,
        ]  # fmt: skip
        if prompt.schema is not None:
            command += ["--json-schema", json.dumps(prompt.schema)]
        return command


def _end(process: "subprocess.Popen[bytes]") -> None:
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            platforms.end_group(process.pid)
        process.wait()


def _read(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode("utf-8", "replace"))


def _entries(out: str) -> list[dict[str, Any]]:
    """Return the JSON objects that Claude Code printed, without the invisible character that was added after each @ in
    the prompt. Without `--verbose` it prints only the result."""
    try:
        printed = json.loads(out.replace(_BROKEN_AT, _AT).replace(r"@\u200b", _AT))  # raw, or as JSON may write it
    except (ValueError, RecursionError):
        return []
    return [entry for entry in (printed if isinstance(printed, list) else [printed]) if isinstance(entry, dict)]


def _blocks(entries: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    messages = [entry.get("message") for entry in entries if entry.get("type") == "assistant"]
    by_model = [each for each in messages if isinstance(each, dict) and each.get("model") != _OF_THE_CLIENT]
    contents = [content for message in by_model if isinstance(content := message.get("content"), list)]
    blocks = [block for content in contents for block in content if isinstance(block, dict)]
    return [block for block in blocks if block.get("type") == kind]


def _reply(entries: list[dict[str, Any]], result: Mapping[str, Any], *, is_cut: bool, duration_ms: int) -> Reply:
    # After a cut, Claude Code lets the model continue, and its result is only the last part.
    whole = "".join(str(block.get("text") or "") for block in _blocks(entries, "text"))
    text = whole or ("" if is_cut else result.get("result"))
    structured = result.get("structured_output")
    usage, models = result.get("usage"), result.get("modelUsage")
    cost: Any = result.get("total_cost_usd")
    counted = usage if isinstance(usage, dict) else {}
    return Reply(
        text=text if isinstance(text, str) else "",
        structured=structured if isinstance(structured, dict) else None,
        is_cut=is_cut or result.get("stop_reason") in CUT_REASONS,
        usage=Usage(
            input_tokens=count_of(counted, "input_tokens") + count_of(counted, "cache_creation_input_tokens"),
            output_tokens=count_of(counted, "output_tokens"),
            cached_tokens=count_of(counted, "cache_read_input_tokens"),
            cost_usd=float(cost) if type(cost) in (int, float) and 0 <= cost < 10**9 else None,
        ),
        model=shortened(next(iter(models), model_name())) if isinstance(models, dict) else model_name(),
        duration_ms=duration_ms,
        is_refused=result.get("stop_reason") == REFUSED,
    )


def _error(code: int, result: Mapping[str, Any], out: str, err: str) -> ModelError:
    """Return the error for a failed run of Claude Code. The result's `subtype` doesn't help: it may be "success"."""
    errors = result.get("errors")
    reasons = "; ".join(map(str, errors)) if isinstance(errors, list) else ""
    text = str(result.get("result") or reasons or err.strip() or out.strip() or f"exit code {code}")
    status: Any = result.get("api_error_status")
    status = status if type(status) is int else None
    needs_login = "/login" in text
    hint = " Log in with: claude /login" if status == 401 or needs_login else ""
    message = f"Claude Code gave no answer: {shortened(text)}.{hint}"
    if needs_login or is_of_account(status, text):
        return AccountError(message)
    return ModelError(message, is_lasting=is_lasting(status))
