# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# make fuzz-long: the same for 20 minutes each.
# make fuzz SECONDS=60: runs each entry of tests/fuzz for that long under ASan and UBSan, starting from the objects and
# archives that the linker's tests use ($(SEEDS)), its corpus, and what earlier runs found ($(out)/found).
# make fuzz-corpus: adds small inputs that were found and reach code that no seed reaches to tests/fuzz/corpus, which
# make test replays.
# Read by rules.mk of a build whose compiler is clang, with SANITIZE set.

SECONDS ?= 60
out := $(BUILD)/run
targets := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/*.c))
seeds := $(wildcard $(foreach end,o a lib so,$(SEEDS)/link/data/*.$(end) $(SEEDS)/link/data/*/*.$(end)))
fuzzed := -max_len=65536 -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=64

# $(call each_entry,COMMANDS): they find $name and $target, and the seeds in a folder.
each_entry = @for target in $(targets); do name=$${target\#\#*/}; \
	mkdir -p $(out)/found/$$name $(out)/seeds/$$name tests/fuzz/corpus/$$name; \
	for seed in $(seeds); do [ $$(stat -c %s $$seed) -gt 65536 ] || cp -u $$seed $(out)/seeds/$$name; done; \
	$(1); done

.PHONY: fuzz fuzz-long fuzz-corpus
fuzz-long: SECONDS := 1200
fuzz-long: fuzz
fuzz: $(targets)
	$(call each_entry,echo "$$name: $(SECONDS) s"; \
		$$target $(fuzzed) -max_total_time=$(SECONDS) -verbosity=0 -print_final_stats=1 -artifact_prefix=$(out)/$$name- \
			$(out)/found/$$name $(out)/seeds/$$name tests/fuzz/corpus/$$name \
			>$(out)/$$name.log 2>&1 || { tail -40 $(out)/$$name.log; exit 1; }; \
		grep -E 'number_of_executed_units|new_units_added' $(out)/$$name.log)

fuzz-corpus: $(targets)
	$(call each_entry,rm -rf $(out)/small $(out)/merged; mkdir -p $(out)/small; \
		find $(out)/found/$$name -type f -size -4097c -exec cp -t $(out)/small {} +; \
		cp -r $(out)/seeds/$$name $(out)/merged && cp -r tests/fuzz/corpus/$$name/. $(out)/merged; \
		$$target $(fuzzed) -merge=1 -use_counters=0 $(out)/merged $(out)/small >$(out)/$$name.log 2>&1 || exit 1; \
		for new in $(out)/merged/*; do \
			[ -e $(out)/seeds/$$name/$${new##*/} ] || cp -n $$new tests/fuzz/corpus/$$name; done; \
		du -sh tests/fuzz/corpus/$$name)

$(BUILD)/fuzz/%: $(BUILD)/obj/tests/fuzz/%.c.o $(BUILD)/libtenon.a
	@mkdir -p $(@D)
	$(call step,LINK)$(CC) $(sanitizer) -fsanitize=fuzzer $(filter %.o,$^) $(filter %.a,$^) -o $@
