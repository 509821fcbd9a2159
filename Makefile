# Two commands on a fresh machine with Python >= 3.11: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Most of what the packages bring is never imported: Python translates a file when it is.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt

# Packages and the browser are installed side by side; the packages of the tests are installed, and
# the sources checked, while kernels compile.
MAKEFLAGS += --jobs=2

# The tests start hundreds of commands: each would translate the package's sources anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test checked compiled bench site browser clean

demo: $(VENV)/installed
	$(BIN)/advmdp demo

test: browser compiled checked
	$(BIN)/python -m pytest

checked: $(VENV)/installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

compiled: $(VENV)/installed
	$(BIN)/python -m tests.warm_up

bench: $(VENV)/installed-for-tests
	$(BIN)/python -m benchmarks

site: $(VENV)/installed-for-tests
	$(BIN)/python -m mkdocs build --strict

# The report is tested in a real browser; one that is there is used, else Debian's is installed.
browser:
	@for name in "$$ADVMDP_BROWSER" chromium chromium-browser google-chrome; do \
		[ -n "$$name" ] && command -v "$$name" >/dev/null && exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; \
	else echo "the tests need Chromium: install it, or set ADVMDP_BROWSER to a browser"; exit 2; fi

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "advmdp needs Python 3.11 or newer; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e .
	@touch $@

$(VENV)/installed-for-tests: $(VENV)/installed
	$(PIP) -e '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
