# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiled for another version of the runtime ABI.

    other_abi = 1
    .include "managed.inc"
    abi 99
    safepoints 1, 2
