# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# ---- the protocols, checked by spin ----

.PHONY: models
models:
	@$(run_tests) $(wildcard tests/models/slow/*.sh)
	@tests/models/changed --record

# ---- qemu/: the storm of code instances on a processor with weaker memory order ----

storm := $(BUILD)/tests/models/qemu/instance_storm-aarch64
$(storm): tests/link/instance/instance_storm.c $(BUILD)/aarch64-linux-gnu/libtenon.a
	@mkdir -p $(@D)
	$(call step,LINK)aarch64-linux-gnu-gcc -std=c11 -O2 -D_GNU_SOURCE $(c_warnings) -Iinclude -Isrc -static -pthread $^ \
		-o $@

qemu-build: $(storm)
