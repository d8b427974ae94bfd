# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

$(BUILD)/obj/tests/cache/%.c.o: extra = -Itests/cache/support
