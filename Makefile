# What a person or a runner does with papir. Needs a stable Rust toolchain, git and make.
CARGO ?= cargo
SHELL := /bin/bash

.DEFAULT_GOAL := help
.PHONY: help demo test test-long check lint audit bench docs fuzz msrv tools test-tools publish-dry-run

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

# The demo needs neither object stores nor Parquet nor SQLite, which are half of a full build.
demo: tools ## Build, serve and query a database of 30,000 real keys on this machine.
	$(CARGO) run --locked --release --quiet -p papir-cli --no-default-features -- \
	  demo --data demo/data/common-passwords.csv

test: lint ## Everything that must hold before a commit: lint, then the tests of every crate.
	$(CARGO) test --locked --workspace
	$(CARGO) test --locked -p papir-store --no-default-features --test it features

test-long: lint msrv ## All tests, also those that take minutes; the oldest Rust; a rehearsal of publishing.
	$(CARGO) test --locked --workspace -- --include-ignored
	$(CARGO) test --locked -p papir-store --no-default-features -- --include-ignored
	$(MAKE) publish-dry-run

# The oldest Rust release that papir supports, as in Cargo.toml.
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

msrv: ## Check the workspace with the oldest supported Rust.
	@rustup run $(MSRV) cargo --version >/dev/null 2>&1 || rustup toolchain install $(MSRV) --profile minimal \
	  || { echo "Rust $(MSRV) is missing: install it (rustup toolchain install $(MSRV))" >&2; exit 1; }
	rustup run $(MSRV) cargo check --locked --workspace --target-dir target/msrv

# CRATE=schemes TEST=zip:: runs the unit tests of papir-schemes whose names contain `zip::`.
CRATE ?= schemes
TEST ?=
check: ## The unit tests of one crate after an edit: make check CRATE=schemes TEST=zip::
	$(CARGO) test --locked -p papir-$(CRATE) --lib -- $(TEST)

lint: test-tools ## Formatting, clippy, documentation, the lean build, the client on other targets.
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked -p papir-cli --no-default-features -- -D warnings
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --locked --workspace --no-deps --quiet
	@for target in $$(rustup target list --installed 2>/dev/null \
	    | grep -E '^(wasm32-unknown-unknown|aarch64-unknown-linux-gnu)$$'); do \
	  echo "client side for $$target"; \
	  $(CARGO) check --locked --quiet --target $$target -p papir-lookup -p papir-schemes -p papir-paillier \
	    && $(CARGO) check --locked --quiet --target $$target -p papir-client --no-default-features \
	    || exit 1; done

audit: ## Dependencies: known vulnerabilities, licences, sources, duplicate versions (cargo-deny).
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked --quiet cargo-deny \
	  || { echo "cargo-deny is missing: install it (cargo install --locked cargo-deny)" >&2; exit 1; }
	$(CARGO) deny --log-level error check bans licenses sources
	@$(CARGO) deny --log-level error check advisories \
	  || { echo "no advisories checked: their database could not be fetched, or the report above names one" >&2; exit 1; }

publish-dry-run:
	$(CARGO) publish --dry-run --workspace --locked --allow-dirty

bench: ## Measure InsPIRe at 256 MiB; more with `papir bench --help`.
	$(CARGO) run --locked --release --quiet -p papir-cli --no-default-features -- \
	  bench inspire --size 256MiB --record-bytes 64

# Seconds of all fuzz targets together.
SECONDS ?= 120

fuzz: ## Hostile bytes for every parser, about two minutes; `make fuzz SECONDS=600` for longer.
	$(CARGO) build --locked --quiet -p papir-fuzz
	ulimit -v 16777216; $(CARGO) run --locked --quiet -p papir-fuzz -- --seconds $(SECONDS)

docs: ## The documentation of every crate, under target/doc.
	$(CARGO) doc --locked --workspace --no-deps

# Installs what is missing where it may; otherwise names all of it in one line.
tools:
	@missing=; \
	for tool in $(CARGO) git cc; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	test -z "$$missing" || { echo "papir needs, and does not find:$$missing" >&2; exit 1; }

test-tools: tools
	@missing=; \
	$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt >/dev/null 2>&1 \
	  || missing="$$missing rustfmt (rustup component add rustfmt)"; \
	$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy >/dev/null 2>&1 \
	  || missing="$$missing clippy (rustup component add clippy)"; \
	command -v curl >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get install -y -q curl >/dev/null 2>&1; } \
	  || missing="$$missing curl"; \
	test -z "$$missing" || { echo "the tests need, and do not find:$$missing" >&2; exit 1; }
