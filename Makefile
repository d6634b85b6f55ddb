# Set-up is done by every target that needs it: a virtual environment in .venv, nothing outside this folder.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS ?= dev,arrow  # .ci/run has ray, too
CASES ?= 1000000  # damaged files of make fuzz
# a process more than cores, as some tests wait for others; each takes whole files
SPREAD := -n $(shell $(PYTHON) -c "import os; print(min((os.cpu_count() or 1) + 1, 4))") --dist loadfile

.PHONY: demo test test-all fuzz lint types script bench clean

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$(strip $(EXTRAS))]"
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/nbest demo

test: $(STAMP)
	$(BIN)/python -m pytest $(SPREAD)

test-all: $(STAMP)
	$(BIN)/python -m pytest -m "" $(SPREAD)

fuzz: $(STAMP)
	$(BIN)/python -m nbest.testing.fuzz --cases $(CASES)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy

# the script of report pages: needs Node.js
script:
	npx --yes --package typescript@7 tsc -p nbest/report/web
	npx --yes --package @biomejs/biome@2 biome lint --error-on-warnings --skip=lint/correctness/noUnusedVariables nbest/report/web

bench: $(STAMP)
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist nbest-demo.html *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
