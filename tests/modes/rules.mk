# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The mode matrix: its cases are compiled and linked natively once, its host is a program with the code generator.

ifdef with_llvm
modes := $(BUILD)/tests/modes
modes_cases := $(patsubst tests/modes/cases/%.case,$(modes)/%/made,$(wildcard tests/modes/cases/*.case))

$(modes)/%/made: tests/modes/cases/%.case tests/modes/prepare $(modes)/library
	$(call step,CASE)LLVM_BIN=$(llvm_bin) tests/modes/prepare $< $(@D) $(modes)/library && touch $@

$(modes)/library: tests/modes/library.c
	@mkdir -p $(@D)
	$(call step,LINK)$(CC) -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra $< -pthread -ldl -o $@

# In an ordinary dynamic program, whose symbols dlsym finds.
$(modes)/host: $(BUILD)/obj/tests/modes/host.c.o $(archives) $(call stamp,link_llvm)
	@mkdir -p $(@D)
	$(call step,LINK)$(link_llvm) $(filter %.o %.a,$^) $(llvm_libs) -lz -lzstd -o $@

$(modes)/made: $(modes_cases) $(modes)/host
	@touch $@
test-build test-slow: $(if $(SANITIZE),,$(modes)/made)
endif
