# Verbs in front of CMake. Every verb first makes sure that what it needs is installed.
PREFIX  ?= /usr/local
DESTDIR ?=
ARGS    ?=
SEEDS   ?= 10000
FUZZ_SECONDS ?= 600
MINUTES ?= 5
PEERS   ?=

.DEFAULT_GOAL := help
.PHONY: help setup build run test test-full sim chaos mutants fuzz bench bench-growth lint install \
        format clean

help: ## List the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## Install missing Debian packages (all of them, also those of the tests)
	@tools/setup full

build: ## Build the release: build/release/ff and libflowfabric
	@tools/setup build
	@cmake --preset release >/dev/null
	@cmake --build --preset release

run: build ## Build and show the engine at work on a small SQLite store
	@exec tools/run-demo

test: ## Run all rings of tests (below 20 minutes on 2 cores)
	@tools/setup full
	@tests/run $(ARGS)

test-full: ## Run all rings at full size; takes much longer
	@tools/setup full
	@tests/run --full $(ARGS)

sim: ## Simulate SEEDS worlds, optimised and with assertions (ARGS: see tests/sim/README.md)
	@tools/setup full
	@cmake --preset release -B build/sim -DFF_TESTS=ON >/dev/null
	@cmake --build build/sim --target ff-sim
	@build/sim/tests/ff-sim --seeds $(SEEDS) $(ARGS)

chaos: ## Kill Postgres, servers and workers for MINUTES (default 5) and look what is left
	@tools/setup full
	@cmake --preset release -B build/sim -DFF_TESTS=ON >/dev/null
	@cmake --build build/sim --target ff
	@tests/chaos/run --ff build/sim/ff --minutes $(MINUTES) $(ARGS)

mutants: ## Build in deliberate defects; the tests must find each (ARGS: names)
	@tools/setup full
	@tests/mutants/run $(ARGS)

fuzz: ## Fuzz every target for FUZZ_SECONDS (default 600)
	@tools/setup full
	@FF_FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run --only fuzz

bench: build ## Measure the release on SQLite and a private Postgres (PEERS=1: beside others, too)
	@tools/setup full
	@tools/bench $(if $(PEERS),--peers) $(or $(ARGS),--write-docs)

bench-growth: build ## The same with up to ten million executions lying in the store; takes long
	@tools/setup full
	@tools/bench --growth $(or $(ARGS),--write-docs)

lint: ## Only the first ring: all warnings, layers, sizes, format, exported symbols
	@tools/setup full
	@tests/run --only lint

install: build ## Install below DESTDIR and PREFIX (default /usr/local)
	@DESTDIR='$(DESTDIR)' cmake --install build/release --prefix '$(PREFIX)'

format: ## Let clang-format rewrite all C files
	@tools/setup full
	@tools/format

clean: ## Remove the build directory
	@rm -rf build
