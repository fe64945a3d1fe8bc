# Everything a newcomer needs: `make demo`, `make check` while working and `make test` before handing in. All set up what is missing first;
# a second run starts at once.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.setup-stamp
CODE := src lab/src tests

.PHONY: setup demo check test coverage test-postgres test-tools lint style types format bench gates campaign audit release docs screenshots clean

setup: $(STAMP)

KERNEL := $(addprefix src/blindlabel/engines/packed/running/,periodic.c vectors.h) hatch_build.py

$(STAMP): pyproject.toml lab/pyproject.toml constraints.txt constraints-build.txt constraints-dev.txt scripts/setup $(KERNEL)
	@PYTHON="$(PYTHON)" VENV="$(VENV)" sh scripts/setup
	@touch $@

demo: $(STAMP)
	@$(BIN)/blindlabel demo

# What to run all the time: format, lint, types and the fast tests; `make check K=words` takes the tests whose names or files have those words.
check: $(STAMP)
	@VENV="$(VENV)" K="$(K)" scripts/check

test: $(STAMP)
	@VENV="$(VENV)" scripts/test

# The same, and the branch coverage of the house must not fall below its floor; continuous integration measures it always.
coverage: $(STAMP)
	@MEASURE=yes VENV="$(VENV)" scripts/test

# The tests of storage, transport and whole studies with every coordinator in the tests' own process on PostgreSQL instead of SQLite.
test-postgres: $(STAMP)
	@BLINDLABEL_TEST_DATABASE=postgresql $(BIN)/pytest -n auto --dist worksteal -m "not slow" tests/storage tests/transport tests/study

# The target tools' own readers on what we export, in an environment of their own.
test-tools:
	@PYTHON="$(PYTHON)" scripts/test-tools

lint: style types

style: $(STAMP)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)

types: $(STAMP)
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format $(CODE)
	$(BIN)/ruff check --fix $(CODE)

bench: $(STAMP)
	@VENV="$(VENV)" scripts/measure

gates: $(STAMP)
	@scripts/gates-environment.sh
	@scripts/run-gates-tests.sh
	@$(BIN)/blindlabel bench gates

# All long tools, for MINUTES minutes together: simulated studies with faults, real processes that are killed and disturbed, planted bugs, memory over
# time, foreign bytes. Each is a script of its own: scripts/simulate, crash-points, mutants, faults, soak, fuzz. TOOL=word: those of that name.
campaign: $(STAMP)
	@$(BIN)/python scripts/campaign --minutes $(or $(MINUTES),20) --only "$(TOOL)"

# Licences, pins, and known vulnerabilities by a file of advisories that was carried here: make audit ADVISORIES=all.zip
audit: $(STAMP)
	@$(BIN)/python scripts/audit $(if $(ADVISORIES),--advisories "$(ADVISORIES)")

# Packages, wheelhouse, list of parts (SBOM) and checksums, in dist/.
release: $(STAMP)
	@VENV="$(VENV)" scripts/release

# The documentation as a site, in site/; nothing in it asks another host for anything.
docs: $(STAMP)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "Read it at http://127.0.0.1:8000: $(BIN)/python -m http.server --bind 127.0.0.1 --directory site"

# Pictures of the web app: two into docs/images, all states into a folder to look at.
screenshots: $(STAMP)
	@scripts/ensure-chromium >/dev/null
	@$(BIN)/python scripts/screenshots

clean:
	rm -rf $(VENV) .venv-gates .venv-tools .venv-clks .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache results site dist
