# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The stubs of programs that `tenon build --kind=exe` writes: static PIEs around musl and libtenon.a, which the command
# carries compressed (tools/cmd/build_stubs.c). Each has what the one before it has, and more; what that is,
# tools/stub/NAME.names says. MUSL_CC= (empty) leaves them out.

STUBS := small managed objects full full_objects
STUB_PARTS_small := stub host_$(machine) exits
STUB_PARTS_managed := $(STUB_PARTS_small) managed default_heap
STUB_PARTS_objects := $(STUB_PARTS_managed) objects
STUB_PARTS_full := $(STUB_PARTS_managed)
STUB_PARTS_full_objects := $(STUB_PARTS_objects)

stub := $(BUILD)/obj/stub
compile_stub := $(MUSL_CC) -std=c11 -O2 -fPIE -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections \
	-fvisibility=hidden -D_GNU_SOURCE \
	-Iinclude -Isrc -Itools $(c_warnings)

ifneq ($(MUSL_CC),)
TOOL_GEN_OBJ += $(BUILD)/obj/stubs.o
# Where the compiler finds musl's startup files, and libgcc.
musl_lib := $(patsubst %/Scrt1.o,%,$(filter %/Scrt1.o,$(shell $(MUSL_CC) -\#\#\# -xc /dev/null 2>&1)))
stub_archives := $(BUILD)/musl/libtenon.a $(musl_lib)/libc.a $(shell $(MUSL_CC) -print-libgcc-file-name)
endif

# Their few allocations are libc's: mimalloc would be a third of the smallest one.
$(stub)/alloc.o: src/base/alloc.c $(call stamp,compile_stub)
	@mkdir -p $(@D)
	$(call step,CC)$(compile_stub) -isystem tools/build/malloc $(dependencies) -c $< -o $@

$(stub)/%.o: tools/stub/%.c $(call stamp,compile_stub)
	@mkdir -p $(@D)
	$(call step,CC)$(compile_stub) $(dependencies) -c $< -o $@

# Shared with the command.
$(stub)/default_heap.o: tools/lib/default_heap.c $(call stamp,compile_stub)
	@mkdir -p $(@D)
	$(call step,CC)$(compile_stub) $(dependencies) -c $< -o $@

$(stub)/%.list: tools/stub/%.names $(wildcard tools/stub/*.names) tools/stub/names $(stub_archives) \
	$(stub)/exits.o
	@mkdir -p $(@D)
	$(call step,GEN)NM=$(cross)nm tools/stub/names $< $(stub_archives) $(stub)/exits.o -- $(MUSL_CC) \
		-D_GNU_SOURCE >$@

define stub_rule
$(stub)/$(1): $(stub)/$(1).list tools/stub/link tools/stub/stub.ld $(STUB_PARTS_$(1):%=$(stub)/%.o) $(stub)/alloc.o \
	$(stub_archives)
	$$(call step,LINK)CROSS=$(cross) tools/stub/link $$@ $$< $(musl_lib) $$(filter %.o %.a,$$^)
endef
$(foreach name,$(STUBS),$(eval $(call stub_rule,$(name))))

# A table of them, the smallest first: name, bytes.
$(stub)/stubs.s: $(STUBS:%=$(stub)/%) tools/stub/rules.mk
	$(call step,PACK)for name in $(STUBS); do gzip -9n <$(stub)/$$name >$(stub)/$$name.gz || exit; done
	@{ echo '.section .rodata'; \
	for name in $(STUBS); do echo ".L$$name: .incbin \"$(stub)/$$name.gz\""; echo ".L$${name}_end:"; done; \
	echo '.section .data.rel.ro,"aw"'; echo '.balign 8; .globl tn__stubs; .hidden tn__stubs; tn__stubs:'; \
	for name in $(STUBS); do echo ".8byte .L$$name, .L$${name}_end - .L$$name"; done; \
	echo '.8byte 0, 0'; echo '.section .note.GNU-stack,"",%progbits'; } >$@

$(BUILD)/obj/stubs.o: $(stub)/stubs.s
	$(call step,AS)$(CC) -c $< -o $@
