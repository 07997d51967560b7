# Every command of the project in one place; plain `make` lists them. The work is done by CMake
# (CMakePresets.json: one folder below build/ per preset) and by the scripts in tools/.

SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
MODEL ?=
SECONDS ?= 60
TARGET ?=
PRESETS := release debug asan tsan

.PHONY: help setup build debug demo test sanitize tsan check neon format bench fuzz install clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install the Debian packages that are missing (packages.txt)
	@tools/setup

build: compile-release ## build the program, build/release/linnet
debug: compile-debug ## build for a debugger, build/debug/linnet

demo: build ## fetch a small real model once, then talk with it
	@tools/demo

test: build ## run every test of the release build
	@tools/run_tests release --tools

sanitize: compile-asan ## run the tests under the address, leak and undefined-behaviour sanitizers
	@tools/run_tests asan

tsan: compile-tsan ## run the tests under the thread sanitizer
	@tools/run_tests tsan

check: setup ## check layers, format and scripts
	@tools/check

neon: ## run the tests of the kernels for 64-bit Arm, under an emulator
	@tools/setup g++-aarch64-linux-gnu qemu-user || true
	@tools/check_neon

format: setup ## rewrite all sources in the project's format
	@tools/check_format --apply

bench: build ## measure MODEL, or the shape of SmolLM3-3B, beside the machine's ceilings
	@tools/bench $(MODEL)

fuzz: setup ## fuzz every TARGET (or one) for SECONDS (60), with clang
	@tools/fuzz $(SECONDS) $(TARGET)

install: build ## install below PREFIX (/usr/local); DESTDIR works as usual
	@cmake --install build/release --prefix '$(PREFIX)'

clean: ## remove what was built
	rm -rf $(PRESETS:%=build/%) build/fuzz .venv

# build.ninja is what a finished configuration leaves; from then on ninja configures anew by itself.
$(PRESETS:%=build/%/build.ninja): build/%/build.ninja: CMakeLists.txt CMakePresets.json | setup
	@cmake --preset $*
	@touch $@

.PHONY: $(PRESETS:%=compile-%)
$(PRESETS:%=compile-%): compile-%: build/%/build.ninja
	@cmake --build --preset $* --parallel $(JOBS)
