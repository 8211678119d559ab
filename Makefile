# `make demo` and `make test` do their own set-up in .venv; they need Python 3.11+ and g++, nothing else.
# A distribution's Python is optimised by profiles. One that was built from source often is not, and takes half as long again.
OF_SYSTEM := /usr/bin/python3
WHOLE := import ctypes, lzma, sqlite3, ssl, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell $(OF_SYSTEM) -c '$(WHOLE)' 2> /dev/null && echo $(OF_SYSTEM) || echo python3)
VENV := .venv
# Hundreds of processes that compile every module anew take half of the time.
unexport PYTHONDONTWRITEBYTECODE
BIN := $(VENV)/bin

# Tests at once: one more than cores, since some of them wait.
WORKERS ?= 3
TEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

.PHONY: demo test test-all stress alone guards check docs clean

demo: $(VENV)/demo
	$(BIN)/tuner-tui sample_kernels/matmul.cu --auto --device emulator --strategy one_prompt --max-evals 40 \
	    --llm replay:sample_kernels/recorded/one_prompt-matmul/journal.jsonl \
	    --run-dir tuner-runs/demo-$$(date +%Y%m%d-%H%M%S)

# What a change is held to: all but the tests that take the longest, and of those one of each way through the program.
test: $(VENV)/compiled
	$(TEST) -m "not slow" --durations 5 --durations-min 5

# Before a release, and every night.
test-all: $(VENV)/compiled
	$(TEST)

# All cores busy with something else throughout, files and tests in random order; about three times as slow.
stress: $(VENV)/compiled
	$(BIN)/python .ci/busy.py $(TEST) -p tests.shuffled $(ONLY)

# Every test in a process of its own, in random order: hours. Goes on after an interruption; `make alone ONLY=tests/tui`.
alone: $(VENV)/dev
	$(BIN)/python .ci/alone.py $(ONLY)

# Each attack of docs/trust.md without what holds it off, one at a time: its test must fail. `make guards ONLY="11 12"`.
guards: $(VENV)/dev
	$(BIN)/python .ci/guards.py $(ONLY)

check: $(VENV)/dev docs
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# The documentation as a site; a broken link or anchor, and a page that the navigation lacks, are errors.
docs: $(VENV)/dev
	$(BIN)/sphinx-build --quiet --fresh-env --fail-on-warning --conf-dir .ci/site --doctree-dir build/doctrees . build/site
	@echo build/site/index.html

$(VENV)/bin/python:
	$(PYTHON) .ci/make_venv.py $(VENV)

$(VENV)/demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/python .ci/install.py --editable .
	touch $@

$(VENV)/dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/python .ci/install.py --group dev --editable '.[openai,anthropic]'
	touch $@

# What the tests import is compiled once, and not by each worker that begins.
$(VENV)/compiled: $(VENV)/dev
	-$(BIN)/python -m pytest --collect-only --quiet > /dev/null
	touch $@

clean:
	rm -rf $(VENV) build dist
