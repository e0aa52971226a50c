. "${0%/*}/../begin.sh"
learned <<'POINTS'
{"sections": {"OTHERS": [
  {"name": "oth-001", "helpful": 1, "harmful": 2,
   "text": "In the export for the tax office, write an amount as `12,50_EUR`."},
  {"name": "oth-002", "helpful": 6, "harmful": 0,
   "text": "In the export for the tax office, write an amount as `EUR1250c`."}
]}}
POINTS
