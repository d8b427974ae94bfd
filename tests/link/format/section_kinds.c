/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What every combination of a section's name, type and flags is loaded as, or that it is refused; and that nothing
 * which observers, the unwinder or the initializers read lies anywhere else than in memory. */

#include "elf_builder.h"

#include <stdlib.h>

#include "tenon_gc.h"
#include "tenon_heap.h"

#define SHT_CREL_       0x40000014
#define SHT_X86_UNWIND_ 0x70000001

/* ---- pairs of kind and role ---- */

static const char startup[] = "a piece of a startup function";

static const struct {
    const char *name;
    const char *role; /* what the error calls it; NULL: no role */
} names[] = {
    {".text", NULL},
    {".data", NULL},
    {".data.rel.ro", NULL},
    {".eh_frame_entry", NULL},
    {"tenon_mapsx", NULL},
    {".eh_frame", "an unwind table"},
    {".preinit_array", "an array of initializers"},
    {".init_array", "an array of initializers"},
    {".init_array.7", "an array of initializers"},
    {".ctors", "an array of initializers"},
    {".ctors.65535", "an array of initializers"},
    {".fini_array", "an array of finalizers"},
    {".fini_array.00000000000000000007", "an array of finalizers"},
    {".dtors", "an array of finalizers"},
    {"tenon_maps", "a table of managed code"},
    {"tenon_roots", "a table of managed code"},
    {"tenon_abi", "a table of managed code"},
    {"tenon_types", "a table of managed code"},
    {".init", startup},
    {".fini", startup},
    {".init.text", NULL},
    {".finish", NULL},
};

static const uint32_t types[] = {SHT_PROGBITS,      SHT_NOBITS, SHT_INIT_ARRAY, SHT_FINI_ARRAY,
                                 SHT_PREINIT_ARRAY, SHT_NOTE,   SHT_X86_UNWIND_};

/* What the pair is; NULL: it is loaded. Written down once more, independently of the reader's table. */
static const char *refusal(const char *role, uint32_t type, uint64_t flags)
{
    if (type == SHT_NOTE)
        return NULL; /* not loaded */
    if (type == SHT_X86_UNWIND_)
        role = "an unwind table";
    bool tls = flags & SHF_TLS, code = flags & SHF_EXECINSTR, writable = flags & SHF_WRITE, zeros = type == SHT_NOBITS;
    if (tls && code)
        return "thread-local code";
    if (role == startup && code && !zeros)
        return "would never run";
    if (role == startup)
        role = NULL;
    if (role && tls)
        return zeros ? "cannot be thread-local data without bytes" : "cannot be thread-local data";
    if (zeros && (code || (!writable && !tls)))
        return "cannot be code or constants without bytes";
    if (role && code)
        return "cannot be code";
    return role && zeros ? "cannot be data without bytes" : NULL;
}

static int link_and_remove(const struct fixture *f, struct bytes object, struct tn_error *err)
{
    struct tn_tracker *tracker;
    assert_ok(tn_tracker_create(f->library, &tracker, err), err);
    const struct tn_input input = {
        .size = sizeof input, .name = "pair.o", .bytes = object.at, .length = object.size, .owner = tracker};
    int code = tn_add_object(f->library, &input, err);
    if (!code)
        code = tn_link(f->library, err);
    struct tn_error ignored;
    tn_run_initializers(f->library, 0, NULL, NULL, &ignored);
    assert_ok(tn_tracker_remove(tracker, &ignored), &ignored);
    tn_tracker_destroy(tracker);
    return code;
}

