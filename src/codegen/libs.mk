# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the code generator takes from LLVM, for each of $(TARGETS).

# Reading and writing IR; inliner and vectorisers; the targets with their assemblers (inline assembly); disassemblers:
# for X86 and for the machine that is compiled for. Everything else is what these bring along. Of the system libraries
# that llvm-config lists only libz is used (a checksum, the command's tables); libzstd too where
# tools/build/small/absent.cpp is not linked.
disassembled := $(filter X86 $(if $(filter aarch64,$(machine)),AArch64),$(TARGETS))
$(call obj,src/codegen/debug/disasm.c): extra := $(disassembled:%=-DTN_DISASM_%=1)
LLVM_COMPONENTS := irreader bitreader bitwriter linker ipo vectorize $(foreach t,$(TARGETS),$(t)codegen $(t)asmparser) \
	mcdisassembler $(disassembled:%=%disassembler)

# bad_alloc is caught in one place. What is compiled here only strings LLVM's passes together: small is better.
# Sanitizers stop here: LLVM's inline functions, instrumented in one file and not in its archives, would disagree about
# poisoned memory.
LLVM_CXXFLAGS := -fexceptions -Os -fno-sanitize=all

# LLVM's 600 static initialisers lie side by side then: they are what runs first, and every page between them would be
# mapped in (1.9 MB of resident memory).
LLVM_LDFLAGS := -Wl,-z,keep-text-section-prefix
