# What a person or a runner does with papir. Needs a stable Rust toolchain, git and make.
CARGO ?= cargo
SHELL := /bin/bash

.DEFAULT_GOAL := help
.PHONY: help demo demo-ray test test-long check lint audit bench docs fuzz msrv tools test-tools publish-dry-run \
  js page js-test js-test-long js-tools js-test-tools demo-page demo-form demo-passwords bindings bindings-tools \
  kotlin kotlin-test kotlin-tools \
  debug-program long-tools arm-test arm-tools python-test wheel notebooks site deploy-check alerts-check unit-check chart-check image-check alerts-tools chart-tools

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

# The demo needs neither object stores nor Parquet nor SQLite, which are half of a full build.
demo: tools ## Build, serve and query a database of 30,000 real keys on this machine.
	$(CARGO) run --locked --release --quiet -p papir-cli --no-default-features -- \
	  demo --data demo/data/common-passwords.csv

demo-ray: wheel ## Four shards of a database on this machine, behind Ray Serve; one is killed.
	@test -x $(TOOLS)/ray/bin/python || python3 -m venv $(TOOLS)/ray \
	  || { echo "the demo needs Python 3.10 or later with venv (apt-get install python3-venv)" >&2; exit 1; }
	$(TOOLS)/ray/bin/pip install -q --disable-pip-version-check --force-reinstall --no-deps target/wheels/pypapir-*.whl
	$(TOOLS)/ray/bin/pip install -q --disable-pip-version-check 'pypapir[ray]' --find-links target/wheels
	$(CARGO) build --locked --release --quiet -p papir-cli --no-default-features
	RAY_USAGE_STATS_ENABLED=0 $(TOOLS)/ray/bin/python python/demo/ray_demo.py target/release/papir demo/data/common-passwords.csv

# Many tests wait for a process, a service or the disk, so there are more of them than processors. Those of
# the Python package and in the browser wait most, and run side by side.
TEST_THREADS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))

test: lint ## Everything that must hold before a commit: lint, then the tests of every crate.
	RUST_TEST_THREADS=$(TEST_THREADS) $(CARGO) test --locked --workspace -- --skip the_package
	$(MAKE) -j2 python-test js-test

test-long: lint msrv long-tools ## All tests, also those that take minutes; the oldest Rust; a rehearsal of publishing.
	$(CARGO) test --locked --workspace --no-fail-fast -- --include-ignored --skip timed::
	$(CARGO) test --locked --workspace timed:: -- --include-ignored --test-threads=1
	$(CARGO) test --locked -p papir-store --no-default-features -- --include-ignored
	$(MAKE) site
	$(MAKE) js-test-long
	$(MAKE) kotlin-test
	python3 tools/capacity.py --check --papir target/debug/papir
	$(MAKE) arm-test
	$(MAKE) deploy-check
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

lint: test-tools js-tools ## Formatting, clippy, documentation, the lean build, the client on other targets.
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked -p papir-cli --no-default-features -- -D warnings
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --locked --workspace --no-deps --quiet
	$(CARGO) clippy --locked --target $(WASM) -p papir-js --features all -- -D warnings
	@if rustup target list --installed 2>/dev/null | grep -q '^aarch64-unknown-linux-gnu$$'; then \
	  $(CARGO) check --locked --quiet --target aarch64-unknown-linux-gnu -p papir-client --no-default-features; fi
	@$(ARM_TARGET) || { echo "kernels for aarch64 are not checked: rustup target add $(ARM)" >&2; exit 0; }; \
	  $(CARGO) clippy --locked --target $(ARM) -p papir-kernels --all-targets -- -D warnings

# Kernels for aarch64 are checked everywhere. Their tests run in an emulator, with Rust's own linker.
ARM := aarch64-unknown-linux-musl
ARM_TARGET = { ls "$$(rustc --print sysroot)/lib/rustlib/$(ARM)" || rustup target add $(ARM); } >/dev/null 2>&1
ARM_ENVIRONMENT := CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld \
  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=qemu-aarch64

