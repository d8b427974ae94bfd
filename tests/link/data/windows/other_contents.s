# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# A copy of a group in comdat_1.s that is not as the others have to be.

        .section .rdata,"dr",same_contents,identical
        .globl  identical
identical:
        .quad   8
