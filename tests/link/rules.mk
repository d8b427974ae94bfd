# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What the linker's tests share.
link_support := $(call obj,$(wildcard tests/link/support/*.c))
link_tests := $(filter $(BUILD)/tests/link/%,$(runtime_tests))

$(link_tests): $(link_support)
$(link_support) $(link_tests:$(BUILD)/%=$(BUILD)/obj/%.c.o): extra := -Itests/link/support
