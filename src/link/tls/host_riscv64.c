/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What loaded RISC-V code calls with conventions of its own. The descriptor's function preserves every register but
 * that of its result, so the rare case, in which the thread's block lacks initial values, saves all that C may
 * change. */

#include <sys/auxv.h>

#include "link/tls/tls.h"

_Static_assert(offsetof(struct tn__tls_header, newest) == 8, "");

const void *const tn__tls_dynamic_descriptor = NULL;

static uint32_t has_vectors __asm__("tn__tls_vectors") __attribute__((used));

void tn__tls_look(void)
{
    has_vectors = getauxval(AT_HWCAP) >> ('V' - 'A') & 1;
}

#define FLOATS(op)                                                                                                     \
    "    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"              \
    "    " op " f\\n, 8*\\n(sp)\n"                                                                                     \
    "    .endr\n"

#define GENERAL(op)                                                                                                    \
    "    " op " ra, 0(sp)\n"                                                                                           \
    "    " op " t0, 8(sp)\n"                                                                                           \
    "    " op " t1, 16(sp)\n"                                                                                          \
    "    " op " t2, 24(sp)\n"                                                                                          \
    "    " op " a0, 32(sp)\n"                                                                                          \
    "    " op " a1, 40(sp)\n"                                                                                          \
    "    " op " a2, 48(sp)\n"                                                                                          \
    "    " op " a3, 56(sp)\n"                                                                                          \
    "    " op " a4, 64(sp)\n"                                                                                          \
    "    " op " a5, 72(sp)\n"                                                                                          \
    "    " op " a6, 80(sp)\n"                                                                                          \
    "    " op " a7, 88(sp)\n"                                                                                          \
    "    " op " t3, 96(sp)\n"                                                                                          \
    "    " op " t4, 104(sp)\n"                                                                                         \
    "    " op " t5, 112(sp)\n"                                                                                         \
    "    " op " t6, 120(sp)\n"                                                                                         \
    "    " op " s0, 128(sp)\n"

/* Groups of 8 registers, from sp on; the length and type of vectors, which each move of whole registers leaves alone,
 * are in s1 and s2. */
#define VECTORS(op)                                                                                                    \
    "    csrr t1, 0xc22\n" /* vlenb */                                                                                 \
    "    slli t1, t1, 3\n"                                                                                             \
    "    mv t0, sp\n"                                                                                                  \
    "    " op " v0, (t0)\n"                                                                                            \
    "    add t0, t0, t1\n"                                                                                             \
    "    " op " v8, (t0)\n"                                                                                            \
    "    add t0, t0, t1\n"                                                                                             \
    "    " op " v16, (t0)\n"                                                                                           \
    "    add t0, t0, t1\n"                                                                                             \
    "    " op " v24, (t0)\n"

/* TLS descriptor (RISC-V ELF psABI, "TLS Descriptors"): a0 points at {this function, offset}, t0 is the return address;
 * answers the offset from the thread pointer in a0 and preserves every other register. */
__asm__(".pushsection .text.tn__tls_descriptor,\"ax\",@progbits\n"
        ".option push\n"
        ".option arch, +v\n"
        ".globl tn__tls_descriptor\n"
        ".hidden tn__tls_descriptor\n"
        ".type tn__tls_descriptor,@function\n"
        ".balign 4\n"
        "tn__tls_descriptor:\n"
        "    .cfi_startproc\n"
        "    .cfi_return_column t0\n"
        "    addi sp, sp, -16\n"
        "    .cfi_def_cfa_offset 16\n"
        "    sd t1, 0(sp)\n"
        "    sd t2, 8(sp)\n"
        "    la.tls.ie t1, tn_tls_reserve\n"
        "    add t1, t1, tp\n"
        "    ld t1, 8(t1)\n"
        "    ld t2, tn__tls_newest\n"
        "    sub t1, t1, t2\n"
        "    ld t2, 8(sp)\n"
        "    bnez t1, 2f\n"
        "1:  ld t1, 0(sp)\n"
        "    addi sp, sp, 16\n"
        "    .cfi_def_cfa_offset 0\n"
        "    ld a0, 8(a0)\n"
        "    jr t0\n"
        "2:  .cfi_def_cfa_offset 16\n"
        "    ld t1, 0(sp)\n"
        "    addi sp, sp, -144\n"
        "    .cfi_def_cfa_offset 160\n" GENERAL("sd") /* */
        "    addi s0, sp, 0\n"
        "    addi sp, sp, -272\n" FLOATS("fsd") /* */
        "    sd s1, 256(sp)\n"
        "    sd s2, 264(sp)\n"
        "    lw t1, tn__tls_vectors\n"
        "    beqz t1, 3f\n"
        "    csrr s1, 0xc20\n" /* vl */
        "    csrr s2, 0xc21\n" /* vtype */
        "    csrr t1, 0xc22\n"
        "    slli t1, t1, 5\n"
        "    sub sp, sp, t1\n" VECTORS("vs8r.v")          /* */
        "    call tn__tls_catch_up\n" VECTORS("vl8re8.v") /* */
        "    vsetvl zero, s1, s2\n"
        "    j 4f\n"
        "3:  call tn__tls_catch_up\n"
        "4:  addi sp, s0, -272\n" FLOATS("fld") /* */
        "    ld s1, 256(sp)\n"
        "    ld s2, 264(sp)\n"
        "    mv sp, s0\n" GENERAL("ld") /* */
        "    addi sp, sp, 144\n"
        "    .cfi_def_cfa_offset 16\n"
        "    j 1b\n"
        "    .cfi_endproc\n"
        ".size tn__tls_descriptor, .-tn__tls_descriptor\n"
        ".option pop\n"
        ".popsection\n");

/* There are no Mach-O objects for RISC-V. */
__asm__(".hidden tn__tlv_get_address\n"
        ".globl tn__tlv_get_address\n"
        ".set tn__tlv_get_address, tn__tls_descriptor\n");
