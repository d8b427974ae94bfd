# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The second range of references is larger than all data of the object.

    .include "managed.inc"
    safepoints 1, 2
    roots words, 2
    roots words, 0x10000
