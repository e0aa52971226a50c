. "${0%/*}/../begin.sh"
learned <<'POINTS'
{"sections": {"OTHERS": [
  {"name": "oth-001", "helpful": 2, "harmful": 0,
   "text": "File names of pages are in lower case with hyphens. Only a title that begins with ADR differs: `ADR_` and the rest in lower case, such as `ADR_login.md`."}
]}}
POINTS