/* Eight zeros are an empty unwind table, an array of one null pointer, a note without a name and no stack map. */
static void every_pair_is_loaded_or_refused(void **state)
{
    (void)state;
    static const uint64_t zeros[4] = {0};
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    assert_ok(tn_observe_functions(f.session, &err), &err);
    assert_ok(tn_observe_managed_code(f.session, &err), &err);
    size_t refused = 0, loaded = 0;
    for (size_t n = 0; n < COUNT(names); n++)
        for (size_t t = 0; t < COUNT(types); t++)
            for (unsigned bits = 0; bits < 8; bits++) {
                uint64_t flags =
                    SHF_ALLOC | (bits & 1 ? SHF_WRITE : 0) | (bits & 2 ? SHF_EXECINSTR : 0) | (bits & 4 ? SHF_TLS : 0);
                static struct elf elf;
                memset(&elf, 0, sizeof elf);
                elf_section(&elf, names[n].name, types[t], flags, zeros, 8);
                elf.sections[1].header.sh_addralign = 8;
                struct bytes object = elf_finish(&elf);
                const char *why = refusal(names[n].role, types[t], flags);
                int code = link_and_remove(&f, object, &err);
                if (why)
                    assert_error(code, strstr(why, "never") ? TN_ENOTSUP : TN_EFORMAT, &err, "pair.o", names[n].name,
                                 why);
                else if (code == TN_ENOTSUP) /* it does not say for which version of the runtime it is */
                    assert_error(code, TN_ENOTSUP, &err, "pair.o", "managed code");
                else
                    assert_ok(code, &err);
                refused += why != NULL;
                loaded += !why;
                free(object.at);
            }
    assert_true(refused > 300 && loaded > 300);
    check_still_works(&f);
    close_fixture(&f);
}

/* ---- symbols and thread-local data ---- */

static void symbols_are_as_their_sections_are(void **state)
{
    (void)state;
    static const uint64_t words[2] = {0};
    static const struct {
        unsigned type, section; /* 1: .data, 2: .tdata, 3: .text, 4: not loaded, or special */
        const char *why;        /* NULL: linked */
    } rows[] = {
        {STT_OBJECT, 1, NULL},
        {STT_TLS, 2, NULL},
        {STT_NOTYPE, 2, NULL},
        {STT_OBJECT, 2, NULL},
        {STT_SECTION, 2, NULL},
        {STT_TLS, 4, NULL},
        {STT_TLS, SHN_UNDEF, NULL},
        {STT_TLS, 1, "outside of thread-local data"},
        {STT_TLS, 3, "outside of thread-local data"},
        {STT_TLS, SHN_ABS, "outside of thread-local data"},
        {STT_TLS, SHN_COMMON, NULL},
        {STT_FUNC, 2, "a function in thread-local data"},
        {STT_GNU_IFUNC, 2, "a function in thread-local data"},
    };
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        static struct elf elf;
        memset(&elf, 0, sizeof elf);
        elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
        elf_section(&elf, ".tdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, words, sizeof words);
        elf_code(&elf, words, sizeof words);
        elf_section(&elf, ".comment", SHT_PROGBITS, 0, words, sizeof words);
        unsigned bind = rows[i].type == STT_SECTION ? STB_LOCAL : STB_WEAK;
        elf_symbol(&elf, "it", bind, rows[i].type, rows[i].section, 8, 8);
        struct bytes object = elf_finish(&elf);
        int code = link_and_remove(&f, object, &err);
        if (rows[i].why)
            assert_error(code, TN_EFORMAT, &err, "symbol 1 (it)", rows[i].why);
        else
            assert_ok(code, &err);
        free(object.at);
    }
    close_fixture(&f);
}

/* ---- sizes of symbols ---- */

enum { CODE_SIZE = 16 };

static int check_functions(void *context, const struct tn_linked_object *const *objects, size_t count,
                           struct tn_error *err)
{
    (void)err;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < objects[i]->function_count; k++) {
            const struct tn_function *function = &objects[i]->functions[k];
            const struct tn_range *zone = &objects[i]->zones[TN_ZONE_CODE];
            uint64_t at = function->address - zone->address;
            assert_true(at <= zone->size && function->size <= CODE_SIZE - (at < CODE_SIZE ? at : CODE_SIZE));
            ++*(size_t *)context;
        }
    return 0;
}

