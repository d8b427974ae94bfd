/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Archives made by ar and llvm-ar, archives made here that those tools do not make, and malformed ones. */

#include "elf_builder.h"

#include <stdlib.h>
#include <unistd.h>

/* ---- archives of the tools (rules.mk) ---- */

struct row {
    const char *name, *file;
};

static const struct row made[] = {
    {"GNU", "gnu.a"},
    {"thin", "thin.a"},
    {"without index", "no_index.a"},
    {"thin, without index", "thin_no_index.a"},
    {"BSD", "bsd.a"},
    {"Darwin", "darwin.a"},
    {"GNU by LLVM", "llvm.a"},
};

static void members_are_linked_on_demand(void **state)
{
    const struct row *row = *state;
    if (!data_exists(row->file))
        skip(); /* built without LLVM's tools */
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    add_file(&f, row->file);
    link_all(&f);
    assert_int_equal(stats_of(&f).objects, 0);
    assert_int_equal(call(&f, "first"), 111);
    assert_int_equal(stats_of(&f).objects, 3);
    assert_int_equal(*(int *)lookup(&f, "base"), 100);
    /* The remaining member needs an undefined name; the text names the member as ar does. */
    char member[128];
    snprintf(member, sizeof member, "%s(archive_unused.o)(.text+0x", row->file);
    for (int i = 0; i < 2; i++)
        assert_error(tn_lookup(f.library, "optional", &address, &err), TN_EUNDEF, &err, "'nowhere'", member);
    assert_int_equal(stats_of(&f).objects, 3);
    close_fixture(&f);
}

/* ---- archives made here ---- */

struct archive {
    uint8_t bytes[1 << 16];
    size_t size;
};

static void append(struct archive *a, const void *bytes, size_t size)
{
    assert_true(a->size + size <= sizeof a->bytes);
    memcpy(a->bytes + a->size, bytes, size);
    a->size += size;
}

static size_t append_member(struct archive *a, const char *name, const void *bytes, size_t size)
{
    char header[61];
    size_t at = a->size;
    snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644, size);
    append(a, header, 60);
    append(a, bytes, size);
    if (size & 1)
        append(a, "\n", 1);
    return at;
}

static struct archive *begin(void)
{
    static struct archive archive;
    archive.size = 0;
    append(&archive, "!<arch>\n", 8);
    return &archive;
}

static struct bytes function_object(const char *name, const char *calls, uint8_t value)
{
    static struct elf elf;
    const uint8_t code[] = {0xb8, value, 0, 0, 0, 0xc3, 0xe8, 0, 0, 0, 0}; /* mov $value, %eax; ret; call */
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    elf_function(&elf, name, text, 0);
    if (calls)
        elf_reloc(&elf, text, 7, elf_undefined(&elf, calls), R_X86_64_PLT32, -4);
    return elf_finish(&elf);
}

static void put_big_endian(uint8_t *at, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++)
        at[i] = (uint8_t)(value >> 8 * (width - 1 - i));
}

/* An archive with a member m.o that defines `defines`, and an index that lists `promises`. */
static struct archive *with_index(size_t width, const char *promises, const char *defines)
{
    struct archive *a = begin();
    uint8_t index[64] = {0};
    size_t size = 2 * width + strlen(promises) + 1;
    put_big_endian(index, 1, width);
    put_big_endian(index + width, 8 + 60 + size + (size & 1), width);
    memcpy(index + 2 * width, promises, strlen(promises) + 1);
    append_member(a, width == 8 ? "/SYM64/" : "/", index, size);
    struct bytes object = function_object(defines, NULL, 7);
    append_member(a, "m.o/", object.at, object.size);
    free(object.at);
    return a;
}

static int try_add(const struct fixture *f, const char *name, const void *bytes, size_t size, struct tn_error *err)
{
    const struct tn_input input = {.size = sizeof input, .name = name, .bytes = bytes, .length = size};
    return tn_add_archive(f->library, &input, err);
}

static void add(const struct fixture *f, const char *name, const struct archive *a)
{
    struct tn_error err;
    assert_ok(try_add(f, name, a->bytes, a->size, &err), &err);
}

