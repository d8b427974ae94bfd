# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

$(BUILD)/obj/tests/gc/%.c.o: extra = -Itests/gc/support -DDATA='"$(BUILD)/tests/gc/data/"'
