# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A word that holds a reference is not aligned.

    .include "managed.inc"
    safepoints 1, 2
    roots words+4, 1
