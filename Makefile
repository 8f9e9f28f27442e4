# `make` or `make help` lists what there is. Everything runs in .venv, made from constraints.txt.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The first of these that is 3.10 or newer; `make PYTHON=…` chooses another.
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.10; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && echo $$python && break; done)
BIN := .venv/bin
# The markers of tests that `make fast` leaves out, as in tests/layers.py.
OUTSIDE_FAST := spark or airflow or server or e2e or slow or soak
STAMP := .venv/.set-up
# Where it is set, pytest rewrites the assertions of every test file anew at every start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: $(STAMP) ## make .venv and install the pinned dependencies (done by the others when needed)

$(STAMP): constraints.txt pyproject.toml requirements-dev.txt
	@if [ -z "$(PYTHON)" ]; then \
		echo "airflow-trickle needs Python 3.10 or newer; no python3 here is. Install one, or: make PYTHON=/path/to/python"; \
		exit 1; \
	fi
	@[ -x $(BIN)/python ] || { echo "Making .venv with $$($(PYTHON) --version)"; $(PYTHON) -m venv .venv; }
	@echo "Installing into .venv what constraints.txt pins (some minutes the first time)"
	@$(BIN)/python -m pip install --disable-pip-version-check --no-input \
		-c constraints.txt -e ".[airflow,spark,postgres,fast,delta]" -r requirements-dev.txt \
		| awk '/^Collecting /    { printf "\r  %d packages collected", ++count; fflush() } \
		       /^Installing /    { printf "\n  installing them\n"; fflush() } \
		       /^Successfully installed/ { print "  done" }'
	@touch $@

.PHONY: java
java: ## check that there is a Java 17 or newer
	@bash tools/java.sh

.PHONY: demo
demo: $(STAMP) java ## run the example pipeline twice in a real Airflow, show what it did, stop
	@$(BIN)/python -m tools.demo

.PHONY: up
up: $(STAMP) java ## the same, and stay up until Ctrl-C
	@$(BIN)/python -m tools.demo --stay

.PHONY: fast
fast: $(STAMP) ## the tests that need no Spark, no Airflow and no server (about a minute)
	TRICKLE_PROFILE=fast $(BIN)/python -m pytest -n 3 --dist loadfile --maxfail 20 \
		-m "not ($(OUTSIDE_FAST))" $(ARGS)

.PHONY: golden
golden: $(STAMP) ## rewrite the SQL that the golden cases of delta rules expect; then read `git diff`
	@$(BIN)/python -m tests.engine.delta.update_golden

.PHONY: test
test: $(STAMP) java ## the whole test suite, with real Spark, PostgreSQL and Airflow
	@# AFTER_FAST=1 leaves out what `make fast` has just run; property tests and seeded loops run again, with more examples.
	$(BIN)/python -m pytest -n 3 --dist loadfile --maxfail 20 \
		-m "not soak$(if $(AFTER_FAST), and ($(OUTSIDE_FAST) or hypothesis or seeded))" $(ARGS)

.PHONY: lint
lint: $(STAMP) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.PHONY: bench
bench: $(STAMP) java ## measure analysis, parse time, idle ticks and commits
	@$(BIN)/python -m benchmarks

.PHONY: soak
soak: $(STAMP) java ## long random runs, chaos and TPC-H, from a new seed
	TRICKLE_PROFILE=soak $(BIN)/python -m pytest -m "soak or hypothesis or seeded" $(ARGS)

.PHONY: faults
faults: $(STAMP) java ## plant faults one by one and see which test finds each (ARGS="--layer fast", --list)
	@$(BIN)/python -m tools.faults $(ARGS)

.PHONY: wheel-check
wheel-check: $(STAMP) ## build the wheel, install it without Airflow, import it
	@$(BIN)/python -m tools.wheel_check

.PHONY: audit
audit: $(STAMP) ## ask an advisory service about the pinned dependencies; skipped where it cannot be reached
	@$(BIN)/python -m tools.audit

.PHONY: sbom
sbom: $(STAMP) ## write the wheel's bill of materials (CycloneDX) to dist/
	@$(BIN)/python -m tools.sbom

.PHONY: docker-check
docker-check: ## let Docker Compose read docker/compose.yaml, where there is one
	@if docker compose version >/dev/null 2>&1; then compose="docker compose"; \
	elif docker-compose version >/dev/null 2>&1; then compose="docker-compose"; \
	else \
		echo "No Docker Compose here: docker/compose.yaml was only checked by tests/test_docker.py"; \
		exit 0; \
	fi; \
	env $$(sed -n 's/^\([A-Z_]*\)=.*/\1=checked/p' docker/env.example) \
		$$compose --file docker/compose.yaml config --quiet && echo "docker/compose.yaml is good"

.PHONY: sql-report
sql-report: $(STAMP) java ## ask Spark and the parser about the query corpora, write docs/sql-corpora.md
	@$(BIN)/python -m tools.sql_report

.PHONY: clean
clean: ## remove what the targets above made, but not .venv
	rm -rf .demo dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
