# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   make demo     installs what is missing, builds, runs the main job on real programs and shows what happened
#   make test     installs what is missing, builds, runs every test; last line: N passed, N failed
#   make test-build  what the tests need, without running them: tests/run SUITE... runs some
#   make test-slow  larger tests, for two hours; SEEDS=FIRST:COUNT chooses the generated programs;
#                 with SANITIZE=address,undefined BUILD=build/asan only the tests in C, under sanitizers
#   make test-races  the short programs with threads, six copies side by side on one processor and on two; ten
#                 minutes, and part of test-slow
#   make          the static tool and both archives; reports what is missing and how to install it
#   make release  the same, and the tool linked once more, with its functions in the order of a start, as README.md
#                 measures it; `make release install` installs that. Later makes in that folder keep the order
#   make LLVM=0   the runtime alone: no LLVM, no C++ compiler (also: make LLVM=0 test)
#   make musl     the runtime for programs linked with musl, in build/musl
#   make HOST=aarch64-linux-gnu, make HOST=riscv64-linux-gnu LLVM=0
#                 the same for another machine, by Debian's cross compiler, in build/HOST; for RISC-V the runtime alone
#   make opt-plugin  build/tenon-passes.so: passes for managed code in LLVM's own opt, by -load-pass-plugin
#   make install  PREFIX=/usr/local DESTDIR= (LIBDIR= ...); make uninstall reverses it; also install-musl,
#                 uninstall-musl
#   make html     pages and headers as HTML, in build/html; make deb: Debian packages, in build/deb
#   make setup    installs what building and testing need: Debian packages, the source of mimalloc; make setup-check
#                 prints what that is and how large, and installs nothing
#   make asan     the unit tests with AddressSanitizer, UndefinedBehaviorSanitizer and LeakSanitizer
#   make models   the protocols between threads, checked by spin, deliberate mistakes included
#   make ci-build, make ci  what .ci/run builds, and the suites that it runs: lint, all of make test, and of asan,
#                 test-qemu and models what each change has to pass; the rest of these belongs to test-slow
#   make tsan     the unit tests with ThreadSanitizer
#   make fuzz     the readers of foreign bytes under libFuzzer, SECONDS=60 each; make fuzz-long 20 minutes each;
#                 make fuzz-corpus keeps useful inputs
#   make test-qemu  the runtime on AArch64 and RISC-V, and CPU detection on models of three architectures, under
#                 qemu-user
#   make test-aarch64  the code generator and the command on AArch64, under qemu-user; fetches 48 MB
#   make lint     formatting, which folder uses which (of what make builds), calls that src/ must not make, file
#                 lengths, cppcheck
#   make bench    measures the figures of doc/FIGURES.md; make bench-link, bench-remote, bench-jit, bench-cache,
#                 bench-tiers, bench-passes, bench-image, bench-packages, bench-heap and bench-gc: some of them. Each
#                 draws doc/figures.svg anew. bench-gc has other memory managers beside ours where they are installed:
#                 tools/build/setup.sh install peers
#                 make bench-baseline: the baseline compiler beside LLVM's level 0 (doc/BASELINE.md)
#                 make bench-dowel: a small language (examples/dowel) beside LuaJIT, SBCL, OCaml, Lua, Guile and Python
#                 make bench-instructions: linking, in instructions, for every format of object files
#   make size     text and data of each member of libtenon.a, size of the tool; checks its limit with TARGETS=X86
#                 BUILD=build/x86
#   make dist     a source archive, its checksum and the list of what products contain (SPDX), in build/dist
#   make clean    removes what was built but keeps downloads; make distclean removes both
#
# Variables, with their defaults; changing one rebuilds what depends on it:
#   TARGETS="X86 AArch64 RISCV"    code generators in the tool; TARGETS=X86 makes the smallest one
#   LLVM_CONFIG=llvm-config-22     which LLVM
#   MIMALLOC_DIR=build/deps/mimalloc
#   SYSROOT=build/deps/HOST        where HOST's LLVM, libelf, zlib, zstd and musl are, as SYSROOT/usr/...
#   SMALL=1       0: a command without the tricks that make it smaller (tools/build/small)
#   MUSL_CC=musl-gcc               which musl; empty: a tool that cannot write executables (tenon build --kind=exe)
#   BUILD=build   CC=gcc   CXX=g++   OPT=-O2   CFLAGS= CXXFLAGS= (added)   SANITIZE= (address,undefined ...)   JOBS=
#   CCACHE=1      0: compile without ccache, which is used where it is installed
#   CHECKING=      1: check invariants and the order of locks at run time, as with SANITIZE

HOST ?=
ifneq ($(HOST),)
BUILD := build/$(HOST)
endif
LLVM ?= 1
TARGETS ?= X86 AArch64 RISCV
LLVM_CONFIG ?= llvm-config-22
MIMALLOC_DIR ?= build/deps/mimalloc
BUILD ?= build
OPT ?= -O2
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
JOBS ?= $(shell nproc)
SMALL ?= 1
CCACHE ?= 1

