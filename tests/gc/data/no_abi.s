# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Does not say for which version of the runtime ABI it is.

    other_abi = 1
    .include "managed.inc"
    roots words, 2
