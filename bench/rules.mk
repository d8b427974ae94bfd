# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What bench/run measures and measures with. The tool and the archives are there already.

BUILD ?= build
CC ?= gcc
LLVM_BIN ?= $(shell llvm-config-22 --bindir)
out ?= $(BUILD)/bench
MUSL_INCLUDE ?= /usr/include/x86_64-linux-musl
llvm_prefix := $(patsubst %/,%,$(dir $(LLVM_BIN)))
compile := $(CC) -std=c11 -O2 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude

tls_models := tls_direct tls_asks tls_descriptor tls_dynamic tls_dynamic_descriptor
objects := $(tls_models:%=%.o) sqlite3.o sqlite3-sections.o X86ISelLowering.cpp.o X86ISelLowering.symbol \
	small_function.o throw_through.o
sqlite_parts := 0 1 2 3 4 5

.PHONY: peers all start link remote lazy jit cache tiers passes kernels maps corpus replaceable gc image packages \
	exe size
all: start link remote lazy jit cache tiers passes gc image packages exe size
start: $(addprefix $(out)/,spawn one)
link: $(addprefix $(out)/,spawn copy link calls tls throw lljit $(objects))
remote: $(addprefix $(out)/,tls dl dl_library.so dl_library.o many_symbols.so jit sqlite3.bc tiny.musl \
	$(foreach name,tls_dynamic tls_dynamic_descriptor,$(name).o $(name).so))
lazy: $(addprefix $(out)/,lazy lazy_loops.o)
jit: $(addprefix $(out)/,jit orc sqlite3.bc)
cache: $(addprefix $(out)/,spawn jit orc sqlite3.bc cached/product)
kernel_names := mandelbrot nbody spectral matrix search hash trees sort half try
tiers: $(addprefix $(out)/,jit orc corpus/sqlite.o corpus/lua.clang) $(BUILD)/tenon \
	$(foreach name,$(kernel_names),$(addprefix $(out)/passes/$(name).,twin twin.bc)) $(out)/passes/handlers.o
passes: $(out)/sqlite3.bc kernels corpus
corpus: $(foreach name,lua sqlite,$(addprefix $(out)/corpus/$(name).,ours clang))
replaceable: $(foreach name,lua sqlite,$(addprefix $(out)/corpus/$(name).,direct replaceable))
# With MACHINE=aarch64, those are for that machine.
kernels_out := $(out)/passes$(MACHINE:%=/%)
kernels: $(foreach name,$(kernel_names),$(addprefix $(kernels_out)/$(name).,managed polls twin)) \
	$(MACHINE:%=$(out)/count.so)
image: $(addprefix $(out)/,spawn image image-static many.so many.a sqlite3.bc)
package_names := base changed used kept direct large
packages: $(addprefix $(out)/,spawn packages $(package_names:%=package/%.image) package/sqlite.image \
	$(sqlite_parts:%=package/sqlite%.image) $(sqlite_parts:%=package/direct/sqlite%.image))
heap: $(addprefix $(out)/,spawn heap) $(BUILD)/tenon
gc_names := bt gcbench lru young latency
more_names := splay bdd strings ephemerons rewrite arrays
gc: $(out)/stop $(out)/call $(foreach name,$(gc_names),$(addprefix $(out)/gc/$(name).,managed bare twin)) peers
exe: $(addprefix $(out)/,spawn one.exe one.musl words.exe)
size:
$(shell mkdir -p $(out)/gc/peers $(out)/package $(kernels_out))

$(out)/%: bench/%.c bench/measure.c bench/measure.h
	$(compile) -static $< bench/measure.c -o $@