static void indexes_of_32_and_64_bits(void **state)
{
    (void)state;
    for (size_t width = 4; width <= 8; width += 4) {
        struct fixture f = open_fixture(NULL);
        add(&f, "index.a", with_index(width, "f", "f"));
        assert_int_equal(call(&f, "f"), 7);
        close_fixture(&f);
    }
}

static void an_index_that_promises_too_much(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    add(&f, "index.a", with_index(4, "promised", "f"));
    assert_error(tn_lookup(f.library, "promised", &address, &err), TN_EUNDEF, &err, "'promised'");
    check_still_works(&f);
    close_fixture(&f);
}

static void archives_refer_to_each_other(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    static struct archive first, second;
    struct bytes objects[] = {function_object("a1", "b1", 1), function_object("b1", "a2", 2),
                              function_object("a2", "b2", 3), function_object("b2", "a1", 4)};
    struct archive *a = begin();
    append_member(a, "a1.o/", objects[0].at, objects[0].size);
    append_member(a, "a2.o/", objects[2].at, objects[2].size);
    first = *a;
    a = begin();
    append_member(a, "b1.o/", objects[1].at, objects[1].size);
    append_member(a, "b2.o/", objects[3].at, objects[3].size);
    second = *a;
    add(&f, "first.a", &first);
    add(&f, "second.a", &second);
    assert_int_equal(call(&f, "a1"), 1);
    assert_int_equal(stats_of(&f).objects, 4);
    assert_int_equal(call(&f, "b2"), 4);
    close_fixture(&f);
    for (size_t i = 0; i < COUNT(objects); i++)
        free(objects[i].at);
}

static void what_is_defined_already_pulls_nothing(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct bytes object = function_object("f", NULL, 5);
    add(&f, "index.a", with_index(4, "f", "f"));
    add_bytes(&f, "own.o", object.at, object.size);
    assert_int_equal(call(&f, "f"), 5);
    assert_int_equal(stats_of(&f).objects, 1);
    close_fixture(&f);
    f = open_fixture(NULL);
    define(&f, "f", &f);
    add(&f, "index.a", with_index(4, "f", "f"));
    assert_ptr_equal(lookup(&f, "f"), &f);
    assert_int_equal(stats_of(&f).objects, 0);
    close_fixture(&f);
    free(object.at);
}

static void the_first_archive_that_has_it_serves(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    static struct archive first;
    struct bytes object = function_object("f", NULL, 3);
    struct archive *a = begin();
    append_member(a, "f.o/", object.at, object.size);
    first = *a;
    add(&f, "first.a", &first);
    add(&f, "second.a", with_index(4, "f", "f"));
    assert_int_equal(call(&f, "f"), 3);
    close_fixture(&f);
    free(object.at);
}

static void a_member_that_clashes_is_an_error_that_leaves_nothing(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    static struct elf elf;
    static const uint8_t code[] = {0xc3};
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    elf_function(&elf, "wanted", text, 0);
    elf_function(&elf, "taken", text, 0);
    struct bytes object = elf_finish(&elf), own = function_object("taken", NULL, 9);
    struct archive *a = begin();
    append_member(a, "clash.o/", object.at, object.size);
    add_bytes(&f, "own.o", own.at, own.size);
    add(&f, "clash.a", a);
    struct tn_stats before = stats_of(&f), after;
    for (int i = 0; i < 2; i++)
        assert_error(tn_lookup(f.library, "wanted", &address, &err), TN_EDUP, &err, "'taken'", "own.o",
                     "clash.a(clash.o)");
    after = stats_of(&f);
    assert_same_memory(&before, &after);
    assert_int_equal(call(&f, "taken"), 9);
    close_fixture(&f);
    free(object.at);
    free(own.at);
}

static void thin_members_that_are_gone(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    struct bytes thin = read_bytes(data_file("thin.a"));
    char path[256];
    snprintf(path, sizeof path, "%s", scratch_file("thin.a"));
    write_bytes(path, thin.at, thin.size);
    add_file(&f, path);
    assert_error(tn_lookup(f.library, "first", &address, &err), TN_EIO, &err, "thin.a", "archive_1.o", "No such file");
    check_still_works(&f);
    close_fixture(&f);
    free(thin.at);
}

