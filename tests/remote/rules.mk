# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

$(BUILD)/obj/tests/remote/%.c.o: extra = -Itests/remote/support
$(BUILD)/tests/remote/server: LDFLAGS += -Wl,--wrap=tn__os_enter_sandbox
$(BUILD)/tests/remote/frames: LDFLAGS += -Wl,--wrap=tn__os_send,--wrap=tn__os_end_child
