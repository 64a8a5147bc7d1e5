# Two commands: `make run` and `make test`. Both prepare what they need, and are quick the second time.

PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check
ARGS ?=

.PHONY: run test browser clean

run: $(VENV)/.installed
	$(VENV)/bin/python app.py $(ARGS)

test: $(VENV)/.installed-dev browser
	$(VENV)/bin/python -m pytest $(ARGS)

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "Python's venv module is missing (Debian: apt-get install python3-venv)."; exit 1; }

$(VENV)/.installed: requirements.txt | $(VENV)/bin/python
	$(PIP) install -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	$(PIP) install -r requirements-dev.txt
	@touch $@

# The browser tests drive Debian's chromium. It is installed where that is allowed; else this says what is missing.
browser:
	@bash tests/browser/need_chromium.sh

clean:
	rm -rf $(VENV) .pytest_cache .hypothesis
