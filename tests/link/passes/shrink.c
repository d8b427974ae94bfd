/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* RISC-V code that becomes shorter: what moves with it, padding that makes no sense, and links that fail afterwards.
 * oracle.c compares its bytes with ld.lld's. Also pairs of relocations in any order. */

#include <stdlib.h>

#include "elf_builder.h"
#include "failing.h"
#include "link/file/detached.h"

/* Types of relocations, some of which elf.h lacks. */
enum { R_64 = 2, BRANCH = 16, CALL = 19, HIGH = 23, LOW, ADD32 = 35, SUB32 = 39, ALIGN = 43, RELAX = 51 };
enum { WINDOW = 0x10000000, SECTION = 64 };

/* c.nop; padding for 8; auipc and jalr with a return address; padding for 16; ret */
static const uint8_t bytes[SECTION] = {0x01, 0x00, [8] = 0x97, 0x00, 0x00,        0x00,
                                       0xe7, 0x80, 0x00,       0x00, [30] = 0x82, 0x80};

static struct {
    uint8_t text[SECTION], data[8];
    uint64_t text_size, addresses[8], sizes[8];
    uint32_t relocs;
} linked;

static int on_linked(struct tn__link *link)
{
    const struct tn__object *object = link->objects[0];
    const struct tn__input_section *text = &object->data->sections[1], *data = &object->data->sections[2];
    memset(&linked, 0, sizeof linked);
    linked.text_size = text->size;
    linked.relocs = (uint32_t)text->reloc_count;
    memcpy(linked.text, text->write, text->size);
    memcpy(linked.data, data->write, data->size);
    for (uint32_t i = 1; i < object->data->symbol_count && i < COUNT(linked.addresses); i++) {
        linked.addresses[i] = object->plan->addresses[i] - WINDOW;
        linked.sizes[i] = object->data->symbols[i].size;
    }
    return 0;
}

struct reloc {
    uint64_t offset;
    uint32_t type, symbol;
    int64_t addend;
};

static struct bytes object_with(const struct reloc *relocs, size_t count)
{
    static const uint8_t data[8];
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, bytes, SECTION);
    elf_section(&elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, data, sizeof data);
    elf_function(&elf, "first", text, 0);                                   /* 1 */
    elf_symbol(&elf, "call", STB_LOCAL, STT_NOTYPE, text, 8, 0);            /* 2 */
    elf_symbol(&elf, "behind", STB_LOCAL, STT_NOTYPE, text, 16, 0);         /* 3 */
    elf_symbol(&elf, "last", STB_GLOBAL, STT_FUNC, text, 30, SECTION - 30); /* 4 */
    elf_symbol(&elf, "all", STB_GLOBAL, STT_FUNC, text, 0, SECTION);        /* 5 */
    elf_symbol(&elf, "end", STB_LOCAL, STT_NOTYPE, text, SECTION, 0);       /* 6 */
    elf_symbol(&elf, "datum", STB_LOCAL, STT_NOTYPE, 2, 0, 0);              /* 7 */
    for (size_t i = 0; i < count; i++)
        elf_reloc(&elf, relocs[i].type >= ADD32 && relocs[i].type <= SUB32 ? 2 : text, relocs[i].offset,
                  relocs[i].symbol, relocs[i].type, relocs[i].addend);
    struct bytes file = elf_finish(&elf);
    elf_header(file)->e_machine = EM_RISCV;
    elf_header(file)->e_flags = 1; /* compressed instructions */
    elf_section_header(file, text)->sh_addralign = 16;
    return file;
}

