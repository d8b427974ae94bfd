/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Linking for another address space: nothing in this process is touched, and whatever would need this process is
 * refused. tests/link/passes/oracle.c checks the bytes. */

#include "elf_builder.h"

#include <stdlib.h>

#include "link/file/detached.h"

enum { PAGE = 4096 };

/* An address where nothing is mapped: accessing it ends the test. */
static const uint64_t NOWHERE = 0x6660000000;

struct seen {
    unsigned objects;
    uint64_t got_address, pinned_address, tls_address, ifunc_pointer, resolver;
    uint8_t got[16], pinned[8];
};

static void look_at(struct seen *seen, const struct tn__object *object)
{
    const struct tn__plan *plan = object->plan;
    seen->objects++;
    seen->got_address = plan->got_address;
    if (plan->got_words == 2)
        memcpy(seen->got, plan->got_write, sizeof seen->got);
    for (uint32_t i = 1; i < object->data->section_count; i++) {
        const struct tn__input_section *section = &object->data->sections[i];
        if (!strcmp(section->name, ".pinned")) {
            seen->pinned_address = section->address;
            memcpy(seen->pinned, section->write, sizeof seen->pinned);
        } else if (!strcmp(section->name, ".tdata")) {
            seen->tls_address = section->address;
        }
    }
    if (plan->ifunc_count)
        seen->ifunc_pointer = tn__get64(object->ranges[TN_ZONE_DATA]->write + plan->ifunc_offset);
}

static int on_linked(struct tn__link *link)
{
    for (size_t i = 0; i < link->count; i++)
        look_at(link->session->detached->context, link->objects[i]);
    return 0;
}

static struct fixture open_at(struct tn__detached *where, struct seen *seen)
{
    struct fixture f;
    struct tn_error err;
    assert_ok(tn__session_create_detached(NULL, where, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "library", &f.library, &err), &err);
    where->finish = on_linked;
    where->context = seen;
    return f;
}

static const uint8_t code[64] = {0xf4}; /* hlt: never run */
static const uint8_t data[64];

