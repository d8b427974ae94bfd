# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the Makefile's variables turn into. One rule per kind of file; the lists come from the folders.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# ---- flags ----

SAN_FLAGS := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
CPPFLAGS += -Iinclude -Isrc -D_GNU_SOURCE
CFLAGS += -std=c11 $(OPT) -g -fPIC -ffunction-sections -fdata-sections -fvisibility=hidden $(WARN) $(SAN_FLAGS)
DEPFLAGS = -MMD -MP -MF $@.d

# LLVM is asked lazily: `make setup` has to work before it is there.
llvm = $(shell $(LLVM_CONFIG) $(1))
LLVM_BIN = $(call llvm,--bindir)
LLVM_CXXFLAGS = -std=c++17 -fno-exceptions -fno-rtti -isystem $(call llvm,--includedir) -D_GNU_SOURCE \
	-D__STDC_CONSTANT_MACROS -D__STDC_FORMAT_MACROS -D__STDC_LIMIT_MACROS
LLVM_TARGET_DEFS = $(foreach t,$(TARGETS),-DTN_TARGET_$(t)=1)
LLVM_COMPONENTS = irreader bitreader bitwriter $(foreach t,$(TARGETS),$(lower)) \
	$(foreach t,$(TARGETS),$(t)codegen $(t)asmparser)

# ---- sources ----

BASE_SRC := $(wildcard src/base/*.c)
LINK_SRC := $(wildcard src/link/*.c)
CODEGEN_SRC := $(wildcard src/codegen/*.c)
CODEGEN_CXX := $(wildcard src/codegen/*.cpp)
TOOL_SRC := $(wildcard tools/*.c)
obj = $(patsubst %,$(BUILD)/obj/%.o,$(1))

# alloc.c is bound to mimalloc below.
RUNTIME_OBJ := $(filter-out %/alloc.c.o,$(call obj,$(BASE_SRC) $(LINK_SRC))) $(BUILD)/obj/alloc_mimalloc.o

.PHONY: all runtime setup check-setup
all: check-setup
	$(MAKE) --no-print-directory $(if $(filter 0,$(LLVM)),runtime,tool)

runtime: $(BUILD)/libtenon.a
tool: $(BUILD)/libtenon.a $(BUILD)/libtenon_codegen.a $(BUILD)/tenon

setup check-setup:
	@LLVM=$(LLVM) LLVM_CONFIG=$(LLVM_CONFIG) MIMALLOC_DIR=$(MIMALLOC_DIR) tools/build/setup.sh $@

# ---- compiling ----

$(BUILD)/obj/%.c.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(EXTRA_$(notdir $*)) $(DEPFLAGS) -c $< -o $@

$(call obj,$(CODEGEN_SRC)): CPPFLAGS += -isystem $(call llvm,--includedir) $(LLVM_TARGET_DEFS)
$(BUILD)/obj/src/base/alloc.c.o: CPPFLAGS += -isystem $(MIMALLOC_DIR)/include

$(BUILD)/obj/%.cpp.o: %.cpp
	@mkdir -p $(@D)
	$(CXX) -Iinclude -Isrc $(LLVM_CXXFLAGS) $(OPT) -g -fPIC -ffunction-sections -fdata-sections -fvisibility=hidden \
		-Wall -Wextra -Werror $(SAN_FLAGS) $(DEPFLAGS) -c $< -o $@

# mimalloc comes as one source file. Only tn__ names leave the member that holds it.
$(BUILD)/obj/mimalloc.o: $(MIMALLOC_DIR)/src/static.c
	@mkdir -p $(@D)
	$(CC) -O2 -fPIC -DNDEBUG -ffunction-sections -fdata-sections -fvisibility=hidden -I$(MIMALLOC_DIR)/include -w -c $< -o $@

$(BUILD)/obj/alloc_mimalloc.o: $(BUILD)/obj/src/base/alloc.c.o $(BUILD)/obj/mimalloc.o
	ld -r $^ -o $@.tmp
	objcopy --wildcard --keep-global-symbol='tn__*' $@.tmp $@
	@rm $@.tmp

# ---- archives ----

$(BUILD)/libtenon.a: $(RUNTIME_OBJ)
	@rm -f $@
	ar rcsD $@ $^

$(BUILD)/libtenon_codegen.a: $(call obj,$(CODEGEN_SRC) $(CODEGEN_CXX))
	@rm -f $@
	ar rcsD $@ $^

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
