. "${0%/*}/../begin.sh"
learned <<'POINTS'
{"sections": {"OTHERS": [
  {"name": "oth-001", "helpful": 2, "harmful": 0,
   "text": "The staging server listens on port 7342."},
  {"name": "oth-002", "helpful": 2, "harmful": 0,
   "text": "Repeat a failed payment with `attempts` 3 and `pause_seconds` 47."}
]}}
POINTS
