# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

$(BUILD)/obj/tests/gc/%.c.o: extra = -Itests/gc/support -DDATA='"$(BUILD)/tests/gc/data/"'

gc_data := $(patsubst tests/%.s,$(BUILD)/tests/%.o,$(wildcard tests/gc/data/*.s))
$(gc_data): tests/gc/data/managed.inc
$(BUILD)/tests/gc/loaded: | $(gc_data)
