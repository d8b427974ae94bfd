/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Hand-written line tables, good and malformed. tests/tool/disasm.test checks that those of compilers are read as LLVM
 * reads them. */

#include "support.h"

#include <stdlib.h>

#include "link/observe/lines.h"

/* ---- the bytes: see section 6.2.4 of DWARF 5 ---- */

enum { MOST = 256 };

struct piece {
    const char *bytes;
    size_t size;
};

#define P(text)                                                                                                        \
    {                                                                                                                  \
        text, sizeof(text) - 1                                                                                         \
    }

/* The contents of .debug_line_str. */
static const char names[] = "/root\0sub\0a.c";

/* Minimum instruction length 1; special opcodes from 13, line advance -5 to 8; operand counts of the standard
 * opcodes. */
#define OPERANDS  "\0\1\1\1\1\0\0\0\1\0\0\1"
#define MACHINE_2 "\1\1\373\16\15" OPERANDS
#define MACHINE_4 "\1\1\1\373\16\15" OPERANDS

/* Directories /root and sub, then a.c, a.c again, and a.c in sub. */
#define TABLES_5                                                                                                       \
    "\1\1\37\2\0\0\0\0\6\0\0\0"                                                                                        \
    "\2\1\37\2\13\3\12\0\0\0\0\12\0\0\0\0\12\0\0\0\1"
/* The same, without .debug_line_str. */
#define TABLES_IN_PLACE "\1\1\10\2/root\0sub\0\2\1\10\2\17\3a.c\0\0a.c\0\0a.c\0\1"
#define TABLES_2        "sub\0\0one.c\0\1\0\0/two.c\0\1\0\0\0"

/* Line 1 at 0x1000, line 2 at 0x1004, the second file at 0x1008, the end at 0x100c. */
#define START   "\0\11\2\0\20\0\0\0\0\0\0\1"
#define PROGRAM START "\113\2\4\4\2\1\2\4\0\1\1"

struct row {
    const char *name;
    bool wide;
    struct piece first, header, program; /* before and after the header's length */
    struct {
        uint64_t address;
        const char *line;
    } wanted[6];
};

#define OF_5                                                                                                           \
    {0xfff, ""}, {0x1000, "/root/a.c:1"}, {0x1003, "/root/a.c:1"},                                                     \
    {                                                                                                                  \
        0x1004, "/root/a.c:2"                                                                                          \
    }
#define END_5                                                                                                          \
    {0x1008, "/root/sub/a.c:2"},                                                                                       \
    {                                                                                                                  \
        0x100c, ""                                                                                                     \
    }
#define OF_2                                                                                                           \
    {0xfff, ""}, {0x1000, "sub/one.c:1"}, {0x1004, "sub/one.c:2"}, {0x100b, "/two.c:2"},                               \
    {                                                                                                                  \
        0x100c, ""                                                                                                     \
    }
#define NONE                                                                                                           \
    {0x1000, ""},                                                                                                      \
    {                                                                                                                  \
        0, ""                                                                                                          \
    }

