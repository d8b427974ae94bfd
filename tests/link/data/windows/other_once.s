# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# A copy of a group in comdat_1.s that is not as the others have to be.

        .section .rdata,"dr",one_only,same_size
        .globl  same_size
same_size:
        .quad   8
