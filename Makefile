# The front door. Each target installs what it needs first; `make` alone lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
JOBS := $(shell nproc)
# Tests wait for much of their time, for deaths to be noticed and for deadlines: a few more at once.
TESTS_AT_ONCE := $(shell echo $$(( ($(JOBS) * 3 + 1) / 2 )))
PREFIX ?= /usr/local
BENCHMARKS ?= allreduce partial group tax
BENCH_FLAGS ?=
FUZZ_SECONDS ?= 60
CAMPAIGN_SECONDS ?= 60
SOAK_SECONDS ?= 600
SOURCES = $$(find include src tests bench examples -name '*.h' -o -name '*.cpp' 2>/dev/null)
# ThreadSanitizer of GCC 12 cannot run where the kernel randomises more than 28 bits of addresses.
FIXED_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: help
help: ## List the targets.
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

.PHONY: build
build: ## Build everything into build/release.
	@tools/setup required training
	cmake --preset release
	cmake --build --preset release

.PHONY: data
data: ## Fetch MNIST and Fashion-MNIST into data/ (or SYNCOPATE_DATA) for training.
	@tools/setup training
	@tools/data

.PHONY: demo
demo: data build ## Train with 8 unequal ranks under four strategies, and compare them.
	build/release/bin/syncopate compare --workload fashion -n 8 --imbalance shift:5..40ms --pace off \
	  --strategies sync,eager-solo,eager-majority,wagma

.PHONY: tour
tour: build ## A one-minute tour of partial collectives with 8 ranks.
	build/release/bin/syncopate tour

.PHONY: test
test: peers python build ## Build and run all tests.
	ctest --preset release --parallel $(TESTS_AT_ONCE)

.PHONY: bench
bench: peers build ## Measure against MPI and Gloo; results in build/bench (BENCHMARKS, BENCH_FLAGS).
	@mkdir -p build/bench
	@for name in $(BENCHMARKS); do \
	  build/release/bin/syncopate bench $$name --json build/bench/$$name.json $(BENCH_FLAGS) || exit; \
	done

.PHONY: format
format: developer ## Format all sources in place.
	clang-format -i $(SOURCES)

# Debian's clang cannot read torch's headers as C++20: its files are left out of clang-tidy.
.PHONY: check
check: developer ## Check the format, compile with warnings as errors, run clang-tidy over src.
	clang-format --dry-run -Werror $(SOURCES)
	cmake --preset release -B build/strict -D SYNCOPATE_WARNINGS_ARE_ERRORS=ON
	cmake --build build/strict
	cmake --preset release -B build/check -D CMAKE_DISABLE_FIND_PACKAGE_Torch=ON \
	  -D CMAKE_UNITY_BUILD=OFF
	run-clang-tidy -quiet -p build/check '^$(CURDIR)/(src|bench/suite)/'

.PHONY: sanitize
sanitize: asan tsan ## Run the tests under address, undefined-behaviour and thread sanitizers.

.PHONY: asan tsan
asan tsan:
	@tools/setup required training peers
	$(FIXED_ADDRESSES) cmake --preset $@
	$(FIXED_ADDRESSES) cmake --build --preset $@
	$(FIXED_ADDRESSES) ctest --preset $@ --parallel $(TESTS_AT_ONCE)

.PHONY: fuzz
fuzz: ## Look for inputs that break a reader, for FUZZ_SECONDS (60); hours are welcome.
	@tools/setup required fuzzing
	cmake --preset fuzz
	cmake --build --preset fuzz
	tools/fuzz $(FUZZ_SECONDS)

.PHONY: clang
clang: ## Build the library with Clang and its sanitizers, and run the quick tests.
	@tools/setup required fuzzing
	cmake --preset fuzz
	cmake --build --preset clang
	ctest --preset clang --parallel $(TESTS_AT_ONCE)

# KIND: all, run, openmpi, mpich or training. SEED: the one life to play again, TIMES times.
.PHONY: campaign
campaign: build ## Play random lives of jobs for CAMPAIGN_SECONDS (60); hours are welcome (KIND, SEED, TIMES).
	build/release/bin/campaign --seconds $(CAMPAIGN_SECONDS) $(if $(KIND),--kind $(KIND)) \
	  $(if $(SEED),--seed $(SEED) --times $(or $(TIMES),20))

.PHONY: soak
soak: build ## One job for SOAK_SECONDS (600) with stops and kills; its verdict replaces tests/soak/last.json.
	@mkdir -p build/soak
	SOAK_COMMAND='make soak SOAK_SECONDS=$(SOAK_SECONDS)' \
	  build/release/bin/campaign --soak $(SOAK_SECONDS) build/soak/samples.jsonl tests/soak/last.json

.PHONY: disk
disk: build ## Every fault at every call by which a training changes files; half an hour.
	SYNCOPATE_DISK_FAULTS_ALL=1 build/release/bin/disk_test

.PHONY: install
install: ## Build without the tests and install under PREFIX (default /usr/local).
	@tools/setup required training
	cmake --preset release -B build/install -D SYNCOPATE_BUILD_TESTS=OFF \
	  -D CMAKE_INSTALL_PREFIX=$(abspath $(PREFIX))
	cmake --build build/install
	cmake --install build/install

.PHONY: clean
clean: ## Remove everything that was built.
	rm -rf build

.PHONY: peers python developer
peers:
	@tools/setup required peers
python:
	@tools/setup required python
developer:
	@tools/setup required developer
