/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Malformed .eh_frame sections, which make unwinders read beyond them or abort, at the first throw anywhere. */

#include "elf_builder.h"

#include <stdlib.h>

#include "link/unwind/unwind.h"

/* A common entry and a function of 24 bytes each, as gcc makes them: "zR", 4-byte relative addresses. */
enum { COMMON = 0, FUNCTION = 24, SIZE = 48 };

static const uint8_t good[SIZE] = {
    [0] = 20,  [8] = 1,   'z',      'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, /* ends at 24 */
    [24] = 20, [28] = 28, [32] = 1, 0,   0, 0, 16,   0,  0, 0,    0,
};

struct row {
    const char *name;
    size_t at;
    const char *bytes;
    size_t length;
    bool sound;
};

#define BYTES(text) text, sizeof(text) - 1

static const struct row rows[] = {
    {"good", 0, BYTES(""), true},
    {"common entry ends the table", 24, BYTES("\0\0\0\0"), true},
    {"empty table", 0, BYTES("\0\0\0\0"), true},
    {"common entry one byte longer than the table", 0, BYTES("\55"), false},
    {"length of 2^32-1", 0, BYTES("\377\377\377\377"), false},
    {"length of 2^31", 0, BYTES("\0\0\0\200"), false},
    {"length of three bytes", 24, BYTES("\3"), false},
    {"function longer than the table", 24, BYTES("\25"), false},
    {"function without room for its addresses", 24, BYTES("\13"), false},
    {"function with just its addresses", 24, BYTES("\14\0\0\0\34\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), true},
    {"function's common entry before the table", 28, BYTES("\35"), false},
    {"function's common entry is no entry", 28, BYTES("\30"), false},
    {"function's common entry is the function", 28, BYTES("\4"), false},
    {"function's common entry far before the table", 28, BYTES("\377\377\377\377"), false},
    {"version 2", 8, BYTES("\2"), false},
    {"version 3", 8, BYTES("\3"), true},
    {"augmentation without end", 9, BYTES("zRRRRRRRRRRRRRR"), false},
    {"code alignment without end", 12, BYTES("\200\200\200\200\200\200\200\200\200\200\200\200"), false},
    {"augmentation longer than the entry", 15, BYTES("\11"), false},
    {"augmentation to the end of the entry", 15, BYTES("\10"), true},
    {"augmentation without its byte", 15, BYTES("\0"), false},
    {"absolute addresses of 8 bytes", 16, BYTES("\0"), true},
    {"relative addresses of 8 bytes", 16, BYTES("\34"), true},
    {"addresses of 2 bytes", 16, BYTES("\22"), false},
    {"addresses of variable size", 16, BYTES("\1"), false},
    {"addresses in an unknown format", 16, BYTES("\17"), false},
    {"addresses relative to nothing known", 16, BYTES("\163"), false},
    {"addresses relative to the text", 16, BYTES("\53"), false},
    {"addresses relative to the data", 16, BYTES("\73"), false},
    {"addresses relative to the function", 16, BYTES("\113"), false}, /* libgcc aborts at these */
    {"aligned addresses", 16, BYTES("\120"), false},
    {"omitted addresses", 16, BYTES("\377"), false},
    {"indirect addresses", 16, BYTES("\233"), false},
    {"signal frame", 9, BYTES("zRS\0\1\x78\20\1\33"), true},
    {"personality and language data", 9, BYTES("zPLR\0\1\x78\20\6\3\0\0\0\0"),
     false}, /* one byte short of R's encoding */
    {"personality by an indirect relative address", 9, BYTES("zPR\0\1\x78\20\6\233\0\0\0\0\33"), true},
    {"personality relative to the function", 9, BYTES("zPR\0\1\x78\20\6\113\0\0\0\0\33"), false},
    {"unknown letter", 9, BYTES("zX\0"), true},
    {"old style", 9, BYTES("eh\0"), true},
};

static void the_check(void **state)
{
    const struct row *row = *state;
    uint8_t *table = malloc(SIZE); /* no larger, for AddressSanitizer */
    memcpy(table, good, SIZE);
    memcpy(table + row->at, row->bytes, row->length);
    assert_int_equal(tn__unwind_data_is_sound(table, SIZE), row->sound);
    free(table);
}

static void the_linker_asks(void **state)
{
    const struct row *row = *state;
    static uint8_t table[SIZE];
    static const uint8_t code[16] = {0xc3};
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    memcpy(table, good, SIZE);
    memcpy(table + row->at, row->bytes, row->length);
    elf_code(&elf, code, sizeof code);
    elf_section(&elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, table, SIZE);
    struct bytes object = elf_finish(&elf);
    struct fixture f = open_fixture(NULL);
    struct tn_stats before = stats_of(&f), after;
    struct tn_error err;
    add_bytes(&f, "frame.o", object.at, object.size);
    int code_of_link = tn_link(f.library, &err);
    if (row->sound) {
        assert_ok(code_of_link, &err);
    } else {
        assert_error(code_of_link, TN_EFORMAT, &err, "frame.o: section 2 (.eh_frame)", "unwind data");
        after = stats_of(&f);
        assert_same_memory(&before, &after);
    }
    check_still_works(&f);
    close_fixture(&f);
    free(object.at);
}

static void every_prefix_and_spoiled_byte(void **state)
{
    (void)state;
    unsigned sound = 0, malformed = 0;
    for (size_t size = 0; size <= SIZE; size++) {
        uint8_t *table = malloc(size ? size : 1);
        memcpy(table, good, size);
        assert_int_equal(tn__unwind_data_is_sound(table, size), size == 0 || size == FUNCTION || size == SIZE);
        free(table);
    }
    for (size_t at = 0; at < SIZE; at++)
        for (int value = 0; value < 256; value++) {
            uint8_t *table = malloc(SIZE);
            memcpy(table, good, SIZE);
            table[at] = (uint8_t)value;
            bool good_enough = tn__unwind_data_is_sound(table, SIZE);
            sound += good_enough;
            malformed += !good_enough;
            free(table);
        }
    assert_true(sound > 1000 && malformed > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_prefix_and_spoiled_byte)};
    int failed = cmocka_run_group_tests_name("link/unwind_data", tests, NULL, NULL);
    failed += RUN_ROWS("check", rows, the_check);
    return failed + RUN_ROWS("linker", rows, the_linker_asks);
}
