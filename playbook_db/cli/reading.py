"""Reading a file that a person names, or standard input for `-`."""

import os
import sys

import click

from playbook_db import settings


def read_input(file: str) -> bytes:
    """The bytes of *file*, or of standard input for `-`. Raises a usage error where it can't be read."""
    try:
        if file == "-":
            data = sys.stdin.buffer.read(settings.MAX_FILE_BYTES + 1)
        else:
            with open(file, "rb") as opened:
                data = opened.read(settings.MAX_FILE_BYTES + 1)
    except OSError as error:
        raise click.UsageError(f"{file} can't be read: {os.strerror(error.errno or 0)}.") from error
    if len(data) > settings.MAX_FILE_BYTES:
        raise click.UsageError(f"{file} is larger than {settings.MAX_FILE_BYTES >> 20} MiB; nothing was taken in.")
    return data
