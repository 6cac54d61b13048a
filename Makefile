.PHONY: demo test check bench validate paper docs clean
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(READY)
	$(BIN)/credwarp demo --output demo-run

test: $(READY)
	tests/install_chromium.sh
	$(BIN)/pytest --numprocesses 2

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

validate: $(READY)
	$(BIN)/pytest validation --capture=no

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(READY)
	$(BIN)/python docs/module_graph.py docs/generated/modules.svg
	$(BIN)/python docs/reference.py docs/generated
	$(BIN)/sphinx-build --fail-on-warning --quiet -b html docs docs/_build

clean:
	rm -rf $(VENV) docs/_build docs/generated