/* A thin archive of one member, whose path is in the table of long names. */
static struct bytes thin_of(const char *member)
{
    char text[1024];
    int size = snprintf(text, sizeof text, "!<thin>\n%-48s%-10zu`\n%s/\n%s%-48s%-10d`\n", "//", strlen(member) + 2,
                        member, strlen(member) % 2 ? "\n" : "", "/0", 100);
    struct bytes thin = {malloc((size_t)size), (size_t)size};
    memcpy(thin.at, text, (size_t)size);
    return thin;
}

/* GNU ar writes "/0             /" for a name of 15 bytes, and "/0:88" for a member of an archive that it was given. */
static void thin_members_as_gnu_ar_names_them(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        int code;
    } rows[] = {
        {"/0             /", "123456789012345: No such file", TN_EIO},
        {"/0:88", "it is a member of another archive", TN_ENOTSUP},
        {"/99            /", "outside the table of long names", TN_EFORMAT},
        {"/0             x", "outside the table of long names", TN_EFORMAT},
    };
    struct tn_error err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture f = open_fixture(NULL);
        struct bytes thin = thin_of("123456789012345");
        char *header = strstr((char *)thin.at, "/0 ");
        memset(header, ' ', 16);
        memcpy(header, rows[i].name, strlen(rows[i].name));
        const struct tn_input input = {
            .size = sizeof input, .name = scratch_file("named.a"), .bytes = thin.at, .length = thin.size};
        assert_error(tn_add_archive(f.library, &input, &err), rows[i].code, &err, rows[i].text);
        close_fixture(&f);
        free(thin.at);
    }
}

/* Where the member is searched, nothing is found; elsewhere it is not searched. */
static void thin_members_stay_in_their_folder(void **state)
{
    (void)state;
    static const struct {
        const char *member;
        bool leaves;
    } rows[] = {
        {"gone.o", false}, {"sub/gone.o", false}, {"..gone.o", false}, {"sub/..gone/x.o", false},
        {"...", false},    {"/etc/passwd", true}, {"../gone.o", true}, {"sub/../gone.o", true},
        {"..", true},      {"a/..", true},
    };
    struct tn_error err;
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int any = 0; any < 2; any++) {
            struct fixture f = open_fixture(NULL);
            struct bytes thin = thin_of(rows[i].member);
            const char *path = scratch_file("leaving.a");
            const struct tn_input input = {.size = sizeof input,
                                           .name = path,
                                           .bytes = thin.at,
                                           .length = thin.size,
                                           .flags = any ? TN_INPUT_ANY_FOLDER : 0};
            int code = tn_add_archive(f.library, &input, &err); /* without an index, all members are read */
            if (rows[i].leaves && !any)
                assert_error(code, TN_EPERM, &err, path, rows[i].member, "outside of the archive's folder");
            else if (strcmp(rows[i].member, "/etc/passwd") != 0)
                assert_error(code, TN_EIO, &err, path);
            close_fixture(&f);
            free(thin.at);
        }
}

static unsigned released;

static void count_release(void *context, const void *bytes, size_t length)
{
    assert_ptr_equal(context, &released);
    assert_true(bytes && length);
    released++;
}

static void archives_are_borrowed_until_the_session_ends_and_objects_until_they_are_linked(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    const struct archive *a = with_index(4, "f", "f");
    struct bytes object = function_object("g", "f", 3);
    struct tn_input input = {.size = sizeof input, .name = "a", .release = count_release, .context = &released};
    released = 0;
    input.bytes = a->bytes;
    input.length = a->size;
    assert_ok(tn_add_archive(f.library, &input, &err), &err);
    assert_error(tn_add_object(f.library, &input, &err), TN_EFORMAT, &err, "archive");
    input.bytes = object.at;
    input.length = object.size;
    assert_ok(tn_add_object(f.library, &input, &err), &err);
    assert_error(tn_add_object(f.library, &input, &err), TN_EDUP, &err, "'g'");
    assert_error(tn_add_archive(f.library, &input, &err), TN_EFORMAT, &err, "archive");
    assert_int_equal(released, 0);
    link_all(&f);
    assert_int_equal(released, 1);
    close_fixture(&f);
    assert_int_equal(released, 2);
    free(object.at);
}