/* Links twice if the first link fails, to the same end. */
static int link_object(struct bytes object, struct tn_error *err)
{
    static const struct tn_format *const formats[] = {&tn_format_elf_riscv64, NULL};
    static const struct tn_session_options options = {
        .size = sizeof options, .formats = formats, .allocator = &failing_allocator};
    struct tn__detached where = {.address = WINDOW, .size = 1 << 20, .page_size = 4096, .finish = on_linked};
    struct fixture f;
    struct tn_error again;
    assert_ok(tn__session_create_detached(&options, &where, &f.session, err), err);
    assert_ok(tn_library_create(f.session, "library", &f.library, err), err);
    int code = try_add_bytes(&f, "shrink.o", object.at, object.size, err);
    if (!code) {
        failing_begin();
        code = tn_link(f.library, err);
    }
    if (code && code != TN_ENOMEM) {
        assert_int_equal(tn_link(f.library, &again), code);
        assert_string_equal(again.text, err->text);
    }
    close_fixture(&f);
    free(object.at);
    return code;
}

/* Of the 6 bytes before the call all are needed at the beginning of the section, of the 14 behind it, as it has lost 4,
 * 4: "last" stays at a multiple of 16. */
static void everything_moves(void **state)
{
    (void)state;
    static const struct reloc relocs[] = {
        {2, ALIGN, 0, 6}, {8, CALL, 4, 0},  {8, RELAX, 0, 0}, {16, ALIGN, 0, 14}, {40, R_64, 6, 5},
        {0, ADD32, 4, 0}, {0, SUB32, 1, 0}, {4, ADD32, 6, 0}, {4, SUB32, 4, 0},
    };
    struct tn_error err;
    assert_ok(link_object(object_with(relocs, COUNT(relocs)), &err), &err);
    const uint64_t addresses[] = {0, 0, 8, 12, 16, 0, SECTION - 14};
    for (size_t i = 1; i < COUNT(addresses); i++)
        assert_int_equal(linked.addresses[i], addresses[i]);
    assert_int_equal(linked.text_size, SECTION - 14);
    assert_int_equal(linked.sizes[4], SECTION - 30);
    assert_int_equal(linked.sizes[5], SECTION - 14);
    assert_int_equal(linked.relocs, 2);                       /* the jal's, and the one in data */
    assert_int_equal(tn__get32(linked.text + 8), 0x008000ef); /* jal ra, last */
    assert_int_equal(tn__get16(linked.text + 16), 0x8082);
    assert_int_equal(tn__get64(linked.text + 40 - 14), WINDOW + SECTION - 14 + 5);
    assert_int_equal(tn__get32(linked.data), 16);
    assert_int_equal(tn__get32(linked.data + 4), SECTION - 30);
}

/* Without permission the call stays; padding goes all the same. */
static void only_padding(void **state)
{
    (void)state;
    static const struct reloc relocs[] = {{2, ALIGN, 0, 6}, {8, CALL, 4, 0}, {16, ALIGN, 0, 14}};
    struct tn_error err;
    assert_ok(link_object(object_with(relocs, COUNT(relocs)), &err), &err);
    assert_int_equal(linked.addresses[4], 16);
    assert_int_equal(linked.text_size, SECTION - 14);
    assert_int_equal(tn__get32(linked.text + 8), 0x00000097);
    assert_int_equal(tn__get32(linked.text + 12), 0x008080e7);
}

