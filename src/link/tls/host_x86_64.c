/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What loaded x86-64 code calls with conventions of its own. */

#include "link/tls/tls.h"

/* TLS descriptor (Oliva and Araujo, "Thread-Local Storage Descriptors"): %rax points at {this function, offset};
 * answers the offset from the thread pointer in %rax and preserves every other register. */
__asm__(".pushsection .text.tn__tls_descriptor,\"ax\",@progbits\n"
        ".globl tn__tls_descriptor\n"
        ".hidden tn__tls_descriptor\n"
        ".type tn__tls_descriptor,@function\n"
        ".balign 16\n"
        "tn__tls_descriptor:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    movq 8(%rax), %rax\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size tn__tls_descriptor, .-tn__tls_descriptor\n"
        ".popsection\n");

/* Descriptor of a variable in a Mach-O object (Darwin's convention): %rdi points at {this function, a number, the
 * distance from the thread pointer}; answers the address in %rax and preserves every other register. */
__asm__(".pushsection .text.tn__tlv_get_address,\"ax\",@progbits\n"
        ".globl tn__tlv_get_address\n"
        ".hidden tn__tlv_get_address\n"
        ".type tn__tlv_get_address,@function\n"
        ".balign 16\n"
        "tn__tlv_get_address:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    movq 16(%rdi), %rax\n"
        "    addq %fs:0, %rax\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size tn__tlv_get_address, .-tn__tlv_get_address\n"
        ".popsection\n");
