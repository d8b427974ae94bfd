/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Where the kernel jumps to. The stack is aligned; but for what it points to, libc expects nothing of the kernel. */
__asm__(".pushsection .text.tn__stub_start, \"ax\"\n"
        ".globl tn__stub_start\n"
        "tn__stub_start:\n"
        "    bl tn__stub_relocate\n"
        "    b _start\n"
        ".popsection");

/* Thread-local data begins at a distance above the thread pointer that depends on its alignment. An image whose data
 * is aligned alike joins it there, so the stub's has the largest alignment that is supported
 * (TN_TLS_RESERVE_ALIGNMENT). */
__asm__(".pushsection .tbss.tn__first, \"awT\", @nobits\n"
        ".balign 64\n"
        ".skip 1\n"
        ".popsection");
