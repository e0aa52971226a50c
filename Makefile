# `make` prints the targets. Each sets up what it needs in .venv; PYTHON names the interpreter to start from.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# How many processes share the tests: `auto` is one a core, 0 runs all tests in one process.
WORKERS ?= auto
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
# The tests start hundreds of processes: what those import is compiled once, whatever the caller prefers.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo docs pictures test test-all test-client smoke coverage check check-fast lint types imports bench bench-redaction \
	torture build clean

help: ## print the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) ## do the main job on real input: import, vote, apply, render, export
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python examples/demo.py

test: $(READY) ## the commit tier of the tests: before each commit
	$(PYTEST) $(TESTS)

test-all: $(READY) ## all tests: client, browser, torture, packages, each Python, an ordinary user; before a release
	PYTHON="$(PYTHON)" .ci/all

test-client: $(READY) ## the tests with the real Claude Code client, which is installed from npm into a temporary folder
	$(BIN)/python -m pytest --tier=all tests/client

smoke: $(READY) ## some tests with the client, in the browser and of the packages
	$(PYTEST) --tier=all -m smoke tests/client tests/web tests/test_packaging.py

coverage: $(READY) ## branch coverage of domain/ and store/, which has a floor
	$(BIN)/python -m coverage run -m pytest --tier=all tests/domain tests/store tests/services
	$(BIN)/python -m coverage report

check: lint types imports test ## ruff, mypy --strict, import-linter and the commit tier

check-fast: lint ## ruff and the tests of the domain: while you work
	$(BIN)/python -m pytest tests/domain

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

bench: $(READY) ## the figures of README.md and docs/internals/benchmarks.md, on this machine
	$(BIN)/python -m benchmarks

bench-redaction: $(READY) ## how many secrets are masked, how many harmless texts are not, and how fast
	$(BIN)/python -m benchmarks redaction

torture: $(READY) ## attacks from outside, 1,000 kills, crowds, 10,000 mutations; takes an hour
	$(BIN)/python -m benchmarks.torture

docs: $(READY) ## docs/commands.md, docs/internals/modules.md and the MCP server's lists, from the code
	$(BIN)/python docs/make_commands.py
	$(BIN)/python docs/make_modules.py
	$(BIN)/python docs/make_mcp_lists.py

pictures: $(READY) ## docs/pictures/: a terminal while commands are typed, the page in Chromium
	$(BIN)/python -m tests.docs.pictures

build: $(READY) ## the wheel and the sdist, in dist/
	$(BIN)/python -m build

clean: ## remove what the targets made
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage

$(READY): pyproject.toml
	"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11) and "playbook-db needs Python 3.11 or later; try: make PYTHON=python3.12")'
	test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $(READY)
