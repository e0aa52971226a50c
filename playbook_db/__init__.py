"""The memory with which Claude Code learns from its own sessions, kept in a real database.

The floors, from the top; imports go down only:

    cli            the command `playbook`
    contract       the documented functions with dicts in and out
    claude_code    what knows Claude Code's formats: transcripts
    services       the use cases; they alone open write transactions
    store          all SQL: tables, migrations, transactions, history
    prompts        the templates of the texts put before a model
    rules          what is true of a playbook; pure
    settings, projects, errors    the ground, standard library only
"""

__version__ = "0.1.0"
