# Two commands do everything: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2

.PHONY: help demo test test-all test-slow test-lowest check format lint types docs bench \
  coverage fuzz papers release-check clean

help:  ## List the commands
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Trueness needs Python 3.11 or later; type make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet -e ".[app]"
	@touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet -e ".[all]" --group dev
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo  ## Evaluate the sample data and say what was found
	$(BIN)/trueness demo
	@echo "The workbench is installed here: $(BIN)/trueness app sample:west_nile"

PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS)
SLOW := slow or spark or package
test: $(VENV)/.dev  ## Run the tests of everything, in about four minutes
	$(PYTEST) -m "not ($(SLOW))"

# in one call of make nothing runs twice: make test test-all
test-all: test test-slow test-lowest  ## Run the slow tests and the lowest versions too

test-slow: $(VENV)/.dev  ## Browser, notebooks, Spark, packages, hostile calls, simulations
	$(PYTEST) -m "$(SLOW)"

$(VENV)-lowest/.done: pyproject.toml | $(VENV)/.dev
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)-lowest
	UV_SYSTEM_CERTS=true $(BIN)/uv pip install --quiet --python $(VENV)-lowest/bin/python \
	  --resolution lowest-direct -e ".[all]" --group test
	@touch $@

LOWEST := $(addprefix tests/,_core counts data metrics ranking calibration scale cli app/test_access.py)
test-lowest: $(VENV)-lowest/.done  ## Run tests on the lowest versions of every dependency
	OPENBLAS_NUM_THREADS=1 $(VENV)-lowest/bin/python -m pytest -q -n $(JOBS) \
	  -m "not ($(SLOW))" $(LOWEST)

check: $(VENV)/.dev format lint types test docs  ## Format, lint, types, tests, docs

format: $(VENV)/.dev
	$(BIN)/ruff format --check .

lint: $(VENV)/.dev
	$(BIN)/ruff check .

types: $(VENV)/.dev
	$(BIN)/mypy
	$(BIN)/pyright --pythonpath $(BIN)/python tests/typing/calls.py

docs: $(VENV)/.dev  ## Build the documentation, warnings are errors
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

papers: $(VENV)/.dev  ## Recompute every table of the five papers, draw every figure
	OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/papers/make.py
	OPENBLAS_NUM_THREADS=1 $(BIN)/python docs/notebooks.py papers

EXAMPLES ?= 20000
SEED ?= 0
MINUTES ?= 120
KILLS ?= 1000
fuzz: $(VENV)/.dev  ## Hostile calls; EXAMPLES=20000 SEED=0 MINUTES=120 KILLS=1000
	OPENBLAS_NUM_THREADS=1 TRUENESS_FUZZ=$(EXAMPLES) TRUENESS_FUZZ_MINUTES=$(MINUTES) \
	  TRUENESS_FUZZ_KILLS=$(KILLS) TRUENESS_FUZZ_SEED=$(SEED) \
	  $(BIN)/python -m pytest -n $(JOBS) --hypothesis-seed=$(SEED) tests/fuzz

COVERAGE ?= --measure auc,recall --design "plain n=300","clusters 30",control --samples 200
coverage: $(VENV)/.dev  ## How often do limits hold the truth? A quick part of the table
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/coverage.py $(COVERAGE)

release-check: $(VENV)/.dev  ## Build, install the wheel in a clean place, run the README
	$(BIN)/python .ci/release.py

bench: $(VENV)/.dev  ## Measure the speed claims side by side
	$(BIN)/python benchmarks/run.py $(ONLY)

clean:  ## Remove what was built
	rm -rf $(VENV) $(VENV)-lowest build dist docs/_build docs/_generated demo_output .mypy_cache .ruff_cache
