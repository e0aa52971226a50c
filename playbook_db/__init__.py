"""A memory for coding agents, kept in a database. ARCHITECTURE.md describes the code."""

__version__ = "0.1.0"
