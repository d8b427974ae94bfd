/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* ELF for x86-64: System V psABI 1.0, section 4.4 (relocation types).
 *
 * Every address in an instruction is a 32-bit displacement from the end of the field or a 32-bit absolute number, so
 * everything an object reaches without a GOT has to lie within 2 GiB of it, or below 2 GiB. Calls (PLT32) may go
 * through a stub instead. */

#include <elf.h>

#include "link/arch/x86_64/x86_64.h"
#include "link/model/object.h"

#define ROW(number, name, value, field, bits, flags, slot, relax)                                                      \
    [number] = TN__ROW("R_X86_64_" #name, TN__V_##value, TN__F_##field, 1 << TN__F_##field, bits, flags,               \
                       TN__SLOT_##slot, relax)
#define R(no, name, value, field, bits, flags)       ROW(no, name, value, field, bits, flags, NONE, 0)
#define G(no, name, value, field, bits, flags, slot) ROW(no, name, value, field, bits, flags, slot, 0)
#define X(no, name, flags, form)                     ROW(no, name, G_A_P, LE32, 32, flags, ADDRESS, TN__X86_64_##form)

#define SIGNED   TN__R_SIGNED
#define UNSIGNED TN__R_UNSIGNED
#define STUB     TN__R_STUB
#define LOW      TN__R_LOW
#define TLS      TN__R_TLS
#define PROGRAM  TN__R_PROGRAM

/* no. name, value, field, bits, flags, GOT slot; X: loads that relax.c may rewrite */
static const struct tn__row rows[] = {
    R(0, NONE, NONE, LE8, 0, 0),
    R(1, 64, S_A, LE64, 64, 0),
    R(2, PC32, S_A_P, LE32, 32, SIGNED),
    G(3, GOT32, G_A_GOT, LE32, 32, SIGNED, ADDRESS),
    R(4, PLT32, S_A_P, LE32, 32, SIGNED | STUB),
    R(5, COPY, UNSUPPORTED, LE8, 0, 0),
    R(6, GLOB_DAT, UNSUPPORTED, LE8, 0, 0),
    R(7, JUMP_SLOT, UNSUPPORTED, LE8, 0, 0),
    R(8, RELATIVE, UNSUPPORTED, LE8, 0, 0),
    G(9, GOTPCREL, G_A_P, LE32, 32, SIGNED, ADDRESS),
    R(10, 32, S_A, LE32, 32, UNSIGNED | LOW),
    R(11, 32S, S_A, LE32, 32, SIGNED | LOW),
    R(12, 16, S_A, LE16, 16, SIGNED | UNSIGNED | LOW),
    R(13, PC16, S_A_P, LE16, 16, SIGNED),
    R(14, 8, S_A, LE8, 8, SIGNED | UNSIGNED | LOW),
    R(15, PC8, S_A_P, LE8, 8, SIGNED),
    R(16, DTPMOD64, UNSUPPORTED, LE64, 64, 0),
    R(17, DTPOFF64, S_A, LE64, 64, TLS),
    R(18, TPOFF64, S_A, LE64, 64, TLS | PROGRAM),
    G(19, TLSGD, G_A_P, LE32, 32, SIGNED | TLS, TLS_INDEX),
    G(20, TLSLD, G_A_P, LE32, 32, SIGNED | TLS, TLS_BASE),
    R(21, DTPOFF32, S_A, LE32, 32, SIGNED | TLS),
    X(22, GOTTPOFF, SIGNED | TLS, TPOFF_REX),
    R(23, TPOFF32, S_A, LE32, 32, SIGNED | TLS | PROGRAM),
    R(24, PC64, S_A_P, LE64, 64, 0),
    R(25, GOTOFF64, S_A_GOT, LE64, 64, 0),
    R(26, GOTPC32, GOT_A_P, LE32, 32, SIGNED),
    G(27, GOT64, G_A_GOT, LE64, 64, 0, ADDRESS),
    G(28, GOTPCREL64, G_A_P, LE64, 64, 0, ADDRESS),
    R(29, GOTPC64, GOT_A_P, LE64, 64, 0),
    G(30, GOTPLT64, G_A_GOT, LE64, 64, 0, ADDRESS),
    R(31, PLTOFF64, S_A_GOT, LE64, 64, 0),
    R(32, SIZE32, Z_A, LE32, 32, UNSIGNED),
    R(33, SIZE64, Z_A, LE64, 64, 0),
    G(34, GOTPC32_TLSDESC, G_A_P, LE32, 32, SIGNED | TLS, TLS_DESC),
    R(35, TLSDESC_CALL, NONE, LE8, 0, 0),
    R(36, TLSDESC, UNSUPPORTED, LE64, 64, 0),
    R(37, IRELATIVE, UNSUPPORTED, LE64, 64, 0),
    R(38, RELATIVE64, UNSUPPORTED, LE64, 64, 0),
    X(41, GOTPCRELX, SIGNED, GOT),
    X(42, REX_GOTPCRELX, SIGNED, GOT_REX),
    X(43, CODE_4_GOTPCRELX, SIGNED, GOT_REX2),
    X(44, CODE_4_GOTTPOFF, SIGNED | TLS, TPOFF_REX2),
    G(45, CODE_4_GOTPC32_TLSDESC, G_A_P, LE32, 32, SIGNED | TLS, TLS_DESC),
    G(46, CODE_5_GOTPCRELX, G_A_P, LE32, 32, SIGNED, ADDRESS),
    G(47, CODE_5_GOTTPOFF, G_A_P, LE32, 32, SIGNED | TLS, ADDRESS),
    G(48, CODE_5_GOTPC32_TLSDESC, G_A_P, LE32, 32, SIGNED | TLS, TLS_DESC),
    G(49, CODE_6_GOTPCRELX, G_A_P, LE32, 32, SIGNED, ADDRESS),
    G(50, CODE_6_GOTTPOFF, G_A_P, LE32, 32, SIGNED | TLS, ADDRESS),
    G(51, CODE_6_GOTPC32_TLSDESC, G_A_P, LE32, 32, SIGNED | TLS, TLS_DESC),
};

const struct tn_format tn_format_elf_x86_64 = {
    .name = "elf-x86-64",
    .reader = &tn__reader_elf,
    .arch = &tn__arch_x86_64,
    .machine = EM_X86_64,
    .unwind_type = 0x70000001, /* SHT_X86_64_UNWIND */
    .rows = rows,
    .row_count = TN_COUNT(rows),
};