static const struct row rows[] = {
    {"DWARF 5", false, P("\5\0\10\0"), P(MACHINE_4 TABLES_5), P(PROGRAM), {OF_5, END_5}},
    {"names in place", false, P("\5\0\10\0"), P(MACHINE_4 TABLES_IN_PLACE), P(PROGRAM), {OF_5, END_5}},
    {"64 bits", true, P("\5\0\10\0"), P(MACHINE_4 TABLES_IN_PLACE), P(PROGRAM), {OF_5, END_5}},
    {"DWARF 4", false, P("\4\0"), P(MACHINE_4 TABLES_2), P(PROGRAM), {OF_2}},
    {"DWARF 3", false, P("\3\0"), P(MACHINE_2 TABLES_2), P(PROGRAM), {OF_2}},
    {"DWARF 2", false, P("\2\0"), P(MACHINE_2 TABLES_2), P(PROGRAM), {OF_2}},
    {"DWARF 1", false, P("\1\0"), P(MACHINE_2 TABLES_2), P(PROGRAM), {NONE}},
    {"DWARF 6", false, P("\6\0\10\0"), P(MACHINE_4 TABLES_5), P(PROGRAM), {NONE}},
    {"two operations in an instruction",
     false,
     P("\4\0"),
     P("\2\2\1\373\16\15" OPERANDS TABLES_2),
     P(PROGRAM),
     {{0x1000, "sub/one.c:1"}, {0x1003, "sub/one.c:1"}, {0x1004, "sub/one.c:2"}}},
    {"no operation in an instruction", false, P("\4\0"), P("\1\0\1\373\16\15" OPERANDS TABLES_2), P(PROGRAM), {NONE}},
    {"lines go on by nothing", false, P("\4\0"), P("\1\1\1\373\0\15" OPERANDS TABLES_2), P(PROGRAM), {NONE}},
    {"no opcodes", false, P("\4\0"), P("\1\1\1\373\16\0" OPERANDS TABLES_2), P(PROGRAM), {NONE}},
    {"an unknown form", false, P("\5\0\10\0"), P(MACHINE_4 "\1\1\50\1\0\0\0\0\0"), P(PROGRAM), {NONE}},
    {"more files than bytes", false, P("\5\0\10\0"), P(MACHINE_4 "\0\0\1\1\13\100"), P(PROGRAM), {NONE}},
    {"a name outside",
     false,
     P("\5\0\10\0"),
     P(MACHINE_4 "\0\0\1\1\37\2\0\1\0\0\0\1\0\0"),
     P(PROGRAM),
     {{0x1000, ":1"}}},
    {"advances of every kind",
     false,
     P("\4\0"),
     P(MACHINE_4 TABLES_2),
     P(START "\10\3\176\1\11\3\0\3\12\1\14\5\5\7\0\2\200\1\2\1\0\1\1"),
     {{0x1010, "sub/one.c:1"}, {0x1011, "sub/one.c:4294967295"}, {0x1014, "sub/one.c:9"}, {0x1015, ""}}},
    {"the last row of an address counts",
     false,
     P("\4\0"),
     P(MACHINE_4 TABLES_2),
     P(START "\3\4\1\3\3\1\2\1\0\1\1"),
     {{0x1000, "sub/one.c:8"}, {0x1001, ""}}},
    {"a file that is not there",
     false,
     P("\4\0"),
     P(MACHINE_4 TABLES_2),
     P(START "\2\4\4\3\1\2\4\0\1\1"),
     {{0x1003, "sub/one.c:1"}, {0x1004, ""}}},
    {"a program that breaks off",
     false,
     P("\4\0"),
     P(MACHINE_4 TABLES_2),
     P(START "\2\4\11\7"),
     {{0x1003, "sub/one.c:1"}, {0x1004, ""}}},
};

/* The length of the unit, `first`, the length of the header, `header`, `program`. */
static struct bytes make_unit(const struct row *row)
{
    struct bytes out = {.at = calloc(1, MOST)};
    size_t offset_size = row->wide ? 8 : 4;
    uint64_t header_size = row->header.size, size = row->first.size + offset_size + header_size + row->program.size;
    uint8_t *at = out.at;
    if (row->wide)
        at = memset(at, 0xff, 4), at += 4;
    const struct piece pieces[] = {
        {(char *)&size, offset_size}, row->first, {(char *)&header_size, offset_size}, row->header, row->program};
    for (size_t i = 0; i < COUNT(pieces); i++) {
        memcpy(at, pieces[i].bytes, pieces[i].size);
        at += pieces[i].size;
    }
    out.size = (size_t)(at - out.at);
    return out;
}

/* ---- reading ---- */

static struct tn__lines lines;
static struct tn__debug_image image;

