. "${0%/*}/../begin.sh"
# First the old rule, then the one that replaced it.
learned <<'POINTS'
{"sections": {"OTHERS": [
  {"name": "oth-001", "helpful": 5, "harmful": 0,
   "text": "The staging server listens on port 7101."}
]}}
POINTS
learned <<'POINTS'
{"sections": {"OTHERS": [
  {"name": "oth-001", "helpful": 2, "harmful": 0,
   "text": "The staging server listens on port 7342."}
]}}
POINTS