headers := $(wildcard bench/*.h)
$(out)/link: $(addprefix bench/,link.c small.c template.c threads.c measure.c) $(headers) $(BUILD)/libtenon.a
	$(compile) -Isrc -static $(filter %.c %.a,$^) -lelf -lz -o $@

$(addprefix $(out)/,throw lazy calls tls dl): $(out)/%: bench/%.c bench/measure.c bench/measure.h $(BUILD)/libtenon.a
	$(compile) -fexceptions $(filter %.c %.a,$^) -lelf -lz -o $@

# A product without LLVM, with the cache that it ships.
$(out)/cached/product: examples/cached/main.c $(BUILD)/tenon
	PKG_CONFIG_PATH=$(abspath $(BUILD))/pkgconfig $(MAKE) -s -C examples/cached OUT=$(abspath $(@D)) CC="$(CC)" >/dev/null

# A product without LLVM that compiles by a server, with a cache.
$(out)/tiny.musl: examples/tiny/main.c $(BUILD)/libtenon.a
	musl-gcc -O2 -static -s -Wl,--gc-sections $< \
		$$(PKG_CONFIG_PATH=$(BUILD)/pkgconfig pkg-config --cflags --libs --static tenon-musl) -o $@

# The peer. LLVM is a shared library here, as Debian's users have it.
$(out)/lljit: bench/lljit.c bench/template.c bench/measure.c $(headers)
	$(compile) -isystem $(llvm_prefix)/include $(filter %.c,$^) -L$(llvm_prefix)/lib -lLLVM -o $@

# The same module, compiled ahead of time and linked by ld.
$(out)/one: bench/one.ll $(BUILD)/tenon
	$(BUILD)/tenon compile $< -o $@.o && $(CC) -static $@.o -o $@

$(out)/small_function.o $(out)/throw_through.o $(out)/lazy_loops.o: $(out)/%.o: bench/%.s
	$(CC) -c $< -o $@

$(out)/tls_direct.o: tls_flags := -fPIE
$(out)/tls_asks.o: tls_flags := -fPIC
$(out)/tls_descriptor.o: tls_flags := -fPIC $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),-mtls-dialect=gnu2)
$(out)/tls_dynamic.o: tls_flags := -fPIC -DLARGE=8192
$(out)/tls_dynamic_descriptor.o: tls_flags := -fPIC -DLARGE=8192 -mtls-dialect=gnu2
$(tls_models:%=$(out)/%.o): bench/tls_access.c
	$(CC) -O2 $(tls_flags) -c $< -o $@

$(out)/dl_library.o: bench/dl_library.c
	$(CC) -O1 -fPIC -c $< -o $@

$(addprefix $(out)/,dl_library.so tls_dynamic.so tls_dynamic_descriptor.so): %.so: %.o
	$(CC) -shared $< -o $@

# A library with 1,000 symbols: half of them functions that refer to the others.
$(out)/many_symbols.so: bench/rules.mk
	for i in $$(seq 0 499); do echo "int v$$i = $$i; int f$$i(int x) { return v$$i + x; }"; done | \
		$(CC) -O1 -fPIC -shared -xc - -o $@

$(out)/sqlite3-sections.o: build/deps/sqlite3/sqlite3.c
	$(LLVM_BIN)/clang -O2 -fPIC -ffunction-sections -fdata-sections -w -c $< -o $@

# A large C++ object, as LLVM's own archive has it.
$(out)/X86ISelLowering.cpp.o: $(llvm_prefix)/lib/libLLVMX86CodeGen.a
	cd $(out) && ar x $< $(@F)
# One of its functions, for linkers that want a name; all are hidden ones.
$(out)/X86ISelLowering.symbol: $(out)/X86ISelLowering.cpp.o
	nm --defined-only $< | awk '$$2 == "T" { print $$3; exit }' >$@

$(out)/sqlite3.o: build/deps/sqlite3/sqlite3.c
	$(LLVM_BIN)/clang -O2 -fPIC -w -c $< -o $@

# ---- the same for every format and architecture; none of it runs, so the declarations of Linux do for all ----

other_objects := elf-x86-64 elf-aarch64 elf-riscv64 elf-riscv64-relaxed macho-x86-64 macho-aarch64 coff-x86-64 \
	coff-aarch64
.PHONY: instructions
instructions: $(out)/link $(patsubst %,$(out)/formats/%.o,$(other_objects) elf-riscv64-four \
	$(foreach part,one_symbol symbols labels one_byte bytes,$(other_objects:%=%.$(part))))
target_of.elf-x86-64 := x86_64-linux-gnu
target_of.elf-aarch64 := aarch64-linux-gnu
target_of.elf-riscv64 := riscv64-linux-gnu -mno-relax
target_of.elf-riscv64-relaxed := riscv64-linux-gnu -mrelax
target_of.macho-x86-64 := x86_64-apple-macos13
target_of.macho-aarch64 := arm64-apple-macos13
target_of.coff-x86-64 := x86_64-pc-windows-msvc
target_of.coff-aarch64 := aarch64-pc-windows-msvc

$(out)/formats/elf-%.o: build/deps/sqlite3/sqlite3.c
	@mkdir -p $(@D)
	$(LLVM_BIN)/clang --target=$(target_of.elf-$*) -O2 -fPIC -w -c $< -o $@
$(out)/formats/%.ll: build/deps/sqlite3/sqlite3.c
	@mkdir -p $(@D)
	$(LLVM_BIN)/clang --target=$(target_of.elf-$*) -O2 -fPIC -w -S -emit-llvm $< -o - | sed '/^target /d' >$@
of_ir = $(LLVM_BIN)/clang --target=$(target_of.$(basename $(@F))) -O2 -w -Wno-override-module -x ir -c $< -o $@
$(out)/formats/macho-%.o: $(out)/formats/%.ll
	$(of_ir)
$(out)/formats/coff-%.o: $(out)/formats/%.ll
	$(of_ir)
# Four times the same in one object, under names of their own.
$(out)/formats/elf-riscv64-four.o: $(out)/formats/elf-riscv64-relaxed.o
	for i in 1 2 3 4; do $(LLVM_BIN)/llvm-objcopy --prefix-symbols=copy$${i}_ $< $@.$$i || exit 1; done
	$(LLVM_BIN)/ld.lld -r $@.1 $@.2 $@.3 $@.4 -o $@
# Nothing but symbols; nothing but symbols of which only the first is global; nothing but bytes.
assemble = @mkdir -p $(@D); awk -v n=$(counted) $(1) | $(LLVM_BIN)/clang --target=$(target_of.$*) -x assembler -c - \
	-o $@
symbols = 'BEGIN { print ".data"; for (i = 0; i < n; i++) printf ".globl _s%d\n_s%d: .byte 0\n", i, i }'
labels = 'BEGIN { print ".data\n.globl _s0"; for (i = 0; i < n; i++) printf "_s%d: .byte 0\n", i }'
bytes = 'BEGIN { printf ".data\n.fill %d, 1, 1\n", n }'
$(out)/formats/%.one_symbol.o $(out)/formats/%.one_byte.o: counted := 1
$(out)/formats/%.symbols.o $(out)/formats/%.labels.o: counted := 10001
$(out)/formats/%.bytes.o: counted := 1000001
$(out)/formats/%.one_symbol.o: bench/rules.mk
	$(call assemble,$(symbols))
$(out)/formats/%.symbols.o: bench/rules.mk
	$(call assemble,$(symbols))
$(out)/formats/%.labels.o: bench/rules.mk
	$(call assemble,$(labels))
$(out)/formats/%.one_byte.o: bench/rules.mk
	$(call assemble,$(bytes))
$(out)/formats/%.bytes.o: bench/rules.mk
	$(call assemble,$(bytes))

# ---- Lua and SQLite: the same bitcode, which no pass has seen, by our pipeline and by clang's ----

$(out)/corpus/lua.bc: tests/programs/lua.c $(filter-out %/lua.c %/luac.c,$(wildcard build/deps/lua5.4/src/*.c))
$(out)/corpus/lua.bc: flags := -DLUA_USE_POSIX -Ibuild/deps/lua5.4/src
$(out)/corpus/sqlite.bc: tests/programs/sqlite.c build/deps/sqlite3/sqlite3.c
$(out)/corpus/sqlite.bc: flags := -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_OMIT_LOAD_EXTENSION \
	-Ibuild/deps/sqlite3
$(out)/corpus/%.bc:
	@mkdir -p $(@D)/$*
	for c in $^; do $(LLVM_BIN)/clang -O1 -Xclang -disable-llvm-passes -w $(flags) -c -emit-llvm $$c \
		-o $(@D)/$*/$$(basename $$c).bc || exit; done
	$(LLVM_BIN)/llvm-link $(@D)/$*/*.bc -o $@
$(out)/corpus/%.ours: $(out)/corpus/%.bc $(BUILD)/tenon
	$(BUILD)/tenon compile -O2 $< -o $@.o && $(CC) $@.o -lm -o $@
$(out)/corpus/%.replaceable: option := --replaceable
$(out)/corpus/%.direct $(out)/corpus/%.replaceable: $(out)/corpus/%.bc $(BUILD)/tenon
	$(BUILD)/tenon build $(option) -o $@.a $< && $(CC) -Wl,--whole-archive $@.a -Wl,--no-whole-archive -lm -o $@
$(out)/corpus/%.o: $(out)/corpus/%.bc
	$(LLVM_BIN)/clang -O2 -fPIC -c $< -o $@
$(out)/corpus/%.clang: $(out)/corpus/%.bc
	$(LLVM_BIN)/clang -O2 $< -lm -o $@

# ---- managed code: a host, and what `tenon compile` makes of collected C ----

$(out)/stop: bench/gc/stop.c $(out)/loop.o bench/measure.c $(headers) $(BUILD)/libtenon.a
	$(compile) -Ibench -static $(filter %.c %.o %.a,$^) -o $@

$(out)/call: bench/gc/call.c $(out)/caller.o $(out)/callee.o $(out)/inline.o bench/measure.c $(headers) \
	$(BUILD)/libtenon.a
	$(compile) -Ibench -static $(filter %.c %.o %.a,$^) -o $@

$(out)/loop.o: polls := --polls=loops
$(out)/inline.o: bench/gc/inline.cpp
$(out)/loop.o $(out)/caller.o $(out)/callee.o: $(out)/%.o: bench/gc/%.c
$(out)/loop.o $(out)/caller.o $(out)/callee.o $(out)/inline.o: include/tenon_managed.h bench/gc/empty.h $(BUILD)/tenon
	$(LLVM_BIN)/clang -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c $(filter %.c %.cpp,$^) -o $@.bc
	$(BUILD)/tenon compile -O2 --cpu x86-64 $(polls) $@.bc -o $@

# ---- the JIT, linked with LLVM's archives as a product would be, and its peer with LLVM's shared library ----

TARGETS ?= X86 AArch64 RISCV
include src/codegen/libs.mk
llvm_config := $(LLVM_BIN)/llvm-config

$(out)/jit: bench/jit.c bench/measure.c bench/query.h $(headers) $(BUILD)/libtenon_codegen.a $(BUILD)/libtenon.a
	$(compile) -c bench/jit.c -o $@.o
	$(compile) -c bench/measure.c -o $@.measure.o
	g++ -fuse-ld=lld -B$(LLVM_BIN) -Wl,--gc-sections $@.o $@.measure.o $(BUILD)/libtenon_codegen.a $(BUILD)/libtenon.a \
		$(shell $(llvm_config) --link-static --ldflags --libs $(LLVM_COMPONENTS)) -lelf -lz -lzstd -o $@

$(out)/orc: bench/orc.cpp bench/measure.c bench/query.h $(headers)
	$(compile) -c bench/measure.c -o $@.measure.o
	g++ -O2 -fno-rtti -Wall -Wextra -Werror $(filter -D% -std%,$(shell $(llvm_config) --cxxflags)) \
		-isystem $(llvm_prefix)/include bench/orc.cpp $@.measure.o -L$(llvm_prefix)/lib -lLLVM -o $@

$(out)/sqlite3.bc: build/deps/sqlite3/sqlite3.c
	$(LLVM_BIN)/clang -O2 -fPIC -w -emit-llvm -c $< -o $@

# ---- an image of many small functions, each with a loop, so that there is a version for every target ----

$(out)/image: bench/image.c bench/measure.c $(headers) $(BUILD)/libtenon.a
	$(compile) $(filter %.c %.a,$^) -o $@

$(out)/heap: bench/heap.c bench/measure.c $(headers) $(BUILD)/libtenon.a
	$(compile) $(filter %.c %.a,$^) -o $@

# glibc warns of dlopen there; it is not called.
$(out)/image-static: bench/image.c bench/measure.c $(headers) $(BUILD)/libtenon.a
	$(compile) -static -Wl,--no-warnings $(filter %.c %.a,$^) -o $@

$(out)/many.bc: bench/rules.mk
	awk 'BEGIN { for (i = 0; i < 10000; i++) { printf "int function_%d(unsigned a) { int n = %d; ", i, i; \
		print "for (; a > 1; n++) a = a & 1 ? 3 * a + 1 : a / 2; return n; }" } }' | \
		$(LLVM_BIN)/clang -O1 -Xclang -disable-llvm-passes -emit-llvm -x c -c - -o $@

$(out)/many.so $(out)/many.a: $(out)/many.bc $(BUILD)/tenon
	$(BUILD)/tenon build $(if $(filter %.so,$@),--kind=shared) -O 1 --targets 'x86-64;x86-64-v3;x86-64-v4' -o $@ $<

# ---- packages: `base` has 10,000 functions, `changed` two others; `used` calls half of them, `large` all ----

$(out)/packages: bench/packages.c bench/measure.c $(headers) $(BUILD)/libtenon_codegen.a
	PKG_CONFIG_PATH=$(abspath $(BUILD))/pkgconfig; export PKG_CONFIG_PATH; $(compile) $(filter %.c,$^) \
		$$(pkg-config --cflags --libs tenon-codegen) -lm -o $@

bases = awk -v changed=$(1) 'BEGIN { for (i = 0; i < 10000; i++) \
	printf "int b%d(int x) { return x + %d; }\n", i, i == changed || i == changed + 2 ? 77 + i : i }'
users = awk -v count=$(1) -v each=$(2) 'BEGIN { for (i = 0; i < count; i++) { text = ""; \
	for (k = i * each; k < (i + 1) * each; k++) { printf "int b%d(int x);\n", k; text = text " + b" k "(x)" } \
	printf "int f%d(int x) { return x%s; }\n", i, text } }'
$(out)/package/base.bc: program = $(call bases,-9)
$(out)/package/changed.bc: program = $(call bases,7)
$(out)/package/used.bc: program = $(call users,1000,5)
$(out)/package/large.bc: program = $(call users,10000,1)
$(out)/package/%.bc: bench/rules.mk
	$(program) | $(LLVM_BIN)/clang -O1 -Xclang -disable-llvm-passes -emit-llvm -x c -c - -o $@

package = $(BUILD)/tenon build --kind=image -O1 -o $@
of_base = --depends $(out)/package/base.image
with_copies = $(of_base) --use $(out)/package/base.bc
$(out)/package/base.image $(out)/package/changed.image: $(out)/package/%.image: $(out)/package/%.bc $(BUILD)/tenon
	$(package) --name base $<
$(out)/package/direct.image: $(out)/package/used.bc $(out)/package/base.image
	$(package) --name direct $(of_base) $<
$(out)/package/used.image: $(out)/package/used.bc $(out)/package/base.image
	$(package) --name used $(with_copies) $<
$(out)/package/kept.image: $(out)/package/used.bc $(out)/package/base.image
	$(package) --name kept --keep-ir $(with_copies) $<
$(out)/package/large.image: $(out)/package/large.bc $(out)/package/base.image
	$(package) --name large --keep-ir $(with_copies) $<

# ---- SQLite as one image, and as 6 packages, with copies of each other's bodies (sqlite0.image ...) and without
# (direct/sqlite0.image ...) ----

$(out)/split: bench/split.cpp
	$(CXX) -std=c++17 -O1 -w -fno-rtti -isystem $(llvm_prefix)/include $< -L$(llvm_prefix)/lib -lLLVM -o $@

$(out)/package/sqlite.bc: tests/programs/sqlite.c build/deps/sqlite3/sqlite3.c
	@mkdir -p $(@D)
	for c in $^; do $(LLVM_BIN)/clang -O1 -Xclang -disable-llvm-passes -w -fPIC -DSQLITE_ENABLE_FTS5 \
		-DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_OMIT_LOAD_EXTENSION -Ibuild/deps/sqlite3 -c -emit-llvm $$c \
		-o $(@D)/$$(basename $$c).bc || exit; done
	$(LLVM_BIN)/llvm-link $(@D)/sqlite.c.bc $(@D)/sqlite3.c.bc -o $@
$(sqlite_parts:%=$(out)/package/sqlite%.bc) &: $(out)/package/sqlite.bc $(out)/split
	$(out)/split $< $(out)/package/sqlite $(words $(sqlite_parts))

$(out)/package/sqlite.image: $(out)/package/sqlite.bc $(BUILD)/tenon
	$(BUILD)/tenon build --kind=image --name sqlite -o $@ $<
define sqlite_part
$(out)/package/sqlite$(1).image $(out)/package/direct/sqlite$(1).image: before = $(wordlist 1,$(1),$(sqlite_parts))
$(out)/package/sqlite$(1).image: $(out)/package/sqlite$(1).bc $(BUILD)/tenon
	$(BUILD)/tenon build --kind=image --name sqlite$(1) -o $$@ $$(before:%=--depends $(out)/package/sqlite%.image) \
		$$(before:%=--use $(out)/package/sqlite%.bc) $$<
$(out)/package/direct/sqlite$(1).image: $(out)/package/sqlite$(1).bc $(BUILD)/tenon
	@mkdir -p $$(@D)
	$(BUILD)/tenon build --kind=image --name sqlite$(1) -o $$@ \
		$$(before:%=--depends $(out)/package/direct/sqlite%.image) $$<
$(foreach before,$(wordlist 1,$(1),$(sqlite_parts)),$(eval $(out)/package/sqlite$(1).image: \
	$(out)/package/sqlite$(before).image)$(eval $(out)/package/direct/sqlite$(1).image: \
	$(out)/package/direct/sqlite$(before).image))
endef
$(foreach part,$(sqlite_parts),$(eval $(call sqlite_part,$(part))))

# ---- collected C: managed, the same without barriers, and its unmanaged twin; for a CPU that valgrind knows ----

collected = $(LLVM_BIN)/clang -O1 -Xclang -disable-llvm-passes -fno-omit-frame-pointer -Iinclude -emit-llvm -c $<
native := $(BUILD)/tenon compile -O2 --cpu x86-64
.SECONDARY:

$(out)/gc/%.bc: bench/gc/%.c bench/gc/workload.h include/tenon_managed.h
	$(collected) -o $@
$(out)/gc/%.twin.bc: bench/gc/%.c bench/gc/twin.h bench/gc/workload.h include/tenon_managed.h
	$(collected) -include bench/gc/twin.h -o $@
$(out)/gc/%.ll: $(out)/gc/%.bc $(BUILD)/tenon
	$(native) --emit llvm $< -o $@
$(out)/gc/%.bare.ll: $(out)/gc/%.ll
	sed 's/^  br i1 [^,]*, label \([^,]*\), label %log[0-9]*, .*/  br label \1/' $< >$@
$(out)/gc/%.managed.o: $(out)/gc/%.ll
	$(native) --passes= $< -o $@
$(out)/gc/%.bare.o: $(out)/gc/%.bare.ll
	$(native) --passes= $< -o $@
$(out)/gc/%.twin.o: $(out)/gc/%.twin.bc $(BUILD)/tenon
	$(native) $< -o $@
$(out)/gc/%: $(out)/gc/%.o $(BUILD)/libtenon.a
	$(CC) -static $^ -Wl,-u,tn_collector_concurrent -lpthread -o $@

# ---- kernels: collected C as a front end would emit it, with and without polls in loops, and its unmanaged twin ----

kernel_headers := $(addprefix bench/,passes/kernel.h passes/handlers.h gc/workload.h) include/tenon_managed.h
# Loops of half.c may add in any order, which their metadata says in the word of ours.
mark_loops = $(if $(filter half.%,$(@F)),sed -i 's/llvm.loop.mustprogress/tenon.simdloop/' $@)
ifeq ($(MACHINE),)
cpu = x86-64$(if $(filter half.%,$(@F)),-v3)
kernel_clang = $(LLVM_BIN)/clang -march=$(cpu)
kernel_native = $(BUILD)/tenon compile --cpu $(cpu)
kernel_cc := $(CC)
kernel_library := $(BUILD)/libtenon.a
else
kernel_clang = $(LLVM_BIN)/clang --target=$(MACHINE)-linux-gnu -isystem /usr/$(MACHINE)-linux-gnu/include
kernel_native = $(BUILD)/tenon compile --triple $(MACHINE)-linux-gnu
kernel_cc := $(MACHINE)-linux-gnu-gcc
kernel_library := $(BUILD)/$(MACHINE)-linux-gnu/libtenon.a
endif

$(kernels_out)/%.bc: bench/passes/%.c $(kernel_headers)
	$(kernel_clang) -O2 -Xclang -disable-llvm-passes -I. -Iinclude -emit-llvm -S $< -o $@
	$(mark_loops)
$(kernels_out)/%.twin.o: bench/passes/%.c bench/gc/twin.h $(kernel_headers)
	$(kernel_clang) -O2 -I. -Iinclude -include bench/gc/twin.h -c $< -o $@
$(kernels_out)/%.twin.bc: bench/passes/%.c bench/gc/twin.h $(kernel_headers)
	$(kernel_clang) -O2 -Xclang -disable-llvm-passes -I. -Iinclude -include bench/gc/twin.h -emit-llvm -c $< -o $@
$(kernels_out)/%.managed.o: $(kernels_out)/%.bc $(BUILD)/tenon
	$(kernel_native) -O2 $< -o $@
$(kernels_out)/%.polls.o: $(kernels_out)/%.bc $(BUILD)/tenon
	$(kernel_native) -O2 --polls=loops $< -o $@
$(kernels_out)/handlers.o: bench/passes/handlers.c bench/passes/handlers.h
	$(kernel_cc) -std=c11 -O2 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude -c $< -o $@
$(kernels_out)/%: $(kernels_out)/%.o $(kernels_out)/handlers.o $(kernel_library)
	$(kernel_cc) -static $^ -lm -lpthread -o $@
$(out)/count.so: tests/hosts/qemu/count.c
	$(compile) -fPIC -shared $< -o $@

# ---- stack maps of the programs of bench/gc, for any machine ----

maps_out := $(out)/maps$(MACHINE:%=/%)
$(shell mkdir -p $(maps_out))
maps: $(foreach name,$(gc_names) $(more_names),$(maps_out)/$(name).o)
$(maps_out)/%.bc: bench/gc/%.c bench/gc/workload.h include/tenon_managed.h
	$(kernel_clang) -O1 -Xclang -disable-llvm-passes -Iinclude -emit-llvm -c $< -o $@
$(maps_out)/%.ll: $(maps_out)/%.bc $(BUILD)/tenon
	$(kernel_native) -O2 --emit llvm $< -o $@
$(maps_out)/%.o: $(maps_out)/%.ll
	$(kernel_native) -O2 --passes= $< -o $@

# ---- the workloads with other memory managers (bench/gc/compare); those that are not installed are left out ----

MIMALLOC_DIR ?= build/deps/mimalloc
found = $(if $(shell command -v $1),$2)
peers := $(foreach name,$(gc_names),$(out)/gc/$(name).mimalloc) \
	$(if $(wildcard /usr/include/gc.h),$(addsuffix .boehm,$(addprefix $(out)/gc/,$(gc_names) \
	$(filter-out ephemerons,$(more_names))))) \
	$(call found,javac,$(out)/gc/peers/Workloads.class) $(call found,ocamlopt,$(out)/gc/peers/ocaml) \
	$(call found,go,$(out)/gc/peers/go)
peers: $(out)/rusage $(peers) $(foreach name,$(gc_names) $(more_names),$(out)/gc/$(name).managed)
plain = $(LLVM_BIN)/clang -O2 -Iinclude -include bench/gc/peers/malloc.h

$(out)/gc/mimalloc.o: $(MIMALLOC_DIR)/src/static.c
	$(CC) -O2 -w -DNDEBUG -I$(MIMALLOC_DIR)/include -c $< -o $@
$(out)/gc/%.mimalloc: bench/gc/%.c $(out)/gc/mimalloc.o bench/gc/workload.h bench/gc/peers/malloc.h
	$(plain) -I$(MIMALLOC_DIR)/include -static $< $(out)/gc/mimalloc.o -lpthread -o $@
$(out)/gc/%.boehm: bench/gc/%.c bench/gc/workload.h bench/gc/peers/malloc.h
	$(plain) -DBOEHM $< -lgc -o $@
$(out)/gc/peers/Workloads.class: bench/gc/peers/Workloads.java
	javac -d $(@D) $<
# The compiler leaves its files beside the source.
$(out)/gc/peers/ocaml: bench/gc/peers/workloads.ml
	cp $< $(@D)/ocaml.ml && ocamlopt -O3 -unsafe -inline 100 unix.cmxa $(@D)/ocaml.ml -o $@
$(out)/gc/peers/go: bench/gc/peers/workloads.go
	go build -o $@ $<

# ---- executables that are written without a linker ----

$(out)/one.exe: bench/one.ll
$(out)/words.exe: $(out)/words.bc
$(out)/%.exe: $(BUILD)/tenon
	$(BUILD)/tenon build --kind=exe -o $@ $(filter-out $(BUILD)/tenon,$^) && strip $@

$(out)/words.bc: examples/collected/words.c
	$(LLVM_BIN)/clang --target=x86_64-linux-musl -nostdlibinc -isystem $(MUSL_INCLUDE) -Iinclude -O1 -Xclang \
		-disable-llvm-passes \
		-emit-llvm -c $< -o $@

# The peer.
$(out)/one.musl: bench/one.ll $(BUILD)/tenon
	$(BUILD)/tenon compile $< -o $@.o && musl-gcc -static -s $@.o -o $@
