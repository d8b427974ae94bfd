/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Every row of COFF's relocations: the last value that fits and the first one that does not, with the addend that
 * stands in the field. Objects are linked for another address space, so those for AArch64 too. */

#include "coff_builder.h"

#include <stdlib.h>

#include "link/arch/reloc.h"
#include "link/passes/link.h"
#include "link/file/detached.h"
#include "link/model/object.h"

static const uint64_t NOWHERE = 0x10000000, BASE = 0x20000000;
enum { FIELD = 8, TARGET = 12, SIZE = 32, DEEP = 4096 };
#define GIB 0x40000000LL

/* What `value` is added to: nothing, the place, its page, the base, or it lies in the section,
 * or in another one at DEEP. */
enum from { ZERO, PLACE, PAGE, THE_BASE, HERE, INSIDE };

/* In place of a code: the field is that of a branch that leads to the object's only stub. */
enum { BY_STUB = 1 };

struct row {
    const char *name;
    uint16_t machine, type;
    enum from from;
    int64_t value;
    uint64_t before, after; /* of the field */
    int code;
    const char *opcode; /* right before the field, in code; NULL: the field is in a section of constants */
};

#define X(type) "IMAGE_REL_AMD64_" #type, COFF_X86_64
#define A(type) "IMAGE_REL_ARM64_" #type, COFF_AARCH64

