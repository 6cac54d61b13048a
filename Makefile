.PHONY: demo test coverage repeats check bench validate paper docs clean
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

# The lines of the package that tests run; a compiled kernel's are not seen and count as never run.
coverage: $(READY)
	tests/install_chromium.sh
	$(BIN)/pytest --numprocesses 2 --cov --cov-report=term

# Do tests depend on their order, or on luck?
repeats: $(READY)
	tests/install_chromium.sh
	for seed in 1 2 3 4 5; do $(BIN)/pytest --numprocesses 2 --random-order-seed=$$seed --quiet || exit 1; done

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

validate: $(READY)
	$(BIN)/pytest validation --capture=no

# The paper's experiments: SCALE=small|full|smoke, N=1|1b|3|4|5|runtime, DATA=folder with real pairs,
# MODEL=a network of `credwarp train` instead of training one. The page in docs/ is that of everything at
# small scale on generated heads; others stay with their runs.
SCALE ?= small
RUNS ?= paper-runs/$(SCALE)$(if $(DATA),-data)
PAGE ?= $(if $(N)$(DATA)$(filter-out small,$(SCALE)),$(RUNS)/page,docs/paper)
paper: $(READY)
	$(BIN)/python -m experiments.paper2021 --scale $(SCALE) --output $(RUNS) --page $(PAGE) \
		$(if $(N),--only $(N)) $(if $(DATA),--data $(DATA)) $(if $(MODEL),--model $(MODEL))

bench: $(READY)
	$(BIN)/python -m benchmarks

docs: $(READY)
	$(BIN)/python docs/module_graph.py docs/generated/modules.svg
	$(BIN)/python docs/reference.py docs/generated
	$(BIN)/sphinx-build --fail-on-warning --quiet -b html docs docs/_build

clean:
	rm -rf $(VENV) docs/_build docs/generated
