/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Where the kernel jumps to. The stack is aligned; but for what it points to, libc expects nothing of the kernel. */
__asm__(".pushsection .text.tn__stub_start, \"ax\"\n"
        ".globl tn__stub_start\n"
        "tn__stub_start:\n"
        "    call tn__stub_relocate\n"
        "    jmp _start\n"
        ".popsection");
