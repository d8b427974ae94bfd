# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

$(BUILD)/obj/tests/fuzz/%.c.o: extra = -Itests/fuzz

# Entries whose inputs are made as tests of images make them.
$(BUILD)/obj/tests/fuzz/heap.c.o: extra += -Itests/image/support
$(BUILD)/fuzz/heap $(BUILD)/tests/fuzz/heap: $(BUILD)/obj/tests/image/support/with_code.c.o
