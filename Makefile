# What a person or a runner does with papir. Needs a stable Rust toolchain, git and make.
CARGO ?= cargo
SHELL := /bin/bash

.DEFAULT_GOAL := help
.PHONY: help demo demo-ray ray-environment test rust-test test-flaky test-long long-tests soak soak-recorded \
  soak-ray check lint audit bench papers-record bench-relay bench-tokens docs fuzz msrv publish-dry-run \
  js page js-modules js-test js-test-long demo-page demo-form demo-passwords bindings kotlin kotlin-test \
  debug-program arm-test interop go-test python-test wheel wheels wheel-lookup notebooks site evidence \
  constant-time deploy-check alerts-check unit-check chart-check image-check proxy-check \
  dist dist-programs dist-sboms dist-wheels dist-npm dist-kotlin dist-natives dist-tree dist-tarballs \
  dist-packages dist-image dist-sums dist-check dist-check-kotlin dist-check-npm dist-twice wheel-windows \
  examples-test

# What the targets read and run is in this folder, whatever a person's settings of cargo say.
export CARGO_TARGET_DIR := $(CURDIR)/target

# Tools of this checkout. `tools/setup` finds what a target needs, and installs what it may.
TOOLS := target/tools
SETUP := @tools/setup

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

# The demo needs neither object stores nor Parquet nor SQLite, which are half of a full build.
demo: ## Build, serve and query a database of 30,000 real keys on this machine.
	$(SETUP) --check build
	$(CARGO) run --locked --release --quiet -p papir-cli --no-default-features -- \
	  demo --data demo/data/common-passwords.csv

# The environment of Ray, with the wheel of this checkout, and the program.
ray-environment: wheel
	$(SETUP) ray
	$(TOOLS)/ray/bin/pip install -q --disable-pip-version-check --force-reinstall --no-deps target/wheels/pypapir-*.whl
	$(TOOLS)/ray/bin/pip install -q --disable-pip-version-check 'pypapir[ray]' --find-links target/wheels
	$(CARGO) build --locked --release --quiet -p papir-cli --no-default-features

demo-ray: ray-environment ## Four shards of a database on this machine, behind Ray Serve; one is killed.
	RAY_USAGE_STATS_ENABLED=0 $(TOOLS)/ray/bin/python python/demo/ray_demo.py target/release/papir demo/data/common-passwords.csv

# Minutes of the faults, at most 60.
RAY_MINUTES ?= 60
soak-ray: ray-environment ## Three nodes of Ray in network namespaces: cut off, slowed, killed under lookups; as root.
	RAY_USAGE_STATS_ENABLED=0 $(TOOLS)/ray/bin/python tools/ray_soak.py --minutes $(RAY_MINUTES) target/release/papir

# Many tests wait for a process, a service or the disk, so there are more of them than processors. Those of
# the Python package and in the browser wait most, and run beside the others.
TEST_THREADS := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))

test: ## Everything that must hold before a commit: lint, then the tests of every crate.
	$(SETUP) build lint test js-test
	$(MAKE) lint
	$(MAKE) -j3 rust-test python-test js-test

rust-test: debug-program
	RUST_TEST_THREADS=$(TEST_THREADS) $(CARGO) test --locked --workspace -- --skip the_package

# Runs of all tests, each under other conditions (tools/flaky.py --list).
N ?= 20
test-flaky: ## All tests N times under conditions of strangers: few files, one core, no HOME; before a release.
	$(SETUP) build test js-test flaky
	python3 tools/flaky.py --runs $(N)

# What is quick stands first, so that an error shows before the hour of the soaks and the other tests.
test-long: ## All tests, also those that take minutes; the oldest Rust; a rehearsal of publishing.
	$(SETUP) build lint test long js-test kotlin go arm alerts chart image
	$(MAKE) lint msrv
	$(MAKE) site publish-dry-run
	$(MAKE) js-test-long PAPIR_SITE=$(CURDIR)/target/site
	$(MAKE) kotlin-test go-test arm-test deploy-check examples-test
	$(CARGO) test --locked -p papir-store --no-default-features -- --include-ignored
	$(MAKE) -j2 soak long-tests
	$(CARGO) test --locked --workspace timed:: -- --include-ignored --test-threads=1
	python3 tools/capacity.py --check --papir target/debug/papir