/* ---- values for common symbols ---- */

/* An object with a variable of this name that has a value; without one, a common symbol. */
static struct bytes variable_object(const char *name, const uint32_t *value)
{
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned data = value ? elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, value, 4) : SHN_COMMON;
    elf_symbol(&elf, name, STB_GLOBAL, STT_OBJECT, data, value ? 0 : 4, 4);
    return elf_finish(&elf);
}

/* What an archive has for the common symbol v: all of its members are promised to define it. */
static const struct common_row {
    const char *name;
    const char
        *members; /* f: a function v; c: common; o: another symbol; 5, 6: this value; x: no object; t: its beginning */
    uint32_t value;
    int code;
} common_rows[] = {
    {"a value", "5", 5, 0},    {"the first value", "fco65", 6, 0},
    {"a function", "f", 0, 0}, {"a common symbol", "c", 0, 0},
    {"nothing", "o", 0, 0},    {"no object before it", "x5", 5, 0},
    {"no object", "x", 0, 0},  {"a part of an object before it", "t5", 0, TN_EFORMAT},
};

static struct bytes member_of(char kind)
{
    static const uint32_t values[] = {5, 6};
    struct bytes object;
    switch (kind) {
    case 'f':
        return function_object("v", NULL, 1);
    case 'c':
        return variable_object("v", NULL);
    case 'o':
        return function_object("w", NULL, 1);
    case 'x':
        return (struct bytes){calloc(1, 64), 64};
    case 't':
        object = variable_object("v", NULL);
        object.size = 100;
        return object;
    default:
        return variable_object("v", &values[kind - '5']);
    }
}

/* Twice the same pair for each member: an index may say a thing again. */
static struct archive *all_promise_v(const char *members)
{
    struct archive *a = begin();
    uint8_t index[128] = {0};
    size_t count = strlen(members), size = 4 + 2 * count * (4 + 2), at = 8 + 60 + size + (size & 1);
    struct bytes objects[8];
    put_big_endian(index, 2 * count, 4);
    for (size_t i = 0; i < count; i++) {
        objects[i] = member_of(members[i]);
        put_big_endian(index + 4 + 8 * i, at, 4);
        put_big_endian(index + 8 + 8 * i, at, 4);
        at += 60 + objects[i].size + (objects[i].size & 1);
    }
    for (size_t i = 0; i < 2 * count; i++)
        index[4 + 8 * count + 2 * i] = 'v';
    append_member(a, "/", index, size);
    for (size_t i = 0; i < count; i++) {
        append_member(a, "m.o/", objects[i].at, objects[i].size);
        free(objects[i].at);
    }
    return a;
}

static void a_common_symbol_takes_the_value_of_a_member(void **state)
{
    const struct common_row *row = *state;
    for (int is_behind = 0; is_behind < 2; is_behind++) {
        struct fixture f = open_fixture(NULL);
        struct bytes object = variable_object("v", NULL);
        struct tn_error err;
        void *address;
        if (!is_behind)
            add_bytes(&f, "common.o", object.at, object.size);
        add(&f, "values.a", all_promise_v(row->members));
        if (is_behind)
            add_bytes(&f, "common.o", object.at, object.size);
        int code = tn_lookup(f.library, "v", &address, &err);
        if (row->code && !is_behind) {
            assert_error(code, row->code, &err, "values.a");
        } else {
            assert_ok(code, &err);
            assert_int_equal(*(uint32_t *)address, is_behind ? 0 : row->value);
            assert_int_equal(stats_of(&f).objects, !is_behind && row->value ? 2 : 1);
        }
        close_fixture(&f);
        free(object.at);
    }
}

/* What is promised and not there is looked for in the next member that is promised to have it, as GNU ld does, in this
 * archive or one behind it. */
