/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Cut objects and objects with one spoiled bit or byte: each is linked, or refused and gone without a trace. The bytes lie
 * in blocks of exactly their size, so that AddressSanitizer sees a read beyond them. */

#include "elf_builder.h"

#include <stdlib.h>

enum { PER_SESSION = 256 };

struct counts {
    unsigned linked, refused;
};

/* A new library per object and a new session now and then, because libraries live as long as their session. */
static struct fixture session;
static unsigned uses;

static void begin(void)
{
    if (uses++ % PER_SESSION)
        return;
    if (session.session)
        close_fixture(&session);
    session = open_fixture(NULL);
}

struct bases {
    void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *, struct bases *); /* of libgcc */

static void try_object(const uint8_t *bytes, size_t size, struct counts *counts)
{
    struct tn_error err = {.text = ""};
    begin();
    struct fixture f = {.session = session.session};
    assert_int_equal(tn_library_create(f.session, "spoiled", &f.library, &err), 0);
    assert_int_equal(tn_add_resolver(f.library, tn_resolve_dlsym, NULL, &err), 0);
    struct tn_stats before = stats_of(&f), after;
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    int code = try_add_bytes(&f, "spoiled.o", copy, size, &err);
    if (!code)
        code = tn_link(f.library, &err);
    after = stats_of(&f);
    if (!code) {
        counts->linked++;
        _Unwind_Find_FDE(copy, &(struct bases){0}); /* reads all unwind data registered since the last time */
    } else {
        counts->refused++;
        if (code != err.code || !err.text[0] || strncmp(tn_error_name(code), "TN_E", 4) != 0)
            fail_msg("code %d, text %s", code, err.text);
        assert_same_memory(&before, &after);
        if (counts->refused % 64 == 0)
            check_still_works(&f);
    }
    /* An object that waits for its link still borrows the bytes: dropped with the session. */
    static struct bytes kept[PER_SESSION];
    free(kept[uses % PER_SESSION].at);
    kept[uses % PER_SESSION] = (struct bytes){copy, size};
}

static int end(void **state)
{
    (void)state;
    if (session.session)
        close_fixture(&session);
    uses = 0;
    return 0;
}

static void every_prefix(struct bytes object, size_t step)
{
    struct counts counts = {0, 0};
    for (size_t size = 0; size <= object.size; size += size < 64 || object.size - size <= step ? 1 : step)
        try_object(object.at, size, &counts);
    check_maps();
    assert_int_equal(counts.linked, 1); /* only the whole; its headers are at the end */
}

static void every_byte(struct bytes object)
{
    struct counts counts = {0, 0};
    for (size_t at = 0; at < object.size; at++) {
        uint8_t saved = object.at[at];
        for (int bit = 0; bit < 8; bit++) {
            object.at[at] = (uint8_t)(saved ^ 1 << bit);
            try_object(object.at, object.size, &counts);
        }
        const uint8_t values[] = {0, 0xff, (uint8_t)(saved + 1), (uint8_t)(saved - 1)};
        for (size_t i = 0; i < COUNT(values); i++) {
            object.at[at] = values[i];
            if (values[i] != saved)
                try_object(object.at, object.size, &counts);
        }
        object.at[at] = saved;
    }
    check_maps();
    assert_true(counts.linked > 100 && counts.refused > 1000);
}

static struct bytes compiled(void)
{
    return read_bytes(data_file("small.o"));
}

/* What a compiler does not put into one small object: a group, extended section indices, an archive of tables. */
static struct bytes built(void)
{
    static struct elf elf;
    /* Returns at once: one spoiled bit makes an indirect function of it, which the link calls. */
    static const uint8_t code[] = {0xc3, 0xe8, 0, 0, 0, 0, 0x48, 0x8b, 0x05, 0, 0, 0, 0};
    static uint64_t words[4];
    static uint32_t group[2] = {GRP_COMDAT, 2}, indices[10];
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned data = elf_section(&elf, ".data.g", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_GROUP, words, sizeof words);
    unsigned grp = elf_section(&elf, ".group", SHT_GROUP, 0, group, sizeof group);
    unsigned xindex = elf_section(&elf, ".symtab_shndx", SHT_SYMTAB_SHNDX, 0, indices, sizeof indices);
    unsigned init = elf_section(&elf, ".init_array.7", SHT_INIT_ARRAY, SHF_ALLOC | SHF_WRITE, words, 8);
    unsigned local = elf_symbol(&elf, "", STB_LOCAL, STT_SECTION, data, 0, 0);
    unsigned function = elf_function(&elf, "function", text, 0);
    unsigned word = elf_symbol(&elf, "word", STB_WEAK, STT_OBJECT, SHN_XINDEX, 8, 8);
    elf_symbol(&elf, "shared", STB_GLOBAL, STT_OBJECT, SHN_COMMON, 8, 24);
    elf_symbol(&elf, "absolute", STB_GLOBAL, STT_NOTYPE, SHN_ABS, 0x1234, 0);
    unsigned host = elf_undefined(&elf, "strlen");
    indices[word] = data;
    elf.sections[grp].header.sh_info = function;
    elf_reloc(&elf, text, 2, host, R_X86_64_PLT32, -4);
    elf_reloc(&elf, text, 9, word, R_X86_64_REX_GOTPCRELX, -4);
    elf_reloc(&elf, data, 0, local, R_X86_64_64, 16);
    elf_reloc(&elf, data, 8, word, R_X86_64_SIZE64, 0);
    elf_reloc(&elf, init, 0, function, R_X86_64_64, 0);
    struct bytes object = elf_finish(&elf);
    elf_section_header(object, xindex)->sh_link =
        (uint32_t)(elf_section_of_type(object, SHT_SYMTAB) - elf_section_header(object, 0));
    return object;
}

static void prefixes_of_a_compiled_object(void **state)
{
    (void)state;
    struct bytes object = compiled();
    every_prefix(object, 1);
    free(object.at);
}

static void prefixes_of_a_built_object(void **state)
{
    (void)state;
    struct bytes object = built();
    every_prefix(object, 1);
    free(object.at);
}

static void bytes_of_a_compiled_object(void **state)
{
    (void)state;
    struct bytes object = compiled();
    every_byte(object);
    free(object.at);
}

static void bytes_of_a_built_object(void **state)
{
    (void)state;
    struct bytes object = built();
    every_byte(object);
    free(object.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes_of_a_compiled_object),
        cmocka_unit_test(prefixes_of_a_built_object),
        cmocka_unit_test(bytes_of_a_compiled_object),
        cmocka_unit_test(bytes_of_a_built_object),
    };
    return cmocka_run_group_tests_name("link/corrupt", tests, NULL, end);
}