export HOST SYSROOT LLVM TARGETS LLVM_CONFIG MIMALLOC_DIR BUILD OPT CC CXX CFLAGS CXXFLAGS LDFLAGS SANITIZE CHECKING \
	JOBS SMALL CCACHE

# The actual rules ask llvm-config for flags, so a separate make reads them once everything is installed.
setup = tools/build/setup.sh
cross = $(if $(HOST),cross)
needs_llvm = @[ "$(LLVM)" != 0 ] || { echo "make $@ compiles LLVM IR: omit LLVM=0" >&2; exit 1; }
make = tools/build/kept $(BUILD) $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS)) \
	-f tools/build/rules.mk
make_in = +$(make)
# $(call build_of,TARGETS): makes these and says how long that took, so that the time of the tests is their own.
build_of = +@start=$$(date +%s); $(make) $(1) && echo "the build took $$(($$(date +%s) - start)) s"

# Goals given together come one after the other: each is a make of its own, and two of them would write the same files.
.NOTPARALLEL:
.PHONY: fuzz fuzz-long fuzz-corpus all release setup setup-check musl install install-musl uninstall uninstall-musl \
	ci ci-build test test-build test-slow test-races test-qemu test-aarch64 demo models asan tsan lint bench \
	bench-link bench-remote bench-jit bench-cache bench-tiers bench-passes bench-image bench-packages bench-heap \
	bench-gc bench-baseline bench-dowel bench-instructions size dist html deb clean distclean help opt-plugin
.DEFAULT_GOAL := all

all:
	@$(setup) check build $(cross)
	@$(make_in) all

release:
	@$(setup) check build $(cross)
	@$(make_in) RELEASE=1 all

setup:
	@$(setup) install build test

setup-check:
	@$(setup) plan build test

opt-plugin:
	$(needs_llvm)
	@$(setup) check build
	@$(make_in) $@

musl:
	@LLVM=0 $(setup) install build musl
	@$(make_in) LLVM=0 musl

install:
	@$(setup) check build $(cross)
	@$(make_in) install

html:
	@$(setup) install html
	@$(make_in) html

deb:
	$(needs_llvm)
	@$(setup) install build html deb
	@$(make_in) deb

install-musl:
	@LLVM=0 $(setup) check build musl
	@$(make_in) LLVM=0 install-musl

uninstall:
	@$(make_in) uninstall

uninstall-musl:
	@$(make_in) LLVM=0 uninstall-musl

test:
	@$(setup) install build test
	$(call build_of,test-build)
	@$(make_in) test

test-build:
	@$(setup) install build test
	@$(make_in) test-build

test-slow:
	@$(setup) install build test slow qemu html deb
	@$(make_in) test-slow

test-races:
	@$(setup) install build test
	@$(make_in) test-races

# What is not built is missed by ci itself.
ci-build:
	@$(setup) install build lint test qemu models
	$(call build_of,-k ci-build)

ci:
	@$(make_in) ci

models:
	@$(setup) install build models
	@$(make_in) models

test-qemu:
	@$(setup) install build test qemu
	@$(make_in) test-qemu

test-aarch64:
	$(needs_llvm)
	@$(setup) install build test qemu aarch64
	@$(make_in) test-aarch64

demo:
	$(needs_llvm)
	@$(setup) install build demo
	@$(make_in) demo

bench bench-link bench-remote bench-jit bench-cache bench-tiers bench-passes bench-image bench-packages bench-heap \
	bench-gc bench-baseline bench-dowel bench-instructions:
	$(needs_llvm)
	@$(setup) install build bench
	@$(make_in) RELEASE=1 $@

size:
	@$(setup) install build
	@$(make_in) size

asan: SANITIZE := address,undefined
tsan: SANITIZE := thread
asan tsan:
	@$(setup) install build test
	@$(make_in) BUILD=$(BUILD)/$@ SANITIZE=$(SANITIZE) unit

# Coverage-guided fuzzing of everything that reads foreign bytes; SECONDS= for each entry.
fuzz fuzz-long fuzz-corpus:
	$(needs_llvm)
	@$(setup) install build test fuzz
	@$(make_in) data
	@$(make_in) LLVM=0 BUILD=$(BUILD)/fuzz SANITIZE=address,undefined CC=$$($(LLVM_CONFIG) --bindir)/clang \
		CFLAGS=-fsanitize=fuzzer-no-link SEEDS=$(BUILD)/tests $@

dist:
	@MIMALLOC_DIR=$(MIMALLOC_DIR) tools/build/dist $(BUILD)/dist

lint:
	@$(setup) install build lint
	@$(make_in) lint-objects
	@tools/build/lint

clean:
	@[ ! -d $(BUILD) ] || find $(BUILD) -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} +
	@rm -rf examples/*/out

distclean:
	rm -rf $(BUILD) build

help:
	@sed -n 's/^#   //p' Makefile

# A single file of the build: make build/libtenon.a
$(BUILD)/%: FORCE
	@$(make_in) $@
FORCE:
Makefile: ;
