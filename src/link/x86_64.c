/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* x86-64: System V psABI 1.0, section 4.4 (relocation types). Rows stand at their ELF numbers; readers of other formats
 * map their types onto these rows.
 *
 * Every address in an instruction is a 32-bit displacement from the end of the field or a 32-bit absolute number, so
 * everything an object reaches without a GOT has to lie within 2 GiB of it, or below 2 GiB. Calls (PLT32) may go through
 * a stub instead. */

#include "reloc.h"

#define R(number, name, value, field, bits, flags)                                                                     \
    [number] = {"R_X86_64_" #name, TN__V_##value, TN__F_##field, bits, flags}
#define SIGNED   TN__R_SIGNED
#define UNSIGNED TN__R_UNSIGNED
#define STUB     TN__R_STUB
#define LOW      TN__R_LOW

/*    no. name            value        field bits flags */
static const struct tn__row rows[] = {
    R(0, NONE, NONE, LE8, 0, 0),
    R(1, 64, S_A, LE64, 64, 0),
    R(2, PC32, S_A_P, LE32, 32, SIGNED),
    R(3, GOT32, G_A_GOT, LE32, 32, SIGNED),
    R(4, PLT32, S_A_P, LE32, 32, SIGNED | STUB),
    R(5, COPY, UNSUPPORTED, LE8, 0, 0),
    R(6, GLOB_DAT, UNSUPPORTED, LE8, 0, 0),
    R(7, JUMP_SLOT, UNSUPPORTED, LE8, 0, 0),
    R(8, RELATIVE, UNSUPPORTED, LE8, 0, 0),
    R(9, GOTPCREL, G_A_P, LE32, 32, SIGNED),
    R(10, 32, S_A, LE32, 32, UNSIGNED | LOW),
    R(11, 32S, S_A, LE32, 32, SIGNED | LOW),
    R(12, 16, S_A, LE16, 16, SIGNED | UNSIGNED | LOW),
    R(13, PC16, S_A_P, LE16, 16, SIGNED),
    R(14, 8, S_A, LE8, 8, SIGNED | UNSIGNED | LOW),
    R(15, PC8, S_A_P, LE8, 8, SIGNED),
    R(16, DTPMOD64, UNSUPPORTED, LE64, 64, 0),
    R(17, DTPOFF64, UNSUPPORTED, LE64, 64, 0),
    R(18, TPOFF64, UNSUPPORTED, LE64, 64, 0),
    R(19, TLSGD, UNSUPPORTED, LE32, 32, 0),
    R(20, TLSLD, UNSUPPORTED, LE32, 32, 0),
    R(21, DTPOFF32, UNSUPPORTED, LE32, 32, 0),
    R(22, GOTTPOFF, UNSUPPORTED, LE32, 32, 0),
    R(23, TPOFF32, UNSUPPORTED, LE32, 32, 0),
    R(24, PC64, S_A_P, LE64, 64, 0),
    R(25, GOTOFF64, S_A_GOT, LE64, 64, 0),
    R(26, GOTPC32, GOT_A_P, LE32, 32, SIGNED),
    R(27, GOT64, G_A_GOT, LE64, 64, 0),
    R(28, GOTPCREL64, G_A_P, LE64, 64, 0),
    R(29, GOTPC64, GOT_A_P, LE64, 64, 0),
    R(30, GOTPLT64, G_A_GOT, LE64, 64, 0),
    R(31, PLTOFF64, S_A_GOT, LE64, 64, 0),
    R(32, SIZE32, Z_A, LE32, 32, UNSIGNED),
    R(33, SIZE64, Z_A, LE64, 64, 0),
    R(34, GOTPC32_TLSDESC, UNSUPPORTED, LE32, 32, 0),
    R(35, TLSDESC_CALL, UNSUPPORTED, LE8, 0, 0),
    R(36, TLSDESC, UNSUPPORTED, LE64, 64, 0),
    R(37, IRELATIVE, UNSUPPORTED, LE64, 64, 0),
    R(41, GOTPCRELX, G_A_P, LE32, 32, SIGNED),
    R(42, REX_GOTPCRELX, G_A_P, LE32, 32, SIGNED),
    R(43, CODE_4_GOTPCRELX, G_A_P, LE32, 32, SIGNED),
};

/* jmp *slot(%rip), padded with int3. */
static void write_stub(uint8_t *out, uint64_t address, uint64_t slot)
{
    static const uint8_t jump[8] = {0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc};
    memcpy(out, jump, sizeof jump);
    tn__put32(out + 2, (uint32_t)(slot - (address + 6)));
}

const struct tn__arch tn__arch_x86_64 = {
    .name = "x86-64",
    .elf_machine = 62,
    .rows = rows,
    .row_count = TN_COUNT(rows),
    .got_symbol = "_GLOBAL_OFFSET_TABLE_",
    .stub_size = 8,
    .write_stub = write_stub,
};
