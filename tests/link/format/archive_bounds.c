/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Archives made to cost more time or memory than they are worth: what their index, their names and their members say
 * may be said often, and about the same bytes. */

#include "elf_builder.h"

#include <stdlib.h>

#include "bounds.h"

struct archive {
    uint8_t *bytes;
    size_t size;
};

static void append(struct archive *a, const void *bytes, size_t size)
{
    a->bytes = realloc(a->bytes, a->size + size + 1);
    memcpy(a->bytes + a->size, bytes, size);
    a->size += size;
    if (size & 1)
        a->bytes[a->size++] = '\n';
}

static size_t append_member(struct archive *a, const char *name, const void *bytes, size_t size)
{
    char header[61];
    size_t at = a->size;
    snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644, size);
    append(a, header, 60);
    append(a, bytes, size);
    return at;
}

static struct archive begin(void)
{
    struct archive a = {.size = 0};
    append(&a, "!<arch>\n", 8);
    return a;
}

enum { NAMES = 30000, LONG = 300000, REFERENCES = 200, PADDING = 100000 };

/* ---- files ---- */

/* Its names are ends of one. */
static struct archive bsd_index(void)
{
    struct archive a = begin();
    static uint32_t words[2 + 2 * NAMES + LONG / 4];
    words[0] = 8 * NAMES;
    for (uint32_t i = 0; i < NAMES; i++) {
        words[1 + 2 * i] = i;
        words[2 + 2 * i] = 8;
    }
    words[1 + 2 * NAMES] = LONG;
    memset(&words[2 + 2 * NAMES], 'n', LONG - 1);
    append_member(&a, "__.SYMDEF", words, sizeof words);
    return a;
}

/* No index; all members are called as the end of one long name. */
static struct archive long_names(void)
{
    struct archive a = begin();
    char *names = malloc(LONG);
    memset(names, 'n', LONG);
    append_member(&a, "//", names, LONG);
    for (int i = 0; i < NAMES; i++)
        append_member(&a, "/0", "", 0);
    free(names);
    return a;
}

static void name_of(unsigned i, char name[16])
{
    snprintf(name, 16, "promised%u", i);
}

/* A function that needs all that is promised. */
static struct bytes needy(void)
{
    static struct elf elf;
    static const uint8_t code[8 * REFERENCES];
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    elf_function(&elf, "needy", text, 0);
    for (unsigned i = 0; i < REFERENCES; i++) {
        char name[16];
        name_of(i, name);
        elf_reloc(&elf, text, 8 * (uint64_t)i, elf_symbol(&elf, name, STB_GLOBAL, STT_NOTYPE, 0, 0, 0), R_X86_64_64, 0);
    }
    return elf_finish(&elf);
}

/* An index of GNU's kind. Number i is said to be in the member at `first` + i * `step`. */
static void append_index(struct archive *a, size_t first, size_t step)
{
    uint8_t index[4 + REFERENCES * 20] = {0, 0, 0, REFERENCES};
    char *at = (char *)index + 4 + 4 * REFERENCES;
    for (unsigned i = 0; i < REFERENCES; i++) {
        size_t offset = first + i * step;
        for (int k = 0; k < 4; k++)
            index[4 + 4 * i + (unsigned)k] = (uint8_t)(offset >> (24 - 8 * k));
        name_of(i, at);
        at += strlen(at) + 1;
    }
    append_member(a, "/", index, sizeof index);
}

enum { AFTER_INDEX = 8 + 60 + 4 + REFERENCES * 20 };

/* One large member, of which the index promises much that it does not define. */
static struct archive broken_promises(void)
{
    struct archive a = begin();
    static struct elf elf;
    static const uint8_t data[PADDING];
    memset(&elf, 0, sizeof elf);
    unsigned section = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, data, sizeof data);
    elf_symbol(&elf, "other", STB_GLOBAL, STT_OBJECT, section, 0, 8);
    struct bytes object = elf_finish(&elf);
    append_index(&a, AFTER_INDEX, 0);
    append_member(&a, "m.o/", object.at, object.size);
    free(object.at);
    return a;
}

/* Each member contains all that follow. */
static struct archive nested(void)
{
    struct archive a = begin();
    struct bytes objects[REFERENCES];
    size_t size = 0, most = 0, all;
    static struct elf elf;
    for (unsigned i = 0; i < REFERENCES; i++) {
        char name[16];
        memset(&elf, 0, sizeof elf);
        name_of(i, name);
        elf_function(&elf, name, elf_code(&elf, "\xc3", 1), 0);
        objects[i] = elf_finish(&elf);
        most = objects[i].size > most ? objects[i].size : most;
    }
    size = (most + 1) & ~(size_t)1;
    all = REFERENCES * (60 + size);
    append_index(&a, AFTER_INDEX, 60 + size);
    for (unsigned i = 0; i < REFERENCES; i++) {
        char header[61];
        snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", "m.o/", 0, 0, 0, 0644,
                 all - i * (60 + size) - 60);
        append(&a, header, 60);
        append(&a, objects[i].at, objects[i].size);
        a.bytes = realloc(a.bytes, AFTER_INDEX + all);
        while ((a.size - AFTER_INDEX) % (60 + size))
            a.bytes[a.size++] = 0;
        free(objects[i].at);
    }
    return a;
}

/* ---- rows ---- */

static const struct row {
    const char *name;
    struct archive (*make)(void);
    int added, linked; /* codes */
    const char *word;
} rows[] = {
    {"names in an index that are ends of one", bsd_index, TN_EFORMAT, 0, "too long in sum"},
    {"members with one long name", long_names, TN_EFORMAT, 0, "its name has"},
    {"one member that defines nothing of what is promised", broken_promises, 0, TN_EUNDEF, "promised0"},
    {"members in members", nested, 0, TN_EFORMAT, "members overlap"},
};

static void it_costs_what_its_size_says(void **state)
{
    const struct row *row = *state;
    const struct tn_session_options options = {.size = sizeof options, .allocator = &bounds_allocator};
    struct archive a = row->make();
    struct bytes object = needy();
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    bounds_begin();
    assert_ok(tn_session_create(&options, &session, &err), &err);
    assert_ok(tn_library_create(session, "bounds", &library, &err), &err);
    const struct tn_input input = {.size = sizeof input, .name = "a.a", .bytes = a.bytes, .length = a.size};
    const struct tn_input user = {.size = sizeof user, .name = "o.o", .bytes = object.at, .length = object.size};
    int code = tn_add_archive(library, &input, &err);
    if (row->added) {
        assert_error(code, row->added, &err, "a.a", row->word);
    } else {
        assert_ok(code, &err);
        assert_ok(tn_add_object(library, &user, &err), &err);
        assert_error(tn_link(library, &err), row->linked, &err, row->word);
    }
    tn_session_destroy(session);
    double ms = bounds_now() - bounds.start;
    print_message("%s: %zu bytes, %.1f ms, %zu KB\n", row->name, a.size, ms, bounds.peak >> 10);
    assert_true(ms < BOUNDS_SLOWER * (50 + (double)a.size / 1e4));
    assert_true(bounds.peak < (2 << 20) + 128 * a.size);
    assert_int_equal(bounds.in_use, 0);
    free(a.bytes);
    free(object.at);
}

int main(void)
{
    return RUN_ROWS("archives", rows, it_costs_what_its_size_says);
}
