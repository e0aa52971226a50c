"""Made-up events of other coding agents, in the shape and with the variables that each of them uses."""

from typing import Any

_ID = "7d0c7c1e-3f55-4b8e-9a53-0f6d1d2b9c11"
_COPILOT_FILE = f"/home/ann/.copilot/session-state/{_ID}/events.jsonl"
_TRANSCRIPTS = {
    "codex": f"/home/ann/.codex/sessions/2026/11/23/rollout-2026-11-23T09-00-00-{_ID}.jsonl",
    "gemini": "/home/ann/.gemini/tmp/shop/chats/session-2026-11-23T09-00-7d0c7c1e.jsonl",
    "gemini's subagent": f"/home/ann/.gemini/tmp/shop/chats/{_ID}/agent-1.jsonl",
    "qwen": f"/home/ann/.qwen/projects/-home-ann-shop/chats/{_ID}.jsonl",
}
VARIABLES = {
    "codex": {"CODEX_MANAGED_BY_NPM": "1", "CODEX_MANAGED_PACKAGE_ROOT": "/opt/codex"},
    "copilot": {"COPILOT_CLI": "1", "COPILOT_CLI_BINARY_VERSION": "1.0.102", "COPILOT_PROJECT_DIR": "/home/ann/shop"},
    "gemini": {"GEMINI_CLI": "1", "GEMINI_SESSION_ID": _ID, "GEMINI_PROJECT_DIR": "/home/ann/shop"},
    "opencode": {"OPENCODE": "1", "OPENCODE_PID": "4711", "AGENT": "1"},
    "qwen": {"QWEN_CODE_SESSION_ID": _ID, "QWEN_PROJECT_DIR": "/home/ann/shop", "QWEN_CODE_CLI": "/opt/qwen/cli.js"},
}
_OF_EVENTS: dict[str, dict[str, Any]] = {  # each of our events, and its usual fields
    "SessionStart": {"source": "startup"},
    "UserPromptSubmit": {"prompt": "the gearbox broke"},
    "PreToolUse": {"tool_name": "Read", "tool_input": {"file_path": "gearbox.py"}},
    "PostToolUseFailure": {"tool_name": "Bash", "tool_input": {"command": "gearbox"}, "error": "gearbox: no oil"},
    "SubagentStart": {"agent_id": "a1", "agent_type": "general-purpose"},
    "PreCompact": {"trigger": "auto"},
    "SubagentStop": {"agent_id": "a1", "agent_type": "task", "stop_hook_active": False},
    "SessionEnd": {"reason": "other"},
}
HOOKS = {
    "SessionStart": "inject", "UserPromptSubmit": "remind", "PreToolUse": "tool",
    "PostToolUseFailure": "remind", "SubagentStart": "remind", "PreCompact": "enqueue", "SubagentStop": "enqueue",
    "SessionEnd": "enqueue",
}  # fmt: skip


def payloads(cwd: str) -> list[tuple[str, str, dict[str, Any]]]:
    """The events of each host for a session in *cwd*: a title, the hook and the payload."""
    sent = []
    for name, fields in _OF_EVENTS.items():
        event = {"session_id": _ID, "cwd": cwd, "hook_event_name": name, **fields}
        for host, path in _TRANSCRIPTS.items():
            own = {"turn_id": "t1", "model": "gpt-5.1-codex"} if host == "codex" else {"timestamp": "2026-11-23T09:00Z"}
            agents = {"agent_transcript_path": path} if name == "SubagentStop" else {}
            sent.append((f"{host} {name}", HOOKS[name], {**event, "transcript_path": path, **own, **agents}))
        # Copilot names its file when a session is compacted or an agent ends, and at no other event.
        file = {"transcript_path": _COPILOT_FILE} if name in ("PreCompact", "SubagentStop") else {}
        sent.append((f"copilot {name}", HOOKS[name], {**event, "timestamp": "2026-11-23T09:00Z", **file}))
    mixed = {"sessionId": _ID, "transcriptPath": _COPILOT_FILE, "agent_id": "a1", "agent_type": "task", "cwd": cwd}
    sent.append(("copilot's mixed SubagentStart", "remind", mixed))
    sent += [
        (f"copilot {name}", hook, {"sessionId": _ID, "timestamp": 1795397892497, "cwd": cwd})
        for name, hook in (("sessionStart", "inject"), ("userPromptSubmitted", "remind"), ("sessionEnd", "enqueue"))
    ]
    sent += [
        (f"gemini {name}", hook, {"session_id": _ID, "cwd": cwd, "hook_event_name": name, **gemini})
        for gemini in [{"transcript_path": _TRANSCRIPTS["gemini"]}]
        for name, hook in (("BeforeAgent", "remind"), ("PreCompress", "enqueue"), ("AfterTool", "remind"))
    ]
    return sent
