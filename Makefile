# Everything the book needs, on a machine with Python 3.11 or newer and make.
#
#   make book            execute every notebook at the papers' scale and build _build/html
#   make test            the tests, the examples in the docstrings, ruff and mypy
#   make help            the rest

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
WORKERS ?= 2

# The environment is made again when the lock or the project file changes. The stamp is written
# last, so an installation that was cut short is not taken for a finished one.
STAMP := $(VENV)/ready-$(shell cat requirements.lock pyproject.toml | cksum | tr ' ' '-')
LOCK := uv pip compile --quiet --upgrade pyproject.toml --all-extras --group build --universal \
	--fork-strategy fewest --python-version 3.11 --generate-hashes --no-header --no-annotate \
	--no-emit-index-url --no-emit-find-links

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help address book pdf preview serve lab sync test browser-test bench evidence lock clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1: /p' Makefile | awk -F': ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(STAMP):
	@python=; for candidate in "$(PYTHON)" python3 python3.13 python3.12 python3.11; do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	  then python="$$candidate"; break; fi; done; \
	if [ -z "$$python" ]; then echo 'Python 3.11 or newer is needed: make PYTHON=...' >&2; exit 1; fi; \
	rm -rf $(VENV) && "$$python" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

book: $(STAMP) ## execute and build everything into _build/html
	$(BIN)/python -m book.build

pdf: book ## typeset the book into _build/topk.pdf (needs xelatex: see CONTRIBUTING.md)
	$(BIN)/python -m book.pdf

preview: $(STAMP) ## a fraction of the scale, for authors, into _build/preview/html
	$(BIN)/python -m book.build --preview

serve: ## show the built site on this machine
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

lab: $(STAMP) ## open the chapters in JupyterLab, set as on the site
	$(BIN)/python -m book.lab

address: $(STAMP) ## say where the repository is published: make address URL=https://github.com/owner/name
	$(BIN)/python -m book.publishing "$(URL)"

sync: $(STAMP) ## write the .ipynb beside every notebooks/*.md, without outputs
	$(BIN)/python -m book.build --sync --keep "$(KEEP)"

test: $(STAMP) ## tests, docstring examples, ruff, mypy
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n $(WORKERS)

browser-test: $(STAMP) ## open every page of the site, and JupyterLab, in Chromium, with no network
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m browser tests/book

bench: $(STAMP) ## run the speed measurements, which the book's speed figures read
	@for file in benchmarks/*.py; do [ ! -e "$$file" ] || $(BIN)/python "$$file" || exit 1; done

evidence: $(STAMP) ## count errors of certificates and of evidence in many plays (an hour)
	cd tests && ../$(BIN)/python -c "from evidence.plays import main; main()"
	cd tests && ../$(BIN)/python -m evidence.agreement

lock: ## resolve the dependencies again (needs uv)
	$(LOCK) --output-file requirements.lock
	sed -n 's/ *\\$$//; /^[A-Za-z]/p' requirements.lock > constraints.txt

clean: ## remove the environment, the site and every cache
	rm -rf $(VENV) _build .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
