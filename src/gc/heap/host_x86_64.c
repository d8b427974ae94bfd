/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tn_managed_begin and tn_managed_end on x86-64: they tell the runtime which levels their caller cannot have called
 * any more: those whose `sp` is at most the number that is passed on, a word below their caller's stack. */

#define WITH_STACK(name, function)                                                                                     \
    ".pushsection .text." name ",\"ax\",@progbits\n"                                                                   \
    ".globl " name "\n"                                                                                                \
    ".type " name ",@function\n"                                                                                       \
    ".balign 16\n" name ":\n"                                                                                          \
    "    .cfi_startproc\n"                                                                                             \
    "    endbr64\n"                                                                                                    \
    "    leaq -8(%rsp), %rdi\n"                                                                                        \
    "    jmp " function "\n"                                                                                           \
    "    .cfi_endproc\n"                                                                                               \
    ".size " name ", .-" name "\n"                                                                                     \
    ".popsection\n"

__asm__(WITH_STACK("tn_managed_begin", "tn__managed_begin") WITH_STACK("tn_managed_end", "tn__managed_end"));
