# Two commands are all a newcomer types: `make demo` and `make test`. Both set up what they need.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo test test-slow check bench clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    nested entities in five paragraphs, found by the models that come along"
	@echo "make test    run the tests (make test-slow: the slow ones too)"
	@echo "make check   lint, types, layers"
	@echo "make bench   measure speed beside other tools (GENIA is needed; make bench ARGS=--quick is shorter)"
	@echo "make setup   make .venv with everything pinned; the others call it"

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "nestling needs Python 3.11 or newer; say make PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(READY)

demo: setup
	$(BIN)/python examples/demo.py

test: setup
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

test-slow: setup
	$(BIN)/python -m pytest -n 2 --dist loadgroup

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_layers.py tests/test_public_names.py

bench: setup
	$(BIN)/python benchmarks/speed.py $(ARGS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
