/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Every row of the x86-64 relocation table: the value it stores, the last one that fits its field and the first that
 * does not.
 *
 * Field and target are in one section, so the value for addend 0 does not depend on where the section is placed. It
 * is found with the 64-bit relocation of the same formula, whose result is checked against addresses; the addend
 * then moves it to the limits. */

#include "elf_builder.h"

#include <stdlib.h>

#include "link/arch/reloc.h"
#include "link/model/object.h"

enum { FIELD = 4, SECTION = 32, ABSOLUTE = 0x50, SYMBOL_SIZE = 0x30 };

struct row {
    const char *name;
    uint32_t type;
    uint32_t wide; /* the same formula in 64 bits, or the type itself if there is none */
    unsigned bytes;
    int64_t min, max; /* 8 bytes: not checked */
};

static const struct row rows[] = {
    {"R_X86_64_64", R_X86_64_64, R_X86_64_64, 8, 0, 0},
    {"R_X86_64_PC32", R_X86_64_PC32, R_X86_64_PC64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_GOT32", R_X86_64_GOT32, R_X86_64_GOT64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_PLT32", R_X86_64_PLT32, R_X86_64_PC64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_GOTPCREL", R_X86_64_GOTPCREL, R_X86_64_GOTPCREL64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_32", R_X86_64_32, R_X86_64_64, 4, 0, UINT32_MAX},
    {"R_X86_64_32S", R_X86_64_32S, R_X86_64_64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_16", R_X86_64_16, R_X86_64_64, 2, INT16_MIN, UINT16_MAX},
    {"R_X86_64_PC16", R_X86_64_PC16, R_X86_64_PC64, 2, INT16_MIN, INT16_MAX},
    {"R_X86_64_8", R_X86_64_8, R_X86_64_64, 1, INT8_MIN, UINT8_MAX},
    {"R_X86_64_PC8", R_X86_64_PC8, R_X86_64_PC64, 1, INT8_MIN, INT8_MAX},
    {"R_X86_64_PC64", R_X86_64_PC64, R_X86_64_PC64, 8, 0, 0},
    {"R_X86_64_GOTOFF64", R_X86_64_GOTOFF64, R_X86_64_GOTOFF64, 8, 0, 0},
    {"R_X86_64_GOTPC32", R_X86_64_GOTPC32, R_X86_64_GOTPC64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_GOT64", R_X86_64_GOT64, R_X86_64_GOT64, 8, 0, 0},
    {"R_X86_64_GOTPCREL64", R_X86_64_GOTPCREL64, R_X86_64_GOTPCREL64, 8, 0, 0},
    {"R_X86_64_GOTPC64", R_X86_64_GOTPC64, R_X86_64_GOTPC64, 8, 0, 0},
    {"R_X86_64_GOTPLT64", R_X86_64_GOTPLT64, R_X86_64_GOT64, 8, 0, 0},
    {"R_X86_64_PLTOFF64", R_X86_64_PLTOFF64, R_X86_64_GOTOFF64, 8, 0, 0},
    {"R_X86_64_SIZE32", R_X86_64_SIZE32, R_X86_64_SIZE64, 4, 0, UINT32_MAX},
    {"R_X86_64_SIZE64", R_X86_64_SIZE64, R_X86_64_SIZE64, 8, 0, 0},
    {"R_X86_64_GOTPCRELX", R_X86_64_GOTPCRELX, R_X86_64_GOTPCREL64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_REX_GOTPCRELX", R_X86_64_REX_GOTPCRELX, R_X86_64_GOTPCREL64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_CODE_4_GOTPCRELX", 43, R_X86_64_GOTPCREL64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_CODE_5_GOTPCRELX", 46, R_X86_64_GOTPCREL64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_CODE_6_GOTPCRELX", 49, R_X86_64_GOTPCREL64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_DTPOFF64", R_X86_64_DTPOFF64, R_X86_64_DTPOFF64, 8, 0, 0},
    {"R_X86_64_TPOFF64", R_X86_64_TPOFF64, R_X86_64_TPOFF64, 8, 0, 0},
    {"R_X86_64_DTPOFF32", R_X86_64_DTPOFF32, R_X86_64_DTPOFF64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_TPOFF32", R_X86_64_TPOFF32, R_X86_64_TPOFF64, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_TLSGD", R_X86_64_TLSGD, R_X86_64_TLSGD, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_TLSLD", R_X86_64_TLSLD, R_X86_64_TLSLD, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_GOTTPOFF", R_X86_64_GOTTPOFF, R_X86_64_GOTTPOFF, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_GOTPC32_TLSDESC", R_X86_64_GOTPC32_TLSDESC, R_X86_64_GOTPC32_TLSDESC, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_CODE_4_GOTTPOFF", 44, 44, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_CODE_4_GOTPC32_TLSDESC", 45, 45, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_CODE_5_GOTTPOFF", 47, 47, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_CODE_5_GOTPC32_TLSDESC", 48, 48, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_CODE_6_GOTTPOFF", 50, 50, 4, INT32_MIN, INT32_MAX},
    {"R_X86_64_CODE_6_GOTPC32_TLSDESC", 51, 51, 4, INT32_MIN, INT32_MAX},
};

/* ---- one object with one relocation ---- */

static const struct tn__row *table_row(uint32_t type)
{
    return &tn_format_elf_x86_64.rows[type < tn_format_elf_x86_64.row_count ? type : 0];
}

static struct bytes object_with(uint32_t type, uint64_t offset, int64_t addend)
{
    static uint8_t contents[SYMBOL_SIZE];
    static struct elf elf;
    memset(contents, 0xee, sizeof contents);
    memset(&elf, 0, sizeof elf);
    unsigned section = elf_section(&elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, contents, SECTION);
    unsigned place = section, kind = STT_OBJECT;
    if (table_row(type)->flags & TN__R_TLS) {
        place = elf_section(&elf, ".tdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, contents, SYMBOL_SIZE);
        kind = STT_TLS;
    } else if (table_row(type)->value == TN__V_S_A) {
        place = SHN_ABS;
    }
    unsigned target = elf_symbol(&elf, "target", STB_GLOBAL, kind, place, place == SHN_ABS ? ABSOLUTE : 0, SYMBOL_SIZE);
    elf_symbol(&elf, "field", STB_GLOBAL, STT_OBJECT, section, FIELD, 1);
    elf_reloc(&elf, section, offset, target, type, addend);
    return elf_finish(&elf);
}

static void add_object(const struct fixture *f, uint32_t type, uint64_t offset, int64_t addend)
{
    struct bytes object = object_with(type, offset, addend);
    add_bytes(f, "rows.o", object.at, object.size);
    link_all(f);
    free(object.at);
}

/* The stored value; bytes outside the field must not change. */
static uint64_t stored_value(uint32_t type, unsigned bytes, int64_t addend)
{
    struct fixture f = open_fixture(NULL);
    add_object(&f, type, FIELD, addend);
    const uint8_t *field = lookup(&f, "field");
    uint64_t value = 0;
    memcpy(&value, field, bytes);
    for (int i = -FIELD; i < SECTION - FIELD; i++)
        if (i < 0 || i >= (int)bytes)
            assert_int_equal(field[i], 0xee);
    close_fixture(&f);
    return value;
}

static uint64_t base_of(uint32_t wide)
{
    bool narrow = table_row(wide)->field == TN__F_LE32;
    uint64_t value = stored_value(wide, narrow ? 4 : 8, 0);
    return narrow ? (uint64_t)(int32_t)value : value;
}

static void check_fits(const struct row *row, uint64_t base, int64_t value)
{
    uint64_t mask = row->bytes == 8 ? UINT64_MAX : (1ULL << row->bytes * 8) - 1;
    uint64_t stored = stored_value(row->type, row->bytes, (int64_t)((uint64_t)value - base));
    if (stored != ((uint64_t)value & mask))
        fail_msg("%s: %#llx is stored for %#llx", row->name, (unsigned long long)stored, (unsigned long long)value);
}

static void check_is_refused(const struct row *row, uint64_t base, int64_t value)
{
    struct fixture f = open_fixture(NULL);
    struct tn_stats before = stats_of(&f);
    struct bytes object = object_with(row->type, FIELD, (int64_t)((uint64_t)value - base));
    add_bytes(&f, "rows.o", object.at, object.size);
    struct tn_error err;
    char distance[32], limit[32];
    snprintf(distance, sizeof distance, "gives %s%#llx,", value < 0 ? "-" : "", llabs((long long)value));
    snprintf(limit, sizeof limit, "%u bits %ssigned", row->bytes * 8,
             row->min < 0 && row->max > -row->min ? "signed or un"
             : row->min < 0                       ? ""
                                                  : "un");
    bool absolute = table_row(row->type)->value == TN__V_S_A && !(table_row(row->type)->flags & TN__R_TLS);
    assert_error(tn_link(f.library, &err), TN_ERANGE, &err, "rows.o(.rodata+0x4): ", row->name, " against 'target'",
                 "from 0x", absolute ? "to 0x50 " : "to 0x", distance, limit);
    struct tn_stats after = stats_of(&f);
    assert_same_memory(&before, &after);
    check_still_works(&f);
    close_fixture(&f);
    free(object.at);
}

static void values_and_limits(void **state)
{
    const struct row *row = *state;
    uint64_t base = base_of(row->wide);
    check_fits(row, base, (int64_t)base);
    if (row->bytes == 8) {
        check_fits(row, base, 0);
        check_fits(row, base, INT64_MAX);
        check_fits(row, base, INT64_MIN);
        return;
    }
    check_fits(row, base, row->min);
    check_fits(row, base, row->max);
    check_is_refused(row, base, row->min - 1);
    check_is_refused(row, base, row->max + 1);
    check_is_refused(row, base, INT64_MIN + 1);
    check_is_refused(row, base, INT64_MAX);
}

/* The last place in the section where the field fits, and the first where it does not. */
static void places(void **state)
{
    const struct row *row = *state;
    const struct {
        uint64_t offset;
        bool inside;
    } places[] = {
        {SECTION - row->bytes, true}, {SECTION - row->bytes + 1, false}, {SECTION, false},
        {UINT64_MAX, false},          {UINT64_MAX - 7, false},
    };
    for (size_t i = 0; i < COUNT(places); i++) {
        struct fixture f = open_fixture(NULL);
        struct bytes object = object_with(row->type, places[i].offset, 0);
        struct tn_error err;
        add_bytes(&f, "rows.o", object.at, object.size);
        int code = tn_link(f.library, &err);
        if (places[i].inside)
            assert_ok(code, &err);
        else
            assert_error(code, TN_EFORMAT, &err, "rows.o(.rodata+0x", row->name, "outside the section's 32 bytes");
        close_fixture(&f);
        free(object.at);
    }
}

/* Checks the 64-bit formulas, which the other rows rely on, against addresses. */
static void formulas(void **state)
{
    (void)state;
    assert_int_equal(base_of(R_X86_64_64), ABSOLUTE);
    assert_int_equal(base_of(R_X86_64_PC64), -FIELD);
    assert_int_equal(base_of(R_X86_64_SIZE64), SYMBOL_SIZE);
    struct fixture f = open_fixture(NULL);
    add_object(&f, R_X86_64_GOTPCREL64, FIELD, 0);
    const uint8_t *field = lookup(&f, "field");
    int64_t to_slot;
    memcpy(&to_slot, field, sizeof to_slot);
    const void *slot;
    memcpy(&slot, field + to_slot, sizeof slot);
    assert_ptr_equal(slot, lookup(&f, "target"));
    assert_int_equal(stats_of(&f).got_slots, 1);
    close_fixture(&f);
    assert_int_equal(base_of(R_X86_64_GOT64), base_of(R_X86_64_GOTPCREL64) - base_of(R_X86_64_GOTPC64));
    assert_int_equal(base_of(R_X86_64_GOTOFF64), base_of(R_X86_64_PC64) - base_of(R_X86_64_GOTPC64));
}

/* ---- the whole table ---- */

static bool is_tested(uint32_t type)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (rows[i].type == type)
            return true;
    return false;
}

static void check_type_is_refused(uint32_t type, int code, const char *text)
{
    struct fixture f = open_fixture(NULL);
    struct tn_stats before = stats_of(&f);
    struct bytes object = object_with(type, FIELD, 0);
    struct tn_error err;
    add_bytes(&f, "rows.o", object.at, object.size);
    assert_error(tn_link(f.library, &err), code, &err, "rows.o(.rodata+0x4): ", text);
    struct tn_stats after = stats_of(&f);
    assert_same_memory(&before, &after);
    check_still_works(&f);
    close_fixture(&f);
    free(object.at);
}

static void every_row_is_tested_or_refused_by_name(void **state)
{
    (void)state;
    for (uint32_t type = 0; type < tn_format_elf_x86_64.row_count; type++) {
        const struct tn__row *row = &tn_format_elf_x86_64.rows[type];
        if (row->value == TN__V_UNSUPPORTED)
            check_type_is_refused(type, TN_ENOTSUP, row->name);
        else if (row->value == TN__V_UNKNOWN)
            check_type_is_refused(type, TN_EFORMAT, "does not exist");
        else if (row->value != TN__V_NONE && !is_tested(type))
            fail_msg("%s has no test", row->name);
    }
}

static void types_behind_the_table(void **state)
{
    (void)state;
    const uint32_t types[] = {tn_format_elf_x86_64.row_count, 250, 251, 0xffff, 0x7fffffff, 0xffffffff};
    for (size_t i = 0; i < COUNT(types); i++) {
        char text[40];
        snprintf(text, sizeof text, "relocation type %u ", types[i]);
        check_type_is_refused(types[i], TN_EFORMAT, text);
    }
}

static void none_changes_nothing_wherever_it_stands(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    add_object(&f, R_X86_64_NONE, UINT64_MAX, 77);
    const uint8_t *field = lookup(&f, "field");
    for (int i = -FIELD; i < SECTION - FIELD; i++)
        assert_int_equal(field[i], 0xee);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formulas),
        cmocka_unit_test(every_row_is_tested_or_refused_by_name),
        cmocka_unit_test(types_behind_the_table),
        cmocka_unit_test(none_changes_nothing_wherever_it_stands),
    };
    int failed = cmocka_run_group_tests_name("link/rows", tests, NULL, NULL);
    failed += RUN_ROWS("values and limits", rows, values_and_limits);
    return failed + RUN_ROWS("places", rows, places);
}
