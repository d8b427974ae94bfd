# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What makes the command smaller, and start faster; doc/FIGURES.md says what each part saves. `make SMALL=0` does
# without. Read by tools/build/rules.mk.

# Stand-ins for unused parts of LLVM, ahead of its archives: absent.cpp. Tests of the code generator have them too.
TOOL_ABSENT := $(call obj,tools/build/small/absent.cpp)

include tools/build/small/tables.mk
include tools/build/small/unretain.mk
include tools/build/small/order.mk
