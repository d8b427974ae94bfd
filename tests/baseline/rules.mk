# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Its allocations fail one after the other.
wrapped_here := tn__alloc tn__alloc_zeroed tn__realloc tn__grow
$(BUILD)/tests/baseline/flat: LDFLAGS += $(wrapped_here:%=-Wl,--wrap=%)
