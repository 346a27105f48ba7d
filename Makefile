# Targets for the book and the library; they need Python 3.11 or newer, and make.
#
#   make book            execute every notebook at the papers' scale and build _build/html
#   make test            the tests, the examples in the docstrings, ruff and mypy
#   make help            the rest

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
WORKERS ?= 2

# The environment is recreated when the lock or the project file changes. The stamp is written last, so
# that an interrupted installation is not taken for a complete one.
STAMP := $(VENV)/ready-$(shell cat requirements.lock pyproject.toml book/pyproject.toml | cksum | tr ' ' '-')
# All extras but those of the adapters, which `make adapters` installs by themselves.
LOCKED := book cluster lab pages parquet plot test
LOCK := uv pip compile --quiet --upgrade pyproject.toml $(LOCKED:%=--extra %) --group build \
	--universal --fork-strategy fewest --python-version 3.11 --generate-hashes --no-header \
	--no-annotate --no-emit-index-url --no-emit-find-links

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Where Python may not keep bytecode, each kernel compiles all libraries that it imports: three seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help environment address book pdf preview serve lab sync test test-all browser-test bench evidence lock adapters clean \
	dist coverage mutate lowest audit sphinx chapters
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ' *## ' '/^[a-z-]+:.*## / {sub(/:.*/, "", $$1); printf "  make %-14s %s\n", $$1, $$2}' Makefile

$(STAMP):
	@python=; for candidate in "$(PYTHON)" python3 python3.14 python3.13 python3.12 python3.11; do \
	  if "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	  then python="$$candidate"; break; fi; done; \
	if [ -z "$$python" ]; then echo 'Python 3.11 or newer is needed: make PYTHON=...' >&2; exit 1; fi; \
	rm -rf $(VENV) && "$$python" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e . -e book
	touch $@

environment: $(STAMP) ## create the environment that all other targets use

book: $(STAMP) ## execute and build everything into _build/html
	$(BIN)/python -m book.build

pdf: book ## typeset the book into _build/topk.pdf (needs xelatex: see CONTRIBUTING.md)
	$(BIN)/python -m book.pdf

preview: $(STAMP) ## build at a fraction of the scale, for authors, into _build/preview/html
	$(BIN)/python -m book.build --preview

# The environment is separate, with the newest versions; Jupyter Book would hold Sphinx at 7.4.
SPHINX := sphinx myst-nb numpydoc sphinx-book-theme sphinx-comments sphinx-copybutton sphinx-design \
	sphinx-exercise sphinx-external-toc sphinx-jupyterbook-latex sphinx-multitoc-numbering \
	sphinx-proof sphinx-togglebutton sphinxcontrib-bibtex

sphinx: $(STAMP) ## render the pages of the last make book with the newest Sphinx, into _build/plain/html
	rm -rf _build/sphinx && $(BIN)/python -m venv _build/sphinx
	_build/sphinx/bin/python -m pip install --quiet --upgrade pip
	_build/sphinx/bin/python -m pip install --quiet -e ".[plot]" $(SPHINX)
	_build/sphinx/bin/python -m pip install --quiet --no-deps -e book
	$(BIN)/python -m book.rendering _build/sphinx/bin/python

serve: ## show the built site on this machine
	@test -d _build/html || { echo 'There is no site yet: run make book first (or make preview)' >&2; exit 1; }
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

lab: $(STAMP) ## open the chapters in JupyterLab, rendered as on the site
	$(BIN)/python -m book.lab

address: $(STAMP) ## set the address of the repository: make address URL=https://github.com/owner/name
	$(BIN)/python -m book.publishing "$(URL)"
	$(BIN)/python -m book.build --sync

sync: $(STAMP) ## write the .ipynb beside every notebooks/*.md, without outputs
	$(BIN)/python -m book.build --sync --keep "$(KEEP)"

test: $(STAMP) ## run the quick tests, the docstring examples, ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n $(WORKERS)

