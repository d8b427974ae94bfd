/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* AArch64 instructions rewritten to work without the GOT: each group with the last value in reach and the first out of
 * reach, and what must be left alone. oracle.c compares with ld.lld's bytes. Words are llvm-mc's encodings. */

#include "support.h"

#include "link/arch/aarch64/aarch64.h"

enum { MOST = 4 };

static const uint64_t P = 0x10000000; /* address of the first instruction */

#define GOT     TN__AARCH64_GOT_PAGE, TN__AARCH64_GOT_LO12
#define ADDRESS TN__AARCH64_PAGE, TN__AARCH64_LO12_ADD
#define IE      TN__AARCH64_TLSIE_PAGE, 0
#define IE_LOW  TN__AARCH64_TLSIE_LO12, 0
#define DESC    TN__AARCH64_TLSDESC_PAGE, TN__AARCH64_TLSDESC_LO12

#define NOP     0xd503201f
#define ADRP_X8 0x90000008
#define LDR_X8  0xf9400108 /* ldr x8, [x8] */
#define ADD_X8  0x91000108 /* add x8, x8, #0 */
#define DESC_CALL                                                                                                      \
    {                                                                                                                  \
        0x90000000, 0xf9400001, 0x91000000, 0xd63f0020                                                                 \
    } /* adrp x0; ldr x1, [x0]; add x0, x0, #0; blr x1 */

