# What a person or a runner does with papir. Needs stable Rust, git and make.
CARGO ?= cargo
SHELL := /bin/bash

.DEFAULT_GOAL := help
.PHONY: help demo test test-long lint bench docs fuzz tools

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

demo: ## Build, serve and query a database of 30,000 real keys on this machine.
	$(CARGO) run --locked --release --quiet -p papir-cli -- demo --data demo/data/common-passwords.csv

test: lint ## Everything that must hold before a commit: lint, then the tests of every crate.
	$(CARGO) test --locked --workspace

test-long: ## The tests that take minutes, besides the others.
	$(CARGO) test --locked --workspace -- --include-ignored

lint: tools ## Formatting, clippy, licences and sources of dependencies, documentation.
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) deny --log-level error check bans licenses sources
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --locked --workspace --no-deps --quiet
	@for target in $$(rustup target list --installed 2>/dev/null | grep -E '^(wasm32-unknown-unknown|aarch64-unknown-linux-gnu)$$'); do \
	  echo "client side for $$target"; $(CARGO) check --locked --quiet --target $$target -p papir-lookup -p papir-schemes -p papir-paillier || exit 1; done

bench: ## Measure InsPIRe at 256 MiB; more with `papir bench --help`.
	$(CARGO) run --locked --release --quiet -p papir-cli -- bench inspire --size 256MiB --record-bytes 64

# Seconds of all fuzz targets together.
SECONDS ?= 120

fuzz: ## Hostile bytes for every parser, about two minutes; `make fuzz SECONDS=600` for longer.
	$(CARGO) build --locked --quiet -p papir-fuzz
	ulimit -v 16777216; $(CARGO) run --locked --quiet -p papir-fuzz -- --seconds $(SECONDS)

docs: ## The documentation of every crate, under target/doc.
	$(CARGO) doc --locked --workspace --no-deps

tools: # Install what lint needs and does not find; one line when it cannot.
	@$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt \
	  || { echo "rustfmt is missing: install it (rustup component add rustfmt)" >&2; exit 1; }
	@$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy \
	  || { echo "clippy is missing: install it (rustup component add clippy)" >&2; exit 1; }
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked --quiet cargo-deny \
	  || { echo "cargo-deny is missing: install it (cargo install --locked cargo-deny)" >&2; exit 1; }
