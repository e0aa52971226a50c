"""The MCP server: a light server that starts fast (`start`), and the full server (`tools`)."""
