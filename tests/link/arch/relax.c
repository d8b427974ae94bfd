/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Instructions rewritten to work without the GOT: each form with every kind of register, the last value in reach and
 * the first out of reach, and what must be left alone. oracle.c compares the bytes with ld.lld's. */

#include "support.h"

#include "link/arch/x86_64/x86_64.h"

enum { LONGEST = 16 };

static const uint64_t P = 0x10000000; /* address of the field */

#define GOTPCRELX     TN__X86_64_GOT
#define REX_GOTPCRELX TN__X86_64_GOT_REX
#define CODE_4        TN__X86_64_GOT_REX2
#define GOTTPOFF      TN__X86_64_TPOFF_REX
#define CODE_4_TPOFF  TN__X86_64_TPOFF_REX2

static const struct row {
    const char *name;
    uint32_t type;
    const char *before; /* bytes before the displacement, in hex */
    uint64_t S;
    const char *after; /* with the displacement; NULL: unchanged */
    int64_t addend;    /* 0: -4 */
} rows[] = {
    {"mov", GOTPCRELX, "8b05", P + 0x104, "8d0500010000"},
    {"mov to r9d", REX_GOTPCRELX, "448b0d", P + 4, "448d0d00000000"},
    {"mov to r15", REX_GOTPCRELX, "4c8b3d", P + 3, "4c8d3dffffffff"},
    {"mov to r31", CODE_4, "d54c8b3d", P + 3, "d54c8d3dffffffff"},
    {"mov, last before", REX_GOTPCRELX, "488b05", P + 4 - 0x80000000, "488d0500000080"},
    {"mov, too far before", REX_GOTPCRELX, "488b05", P + 3 - 0x80000000, NULL},
    {"mov, last behind", REX_GOTPCRELX, "488b05", P + 4 + 0x7fffffff, "488d05ffffff7f"},
    {"mov, too far behind", REX_GOTPCRELX, "488b05", P + 4 + 0x80000000, NULL},
    {"call", GOTPCRELX, "ff15", P + 4, "67e800000000"},
    {"call, last before", GOTPCRELX, "ff15", P + 4 - 0x80000000, "67e800000080"},
    {"call, too far before", GOTPCRELX, "ff15", P + 3 - 0x80000000, NULL},
    {"call of __tls_get_addr", GOTPCRELX, "6648ff15", P + 3, "6648e80000000090"},
    {"call behind a byte like REX.W", GOTPCRELX, "9048ff15", P + 4, "904867e800000000"},
    {"jmp", GOTPCRELX, "ff25", P + 3, "e90000000090"},
    {"jmp, last behind", GOTPCRELX, "ff25", P + 3 + 0x7fffffff, "e9ffffff7f90"},
    {"jmp, too far behind", GOTPCRELX, "ff25", P + 3 + 0x80000000, NULL},
    {"test rax", REX_GOTPCRELX, "488505", 0x12345678, "48f7c078563412"},
    {"test r10", REX_GOTPCRELX, "4c8515", 0x12345678, "49f7c278563412"},
    {"test r26", CODE_4, "d54c8515", 0x12345678, "d519f7c278563412"},
    {"add rcx", REX_GOTPCRELX, "48030d", 0x7fffffff, "4881c1ffffff7f"},
    {"or rcx", REX_GOTPCRELX, "480b0d", 1, "4881c901000000"},
    {"adc rcx", REX_GOTPCRELX, "48130d", 1, "4881d101000000"},
    {"sbb rcx", REX_GOTPCRELX, "481b0d", 1, "4881d901000000"},
    {"and rcx", REX_GOTPCRELX, "48230d", 1, "4881e101000000"},
    {"sub r14", REX_GOTPCRELX, "4c2b35", 1, "4981ee01000000"},
    {"xor r8", REX_GOTPCRELX, "4c3305", 1, "4981f001000000"},
    {"cmp rsp", REX_GOTPCRELX, "483b25", -1ULL, "4881fcffffffff"},
    {"cmp r17", CODE_4, "d5483b0d", 2, "d51881f902000000"},
    {"cmp, first too large", REX_GOTPCRELX, "483b25", 0x80000000, NULL},
    {"cmp, first too small", REX_GOTPCRELX, "483b25", -0x80000001ULL, NULL},
    {"cmp without a prefix", GOTPCRELX, "3b05", 2, NULL},
    {"lea", REX_GOTPCRELX, "488d05", P + 4, NULL},
    {"movzx", REX_GOTPCRELX, "480fb605", P + 4, NULL},
    {"mov from a register", REX_GOTPCRELX, "488bc0", P + 4, NULL},
    {"cmp with a base register", REX_GOTPCRELX, "483b80", 2, NULL},
    {"push", GOTPCRELX, "ff35", P + 4, NULL},
    {"far call", GOTPCRELX, "ff1d", P + 4, NULL},
    {"mov with another addend", REX_GOTPCRELX, "488b05", P + 4, NULL, 4},
    {"no room for the opcode", GOTPCRELX, "05", P + 4, NULL},
    {"no room for the prefix", REX_GOTPCRELX, "8b05", P + 4, NULL},
    {"no room for both prefixes", CODE_4, "488b05", P + 4, NULL},
    {"cmp whose prefix is none", REX_GOTPCRELX, "663b05", 2, NULL},
    {"thread offset, mov to rax", GOTTPOFF, "488b05", -16ULL, "48c7c0f0ffffff"},
    {"thread offset, mov to r12", GOTTPOFF, "4c8b25", -16ULL, "49c7c4f0ffffff"},
    {"thread offset, mov to r28", CODE_4_TPOFF, "d54c8b25", -16ULL, "d519c7c4f0ffffff"},
    {"thread offset, add to rax", GOTTPOFF, "480305", -16ULL, "488d80f0ffffff"},
    {"thread offset, add to rdi", GOTTPOFF, "48033d", -16ULL, "488dbff0ffffff"},
    {"thread offset, add to r13", GOTTPOFF, "4c032d", -16ULL, "4d8dadf0ffffff"},
    {"thread offset, add to rsp", GOTTPOFF, "480325", -16ULL, "4881c4f0ffffff"},
    {"thread offset, add to r12", GOTTPOFF, "4c0325", -16ULL, "4981c4f0ffffff"},
    {"thread offset, add to r16", CODE_4_TPOFF, "d5480305", -16ULL, "d51881c0f0ffffff"},
    {"thread offset, add to r20", CODE_4_TPOFF, "d5480325", -16ULL, "d51881c4f0ffffff"},
    {"thread offset, last", GOTTPOFF, "488b05", -0x80000000ULL, "48c7c000000080"},
    {"thread offset, too large", GOTTPOFF, "488b05", -0x80000001ULL, NULL},
    {"thread offset, sub", GOTTPOFF, "482b05", -16ULL, NULL},
    {"thread offset, no room", GOTTPOFF, "8b05", -16ULL, NULL},
};

