# `make` prints the targets. Each sets up .venv if needed; PYTHON is the interpreter to create it with.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
# Installs packages into .venv: with uv if it is there, or with the pip of PYTHON, or with a pip in .venv.
INSTALL := if command -v uv >/dev/null; then set -- uv pip install --python $(BIN)/python; \
	elif "$(PYTHON)" -c 'import pip' 2>/dev/null; \
	then set -- "$(PYTHON)" -m pip --python $(BIN)/python install --no-compile; \
	else $(BIN)/python -m ensurepip >/dev/null; set -- $(BIN)/python -m pip install --no-compile; fi; "$$@"
# The number of test processes: `auto` is one per core, 0 runs all tests in one process.
WORKERS ?= auto
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
# The tests start hundreds of processes, so modules are compiled once, whatever the caller prefers.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo docs pictures test test-all test-client smoke coverage check check-fast lint types imports bench bench-redaction \
	torture build clean

help: ## print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(RUNS) ## show the main features in a temporary folder: import, vote, apply, render, export
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -u examples/demo.py

test: $(READY) ## run the commit tier of the tests: before each commit
	$(PYTEST) $(TESTS)

test-all: $(READY) ## run all tests (client, browser, torture, packages, each Python, ordinary user): before a release
	PYTHON="$(PYTHON)" .ci/all

test-client: $(READY) ## run the tests with the real Claude Code client, installed from npm into a temporary folder
	$(BIN)/python -m pytest --tier=all tests/client

smoke: $(READY) ## run some tests of the client, the browser and the packages
	$(PYTEST) --tier=all -m smoke tests/client tests/web tests/test_packaging.py

coverage: $(READY) ## measure the branch coverage of domain/ and store/, and check its minimum
	$(BIN)/python -m coverage run -m pytest --tier=all tests/domain tests/store tests/services tests/contract tests/cli
	$(BIN)/python -m coverage report

check: lint types imports test ## run ruff, the prose linter, mypy --strict, import-linter and the commit tier

check-fast: lint ## run ruff, the prose linter and the tests of the domain: while you work
	$(BIN)/python -m pytest tests/domain

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m tests.prose

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

bench: $(READY) ## measure the figures of README.md and docs/internals/benchmarks.md on this machine
	$(BIN)/python -m benchmarks

bench-redaction: $(READY) ## measure how many secrets are masked, how many harmless texts change, and the speed
	$(BIN)/python -m benchmarks redaction

torture: $(READY) ## run 700 kills, crowds, 7,000 mutations and damage; takes an hour
	$(BIN)/python -m benchmarks.torture

docs: $(READY) ## regenerate docs/commands.md
	$(BIN)/python docs/make_commands.py

pictures: $(READY) ## regenerate docs/pictures/: a terminal session, and the pages in Chromium
	$(BIN)/python -m tests.docs.pictures

build: $(READY) ## build the wheel and the sdist in dist/
	$(BIN)/python -m build

clean: ## remove .venv, dist/ and all caches
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage

# What the program needs to run.
$(RUNS): pyproject.toml
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11) and "playbook-db needs Python 3.11 or later; try: make PYTHON=python3.12")'
	@echo "Installing playbook-db and what it needs into $(VENV). This may take a minute."
	@test -x $(BIN)/python || "$(PYTHON)" -m venv --without-pip $(VENV)
	@$(INSTALL) -e .
	@touch $(RUNS)

# What the tests and linters need, too.
$(READY): $(RUNS)
	@echo "Installing the tools for tests into $(VENV). This may take a few minutes."
	@$(INSTALL) -e '.[dev]'
	@touch $(READY)
