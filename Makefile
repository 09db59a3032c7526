# Each target does its own set-up in .venv; a machine with Python 3.11 or newer needs nothing else.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.set-up
WEB := web/node_modules/.set-up

.PHONY: demo test lint format clean

demo: $(STAMP)
	$(BIN)/jaxaudit check examples --exit-zero

test: lint $(WEB)
	$(BIN)/python -m pytest -q -n auto

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyrefly check
	$(BIN)/lint-imports --no-cache

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

# The page of the HTML report is committed as it is built; with npm here, the tests build it again and compare.
$(WEB): web/package.json
	@mkdir -p $(@D)
	@if command -v npm >/dev/null; then npm install --prefix web --no-package-lock --no-audit --no-fund --silent \
		|| echo "npm could not install web/package.json: the page is not rebuilt"; fi
	@touch $@

clean:
	rm -rf .venv web/node_modules .pytest_cache .ruff_cache .import_linter_cache dist
