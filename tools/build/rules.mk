# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How everything is built and tested. The top-level Makefile sets the variables and makes sure that everything needed is
# installed. Sources are found by folder: a new file in a folder of `runtime_parts` needs no entry here.

MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all unit ci ci-build qemu-build test test-build test-slow test-races test-qemu test-aarch64 demo bench \
	bench-link bench-remote bench-jit bench-cache bench-tiers bench-passes bench-image bench-packages bench-heap \
	bench-gc \
	bench-baseline bench-dowel bench-instructions size \
	install uninstall install-musl uninstall-musl html deb

with_llvm := $(filter-out 0,$(LLVM))

# $(call stamp,NAME): a file that changes when the variable NAME does, so that new flags rebuild what depends on it.
define stamp_rule
ifneq ($$(strip $$(file <$(BUILD)/flags/$(1))),$$(strip $$($(1))))
$$(shell mkdir -p $(BUILD)/flags)$$(file >$(BUILD)/flags/$(1),$$(strip $$($(1))))
endif
endef
stamp = $(eval $(call stamp_rule,$(1)))$(BUILD)/flags/$(1)

# ---- sources ----

runtime_parts := base cpu cache remote link gc image jit baseline
runtime_src := $(foreach part,$(runtime_parts),$(wildcard src/$(part)/*.c src/$(part)/*/*.c src/$(part)/*/*/*.c))
# The lists of one target each are in archives of their own.
lower = $(shell echo $(1) | tr A-Z a-z)
only_src := $(foreach target,$(TARGETS),src/codegen/target/only_$(call lower,$(target)).c)
codegen_src := $(filter-out src/codegen/target/only_%,$(wildcard src/codegen/*/*.c src/codegen/*/*/*.c))
include tools/build/cross.mk
# Of the files host_*.c, which the running machine executes, only those for the machine that is compiled for; where a
# folder has none for it, host_none.c.
machine := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
host_file = $(firstword $(wildcard $(1)host_$(machine).c $(1)host_none.c))
for_machine = $(foreach src,$(1), \
	$(if $(filter host_%,$(notdir $(src))),$(filter $(call host_file,$(dir $(src))),$(src)),$(src)))
runtime_src := $(call for_machine,$(runtime_src))
codegen_src := $(call for_machine,$(codegen_src))
# Of checking builds only.
runtime_src := $(filter-out $(if $(SANITIZE)$(CHECKING),,src/base/mutex_check.c),$(runtime_src))
plugin_cxx := $(wildcard src/codegen/plugin/*.cpp)
codegen_cxx := $(filter-out $(plugin_cxx),$(wildcard src/codegen/*/*.cpp src/codegen/*/*/*.cpp))
tool_src := $(wildcard tools/lib/*.c tools/cmd/*.c)
obj = $(patsubst %,$(BUILD)/obj/%.o,$(1))
include tools/build/musl.mk

# ---- flags ----

# In rows of tables, what is not named is 0.
warnings := -Wall -Wextra -Wno-missing-field-initializers -Werror
c_warnings := $(warnings) -Wshadow -Wstrict-prototypes -Wmissing-prototypes
# gcc warns that ThreadSanitizer does not know fences.
sanitizer := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer \
	$(if $(filter thread,$(SANITIZE)),-Wno-tsan))
# CHECKING=1: the checks of builds with sanitizers, without these.
checking := $(if $(SANITIZE)$(CHECKING),-DTN_CHECKING)
# What a client's function throws may pass frames of the library; for RISC-V compilers make tables for that only if
# asked.
unwind_tables := $(if $(filter riscv64,$(machine)),-fasynchronous-unwind-tables)
common := $(OPT) -g -fPIC $(unwind_tables) -ffunction-sections -fdata-sections -fvisibility=hidden $(sanitizer) \
	$(checking) -D_GNU_SOURCE -Iinclude -Isrc
dependencies = -MMD -MP -MF $@.d

# Compilers' results are kept where ccache is installed and finds its folder. It is no part of the commands that stamps
# remember: objects are the same with it.
ccache := $(if $(filter 0,$(CCACHE)),,$(shell ccache --version >/dev/null 2>&1 && ccache -s >/dev/null 2>&1 && \
	echo ccache))
compile_c := $(CC) -std=c11 $(common) $(c_warnings) $(CFLAGS)
# Programs that the build itself runs.
compile_here := $(if $(HOST),gcc -std=c11 -O2 -D_GNU_SOURCE -Iinclude -Isrc $(c_warnings),$(compile_c))
compile_mimalloc := $(CC) -O2 -g -fPIC -ffunction-sections -fdata-sections -fvisibility=hidden -w -DNDEBUG \
	-include tools/build/mimalloc_quiet.h $(mimalloc_options) -I$(MIMALLOC_DIR)/include \
	-I$(MIMALLOC_DIR)/src $(CFLAGS)

ifdef with_llvm
# LLVM_COMPONENTS and LLVM_CXXFLAGS are files next to the code that needs them.
include $(wildcard src/codegen/libs.mk)
# Tools of LLVM run here; its headers and archives are those of the machine that is compiled for.
llvm_bin := $(shell $(LLVM_CONFIG) --bindir)
llvm_prefix := $(shell $(LLVM_CONFIG) --prefix)
there = $(if $(HOST),$(subst $(llvm_prefix),$(SYSROOT)$(llvm_prefix),$(1)),$(1))
llvm_include := $(call there,$(shell $(LLVM_CONFIG) --includedir))
llvm_libdir := $(call there,$(shell $(LLVM_CONFIG) --libdir))
libraries_there := $(if $(HOST),-L$(SYSROOT)/usr/lib/$(HOST))
llvm_defines := $(TARGETS:%=-DTN_TARGET_%=1)
compile_codegen := $(compile_c) -isystem $(llvm_include) $(llvm_defines)
# The C++ dialect and the ABI macros are LLVM's; warnings and optimisation are ours. No sanitizers: LLVM was built
# without, and the linker would merge inline functions of its headers that poison memory with copies that do not
# unpoison it.
llvm_cxxflags := $(filter-out -I% -W% -O% -g%,$(shell $(LLVM_CONFIG) --cxxflags)) -isystem $(llvm_include) -fno-rtti
compile_cxx := $(CXX) $(llvm_cxxflags) $(filter-out $(sanitizer),$(common)) $(warnings) $(llvm_defines) \
	$(LLVM_CXXFLAGS) \
	$(CXXFLAGS)
llvm_libs_named := $(shell $(LLVM_CONFIG) --link-static --ldflags --libs $(LLVM_COMPONENTS))
llvm_libs := $(call there,$(llvm_libs_named)) $(libraries_there)
link_llvm := $(CXX) -fuse-ld=lld -B$(llvm_bin) -Wl,-O2,--gc-sections,--icf=all $(LLVM_LDFLAGS) $(sanitizer) $(LDFLAGS)
else ifneq ($(HOST),)
# Whose clang compiles for that machine too; empty: it is not tested.
llvm_bin := $(LLVM_BIN)
endif

# $(call step,WORD)COMMAND: runs the command and prints one short line for it; with V=1, the command itself.
step = $(if $(V),,@printf '  %-7s %s\n' $(1) $@;)

# ---- what is made ----

archives := $(BUILD)/libtenon.a $(if $(with_llvm),$(BUILD)/libtenon_codegen.a)
only_archives := $(if $(with_llvm),$(only_src:src/codegen/target/only_%.c=$(BUILD)/libtenon_codegen_%.a))
all: $(archives) $(only_archives) $(if $(with_llvm),$(BUILD)/tenon)

# ---- compiling ----

$(BUILD)/obj/%.c.o: %.c $(call stamp,compile_c)
	@mkdir -p $(@D)
	$(call step,CC)$(ccache) $(compile_c) $(extra) $(dependencies) -c $< -o $@

ifdef with_llvm
$(BUILD)/obj/src/codegen/%.c.o: src/codegen/%.c $(call stamp,compile_codegen)
	@mkdir -p $(@D)
	$(call step,CC)$(ccache) $(compile_codegen) $(extra) $(dependencies) -c $< -o $@

$(BUILD)/obj/%.cpp.o: %.cpp $(call stamp,compile_cxx)
	@mkdir -p $(@D)
	$(call step,CXX)$(ccache) $(compile_cxx) $(extra) $(dependencies) -c $< -o $@
endif

# ---- the allocator ----

# mimalloc and its one caller become one member that exports only tn__ names, so that a product may link its own copy.
# Sanitizers only know malloc, so with them a header of ours replaces mimalloc. Its options need no names, which nothing
# reads or prints.
alloc := $(BUILD)/obj/src/base/alloc.c.o
$(alloc): $(call stamp,compile_mimalloc)
$(alloc): extra := -isystem $(if $(SANITIZE),tools/build/malloc,$(MIMALLOC_DIR)/include)

$(BUILD)/obj/mimalloc.o: $(MIMALLOC_DIR)/src/static.c $(addprefix tools/build/,mimalloc.sed mimalloc_quiet.h) \
	$(call stamp,compile_mimalloc)
	@mkdir -p $(@D)
	$(call step,CC)sed -f tools/build/mimalloc.sed $< >$(@:.o=.c) && \
		sed 's/, #opt, .*/, NULL, NULL/' $(MIMALLOC_DIR)/src/options.c >$(@D)/options.c && \
		$(ccache) $(compile_mimalloc) -c $(@:.o=.c) -o $@

$(BUILD)/obj/alloc.o: $(alloc) $(BUILD)/obj/mimalloc.o
	$(call step,BIND)$(cross)ld -r $^ -o $@.tmp && $(cross)objcopy --wildcard --keep-global-symbol='tn__*' $@.tmp $@
	@rm $@.tmp

# Compiled for size: what runs once for a process, a session, a library, a file, a section, a link or an error, and
# never for a symbol, a relocation, an entry of an unwind table or the bytes of a section (zones.c); what runs once when
# objects are saved or an image with some is opened, and not for each object; and what runs once for a heap, a thread, a
# collection or a full buffer of logged stores, and not for an object, an allocation or a transition.
seldom := $(addprefix src/cpu/,choose.c detect.c set.c) \
	$(wildcard src/base/os_linux*.c src/link/process/*.c src/link/session/*.c src/link/demand/*.c src/link/tls/*.c) \
	$(filter-out src/link/memory/zones.c,$(wildcard src/link/memory/*.c)) \
	$(addprefix src/base/,at_exit.c error.c fork.c last_thread.c options.c partial_file.c shown_name.c \
		thread_detach.c thread_end.c types_alike.c types_bytes.c types_known.c) \
	$(addprefix src/link/,format/coff/copies.c passes/gather.c passes/held.c model/lock.c passes/remove.c \
		model/archive.c model/archive_find.c model/archive_names.c model/identify.c format/elf/header.c \
		format/elf/kinds.c format/elf/overlap.c format/elf/versions.c) \
	src/link/passes/dynamic.c $(addprefix src/baseline/,compiler.c file/data.c file/read.c) \
	$(addprefix src/link/unwind/,unwind.c unwind_objects.c unwind_sets.c) src/image/format/writer.c \
	$(filter-out src/image/save/copy.c src/image/save/map.c,$(wildcard src/image/save/*.c)) \
	$(addprefix src/image/heap/,adjust.c check.c heaps.c layouts.c open.c patches.c restore.c same.c types.c unique.c \
		values.c zones.c) src/image/write/saved.c \
	$(wildcard src/gc/load/*.c) $(addprefix src/gc/heap/,default.c enter.c heap.c heaps.c text.c times.c) \
	$(addprefix src/gc/threads/,await.c overflow.c thread.c world.c) \
	$(addprefix src/gc/collect/,cards.c collect.c permanent.c verify.c) \
	$(addprefix src/gc/generational/,check.c concurrent.c evacuate.c log.c space.c collector.c walk.c work.c)
# For musl, also what runs once for a symbol that an object mentions, or an instruction of a flat file: there, size
# counts more than the time of a link.
ifeq ($(LIBC),musl)
seldom += $(addprefix src/link/passes/,bind.c enter.c layout.c link.c members.c resolve.c search.c) \
	src/link/memory/zones.c $(addprefix src/link/model/,calls.c object.c symtab.c) \
	$(addprefix src/baseline/,maps.c object.c sections.c verify.c)
endif
$(call obj,$(seldom)): extra := -Os
# Of what is compiled with LLVM's headers, for speed: what runs once for an instruction of each function. gcc 12 warns
# of vectors of LLVM that are empty at first.
$(call obj,$(addprefix src/codegen/flatten/,calls.cpp constants.cpp expand.cpp flatten.cpp managed.cpp walk.cpp) \
	$(wildcard src/codegen/managed/ir/*.cpp src/codegen/managed/roots/*.cpp)): extra := -O2 -Wno-maybe-uninitialized
$(call obj,$(runtime_src)): $(call stamp,seldom)

# Nothing that may throw is called from there.
elf_readers := $(filter-out %/agree.c %/shrink.c,$(wildcard src/link/format/elf/*.c))
ifeq ($(LIBC),musl)
$(call obj,$(elf_readers) $(addprefix src/link/model/,archive_find.c identify.c)): \
	extra += -fno-asynchronous-unwind-tables
endif

# Headers, symbols and relocations of ELF files are aligned but for odd ones. gcc reads them byte by byte for RISC-V
# unless it is told that the processor, or Linux for it, reads what is not aligned as well. Code is read and written by
# halves of an instruction, for it often lies at an odd half, and few processors read that at once.
ifeq ($(machine),riscv64)
$(call obj,$(elf_readers)): extra += -mtune=thead-c906
endif

# ---- archives ----

runtime_obj := $(call obj,$(runtime_src))
ifndef SANITIZE
runtime_obj := $(patsubst $(alloc),$(BUILD)/obj/alloc.o,$(runtime_obj))
endif
codegen_obj := $(call obj,$(codegen_src) $(codegen_cxx)) $(if $(with_llvm),$(BUILD)/obj/codegen_build.o)

# The lists are stamps too: a member whose source was removed leaves the archive.
$(BUILD)/libtenon.a: $(runtime_obj) $(call stamp,runtime_obj)
	@rm -f $@
	$(call step,AR)$(cross)ar rcsD $@ $(runtime_obj)

ifdef with_llvm
$(BUILD)/libtenon_codegen.a: $(codegen_obj) $(call stamp,codegen_obj)
	@rm -f $@
	$(call step,AR)$(cross)ar rcsD $@ $(codegen_obj)

$(only_archives): $(BUILD)/libtenon_codegen_%.a: $(BUILD)/obj/src/codegen/target/only_%.c.o
	@rm -f $@
	$(call step,AR)$(cross)ar rcsD $@ $<

# Which build of the code generator this is, for caches of what it makes: all its sources, how they are compiled, and
# LLVM's archives.
codegen_inputs := $(sort $(shell find src/codegen src/baseline src/cpu include -type f))
llvm_archives := $(shell $(LLVM_CONFIG) --link-static --libfiles $(LLVM_COMPONENTS))
$(BUILD)/gen/llvm.sum: $(wildcard $(llvm_archives)) $(call stamp,llvm_archives)
	@mkdir -p $(@D)
	$(call step,GEN)cat $(wildcard $(llvm_archives)) | sha256sum >$@
$(BUILD)/obj/codegen_build.o: $(codegen_inputs) $(BUILD)/gen/llvm.sum $(call stamp,compile_codegen) \
	$(call stamp,compile_cxx) $(call stamp,codegen_inputs) $(call stamp,codegen_cxx)
	@mkdir -p $(@D)
	$(call step,GEN)cat $^ | sha256sum | \
		sed 's/\(.*\)  -/extern const char tn__codegen_build[]; const char tn__codegen_build[] = "\1";/' >$(@:.o=.c) && \
		$(compile_c) -c $(@:.o=.c) -o $@

# ---- our passes for LLVM's own tools, with LLVM's shared library ----

plugin_obj := $(call obj,$(plugin_cxx))
link_plugin := $(CXX) -shared -fuse-ld=lld -B$(llvm_bin) -Wl,--gc-sections,--exclude-libs,ALL,-z,defs $(LDFLAGS)
llvm_shared := $(shell $(LLVM_CONFIG) --link-shared --ldflags --libs)

$(BUILD)/tenon-passes.so: $(plugin_obj) $(archives) $(call stamp,link_plugin)
	$(call step,LINK)$(link_plugin) $(plugin_obj) $(BUILD)/libtenon_codegen.a $(BUILD)/libtenon.a $(llvm_shared) -lz \
		-o $@

.PHONY: opt-plugin
opt-plugin: $(BUILD)/tenon-passes.so

# Every object of src/, by which `make lint` knows who calls whom.
.PHONY: lint-objects
lint-objects: all $(plugin_obj)

# ---- the tool: one static file, its unstripped twin and the link map ----

tool_obj := $(call obj,$(tool_src))
$(call obj,$(tool_src)): extra := -Itools
# These define TOOL_GEN_OBJ and TOOL_LIBS (the host symbol table, the stubs) and the rules that make them.
include tools/build/host_symbols.mk
include tools/stub/rules.mk

tool_parts = $(tool_obj) $(TOOL_ABSENT) $(TOOL_GEN_OBJ) $(archives) $(TOOL_UNRETAINED)
# Linked high enough for a whole window to fit below it, where the brk heap, which starts at a random address above it,
# is never in the way. 64 KiB, the largest page, off a multiple of 2 MiB, so that the kernel cannot map huge pages of
# the page cache, each of which would count as 2 MiB of resident memory for the few tables in it that are read at start.
# --wrap: exit handlers (tools/lib/exit.c) and thread-local variables (thread_data.c) of the programs that it runs.
wrapped := __cxa_atexit pthread_create __pthread_create _dl_allocate_tls _dl_allocate_tls_init _dl_early_allocate
link_tool = $(link_llvm) -static -Wl,--image-base=0x48010000 \
	$(foreach name,$(wrapped) $(TOOL_WRAPPED),-Wl,--wrap=$(name)) \
	$(tool_parts) $(llvm_libs) -lelf -lz -lzstd $(TOOL_LIBS)

# What makes it smaller, and start faster: TOOL_GEN_OBJ, TOOL_ABSENT, TOOL_UNRETAINED, TOOL_WRAPPED, TOOL_ORDER.
with_small := $(filter-out 0,$(SMALL))
ifdef with_small
include tools/build/small/rules.mk
endif

$(BUILD)/tenon.debug: $(tool_parts) $(TOOL_ORDER) $(call stamp,link_tool)
	$(call step,LINK)$(link_tool) $(TOOL_ORDER:%=-Wl,--symbol-ordering-file=% -Wl,--no-warn-symbol-ordering) \
		-Wl,-Map=$(BUILD)/tenon.map -o $@

$(BUILD)/tenon.map: $(BUILD)/tenon.debug

# Debuggers find loaded code by these symbols, see tn_observe_gdb. glibc's link-time warnings are dropped from the file.
for_debuggers := __jit_debug_register_code __jit_debug_descriptor

$(BUILD)/tenon: $(BUILD)/tenon.debug
	$(call step,STRIP)$(cross)objcopy --strip-all $(for_debuggers:%=--keep-symbol=%) --remove-section='.gnu.*' \
		--remove-section=.comment \
		$< $@.tmp && mv $@.tmp $@
endif

# ---- tests ----

# tests/AREA/*.c, or tests/AREA/ROOM/*.c where src/AREA has rooms: one cmocka program each, linked with the files of
# tests/AREA/support. Those of the runtime are ordinary dynamic programs with libtenon.a; those of the code generator
# and the tool are linked with LLVM as well.
# tests/AREA/slow/*.c: likewise, for make test-slow. tests/AREA/data/*: objects that tests load.
llvm_areas := codegen tool
rooms_of = $(patsubst src/$(1)/%/,tests/$(1)/%/,$(wildcard src/$(1)/*/))
sources_of = $(wildcard tests/$(1)/*.$(2) $(addsuffix *.$(2),$(call rooms_of,$(1))))
programs_of = $(foreach area,$(1), \
	$(patsubst %.c,$(BUILD)/%,$(if $(2),$(wildcard tests/$(area)/$(2)*.c),$(call sources_of,$(area),c))))
runtime_areas := $(runtime_parts) fuzz
programs_in = $(call programs_of,$(runtime_areas),$(1)) $(if $(with_llvm),$(call programs_of,$(llvm_areas),$(1)))
unit_tests := $(call programs_in)
slow_tests := $(call programs_in,slow/)
runtime_tests := $(call programs_of,$(runtime_areas)) $(call programs_of,$(runtime_areas),slow/)
llvm_tests := $(filter-out $(runtime_tests),$(unit_tests) $(slow_tests))
test_data := $(patsubst %,$(BUILD)/%.o,$(basename $(wildcard tests/*/data/*.c tests/*/data/*.s)))
# gcc 12 has no atomic bytes for RISC-V without libatomic.
machine_libs := $(if $(filter riscv64,$(machine)),-latomic)
test_libs := $(machine_libs) $(if $(HOST),,-lcmocka -lelf -lz)

# Areas add their own rules, prerequisites and variables in tests/AREA/rules.mk.
-include $(wildcard tests/*/rules.mk)

