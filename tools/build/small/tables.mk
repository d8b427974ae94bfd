# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# LLVM's disassembler for X86 decodes through 2.7 MB of tables, most of them zeros. The tool carries them compressed, in
# 45 KB, and unfolds them when it disassembles: here that member of LLVM's archive is linked again, with the tables in a
# section of which the file has no bytes (NOLOAD), and what they are beside it. tools/cmd/packed_tables.c.

ifneq ($(filter X86,$(TARGETS)),)
TOOL_GEN_OBJ += $(BUILD)/obj/tables.o
tables_from := $(shell $(LLVM_CONFIG) --libdir)/libLLVMX86Disassembler.a

table_sections := .rodata.*x86Disassembler* .rodata.*modRMTable .rodata.*x86OperandSets
# $(call gather,TYPE,OUT): the member with all tables in one section.
gather = echo 'SECTIONS { tn_tables 0 $(1) : { *($(table_sections)) } }' >$@.ld && \
	ld -r -T $@.ld $@.member -o $(2)

$(BUILD)/obj/tables.o: $(tables_from) tools/build/small/tables.mk
	@mkdir -p $(@D)
	$(call step,PACK)ar p $< X86Disassembler.cpp.o >$@.member && $(call gather,,$@.full) && \
		$(call gather,(NOLOAD),$@.empty) && \
		objcopy -O binary --only-section=tn_tables $@.full $@.bin && gzip -9nf $@.bin && \
		objcopy --set-section-flags tn_tables=alloc --add-section tn_packed=$@.bin.gz \
			--set-section-flags tn_packed=alloc,load,readonly,data,contents \
			--add-symbol tn__packed_tables=tn_packed:0,global $@.empty $@
	@rm $@.*
endif