static const struct row rows[] = {
    {X(ABSOLUTE), 0, ZERO, 5, 0x1234, 0x1234},
    {X(ADDR64), 1, ZERO, -2, 7, 5},
    {X(ADDR32), 2, ZERO, 0x7fffffff, 0x80000000, 0, TN_ERANGE}, /* an addend below zero */
    {X(ADDR32), 2, ZERO, 0, 0, 0},
    {X(ADDR32), 2, ZERO, 0, 0xffffffff, 0, TN_ERANGE},
    {X(ADDR32), 2, ZERO, 0xffffffff, 0, 0xffffffff},
    {X(ADDR32), 2, ZERO, 0x100000000, 0xffffffff, 0xffffffff},
    {X(ADDR32), 2, ZERO, 0x100000000, 0, 0, TN_ERANGE},
    {X(ADDR32NB), 3, THE_BASE, 0xffffffff, 0, 0xffffffff},
    {X(ADDR32NB), 3, THE_BASE, 0x100000000, 0, 0, TN_ERANGE},
    {X(ADDR32NB), 3, THE_BASE, 3, 4, 7},
    {X(ADDR32NB), 3, THE_BASE, 0, 0, 0},
    {X(ADDR32NB), 3, THE_BASE, -1, 0, 0, TN_ERANGE},
    {X(REL32), 4, PLACE, 2 * GIB + 3, 0, 0x7fffffff},
    {X(REL32), 4, PLACE, 2 * GIB + 4, 0, 0, TN_ERANGE},
    {X(REL32), 4, PLACE, -2 * GIB + 4, 0, 0x80000000},
    {X(REL32), 4, PLACE, -2 * GIB + 4, 0xffffffff, 0, TN_ERANGE},
    {X(REL32_1), 5, PLACE, 2 * GIB + 4, 0, 0x7fffffff},
    {X(REL32_1), 5, PLACE, 2 * GIB + 5, 0, 0, TN_ERANGE},
    {X(REL32_2), 6, PLACE, 2 * GIB + 5, 0, 0x7fffffff},
    {X(REL32_2), 6, PLACE, 2 * GIB + 6, 0, 0, TN_ERANGE},
    {X(REL32_3), 7, PLACE, 2 * GIB + 6, 0, 0x7fffffff},
    {X(REL32_3), 7, PLACE, 2 * GIB + 7, 0, 0, TN_ERANGE},
    {X(REL32_4), 8, PLACE, 2 * GIB + 7, 0, 0x7fffffff},
    {X(REL32_4), 8, PLACE, 2 * GIB + 8, 0, 0, TN_ERANGE},
    {X(REL32_5), 9, PLACE, 2 * GIB + 8, 1, 0, TN_ERANGE},
    {X(REL32_5), 9, PLACE, 2 * GIB + 8, 0, 0x7fffffff},
    {X(REL32_1), 5, PLACE, -2 * GIB + 5, 0, 0x80000000},
    {X(REL32_1), 5, PLACE, -2 * GIB + 5, 0xffffffff, 0, TN_ERANGE},
    {X(REL32_2), 6, PLACE, -2 * GIB + 6, 0, 0x80000000},
    {X(REL32_2), 6, PLACE, -2 * GIB + 6, 0xffffffff, 0, TN_ERANGE},
    {X(REL32_3), 7, PLACE, -2 * GIB + 7, 0, 0x80000000},
    {X(REL32_3), 7, PLACE, -2 * GIB + 7, 0xffffffff, 0, TN_ERANGE},
    {X(REL32_4), 8, PLACE, -2 * GIB + 8, 0, 0x80000000},
    {X(REL32_4), 8, PLACE, -2 * GIB + 8, 0xffffffff, 0, TN_ERANGE},
    {X(REL32_5), 9, PLACE, -2 * GIB + 9, 0, 0x80000000},
    {X(REL32_5), 9, PLACE, -2 * GIB + 9, 0xffffffff, 0, TN_ERANGE},
    {X(SECTION), 10, HERE, 0, 3, 4},
    {X(SECTION), 10, HERE, 0, 0x7fff, 0x8000},
    {X(SECTION), 10, HERE, 0, 0xffff, 0},            /* the addend is -1 */
    {X(SECTION), 10, HERE, 0, 0xfffe, 0, TN_ERANGE}, /* the addend is -2 */
    {X(SECTION), 10, ZERO, 0, 0, 0, TN_ENOTSUP},
    {X(SECREL), 11, HERE, 0, 5, TARGET + 5},
    {X(SECREL), 11, HERE, 0, (uint32_t)-TARGET, 0},
    {X(SECREL), 11, HERE, 0, (uint32_t)-TARGET - 1, 0, TN_ERANGE},
    {X(SECREL), 11, ZERO, 0, 0, 0, TN_ENOTSUP},
    {X(SECREL7), 12, HERE, 0, 0, 0, TN_ENOTSUP},
    {X(TOKEN), 13, HERE, 0, 0, 0, TN_ENOTSUP},
    {X(SREL32), 14, HERE, 0, 0, 0, TN_ENOTSUP},
    {X(PAIR), 15, HERE, 0, 0, 0, TN_ENOTSUP},
    {X(SSPAN32), 16, HERE, 0, 0, 0, TN_ENOTSUP},
    /* call and jz: those that do not reach go through a stub */
    {"IMAGE_REL_AMD64_REL32 of a call", COFF_X86_64, 4, PLACE, 2 * GIB + 3, 0, 0x7fffffff, 0, "\xe8"},
    {"IMAGE_REL_AMD64_REL32 of a call", COFF_X86_64, 4, PLACE, 2 * GIB + 4, 0, 0, BY_STUB, "\xe8"},
    {"IMAGE_REL_AMD64_REL32 of a call", COFF_X86_64, 4, PLACE, -2 * GIB + 4, 0, 0x80000000, 0, "\xe8"},
    {"IMAGE_REL_AMD64_REL32 of a call", COFF_X86_64, 4, PLACE, -2 * GIB + 3, 0, 0, BY_STUB, "\xe8"},
    {"IMAGE_REL_AMD64_REL32 of a jump", COFF_X86_64, 4, PLACE, 2 * GIB + 4, 0, 0, BY_STUB, "\xe9"},
    {"IMAGE_REL_AMD64_REL32 of a jump", COFF_X86_64, 4, PLACE, 2 * GIB + 4, 0, 0, BY_STUB, "\x0f\x84"},
    {X(REL32), 4, PLACE, 2 * GIB + 4, 0, 0, TN_ERANGE, "\x8b\x05"}, /* mov */
    {"type 17 does not exist", COFF_X86_64, 17, HERE, 0, 0, 0, TN_EFORMAT},
    {"type 65535 does not exist", COFF_X86_64, 65535, HERE, 0, 0, 0, TN_EFORMAT},

    {A(ABSOLUTE), 0, ZERO, 5, 0x1234, 0x1234},
    {A(ADDR32), 1, ZERO, 0, 0, 0},
    {A(ADDR32), 1, ZERO, 0, 0xffffffff, 0, TN_ERANGE},
    {A(ADDR32), 1, ZERO, 0xffffffff, 0, 0xffffffff},
    {A(ADDR32), 1, ZERO, 0x100000000, 0, 0, TN_ERANGE},
    {A(ADDR32NB), 2, THE_BASE, 0xffffffff, 0, 0xffffffff},
    {A(ADDR32NB), 2, THE_BASE, 0x100000000, 0, 0, TN_ERANGE},
    {A(ADDR32NB), 2, THE_BASE, 0, 0, 0},
    {A(ADDR32NB), 2, THE_BASE, -1, 0, 0, TN_ERANGE},
    /* bl; its addend counts instructions */
    {A(BRANCH26), 3, PLACE, 0x7fffffc, 0x94000000, 0x95ffffff},
    {A(BRANCH26), 3, PLACE, 0x7fffff8, 0x94000001, 0x95ffffff},
    {A(BRANCH26), 3, PLACE, -0x8000000, 0x94000000, 0x96000000},
    {A(BRANCH26), 3, PLACE, 2, 0x94000000, 0, TN_ERANGE},
    {A(BRANCH26), 3, PLACE, 0x8000000, 0x94000000, 0, BY_STUB},
    {A(BRANCH26), 3, PLACE, -0x8000004, 0x94000000, 0, BY_STUB},
    /* adrp x0; its addend counts bytes */
    {A(PAGEBASE_REL21), 4, PAGE, 0xfffff000, 0x90000000, 0xf07fffe0},
    {A(PAGEBASE_REL21), 4, PAGE, 0xffffeff0, 0x90000080, 0xf07fffe0},
    {A(PAGEBASE_REL21), 4, PAGE, 0x100000000, 0x90000000, 0, TN_ERANGE},
    {A(PAGEBASE_REL21), 4, PAGE, 0x1000, 0x90000000, 0xb0000000},
    {A(PAGEBASE_REL21), 4, PAGE, 0, 0x90800000, 0x90fff800}, /* the addend is -1 MiB */
    {A(PAGEBASE_REL21), 4, PAGE, -0x100000000, 0x90000000, 0x90800000},
    {A(PAGEBASE_REL21), 4, PAGE, -0x100001000, 0x90000000, 0, TN_ERANGE},
    /* adr x0 */
    {A(REL21), 5, PLACE, 0xfffff, 0x10000000, 0x707fffe0},
    {A(REL21), 5, PLACE, 0x100000, 0x10000000, 0, TN_ERANGE},
    {A(REL21), 5, PLACE, -0x100000, 0x10000000, 0x10800000},
    {A(REL21), 5, PLACE, -0x100000, 0x70ffffe0, 0, TN_ERANGE},
    /* add x0, x0, #0 and #4 */
    {A(PAGEOFFSET_12A), 6, ZERO, 0x12345fff, 0x91000000, 0x913ffc00},
    {A(PAGEOFFSET_12A), 6, ZERO, 0x12345ffe, 0x91001000, 0x91000800},
    /* ldr x0, [x0], with #8; ldr w0; ldrh; ldrb; ldr q0 */
    {A(PAGEOFFSET_12L), 7, ZERO, 0x12345ff8, 0xf9400000, 0xf947fc00},
    {A(PAGEOFFSET_12L), 7, ZERO, 0x12345ff0, 0xf9400400, 0xf947fc00},
    {A(PAGEOFFSET_12L), 7, ZERO, 0x12345ffc, 0xf9400000, 0, TN_ERANGE},
    {A(PAGEOFFSET_12L), 7, ZERO, 0x12345ffc, 0xb9400000, 0xb94ffc00},
    {A(PAGEOFFSET_12L), 7, ZERO, 0x12345ffe, 0xb9400000, 0, TN_ERANGE},
    {A(PAGEOFFSET_12L), 7, ZERO, 0x12345ffe, 0x79400000, 0x795ffc00},
    {A(PAGEOFFSET_12L), 7, ZERO, 0x12345fff, 0x79400000, 0, TN_ERANGE},
    {A(PAGEOFFSET_12L), 7, ZERO, 0x12345fff, 0x39400000, 0x397ffc00},
    {A(PAGEOFFSET_12L), 7, ZERO, 0x12345ff0, 0x3dc00000, 0x3dc3fc00},
    {A(PAGEOFFSET_12L), 7, ZERO, 0x12345ff8, 0x3dc00000, 0, TN_ERANGE},
    {A(SECREL), 8, HERE, 0, 5, TARGET + 5},
    {A(SECREL), 8, HERE, 0, (uint32_t)-TARGET, 0},
    {A(SECREL), 8, HERE, 0, (uint32_t)-TARGET - 1, 0, TN_ERANGE},
    {A(SECREL_LOW12A), 9, HERE, 0, 0x91000000, 0x91000000 | TARGET << 10},
    {A(SECREL_HIGH12A), 10, HERE, 0, 0x91400400, 0x91400400},
    {A(SECREL_HIGH12A), 10, INSIDE, 0, 0x917ff800, 0x917ffc00},
    {A(SECREL_HIGH12A), 10, INSIDE, 0, 0x917ffc00, 0, TN_ERANGE},
    {A(SECREL_LOW12L), 11, HERE, 0, 0xb9400000, 0xb9400000 | TARGET / 4 << 10},
    {A(SECREL_LOW12L), 11, HERE, 0, 0xf9400000, 0, TN_ERANGE}, /* by 8 bytes */
    {A(TOKEN), 12, HERE, 0, 0, 0, TN_ENOTSUP},
    {A(SECTION), 13, HERE, 0, 3, 4},
    {A(SECTION), 13, HERE, 0, 0xfffe, 0, TN_ERANGE},
    {A(ADDR64), 14, ZERO, -2, 7, 5},
    /* cbz x0 */
    {A(BRANCH19), 15, PLACE, 2, 0xb4000000, 0, TN_ERANGE},
    {A(BRANCH19), 15, PLACE, 0xffffc, 0xb4000000, 0xb47fffe0},
    {A(BRANCH19), 15, PLACE, 0x100000, 0xb4000000, 0, TN_ERANGE},
    {A(BRANCH19), 15, PLACE, -0x100000, 0xb4000000, 0xb4800000},
    {A(BRANCH19), 15, PLACE, -0x100000, 0xb4ffffe0, 0, TN_ERANGE},
    /* tbz x0, #0 */
    {A(BRANCH14), 16, PLACE, 2, 0x36000000, 0, TN_ERANGE},
    {A(BRANCH14), 16, PLACE, 0x7ffc, 0x36000000, 0x3603ffe0},
    {A(BRANCH14), 16, PLACE, 0x8000, 0x36000000, 0, TN_ERANGE},
    {A(BRANCH14), 16, PLACE, -0x8000, 0x36000000, 0x36040000},
    {A(BRANCH14), 16, PLACE, -0x8000, 0x3607ffe0, 0, TN_ERANGE},
    {A(REL32), 17, PLACE, 2 * GIB + 3, 0, 0x7fffffff},
    {A(REL32), 17, PLACE, 2 * GIB + 4, 0, 0, TN_ERANGE},
    {A(REL32), 17, PLACE, -2 * GIB + 4, 0, 0x80000000},
    {A(REL32), 17, PLACE, -2 * GIB + 4, 0xffffffff, 0, TN_ERANGE},
    {"type 18 does not exist", COFF_AARCH64, 18, HERE, 0, 0, 0, TN_EFORMAT},
};

