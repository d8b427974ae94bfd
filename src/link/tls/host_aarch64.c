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

/* Descriptor of a variable in a Mach-O object (Darwin's convention): x0 points at {this function, a number, the
 * distance from the thread pointer}; answers the address in x0 and preserves every register but x16 and x17. */
__asm__(".pushsection .text.tn__tlv_get_address,\"ax\",@progbits\n"
        ".globl tn__tlv_get_address\n"
        ".hidden tn__tlv_get_address\n"
        ".type tn__tlv_get_address,@function\n"
        ".balign 16\n"
        "tn__tlv_get_address:\n"
        "    .cfi_startproc\n"
        "    hint #34\n" /* bti c */
        "    ldr x0, [x0, #16]\n"
        "    mrs x16, tpidr_el0\n"
        "    add x0, x0, x16\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size tn__tlv_get_address, .-tn__tlv_get_address\n"
        ".popsection\n");
