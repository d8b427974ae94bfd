# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# ---- the protocols, checked by spin ----

.PHONY: models
models:
	@LIMIT=1800 $(run_tests) $(wildcard tests/models/slow/*.sh)

# ---- qemu/: the storm of code instances on a processor with weaker memory order ----

storm := $(BUILD)/tests/models/qemu/instance_storm-aarch64
storm_src := tests/link/instance/instance_storm.c tests/models/qemu/no_sessions.c \
	src/link/instance/instance.c src/base/thread.c src/base/error.c

$(storm): $(storm_src) $(wildcard src/base/*.h src/link/*/*.h include/*.h include/tenon/*.h)
	@mkdir -p $(@D)
	$(call step,LINK)aarch64-linux-gnu-gcc -std=c11 -O2 -D_GNU_SOURCE $(c_warnings) -Iinclude -Isrc -static -pthread \
		$(filter %.c,$^) -o $@

test-qemu: $(storm)
