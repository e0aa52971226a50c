# Each case's setup.sh reads this file first. It adds a project in the fresh home of one run.
set -eu
root=$(cd "${BASH_SOURCE[0]%/*}/.." && pwd)
export CLAUDE_CONFIG_DIR="$HOME/../config" CLAUDE_PROJECT_DIR="$PWD" PLAYBOOK_NO_SETUP=1 # as in the run's session
if ! command -v playbook >/dev/null; then
    echo "The command playbook is not on the PATH. See $root/docs/internals/trial.md" >&2
    exit 1
fi
playbook init >/dev/null

# Makes the playbook equal to the points on standard input, and tries the hooks. They never fail a session, so a broken
# hook would look like a playbook without effect. Here it fails the run.
learned() {
    playbook import --replace - >/dev/null
    local text
    text=$(playbook list | head -n 1 | cut -f 5)
    answers inject '"hook_event_name": "SessionStart", "source": "startup"'
    answers remind '"hook_event_name": "UserPromptSubmit", "prompt": "'"${text//\"/}"'"'
}

answers() {
    echo "{$2, \"cwd\": \"$PWD\", \"transcript_path\": \"t.jsonl\"}" | "$root/hooks/start" "$1" | grep -q helpful= && return
    echo "The hook $1 of $root is broken. $(cat "$CLAUDE_CONFIG_DIR/playbook/logs/hooks.log" 2>&1)" >&2
    exit 1
}