static const struct tn_format *format_of(uint16_t machine)
{
    return machine == COFF_X86_64 ? &tn_format_coff_x86_64 : &tn_format_coff_aarch64;
}

static struct bytes object_with(const struct row *row, uint32_t offset)
{
    static uint8_t bytes[SIZE];
    static const uint8_t zeros[DEEP + 1];
    const struct coff_reloc reloc = {offset, row->from == HERE ? 1 : row->from == INSIDE ? 3 : 0, row->type};
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes + FIELD, &row->before, sizeof row->before);
    if (row->opcode)
        memcpy(bytes + FIELD - strlen(row->opcode), row->opcode, strlen(row->opcode));
    const struct coff coff = {
        .machine = row->machine,
        .sections = {{row->opcode ? ".text" : ".rdata", (row->opcode ? COFF_CODE : COFF_CONSTANTS) | COFF_ALIGN_8,
                      bytes, SIZE, &reloc, 1},
                     {".more", COFF_CONSTANTS, zeros, sizeof zeros, NULL, 0}},
        .section_count = 2,
        .symbols = {{"target", .class = 2},
                    {"here", TARGET, 1, .class = 2},
                    {"field", FIELD, 1, .class = 2},
                    {"deep", DEEP, 2, .class = 2}},
        .symbol_count = 4,
    };
    return coff_build(&coff, NULL);
}

