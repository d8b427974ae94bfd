# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The table of host symbols of the static tool (tn__host_symbols). TOOL_GEN_OBJ joins the tool's objects.
# Made from the installed libc, so it is remade when that changes.

TOOL_GEN_OBJ += $(BUILD)/obj/host_symbols.o
TOOL_LIBS += -lm -lgcc -lgcc_eh
HOST_LIBC := $(wildcard $(foreach lib,libc.a libc.so.6,$(shell $(CC) -print-file-name=$(lib))))

$(BUILD)/gen/host_symbols.s: tools/build/gen-host-symbols $(HOST_LIBC)
	@mkdir -p $(@D)
	$(call step,GEN)tools/build/gen-host-symbols "$(CC)" >$@

$(BUILD)/obj/host_symbols.o: $(BUILD)/gen/host_symbols.s
	@mkdir -p $(@D)
	$(call step,AS)$(CC) -c $< -o $@