static void sizes_end_with_the_section(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0,          1,          CODE_SIZE,      CODE_SIZE + 1, UINT32_MAX,
                                     INT64_MAX,  UINT64_MAX, UINT64_MAX - 8, 1ULL << 47,    UINT64_MAX - (1ULL << 47),
                                     1ULL << 63, 0x7fffffff};
    static const uint8_t code[CODE_SIZE] = {0xc3};
    size_t seen = 0;
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (uint64_t at = 0; at <= CODE_SIZE; at += 8) {
            struct fixture f = open_fixture(NULL);
            static struct elf elf;
            struct tn_error err;
            const struct tn_observer observer = {.size = sizeof observer, .context = &seen, .linked = check_functions};
            memset(&elf, 0, sizeof elf);
            elf_code(&elf, code, sizeof code);
            elf_symbol(&elf, "f", STB_GLOBAL, STT_FUNC, 1, at, sizes[i]);
            elf_symbol(&elf, "g", STB_GLOBAL, STT_FUNC, 1, 4, sizes[i]);
            struct bytes object = elf_finish(&elf);
            assert_ok(tn_add_observer(f.session, &observer, &err), &err);
            assert_ok(tn_observe_functions(f.session, &err), &err);
            const char *folder = scratch_file("perf");
            *strrchr((char *)(uintptr_t)folder, '/') = 0;
            assert_ok(tn_observe_perf(f.session, TN_PERF_JITDUMP, folder, &err), &err);
            add_bytes(&f, "sized.o", object.at, object.size);
            link_all(&f);
            close_fixture(&f);
            free(object.at);
        }
    assert_int_equal(seen, 2 * COUNT(sizes) * 3);
}

/* ---- types ---- */

static struct bytes object_with(uint32_t type, uint64_t flags, const char *name, unsigned info)
{
    static const uint8_t code[CODE_SIZE] = {0xc3};
    static const uint64_t bytes[4] = {0};
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned section = elf_section(&elf, name, type, flags, bytes, sizeof bytes);
    elf.sections[section].header.sh_info = info;
    elf_function(&elf, "f", text, 0);
    return elf_finish(&elf);
}

static void unknown_types_are_refused_if_they_matter(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t type;
        uint64_t flags;
        unsigned info;
        int code;
        const char *word;
    } rows[] = {
        {".other", 0x60001234, 0, 0, 0, NULL},
        {".addrsig", 0x6fff4c03, SHF_EXCLUDE, 0, 0, NULL},
        {".inactive", SHT_NULL, SHF_ALLOC, 0, 0, NULL},
        {".sframe", 0x6ffffff4, SHF_ALLOC, 0, 0, NULL},
        {".other", 0x60001234, SHF_ALLOC, 0, TN_ENOTSUP, "type 0x60001234 cannot be loaded"},
        {".other", 0x80001234, SHF_ALLOC | SHF_WRITE, 0, TN_ENOTSUP, "type 0x80001234 cannot be loaded"},
        {".dynamic", SHT_DYNAMIC, SHF_ALLOC, 0, TN_ENOTSUP, "cannot be loaded"},
        {".hash", SHT_HASH, SHF_ALLOC, 0, TN_ENOTSUP, "cannot be loaded"},
        {".strings", SHT_STRTAB, SHF_ALLOC, 0, TN_ENOTSUP, "cannot be loaded"},
        {".rel", SHT_REL, 0, 1, TN_ENOTSUP, "without addends"},
        {".relr.dyn", 19, 0, 1, TN_ENOTSUP, "relocations of section type 0x13 are not supported"},
        {".android.rela", 0x60000002, 0, 1, TN_ENOTSUP, "type 0x60000002 are not supported"},
        {".relnew", 0x60001234, SHF_INFO_LINK, 1, TN_ENOTSUP, "type 0x60001234 are not supported"},
        {".relnew", 0x60001234, SHF_INFO_LINK, 2, 0, NULL}, /* of itself, which is not loaded */
        {".note.GNU-stack", SHT_PROGBITS, 0, 0, 0, NULL},
        {".note.GNU-stack", SHT_PROGBITS, SHF_EXECINSTR, 0, TN_ENOTSUP, "needs an executable stack"},
    };
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct bytes object = object_with(rows[i].type, rows[i].flags, rows[i].name, rows[i].info);
        int code = link_and_remove(&f, object, &err);
        if (rows[i].code)
            assert_error(code, rows[i].code, &err, "pair.o", rows[i].word);
        else
            assert_ok(code, &err);
        free(object.at);
    }
    close_fixture(&f);
}

/* ---- CREL ---- */

struct writer {
    uint8_t bytes[256];
    size_t size;
};

