. "${0%/*}/../begin.sh"
learned <<'POINTS'
{"sections": {"OTHERS": [
  {"name": "oth-001", "helpful": 2, "harmful": 0,
   "text": "The steps of a release are: docs, tag, version, changelog. The docs are built from the version before."}
]}}
POINTS
