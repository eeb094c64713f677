# The few commands that people need. PYTHON=... chooses another interpreter.
PYTHON ?= python
LINT_IMPORTS ?= lint-imports --no-logo

.PHONY: install app test quick check format wheel lock

install:  ## what the app, the tests and the checks need
	$(PYTHON) -m pip install -r requirements-dev.txt

app:  ## the app in the browser
	$(PYTHON) -m streamlit run app.py

test:  ## the whole suite but what takes minutes
	$(PYTHON) -m pytest

quick:  ## the inner loop
	$(PYTHON) -m pytest -m "not slow and not browser and not heavy"

check:  ## format, lint, layers, types
	$(PYTHON) -m ruff format --check
	$(PYTHON) -m ruff check
	$(LINT_IMPORTS)
	$(PYTHON) -m mypy

format:
	$(PYTHON) -m ruff format
	$(PYTHON) -m ruff check --fix

wheel:  ## the package, app included
	$(PYTHON) -m build --wheel

lock:  ## one tested version of everything with hashes, and the list of licences
	.ci/lock
	$(PYTHON) .ci/licences
