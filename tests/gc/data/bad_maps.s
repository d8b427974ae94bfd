# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The second return address is not behind the first.

    .include "managed.inc"
    safepoints 2, 2
    roots words, 2
