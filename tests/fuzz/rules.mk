# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

$(BUILD)/obj/tests/fuzz/%.c.o: extra = -Itests/fuzz
