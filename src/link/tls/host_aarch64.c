/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What loaded AArch64 code calls with conventions of its own. These functions preserve nearly every register, so the
 * rare case, in which the thread's block lacks initial values, saves all that C may change. */

#include <sys/auxv.h>

#include "link/tls/tls.h"

_Static_assert(offsetof(struct tn__tls_header, newest) == 8, "");

const void *const tn__tls_dynamic_descriptor = NULL;

/* Vectors are longer than 128 bits. */
static uint32_t scalable __asm__("tn__tls_scalable") __attribute__((used));

void tn__tls_look(void)
{
    scalable = getauxval(AT_HWCAP) & HWCAP_SVE ? 1 : 0;
}

#define EACH32 "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"

/* Preserves every register but x30. A linker may lead here through a veneer, which needs the "bti c". The vectors lie
 * below x29, which is aligned to 16 bytes as the stack pointer is. */
__asm__(".pushsection .text.tn__tls_keeping,\"ax\",@progbits\n"
        ".arch_extension sve\n"
        ".type tn__tls_keeping,@function\n"
        ".balign 16\n"
        "tn__tls_keeping:\n"
        "    .cfi_startproc\n"
        "    hint #34\n" /* bti c */
        "    stp x29, x30, [sp, #-176]!\n"
        "    .cfi_def_cfa_offset 176\n"
        "    .cfi_offset x29, -176\n"
        "    .cfi_offset x30, -168\n"
        "    mov x29, sp\n"
        "    .cfi_def_cfa_register x29\n"
        "    stp x0, x1, [sp, #16]\n"
        "    stp x2, x3, [sp, #32]\n"
        "    stp x4, x5, [sp, #48]\n"
        "    stp x6, x7, [sp, #64]\n"
        "    stp x8, x9, [sp, #80]\n"
        "    stp x10, x11, [sp, #96]\n"
        "    stp x12, x13, [sp, #112]\n"
        "    stp x14, x15, [sp, #128]\n"
        "    stp x16, x17, [sp, #144]\n"
        "    mrs x1, nzcv\n"
        "    stp x18, x1, [sp, #160]\n"
        "    adrp x0, tn__tls_scalable\n"
        "    ldr w0, [x0, :lo12:tn__tls_scalable]\n"
        "    cbnz w0, 1f\n"
        "    sub sp, sp, #512\n"
        "    .irp n, " EACH32 "\n"
        "    str q\\n, [sp, #16 * \\n]\n"
        "    .endr\n"
        "    bl tn__tls_catch_up\n"
        "    .irp n, " EACH32 "\n"
        "    ldr q\\n, [sp, #16 * \\n]\n"
        "    .endr\n"
        "    b 2f\n"
        "1:  addvl sp, sp, #-17\n"
        "    addvl sp, sp, #-17\n"
        "    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "    str p\\n, [sp, #\\n, mul vl]\n"
        "    .endr\n"
        "    .irp n, " EACH32 "\n"
        "    str z\\n, [sp, #\\n + 2, mul vl]\n"
        "    .endr\n"
        "    bl tn__tls_catch_up\n"
        "    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
        "    ldr p\\n, [sp, #\\n, mul vl]\n"
        "    .endr\n"
        "    .irp n, " EACH32 "\n"
        "    ldr z\\n, [sp, #\\n + 2, mul vl]\n"
        "    .endr\n"
        "2:  mov sp, x29\n"
        "    ldp x18, x1, [sp, #160]\n"
        "    msr nzcv, x1\n"
        "    ldp x16, x17, [sp, #144]\n"
        "    ldp x14, x15, [sp, #128]\n"
        "    ldp x12, x13, [sp, #112]\n"
        "    ldp x10, x11, [sp, #96]\n"
        "    ldp x8, x9, [sp, #80]\n"
        "    ldp x6, x7, [sp, #64]\n"
        "    ldp x4, x5, [sp, #48]\n"
        "    ldp x2, x3, [sp, #32]\n"
        "    ldp x0, x1, [sp, #16]\n"
        "    ldp x29, x30, [sp], #176\n"
        "    .cfi_def_cfa sp, 0\n"
        "    .cfi_restore x29\n"
        "    .cfi_restore x30\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size tn__tls_keeping, .-tn__tls_keeping\n"
        ".popsection\n");

/* Without flags, which descriptors preserve: x1 becomes 0 if the thread's block has all initial values. */
#define DIFFERENCE                                                                                                     \
    "    adrp x1, :gottprel:tn_tls_reserve\n"                                                                          \
    "    ldr x1, [x1, :gottprel_lo12:tn_tls_reserve]\n"                                                                \
    "    mrs x2, tpidr_el0\n"                                                                                          \
    "    add x1, x1, x2\n"                                                                                             \
    "    ldr x1, [x1, #8]\n"                                                                                           \
    "    adrp x2, tn__tls_newest\n"                                                                                    \
    "    ldr x2, [x2, :lo12:tn__tls_newest]\n"                                                                         \
    "    sub x1, x1, x2\n"

#define CATCH_UP                                                                                                       \
    "    stp x29, x30, [sp, #-16]!\n"                                                                                  \
    "    .cfi_def_cfa_offset 16\n"                                                                                     \
    "    .cfi_offset x29, -16\n"                                                                                       \
    "    .cfi_offset x30, -8\n"                                                                                        \
    "    mov x29, sp\n"                                                                                                \
    "    bl tn__tls_keeping\n"                                                                                         \
    "    ldp x29, x30, [sp], #16\n"                                                                                    \
    "    .cfi_def_cfa_offset 0\n"                                                                                      \
    "    .cfi_restore x29\n"                                                                                           \
    "    .cfi_restore x30\n"

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
        "    stp x1, x2, [sp, #-16]!\n"
        "    .cfi_def_cfa_offset 16\n" DIFFERENCE /* */
        "    ldr x2, [sp, #8]\n"
        "    cbnz x1, 2f\n"
        "    ldr x1, [sp], #16\n"
        "    .cfi_def_cfa_offset 0\n"
        "1:  ldr x0, [x0, #8]\n"
        "    ret\n"
        "2:  .cfi_def_cfa_offset 16\n"
        "    ldr x1, [sp], #16\n"
        "    .cfi_def_cfa_offset 0\n" CATCH_UP /* */
        "    b 1b\n"
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
        "    mov x16, x1\n"
        "    mov x17, x2\n" DIFFERENCE /* */
        "    mov x2, x17\n"
        "    mov x17, x1\n"
        "    mov x1, x16\n"
        "    cbnz x17, 2f\n"
        "1:  ldr x0, [x0, #16]\n"
        "    mrs x16, tpidr_el0\n"
        "    add x0, x0, x16\n"
        "    ret\n"
        "2:\n" CATCH_UP /* */
        "    b 1b\n"
        "    .cfi_endproc\n"
        ".size tn__tlv_get_address, .-tn__tlv_get_address\n"
        ".popsection\n");
