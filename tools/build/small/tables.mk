# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# LLVM's disassembler for X86 decodes through 2.7 MB of tables, most of them zeros, and its parser of assembly through
# 0.7 MB. The tool carries them compressed, in 88 and 70 KB, and unfolds them when it disassembles, or a module has
# assembly (parser.cpp): here such a member of LLVM's archive is linked again, with the tables in a section of which the
# file has no bytes (NOLOAD), and what they are beside it, as differences of rows. tools/cmd/packed_tables.c.

# $(call gather,NAME,SECTIONS,TYPE,OUT): the member with all tables in one section.
gather = echo 'SECTIONS { tn_$(1)_tables 0 $(3) : { *($(2)) } }' >$$@.ld && $(cross)ld -r -T $$@.ld $$@.member -o $(4)

$(BUILD)/gen/differences: tools/build/small/differences.c $(call stamp,compile_here)
	@mkdir -p $(@D)
	$(call step,CC)$(compile_here) $< -o $@

# $(call packed_rule,NAME,ARCHIVE,MEMBER,SECTIONS,BYTES): the last one as in packed_tables.c, of most rows.
define packed_rule
TOOL_GEN_OBJ += $(BUILD)/obj/$(1)_tables.o
$(BUILD)/obj/$(1)_tables.o: $(2) tools/build/small/tables.mk $(BUILD)/gen/differences
	@mkdir -p $$(@D)
	$$(call step,PACK)$(cross)ar p $$< $(3) >$$@.member && $(call gather,$(1),$(4),,$$@.full) && \
		$(call gather,$(1),$(4),(NOLOAD),$$@.empty) && \
		$(cross)objcopy -O binary --only-section=tn_$(1)_tables $$@.full $$@.bin && \
		$(BUILD)/gen/differences $(5) <$$@.bin >$$@.less && gzip -9nf $$@.less && \
		$(cross)objcopy --set-section-flags tn_$(1)_tables=alloc --add-section tn_$(1)_packed=$$@.less.gz \
			--set-section-flags tn_$(1)_packed=alloc,load,readonly,data,contents \
			--add-symbol tn__packed_$(1)=tn_$(1)_packed:0,global $$@.empty $$@
	@rm $$@.*
endef

ifneq ($(filter X86,$(TARGETS)),)
$(eval $(call packed_rule,disassembler,$(llvm_libdir)/libLLVMX86Disassembler.a,X86Disassembler.cpp.o, \
	.rodata.*x86Disassembler* .rodata.*modRMTable .rodata.*x86OperandSets,4))
$(eval $(call packed_rule,parser,$(llvm_libdir)/libLLVMX86AsmParser.a,X86AsmParser.cpp.o, \
	.rodata.*MatchTable0 .rodata.*MatchTable1,16))
TOOL_GEN_OBJ += $(call obj,tools/build/small/parser.cpp)
$(call obj,tools/build/small/parser.cpp): extra := -Itools
TOOL_WRAPPED += LLVMInitializeX86AsmParser
endif