arm-test: arm-tools ## The kernels' tests for aarch64, in an emulator (qemu-user).
	$(ARM_ENVIRONMENT) $(CARGO) test --locked --release --target $(ARM) -p papir-kernels --lib --test it

python-test: tools ## The tests of the Python package, in an environment of their own.
	$(CARGO) test --locked --workspace --tests the_package

wheel: tools ## A wheel of the Python package, in target/wheels.
	@test -x $(TOOLS)/maturin/bin/maturin \
	  || { python3 -m venv $(TOOLS)/maturin && $(TOOLS)/maturin/bin/pip install -q $(MATURIN); } >/dev/null 2>&1 \
	  || { echo "a wheel needs maturin: install Python with venv, or $(MATURIN)" >&2; exit 1; }
	$(TOOLS)/maturin/bin/maturin build --release --locked --manifest-path python/Cargo.toml --out target/wheels

notebooks: wheel ## Run the notebooks, and store their output in them.
	@$(TOOLS)/notebooks/bin/python -c 'import nbclient' 2>/dev/null || { python3 -m venv $(TOOLS)/notebooks \
	  && $(TOOLS)/notebooks/bin/pip install -q --disable-pip-version-check nbclient ipykernel matplotlib; } \
	  || { echo "the notebooks need Python 3.10 or later with venv (apt-get install python3-venv)" >&2; exit 1; }
	$(TOOLS)/notebooks/bin/pip install -q --disable-pip-version-check --force-reinstall --no-deps target/wheels/pypapir-*.whl
	$(TOOLS)/notebooks/bin/pip install -q --disable-pip-version-check 'pypapir[arrow,frames]' --find-links target/wheels
	$(TOOLS)/notebooks/bin/python tools/run_notebooks.py python/notebooks/*.ipynb

# Browsers run the client in WebAssembly, with vectors where they have them, and fetch the schemes of few
# services only when needed.
WASM := wasm32-unknown-unknown
WASM_TARGET = { ls "$$(rustc --print sysroot)/lib/rustlib/$(WASM)" || rustup target add $(WASM); } >/dev/null 2>&1
JS_PROFILE := wasm
JS_VECTORS := none simd
JS_DIST := js/dist
PAGE := target/page

js: js-tools ## The npm package, in js/dist.
	@rm -rf $(JS_DIST) && mkdir -p $(JS_DIST)
	@cp js/lib/* js/package.json js/README.md LICENSE-APACHE LICENSE-MIT $(JS_DIST)
	@set -e; for vectors in $(JS_VECTORS); do for schemes in short all; do \
	  simd=; test $$vectors = none || simd=-simd; all=; test $$schemes = short || all=-all; \
	  RUSTFLAGS="$${simd:+-C target-feature=+simd128}" $(CARGO) build --locked --quiet -p papir-js \
	    --target $(WASM) --profile $(JS_PROFILE) $${all:+--features all}; \
	  cp target/$(WASM)/$(JS_PROFILE:dev=debug)/papir_js.wasm $(JS_DIST)/papir$$all$$simd.wasm; \
	done; done

page: js ## The page of `papir serve --page`, in target/page.
	@rm -rf $(PAGE) && mkdir -p $(PAGE)/papir
	@cp js/page/* $(PAGE) && cp $(JS_DIST)/*.js $(JS_DIST)/*.wasm $(PAGE)/papir
	@find $(PAGE) -type f -exec gzip -9kn {} +

# The modules that tests need every time. They share what other tests have built.
JS_QUICK := JS_PROFILE=dev JS_VECTORS=simd JS_DIST=target/js/dist PAGE=target/js/page

js-test: js-test-tools debug-program ## The tests of the npm package and the page, in Node and Chromium.
	$(MAKE) page $(JS_QUICK)
	PAPIR=target/debug/papir PAPIR_JS=target/js/dist PAPIR_PAGE=target/js/page node --test js/tests/*.test.mjs

js-test-long: js-test-tools debug-program page ## The same with all modules, as they are released, and their lengths.
	PAPIR=target/debug/papir PAPIR_RELEASED=1 node --test js/tests/*.test.mjs

# The client for Kotlin, with the native library of this machine.
KOTLIN := target/kotlin
# As JNA names this platform.
JNA := $(shell uname -s | tr A-Z a-z)-$(subst arm64,aarch64,$(subst _,-,$(shell uname -m)))
FFI_BUILD = $(CARGO) build --locked --quiet --release -p papir-ffi
FFI_FOLDER := target/release
FFI_LIBRARY = $(FFI_FOLDER)/libpapir_ffi.$(if $(filter darwin%,$(JNA)),dylib,so)
# The generator has the version of the library that it reads.
UNIFFI := $(shell sed -n 's/^uniffi = .*version = "\([0-9.]*\)".*/\1/p' Cargo.toml)
BINDINGS = $(TOOLS)/uniffi-$(UNIFFI)/bin/uniffi-bindgen generate --library $(FFI_LIBRARY) --no-format
MAVEN := mvn -q -B -f crates/ffi/kotlin/pom.xml

