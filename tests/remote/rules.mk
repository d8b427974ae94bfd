# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

$(BUILD)/obj/tests/remote/%.c.o: extra = -Itests/remote/support
$(BUILD)/tests/remote/frames: LDFLAGS += -Wl,--wrap=tn__os_send