static void put_uleb(struct writer *w, uint64_t value)
{
    do {
        w->bytes[w->size++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    } while (value >>= 7);
}

static void put_sleb(struct writer *w, int64_t value)
{
    for (bool more = true; more;) {
        uint8_t byte = value & 0x7f;
        value >>= 7;
        more = !((value == 0 && !(byte & 0x40)) || (value == -1 && byte & 0x40));
        w->bytes[w->size++] = (uint8_t)(byte | (more ? 0x80 : 0));
    }
}

/* As the proposal's reference encoder does it. */
static void put_crel(struct writer *w, const Elf64_Rela *relocs, size_t count, unsigned shift)
{
    Elf64_Rela last = {0};
    put_uleb(w, count * 8 + 4 + shift);
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = (relocs[i].r_offset - last.r_offset) >> shift;
        uint32_t symbol = ELF64_R_SYM(relocs[i].r_info), old = ELF64_R_SYM(last.r_info);
        uint32_t type = ELF64_R_TYPE(relocs[i].r_info), old_type = ELF64_R_TYPE(last.r_info);
        uint8_t flags =
            (uint8_t)((symbol != old) | (type != old_type) << 1 | (relocs[i].r_addend != last.r_addend) << 2);
        if (offset < 16) {
            w->bytes[w->size++] = (uint8_t)(offset << 3 | flags);
        } else {
            w->bytes[w->size++] = (uint8_t)(0x80 | (offset & 15) << 3 | flags);
            put_uleb(w, offset >> 4);
        }
        if (flags & 1)
            put_sleb(w, (int64_t)(int32_t)(symbol - old));
        if (flags & 2)
            put_sleb(w, (int64_t)(int32_t)(type - old_type));
        if (flags & 4)
            put_sleb(w, relocs[i].r_addend - last.r_addend);
        last = relocs[i];
    }
}

#define RELA(offset, symbol, type, addend)                                                                             \
    {                                                                                                                  \
        offset, ELF64_R_INFO((uint64_t)(symbol), type), addend                                                         \
    }

static void compact_relocations_are_read(void **state)
{
    (void)state;
    static const Elf64_Rela relocs[] = {
        RELA(0, 1, R_X86_64_64, 8),        RELA(8, 1, R_X86_64_64, -8),   RELA(16, 2, R_X86_64_PC64, 0),
        RELA(24, 2, R_X86_64_64, 1 << 20), RELA(8000, 1, R_X86_64_64, 0), RELA(4000, 2, R_X86_64_64, INT32_MIN),
    };
    static const uint8_t code[CODE_SIZE] = {0xc3};
    static uint64_t data[1001];
    for (unsigned shift = 0; shift < 4; shift++) {
        struct fixture f = open_fixture(NULL);
        static struct elf elf;
        struct writer w = {.size = 0};
        put_crel(&w, relocs, COUNT(relocs) - (shift == 3), shift); /* offset 4000 follows 8000: backwards */
        memset(&elf, 0, sizeof elf);
        unsigned text = elf_code(&elf, code, sizeof code);
        unsigned target = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, data, sizeof data);
        unsigned crel = elf_section(&elf, ".crel.data", SHT_CREL_, SHF_INFO_LINK, w.bytes, w.size);
        elf_function(&elf, "f", text, 0);
        elf_symbol(&elf, "data", STB_GLOBAL, STT_OBJECT, target, 0, sizeof data);
        elf.sections[crel].header.sh_info = target;
        elf.sections[crel].header.sh_link = 4;
        struct bytes object = elf_finish(&elf);
        add_bytes(&f, "crel.o", object.at, object.size);
        uint64_t *words = lookup(&f, "data"), function = (uintptr_t)lookup(&f, "f");
        assert_int_equal(words[0], function + 8);
        assert_int_equal(words[1], function - 8);
        assert_int_equal(words[2], -UINT64_C(16));
        assert_int_equal(words[3], (uintptr_t)words + (1 << 20));
        assert_int_equal(words[1000], function);
        assert_int_equal(words[500], shift == 3 ? 0 : (uintptr_t)words + (uint64_t)INT32_MIN);
        close_fixture(&f);
        free(object.at);
    }
}