/* Behind an odd number of bytes, as gas writes it: the padding ends at the alignment, and begins with instructions. */
static void padding_at_odd_places(void **state)
{
    (void)state;
    static const struct {
        uint64_t place, padding, kept;
        uint8_t bytes[8];
    } cases[] = {
        {3, 6, 5, {0x13, 0, 0, 0, 0x01}},        {5, 6, 3, {0x01, 0, 0}}, {7, 6, 1, {0x01}}, {3, 2, 1, {0x01}},
        {9, 14, 7, {0x13, 0, 0, 0, 0x01, 0, 0}}, {15, 14, 1, {0x01}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct reloc reloc = {cases[i].place, ALIGN, 0, (int64_t)cases[i].padding};
        struct tn_error err;
        assert_ok(link_object(object_with(&reloc, 1), &err), &err);
        assert_int_equal(linked.text_size, SECTION - cases[i].padding + cases[i].kept);
        assert_memory_equal(linked.text + cases[i].place, cases[i].bytes, cases[i].kept);
        assert_int_equal(linked.addresses[4], 30 - cases[i].padding + cases[i].kept);
    }
}

static void mistakes(void **state)
{
    (void)state;
    static const struct {
        struct reloc relocs[3];
        const char *error;
    } cases[] = {
        {{{2, ALIGN, 0, SECTION}}, "R_RISCV_ALIGN does not fit"},
        {{{2, ALIGN, 0, -2}}, "R_RISCV_ALIGN does not fit"},
        {{{2, ALIGN, 0, INT64_MIN}}, "R_RISCV_ALIGN does not fit"},
        {{{2, ALIGN, 0, 5}}, "R_RISCV_ALIGN does not fit"},
        {{{1, ALIGN, 0, 6}}, "R_RISCV_ALIGN does not fit"},
        {{{SECTION + 1, ALIGN, 0, 6}}, "R_RISCV_ALIGN does not fit"},
        {{{-8ULL, ALIGN, 0, 6}}, "R_RISCV_ALIGN does not fit"},
        {{{16, ALIGN, 0, 14}, {20, ALIGN, 0, 6}}, "R_RISCV_ALIGN does not fit"},
        {{{8, CALL, 4, 0}, {8, RELAX, 0, 0}, {12, ALIGN, 0, 6}}, "R_RISCV_ALIGN does not fit"},
        {{{SECTION - 16, ALIGN, 0, 14}, {SECTION - 8, R_64, 4, 0}}, "R_RISCV_64 does not fit"},
        {{{16, ALIGN, 0, 14}, {8, BRANCH, 4, 0x2000}}, "R_RISCV_BRANCH against 'last' is out of range"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tn_error err;
        size_t count = 0;
        while (count < COUNT(cases[i].relocs) && cases[i].relocs[count].type)
            count++;
        int code = link_object(object_with(cases[i].relocs, count), &err);
        assert_error(code, strstr(cases[i].error, "range") ? TN_ERANGE : TN_EFORMAT, &err, "shrink.o(.text+0x",
                     cases[i].error);
    }
}

/* The second half of a pair before everything else, the first one behind it, or nowhere, also because the section that
 * it names has no relocations. */
static struct bytes apart(bool complete)
{
    enum { BETWEEN = 200 };
    struct reloc relocs[BETWEEN + 2] = {{12, LOW, 2, 0}};
    for (size_t i = 1; i <= BETWEEN; i++)
        relocs[i] = (struct reloc){40 + i % 3 * 8, R_64, 6, 5};
    relocs[BETWEEN + 1] = (struct reloc){8, HIGH, 6, 0x1234 - SECTION + 8};
    return object_with(relocs, COUNT(relocs) - !complete);
}

static int link_apart(const void *unused)
{
    (void)unused;
    struct tn_error err;
    return link_object(apart(true), &err);
}

static void pairs_in_no_order(void **state)
{
    (void)state;
    struct tn_error err;
    assert_ok(link_object(apart(true), &err), &err);
    assert_int_equal(tn__get32(linked.text + 8), 0x00001097);  /* auipc ra, 1 */
    assert_int_equal(tn__get32(linked.text + 12), 0x234080e7); /* jalr ra, 0x234(ra) */
    int code = link_object(apart(false), &err);
    assert_error(code, TN_EFORMAT, &err, "shrink.o(.text+0xc)",
                 "R_RISCV_PCREL_LO12_I against 'call' is half of a pair");
    static const struct reloc without_relocs = {12, LOW, 7, 0};
    code = link_object(object_with(&without_relocs, 1), &err);
    assert_error(code, TN_EFORMAT, &err, "shrink.o(.text+0xc)", "against 'datum' is half of a pair");
    fail_each_request(link_apart, NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_moves), cmocka_unit_test(only_padding),
                                       cmocka_unit_test(padding_at_odd_places), cmocka_unit_test(mistakes),
                                       cmocka_unit_test(pairs_in_no_order)};
    return cmocka_run_group_tests_name("link/shrink", tests, NULL, NULL);
}