static const struct row {
    const char *name;
    uint32_t form, next;
    uint32_t before[MOST]; /* 0: behind the section's end */
    uint64_t S;
    uint32_t after[MOST]; /* 0: as before */
    unsigned bytes;       /* that are final then; 0: unchanged */
    int64_t A;
} rows[] = {
    {"GOT, far", GOT, {ADRP_X8, LDR_X8}, P + 0x12345678, {0xb0091a28, 0x9119e108}, 8}, /* add x8, x8, #0x678 */
    {"GOT, last before", GOT, {ADRP_X8, LDR_X8}, P - 0x100000000 + 0x10, {0x90800008, 0x91004108}, 8},
    {"GOT, too far before", GOT, {ADRP_X8, LDR_X8}, P - 0x100000001, {0}, 0},
    {"GOT, last behind", GOT, {ADRP_X8, LDR_X8}, P + 0xffffffff, {0xf07fffe8, 0x913ffd08}, 8},
    {"GOT, too far behind", GOT, {ADRP_X8, LDR_X8}, P + 0x100000000, {0}, 0},
    {"GOT, last in adr's reach", GOT, {ADRP_X8, LDR_X8}, P + 4 + 0xfffff, {NOP, 0x707fffe8}, 8},
    {"GOT, first behind it", GOT, {ADRP_X8, LDR_X8}, P + 4 + 0x100000, {0x90000808, 0x91001108}, 8},
    {"GOT, first in adr's reach", GOT, {ADRP_X8, LDR_X8}, P + 4 - 0x100000, {NOP, 0x10800008}, 8},
    {"GOT, last before it", GOT, {ADRP_X8, LDR_X8}, P + 3 - 0x100000, {0x90fff808, 0x91000d08}, 8},
    {"GOT, an addend", GOT, {ADRP_X8, LDR_X8}, P, {0}, 0, 8},
    {"GOT, another next", TN__AARCH64_GOT_PAGE, 0, {ADRP_X8, LDR_X8}, P, {0}, 0},
    {"GOT, no adrp", GOT, {0x10000008, LDR_X8}, P, {0}, 0},
    {"GOT, two registers", GOT, {ADRP_X8, 0xf9400109}, P, {0}, 0}, /* ldr x9, [x8] */
    {"GOT, another base", GOT, {ADRP_X8, 0xf9400128}, P, {0}, 0},  /* ldr x8, [x9] */
    {"GOT, 32 bits", GOT, {ADRP_X8, 0xb9400108}, P, {0}, 0},       /* ldr w8, [x8] */
    {"GOT, a store", GOT, {ADRP_X8, 0xf9000108}, P, {0}, 0},       /* str x8, [x8] */
    {"GOT, the section ends", GOT, {ADRP_X8}, P, {0}, 0},
    {"GOT, the load alone", TN__AARCH64_GOT_LO12, 0, {LDR_X8}, P, {0}, 0},
    {"address, last in reach", ADDRESS, {ADRP_X8, ADD_X8}, P + 4 + 0xfffff, {NOP, 0x707fffe8}, 8},
    {"address, first out of reach", ADDRESS, {ADRP_X8, ADD_X8}, P + 4 + 0x100000, {0}, 0},
    {"address, first in reach", ADDRESS, {ADRP_X8, ADD_X8}, P + 4 - 0x100000, {NOP, 0x10800008}, 8},
    {"address, last out of reach", ADDRESS, {ADRP_X8, ADD_X8}, P + 3 - 0x100000, {0}, 0},
    {"address, an addend", ADDRESS, {ADRP_X8, ADD_X8}, P, {0}, 0, 8},
    {"address, two registers", ADDRESS, {ADRP_X8, 0x91000109}, P, {0}, 0}, /* add x9, x8, #0 */
    {"address, 32 bits", ADDRESS, {ADRP_X8, 0x11000108}, P, {0}, 0},       /* add w8, w8, #0 */
    {"address, a load", TN__AARCH64_PAGE, 0, {ADRP_X8, LDR_X8}, P, {0}, 0},
    {"address, the add alone", TN__AARCH64_LO12_ADD, 0, {ADD_X8}, P, {0}, 0},
    {"initial exec", IE, {ADRP_X8}, 0x12345678, {0xd2a24688}, 4}, /* movz x8, #0x1234, lsl #16 */
    {"initial exec, addend", IE, {ADRP_X8}, 0x12345678, {0xd2a246a8}, 4, 0x10000},
    {"initial exec, last", IE, {ADRP_X8}, 0xffffffff, {0xd2bfffe8}, 4},
    {"initial exec, first too far", IE, {ADRP_X8}, 0x100000000, {0}, 0},
    {"initial exec, below", IE, {ADRP_X8}, -16ULL, {0}, 0},
    {"initial exec, no adrp", IE, {LDR_X8}, 16, {0}, 0},
    {"initial exec, low", IE_LOW, {LDR_X8}, 0x12345678, {0xf28acf08}, 4}, /* movk x8, #0x5678 */
    {"initial exec, low, first too far", IE_LOW, {LDR_X8}, 0x100000000, {0}, 0},
    {"initial exec, low, no load", IE_LOW, {ADD_X8}, 16, {0}, 0},
    {"descriptor", DESC, DESC_CALL, 0x12345678, {0xd2a24680, 0xf28acf00, NOP, NOP}, 16},
    {"descriptor, last", DESC, DESC_CALL, 0xffffffff, {0xd2bfffe0, 0xf29fffe0, NOP, NOP}, 16},
    {"descriptor, first too far", DESC, DESC_CALL, 0x100000000, {0}, 0},
    {"descriptor, x8", DESC, {ADRP_X8, 0xf9400001, 0x91000000, 0xd63f0020}, 16, {0}, 0},
    {"descriptor, no load", DESC, {0x90000000, NOP, 0x91000000, 0xd63f0020}, 16, {0}, 0},
    {"descriptor, no add", DESC, {0x90000000, 0xf9400001, NOP, 0xd63f0020}, 16, {0}, 0},
    {"descriptor, call of x2", DESC, {0x90000000, 0xf9400001, 0x91000000, 0xd63f0040}, 16, {0}, 0},
    {"descriptor, br", DESC, {0x90000000, 0xf9400001, 0x91000000, 0xd61f0020}, 16, {0}, 0},
    {"descriptor, the section ends", DESC, {0x90000000, 0xf9400001, 0x91000000}, 16, {0}, 0},
    {"descriptor, the load after", TN__AARCH64_TLSDESC_LO12, 0, {0xf28acf00}, 16, {0xf28acf00}, 4},
    {"descriptor, the load alone", TN__AARCH64_TLSDESC_LO12, 0, {0xf9400001}, 16, {0}, 0},
    {"descriptor, the add after", TN__AARCH64_TLSDESC_ADD, 0, {NOP}, 16, {NOP}, 4},
    {"descriptor, the add alone", TN__AARCH64_TLSDESC_ADD, 0, {0x91000000}, 16, {0}, 0},
};

