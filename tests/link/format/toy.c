/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A new format needs a reader, and a struct tn_format with rows for each architecture: here is one, for x86-64, linked
 * and called without a change in src. Its objects have one section of code and one of data:
 *
 *     "TOY\n", machine, bytes of code, bytes of data, number of symbols, number of relocations
 *     code, data
 *     symbols: name[8], section (0: undefined), offset
 *     relocations: section, offset, type, symbol, addend
 *
 * All numbers have 32 bits. */

#include <stdlib.h>

#include "elf_builder.h"
#include "link/model/library.h"
#include "link/model/object.h"

enum { TOY_MACHINE = 77, WORD = 4, HEADER = 6 * WORD, NAME = 8, SYMBOL = NAME + 2 * WORD, RELOC = 5 * WORD };
enum { CODE = 1, DATA, SECTIONS };
enum { NONE, ADDRESS, DISTANCE };

/* ---- the format ---- */

#define ROW(name, value, field, size, flags)                                                                           \
    TN__ROW("TOY_" name, TN__V_##value, TN__F_##field, size, 8 * (size), flags, TN__SLOT_NONE, 0)
static const struct tn__row rows[] = {
    [NONE] = ROW("NONE", NONE, LE8, 0, 0),
    [ADDRESS] = ROW("ADDRESS", S_A, LE64, 8, 0),
    [DISTANCE] = ROW("DISTANCE", S_A_P, LE32, 4, TN__R_SIGNED | TN__R_STUB),
};

static bool claims(const uint8_t *bytes, size_t size, uint32_t machine)
{
    return size >= WORD && !memcmp(bytes, "TOY\n", WORD) &&
           (size < HEADER || !machine || tn__get32(bytes + WORD) == machine);
}

static int malformed(const struct tn__object_data *object, const char *what, struct tn_error *err)
{
    return tn__fail(err, TN_EFORMAT, "%s: %s", object->name, what);
}

static int read_symbols(struct tn__object_data *object, const uint8_t *at, struct tn_error *err)
{
    for (uint32_t i = 1; i < object->symbol_count; i++, at += SYMBOL) {
        uint32_t section = tn__get32(at + NAME), offset = tn__get32(at + NAME + WORD);
        if (section >= SECTIONS || (section && offset > object->sections[section].size) || !at[0] || at[NAME - 1])
            return malformed(object, "a symbol lies nowhere or has no name", err);
        object->symbols[i] = (struct tn__symbol){
            .name = (const char *)at,
            .value = section ? offset : 0,
            .section = section,
            .binding = TN__BIND_GLOBAL,
            .type = section == CODE ? TN__TYPE_FUNCTION : TN__TYPE_OTHER,
            .place = section ? TN__PLACE_SECTION : TN__PLACE_UNDEFINED,
        };
    }
    return 0;
}

/* Each section's one after the other; types, symbols and places are checked when they are linked. */
static void read_relocs(struct tn__object_data *object, const uint8_t *at, uint32_t count, struct tn__reloc *out)
{
    for (uint32_t section = CODE; section < SECTIONS; section++) {
        object->sections[section].relocs = (const uint8_t *)out;
        for (uint32_t i = 0; i < count; i++) {
            const uint8_t *reloc = at + (size_t)i * RELOC;
            if (tn__get32(reloc) != section)
                continue;
            object->sections[section].reloc_count++;
            *out++ = (struct tn__reloc){.offset = tn__get32(reloc + 4),
                                        .type = tn__get32(reloc + 8),
                                        .symbol = tn__get32(reloc + 12),
                                        .addend = (int32_t)tn__get32(reloc + 16)};
        }
    }
}

static int read(struct tn__object_data *object, struct tn_error *err)
{
    const uint8_t *bytes = object->bytes;
    if (object->size < HEADER)
        return malformed(object, "truncated", err);
    uint32_t code = tn__get32(bytes + 8), data = tn__get32(bytes + 12);
    uint32_t symbols = tn__get32(bytes + 16), relocs = tn__get32(bytes + 20);
    uint64_t symbols_at = HEADER + (uint64_t)code + data, relocs_at = symbols_at + (uint64_t)symbols * SYMBOL;
    if (relocs_at + (uint64_t)relocs * RELOC != object->size)
        return malformed(object, "truncated", err);
    object->section_count = SECTIONS;
    object->symbol_count = symbols + 1;
    object->sections = tn__arena_array(&object->arena, SECTIONS, sizeof *object->sections);
    object->symbols = tn__arena_array(&object->arena, object->symbol_count, sizeof *object->symbols);
    struct tn__reloc *out = tn__arena_array(&object->arena, relocs + (size_t)1, sizeof *out);
    if (!object->sections || !object->symbols || !out)
        return tn__no_memory(err, object->name);
    object->sections[0].name = object->symbols[0].name = "";
    object->sections[CODE] = (struct tn__input_section){
        .name = "code", .bytes = bytes + HEADER, .size = code, .alignment = 16, .kind = TN__SECTION_CODE};
    object->sections[DATA] = (struct tn__input_section){
        .name = "data", .bytes = bytes + HEADER + code, .size = data, .alignment = 8, .kind = TN__SECTION_DATA};
    read_relocs(object, bytes + relocs_at, relocs, out);
    return read_symbols(object, bytes + symbols_at, err);
}

static const struct tn__reader reader = {.name = "toy", .claims = claims, .read = read};
static const struct tn_format toy = {.name = "toy-x86-64",
                                     .reader = &reader,
                                     .arch = &tn__arch_x86_64,
                                     .machine = TOY_MACHINE,
                                     .rows = rows,
                                     .row_count = TN_COUNT(rows)};

static const struct tn_format *const formats[] = {&toy, &tn_format_elf_x86_64, NULL};
static const struct tn_session_options options = {.size = sizeof options, .formats = formats};

/* ---- an object ---- */

static void put(struct bytes *file, const void *bytes, size_t size)
{
    file->at = realloc(file->at, file->size + size);
    memcpy(file->at + file->size, bytes, size);
    file->size += size;
}

static void put_symbol(struct bytes *file, const char *name, uint32_t section, uint32_t offset)
{
    char text[NAME] = {0};
    const uint32_t place[] = {section, offset};
    memcpy(text, name, strlen(name));
    put(file, text, NAME);
    put(file, place, sizeof place);
}

/* `get` adds what `pointer` points at, which is `value` in the data, to what `host`, an ELF function, returns. */
static struct bytes make_object(void)
{
    static const uint8_t code[32] = {0x48, 0x83, 0xec, 0x08,                          /* sub $8, %rsp */
                                     0xe8, 0,    0,    0,    0,                       /* call host */
                                     0x48, 0x8b, 0x0d, 0,    0,    0,    0,           /* mov pointer(%rip), %rcx */
                                     0x03, 0x01, 0x48, 0x83, 0xc4, 0x08, 0xc3, 0xcc}; /* add (%rcx), %eax */
    static const uint8_t data[16] = {[8] = 42};
    static const uint32_t header[] = {0x0a594f54, TOY_MACHINE, sizeof code, sizeof data, 4, 3};
    static const uint32_t relocs[][5] = {
        {DATA, 0, ADDRESS, 3, 0}, {CODE, 5, DISTANCE, 4, (uint32_t)-4}, {CODE, 12, DISTANCE, 2, (uint32_t)-4}};
    struct bytes file = {NULL, 0};
    put(&file, header, sizeof header);
    put(&file, code, sizeof code);
    put(&file, data, sizeof data);
    put_symbol(&file, "get", CODE, 0);
    put_symbol(&file, "pointer", DATA, 0);
    put_symbol(&file, "value", DATA, 8);
    put_symbol(&file, "host", 0, 0);
    put(&file, relocs, sizeof relocs);
    return file;
}

static void add_host(const struct fixture *f)
{
    static const uint8_t returns_five[] = {0xb8, 5, 0, 0, 0, 0xc3};
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    elf_function(&elf, "host", elf_code(&elf, returns_five, sizeof returns_five), 0);
    struct bytes file = elf_finish(&elf);
    add_bytes(f, "host.o", file.at, file.size);
    link_all(f);
    free(file.at);
}

/* ---- the tests ---- */

static void test_runs(void **state)
{
    (void)state;
    struct fixture f = open_fixture(&options);
    struct bytes file = make_object();
    add_host(&f);
    add_bytes(&f, "toy.o", file.at, file.size);
    assert_int_equal(call(&f, "get"), 47);
    *(int *)lookup(&f, "value") = 1;
    assert_int_equal(call(&f, "get"), 6);
    close_fixture(&f);
    free(file.at);
}

/* The loops behind a reader check what it hands on. */
static void test_refuses(void **state)
{
    (void)state;
    static const struct {
        size_t from_end; /* of the word that is changed: those of the last relocation, the place of `value` */
        uint32_t value;
        const char *word;
    } cases[] = {
        {16, 29, "outside the section's 32 bytes"},
        {12, 3, "relocation type 3 does not exist on x86-64"},
        {8, 5, "symbol"},
        {3 * RELOC + SYMBOL + WORD, 17, "lies nowhere"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct fixture f = open_fixture(&options);
        struct tn_stats before = stats_of(&f);
        struct tn_error err;
        struct bytes file = make_object();
        tn__put32(file.at + file.size - cases[i].from_end, cases[i].value);
        define(&f, "host", file.at);
        int code = try_add_bytes(&f, "toy.o", file.at, file.size, &err);
        if (!code)
            code = tn_link(f.library, &err);
        assert_error(code, TN_EFORMAT, &err, "toy.o", cases[i].word);
        struct tn_stats after = stats_of(&f);
        assert_same_memory(&before, &after);
        close_fixture(&f);
        free(file.at);
    }
}

static void test_prefixes(void **state)
{
    (void)state;
    struct fixture f = open_fixture(&options);
    struct bytes file = make_object();
    struct tn_error err;
    for (size_t size = 0; size < file.size; size++)
        assert_int_equal(try_add_bytes(&f, "toy.o", file.at, size, &err), TN_EFORMAT);
    close_fixture(&f);
    free(file.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs), cmocka_unit_test(test_refuses),
                                       cmocka_unit_test(test_prefixes)};
    return cmocka_run_group_tests_name("link/toy format", tests, NULL, NULL);
}
