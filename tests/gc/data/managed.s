# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A function with two safepoints, as far as its stack map says, and two words that hold references.

    .include "managed.inc"
    safepoints 1, 2
    roots words, 2
