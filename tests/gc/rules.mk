# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

$(BUILD)/obj/tests/gc/%.c.o: extra = -Itests/gc/support -Itests/gc/copying -Itests/base/support \
	-DDATA='"$(BUILD)/tests/gc/data/"'

gc_data := $(patsubst tests/%.s,$(BUILD)/tests/%.o,$(wildcard tests/gc/data/*.s))
$(gc_data): tests/gc/data/managed.inc include/tenon_gc.h
$(gc_data): extra_as = -Wa,--defsym,TN_GC_ABI=$(shell sed -n 's/^.define TN_GC_ABI //p' include/tenon_gc.h)
$(BUILD)/tests/gc/load/loaded: | $(gc_data)

# The copying collector, for programs that compare others with it.
copying := $(BUILD)/tests/gc/copying.o
$(copying): $(call obj,$(wildcard tests/gc/copying/*.c))
	@mkdir -p $(@D)
	$(call step,BIND)$(cross)ld -r $^ -o $@
test_data += $(copying)
cross_wanted += tests/gc/copying.o
copying_areas := gc/% image/heap/% image/save/% codegen/%
$(filter $(copying_areas:%=$(BUILD)/tests/%),$(runtime_tests) $(llvm_tests)): $(copying)