test-all: $(STAMP) ## run every test but those in a browser, at full scale (an hour)
	TOPK_TESTS=all $(BIN)/python -m pytest -n $(WORKERS) -m "not browser"

chapters: $(STAMP) ## run every chapter with other parameters than its own and its preview's
	TOPK_TESTS=all $(BIN)/python -m pytest -n $(WORKERS) tests/chapters/test_pages.py -m slow -k other_parameters

browser-test: $(STAMP) ## open every page of the site, and JupyterLab, in Chromium, with no network
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m browser tests/book

bench: $(STAMP) ## run the benchmarks, the data of the book's figures on speed
	@for file in benchmarks/*.py; do [ ! -e "$$file" ] || $(BIN)/python "$$file" || exit 1; done

evidence: $(STAMP) ## count errors of certificates, intervals and evidence in many runs (two hours)
	cd tests && ../$(BIN)/python -c "from evidence.plays import main; main()"
	cd tests && ../$(BIN)/python -m evidence.agreement
	cd tests && ../$(BIN)/python -m evidence.scores
	cd tests && ../$(BIN)/python -m evidence.cells
	cd tests && ../$(BIN)/python -m evidence.gates
	cd tests && ../$(BIN)/python -m evidence.near_ties
	cd tests && ../$(BIN)/python -m evidence.pairs
	cd tests && ../$(BIN)/python -m evidence.forms
	cd tests && ../$(BIN)/python -m evidence.sessions

dist: $(STAMP) ## build sdist and wheel into _build/dist
	$(BIN)/python -m book.distribution

coverage: $(STAMP) ## measure the coverage of the library's tests, loops uncompiled (an hour)
	$(BIN)/python -m coverage erase
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run -m pytest -q \
	  -m "not browser and not slow" tests/confidence tests/evaluation tests/live tests/rules \
	  tests/simulate tests/strategies tests/theory tests/test_*.py
	$(BIN)/python -m coverage combine --quiet
	$(BIN)/python -m coverage report

mutate: $(STAMP) ## change the library's decisions one at a time: tests should fail (half an hour)
	$(BIN)/python tests/mutate.py $(MODULES)

# The environment is separate, with the oldest allowed versions.
lowest: ## run the quick tests of both packages with the oldest allowed dependencies (needs uv)
	rm -rf _build/lowest && uv venv --quiet --python 3.11 _build/lowest
	uv pip install --quiet --python _build/lowest --resolution lowest-direct -e ".[plot,cluster]"
	uv pip install --quiet --python _build/lowest --no-deps -e book
	uv pip install --quiet --python _build/lowest pytest hypothesis pyyaml
	_build/lowest/bin/python -m pytest -q -W default --ignore=tests/book --ignore=tests/chapters \
	  tests topk topk_eval

adapters: ## run the adapters with the newest inspect_ai, GEPA and optuna, apart (needs uv)
	rm -rf _build/adapters && uv venv --quiet _build/adapters
	uv pip install --quiet --python _build/adapters -e ".[inspect,gepa,parquet]" optuna pytest \
	  hypothesis
	cd tests && TOPK_RECORD=1 ../_build/adapters/bin/python -m pytest -q -p no:cacheprovider \
	  -o filterwarnings=default evaluation/adapters evaluation/reading

# Each package has an environment of its own in _build/audit; NEWEST=1 takes the newest versions.
audit: $(STAMP) ## run the stopping rules of A/B testing tools from their own packages (needs uv; an hour)
	$(BIN)/python -m benchmarks.audit $(if $(NEWEST),--newest)

lock: ## resolve the dependencies again (needs uv)
	$(LOCK) --output-file requirements.lock
	sed -n 's/ *\\$$//; /^[A-Za-z]/p' requirements.lock > constraints.txt

clean: ## remove the environment, the site and every cache
	rm -rf $(VENV) _build .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info book/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