static void malformed_compact_relocations_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        int code;
        const char *word;
    } rows[] = {
#define BYTES(text) text, sizeof(text) - 1
        {BYTES("\x04"), 0, NULL},
        {BYTES("\x0c\x05\x01\x08"), 0, NULL},
        {BYTES(""), TN_EFORMAT, "malformed relocations"},
        {BYTES("\x0c"), TN_EFORMAT, "malformed relocations"},
        {BYTES("\x84"), TN_EFORMAT, "malformed relocations"},
        {BYTES("\x0c\x07\x01\x01"), TN_EFORMAT, "malformed relocations"}, /* the addend is missing */
        {BYTES("\x0c\x05\x01\x08\x00"), TN_EFORMAT, "malformed relocations"},
        {BYTES("\xfc\xff\xff\xff\xff\xff\xff\xff\xff\x01"), TN_EFORMAT, "malformed relocations"},
        {BYTES("\x08\x01\x01"), TN_ENOTSUP, "without addends"},
        {BYTES("\x0c\x07\x01\x01\x00"), 0, NULL},
        {BYTES("\x0c\x07\x09\x01\x00"), TN_EFORMAT, "symbol 9"},
        {BYTES("\x0c\x87\x7f\x01\x01\x00"), TN_EFORMAT, "outside"},
    };
    static const uint8_t code[CODE_SIZE] = {0xc3};
    static const uint64_t data[2] = {0};
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        static struct elf elf;
        memset(&elf, 0, sizeof elf);
        unsigned text = elf_code(&elf, code, sizeof code);
        unsigned target = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, data, sizeof data);
        unsigned crel = elf_section(&elf, ".crel.data", SHT_CREL_, SHF_INFO_LINK, rows[i].bytes, rows[i].size);
        elf_function(&elf, "f", text, 0);
        elf.sections[crel].header.sh_info = target;
        elf.sections[crel].header.sh_link = 4;
        struct bytes object = elf_finish(&elf);
        int result = link_and_remove(&f, object, &err);
        if (rows[i].code)
            assert_error(result, rows[i].code, &err, "pair.o", rows[i].word);
        else
            assert_ok(result, &err);
        free(object.at);
    }
    close_fixture(&f);
}

/* ---- bytes that sections share ---- */

static void sections_do_not_share_bytes(void **state)
{
    (void)state;
    enum { COUNT = 12, ADDRSIG = SHT_LOOS + 0xfff4c03 };
    static const struct {
        const char *name;
        uint32_t type, flags;
    } kinds[] = {
        {".comment", SHT_PROGBITS, 0}, {".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE}, {".addrsig", ADDRSIG, 0}};
    static const uint64_t bytes[8] = {0};
    static struct elf elf;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    memset(&elf, 0, sizeof elf);
    for (unsigned i = 0; i < COUNT; i++)
        elf_section(&elf, kinds[i % 3].name, kinds[i % 3].type, kinds[i % 3].flags, bytes, sizeof bytes);
    unsigned local = elf_symbol(&elf, "local", STB_LOCAL, STT_OBJECT, 2, 8, 8);
    for (unsigned data = 2; data <= COUNT; data += 3)
        elf_reloc(&elf, data, 0, local, R_X86_64_64, 0);
    struct bytes object = elf_finish(&elf);
    assert_ok(link_and_remove(&f, object, &err), &err);
    for (unsigned i = 1; i < elf_header(object)->e_shnum - 1U; i++)
        for (unsigned k = 1; k < elf_header(object)->e_shnum - 1U; k++) {
            Elf64_Shdr *at = elf_section_header(object, i), *to = elf_section_header(object, k);
            const Elf64_Shdr saved = *at, other = *to;
            at->sh_offset = to->sh_offset + (to->sh_size - 1);
            int code = link_and_remove(&f, object, &err);
            if (i == k || at->sh_offset + at->sh_size > object.size)
                assert_true(code == 0 || code == TN_EFORMAT);
            else
                assert_error(code, TN_EFORMAT, &err, "overlap in the file");
            *at = saved; /* exchanged in the file, they do not overlap */
            if (i > COUNT || k > COUNT)
                continue;
            at->sh_offset = other.sh_offset;
            to->sh_offset = saved.sh_offset;
            assert_ok(link_and_remove(&f, object, &err), &err);
            *at = saved;
            *to = i == k ? saved : other;
        }
    free(object.at);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_is_loaded_or_refused), cmocka_unit_test(symbols_are_as_their_sections_are),
        cmocka_unit_test(sizes_end_with_the_section),      cmocka_unit_test(unknown_types_are_refused_if_they_matter),
        cmocka_unit_test(compact_relocations_are_read),    cmocka_unit_test(malformed_compact_relocations_are_errors),
        cmocka_unit_test(sections_do_not_share_bytes),
    };
    return cmocka_run_group_tests_name("link/section_kinds", tests, NULL, NULL);
}
