# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

$(BUILD)/obj/tests/gc/%.c.o: extra = -Itests/gc/support -Itests/base/support -DDATA='"$(BUILD)/tests/gc/data/"'

gc_data := $(patsubst tests/%.s,$(BUILD)/tests/%.o,$(wildcard tests/gc/data/*.s))
$(gc_data): tests/gc/data/managed.inc include/tenon_gc.h
$(gc_data): extra_as = -Wa,--defsym,TN_GC_ABI=$(shell sed -n 's/^.define TN_GC_ABI //p' include/tenon_gc.h)
$(BUILD)/tests/gc/load/loaded: | $(gc_data)
