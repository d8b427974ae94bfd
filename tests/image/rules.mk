# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

$(BUILD)/obj/tests/image/%.c.o: extra = -Itests/image/support -Itests/gc/copying

cross_wanted += tests/image/data/exits.o

# What slow/graphs.sh runs.
test-slow: $(if $(SANITIZE),,$(BUILD)/tests/image/save/graphs)
