# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

jit_tests := $(filter $(BUILD)/tests/jit/%,$(runtime_tests))
jit_data := $(BUILD)/tests/jit/data

$(call obj,$(wildcard tests/jit/support/*.c)) $(jit_tests:$(BUILD)/%=$(BUILD)/obj/%.c.o): \
	extra = -Itests/jit/support -Itests/jit/data -Ibench -DDATA='"$(jit_data)"'
$(jit_tests): | $(patsubst tests/jit/%.c,$(BUILD)/tests/jit/%.o,$(wildcard tests/jit/data/*.c))