static void a_wrong_promise_leads_on(void **state)
{
    (void)state;
    static const struct {
        const char *members[2];
        int code;
    } rows[] = {
        {{"of", "c"}, 0},        {{"o", "f"}, 0}, {{"o", "of"}, TN_EDUP},
        {{"oo", NULL}, TN_EDUP}, {{"o", "c"}, 0}, {{"o", NULL}, TN_EUNDEF},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture f = open_fixture(NULL);
        struct tn_error err;
        static struct archive archives[2];
        void *address;
        for (int k = 0; k < 2 && rows[i].members[k]; k++) {
            archives[k] = *all_promise_v(rows[i].members[k]);
            add(&f, k ? "second.a" : "first.a", &archives[k]);
        }
        int code = tn_lookup(f.library, "v", &address, &err);
        if (rows[i].code)
            assert_error(code, rows[i].code, &err, rows[i].code == TN_EDUP ? "'w'" : "'v'");
        else
            assert_ok(code, &err);
        check_still_works(&f);
        close_fixture(&f);
    }
}

/* ---- malformed ones ---- */

enum field { NAME = 8, DATE = 24, SIZE = 56, END = 66 }; /* in the first member's header, at 8 */

struct spoiled {
    const char *name;
    size_t at;
    const char *text; /* overwrites what is there */
    size_t length;
    const char *message;
};

/* with_index(4, "f", "f"): the index at 8, its contents at 68: count, offset, "f"; m.o at 78. */
#define TEXT(text) text, sizeof(text) - 1

static const struct spoiled spoiled[] = {
    {"magic", 0, TEXT("!<arhc>\n"), "not an archive"},
    {"end of header", END, TEXT("x"), "no member header at 8"},
    {"second end of header", END + 1, TEXT("x"), "no member header at 8"},
    {"no size", SIZE, TEXT("          "), "no member header at 8"},
    {"size with letters", SIZE, TEXT("1x        "), "no member header at 8"},
    {"negative size", SIZE, TEXT("-1        "), "no member header at 8"},
    {"size beyond the end", SIZE, TEXT("9999999999"), "the member at 8 has 9999999999 bytes"},
    {"size that ends in a header", SIZE, TEXT("12        "), "no member header at 80"},
    {"index of no bytes", SIZE, TEXT("0         "), "no member header at 68"},
    {"index of three bytes", SIZE, TEXT("3         "), "no member header at 72"},
    {"a name in a table that is not there", NAME, TEXT("/12 "), "outside the table of long names"},
    {"a name of no number", NAME, TEXT("/1x "), "outside the table of long names"},
    {"a BSD name longer than its member", NAME, TEXT("#1/9999 "), "longer than the member"},
    {"a BSD name of no number", NAME, TEXT("#1/x "), "longer than the member"},
    {"count of the index", 68, TEXT("\377\377\377\377"), "malformed symbol index"},
    {"count that leaves no names", 68, TEXT("\0\0\0\2"), "malformed symbol index"},
    {"names without end", 76, TEXT("ff"), "malformed symbol index"},
    {"BSD index", NAME, TEXT("__.SYMDEF       "), "malformed symbol index"},
    {"64-bit index", NAME, TEXT("/SYM64/         "), "malformed symbol index"},
    {"header of the object", 78 + 58, TEXT("x"), "no member header at 78"},
    {"size of the object", 78 + 48, TEXT("9999999999"), "the member at 78 has"},
};

static void malformed_archives_are_refused(void **state)
{
    const struct spoiled *row = *state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    struct archive *a = with_index(4, "f", "f");
    memcpy(a->bytes + row->at, row->text, row->length);
    int code = try_add(&f, "spoiled.a", a->bytes, a->size, &err);
    if (!code)
        code = tn_lookup(f.library, "f", &address, &err);
    assert_error(code, TN_EFORMAT, &err, "spoiled.a", row->message);
    check_still_works(&f);
    close_fixture(&f);
}

