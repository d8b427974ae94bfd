# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The runtime for programs that are linked with musl: $(BUILD)/musl/libtenon.a. An archive belongs to one libc, so a
# separate make builds this one, with musl's compiler and in a directory of its own.

.PHONY: musl FORCE
MUSL_CC ?= musl-gcc

ifneq ($(LIBC),musl)
musl: $(BUILD)/musl/libtenon.a
$(BUILD)/musl/libtenon.a: FORCE
	+@$(MAKE) $(if $(V),,-s) --no-print-directory -f tools/build/rules.mk LIBC=musl LLVM=0 BUILD=$(BUILD)/musl \
		CC="$(MUSL_CC)" SANITIZE= $(BUILD)/musl/libtenon.a
else
# tn_resolve_symtab needs libelf, which Debian does not have for musl.
runtime_src := $(filter-out src/link/host/program_symtab.c,$(runtime_src))
# mimalloc for size, not for speed: a link makes few allocations, and code and tables for speed would be 24 KB of the
# smallest program. Without unwind tables, as musl's own malloc: no exception passes mimalloc. Debuggers use
# .debug_frame.
mimalloc_options := -Os -fno-asynchronous-unwind-tables
endif
