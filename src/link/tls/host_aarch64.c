/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What loaded AArch64 code calls with conventions of its own. */

#include "link/tls/tls.h"

/* TLS descriptor (ELF for the Arm 64-bit Architecture, "Thread Local Storage"): x0 points at {this function, offset};
 * answers the offset from the thread pointer in x0 and preserves every other register. */
__asm__(".pushsection .text.tn__tls_descriptor,\"ax\",@progbits\n"
        ".globl tn__tls_descriptor\n"
        ".hidden tn__tls_descriptor\n"
        ".type tn__tls_descriptor,@function\n"
        ".balign 16\n"
        "tn__tls_descriptor:\n"
        "    .cfi_startproc\n"
        "    hint #34\n" /* bti c */
        "    ldr x0, [x0, #8]\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size tn__tls_descriptor, .-tn__tls_descriptor\n"
        ".popsection\n");