/* Words around the instructions stay as they are. */
static void relaxes(void **state)
{
    const struct row *row = *state;
    uint8_t got[4 * (MOST + 2)], wanted[sizeof got];
    unsigned count = 0;
    memset(got, 0xcc, sizeof got);
    for (; count < MOST && row->before[count]; count++)
        tn__put32(got + 4 + 4 * count, row->before[count]);
    memcpy(wanted, got, sizeof got);
    for (unsigned i = 0; i < MOST; i++)
        if (row->after[i])
            tn__put32(wanted + 4 + 4 * i, row->after[i]);
    const struct tn__sequence code = {.form = row->form,
                                      .next = row->next,
                                      .field = got + 4,
                                      .before = 4,
                                      .after = 4 * count,
                                      .S = row->S,
                                      .P = P,
                                      .A = row->A};
    assert_int_equal(tn__aarch64_relax(&code), row->bytes);
    for (unsigned i = 0; i < COUNT(got); i += 4)
        if (tn__get32(got + i) != tn__get32(wanted + i))
            fail_msg("word %u is %#x, not %#x", i / 4, tn__get32(got + i), tn__get32(wanted + i));
}

/* ---- what holds for a section ---- */

static uint32_t note(uint32_t notes, uint32_t form, uint32_t next, uint32_t instruction)
{
    uint8_t bytes[4];
    tn__put32(bytes, instruction);
    tn__aarch64_note(&(struct tn__sequence){.form = form, .next = next, .field = bytes, .after = 4}, &notes);
    return notes;
}

static uint64_t relax_noted(uint32_t notes, uint32_t form, uint32_t next, uint32_t second)
{
    uint8_t bytes[8];
    tn__put32(bytes, form == TN__AARCH64_TLSIE_LO12 ? second : ADRP_X8);
    tn__put32(bytes + 4, second);
    return tn__aarch64_relax(&(struct tn__sequence){
        .form = form, .next = next, .notes = notes, .field = bytes, .after = 8, .S = 0x10000100, .P = P});
}

static void notes(void **state)
{
    (void)state;
    uint32_t pair = note(note(0, GOT, ADRP_X8), TN__AARCH64_GOT_LO12, 0, LDR_X8);
    uint32_t two = note(note(pair, GOT, ADRP_X8), TN__AARCH64_GOT_LO12, 0, LDR_X8);
    uint32_t load = note(two, TN__AARCH64_GOT_LO12, 0, LDR_X8), page = note(pair, TN__AARCH64_GOT_PAGE, 0, ADRP_X8);
    assert_int_equal(relax_noted(pair, GOT, LDR_X8), 8);
    assert_int_equal(relax_noted(two, GOT, LDR_X8), 8);
    assert_int_equal(relax_noted(load, GOT, LDR_X8), 0);
    assert_int_equal(relax_noted(page, GOT, LDR_X8), 0);
    assert_int_equal(relax_noted(load, IE, LDR_X8), 4);
    uint32_t same = note(load, IE_LOW, LDR_X8), other = note(two, IE_LOW, 0xf9400109); /* ldr x9, [x8] */
    assert_int_equal(relax_noted(same, IE, LDR_X8), 4);
    assert_int_equal(relax_noted(same, IE_LOW, LDR_X8), 4);
    assert_int_equal(relax_noted(other, IE, LDR_X8), 0);
    assert_int_equal(relax_noted(other, IE_LOW, LDR_X8), 0);
    assert_int_equal(relax_noted(other, GOT, LDR_X8), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(notes)};
    int failed = cmocka_run_group_tests_name("link/aarch64_relax", tests, NULL, NULL);
    return failed + RUN_ROWS("relaxes", rows, relaxes);
}
