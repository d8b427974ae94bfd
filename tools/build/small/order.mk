# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The order of the tool's functions in memory (TOOL_ORDER), taken from watched runs of a tool linked without it: what a
# start touches lies side by side. It halves the memory of a run and saves a sixth of its time.
# tools/build/small/order.c.
#
# It takes another link, so only `make release` makes it (RELEASE=1). Later links in that folder use it as it is: names
# that are gone are passed over.

ifeq ($(firstword $(subst -, ,$(shell $(CC) -dumpmachine))),x86_64)
tool_order := $(BUILD)/gen/order.txt
TOOL_ORDER := $(if $(filter 1,$(RELEASE)),$(tool_order),$(wildcard $(tool_order)))
endif

ifneq ($(and $(TOOL_ORDER),$(filter 1,$(RELEASE))),)
$(BUILD)/gen/order: tools/build/small/order.c $(call stamp,compile_here)
	@mkdir -p $(@D)
	$(call step,CC)$(compile_here) $< -o $@ -lelf

# The least program first, what others need behind it. Names that come again are passed over.
watched := tools/build/small/start.ll tools/build/small/order.ll
watch_all = for ll in $(watched); do for level in 2 0; do \
	$< $(@D)/tenon.unordered run -O$$level $$ll || exit; done; done

$(tool_order): $(BUILD)/gen/order $(watched) $(tool_parts) $(call stamp,link_tool) $(call stamp,watch_all)
	$(call step,LINK)$(link_tool) -o $(@D)/tenon.unordered
	$(call step,ORDER)($(watch_all)) >$@
	@rm $(@D)/tenon.unordered
endif
