# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

$(BUILD)/obj/tests/image/%.c.o: extra = -Itests/image/support

cross_wanted += tests/image/data/exits.o
