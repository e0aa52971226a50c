. "${0%/*}/../begin.sh"
learned <<'POINTS'
{"sections": {"OTHERS": [
  {"name": "oth-001", "helpful": 2, "harmful": 0,
   "text": "Repeat a failed payment with `attempts` 3 and `pause_seconds` 47: the bank blocks a client that asks earlier."}
]}}
POINTS
