# The two commands a newcomer needs: `make demo` and `make test`.
SHELL := /bin/bash
BUILD := build/release
JOBS  := $(shell nproc)

.PHONY: demo test build setup setup-tests dist format tidy bench test-gpu

setup:
	@scripts/setup

# With what further tests use where the distribution has it.
setup-tests:
	@scripts/setup --tests

# The program alone.
build: setup
	@mkdir -p build
	@cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@ninja -C $(BUILD) --quiet burnish

# Takes a naive OpenCL matmul through profile, plan, implement, gate and commit until it stops.
demo: build
	@$(BUILD)/bin/burnish demo matmul

# Everything: unit tests, the judge's cheats, the command line, recovery after kill -9.
test: setup-tests
	@mkdir -p build
	@cmake --preset release >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@ninja -C $(BUILD) --quiet
	@ctest --preset release -j $(JOBS)

# A folder that runs on any machine with glibc 2.36 or newer.
dist: build
	@scripts/dist $(BUILD)/bin/burnish dist/burnish

# What needs an NVIDIA GPU: device times against ncu, and faults that only the sanitizers see.
test-gpu: build
	@cmake -S . -B $(BUILD) -DBURNISH_BENCH=ON >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
	@ninja -C $(BUILD) --quiet bench_device_time
	@python3 tests/gpu.py --burnish $(BUILD)/bin/burnish --bench $(BUILD)/bench

format:
	@scripts/format

tidy: setup
	@scripts/tidy
