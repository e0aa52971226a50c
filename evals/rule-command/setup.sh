. "${0%/*}/../begin.sh"
learned <<'POINTS'
{"sections": {"OTHERS": [
  {"name": "oth-001", "helpful": 2, "harmful": 0,
   "text": "Before a commit, run all tests with `./dev verify --lanes=6`: with another number they delete each other's files."}
]}}
POINTS