# The soaks take ten minutes each whatever the machine, so the other tests run beside them. With one test
# program named, cargo would build everything a second time.
SOAK := ten_minutes_of_

soak: debug-program ## Ten minutes of one service under everything at once, then ten of three with faults.
	$(SETUP) build test long
	$(CARGO) test --locked --workspace --tests $(SOAK) -- --include-ignored

# Minutes of the recorded soak, at most 150. PAPIR_SOAK_SEED repeats the faults of an earlier run.
MINUTES ?= 150
soak-recorded: debug-program ## Three services with faults for MINUTES, recorded in bench/records/soak.jsonl.
	$(SETUP) build test long
	PAPIR_SOAK_MINUTES=$(MINUTES) $(CARGO) test --locked --workspace --tests \
	  a_recorded_soak -- --include-ignored --nocapture

long-tests: debug-program
	RUST_TEST_THREADS=$(TEST_THREADS) $(CARGO) test --locked --workspace --no-fail-fast -- \
	  --include-ignored --skip timed:: --skip $(SOAK)

# The oldest Rust release that papir supports, as in Cargo.toml.
MSRV := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

msrv: ## Check the workspace with the oldest supported Rust.
	$(SETUP) msrv
	rustup run $(MSRV) cargo check --locked --workspace --target-dir target/msrv

# CRATE=schemes TEST=zip:: runs the unit tests of papir-schemes whose names contain `zip::`.
CRATE ?= schemes
TEST ?=
check: ## The unit tests of one crate after an edit: make check CRATE=schemes TEST=zip::
	$(CARGO) test --locked -p papir-$(CRATE) --lib -- $(TEST)

# With papir-features, the lean build and the documentation share the dependencies of the other checks.
lint: ## Formatting, clippy, documentation, the lean builds, the client on other targets.
	$(SETUP) --check build lint js
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked -p papir-cli -p papir-features --no-default-features -- -D warnings
	$(CARGO) check --locked -p papir-client -p papir-features --no-default-features
	RUSTDOCFLAGS=-Dwarnings $(CARGO) doc --locked --workspace --no-deps --quiet
	@for features in all relay tokens; do RUSTFLAGS='$(WASM_RANDOM)' \
	  $(CARGO) clippy --locked --target $(WASM) -p papir-js --features $$features -- -D warnings || exit 1; done
	@if rustup target list --installed 2>/dev/null | grep -q '^aarch64-unknown-linux-gnu$$'; then \
	  $(CARGO) check --locked --quiet --target aarch64-unknown-linux-gnu -p papir-client --no-default-features; fi
	@if tools/setup --check arm-target 2>/dev/null; then \
	  $(CARGO) clippy --locked --target $(ARM) -p papir-kernels --all-targets -- -D warnings; \
	else echo "kernels for aarch64 are not checked: rustup target add $(ARM)" >&2; fi

# Kernels for aarch64 are checked everywhere. Their tests run in an emulator, with Rust's own linker.
ARM := aarch64-unknown-linux-musl
ARM_ENVIRONMENT := CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld \
  CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_RUNNER=qemu-aarch64

arm-test: ## The kernels' tests for aarch64, in an emulator (qemu-user).
	$(SETUP) build arm
	$(ARM_ENVIRONMENT) $(CARGO) test --locked --release --target $(ARM) -p papir-kernels --lib --test it

interop: debug-program ## Relays and private tokens with clients and an issuer of other authors, in Go and TypeScript.
	$(SETUP) build interop
	cd tools/interop/go && go build -o $(CURDIR)/target/interop/ohttp .
	python3 tools/interop/oblivious.py target/debug/papir target/interop/ohttp
	python3 tools/interop/privacy_pass.py target/debug/papir

# The race detector needs a C compiler; the client itself needs none.
go-test: debug-program ## go vet and the tests of the Go client, with the race detector.
	$(SETUP) build go
	cd go && go vet ./... && PAPIR_PROGRAM="$(CURDIR)/target/debug/papir" go test -race ./...

# A mutant is a model with a mistake. It must be refuted, or the proof of its model means nothing.
evidence: ## Bounds of the arithmetic, proved by two SMT solvers; mutants of the models must fail.
	$(SETUP) evidence
	python3 -B reference/smt/vectors.py --check
	$(TOOLS)/evidence/bin/python -B reference/smt/prove.py
	$(TOOLS)/evidence/bin/python -B reference/smt/prove.py --mutants

