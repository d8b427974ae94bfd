# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# HOST=aarch64-linux-gnu, HOST=riscv64-linux-gnu: the runtime for another machine, by the cross compiler of that name. A
# build directory belongs to one machine, so a make of its own builds there.

cross_hosts := aarch64-linux-gnu riscv64-linux-gnu

ifneq ($(HOST),)
cross := $(HOST)-
CC := $(HOST)-gcc
CXX := $(HOST)-g++
else
.PHONY: cross
cross: $(cross_hosts:%=$(BUILD)/%/libtenon.a)
$(cross_hosts:%=$(BUILD)/%/libtenon.a): $(BUILD)/%/libtenon.a: FORCE
	+@$(MAKE) $(if $(V),,-s) --no-print-directory -f tools/build/rules.mk HOST=$* LLVM=0 BUILD=$(BUILD)/$* SANITIZE= $@
endif
