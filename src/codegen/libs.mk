# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the code generator takes from LLVM, for each of $(TARGETS).

# Reading and writing IR; the targets with their assemblers (inline assembly); inliner and vectorisers. Everything else
# is what these bring along. libz and libzstd belong to LLVMSupport; -lz3 and -lxml2, which llvm-config lists as well, to
# libraries that are not used.
LLVM_COMPONENTS := irreader bitreader bitwriter ipo vectorize $(foreach t,$(TARGETS),$(t)codegen $(t)asmparser)

# bad_alloc is caught in one place.
LLVM_CXXFLAGS := -fexceptions
