# `make` prints the targets. Each sets up what it needs in .venv; PYTHON names the interpreter to start from.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# How many processes share the tests, each with a PostgreSQL server of its own; 0: all are run in one.
WORKERS ?= 0
# The tests start hundreds of processes: what those import is compiled once, whatever the caller prefers.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo docs pictures test test-fast test-client check lint types imports bench bench-redaction torture build clean

help: ## print the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## do the main job on real input: import, vote, apply, render, export
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python examples/demo.py

test: $(READY) ## all tests
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(TESTS)

test-fast: $(READY) ## those that start no process and take no time: while you work
	$(BIN)/python -m pytest -m "not slow" --hypothesis-profile=fast

test-client: $(READY) ## the tests with the real Claude Code client, which is installed from npm into a temporary folder
	$(BIN)/python -m pytest tests/client -rs

check: lint types imports test ## what CI runs: ruff, mypy --strict, import-linter, pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

bench: $(READY) ## the figures of README.md and docs/benchmarks.md, on this machine
	$(BIN)/python -m benchmarks

bench-redaction: $(READY) ## how many secrets are masked, how many harmless texts are not, and how fast
	$(BIN)/python -m benchmarks redaction

torture: $(READY) ## attacks from outside, 1,000 kills, crowds, 10,000 mutations; takes an hour
	$(BIN)/python -m benchmarks.torture

docs: $(READY) ## docs/commands.md, from the commands' own help
	$(BIN)/python docs/make_commands.py

pictures: $(READY) ## docs/pictures/: a terminal while commands are typed, the page in Chromium
	$(BIN)/python -m tests.docs.pictures

build: $(READY) ## the wheel and the sdist, in dist/
	$(BIN)/python -m build

clean: ## remove what the targets made
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis

$(READY): pyproject.toml
	"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11) and "playbook-db needs Python 3.11 or later; try: make PYTHON=python3.12")'
	test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(READY)
