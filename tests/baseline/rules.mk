# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Their allocations fail one after the other.
wrapped_here := tn__alloc tn__alloc_zeroed tn__realloc tn__grow
baseline_tests := $(filter $(BUILD)/tests/baseline/%,$(runtime_tests))
$(baseline_tests): LDFLAGS += $(wrapped_here:%=-Wl,--wrap=%)
$(call obj,$(wildcard tests/baseline/support/*.c)) $(baseline_tests:$(BUILD)/%=$(BUILD)/obj/%.c.o): \
	extra = -Itests/baseline/support
