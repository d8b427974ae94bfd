# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Members of LLVM's archives whose debugging functions the linker may drop (TOOL_UNRETAINED), given to it ahead of the
# archives themselves: they make the tool 0.4 MB smaller. tools/build/small/unretain.c.

TOOL_UNRETAINED := $(BUILD)/gen/unretained.a
unretained_from := $(patsubst -l%,$(llvm_libdir)/lib%.a,$(filter -lLLVM%,$(llvm_libs)))

$(BUILD)/gen/unretain: tools/build/small/unretain.c $(call stamp,compile_here)
	@mkdir -p $(@D)
	$(call step,CC)$(compile_here) $< -o $@ -lelf

$(TOOL_UNRETAINED): $(BUILD)/gen/unretain $(unretained_from) $(call stamp,unretained_from)
	$(call step,COPY)$< $@ $(unretained_from)
