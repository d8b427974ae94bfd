# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make fuzz SECONDS=60: each entry of tests/fuzz runs for that long under ASan and UBSan, beginning with the objects and
# archives that the linker's tests use ($(SEEDS)) and with what was found before ($(out)/found). Read by rules.mk of a build whose
# compiler is clang, with SANITIZE set.

SECONDS ?= 60
out := $(BUILD)/run
targets := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/*.c))
seeds := $(wildcard $(SEEDS)/link/data/*.o $(SEEDS)/link/data/*.a)

.PHONY: fuzz
fuzz: $(targets)
	@for target in $(targets); do name=$${target##*/}; \
		mkdir -p $(out)/found/$$name $(out)/seeds/$$name; \
		for seed in $(seeds); do [ $$(stat -c %s $$seed) -gt 65536 ] || cp -u $$seed $(out)/seeds/$$name; done; \
		echo "$$name: $(SECONDS) s"; \
		$$target -max_total_time=$(SECONDS) -max_len=65536 -timeout=10 -rss_limit_mb=1024 -verbosity=0 -print_final_stats=1 \
			-artifact_prefix=$(out)/$$name- $(out)/found/$$name $(out)/seeds/$$name $(wildcard tests/fuzz/corpus/$$name) \
			>$(out)/$$name.log 2>&1 || { tail -40 $(out)/$$name.log; exit 1; }; \
		grep -E 'number_of_executed_units|new_units_added' $(out)/$$name.log; done

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.c.o $(BUILD)/libtenon.a
	@mkdir -p $(@D)
	$(call step,LINK)$(CC) $(sanitizer) -fsanitize=fuzzer $^ -o $@
