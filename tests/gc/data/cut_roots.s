# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The last range of references is cut off.

    .include "managed.inc"
    safepoints 1, 2
    roots words, 2
    .long words - .
