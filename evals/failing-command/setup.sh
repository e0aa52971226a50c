. "${0%/*}/../begin.sh"
learned <<'POINTS'
{"sections": {"OTHERS": [
  {"name": "oth-001", "helpful": 2, "harmful": 0,
   "text": "If ./report says `stale ledger`, run it with `SEASON=harvest-41` in the environment."}
]}}
POINTS
