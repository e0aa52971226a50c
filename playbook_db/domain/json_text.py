"""Writing JSON as playbook files, the database and settings files have it: as UTF-8, and without NaN or Infinity."""

import json


def write_json(value: object, indent: int | str | None = None) -> str:
    """Encode *value* as JSON, on one line or with *indent* for each level. Raises ValueError for NaN and Infinity."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
