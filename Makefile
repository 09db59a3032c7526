# Each target does its own set-up in .venv; a machine with Python 3.11 or newer needs nothing else.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.set-up
WEB := web/node_modules/.set-up

# The tracer is tested with two versions of jax: the newest that Python 3.11 can install, and the newest of all, which
# needs Python 3.13. pyenv leaves programs on the path that do not run, so each interpreter that is found is tried.
NEWEST := $(shell for one in python3.13 $${PYENV_ROOT:-$$HOME/.pyenv}/versions/3.13*/bin/python; do \
	$$one -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null && echo $$one && break; done)
NEWEST_STAMP := .venv-newest/.set-up

.PHONY: demo tour test test-newest lint format clean

demo: $(STAMP)
	$(BIN)/jaxaudit check examples --exit-zero

# What `jaxaudit diff` says of thirty edits that break something and of refactorings that do not.
tour: $(STAMP)
	$(BIN)/python -m benchmarks.tour

test: lint $(WEB)
	$(BIN)/python -m pytest -q -n auto
	@$(MAKE) --no-print-directory test-newest

ifeq ($(NEWEST),)
test-newest:
	@echo "no Python 3.13 here: the tracer is not tested with the newest jax"
else
test-newest: $(NEWEST_STAMP)
	.venv-newest/bin/python -m pytest -q -n auto tests/frontends/jaxpr tests/frontends/observe
endif

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

$(NEWEST_STAMP): pyproject.toml
	test -x .venv-newest/bin/python || $(NEWEST) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[newest]'
	touch $@

# The page of the HTML report is committed as it is built; with npm here, the tests build it again and compare.
$(WEB): web/package.json
	@mkdir -p $(@D)
	@if command -v npm >/dev/null; then npm install --prefix web --no-package-lock --no-audit --no-fund --silent \
		|| echo "npm could not install web/package.json: the page is not rebuilt"; fi
	@touch $@

clean:
	rm -rf .venv .venv-newest web/node_modules .pytest_cache .ruff_cache .import_linter_cache dist