define area_rule
$(call programs_of,$(1)) $(call programs_of,$(1),slow/): $(call obj,$(wildcard tests/$(1)/support/*.c))
endef
$(foreach area,$(runtime_areas) $(llvm_areas),$(eval $(call area_rule,$(area))))

# What every test program does first.
start_src := tests/start/output.c $(if $(findstring address,$(SANITIZE)),tests/start/fork.c)
$(runtime_tests) $(llvm_tests): $(call obj,$(start_src))

# Another machine has no cmocka of its own (cross.mk).
ifneq ($(HOST),)
$(runtime_tests) $(llvm_tests): $(BUILD)/obj/cmocka.o
endif

# The flags that areas add in `extra` depend on what is tested.
compile_test := $(compile_c) $(and $(with_llvm),$(LLVM_CONFIG) $(TARGETS))
$(BUILD)/obj/tests/%.c.o: tests/%.c $(wildcard tests/*/rules.mk) $(call stamp,compile_test)
	@mkdir -p $(@D)
	$(call step,CC)$(ccache) $(compile_c) $(extra) $(dependencies) -c $< -o $@

$(runtime_tests): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.c.o $(BUILD)/libtenon.a
	@mkdir -p $(@D)
	$(call step,LINK)$(CC) $(sanitizer) $(LDFLAGS) $(filter %.o,$^) $(filter %.a,$^) $(test_libs) -o $@

$(llvm_tests): $(BUILD)/tests/%: $(BUILD)/obj/tests/%.c.o $(TOOL_ABSENT) $(archives)
	@mkdir -p $(@D)
	$(call step,LINK)$(link_llvm) $(filter %.o,$^) $(filter %.a,$^) $(llvm_libs) $(test_libs) -lelf -lz -lzstd -o $@

$(BUILD)/tests/%.o: tests/%.c $(call stamp,compile_c)
	@mkdir -p $(@D)
	$(call step,CC)$(CC) -O2 -fPIC $(dependencies) -c $< -o $@

$(BUILD)/tests/%.o: tests/%.s
	@mkdir -p $(@D)
	$(call step,AS)$(CC) -I$(<D) $(extra_as) -c $< -o $@

# Scripts: tests/AREA/*.sh, tests/AREA/ROOM/*.sh; those named runtime_* need libtenon.a only. tests/tool and tests/ir
# are run by lit.
all_scripts := $(foreach area,$(patsubst tests/%/,%,$(wildcard tests/*/)),$(call sources_of,$(area),sh))
scripts := $(foreach script,$(all_scripts),$(if $(with_llvm)$(filter runtime_%,$(notdir $(script))),$(script)))
lit_suites := $(if $(with_llvm),$(patsubst %/,%,$(wildcard tests/tool/ tests/ir/)))
run_tests := TARGETS="$(TARGETS)" BUILD=$(BUILD) CC="$(CC)" LLVM_BIN="$(llvm_bin)" JOBS=$(JOBS) tests/run

# Not run with sanitizers, whose shadow memory they conflict with: tests that limit the address space and, with
# ThreadSanitizer, those that ask for particular addresses, and one without threads that takes 15 minutes there. Nor are
# forks while threads allocate, see tests/start/fork.c. gc/heap/concurrent_threads measures how fast threads mark.
# base/last_thread counts the threads of the process, of which ThreadSanitizer has one.
unsanitized := codegen/llvm/memory codegen/jit/fork gc/heap/fork
unsanitized_threads := base/last_thread link/passes/matrix link/memory/strategies link/format/archive_bounds \
	gc/heap/concurrent_threads
left_out := $(if $(SANITIZE),$(unsanitized)) $(if $(filter thread,$(SANITIZE)),$(unsanitized_threads))
sanitized_tests := $(filter-out $(left_out:%=$(BUILD)/tests/%),$(unit_tests))

# With a sanitizer, tests that fork often take minutes.
unit-build: $(sanitized_tests) $(test_data)
unit: unit-build
	@$(if $(SANITIZE),LIMIT=$${LIMIT:-900}) $(run_tests) $(sanitized_tests)

# AddressSanitizer and UBSan beside the plain build, in $(BUILD)/asan: readers of foreign bytes, the linker and heaps.
asan_areas := fuzz link image cache baseline remote gc/heap gc/load gc/object
asan_tests := $(filter $(addsuffix /%,$(asan_areas:%=$(BUILD)/tests/%)),$(call programs_of,$(runtime_areas)))
asan_tests := $(filter-out $(unsanitized:%=$(BUILD)/tests/%),$(asan_tests))
asan_suites := $(asan_tests:$(BUILD)/%=$(BUILD)/asan/%)
.PHONY: asan-build asan-whole asan-tests unit-build
asan-build: make_asan := asan-tests
asan-whole: make_asan := unit-build
asan-build asan-whole:
	+@$(MAKE) --no-print-directory -f tools/build/rules.mk BUILD=$(BUILD)/asan SANITIZE=address,undefined $(make_asan)
asan-tests: $(asan_tests) $(test_data)

# Scripts first: of suites without a time of an earlier run, the longest are among them.
test-build: all musl $(if $(with_llvm),$(BUILD)/tenon-passes.so) $(unit_tests) $(test_data)
test: test-build
	@$(run_tests) $(lit_suites) $(scripts) $(unit_tests)

# Programs with threads of their own, six copies side by side. Left out are those that take more than 2 s when they run
# alone.
long_races := codegen/compile/threads codegen/jit/jit_threads codegen/jit/tiers codegen/parts/split gc/heap/fork \
	gc/heap/patterns gc/heap/workers gc/threads/delay link/passes/while_building link/demand/generators_later \
	link/session/destroyed link/session/retire
race_tests := $(filter-out $(long_races:%=$(BUILD)/tests/%),$(patsubst %.c,$(BUILD)/%, \
	$(shell grep -l pthread_create $(patsubst $(BUILD)/%,%.c,$(sanitized_tests)))))
test-races: $(race_tests) $(test_data)
	@BUILD=$(BUILD) tests/races $(race_tests)

# On machines that are not there: programs for others (cross.mk), and scripts tests/AREA/qemu/*.sh.
qemu_scripts := $(wildcard tests/*/qemu/*.sh)
qemu-build: all cross
test-qemu: qemu-build
	@WHOLE=1 $(run_tests) $(cross_programs) $(qemu_scripts)

# What every change has to pass, as one pool: make lint, all tests, the readers, the linker and heaps with
# AddressSanitizer, what differs on other machines, and models that changed or whose code did. The rest of these is for
# make test-slow. What was not built is a suite that fails.
ci-build: test-build asan-build qemu-build lint-objects
ci:
	@$(run_tests) .ci/lint.sh $(shell tests/models/changed) $(lit_suites) $(scripts) $(qemu_scripts) $(unit_tests) \
		$(asan_suites) $(cross_quick)

# Tests that take minutes, and what is left out of .ci/run. With sanitizers only the programs in C, not the scripts
# tests/AREA/slow/*.sh.
ifdef SANITIZE
test-slow: $(slow_tests) $(test_data)
	@LIMIT=7200 $(run_tests) $(slow_tests)
else
# Short tests that try a part only, unless WHOLE=1.
pairwise := $(if $(with_llvm),$(addprefix $(BUILD)/tests/codegen/compile/,corpus reuse)) $(BUILD)/tests/remote/frames
slow_scripts := $(wildcard tests/*/slow/$(if $(with_llvm),*,runtime_*).sh)
asan_rest := $(filter-out $(asan_tests) $(unsanitized:%=$(BUILD)/tests/%),$(unit_tests))
asan_rest := $(asan_rest:$(BUILD)/%=$(BUILD)/asan/%)
cross_rest := $(filter-out $(cross_quick),$(cross_programs))
test-slow: all asan-whole qemu-build $(slow_tests) $(race_tests) $(pairwise) $(test_data)
	@WHOLE=1 LIMIT=7200 RACES="$(race_tests)" $(run_tests) $(slow_scripts) $(qemu_scripts) $(slow_tests) $(pairwise) \
		$(asan_rest) $(cross_rest)
endif

test-aarch64: all cross-aarch64-linux-gnu
	@$(run_tests) $(cross_suites) $(foreach host,$(cross_llvm_hosts),$(cross_llvm_tests:%=$(BUILD)/$(host)/tests/%)) \
		$(wildcard tests/*/qemu/command/*.sh)

demo: all
	@BUILD=$(BUILD) LLVM_BIN="$(llvm_bin)" examples/demo.sh

bench: all
	@BUILD=$(BUILD) LLVM_BIN="$(llvm_bin)" bench/run
bench-link bench-remote bench-heap: $(BUILD)/libtenon.a
	@BUILD=$(BUILD) LLVM_BIN="$(llvm_bin)" bench/run $(@:bench-%=%)
bench-baseline: all $(addprefix $(BUILD)/tests/programs/bitcode/,lua.bc compress.bc sqlite.bc) \
		$(patsubst %,$(BUILD)/bench/gc/%.bc,arrays bdd bt gcbench lru splay strings)
	@BUILD=$(BUILD) bench/baseline
bench-dowel: all
	@BUILD=$(BUILD) LLVM_BIN="$(llvm_bin)" CC="$(CC)" bench/dowel/run
bench-instructions: $(BUILD)/libtenon.a
	@BUILD=$(BUILD) LLVM_BIN="$(llvm_bin)" bench/instructions
bench-jit bench-cache bench-tiers bench-passes bench-image bench-packages bench-gc: all
	@BUILD=$(BUILD) LLVM_BIN="$(llvm_bin)" bench/run $(@:bench-%=%)

# The limit is for the smallest tool.
size_limit := $(if $(filter-out X86,$(TARGETS)),,33000000)
size: $(BUILD)/libtenon.a $(if $(with_llvm),$(BUILD)/tenon)
	@tools/build/size $^ $(if $(with_llvm),$(size_limit))

# What programs link besides libtenon_codegen.a; LLVM needs the C++ library.
llvm_link := $(if $(with_llvm),$(strip $(llvm_libs_named)) -lz -lzstd -lstdc++ -lm)
install_environment = STRIP=$(cross)strip MACHINE_LIBS="$(machine_libs)" LLVM_LINK="$(llvm_link)" \
	LLVM_BIN="$(llvm_bin)" \
	LLVM_INCLUDE="$(if $(with_llvm),$(shell $(LLVM_CONFIG) --includedir))" \
	LLVM_VERSION="$(if $(with_llvm),$(shell $(LLVM_CONFIG) --version))"
run_install = $(install_environment) tools/build/install.sh

# The build tree has the same descriptions as an installation, so that examples and products can be built from it.
all: $(BUILD)/pkgconfig/tenon.pc
$(BUILD)/pkgconfig/tenon.pc: tools/build/install.sh tenon.pc.in tenon-codegen.pc.in \
	tenon-codegen-target.pc.in include/tenon/base.h \
	$(call stamp,run_install)
	$(call step,GEN)$(run_install) describe

install: all
install-musl: musl
install uninstall:
	@$(run_install) $@

# Pages and headers as HTML, and Debian packages, into $(BUILD)/html and $(BUILD)/deb.
html:
	@tools/build/html $(BUILD)/html
deb: all html
	@$(install_environment) tools/build/deb $(BUILD)/deb

install-musl uninstall-musl:
	@$(run_install) $(@:-musl=) musl

# Objects that tests load, and that fuzzers start from.
.PHONY: data
data: $(test_data)

include tools/build/fuzz.mk

-include $(shell find $(BUILD)/obj $(BUILD)/tests -name '*.d' 2>/dev/null)
