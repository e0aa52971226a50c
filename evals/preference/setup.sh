. "${0%/*}/../begin.sh"
learned <<'POINTS'
{"sections": {"OTHERS": [
  {"name": "oth-001", "helpful": 2, "harmful": 0,
   "text": "In scripts, the user wants the long names of options, such as `--force`, and never `-f`."}
]}}
POINTS
