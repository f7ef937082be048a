# SPDX-License-Identifier: Apache-2.0
# Thin: every target is one script or one cmake call. `make help` lists them.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
DESTDIR ?=

.DEFAULT_GOAL := build
.PHONY: help build demo check test test-full soak lint format bench install clean

help:
	@echo "make            build/release/bin/strata"
	@echo "make demo       install what is missing, build, profile examples/launch.sh, show the summary"
	@echo "make check      build, unit tests, rules of the tree, a few end-to-end cases (3 minutes on two cores)"
	@echo "make test       everything, with reduced counts (15 minutes on two cores)"
	@echo "make test-full  everything, with full counts; keeps a dated ledger in .cache/ledger"
	@echo "make soak       half an hour under -ring-buffer; adds its figures to docs/measurements.md"
	@echo "make lint       formatting, static analysis, layer and style checks"
	@echo "make format     let clang-format and ruff rewrite the sources"
	@echo "make bench      one table of speed and size figures, also as JSON; BENCH_ARGS='--against OLD_BUILD' for two builds"
	@echo "make install    PREFIX=$(PREFIX) (and DESTDIR)"
	@echo "make clean      remove build/"

build:
	@tools/setup.sh build
	@tools/build.sh release

demo:
	@tools/setup.sh demo
	@tools/build.sh release
	@tools/demo.sh

check:
	@tools/setup.sh test
	@python3 tools/run_tests.py --only rules,unit,few --jobs $(JOBS)

test:
	@tools/setup.sh test
	@python3 tools/run_tests.py --scale quick --jobs $(JOBS)

test-full:
	@tools/setup.sh test
	@tools/debian_torch.sh .cache/debian-torch || true
	@python3 tools/run_tests.py --scale full --jobs $(JOBS)

soak:
	@tools/setup.sh test
	@tools/build.sh dev
	@python3 tools/soak.py --append docs/measurements.md $(SOAK_ARGS)

lint:
	@tools/setup.sh lint
	@tools/lint.sh

format:
	@tools/setup.sh lint
	@tools/lint.sh --fix

bench:
	@tools/setup.sh test
	@tools/build.sh dev
	@.venv/bin/python bench/run.py --build build/dev $(BENCH_ARGS)

install: build
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

clean:
	rm -rf build