bindings: bindings-tools ## The Kotlin and Swift sources of papir-ffi, in target/kotlin/sources and target/swift.
	$(FFI_BUILD)
	@rm -rf $(KOTLIN)/sources $(KOTLIN)/resources target/swift && mkdir -p $(KOTLIN)/resources/$(JNA)
	@cp $(FFI_LIBRARY) $(KOTLIN)/resources/$(JNA)
	$(BINDINGS) --language kotlin --out-dir $(KOTLIN)/sources
	$(BINDINGS) --language swift --out-dir target/swift

kotlin: kotlin-tools bindings ## The JAR for Kotlin on this machine's JVM, in target/kotlin/build.
	$(MAVEN) package -DskipTests

kotlin-test: kotlin-tools debug-program ## Lookups from Kotlin on the JVM.
	$(MAKE) bindings FFI_BUILD=true FFI_FOLDER=target/debug/deps
	PAPIR=$(CURDIR)/target/debug/papir $(MAVEN) test && cat $(KOTLIN)/build/surefire-reports/*.txt

bindings-tools: tools
	@test -x $(TOOLS)/uniffi-$(UNIFFI)/bin/uniffi-bindgen || $(CARGO) install --locked --quiet --no-default-features \
	  --features cli,cargo-metadata --version $(UNIFFI) --root $(TOOLS)/uniffi-$(UNIFFI) uniffi \
	  || { echo "uniffi-bindgen is missing: install it (cargo install --locked --features cli uniffi)" >&2; exit 1; }

kotlin-tools:
	@command -v mvn >/dev/null || { $(APT_INSTALL) maven default-jdk-headless >/dev/null 2>&1; } || { \
	  echo "Kotlin needs a JDK 17 or later and Maven: apt-get install default-jdk-headless maven" >&2; exit 1; }

# Both stay up until they are ended.
DEMO := target/demo
DEMO_PASSWORDS := $(DEMO)/common-passwords.papir

demo-page: page demo-passwords ## A page that looks up common passwords on this machine.
	target/release/papir serve $(DEMO_PASSWORDS) --page=$(PAGE)

demo-form: js demo-passwords ## A form that warns of leaked passwords on this machine.
	@mkdir -p $(DEMO)/form/papir
	@cp examples/breached-form/*.{html,css,js} $(DEMO)/form && cp $(JS_DIST)/*.js $(JS_DIST)/*.wasm $(DEMO)/form/papir
	target/release/papir serve $(DEMO_PASSWORDS) --page=$(DEMO)/form

demo-passwords:
	$(CARGO) build --locked --release --quiet -p papir-cli --no-default-features
	@mkdir -p $(DEMO)
	target/release/papir build demo/data/common-passwords.csv --key password --value rank --out $(DEMO_PASSWORDS)

js-tools: tools
	@$(WASM_TARGET) || { echo "the npm package needs $(WASM): rustup target add $(WASM)" >&2; exit 1; }

js-test-tools: js-tools
	@missing=; \
	node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' 2>/dev/null \
	  || missing="$$missing Node.js 20 or later"; \
	cmp -s js/tests/package-lock.json js/tests/node_modules/.made-for 2>/dev/null \
	  || { cd js/tests && npm ci --no-audit --no-fund && cp package-lock.json node_modules/.made-for; } >/dev/null 2>&1 \
	  || missing="$$missing npm and its registry (playwright-core, axe-core, typescript)"; \
	command -v chromium >/dev/null || { $(APT_INSTALL) chromium >/dev/null 2>&1; } \
	  || missing="$$missing Chromium (apt-get install chromium)"; \
	command -v openssl >/dev/null || { $(APT_INSTALL) openssl >/dev/null 2>&1; } || missing="$$missing openssl"; \
	test -z "$$missing" || { echo "the tests of the npm package need, and do not find:$$missing" >&2; exit 1; }

audit: ## Dependencies: known vulnerabilities, licences, sources, duplicate versions (cargo-deny).
	@$(CARGO) deny --version >/dev/null 2>&1 || $(CARGO) install --locked --quiet cargo-deny \
	  || { echo "cargo-deny is missing: install it (cargo install --locked cargo-deny)" >&2; exit 1; }
	$(CARGO) deny --log-level error check bans licenses sources
	@$(CARGO) deny --log-level error check advisories \
	  || { echo "no advisories checked: their database could not be fetched, or the report above names one" >&2; exit 1; }

# What operators deploy is checked with their own tools, which the other tests do without.
deploy-check: alerts-check unit-check chart-check image-check ## The alerts, the unit, the chart and the image.

TOOLS := $(CURDIR)/target/tools
PROMTOOL = $(shell command -v promtool || echo $(TOOLS)/prometheus/usr/bin/promtool)
HELM = $(TOOLS)/helm
HELM_VERSION := v3.22.0
KUBERNETES_VALIDATE := kubernetes-validate==1.37.0
MATURIN := maturin==1.16.0

alerts-check: alerts-tools
	$(PROMTOOL) check rules deploy/prometheus/alerts.yml
	$(PROMTOOL) test rules deploy/prometheus/alerts_test.yml

# `verify` looks for the program of the unit, so a copy names one that exists.
unit-check:
	@mkdir -p target/unit-check
	@sed 's#/usr/local/bin/papir#/bin/true#' deploy/papir.service > target/unit-check/papir.service
	@set -o pipefail; if command -v systemd-analyze >/dev/null; then \
	  systemd-analyze verify --man=no target/unit-check/papir.service \
	  && systemd-analyze security --offline=true --threshold=20 target/unit-check/papir.service | tail -1; \
	else echo "papir.service is not checked: systemd-analyze is missing" >&2; fi

chart-check: chart-tools alerts-tools debug-program
	$(TOOLS)/kubernetes/bin/python tools/chart_check.py $(HELM) $(PROMTOOL) target/debug/papir

image-check: debug-program page ## The final stage of deploy/Dockerfile, in a folder made by debootstrap.
	@command -v debootstrap >/dev/null || { $(APT_INSTALL) debootstrap >/dev/null 2>&1; } || true
	python3 tools/image_check.py target/debug/papir

# The program as the tests build it. For a part of the tests cargo would choose other features of the dependencies,
# and build everything a second time.
debug-program:
	$(CARGO) test --locked --workspace --no-run

# Of an earlier rehearsal with the same version, cargo would take the packages, and what it built of them.
REHEARSAL := target/rehearsal
publish-dry-run:
	@for kept in src cache; do rm -rf "$${CARGO_HOME:-$$HOME/.cargo}"/registry/$$kept/-*/papir-*; done
	@rm -rf $(REHEARSAL)/debug/.fingerprint/papir-*
	$(CARGO) publish --dry-run --workspace --locked --allow-dirty --target-dir $(REHEARSAL)

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

