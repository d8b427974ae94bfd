# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# ---- llvm/oracle.c: the one program here that is linked with LLVM ----

ifdef with_llvm
cpu_oracle := $(BUILD)/tests/cpu/llvm/oracle
llvm_tests += $(cpu_oracle)
unit_tests += $(cpu_oracle)
$(cpu_oracle): $(BUILD)/obj/tests/cpu/llvm/oracle.cpp.o
$(cpu_oracle:$(BUILD)/%=$(BUILD)/obj/%.c.o): extra = -Itests/cpu/llvm -isystem $(word 2,$(llvm))
endif

# ---- qemu/: make test-qemu runs a program of three architectures on CPUs that are not there, and what other areas add ----

probe_arches := x86_64 aarch64 riscv64
probe_cc_x86_64 := $(CC)
probe_cc_aarch64 := aarch64-linux-gnu-gcc
probe_cc_riscv64 := riscv64-linux-gnu-gcc
probe := $(BUILD)/tests/cpu/qemu/probe
# All of src/cpu and what it needs of src/base; the linker does not come along.
probe_src := $(filter-out src/cpu/host_%,$(wildcard src/cpu/*.c)) tests/cpu/qemu/probe.c \
	$(foreach name,alloc arena error faults options os_linux_cpu,src/base/$(name).c)

$(probe_arches:%=$(probe)-%): $(probe)-%: $(probe_src) src/cpu/host_%.c $(wildcard src/cpu/*.h src/cpu/*.def include/*.h)
	@mkdir -p $(@D)
	$(call step,LINK)$(probe_cc_$*) -std=c11 -O1 -D_GNU_SOURCE $(c_warnings) -Iinclude -Isrc -isystem tools/build/malloc -static \
		$(filter %.c,$^) -o $@

.PHONY: test-qemu
test-qemu: $(probe_arches:%=$(probe)-%) $(cpu_oracle)
	@ORACLE=$(cpu_oracle) $(run_tests) $(wildcard tests/*/qemu/*.sh)
