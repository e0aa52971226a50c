"""The MCP server: its light beginning (`start`), and the whole of it (`tools`)."""
