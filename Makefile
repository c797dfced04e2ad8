# Every target does its own set-up in .venv; nothing is installed twice unless pyproject.toml or constraints.txt change.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE := $(VENV)/.core
PEERS := .venv-bench
DEV := $(VENV)/.dev
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
export PYTHONDONTWRITEBYTECODE :=# compiled tests are kept, else each run compiles them all again
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

FUZZ ?= 10000

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test check fuzz picture bench format clean lint

help: ## list the targets
	@awk -F ' *:.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(CORE) ## the whole job on embedded data: train, explain, audit, verdicts, report.html
	@$(BIN)/unmask demo

test: lint ## everything CI needs: lint, types, all tests
	$(PYTEST)

check: lint ## lint, types and the fast tests, within a minute
	$(PYTEST) -m "not slow"

bench: $(PEERS)/.done ## speed and memory beside Captum, SHAP, LIME, Quantus; resumes, BENCH=--fresh begins anew
	@OMP_NUM_THREADS=1 $(PEERS)/bin/python benchmarks/bench.py $(BENCH)

fuzz: $(DEV) ## 10,000 tries of noise in the loaders of files (FUZZ=n for another number), some minutes
	UNMASK_FUZZ=$(FUZZ) $(PYTEST) tests/data/test_fuzz.py

picture: $(DEV) ## docs/report.png anew, from an audit of the embedded data; needs chromium
	@OMP_NUM_THREADS=1 $(BIN)/python benchmarks/report_picture.py

format: $(DEV) ## rewrite the code in the house format and mend what the linter can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove caches and build products (to install anew as well, remove .venv)
	rm -rf build dist src/*.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "unmask needs Python 3.11 or newer, '$(PYTHON)' is: $$($(PYTHON) --version 2>&1)." \
	       "Name another one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv --clear $(VENV) || { \
	  echo "'$(PYTHON) -m venv' failed; on Debian and Ubuntu it needs the package python3-venv." >&2; exit 1; }

# The stamps are touched only after pip has succeeded, so a failed installation is tried again.
$(CORE): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing unmask into $(VENV) (a few minutes the first time) ..."
	@rm -f $(CORE) $(DEV)
	@$(PIP) install -c constraints.txt -e .
	@touch $(CORE)

# Peers stand apart: Quantus brings libraries that nothing else needs.
$(PEERS)/.done: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing unmask and the libraries it is measured against into $(PEERS) (a few minutes) ..."
	@rm -f $(PEERS)/.done
	@$(BIN)/python -m venv --clear $(PEERS)
	@$(PEERS)/bin/python -m pip --quiet --disable-pip-version-check install -c constraints.txt -e ".[bench]"
	@touch $(PEERS)/.done

$(DEV): pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing unmask and its development tools into $(VENV) (a few minutes the first time) ..."
	@rm -f $(CORE) $(DEV)
	@$(PIP) install -c constraints.txt -e ".[dev]"
	@touch $(CORE) $(DEV)
