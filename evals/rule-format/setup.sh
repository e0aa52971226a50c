. "${0%/*}/../begin.sh"
learned <<'POINTS'
{"sections": {"OTHERS": [
  {"name": "oth-001", "helpful": 2, "harmful": 0,
   "text": "A commit message is one line, `<TICKET> AREA => EFFECT`, with the area as one word in lower case, such as `<77> cart => shows the tax`."}
]}}
POINTS