/* Initializers, finalizers, unwind data and a resolver, each of which would crash the test if it were run or read. */
static struct bytes make_object(void)
{
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned init = elf_section(&elf, ".init_array", SHT_INIT_ARRAY, SHF_ALLOC | SHF_WRITE, data, 8);
    unsigned fini = elf_section(&elf, ".fini_array", SHT_FINI_ARRAY, SHF_ALLOC | SHF_WRITE, data, 8);
    elf_section(&elf, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, "\x04\0\0\0\xff\xff\xff\xff", 8);
    elf_section(&elf, ".init", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, 1);
    unsigned pinned = elf_section(&elf, ".pinned", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, data, 8);
    elf_section(&elf, ".tdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, data, 24);
    unsigned start = elf_function(&elf, "start", text, 0);
    unsigned indirect = elf_symbol(&elf, "indirect", STB_GLOBAL, STT_GNU_IFUNC, text, 32, 1);
    elf_reloc(&elf, init, 0, start, R_X86_64_64, 0);
    elf_reloc(&elf, fini, 0, start, R_X86_64_64, 0);
    elf_reloc(&elf, pinned, 0, start, R_X86_64_64, 4);
    elf_reloc(&elf, text, 8, start, R_X86_64_GOTPCREL, -4);
    elf_reloc(&elf, text, 16, elf_undefined(&elf, "far"), R_X86_64_GOTPCREL, -4);
    elf_reloc(&elf, text, 24, indirect, R_X86_64_PLT32, -4);
    return elf_finish(&elf);
}

static void test_touches_nothing(void **state)
{
    (void)state;
    const struct tn__pin pins[] = {{"object.o", ".pinned", 0x1234560}, {"dir/object.o", ".got", NOWHERE + 0x100008}};
    struct tn__detached where = {
        .address = NOWHERE, .size = 1 << 20, .page_size = PAGE, .pins = pins, .pin_count = COUNT(pins)};
    struct seen seen = {0};
    struct tn_error err;
    struct fixture f = open_at(&where, &seen);
    struct bytes object = make_object();
    define(&f, "far", (void *)0x7654321076543210);
    add_bytes(&f, "dir/object.o", object.at, object.size);
    link_all(&f);
    assert_int_equal(seen.objects, 1);
    assert_int_equal((uintptr_t)lookup(&f, "start"), NOWHERE);
    assert_int_equal(seen.pinned_address, 0x1234560);
    assert_int_equal(tn__get64(seen.pinned), NOWHERE + 4);
    assert_int_equal(seen.got_address, NOWHERE + 0x100008);
    assert_int_equal(tn__get64(seen.got), NOWHERE);
    assert_int_equal(tn__get64(seen.got + 8), 0x7654321076543210);
    assert_int_equal(seen.tls_address, (uint64_t)-32);  /* 24 bytes, aligned to 16 */
    assert_int_equal(seen.ifunc_pointer, NOWHERE + 32); /* the resolver, which was not called */
    assert_error(tn_run_initializers(f.library, 0, NULL, NULL, &err), TN_ENOTSUP, &err, "another process");
    tn_run_finalizers(f.library);
    close_fixture(&f);
    free(object.at);
}

/* Features that only exist in this process. */
static void test_refuses_what_is_of_this_process(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        int code;
        const char *word;
    } rows[] = {{R_X86_64_GOTPC32_TLSDESC, TN_ENOTSUP, "TLS descriptors"},
                {R_X86_64_PLT32, TN_EUNDEF, "__tls_get_addr"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        static struct elf elf;
        struct tn__detached where = {.address = NOWHERE, .size = 1 << 20, .page_size = PAGE};
        struct seen seen = {0};
        struct tn_error err;
        struct fixture f = open_at(&where, &seen);
        memset(&elf, 0, sizeof elf);
        unsigned text = elf_code(&elf, code, sizeof code);
        unsigned tdata = elf_section(&elf, ".tdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, data, 8);
        unsigned variable = elf_symbol(&elf, "variable", STB_GLOBAL, STT_TLS, tdata, 0, 8);
        unsigned get = elf_undefined(&elf, "__tls_get_addr");
        elf_reloc(&elf, text, 8, rows[i].type == R_X86_64_PLT32 ? get : variable, rows[i].type, -4);
        struct bytes object = elf_finish(&elf);
        add_bytes(&f, "object.o", object.at, object.size);
        assert_error(tn_link(f.library, &err), rows[i].code, &err, rows[i].word);
        assert_int_equal(seen.objects, 0);
        close_fixture(&f);
        free(object.at);
    }
}

static void test_windows(void **state)
{
    (void)state;
    static const struct {
        uint64_t address;
        size_t size, page_size;
        const char *word; /* of the error; NULL: good */
    } rows[] = {
        {0, 1, PAGE, NULL},
        {0, 1 << 30, PAGE, NULL},
        {0, (1 << 30) + 1, PAGE, "1 GiB"},
        {0, 0, PAGE, "1 byte"},
        {1, PAGE, 4 << 20, NULL},
        {0, PAGE, 8 << 20, "power of two"},
        {0, PAGE, 3, "power of two"},
        {-(uint64_t)PAGE * 2, PAGE, PAGE, NULL},
        {-(uint64_t)PAGE, PAGE, PAGE, "beyond"},
        {-(uint64_t)PAGE + 1, 1, PAGE, "beyond"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn__detached where = {.address = rows[i].address, .size = rows[i].size, .page_size = rows[i].page_size};
        struct tn_session *session;
        struct tn_error err;
        int rc = tn__session_create_detached(NULL, &where, &session, &err);
        if (rows[i].word) {
            assert_error(rc, TN_EINVAL, &err, rows[i].word);
        } else {
            assert_ok(rc, &err);
            tn_session_destroy(session);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_touches_nothing),
        cmocka_unit_test(test_refuses_what_is_of_this_process),
        cmocka_unit_test(test_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
