# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# The rest of the groups of groups_1.s.

        .section table$n,"dr"
        .byte   5
        .section table$m,"dr"
        .byte   4
        .section table$y,"dr",discard,once
        .globl  once
once:   .byte   6
        .section other$w,"dr"
        .byte   3
        .section "other!","dr"
        .byte   8