static size_t from_hex(const char *text, uint8_t *bytes)
{
    size_t count = strlen(text) / 2;
    for (size_t i = 0; i < count; i++) {
        unsigned byte;
        assert_int_equal(sscanf(text + i * 2, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
    return count;
}

/* Guard bytes on both sides: only the instruction may change, even at the start of the section. */
static void relaxes(void **state)
{
    const struct row *row = *state;
    enum { GUARD = 8 };
    uint8_t wanted[GUARD + LONGEST + GUARD], got[sizeof wanted];
    memset(wanted, 0xcc, sizeof wanted);
    size_t before = from_hex(row->before, wanted + GUARD);
    memset(wanted + GUARD + before, 0, 4);
    memcpy(got, wanted, sizeof got);
    if (row->after)
        assert_int_equal(from_hex(row->after, wanted + GUARD), before + 4);
    const struct tn__sequence group = {.form = row->type,
                                       .field = got + GUARD + before,
                                       .before = before,
                                       .after = 4,
                                       .S = row->S,
                                       .P = P,
                                       .A = row->addend ? row->addend : -4};
    assert_int_equal(tn__x86_64_relax(&group), row->after ? 4 : 0);
    assert_memory_equal(got, wanted, sizeof got);
}

int main(void)
{
    return RUN_ROWS("link/relax", rows, relaxes);
}