/* The image ends with the section, so that sanitizers detect reads beyond it. */
static int read_section(const uint8_t *section, size_t size, const struct tn_allocator *from, struct tn_error *err)
{
    image = (struct tn__debug_image){
        .bytes = malloc(sizeof names + size), .line = {sizeof names, size}, .line_str = {0, sizeof names}};
    memcpy(image.bytes, names, sizeof names);
    memcpy(image.bytes + sizeof names, section, size);
    lines = (struct tn__lines){.arena.from = from};
    return tn__lines_add(&lines, &image, err);
}

static const char *line_at(uint64_t address)
{
    static char text[MOST];
    const struct tn__line *line = tn__lines_find(&lines, address);
    if (!line)
        return "";
    int length = tn__source_path(line->file, text, sizeof text);
    snprintf(text + length, sizeof text - (size_t)length, ":%u", line->line);
    return text;
}

static void forget(void)
{
    tn__lines_free(&lines);
    free(image.bytes);
}

static void table_is_read(void **state)
{
    const struct row *row = *state;
    struct bytes unit = make_unit(row);
    struct tn_error err;
    assert_ok(read_section(unit.at, unit.size, NULL, &err), &err);
    for (size_t i = 0; i < COUNT(row->wanted) && row->wanted[i].line; i++)
        assert_string_equal(line_at(row->wanted[i].address), row->wanted[i].line);
    forget();
    free(unit.at);
}

/* ---- anything ---- */

static void read_anything(const uint8_t *section, size_t size)
{
    struct tn_error err;
    assert_ok(read_section(section, size, NULL, &err), &err);
    for (size_t i = 0; i < lines.count; i++)
        line_at(lines.items[i].address);
    forget();
}

static void any_prefix_and_any_wrong_byte_is_read(void **state)
{
    static const uint8_t values[] = {0, 1, 2, 0x1f, 0x7f, 0x80, 0xff};
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct bytes unit = make_unit(&rows[i]);
        for (size_t at = 0; at < unit.size; at++) {
            uint8_t good = unit.at[at];
            read_anything(unit.at, at);
            for (size_t k = 0; k < COUNT(values); k++) {
                unit.at[at] = values[k];
                read_anything(unit.at, unit.size);
            }
            unit.at[at] = good;
        }
        free(unit.at);
    }
}

static void a_unit_does_not_spoil_the_next(void **state)
{
    (void)state;
    struct bytes bad = make_unit(&rows[6]), good = make_unit(&rows[0]);
    uint8_t both[2 * MOST];
    struct tn_error err;
    memcpy(both, bad.at, bad.size);
    memcpy(both + bad.size, good.at, good.size);
    assert_ok(read_section(both, bad.size + good.size, NULL, &err), &err);
    assert_string_equal(line_at(0x1004), "/root/a.c:2");
    forget();
    free(bad.at);
    free(good.at);
}

/* ---- memory ---- */

struct few {
    unsigned left;
};

static void *allocate(void *context, size_t size)
{
    struct few *few = context;
    return few->left && few->left-- ? malloc(size) : NULL;
}

static void *reallocate(void *context, void *block, size_t size)
{
    struct few *few = context;
    return few->left && few->left-- ? realloc(block, size) : NULL;
}

static void release(void *context, void *block)
{
    (void)context;
    free(block);
}

static void memory_runs_out(void **state)
{
    (void)state;
    struct bytes unit = make_unit(&rows[0]);
    struct tn_error err;
    unsigned needed = 0;
    for (bool done = false; !done; needed++) {
        struct few few = {needed};
        const struct tn_allocator from = {&few, allocate, reallocate, release};
        int code = read_section(unit.at, unit.size, &from, &err);
        done = !code;
        if (code)
            assert_error(code, TN_ENOMEM, &err, "memory");
        forget();
    }
    assert_in_range(needed, 2, 10);
    free(unit.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_prefix_and_any_wrong_byte_is_read),
        cmocka_unit_test(a_unit_does_not_spoil_the_next),
        cmocka_unit_test(memory_runs_out),
    };
    int failed = RUN_ROWS("table", rows, table_is_read);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