static uint8_t linked[SIZE];
static uint64_t place, stub;

static int on_linked(struct tn__link *link)
{
    const struct tn__plan *plan = link->objects[0]->plan;
    stub = plan->stub_count == 1 ? plan->stub_address : 0;
    const struct tn__input_section *section = &link->objects[0]->data->sections[1];
    memcpy(linked, section->write, SIZE);
    place = section->address + FIELD;
    return 0;
}

static int link_row(const struct row *row, uint32_t offset, uint64_t target, struct tn_error *err)
{
    struct tn__detached where = {.address = NOWHERE, .size = 1 << 20, .page_size = 4096, .finish = on_linked};
    const struct tn_session_options options = {
        .size = sizeof options, .formats = (const struct tn_format *const[]){format_of(row->machine), NULL}};
    struct fixture f;
    struct bytes object = object_with(row, offset);
    assert_ok(tn__session_create_detached(&options, &where, &f.session, err), err);
    assert_ok(tn_library_create(f.session, "library", &f.library, err), err);
    define(&f, "target", (const void *)(uintptr_t)target);
    define(&f, "__ImageBase", (const void *)(uintptr_t)BASE);
    int code = try_add_bytes(&f, "rows.obj", object.at, object.size, err);
    if (!code)
        code = tn_link(f.library, err);
    close_fixture(&f);
    free(object.at);
    return code;
}

