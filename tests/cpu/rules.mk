# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# ---- llvm/oracle.c: the one program here that is linked with LLVM ----

ifdef with_llvm
cpu_oracle := $(BUILD)/tests/cpu/llvm/oracle
llvm_tests += $(cpu_oracle)
unit_tests += $(cpu_oracle)
$(cpu_oracle): $(BUILD)/obj/tests/cpu/llvm/oracle.cpp.o
$(cpu_oracle:$(BUILD)/%=$(BUILD)/obj/%.c.o): extra = -Itests/cpu/llvm -isystem $(llvm_include)
endif

# ---- qemu/: a program of three architectures runs on CPUs that are not there ----

probe_arches := x86_64 aarch64 riscv64
probe_cc = $(if $(filter x86_64,$(1)),$(CC),$(1)-linux-gnu-gcc)
probe_lib = $(BUILD)/$(if $(filter x86_64,$(1)),,$(1)-linux-gnu/)libtenon.a
probe := $(BUILD)/tests/cpu/qemu/probe

define probe_rule
$(probe)-$(1): tests/cpu/qemu/probe.c $(call probe_lib,$(1))
	@mkdir -p $$(@D)
	$$(call step,LINK)$(call probe_cc,$(1)) -std=c11 -O1 -D_GNU_SOURCE $$(c_warnings) -Iinclude -Isrc -static $$^ -o $$@
endef
$(foreach arch,$(probe_arches),$(eval $(call probe_rule,$(arch))))

qemu-build: $(probe_arches:%=$(probe)-%) $(cpu_oracle)