# `make site PAPIR_REPOSITORY=https://github.com/someone/papir` links to source files there.
export PAPIR_REPOSITORY
site: ## The documentation as a website, in target/site: open target/site/index.html.
	@python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null \
	  || { echo "the site needs Python 3.10 or later with venv (apt-get install python3-venv)" >&2; exit 1; }
	@cmp -s docs/requirements.txt $(TOOLS)/site/.made-for \
	  || { rm -rf $(TOOLS)/site && python3 -m venv $(TOOLS)/site \
	       && $(TOOLS)/site/bin/pip install -q --disable-pip-version-check -r docs/requirements.txt \
	       && cp docs/requirements.txt $(TOOLS)/site/.made-for; } \
	  || { echo "the site needs the packages of docs/requirements.txt from PyPI" >&2; exit 1; }
	@NO_MKDOCS_2_WARNING=1 $(TOOLS)/site/bin/mkdocs build --quiet --strict

# Installs what is missing where it may; otherwise names all of it in one line.
tools:
	@missing=; \
	for tool in $(CARGO) git cc; do command -v $$tool >/dev/null || missing="$$missing $$tool"; done; \
	test -z "$$missing" || { echo "papir needs, and does not find:$$missing" >&2; exit 1; }

APT_INSTALL := [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -y -q --no-install-recommends

# Only the program, and no service as in the whole package.
alerts-tools:
	@test -x "$(PROMTOOL)" \
	  || { mkdir -p $(TOOLS)/prometheus && cd $(TOOLS)/prometheus && { apt-get download prometheus || { apt-get update && apt-get download prometheus; }; } \
	       && dpkg -x prometheus_*.deb . ; } >/dev/null 2>&1 \
	  || { echo "promtool is missing: install Prometheus" >&2; exit 1; }

chart-tools:
	@missing=; \
	test -x $(HELM) || GOFLAGS=-mod=mod GOBIN=$(TOOLS) go install helm.sh/helm/v3/cmd/helm@$(HELM_VERSION) 2>/dev/null \
	  || missing="$$missing helm (or Go, which builds it)"; \
	test -x $(TOOLS)/kubernetes/bin/kubernetes-validate \
	  || { python3 -m venv $(TOOLS)/kubernetes && $(TOOLS)/kubernetes/bin/pip install -q $(KUBERNETES_VALIDATE); } >/dev/null 2>&1 \
	  || missing="$$missing kubernetes-validate (pip install $(KUBERNETES_VALIDATE))"; \
	command -v openssl >/dev/null || missing="$$missing openssl"; \
	test -z "$$missing" || { echo "the chart's check needs, and does not find:$$missing" >&2; exit 1; }

long-tools: test-tools
	@command -v nginx >/dev/null || { $(APT_INSTALL) nginx-light >/dev/null 2>&1; } \
	  || { echo "the long tests need nginx: install it (apt-get install nginx-light)" >&2; exit 1; }

arm-tools: tools
	@$(ARM_TARGET) || { echo "the tests for aarch64 need $(ARM): rustup target add $(ARM)" >&2; exit 1; }
	@command -v qemu-aarch64 >/dev/null || { $(APT_INSTALL) qemu-user >/dev/null 2>&1; } \
	  || { echo "the tests for aarch64 need qemu-aarch64: install it (apt-get install qemu-user)" >&2; exit 1; }

PYTHON_WORKS = $${PAPIR_PYTHON:-python3} -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'

test-tools: tools
	@missing=; \
	$(CARGO) fmt --version >/dev/null 2>&1 || rustup component add rustfmt >/dev/null 2>&1 \
	  || missing="$$missing rustfmt (rustup component add rustfmt)"; \
	$(CARGO) clippy --version >/dev/null 2>&1 || rustup component add clippy >/dev/null 2>&1 \
	  || missing="$$missing clippy (rustup component add clippy)"; \
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null \
	  || { $(APT_INSTALL) postgresql >/dev/null 2>&1; } || missing="$$missing PostgreSQL (apt-get install postgresql)"; \
	$(PYTHON_WORKS) 2>/dev/null || { $(APT_INSTALL) python3-venv >/dev/null 2>&1 && $(PYTHON_WORKS) 2>/dev/null; } \
	  || missing="$$missing Python 3.11 or later with venv (apt-get install python3-venv, or set PAPIR_PYTHON)"; \
	command -v curl >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get install -y -q curl >/dev/null 2>&1; } \
	  || missing="$$missing curl"; \
	test -z "$$missing" || { echo "the tests need, and do not find:$$missing" >&2; exit 1; }