/* Where the linked branch leads. */
static uint64_t branch_target(uint16_t machine)
{
    uint32_t field = tn__get32(linked + FIELD);
    return machine == COFF_X86_64 ? place + 4 + (uint64_t)(int32_t)field
                                  : place + (uint64_t)((int32_t)(field << 6) >> 4);
}

static void values_and_limits(void **state)
{
    const struct row *row = *state;
    const struct row nothing = {.machine = row->machine, .opcode = row->opcode};
    struct tn_error err;
    assert_ok(link_row(&nothing, FIELD, 0, &err), &err);
    const uint64_t from[] = {[PLACE] = place, [PAGE] = place & ~4095ULL, [THE_BASE] = BASE, [INSIDE] = 0};
    int code = link_row(row, FIELD, (row->from == ZERO ? 0 : from[row->from]) + (uint64_t)row->value, &err);
    if (row->code < 0) {
        assert_error(code, row->code, &err,
                     row->opcode ? "rows.obj(.text+0x8): " : "rows.obj(.rdata+0x8): ", row->name);
        return;
    }
    assert_ok(code, &err);
    if (row->code == BY_STUB) {
        assert_true(stub && branch_target(row->machine) == stub);
        return;
    }
    const struct tn__row *known = &format_of(row->machine)->rows[row->type];
    unsigned size = known->value == TN__V_NONE ? 8 : known->size;
    uint64_t expected = row->before, mask = size == 8 ? UINT64_MAX : (1ULL << size * 8) - 1, stored;
    expected = (expected & ~mask) | (row->after & mask);
    memcpy(&stored, linked + FIELD, sizeof stored);
    if (stored != expected)
        fail_msg("%#llx instead of %#llx", (unsigned long long)stored, (unsigned long long)expected);
}

/* The last place where the field fits, and the first one where it does not. */
static void places(void **state)
{
    const struct row *row = *state;
    struct tn_error err;
    const struct tn__row *known =
        row->type < format_of(row->machine)->row_count ? &format_of(row->machine)->rows[row->type] : NULL;
    if (!known || known->value <= TN__V_NONE || row->from != HERE || row->code)
        return;
    assert_ok(link_row(row, SIZE - known->size, 0, &err), &err);
    assert_error(link_row(row, SIZE - known->size + 1U, 0, &err), TN_EFORMAT, &err, "outside the section's 32 bytes");
    assert_error(link_row(row, UINT32_MAX, 0, &err), TN_EFORMAT, &err, "outside the section's 32 bytes");
}

/* A field that is checked has values that do not fit, or go through a stub. */
static void test_every_row_has_a_test(void **state)
{
    (void)state;
    static const uint16_t machines[] = {COFF_X86_64, COFF_AARCH64};
    for (size_t m = 0; m < COUNT(machines); m++) {
        const struct tn_format *format = format_of(machines[m]);
        uint32_t types =
            format->row_count - (machines[m] == COFF_X86_64); /* its row of branches is none of the file's */
        for (uint32_t type = 0; type < types; type++) {
            const struct tn__row *known = &format->rows[type];
            unsigned good = 0, bad = 0, wanted = known->value > TN__V_NONE, limits = 0;
            for (size_t i = 0; i < COUNT(rows); i++) {
                bool same = rows[i].machine == machines[m] && rows[i].type == type;
                good += same && !rows[i].code;
                bad += same && rows[i].code;
            }
            if (wanted && known->flags & TN__R_SIGNED)
                limits = 2;
            else if (wanted && known->flags & TN__R_UNSIGNED)
                limits = 1; /* some formulas reach one end only */
            if (good + bad == 0 || (wanted && !good) || bad < limits)
                fail_msg("%s has %u values that fit and %u that do not", known->name, good, bad);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_row_has_a_test)};
    int failed = cmocka_run_group_tests_name("link/coff_rows", tests, NULL, NULL);
    failed += RUN_ROWS("values and limits", rows, values_and_limits);
    return failed + RUN_ROWS("places", rows, places);
}
