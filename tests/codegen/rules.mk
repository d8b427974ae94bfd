# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

codegen_tests := $(filter $(BUILD)/tests/codegen/%,$(llvm_tests))
codegen_data := $(BUILD)/tests/codegen/data
corpus := $(notdir $(basename $(wildcard tests/codegen/data/*.c)))

$(call obj,$(wildcard tests/codegen/support/*.c)) $(codegen_tests:$(BUILD)/%=$(BUILD)/obj/%.c.o): \
	extra = -Itests/codegen/support -Itests/gc/copying -Ibench $(extra_of_$(basename $(basename $(@F))))

# ---- corpus.c: programs as a front end hands them over; $(codegen_data)/*.o are the same, compiled by the C compiler
# ----

# Contraction off: a fused multiply-add would round differently from the C compiler's code. The other architectures have
# no C library here; the programs do without its headers.
front_ends := O0 O2 plain aarch64 riscv64
# For another machine without calls of libgcc's atomic operations, which are hidden in every program.
front_end_host := $(if $(HOST),--target=$(HOST) $(if $(filter aarch64,$(machine)),-mno-outline-atomics))
front_end_O0 := $(front_end_host) -O0 -Xclang -disable-O0-optnone
front_end_O2 := $(front_end_host) -O2 -Xclang -disable-llvm-passes
# Optimised, and without debug information: the JIT reads its bodies one by one.
front_end_plain := $(front_end_host) -O2 -g0
front_end_aarch64 := -O2 -Xclang -disable-llvm-passes --target=aarch64-linux-gnu -nostdlibinc
front_end_riscv64 := -O2 -Xclang -disable-llvm-passes --target=riscv64-linux-gnu -nostdlibinc

corpus_ir := $(foreach way,$(front_ends),$(corpus:%=$(codegen_data)/%.$(way).bc))
extra_of_corpus := -DCORPUS='$(foreach name,$(corpus),"$(codegen_data)/$(name)",)'
$(BUILD)/tests/codegen/compile/corpus: | $(corpus_ir) $(corpus:%=$(codegen_data)/%.o)

# ---- reuse.c: the same programs and the IR of the tests of passes, one after the other ----

extra_of_reuse := -DREUSE='$(foreach file,$(corpus_ir) $(wildcard tests/ir/*.ll),"$(file)",)'
$(BUILD)/tests/codegen/compile/reuse: | $(corpus_ir)

# ---- serve.c: one of them, with damage ----

extra_of_serve := -DDAMAGED='"$(codegen_data)/control.plain.bc"'
$(BUILD)/tests/codegen/jit/serve: | $(codegen_data)/control.plain.bc

# ---- split.c and jit.c: the same programs, function by function; they see LLVM, or inside the code generator, as
# image/recompile.c does ----

extra_of_split := $(extra_of_corpus) -isystem $(llvm_include)
extra_of_jit := $(extra_of_split)
extra_of_recompile := -isystem $(llvm_include)
$(BUILD)/tests/codegen/parts/split $(BUILD)/tests/codegen/jit/jit: | $(corpus_ir)

define front_end_rule
$(codegen_data)/%.$(1).bc: tests/codegen/data/%.c tests/codegen/data/corpus.h
	@mkdir -p $$(@D)
	$$(call step,CLANG)$(llvm_bin)/clang -g $$(front_end_$(1)) -Wall -Wextra -Werror -ffp-contract=off -emit-llvm -c $$< \
		-o $$@
endef
$(foreach way,$(front_ends),$(eval $(call front_end_rule,$(way))))

# ---- plan.c: inside the code generator, too; hooks.c, jit_memory.c and llvm_module.c: see LLVM ----

extra_of_plan := -isystem $(llvm_include)
extra_of_jit_memory := $(extra_of_plan)
extra_of_hooks := $(extra_of_plan)
extra_of_llvm_module := $(extra_of_plan)

# ---- source.c: functions inlined into one another, with debug information of every kind ----

source_ways := gcc+-g+-O1 gcc+-g+-gdwarf-4+-O1 clang+-g+-O1 clang+-g+-gdwarf-4+-O2+-ffunction-sections clang+-O1 \
	clang+-gline-tables-only+-O1 clang+-g+-gz=zlib+-O1
source_object = $(codegen_data)/inlined.$(1).o
extra_of_source := -DINLINED='"$(call source_object,%s)"'
$(BUILD)/tests/codegen/debug/source: | $(foreach way,$(source_ways),$(call source_object,$(way)))

$(call source_object,%): tests/codegen/source/inlined.c
	@mkdir -p $(@D)
	$(call step,CC)$(patsubst clang,$(llvm_bin)/clang,$(patsubst gcc,$(CC),$(firstword $(subst +, ,$*)))) \
		$(wordlist 2,99,$(subst +, ,$*)) -fPIC -Wall -Wextra -Werror -c $< -o $@

# ---- programs.c: a stub to begin with ----

extra_of_programs := -DSTUB='"$(BUILD)/obj/stub/managed"'
$(BUILD)/tests/codegen/image/programs: | $(if $(MUSL_CC),$(BUILD)/obj/stub/managed)

# ---- flatten/file.c: the programs that tests/programs compiles ----

flattened := $(foreach name,lua compress sqlite,$(BUILD)/tests/programs/bitcode/$(name).bc)
$(BUILD)/obj/tests/codegen/flatten/file.c.o: \
	extra += -isystem $(llvm_include) -DPROGRAMS='$(foreach file,$(flattened),"$(file)",)'
$(BUILD)/tests/codegen/flatten/file: | $(flattened)
$(BUILD)/tests/codegen/flatten/file: private link_llvm += -Wl,--wrap=tn__grow
