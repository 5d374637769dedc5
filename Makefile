# Everything a newcomer needs: `make play` to see it, `make test` to check it. Each sets up what it needs and says so.

CARGO ?= cargo
SAMESTEP = $(CARGO) run --quiet --release -p samestep-cli --
# The programs as the tests build them, optimised and with checks of overflow: what one step of `make test` has built no other builds again.
CHECKED = $(CARGO) build --workspace --bins --examples
CHECKED_PROGRAMS = $${CARGO_TARGET_DIR:-target}/debug

.PHONY: help play window demo test setup lint build-tests unit wasm page browser lab-plans doc bench soak fuzz peers physics report audit

help:
	@echo "make play    the games in the browser: see what latency, prediction and correction do"
	@echo "make window  the same in a window of its own"
	@echo "make demo    watch a host and three bots over real UDP through an impaired link"
	@echo "make test    format, lints, all tests (450 seeded worlds among them), the page in a browser, the lab's plans; the minutes of each"
	@echo "make report  run every plan of the lab: lab-out/index.html, RESULTS.md (about ten minutes)"
	@echo "make bench   speed of the bit packer, the protocol, the transports, states and games; allocations"
	@echo "make soak    20,000 seeded worlds of every suite (about an hour)"
	@echo "make fuzz    every fuzz target for a minute (installs cargo-fuzz)"
	@echo "make audit   licences, bans and duplicate versions of the dependencies, and known advisories (installs cargo-deny)"
	@echo "make peers   the same work by other libraries, side by side (large build)"
	@echo "make physics the tests of the example with the Rapier engine (large build)"
	@echo "make wasm    the same replays natively and in WebAssembly"
	@echo "make browser the page played by a script in headless Chromium; pictures in target/browser"
	@echo "make doc     the API documentation"

play:
	@scripts/setup wasm
	@echo "==> building the samestep program (a few minutes the first time)"
	@$(CARGO) build --release -p samestep-cli
	@scripts/page
	@$(SAMESTEP) play

window:
	@scripts/setup window
	@echo "==> building the samestep program and its window (a few minutes the first time)"
	@$(CARGO) build --release -p samestep-cli
	@$(CARGO) build --release -p samestep-arcade
	@$(SAMESTEP) play --native

demo: setup
	@echo "==> building the samestep program (a few minutes the first time)"
	@$(CARGO) build --release -p samestep-cli
	@$(SAMESTEP) demo

test:
	@MAKE="$(MAKE)" scripts/timed setup lint build-tests unit doc wasm page browser lab-plans

setup:
	@scripts/setup

lint:
	@echo "==> format"
	@$(CARGO) fmt --all --check
	@echo "==> lints, warnings are errors"
	@$(CARGO) clippy --workspace --all-targets -- -D warnings
	@echo "==> lints of the protocol without cryptography, as built for browsers"
	@$(CARGO) clippy -p samestep-proto --no-default-features -- -D warnings

build-tests:
	@echo "==> compiling the tests"
	@$(CARGO) test --workspace --no-run

unit:
	@echo "==> tests: units, behaviours, documentation examples, 450 seeded worlds"
	@$(CARGO) test --workspace
	@echo "==> tests of the protocol without encryption, as built for browsers"
	@$(CARGO) test -p samestep-proto --no-default-features --test without_crypto

wasm:
	@scripts/setup wasm
	@$(CHECKED)
	@echo "==> WebAssembly: the same replays natively and in Node"
	@wasm-check/run

page:
	@scripts/setup wasm
	@scripts/page

browser: page
	@scripts/setup browser
	@$(CHECKED)
	@echo "==> browser: every game under every model, sliders, links, replays, in headless Chromium"
	@apps/arcade/browser/run

doc:
	@echo "==> documentation"
	@RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --exclude samestep-arcade --no-deps --quiet

lab-plans:
	@echo "==> lab: the short form of every plan in virtual time, its expectations checked"
	@$(CHECKED)
	@$(CHECKED_PROGRAMS)/samestep lab report --quick --out lab-out/quick

report: setup
	@$(CARGO) build --release -p samestep-cli
	@$(SAMESTEP) lab report --out lab-out --figures README.md --figures GUIDE.md

bench: setup
	@$(CARGO) bench -p samestep-wire -p samestep-matchmaking -p samestep-proto -p samestep-session -p samestep-transport -p samestep-traversal -p samestep-sync -p samestep-evaluation -p samestep-hat-hunters -p samestep-rawrlocks -p samestep-skirmish -p samestep-sublockus
	@$(CARGO) run --release -p samestep-lobby --example load

soak: setup
	@$(SAMESTEP) lab soak --seeds 20000

audit:
	@scripts/audit

fuzz: setup
	@fuzz/run 60

peers: setup
	@cd peers && $(CARGO) run --release -- all

physics: setup
	@cd examples/physics && $(CARGO) test
