# Set-up is done by every target that needs it: a virtual environment in .venv, nothing outside this folder.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.installed  # what nbest needs
STAMP := $(VENV)/.developing  # and what its development needs
EXTRAS ?= dev,arrow  # .ci/run has ray, too
CASES ?= 1000000  # damaged files of make fuzz
OLDEST ?= tests/base tests/compute tests/corpus tests/formats tests/metrics tests/objectives tests/optimisers tests/decisions tests/trainers tests/cli/test_commands.py
# a process more than cores, as some tests wait for others; each takes whole files
SPREAD := -n $(shell $(PYTHON) -c "import os; print(min((os.cpu_count() or 1) + 1, 4))") --dist loadfile

# uv installs in a quarter of pip's time; where it cannot be had, or finds no packages, pip installs
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALL = $(BIN)/uv pip install --quiet --no-cache --python $(BIN)/python $(1) || $(PIP) $(1)

.PHONY: demo test test-all test-oldest fuzz lint types script bench dist docs clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	-$(PIP) uv

$(RUNS): $(BIN)/python pyproject.toml
	$(call INSTALL,--editable .)
	touch $@

$(STAMP): $(BIN)/python pyproject.toml
	$(call INSTALL,--editable ".[$(strip $(EXTRAS))]")
	touch $@ $(RUNS)

demo: $(RUNS)
	$(BIN)/nbest demo

test: $(STAMP)
	$(BIN)/python -m pytest $(SPREAD)

test-all: $(STAMP)
	$(BIN)/python -m pytest -m "" $(SPREAD)

# the lowest versions that pyproject.toml allows, in an environment of their own
test-oldest: $(BIN)/python
	$(PYTHON) -m venv --clear $(VENV)-oldest
	$(BIN)/uv pip install --quiet --no-cache --python $(VENV)-oldest/bin/python --resolution lowest-direct --editable ".[dev,arrow]"
	$(VENV)-oldest/bin/python -m pytest $(SPREAD) $(OLDEST)

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

# wheel and sdist, what is in them, and the wheel in an environment of its own, outside of this folder
dist: $(BIN)/python
	rm -rf dist
	$(BIN)/uv build --quiet --no-cache --out-dir dist || ($(PIP) build && $(BIN)/python -m build --outdir dist)
	$(BIN)/python .ci/check_dist.py dist
	$(PYTHON) -m venv --clear $(VENV)-dist
	$(BIN)/uv pip install --quiet --no-cache --python $(VENV)-dist/bin/python dist/*.whl || $(VENV)-dist/bin/python -m pip install --quiet dist/*.whl
	cd $(VENV)-dist && bin/nbest demo --quick

bench: $(STAMP)
	$(BIN)/python -m benchmarks

# the site, in site/index.html: made without network, and a warning is an error
$(VENV)/.docs: $(BIN)/python pyproject.toml
	$(call INSTALL,--editable ".[docs]")
	touch $@

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-dist build dist site nbest-demo.html *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
