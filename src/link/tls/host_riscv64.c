/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What loaded RISC-V code calls with conventions of its own. */

#include "link/tls/tls.h"

/* TLS descriptor (RISC-V ELF psABI, "TLS Descriptors"): a0 points at {this function, offset}, t0 is the return address;
 * answers the offset from the thread pointer in a0 and preserves every other register. */
__asm__(".pushsection .text.tn__tls_descriptor,\"ax\",@progbits\n"
        ".globl tn__tls_descriptor\n"
        ".hidden tn__tls_descriptor\n"
        ".type tn__tls_descriptor,@function\n"
        ".balign 4\n"
        "tn__tls_descriptor:\n"
        "    .cfi_startproc\n"
        "    .cfi_return_column t0\n"
        "    ld a0, 8(a0)\n"
        "    jr t0\n"
        "    .cfi_endproc\n"
        ".size tn__tls_descriptor, .-tn__tls_descriptor\n"
        ".popsection\n");

/* There are no Mach-O objects for RISC-V. */
__asm__(".hidden tn__tlv_get_address\n"
        ".globl tn__tlv_get_address\n"
        ".set tn__tlv_get_address, tn__tls_descriptor\n");
