"""The hooks that Claude Code starts."""