# Valgrind has no AVX-512, AMX or NEON. Paths are those of the test's package.
CONSTANT_TIME_BACKENDS := portable avx2
MEMCHECK := valgrind --quiet --error-limit=no --num-callers=30 --leak-check=no \
  --suppressions=tests/constant_time/exceptions.supp

constant-time: ## No branch and no address of a client depends on a secret: all private schemes in valgrind.
	$(SETUP) build constant-time
	@set -e; for backend in $(CONSTANT_TIME_BACKENDS); do echo "backend $$backend"; \
	  PAPIR_MEMCHECK=required PAPIR_BACKEND=$$backend CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER='$(MEMCHECK)' \
	  $(CARGO) test --locked --profile constant-time -p papir-schemes --test constant_time -- --test-threads=1; done

python-test: debug-program ## The tests of the Python package, in an environment of their own.
	$(SETUP) build test
	$(CARGO) test --locked --workspace --tests the_package

wheel: ## A wheel of the Python package for this machine, in target/wheels.
	$(SETUP) build wheel
	$(TOOLS)/maturin/bin/maturin build --release --locked --manifest-path python/Cargo.toml --out target/wheels

# The wheels that a release promises (docs/python.md). Zig links against the oldest glibc of each tag, or musl,
# whatever this machine has, and keeps what it builds for that in target/zig.
WHEELS := target/dist/wheels
WHEEL_TAGS := manylinux_2_17_x86_64 musllinux_1_2_x86_64
WHEEL_PROFILE := dist
WHEEL_TOOLS := $(CURDIR)/$(TOOLS)/wheels/bin
# More options of maturin, as `make dist` gives them.
WHEEL_OPTIONS :=
ZIG = PATH="$(WHEEL_TOOLS):$$PATH" CARGO_ZIGBUILD_PYTHON_PATH="$(WHEEL_TOOLS)/python" \
  CARGO_ZIGBUILD_CACHE_DIR="$(CURDIR)/target/zig" ZIG_GLOBAL_CACHE_DIR="$(CURDIR)/target/zig/cache"
WHEEL_BUILD = $(ZIG) "$(WHEEL_TOOLS)/maturin" build --zig --locked --profile $(WHEEL_PROFILE) \
  --manifest-path python/Cargo.toml --out $(WHEELS) $(WHEEL_OPTIONS)

wheels: ## The wheels of a release, for old systems too, in target/dist/wheels; checks their tags.
	$(SETUP) build wheels
	@rm -rf $(WHEELS)
	$(WHEEL_BUILD) --target x86_64-unknown-linux-gnu --compatibility manylinux_2_17
	$(WHEEL_BUILD) --target x86_64-unknown-linux-musl --compatibility musllinux_1_2
	python3 tools/wheel_tags.py $(WHEELS) $(WHEEL_TAGS)
	@$(MAKE) --no-print-directory wheel-lookup

# No part of a release: nothing here can run it.
wheel-windows: WHEELS := target/wheels
wheel-windows: ## A wheel for Windows on x86-64, by zig, in target/wheels; not yet run.
	$(SETUP) build wheel-windows
	$(WHEEL_BUILD) --target x86_64-pc-windows-gnu

# The wheel for glibc, in a folder of its own. The one for musl needs a Python that is linked against it.
WHEEL_INSTALLED := target/wheel-lookup
wheel-lookup:
	@rm -rf $(WHEEL_INSTALLED)
	"$(WHEEL_TOOLS)/python" -m pip install -q --disable-pip-version-check --no-deps --target $(WHEEL_INSTALLED) \
	  $(WHEELS)/pypapir-*-manylinux_*.whl
	PYTHONPATH=$(WHEEL_INSTALLED) "$(WHEEL_TOOLS)/python" tools/wheel_lookup.py

