"""The tools that a session asks by MCP."""
