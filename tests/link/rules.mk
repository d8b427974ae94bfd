# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

link_data := $(BUILD)/tests/link/data

# ---- what the linker's tests share ----

link_support := $(call obj,$(wildcard tests/link/support/*.c))
link_tests := $(filter $(BUILD)/tests/link/%,$(runtime_tests))

$(link_tests): $(link_support)
$(link_support) $(link_tests:$(BUILD)/%=$(BUILD)/obj/%.c.o): extra = -Itests/link -Itests/link/support \
	-Itests/link/support/$(machine) -Itests/base/support -Ibench \
	-Wno-missing-field-initializers $(extra_of_$(basename $(basename $(@F))))

# ---- one pair of sources, compiled in many ways (matrix.c) ----

# Flags are joined by +, so that each way is one word and part of a file's name. In NAME_MACHINE: what only compilers
# for that machine know.
ways = -O0+-fno-pic -O2+-fno-pic -O0+-fPIC -O2+-fPIC -O2+-fpic -O2+-fPIE -O1+-fno-pic+-g \
	-O2+-fno-pic+-ffunction-sections+-fdata-sections -O2+-fPIC+-ffunction-sections+-fdata-sections+-g \
	-O2+-fPIC+-fcommon+-g -O0+-fno-pic+-fcommon -O2+-fPIC+-fno-plt -O3+-fPIC+-g+-fexceptions+-funwind-tables \
	-Os+-fPIC+-fvisibility=hidden $(ways_$(machine))
ways_x86_64 := -O2+-fPIC+-mcmodel=medium -O2+-fPIC+-mcmodel=large -O2+-fno-pic+-mcmodel=large \
	-O1+-fno-pic+-mcmodel=small \
	-O2+-fPIC+-Wa,-mrelax-relocations=no -O2+-fno-pic+-Wa,-mrelax-relocations=no
ways_aarch64 := -O2+-fno-pic+-mcmodel=large -O2+-fPIC+-mbranch-protection=standard -O2+-fPIC+-mno-outline-atomics
ways_riscv64 := -O2+-fno-pic+-mcmodel=medlow -O2+-fno-pic+-mcmodel=medany -O2+-fPIC+-mno-relax -O2+-fno-pic+-mno-relax
gcc_ways := $(ways) -O2+-fPIC+-fno-semantic-interposition
clang_ways = $(ways) -O2+-fPIC+-fno-direct-access-external-data -O2+-fPIC+-gz=zlib -O2+-fPIC+-faddrsig \
	-O2+-fno-pic+-fno-jump-tables $(clang_ways_$(machine))

comma := ,
both = $(1:%=gcc+%) $(if $(llvm_bin),$(1:%=clang+%))
matrix := $(gcc_ways:%=gcc+%) $(if $(llvm_bin),$(clang_ways:%=clang+%))
matrix_objects := $(foreach way,$(matrix),$(link_data)/matrix_a.$(way).o $(link_data)/matrix_b.$(way).o)
extra_of_matrix := -DMATRIX='$(matrix:%="%"$(comma))'
$(BUILD)/tests/link/passes/matrix: | $(matrix_objects)

# $(call compiler_of,WORD): gcc stands for $(CC), whichever that is.
compiler_of = $(if $(filter clang,$(1)),$(llvm_bin)/clang $(HOST:%=--target=%),$(CC))
compile_way = $(call compiler_of,$(firstword $(subst +, ,$(1)))) $(wordlist 2,99,$(subst +, ,$(1)))

$(link_data)/matrix_a.%.o: tests/link/data/matrix_a.c tests/link/data/matrix.h
	@mkdir -p $(@D)
	$(call step,CC)$(call compile_way,$*) -w -c $< -o $@
$(link_data)/matrix_b.%.o: tests/link/data/matrix_b.c tests/link/data/matrix.h
	@mkdir -p $(@D)
	$(call step,CC)$(call compile_way,$*) -w -c $< -o $@

# ---- objects that ld.lld links as well (oracle.c) ----

levels := -O0 -O2 -Os
models := -fno-pic -fPIE -fPIC -fPIC+-fno-plt -fPIC+-ftls-model=initial-exec -fPIC+-Wa,-mrelax-relocations=no \
	-fno-pic+-mcmodel=medium -fPIC+-mcmodel=medium -fno-pic+-mcmodel=large+-DNO_TLS -fPIC+-mcmodel=large+-DNO_TLS
aarch64_models := -fno-pic -fPIE -fPIC -fPIC+-ftls-model=initial-exec -fPIC+-fno-plt -fno-pic+-mcmodel=tiny+-DNO_TLS \
	-fPIC+-mcmodel=tiny+-DNO_TLS -fno-pic+-mcmodel=large+-DNO_TLS
riscv64_models := -fno-pic -fno-pic+-mcmodel=medany -fPIE -fPIC -fPIC+-ftls-model=initial-exec -fPIC+-mno-relax \
	-fno-pic+-mno-relax -fPIC+-march=rv64g -fPIC+-ffunction-sections
oracle := $(if $(with_llvm),oracle_relax oracle_relax_riscv64 $(foreach level,$(levels),\
	$(foreach model,$(models),oracle.gcc+$(level)+$(model) oracle.clang+$(level)+$(model)) \
	$(foreach model,$(aarch64_models),oracle.clang+-target+aarch64-linux-gnu+$(level)+$(model)) \
	$(foreach model,$(riscv64_models),oracle.clang+-target+riscv64-linux-gnu+$(level)+$(model))))
extra_of_oracle := -DORACLE='$(oracle:%="%"$(comma))'
$(BUILD)/tests/link/passes/oracle: | $(foreach name,$(oracle),$(link_data)/$(name).elf)

ifndef with_llvm
test_data := $(filter-out $(link_data)/oracle%,$(test_data))
endif

$(link_data)/oracle.%.o: tests/link/data/oracle.c
	@mkdir -p $(@D)
	$(call step,CC)$(call compile_way,$*) -w -c $< -o $@
$(link_data)/oracle_relax.o: tests/link/data/oracle_relax.s
	@mkdir -p $(@D)
	$(call step,AS)$(llvm_bin)/llvm-mc -triple=x86_64-linux-gnu -mattr=+egpr -filetype=obj $< -o $@
$(link_data)/oracle_relax_riscv64.o: tests/link/data/oracle_relax_riscv64.s
	@mkdir -p $(@D)
	$(call step,AS)$(llvm_bin)/clang --target=riscv64-linux-gnu -c $< -o $@

# Addresses as in oracle.c. With -O0 strings stay where they are.
link_oracle = $(llvm_bin)/ld.lld -O0 --image-base=0x400000 --entry=0 --section-start=.near=$(1) \
	--defsym=host_far=0x7fff12345678 -Map=$(@:.elf=.map) $^ -o $@
$(link_data)/oracle%.elf: $(link_data)/oracle%.o $(link_data)/oracle_host.o
	$(call step,LINK)$(call link_oracle,0x10000000)
$(link_data)/oracle.clang+-target+aarch64%.elf: $(link_data)/oracle.clang+-target+aarch64%.o \
	$(link_data)/oracle_host.aarch64.o
	$(call step,LINK)$(call link_oracle,0x2000000)
$(link_data)/oracle.clang+-target+riscv64%.elf: $(link_data)/oracle.clang+-target+riscv64%.o \
	$(link_data)/oracle_host.riscv64.o
	$(call step,LINK)$(call link_oracle,0x480000)
$(link_data)/oracle_relax_riscv64.elf: $(link_data)/oracle_relax_riscv64.o $(link_data)/oracle_host.riscv64.o
	$(call step,LINK)$(call link_oracle,0x480000)
$(link_data)/oracle_host.aarch64.o \
	$(link_data)/oracle_host.riscv64.o: $(link_data)/oracle_host.%.o: tests/link/data/oracle_host.s
	@mkdir -p $(@D)
	$(call step,AS)$(llvm_bin)/clang --target=$*-linux-gnu -c $< -o $@

# ---- and that ld64.lld and lld-link do (oracle_lld.c) ----

apple := x86_64-apple-macos13 arm64-apple-macos13
pe := x86_64-pc-windows-msvc x86_64-w64-mingw32 aarch64-pc-windows-msvc
oracle_lld := $(if $(with_llvm),$(foreach target,$(apple) $(pe),$(levels:%=oracle_lld.$(target)+%)))
extra_of_oracle_lld := -DORACLE_LLD='$(oracle_lld:%="%"$(comma))'
$(BUILD)/tests/link/passes/oracle_lld: | $(oracle_lld:%=$(link_data)/%.linked)
compile_for = $(llvm_bin)/clang --target=$(firstword $(subst +, ,$(1))) $(word 2,$(subst +, ,$(1))) -w -ffreestanding

# Without MH_SUBSECTIONS_VIA_SYMBOLS, so that sections stay whole.
define oracle_lld_rules
$(link_data)/oracle_lld.$(1)+%.o: tests/link/data/macho/program.c
	@mkdir -p $$(@D)
	$$(call step,CC)$$(call compile_for,$(1)+$$*) -std=c11 -c $$< -o $$@
	@printf '\0' | dd of=$$@ bs=1 seek=25 conv=notrunc status=none
$(link_data)/oracle_lld.$(1)+%.linked: $(link_data)/oracle_lld.$(1)+%.o $(link_data)/oracle_lld_host.$(1).o
	$$(call step,LINK)$(llvm_bin)/ld64.lld -arch $(firstword $(subst -, ,$(1))) -platform_version macos 13 13 -dylib \
		-undefined dynamic_lookup -unexported_symbol '*' --no-deduplicate-strings -ignore_optimization_hints \
		-no_fixup_chains $$^ -o $$@
$(link_data)/oracle_lld_host.$(1).o: tests/link/data/macho/oracle_host.s
	@mkdir -p $$(@D)
	$$(call step,AS)$$(call compile_for,$(1)) -c $$< -o $$@
endef
$(foreach target,$(apple),$(eval $(call oracle_lld_rules,$(target))))
define oracle_pe_rules
$(link_data)/oracle_lld.$(1)+%.o: tests/link/data/windows/code.c
	@mkdir -p $$(@D)
	$$(call step,CC)$$(call compile_for,$(1)+$$*) -fno-stack-check -c $$< -o $$@
$(link_data)/oracle_lld.$(1)+%.linked: $(link_data)/oracle_lld.$(1)+%.o $(link_data)/oracle_lld_host.$(1).o
	$$(call step,LINK)$(llvm_bin)/lld-link -nodefaultlib -entry:entry -subsystem:console -base:0x140000000 \
		-opt:noref,noicf -ignore:4217 -lldmap:$$(@:.linked=.map) $$^ -out:$$@
$(link_data)/oracle_lld_host.$(1).o: tests/link/data/windows/oracle_host.s
	@mkdir -p $$(@D)
	$$(call step,AS)$$(call compile_for,$(1)) -c $$< -o $$@
endef
$(foreach target,$(pe),$(eval $(call oracle_pe_rules,$(target))))

# ---- which data each program reads ----

data_of = $(1:%=$(link_data)/%.o)
$(BUILD)/tests/link/passes/comdat: | $(call data_of,comdat_1 comdat_2)
$(BUILD)/tests/link/format/corrupt: | $(call data_of,small)
$(BUILD)/tests/link/passes/cycles $(BUILD)/tests/link/slow/cycles: | $(call data_of,many)
$(BUILD)/tests/link/session/strip: | $(call data_of,strip)
$(BUILD)/tests/link/passes/gather: | $(call data_of,gather_1 gather_2)
$(BUILD)/tests/link/session/inject: | $(call data_of,gather_1)
$(BUILD)/tests/link/session/describe: | $(call data_of,tls_1) $(link_data)/matrix_b.a
$(BUILD)/tests/link/session/on_object: | $(call data_of,matrix_a) $(link_data)/matrix_b.a
$(BUILD)/tests/link/lazy/lazy_object: | $(call data_of,matrix_a matrix_b)
$(BUILD)/tests/link/memory/memory_client: | $(call data_of,memory)
$(BUILD)/tests/link/memory/strategies: | $(call data_of,matrix_a matrix_b low)
$(BUILD)/tests/link/session/faults $(BUILD)/tests/link/session/allocator: | \
	$(call data_of,matrix_a small $(if $(HOST),,low) gather_1 gather_2) \
	$(link_data)/matrix_b.a

$(link_data)/matrix_b.a: $(link_data)/matrix_b.o
	@rm -f $@
	$(call step,AR)ar rcsD $@ $^

# ---- the order of initializers, as an ordinary program has it ----

order := $(call data_of,order_1 order_2 order_3)
$(BUILD)/tests/link/session/order: | $(order) $(call data_of,exits) $(link_data)/order_static
$(order): tests/link/data/order.h
$(BUILD)/tests/link/process/callbacks: | $(call data_of,callbacks)
$(BUILD)/tests/link/process/itself: | $(call data_of,itself)
$(BUILD)/tests/link/dl/open: | $(call data_of,dl_caller dl_variables)
$(BUILD)/tests/link/shared/read: | $(link_data)/shared.so
$(link_data)/shared.so: tests/link/data/shared.c
	@mkdir -p $(@D)
	$(call step,LINK)$(CC) -O1 -fPIC -shared -nostdlib -fno-asynchronous-unwind-tables -Wl,--hash-style=both \
		-Wl,-z,noseparate-code -Wl,-z,max-page-size=4096 -Wl,-soname,shared.so $< -o $@
shared_names := $(link_data)/shared_names.gnu.so $(link_data)/shared_names.sysv.so
shared_long := $(link_data)/shared_long.gnu.so $(link_data)/shared_long.sysv.so
$(BUILD)/tests/link/shared/names: | $(shared_names) $(shared_long)
$(shared_names): $(link_data)/shared_names.%.so: tests/link/data/shared_names.c
	@mkdir -p $(@D)
	$(call step,LINK)$(CC) -O1 -fPIC -shared -nostdlib -Wl,--hash-style=$* $< -o $@
$(shared_long): $(link_data)/shared_long.%.so: tests/link/rules.mk
	@mkdir -p $(@D)
	$(call step,LINK)awk 'BEGIN { for (i = 0; i < 1000; i++) print ".globl s" i "\ns" i ":"; \
		for (i = 0; i < 15; i++) n = n "n" n; print ".globl " n "\n" n ": .byte 0" }' | \
		$(CC) -shared -nostdlib -Wl,--hash-style=$* -x assembler - -o $@
$(link_data)/order_static: $(order) $(link_data)/order_static.o
	$(call step,LINK)$(CC) -static $(filter %_1.o,$^) $(filter %_2.o,$^) $(filter %_3.o,$^) $(filter %_static.o,$^) -o $@

# ---- archives of every kind that the tools make ----

members := $(call data_of,archive_1 archive_2 archive_with_a_long_name archive_unused)
archives_made := $(link_data)/gnu.a $(link_data)/thin.a $(link_data)/no_index.a $(link_data)/thin_no_index.a \
	$(if $(with_llvm),$(link_data)/bsd.a $(link_data)/darwin.a $(link_data)/llvm.a)
$(BUILD)/tests/link/format/archive: | $(archives_made)

make_gnu := ar rcsD
make_thin := ar rcsDT
make_no_index := ar rcSD
make_thin_no_index := ar rcSDT
make_bsd = $(llvm_bin)/llvm-ar --format=bsd rcsD
make_darwin = $(llvm_bin)/llvm-ar --format=darwin rcsD
make_llvm = $(llvm_bin)/llvm-ar --format=gnu rcsD
$(archives_made): $(members)
	@rm -f $@
	$(call step,AR)$(make_$(basename $(@F))) $@ $^

# ---- thread-local storage and indirect functions, in the ways that compilers have for them ----

tls_ways = $(call both,-O2+-fPIC -O0+-fPIC -O2+-fPIC+-ftls-model=initial-exec -O2+-fPIC+-ftls-model=local-exec \
	-O2+-fno-pic \
	-O0+-fno-pic -O2+-fPIE -O2+-fPIC+-fno-plt) $(tls_$(machine))
tls_x86_64 := $(call both,-O2+-fPIC+-mtls-dialect=gnu2 -O0+-fPIC+-mtls-dialect=gnu2)
tls_aarch64 := gcc+-O2+-fPIC+-mtls-dialect=trad gcc+-O0+-fPIC+-mtls-dialect=trad
tls_riscv64 := $(if $(llvm_bin),clang+-O2+-fPIC+-mtls-dialect=desc clang+-O0+-fPIC+-mtls-dialect=desc)
ifunc_ways := $(call both,-O2+-fPIC -O0+-fPIC -O2+-fno-pic -O0+-fno-pic -O2+-fPIE -O2+-fPIC+-fno-plt)
of_ways = $(foreach way,$(2),$(patsubst %,$(link_data)/%.$(way).o,$(1)))
quoted = $(patsubst %,"%"$(comma),$(1))

extra_of_bounds := -Itests/fuzz
extra_of_format_bounds := -Itests/fuzz
extra_of_strip_bounds := -Itests/fuzz
extra_of_removal_bounds := -Itests/fuzz
extra_of_archive_bounds := -Itests/fuzz
extra_of_gather := -Itests/fuzz
extra_of_output := -Itests/fuzz
extra_of_tls := -DWAYS='$(call quoted,$(tls_ways))'
extra_of_tls_dynamic := $(extra_of_tls) -Isrc
extra_of_ifunc := -DWAYS='$(call quoted,$(ifunc_ways))'
$(BUILD)/tests/link/tls/tls_dynamic: | $(call of_ways,tls_1 tls_2 tls_user,$(tls_ways))
$(BUILD)/tests/link/tls/tls: | $(call of_ways,tls_1 tls_2,$(tls_ways))
$(BUILD)/tests/link/passes/ifunc: | $(call of_ways,ifunc ifunc_user,$(ifunc_ways))

define way_rule
$(link_data)/$(1).%.o: tests/link/data/$(1).c
	@mkdir -p $$(@D)
	$$(call step,CC)$$(call compile_way,$$*) -w -c $$< -o $$@
endef
$(foreach source,tls_1 tls_2 tls_user ifunc ifunc_user unwind,$(eval $(call way_rule,$(source))))

# ---- unwinding ----

unwind_ways := $(call both,-O2+-fPIC+-fexceptions+-funwind-tables -O0+-fPIC+-fexceptions+-funwind-tables \
	-O2+-fPIC+-fexceptions+-funwind-tables+-ffunction-sections)
extra_of_unwind := -DWAYS='$(call quoted,$(unwind_ways))'
$(BUILD)/tests/link/unwind/unwind: | $(call of_ways,unwind,$(unwind_ways)) \
	$(if $(HOST),,$(call data_of,comdat_1 comdat_2))
$(BUILD)/tests/link/session/threads: | $(call data_of,matrix_a matrix_b) $(link_data)/gnu.a
$(BUILD)/tests/link/passes/reach: | $(call data_of,low low_calls xindex)

# ---- Mach-O: objects for macOS that run here ----

macho_flags := -w -ffreestanding -std=c11
macho_cpp_flags := -w -ffreestanding
macho := program_O0 program_O2 other weak_1 weak_2 throws bounds_1 bounds_2 frames atoms \
	throws_compact_O0 throws_compact_O2 throws_compact_omit
macho_objects := $(if $(with_llvm),$(macho:%=$(link_data)/macho/%.o))
macho_archives := $(if $(with_llvm),$(addprefix $(link_data)/macho/,\
	darwin.a gnu.a universal.a universal64.a universal.o))
$(BUILD)/tests/link/format/macho: | $(macho_objects) $(macho_archives)
$(link_data)/macho/darwin.a $(link_data)/macho/gnu.a: $(link_data)/macho/other.o $(link_data)/macho/weak_1.o
	@rm -f $@
	$(call step,AR)$(llvm_bin)/llvm-ar --format=$(basename $(@F)) rcsD $@ $^
$(link_data)/macho/arm64.a: $(link_data)/macho/arm64.o
	@rm -f $@
	$(call step,AR)$(llvm_bin)/llvm-ar --format=darwin rcsD $@ $^
$(link_data)/macho/universal.o: $(link_data)/macho/other.o $(link_data)/macho/arm64.o
	$(call step,LIPO)$(llvm_bin)/llvm-lipo -create $^ -output $@
$(link_data)/macho/universal.a $(link_data)/macho/universal64.a: $(link_data)/macho/arm64.a $(link_data)/macho/darwin.a
	$(call step,LIPO)$(llvm_bin)/llvm-lipo $(if $(findstring 64,$(@F)),-fat64) -create $^ -output $@
$(link_data)/macho/arm64.o: tests/link/data/macho/other.c
	@mkdir -p $(@D)
	$(call step,CC)$(llvm_bin)/clang --target=arm64-apple-macos13 -O2 $(macho_flags) -c $< -o $@

compile_macho = $(call step,CC)$(llvm_bin)/clang --target=x86_64-apple-macos13
$(link_data)/macho/program_%.o: tests/link/data/macho/program.c
	@mkdir -p $(@D)
	$(compile_macho) -$* $(macho_flags) -c $< -o $@
$(link_data)/macho/%.o: tests/link/data/macho/%.c
	@mkdir -p $(@D)
	$(compile_macho) -O2 $(macho_flags) -c $< -o $@
$(link_data)/macho/%.o: tests/link/data/macho/%.cpp
	@mkdir -p $(@D)
	$(compile_macho) -O2 $(macho_cpp_flags) -c $< -o $@
# Without __eh_frame, as compilers for AArch64 do it: compact unwind describes each function.
compact := -femit-dwarf-unwind=no-compact-unwind
flags_of_omit := -O2 -fomit-frame-pointer
$(link_data)/macho/throws_compact_%.o: tests/link/data/macho/throws.cpp
	@mkdir -p $(@D)
	$(compile_macho) $(or $(flags_of_$*),-$*) $(macho_cpp_flags) $(compact) -c $< -o $@
$(link_data)/macho/%.o: tests/link/data/macho/%.s
	@mkdir -p $(@D)
	$(compile_macho) $(compact) -c $< -o $@

# ---- one small object of each format and architecture ----

spoiled := elf-x86-64 elf-aarch64 elf-riscv64 macho-x86-64 macho-aarch64 coff-x86-64 coff-aarch64
target_of.elf-x86-64 := x86_64-linux-gnu
target_of.elf-aarch64 := aarch64-linux-gnu
target_of.elf-riscv64 := riscv64-linux-gnu
target_of.macho-x86-64 := x86_64-apple-macos13
target_of.macho-aarch64 := arm64-apple-macos13
target_of.coff-x86-64 := x86_64-pc-windows-msvc
target_of.coff-aarch64 := aarch64-pc-windows-msvc
spoiled_objects := $(if $(with_llvm),$(spoiled:%=$(link_data)/spoiled.%.o))
$(link_data)/spoiled.%.o: tests/link/data/spoiled.c
	@mkdir -p $(@D)
	$(call step,CC)$(llvm_bin)/clang --target=$(target_of.$*) -O1 $(if $(filter coff%,$*),,-fPIC) -ffreestanding -w \
		-c $< -o $@
$(BUILD)/tests/link/format/corrupt_all: | $(spoiled_objects)

# ---- lazy stubs ----

$(BUILD)/tests/link/lazy/lazy: | $(call data_of,lazy lazy_once lazy_large)
$(BUILD)/tests/link/lazy/lazy_calls: | $(call data_of,lazy lazy_once lazy_dump lazy_registers)
$(BUILD)/tests/link/lazy/lazy_steps $(BUILD)/tests/link/redirect/cell: | $(call data_of,lazy lazy_once)
$(BUILD)/tests/link/tls/tls_registers: | $(call data_of,lazy_dump lazy_registers tls_asks)
# GNU as knows descriptors of RISC-V from version 2.42 on.
assembler = $(if $(filter riscv64-tls_asks,$(machine)-$*),$(llvm_bin)/clang --target=riscv64-linux-gnu,$(CC))
$(call data_of,lazy_dump lazy_registers tls_asks): $(link_data)/%.o: tests/link/support/$(machine)/%.s
	@mkdir -p $(@D)
	$(call step,AS)$(assembler) -c $< -o $@
$(BUILD)/tests/link/lazy/lazy_threads $(BUILD)/tests/link/lazy/lazy_materializers: | $(call data_of,lazy lazy_once)
lazy_ways := $(filter %-O2+-fPIC+-fexceptions+-funwind-tables,$(unwind_ways))
$(BUILD)/tests/link/lazy/lazy_calls $(BUILD)/tests/link/lazy/lazy_steps: | $(call of_ways,unwind,$(lazy_ways))
extra_of_lazy_calls := -DWAYS='$(call quoted,$(lazy_ways))'
extra_of_lazy_steps := $(extra_of_lazy_calls)
$(call data_of,lazy lazy_once): tests/link/data/lazy.h

# ---- qemu/: programs for other machines ----

cross_wanted += tests/link/qemu/run tests/link/qemu/run_static \
	$(patsubst %,tests/link/data/%.o,exits thread_exits thread_exits_user)

ifneq ($(HOST),)
$(BUILD)/tests/link/qemu/run $(BUILD)/tests/link/qemu/run_static: tests/link/qemu/run.c $(BUILD)/libtenon.a \
	$(call stamp,compile_c)
	@mkdir -p $(@D)
	$(call step,LINK)$(compile_c) $(filter %.c %.a,$^) $(link_$(@F)) -pthread -o $@
link_run := -DRESOLVER=tn_resolve_dlsym -Wl,--no-as-needed -lgcc_s -lm
link_run_static := -DRESOLVER=tn_resolve_exports -static
endif

# ---- make test-slow ----

$(BUILD)/tests/link/slow/corrupt: | $(call data_of,unwind.gcc+-O2+-fPIC+-fexceptions+-funwind-tables \
	oracle.gcc+-O2+-fPIC \
	ifunc.gcc+-O2+-fno-pic matrix_a.gcc+-O2+-fPIC+-ffunction-sections+-fdata-sections+-g \
	matrix_a.gcc+-O0+-fno-pic+-fcommon comdat_1 gather_1 order_1 strip)

# ---- objects for Windows ----

windows_target.msvc := x86_64-pc-windows-msvc
windows_target.gnu := x86_64-w64-mingw32
mingw_gcc := $(shell command -v x86_64-w64-mingw32-gcc)
windows_kinds := msvc gnu $(if $(mingw_gcc),gcc)
windows := $(if $(with_llvm),$(foreach kind,$(windows_kinds),$(patsubst %,$(link_data)/windows/%.$(kind).o,code more)) \
	$(patsubst %,$(link_data)/windows/%.msvc.o,sections unwind comdat_1 comdat_2 small many other_size other_contents \
	other_once weak groups_1 groups_2 big) \
	$(patsubst %,$(link_data)/windows/%.lib,imports more comdats thin))
windows_flags := -ffreestanding -fno-stack-check -w
define windows_rule
$(link_data)/windows/%.$(1).o: tests/link/data/windows/%.c
	@mkdir -p $$(@D)
	$$(call step,CC)$$(llvm_bin)/clang --target=$(windows_target.$(1)) -O1 $(windows_flags) -c $$< -o $$@
$(link_data)/windows/%.$(1).o: tests/link/data/windows/%.s
	@mkdir -p $$(@D)
	$$(call step,AS)$$(llvm_bin)/clang --target=$(windows_target.$(1)) -c $$< -o $$@
endef
$(foreach kind,msvc gnu,$(eval $(call windows_rule,$(kind))))
$(link_data)/windows/%.gcc.o: tests/link/data/windows/%.c
	@mkdir -p $(@D)
	$(call step,CC)$(mingw_gcc) -O1 $(filter-out -fno-stack-check,$(windows_flags)) -c $< -o $@
$(link_data)/windows/imports.lib: tests/link/data/windows/imports.def
	@mkdir -p $(@D)
	$(call step,LIB)$(llvm_bin)/llvm-dlltool -m i386:x86-64 -d $< -l $@
$(link_data)/windows/more.lib: $(link_data)/windows/more.msvc.o
	@rm -f $@
	$(call step,LIB)$(llvm_bin)/llvm-lib -out:$@ $^ >/dev/null
$(link_data)/windows/comdats.lib $(link_data)/windows/thin.lib: $(link_data)/windows/comdat_1.msvc.o \
	$(link_data)/windows/comdat_2.msvc.o
	@rm -f $@
	$(call step,LIB)$(llvm_bin)/llvm-lib $(if $(filter %/thin.lib,$@),-llvmlibthin) -out:$@ $^ >/dev/null
$(foreach test,coff coff_groups coff_libraries coff_corrupt,$(BUILD)/tests/link/format/$(test)): | $(windows)
