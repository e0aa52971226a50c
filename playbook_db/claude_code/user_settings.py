"""Claude Code's settings files, read where they stand: which of a session's events we are to learn from."""

from playbook_db.claude_code import registration

SWITCHES = ("playbook_update_on_exit", "playbook_update_on_clear", "playbook_update_on_subagent_stop")


def files(folder: str) -> "list[str]":
    """The settings files of a project in *folder*, the last of which wins: the user's, the project's, the local."""
    return [registration.settings_file(scope, folder) for scope in registration.SCOPES]


def is_on(switch: str, folder: str) -> bool:
    """Whether *switch*, one of SWITCHES, is on for the project in *folder*; it is, where no file says otherwise."""
    on = True
    for path in files(folder):
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError:
            continue
        if switch.encode() not in content:  # nearly always: no parsing then
            continue
        import json

        try:
            document = json.loads(content)
        except (ValueError, RecursionError):
            continue
        if isinstance(document, dict) and isinstance(document.get(switch), bool):
            on = document[switch]
    return on
