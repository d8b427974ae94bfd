# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#   make demo     installs what is missing, builds, runs the main job on real programs and shows what happened
#   make test     installs what is missing, builds, runs every test; last line: N passed, N failed
#   make          the static tool and both archives; names what is missing and how to install it
#   make LLVM=0   the runtime alone: no LLVM, no C++
#   make help     all targets and variables

LLVM ?= 1
TARGETS ?= X86 AArch64 RISCV
LLVM_CONFIG ?= llvm-config-22
MIMALLOC_DIR ?= build/deps/mimalloc
BUILD ?= build
SANITIZE ?=
WARN := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes
OPT ?= -O2
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
CXX ?= g++
ifeq ($(origin CXX),default)
CXX := g++
endif

include tools/build/rules.mk
