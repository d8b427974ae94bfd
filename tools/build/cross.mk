# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# HOST=aarch64-linux-gnu, HOST=riscv64-linux-gnu: for another machine, by the cross compiler of that name. A build
# directory belongs to one machine, so a make of its own builds there: the archives and the command, `cross_tests`,
# which are those of the unit tests that run under qemu, and what areas add to `cross_wanted`. What the code generator
# is linked with lies in a sysroot (setup.sh); Debian has LLVM for AArch64 only.

cross_hosts := aarch64-linux-gnu riscv64-linux-gnu
# make test-aarch64 alone: compiling the code generator again takes minutes.
cross_llvm_hosts := $(if $(filter test-aarch64,$(MAKECMDGOALS)),aarch64-linux-gnu)
cross_tests := $(addprefix base/,error faults fork memory options sha256 thread thread_end tree) \
	$(addprefix gc/heap/,concurrent concurrent_kinds evacuation faults limits permanent workers) \
	$(addprefix gc/,load/loaded object/objects threads/delay threads/litmus threads/threads) \
	$(addprefix image/,heap/needs heap/unique load/debugger load/load package/package save/save write/link) \
	$(addprefix link/passes/,agree alias ifunc matrix symbols symtab undefined) \
	$(addprefix link/demand/,dispatch fork_promises generators materializers promise_faults) \
	$(addprefix link/instance/,instance instance_calls instance_storm withdrawal) \
	$(addprefix link/lazy/,lazy lazy_calls lazy_materializers lazy_threads litmus) \
	$(addprefix link/,memory/page_map memory/ranges observe/lines) \
	$(addprefix link/session/,faults libraries options order) link/process/thread_exits \
	$(addprefix link/,tls/tls tls/tls_registers unwind/unwind unwind/unwind_data unwind/unwind_sets)
cross_llvm_tests := $(addprefix codegen/,compile/emit jit/jit llvm/fatal llvm/stack)
cross_programs = $(foreach host,$(cross_hosts),$(cross_tests:%=$(BUILD)/$(host)/tests/%))
cross_suites = $(cross_llvm_hosts:%=tests/tool:%)
# Kernels for AArch64 may have pages of 64 KiB. qemu 7.2 pretends to have them on a machine with pages of 4 KiB, and
# shows that in two places. Its mincore writes a byte for each of the machine's pages, beyond the array of base/memory,
# which has one for each of the pretended ones. And the loader takes the rest of the last page of its own data for
# thread-local data of the main thread, but qemu has mapped that page only up to the next 4 KiB: tests that use more of
# it crash. Heaps and images take long under emulation, and run once.
large_pages := 65536
large_page_tests := $(filter-out base/memory gc/heap/% gc/load/loaded image/% \
	$(addprefix link/,session/faults process/thread_exits tls/tls tls/tls_registers),$(cross_tests))
cross_programs += $(large_page_tests:%=$(BUILD)/aarch64-linux-gnu/tests/%:$(large_pages))
cross_programs += $(patsubst %,$(BUILD)/aarch64-linux-gnu/tests/link/%:16384, \
	passes/matrix lazy/lazy_calls memory/ranges)
# Of them for .ci/run: all of AArch64; for RISC-V and for large pages what depends on the machine, and on its pages.
riscv64_quick := gc/load/loaded gc/threads/litmus gc/threads/threads image/load/load image/write/link \
	link/passes/agree link/passes/ifunc link/passes/matrix link/demand/dispatch link/instance/instance_calls \
	link/instance/instance_storm link/lazy/lazy link/lazy/lazy_calls link/lazy/litmus link/session/order \
	link/process/thread_exits link/tls/tls link/unwind/unwind link/unwind/unwind_data
large_quick := base/faults link/passes/matrix link/demand/dispatch link/instance/instance link/lazy/lazy \
	link/lazy/lazy_calls link/memory/page_map link/memory/ranges link/unwind/unwind
cross_quick := $(cross_tests:%=$(BUILD)/aarch64-linux-gnu/tests/%) \
	$(riscv64_quick:%=$(BUILD)/riscv64-linux-gnu/tests/%) \
	$(large_quick:%=$(BUILD)/aarch64-linux-gnu/tests/%:$(large_pages)) $(filter %:16384,$(cross_programs))

ifneq ($(HOST),)
cross := $(HOST)-
CC := $(HOST)-gcc
CXX := $(HOST)-g++
SYSROOT := $(or $(SYSROOT),build/deps/$(HOST))
MUSL_CC := $(addprefix $(CC) -specs ,$(firstword $(wildcard $(SYSROOT)/usr/lib/*/musl-gcc.specs \
	build/deps/musl/$(HOST)/lib/musl-gcc.specs)))

# Debian has cmocka for few machines, but it is one file.
cmocka := build/deps/cmocka
cmocka_has := INTTYPES_H SIGNAL_H STRINGS_H MALLOC_H GCC_THREAD_LOCAL_STORAGE CLOCK_REALTIME STRUCT_TIMESPEC STRSIGNAL \
	SIGLONGJMP
$(BUILD)/obj/cmocka.o: $(cmocka)/src/cmocka.c
	@mkdir -p $(@D)
	$(call step,CC)$(CC) -O1 -w $(cmocka_has:%=-DHAVE_%) -I$(cmocka)/include -c $< -o $@
else
make_there = $(MAKE) $(if $(V),,-s) --no-print-directory -f tools/build/rules.mk HOST=$* BUILD=$(BUILD)/$* SANITIZE= \
	LLVM=$(words $(filter $*,$(cross_llvm_hosts))) LLVM_BIN="$(llvm_bin)"
cross_all = $(cross_wanted) musl/libtenon.a $(cross_tests:%=tests/%) \
	$(if $(filter $*,$(cross_llvm_hosts)),tenon $(cross_llvm_tests:%=tests/%))

$(cross_hosts:%=$(BUILD)/%/libtenon.a): $(BUILD)/%/libtenon.a: FORCE
	+@$(make_there) $@

.PHONY: cross $(cross_hosts:%=cross-%)
cross: $(cross_hosts:%=cross-%)
$(cross_hosts:%=cross-%): cross-%: $(BUILD)/%/libtenon.a
	+@$(make_there) $(addprefix $(BUILD)/$*/,$(cross_all))
endif
