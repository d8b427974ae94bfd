# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What oracle.c's objects refer to; rules.mk tells ld.lld where it goes. In a section, because ld.lld does not rewrite loads of
# absolute symbols.

    .section .near, "ax", @nobits
    .zero 0x10
    .globl host_function
    .type host_function, @function
host_function:
    .zero 0x10
    .globl __tls_get_addr
    .type __tls_get_addr, @function
__tls_get_addr:
    .zero 0x1fe0
    .globl host_datum
host_datum:
    .zero 8