static void offsets_in_the_index(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset;
        int code;
    } rows[] = {{78, 0},          {0, TN_EUNDEF},      {8, TN_EFORMAT},         {77, TN_EFORMAT},
                {79, TN_EFORMAT}, {99999, TN_EFORMAT}, {0xffffffff, TN_EFORMAT}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture f = open_fixture(NULL);
        struct tn_error err;
        void *address;
        struct archive *a = with_index(4, "f", "f");
        put_big_endian(a->bytes + 72, rows[i].offset, 4);
        int code = try_add(&f, "offset.a", a->bytes, a->size, &err);
        if (!code)
            code = tn_lookup(f.library, "f", &address, &err);
        if (rows[i].code && code != TN_EFORMAT)
            fail_msg("offset %llu: %s", (unsigned long long)rows[i].offset, tn_error_name(code));
        if (!rows[i].code)
            assert_ok(code, &err);
        check_still_works(&f);
        close_fixture(&f);
    }
}

static struct fixture session;
static unsigned uses;

static int try_all(const uint8_t *bytes, size_t size)
{
    struct tn_error err;
    void *address;
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    if (uses++ % 256 == 0) {
        if (session.session)
            close_fixture(&session);
        session = open_fixture(NULL);
    }
    struct fixture f = {.session = session.session};
    assert_int_equal(tn_library_create(f.session, "x", &f.library, &err), 0);
    int code = try_add(&f, "/nowhere/spoiled.a", copy, size, &err);
    if (!code)
        code = tn_lookup(f.library, "first", &address, &err);
    if (code && !err.text[0])
        fail_msg("no text for %d", code);
    static uint8_t *kept[256]; /* borrowed until the session ends */
    free(kept[uses % 256]);
    kept[uses % 256] = copy;
    return code;
}

static int close_session(void **state)
{
    (void)state;
    if (session.session)
        close_fixture(&session);
    session.session = NULL;
    uses = 0;
    return 0;
}

/* Spoils every byte up to the second object. The bytes after it are those of objects, which corrupt.c spoils. */
static void no_spoiled_byte_does_harm(void **state)
{
    const struct row *row = *state;
    if (!data_exists(row->file))
        skip();
    struct bytes file = read_bytes(data_file(row->file));
    size_t limit = file.size < 700 ? file.size : 700;
    for (size_t at = 0; at < limit; at++) {
        uint8_t saved = file.at[at];
        const uint8_t values[] = {0, 0xff, '/', '0', '9', ' ', (uint8_t)(saved ^ 1), (uint8_t)(saved ^ 0x80)};
        for (size_t i = 0; i < COUNT(values); i++) {
            file.at[at] = values[i];
            try_all(file.at, file.size);
        }
        file.at[at] = saved;
    }
    for (size_t size = 0; size < file.size; size += size < limit ? 1 : 37)
        try_all(file.at, size);
    check_maps();
    free(file.at);
    close_session(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indexes_of_32_and_64_bits),
        cmocka_unit_test(an_index_that_promises_too_much),
        cmocka_unit_test(archives_refer_to_each_other),
        cmocka_unit_test(what_is_defined_already_pulls_nothing),
        cmocka_unit_test(the_first_archive_that_has_it_serves),
        cmocka_unit_test(a_member_that_clashes_is_an_error_that_leaves_nothing),
        cmocka_unit_test(thin_members_that_are_gone),
        cmocka_unit_test(thin_members_as_gnu_ar_names_them),
        cmocka_unit_test(thin_members_stay_in_their_folder),
        cmocka_unit_test(archives_are_borrowed_until_the_session_ends_and_objects_until_they_are_linked),
        cmocka_unit_test(offsets_in_the_index),
        cmocka_unit_test(a_wrong_promise_leads_on),
    };
    int failed = cmocka_run_group_tests_name("link/archive", tests, NULL, NULL);
    failed += RUN_ROWS("made by tools", made, members_are_linked_on_demand);
    failed += RUN_ROWS("values for common symbols", common_rows, a_common_symbol_takes_the_value_of_a_member);
    failed += RUN_ROWS("malformed", spoiled, malformed_archives_are_refused);
    return failed + RUN_ROWS("spoiled bytes", made, no_spoiled_byte_does_harm);
}