notebooks: wheel ## Run the notebooks, and store their output in them.
	$(SETUP) notebook
	$(TOOLS)/notebooks/bin/pip install -q --disable-pip-version-check --force-reinstall --no-deps target/wheels/pypapir-*.whl
	$(TOOLS)/notebooks/bin/pip install -q --disable-pip-version-check 'pypapir[arrow,frames]' --find-links target/wheels
	$(TOOLS)/notebooks/bin/python tools/run_notebooks.py python/notebooks/*.ipynb

# Browsers run the client in WebAssembly, with vectors where they have them, and fetch the schemes of few
# services only when needed.
WASM := wasm32-unknown-unknown
# Ciphers draw their random numbers from the page, by a function of papir-js. The crate `getrandom` takes
# its choice as a flag only.
WASM_RANDOM := --cfg getrandom_backend="custom"
JS_PROFILE := wasm
JS_VECTORS := none simd
JS_DIST := js/dist
PAGE := target/page

js: ## The npm package, in js/dist.
	$(SETUP) build js
	@rm -rf $(JS_DIST) && mkdir -p $(JS_DIST)
	@cp js/lib/* js/package.json js/README.md LICENSE-APACHE LICENSE-MIT $(JS_DIST)
	@set -e; for vectors in $(JS_VECTORS); do for content in short all relay tokens; do \
	  simd=; test $$vectors = none || simd=-simd; name=; test $$content = short || name=-$$content; \
	  RUSTFLAGS='$(WASM_RANDOM)'"$${simd:+ -C target-feature=+simd128} $${PAPIR_REMAP-}" $(CARGO) build --locked --quiet \
	    -p papir-js --target $(WASM) --profile $(JS_PROFILE) $${name:+--features $$content}; \
	  cp target/$(WASM)/$(JS_PROFILE:dev=debug)/papir_js.wasm $(JS_DIST)/papir$$name$$simd.wasm; \
	done; done

page: js ## The page of `papir serve --page`, in target/page.
	@rm -rf $(PAGE) && mkdir -p $(PAGE)/papir
	@cp js/page/* $(PAGE) && cp $(JS_DIST)/*.js $(JS_DIST)/*.wasm $(PAGE)/papir
	@find $(PAGE) -type f -exec gzip -9kn {} +

# The modules that tests need every time. They share what other tests have built.
JS_QUICK := JS_PROFILE=dev JS_VECTORS=simd JS_DIST=target/js/dist PAGE=target/js/page

js-modules: debug-program
	$(SETUP) build js-test
	$(MAKE) page $(JS_QUICK)

js-test: js-modules ## The tests of the npm package and the page, in Node and Chromium.
	PAPIR=target/debug/papir PAPIR_JS=target/js/dist PAPIR_PAGE=target/js/page node --test js/tests/*.test.mjs

js-test-long: debug-program page ## The same with all modules, as they are released, and their lengths.
	$(SETUP) build js-test
	PAPIR=target/debug/papir PAPIR_RELEASED=1 node --test js/tests/*.test.mjs

# Applications outside of the workspace, each with a lockfile of its own.
EXAMPLES := papir-deps papir-dns
EXAMPLES_BUILD := --locked --quiet --target-dir $(CURDIR)/target/examples

examples-test: debug-program ## Formatting, clippy and tests of the applications in examples.
	$(SETUP) build lint
	@set -e; for example in $(EXAMPLES); do cd $(CURDIR)/examples/$$example; \
	  $(CARGO) fmt --check; \
	  $(CARGO) clippy $(EXAMPLES_BUILD) --all-targets -- -D warnings; \
	  PAPIR="$(CURDIR)/target/debug/papir" $(CARGO) test $(EXAMPLES_BUILD); done

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

bindings: ## The Kotlin and Swift sources of papir-ffi, in target/kotlin/sources and target/swift.
	$(SETUP) build bindings
	$(FFI_BUILD)
	@rm -rf $(KOTLIN)/sources $(KOTLIN)/resources target/swift && mkdir -p $(KOTLIN)/resources/$(JNA)
	@cp $(FFI_LIBRARY) $(KOTLIN)/resources/$(JNA)
	$(BINDINGS) --language kotlin --out-dir $(KOTLIN)/sources
	$(BINDINGS) --language swift --out-dir target/swift

kotlin: bindings ## The JAR for Kotlin on this machine's JVM, in target/kotlin/build.
	$(SETUP) kotlin
	$(MAVEN) package -DskipTests

kotlin-test: debug-program ## Lookups from Kotlin on the JVM.
	$(SETUP) kotlin
	$(MAKE) bindings FFI_BUILD=true FFI_FOLDER=target/debug/deps
	PAPIR="$(CURDIR)/target/debug/papir" $(MAVEN) test && cat $(KOTLIN)/build/surefire-reports/*.txt

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

audit: ## Dependencies: known vulnerabilities, licences, sources, duplicate versions (cargo-deny).
	$(SETUP) audit
	$(CARGO) deny --log-level error check bans licenses sources
	@$(CARGO) deny --log-level error check advisories \
	  || { echo "no advisories checked: their database could not be fetched, or the report above names one" >&2; exit 1; }

# What operators deploy is checked with their own tools, which the other tests do without.
deploy-check: alerts-check unit-check chart-check image-check ## The alerts, the unit, the chart and the image.

PROMTOOL = $(shell command -v promtool || echo $(TOOLS)/prometheus/usr/bin/promtool)
HELM = $(TOOLS)/helm

alerts-check:
	$(SETUP) alerts
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

chart-check: debug-program
	$(SETUP) chart alerts
	$(TOOLS)/kubernetes/bin/python tools/chart_check.py $(HELM) $(PROMTOOL) target/debug/papir

image-check: debug-program page ## The final stage of deploy/Dockerfile, in a folder made by debootstrap.
	$(SETUP) image
	python3 tools/image_check.py target/debug/papir

proxy-check: debug-program ## Long answers and keys through nginx, HAProxy and Caddy, with deploy/proxies.
	$(SETUP) proxies
	python3 tools/proxy_check.py target/debug/papir

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

# A release (RELEASING.md): each step is a script of tools/dist, and can be run alone after those before it.
DIST := target/dist
VERSION := $(shell sed -n '/^\[workspace.package\]/,/^version/s/^version = "\(.*\)"/\1/p' Cargo.toml)
REPRODUCIBLE := tools/dist/reproducible
ZIGBUILD = $(REPRODUCIBLE) env $(ZIG) cargo-zigbuild zigbuild --locked --profile dist
SBOM = $(REPRODUCIBLE) python3 tools/dist/sbom.py
LICENCES = $(REPRODUCIBLE) python3 tools/dist/licences.py
JS_FEATURES := all,relay,tokens
WHEEL_SBOM := target/sbom/pypapir.cdx.json

dist: ## Everything that a release uploads, in target/dist; publishes nothing.
	$(SETUP) build dist js bindings kotlin
	@rm -rf $(DIST) target/stage && mkdir -p $(DIST)
	$(MAKE) dist-programs
	$(MAKE) dist-sboms
	$(MAKE) dist-wheels
	$(MAKE) dist-npm
	$(MAKE) dist-kotlin
	$(MAKE) dist-tree
	$(MAKE) dist-tarballs
	$(MAKE) dist-packages
	$(MAKE) dist-image
	$(MAKE) dist-sums

dist-programs:
	$(SETUP) build dist
	$(ZIGBUILD) -p papir-cli --target x86_64-unknown-linux-musl
	$(ZIGBUILD) -p papir-cli --target aarch64-unknown-linux-musl

dist-sboms:
	$(SBOM) papir-cli x86_64-unknown-linux-musl $(DIST)/papir-$(VERSION)-x86_64-unknown-linux-musl.cdx.json
	$(SBOM) papir-cli aarch64-unknown-linux-musl $(DIST)/papir-$(VERSION)-aarch64-unknown-linux-musl.cdx.json
	$(SBOM) papir-js $(WASM) $(DIST)/papir-$(VERSION)-npm.cdx.json $(JS_FEATURES)
	$(SBOM) papir-ffi x86_64-unknown-linux-gnu $(DIST)/papir-$(VERSION)-kotlin.cdx.json
	$(SBOM) papir-python x86_64-unknown-linux-gnu $(WHEEL_SBOM)

dist-wheels:
	$(REPRODUCIBLE) $(MAKE) wheels WHEEL_OPTIONS='--sbom-include="$(CURDIR)/$(WHEEL_SBOM)"'
	$(REPRODUCIBLE) "$(WHEEL_TOOLS)/maturin" sdist --manifest-path python/Cargo.toml --out $(WHEELS)

dist-npm:
	$(REPRODUCIBLE) $(MAKE) page
	$(LICENCES) papir-js $(WASM) $(JS_DIST)/THIRD-PARTY.txt $(JS_FEATURES)
	@mkdir -p $(DIST) && chmod -R u=rwX,go=rX $(JS_DIST)
	npm pack --silent --pack-destination $(DIST) ./$(JS_DIST)

# The bindings do not depend on the machine. They are read from a library with symbols, which those of a release
# lack.
dist-kotlin: dist-natives
	$(MAKE) bindings FFI_BUILD='$(CARGO) build --locked --quiet -p papir-ffi' FFI_FOLDER=target/debug
	@rm -rf $(KOTLIN)/build
	$(REPRODUCIBLE) python3 tools/dist/natives.py $(KOTLIN)/resources
	$(LICENCES) papir-ffi x86_64-unknown-linux-gnu $(KOTLIN)/resources/META-INF/papir/THIRD-PARTY.txt
	$(REPRODUCIBLE) sh -c '$(MAVEN) package -DskipTests -Dproject.build.outputTimestamp=$$SOURCE_DATE_EPOCH'
	@mkdir -p $(DIST)
	cp $(KOTLIN)/build/papir-$(VERSION).jar $(DIST)

# For the glibc of the wheels.
dist-natives:
	$(SETUP) build dist
	$(ZIGBUILD) -p papir-ffi --target x86_64-unknown-linux-gnu.2.17
	$(ZIGBUILD) -p papir-ffi --target aarch64-unknown-linux-gnu.2.17

dist-tree:
	$(REPRODUCIBLE) python3 tools/dist/tree.py

dist-tarballs:
	$(REPRODUCIBLE) python3 tools/dist/tarball.py

dist-packages:
	$(REPRODUCIBLE) python3 tools/dist/deb.py
	$(REPRODUCIBLE) python3 tools/dist/rpm.py

dist-image:
	$(REPRODUCIBLE) python3 tools/dist/image.py

dist-sums:
	python3 tools/dist/sums.py $(DIST)

dist-check: ## Checks what `make dist` has made: as root on Debian, in emulators and new systems.
	$(SETUP) build dist-check kotlin wheels
	python3 tools/dist/sums.py --check $(DIST)
	python3 tools/dist/check_sizes.py
	python3 tools/dist/check_programs.py
	python3 tools/dist/check_debs.py
	python3 tools/dist/check_rpms.py
	python3 tools/dist/check_image.py
	python3 tools/dist/check_wheels.py $(TOOLS)/auditwheel/bin/auditwheel
	python3 tools/dist/check_sdist.py
	python3 tools/dist/check_jar.py
	$(MAKE) dist-check-kotlin dist-check-npm

# The tests of the clients, with the released program as their service. On x86-64 only.
RELEASED := target/x86_64-unknown-linux-musl/dist/papir

# With the native libraries that `make dist-kotlin` has left for the JAR.
dist-check-kotlin:
	$(SETUP) kotlin
	PAPIR="$(CURDIR)/$(RELEASED)" $(MAVEN) test

dist-check-npm:
	$(SETUP) js-test
	@rm -rf target/npm && mkdir -p target/npm
	tar -xzf $(DIST)/papir-$(VERSION).tgz -C target/npm
	PAPIR=$(RELEASED) PAPIR_JS=target/npm/package PAPIR_RELEASED=1 node --test js/tests/*.test.mjs

dist-twice: ## Builds the release again in a clone with another path, and compares both.
	tools/dist/twice

bench: ## Measure InsPIRe at 256 MiB; more with `papir bench --help`.
	$(CARGO) run --locked --release --quiet -p papir-cli --no-default-features -- \
	  bench inspire --size 256MiB --record-bytes 64

# The files of a run are in a folder of its first day, which RECORDS names to continue on another one.
MEMORY ?= 24GiB
RECORDS ?= bench/records/$(shell date -u +%F)-tables
papers-record: ## Measure the papers' tables that fit MEMORY=24GiB, one thread, into bench/records; takes hours.
	$(SETUP) --check build
	$(CARGO) run --locked --release --quiet -p papir-papers -- --record $(RECORDS) --memory $(MEMORY)

bench-relay: ## Measure lookups through a relay against direct ones; needs two idle cores.
	$(CARGO) build --locked --release --quiet -p papir-cli --no-default-features --features relay
	python3 tools/relay_bench.py target/release/papir

# The script runs the bench of RSA between its own measurements.
bench-tokens: ## Measure what private tokens cost a service and their issuer; needs two idle cores.
	$(CARGO) build --locked --release --quiet -p papir-cli --no-default-features --features relay
	$(CARGO) bench --locked --quiet -p papir-privacy-pass --bench issue --no-run
	CARGO="$(CARGO)" python3 tools/token_bench.py target/release/papir

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
	$(SETUP) site
	@NO_MKDOCS_2_WARNING=1 $(TOOLS)/site/bin/mkdocs build --quiet --strict
