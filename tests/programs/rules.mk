# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# ---- Lua, zlib with zstd, and SQLite, which several scripts run: made once ----
#
# bitcode/NAME/*.bc     each source, as clang's own, unoptimised output, so that the levels of tenon differ
# bitcode/NAME.bc       all of them as one module
# bitcode/NAME.plain    the ordinary program
#
# SQLite is position-independent code, the others are not.

ifdef with_llvm
deps := build/deps
bitcode := $(BUILD)/tests/programs/bitcode
bitcode_names := lua compress sqlite

lua_sources := tests/programs/lua.c \
	$(filter-out %/lua.c %/luac.c,$(wildcard $(deps)/lua5.4/src/*.c))
lua_flags := -DLUA_USE_POSIX -I$(deps)/lua5.4/src
compress_sources := tests/programs/roundtrip.c $(wildcard $(deps)/zlib/*.c \
	$(addprefix $(deps)/libzstd/lib/,common/*.c compress/*.c decompress/*.c))
compress_flags := -DZSTD_DISABLE_ASM=1 -DHAVE_UNISTD_H -I$(deps)/zlib -I$(deps)/libzstd/lib
sqlite_sources := tests/programs/sqlite.c $(deps)/sqlite3/sqlite3.c
sqlite_flags := -fPIC -DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_MATH_FUNCTIONS -DSQLITE_OMIT_LOAD_EXTENSION \
	-I$(deps)/sqlite3

bitcode_clang := $(llvm_bin)/clang -O1 -Xclang -disable-llvm-passes -w -emit-llvm
define bitcode_rules
$(foreach source,$($(1)_sources),$(eval $(call bitcode_rule,$(1),$(source))))
$(bitcode)/$(1).bc: $(foreach source,$($(1)_sources),$(call bitcode_of,$(1),$(source)))
	$$(call step,LLVM)$(llvm_bin)/llvm-link $$^ -o $$@
$(bitcode)/$(1).plain: $(bitcode)/$(1).bc
	$$(call step,LINK)$(llvm_bin)/clang -O0 $$< -lm -o $$@
test-build test-slow: $(bitcode)/$(1).plain
endef
# $(call bitcode_of,NAME,SOURCE)
bitcode_of = $(bitcode)/$(1)/$(notdir $(basename $(2))).bc
define bitcode_rule
$(call bitcode_of,$(1),$(2)): $(2) $(call stamp,$(1)_flags) $(call stamp,bitcode_clang)
	@mkdir -p $$(@D)
	$$(call step,CLANG)$(bitcode_clang) $($(1)_flags) -c $$< -o $$@
endef
$(foreach name,$(bitcode_names),$(eval $(call bitcode_rules,$(name))))
endif
