/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Every row of the tables for Mach-O: what is stored, the last value that fits and the first that does not. A row
 * without a case fails. */

#include <stdlib.h>

#include "base/base.h"
#include "link/arch/reloc.h"
#include "link/passes/link.h"
#include "link/file/detached.h"
#include "link/format/macho/reader.h"
#include "macho_builder.h"

static bool seen[2][256]; /* rows that had a case: of x86-64, of AArch64 */
enum limit { BELOW, ABOVE };
static bool refused[2][256][2]; /* and a value beyond a limit, or one that went through a stub */

/* A detached session, because some targets lie far away; its code begins at BASE. */
enum { TEXT = 1, DATA };
#define BASE 0x123400000000ULL
static const int64_t GOT = 0x7000; /* from BASE; pinned there or, if it is not 0, at: */
static int64_t other_got;

static uint8_t linked[64];
static uint64_t text_at, data_at, got_at;

static int on_linked(struct tn__link *link)
{
    const struct tn__object_data *data = link->objects[0]->data;
    text_at = data->sections[1].address;
    data_at = data->sections[2].address;
    got_at = link->objects[0]->plan->got_address;
    return 0;
}

static const struct tn_format *format;

static void note_rows(struct tn__object_data *object)
{
    bool *rows = seen[object->format == &tn_format_macho_aarch64];
    for (uint32_t s = 1; s < object->section_count; s++) {
        struct tn__reloc reloc;
        for (uint64_t i = 0; i < object->sections[s].reloc_count; i++) {
            tn__relocs_copy(&object->sections[s], i, &reloc, 1);
            rows[reloc.type & 255] = true;
        }
    }
}

static int on_linked_noting(struct tn__link *link)
{
    struct tn__object_data *data = link->objects[0]->data;
    memcpy(linked, data->sections[1].write, sizeof linked);
    note_rows(data);
    return on_linked(link);
}

/* Links the object, which it frees, with an absolute symbol `far`. */
static int link_object(struct macho *macho, uint64_t far, struct tn_error *err)
{
    struct tn__pin pins[] = {{"rows.o", ".got", BASE + (uint64_t)(other_got ? other_got : GOT)}};
    struct tn__detached where = {
        .address = BASE, .size = 1 << 20, .page_size = 4096, .pins = pins, .pin_count = 1, .finish = on_linked_noting};
    const struct tn_session_options options = {.size = sizeof options,
                                               .formats = (const struct tn_format *const[]){format, NULL}};
    struct fixture f;
    macho->machine = format->machine;
    struct bytes object = macho_finish(macho);
    assert_ok(tn__session_create_detached(&options, &where, &f.session, err), err);
    assert_ok(tn_library_create(f.session, "library", &f.library, err), err);
    define(&f, "far", (const void *)(uintptr_t)far);
    add_bytes(&f, "rows.o", object.at, object.size);
    int code = tn_link(f.library, err);
    close_fixture(&f);
    free(object.at);
    return code;
}

/* ---- one field in the middle of code ---- */

enum { FIELD = 24, BEFORE = 8, BEHIND = 40 }; /* where labels are */

struct one {
    unsigned type, length;
    bool relative;
    const char *symbol; /* "before", "behind", "far", "data" */
    int64_t addend;     /* in the field, or in a record of its own */
    uint64_t far;
};

static int link_one(const struct one *one, uint64_t instruction, struct tn_error *err)
{
    static struct macho macho;
    static uint8_t text[64], data[16];
    memset(&macho, 0, sizeof macho);
    memset(text, 0xee, sizeof text);
    bool in_field = !instruction;
    uint64_t field = in_field ? (uint64_t)one->addend : instruction;
    memcpy(text + FIELD, &field, 1U << one->length);
    macho_code(&macho, text, sizeof text);
    macho_section(&macho, "__DATA", "__data", 0, data, sizeof data);
    const unsigned alternate = TN__MACHO_ALTERNATE_ENTRY, external = TN__MACHO_IN_SECTION | TN__MACHO_EXTERNAL;
    const char *names[] = {"before", "behind", "far", "data"};
    macho_symbol(&macho, "_text", external, TEXT, 0, 0);
    macho_symbol(&macho, "_before", external, TEXT, alternate, BEFORE);
    macho_symbol(&macho, "_behind", external, TEXT, alternate, BEHIND);
    macho_undefined(&macho, "_far");
    macho_symbol(&macho, "_data", external, DATA, 0, 0);
    unsigned symbol = 0;
    while (strcmp(names[symbol], one->symbol))
        symbol++;
    if (!in_field && one->addend)
        macho_reloc(&macho, TEXT, FIELD, (unsigned)one->addend & 0xffffff, 10, 2, false, false);
    macho_reloc(&macho, TEXT, FIELD, symbol + 1, one->type, one->length, one->relative, true);
    int code = link_object(&macho, one->far, err);
    for (unsigned i = 0; !code && i < sizeof text; i++)
        if (i < FIELD || i >= FIELD + (1U << one->length))
            assert_int_equal(linked[i], 0xee);
    return code;
}

static uint64_t stored(unsigned length)
{
    return length == 3 ? tn__get64(linked + FIELD) : tn__get32(linked + FIELD);
}

/* ---- x86-64 ---- */

enum { UNSIGNED, SIGNED, BRANCH, GOT_LOAD, GOT_OTHER, SUBTRACTOR, SIGNED_1, SIGNED_2, SIGNED_4, TLV };

static void check_x86_64(const struct one *one, uint64_t wanted)
{
    struct tn_error err;
    format = &tn_format_macho_x86_64;
    assert_ok(link_one(one, 0, &err), &err);
    if (stored(one->length) != wanted)
        fail_msg("type %u: %#llx is stored for %#llx", one->type, (unsigned long long)stored(one->length),
                 (unsigned long long)wanted);
}

static void refuse_x86_64(const struct one *one, enum limit limit)
{
    struct tn_error err;
    format = &tn_format_macho_x86_64;
    assert_error(link_one(one, 0, &err), TN_ERANGE, &err, "is out of range", "X86_64_RELOC_");
    refused[0][TN__MACHO_ROW(one->type, one->length, one->relative)][limit] = true;
}

/* Fields count from their end, 4 bytes after their beginning. */
static void test_displacements(void **state)
{
    (void)state;
    static const unsigned types[] = {SIGNED, BRANCH, SIGNED_1, SIGNED_2, SIGNED_4};
    for (size_t i = 0; i < COUNT(types); i++) {
        const int64_t behind = BEHIND - FIELD - 4, before = BEFORE - FIELD - 4;
        struct one one = {types[i], 2, true, "behind", 0, 0};
        check_x86_64(&one, (uint32_t)behind);
        one.addend = INT32_MAX - behind;
        check_x86_64(&one, INT32_MAX);
        one.addend++;
        refuse_x86_64(&one, ABOVE);
        one.symbol = "before";
        one.addend = INT32_MIN - before;
        check_x86_64(&one, 0x80000000);
        one.addend--;
        refuse_x86_64(&one, BELOW);
    }
}

static void test_slots(void **state)
{
    (void)state;
    static const unsigned types[] = {GOT_LOAD, GOT_OTHER, TLV};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct one one = {types[i], 2, true, "far", 0, 0x1111222233334444};
        const int64_t distance = (int64_t)GOT - FIELD - 4;
        check_x86_64(&one, (uint32_t)distance);
        assert_int_equal(got_at, BASE + (uint64_t)GOT);
        one.addend = INT32_MAX - distance;
        check_x86_64(&one, INT32_MAX);
        one.addend++;
        refuse_x86_64(&one, ABOVE);
        other_got = -GOT;
        one.addend = INT32_MIN - (other_got - FIELD - 4);
        check_x86_64(&one, 0x80000000);
        one.addend--;
        refuse_x86_64(&one, BELOW);
        other_got = 0;
    }
}

static void test_branch_by_stub(void **state)
{
    (void)state;
    const uint64_t end = BASE + FIELD + 4, last = end + INT32_MAX, first = end - INT32_MAX - 1;
    const uint32_t stub = 64 - FIELD - 4; /* behind the code */
    check_x86_64(&(struct one){BRANCH, 2, true, "far", 0, 0x7000222233334444}, stub);
    check_x86_64(&(struct one){BRANCH, 2, true, "far", 0, last}, INT32_MAX);
    check_x86_64(&(struct one){BRANCH, 2, true, "far", 0, last + 1}, stub);
    check_x86_64(&(struct one){BRANCH, 2, true, "far", 0, first}, 0x80000000);
    check_x86_64(&(struct one){BRANCH, 2, true, "far", 0, first - 1}, stub);
}

static void test_pointers(void **state)
{
    (void)state;
    check_x86_64(&(struct one){UNSIGNED, 3, false, "far", -3, 0x7000222233334444}, 0x7000222233334441);
    struct one one = {UNSIGNED, 2, false, "far", 0, UINT32_MAX};
    check_x86_64(&one, UINT32_MAX);
    one.far++;
    refuse_x86_64(&one, ABOVE);
    one.far = 0;
    check_x86_64(&one, 0);
    one.addend = -1;
    refuse_x86_64(&one, BELOW);
}

/* ---- differences, the same on both ---- */

/* `from` and `to`: numbers of symbols; the field is at FIELD in the text. */
static int link_difference(unsigned length, unsigned from, unsigned to, int64_t addend, struct tn_error *err)
{
    static struct macho macho;
    static uint8_t text[64], data[16];
    memset(&macho, 0, sizeof macho);
    memcpy(text + FIELD, &addend, 1U << length);
    macho_code(&macho, text, sizeof text);
    macho_section(&macho, "__DATA", "__data", 0, data, sizeof data);
    const unsigned external = TN__MACHO_IN_SECTION | TN__MACHO_EXTERNAL;
    macho_symbol(&macho, "_text", external, TEXT, 0, 0);
    macho_symbol(&macho, "_near", external, TEXT, TN__MACHO_ALTERNATE_ENTRY, BEFORE);
    macho_symbol(&macho, "_data", external, DATA, 0, 0);
    macho_symbol(&macho, "_more", external, DATA, TN__MACHO_ALTERNATE_ENTRY, 8);
    bool x86_64 = format == &tn_format_macho_x86_64;
    macho_reloc(&macho, TEXT, FIELD, from, x86_64 ? SUBTRACTOR : 1, length, false, true);
    macho_reloc(&macho, TEXT, FIELD, to, UNSIGNED, length, false, true);
    return link_object(&macho, 0, err);
}

static void test_differences(void **state)
{
    (void)state;
    enum { START, NEAR, OBJECT, MORE };
    static const struct tn_format *const both[] = {&tn_format_macho_x86_64, &tn_format_macho_aarch64};
    struct tn_error err;
    for (size_t i = 0; i < COUNT(both); i++) {
        format = both[i];
        for (unsigned length = 2; length <= 3; length++) {
            const uint64_t mask = length == 3 ? UINT64_MAX : UINT32_MAX;
            assert_ok(link_difference(length, NEAR, OBJECT, 5, &err), &err); /* from the place's own atom */
            assert_true(stored(length) == ((data_at - (text_at + BEFORE) + 5) & mask));
            assert_ok(link_difference(length, OBJECT, NEAR, -5, &err), &err); /* of another */
            assert_true(stored(length) == ((text_at + BEFORE - data_at - 5) & mask));
            assert_ok(link_difference(length, OBJECT, MORE, 1, &err), &err);
            assert_true(stored(length) == 9);
        }
        /* START to NEAR is 8. */
        assert_ok(link_difference(2, START, NEAR, INT32_MAX - FIELD + BEFORE - BEFORE, &err), &err);
        assert_true(stored(2) == INT32_MAX - FIELD + BEFORE);
    }
}

/* ---- differences of labels without symbols ---- */

/* A label: a symbol, or an address in a section. */
struct label {
    bool external;
    unsigned section;
    uint64_t offset;
};

/* `from` is subtracted; the field is at FIELD in the text. Where sections are in the file, a field has the addresses of
 * labels without symbols. */
static int link_labels(unsigned length, const struct label *from, const struct label *to, int64_t addend,
                       struct tn_error *err)
{
    static struct macho macho;
    static uint8_t text[64], data[16];
    memset(&macho, 0, sizeof macho);
    macho_code(&macho, text, sizeof text);
    macho_section(&macho, "__DATA", "__data", 0, data, sizeof data);
    const struct label *labels[] = {from, to};
    unsigned targets[2];
    int64_t field = addend;
    for (int i = 0; i < 2; i++) {
        const unsigned external = TN__MACHO_IN_SECTION | TN__MACHO_EXTERNAL;
        const char *names[] = {"_from", "_to"};
        int64_t address = (int64_t)(macho.sections[labels[i]->section].address + labels[i]->offset);
        targets[i] = labels[i]->section;
        if (labels[i]->external)
            targets[i] = macho_symbol(&macho, names[i], external, labels[i]->section, TN__MACHO_ALTERNATE_ENTRY,
                                      labels[i]->offset);
        else
            field += i ? address : -address;
    }
    memcpy(text + FIELD, &field, 1U << length);
    bool x86_64 = format == &tn_format_macho_x86_64;
    macho_reloc(&macho, TEXT, FIELD, targets[0], x86_64 ? SUBTRACTOR : 1, length, false, from->external);
    macho_reloc(&macho, TEXT, FIELD, targets[1], UNSIGNED, length, false, to->external);
    return link_object(&macho, 0, err);
}

/* Symbols and sections, 4 and 8 bytes, in the atom of what is subtracted and in another one. */
static void test_labels(void **state)
{
    (void)state;
    struct tn_error err;
    unsigned forms = 0;
    static const struct tn_format *const both[] = {&tn_format_macho_x86_64, &tn_format_macho_aarch64};
    for (unsigned bits = 0; bits < 2 * 16; bits++) {
        const unsigned length = bits & 1 ? 3 : 2, place = bits & 2 ? TEXT : DATA, other = TEXT + DATA - place;
        const struct label from = {bits & 4, place, 4};
        format = both[bits >> 4];
        for (unsigned section = TEXT; section <= DATA; section++)
            for (int64_t addend = -12; addend <= 12; addend += 8) {
                const struct label to = {bits & 8, section, section == other ? 2 : 12};
                assert_ok(link_labels(length, &from, &to, addend, &err), &err);
                uint64_t at[] = {0, text_at, data_at};
                uint64_t wanted = at[to.section] + to.offset - at[place] - from.offset + (uint64_t)addend;
                if (stored(length) != (length == 3 ? wanted : (uint32_t)wanted))
                    fail_msg("form %u, section %u: %#llx", bits, section, (unsigned long long)stored(length));
                forms++;
            }
    }
    assert_int_equal(forms, 2 * 16 * 2 * 4);
}

/* Without its other half, or with one that is none. */
static void test_bad_pairs(void **state)
{
    (void)state;
    struct tn_error err;
    static struct macho macho;
    static const uint8_t text[16];
    static const struct {
        unsigned section, length, at, type, type_length;
        bool relative, is_followed;
        const char *text;
    } cases[] = {
        {TEXT, 3, 0, UNSIGNED, 3, false, false, "no other one that it belongs to follows"},
        {TEXT, 3, 8, UNSIGNED, 3, false, true, "no other one that it belongs to follows"},
        {TEXT, 3, 0, UNSIGNED, 2, false, true, "no other one that it belongs to follows"},
        {TEXT, 1, 0, UNSIGNED, 1, false, true, "no other one that it belongs to follows"},
        {TEXT, 2, 0, SIGNED, 2, true, true, "no other one that it belongs to follows"},
        {7, 3, 0, UNSIGNED, 3, false, true, "its target is a section that does not exist"},
        {0, 3, 0, UNSIGNED, 3, false, true, "its target is a section that does not exist"},
    };
    format = &tn_format_macho_x86_64;
    for (size_t i = 0; i < COUNT(cases); i++) {
        memset(&macho, 0, sizeof macho);
        macho_code(&macho, text, sizeof text);
        unsigned symbol = macho_function(&macho, "_text", TEXT, 0);
        macho_reloc(&macho, TEXT, 0, cases[i].section, SUBTRACTOR, cases[i].length, false, false);
        if (cases[i].is_followed)
            macho_reloc(&macho, TEXT, cases[i].at, symbol, cases[i].type, cases[i].type_length, cases[i].relative,
                        true);
        struct bytes object = macho_finish(&macho);
        struct tn__object_data data = {.name = "bad.o", .bytes = object.at, .size = object.size};
        int code = tn__object_read(&data, (const struct tn_format *const[]){format, NULL}, &err);
        assert_error(code, TN_EFORMAT, &err, cases[i].text);
        tn__arena_free(&data.arena);
        free(object.at);
    }
}

/* ---- AArch64 ---- */

enum {
    BRANCH26 = 2,
    PAGE21,
    PAGEOFF12,
    GOT_PAGE21,
    GOT_PAGEOFF12,
    POINTER_TO_GOT,
    TLVP_PAGE21,
    TLVP_PAGEOFF12,
    SIGNED_POINTER = 11
};

#define ADRP 0x90000001U /* adrp x1, . */
#define LDR  0xf9400021U /* ldr x1, [x1] */
#define LDRB 0x39400021U
#define LDRH 0x79400021U
#define LDRW 0xb9400021U
#define LDRQ 0x3dc00021U
#define ADD  0x91000021U /* add x1, x1, #0 */
#define BL   0x94000000U

/* For so many pages. */
#define ADRP_BY(pages) (ADRP | ((pages)&3U) << 29 | ((pages) >> 2 & 0x7ffffU) << 5)

static const struct instruction {
    const char *name;
    unsigned type;
    bool relative;
    uint32_t before;
    const char *symbol;
    int64_t addend;
    uint64_t far;
    int code;
    uint32_t after;
    int64_t got;     /* see other_got */
    const char *why; /* besides the code; NULL: it is out of range */
} instructions[] = {
    {"branch", BRANCH26, true, BL, "behind", 0, 0, 0, BL | (BEHIND - FIELD) / 4},
    {"branch back", BRANCH26, true, BL, "before", 0, 0, 0, BL | (0x3ffffff & (uint32_t)((BEFORE - FIELD) / 4))},
    {"branch with an addend", BRANCH26, true, BL, "behind", 8, 0, 0, BL | (BEHIND - FIELD + 8) / 4},
    {"branch by a stub", BRANCH26, true, BL, "far", 0, 0x7000222233334444, 0, BL | (64 - FIELD) / 4},
    {"last branch", BRANCH26, true, BL, "far", 0, BASE + FIELD + 0x7fffffc, 0, BL | 0x1ffffff},
    {"branch behind it", BRANCH26, true, BL, "far", 0, BASE + FIELD + 0x8000000, 0, BL | (64 - FIELD) / 4},
    {"last branch back", BRANCH26, true, BL, "far", 0, BASE + FIELD - 0x8000000, 0, BL | 0x2000000},
    {"branch before it", BRANCH26, true, BL, "far", 0, BASE + FIELD - 0x8000004, 0, BL | (64 - FIELD) / 4},
    {"branch to half", BRANCH26, true, BL, "far", 0, BASE + FIELD + 2, TN_ERANGE, 0, 0, "can only hold multiples of 4"},
    {"page", PAGE21, true, ADRP, "far", 0, BASE + 0x5678, 0, ADRP_BY(5)},
    {"page with an addend", PAGE21, true, ADRP, "far", 0x1000, BASE + 0x5678, 0, ADRP_BY(6)},
    {"page with a negative one", PAGE21, true, ADRP, "far", -0x1000, BASE + 0x1678, 0, ADRP},
    {"last page", PAGE21, true, ADRP, "far", 0, BASE + 0xffffffff, 0, ADRP_BY(0xfffff)},
    {"first page out of reach", PAGE21, true, ADRP, "far", 0, BASE + 0x100000000, TN_ERANGE, 0},
    {"first page", PAGE21, true, ADRP, "far", 0, BASE - 0x100000000, 0, ADRP_BY(0x100000)},
    {"page before it", PAGE21, true, ADRP, "far", 0, BASE - 0x100000001, TN_ERANGE, 0},
    {"offset in add", PAGEOFF12, false, ADD, "far", 0, BASE + 0x5678, 0, ADD | 0x678 << 10},
    {"offset of bytes", PAGEOFF12, false, LDRB, "far", 0, BASE + 0x5679, 0, LDRB | 0x679 << 10},
    {"offset of 2 bytes", PAGEOFF12, false, LDRH, "far", 0, BASE + 0x5678, 0, LDRH | 0x678 / 2 << 10},
    {"offset of 4 bytes", PAGEOFF12, false, LDRW, "far", 0, BASE + 0x5678, 0, LDRW | 0x678 / 4 << 10},
    {"offset of 8 bytes", PAGEOFF12, false, LDR, "far", 0, BASE + 0x5678, 0, LDR | 0x678 / 8 << 10},
    {"offset of 16 bytes", PAGEOFF12, false, LDRQ, "far", 0, BASE + 0x5670, 0, LDRQ | 0x670 / 16 << 10},
    {"odd offset of 2 bytes", PAGEOFF12, false, LDRH, "far", 0, BASE + 1, TN_ERANGE, 0, 0, "multiples of 2"},
    {"odd offset of 4 bytes", PAGEOFF12, false, LDRW, "far", 0, BASE + 2, TN_ERANGE, 0, 0, "multiples of 4"},
    {"odd offset of 8 bytes", PAGEOFF12, false, LDR, "far", 0, BASE + 4, TN_ERANGE, 0, 0, "multiples of 8"},
    {"odd offset of 16 bytes", PAGEOFF12, false, LDRQ, "far", 0, BASE + 8, TN_ERANGE, 0, 0, "multiples of 16"},
    {"offset with an addend", PAGEOFF12, false, ADD, "far", 1, BASE + 0x5fff, 0, ADD},
    {"page of a slot", GOT_PAGE21, true, ADRP, "far", 0, 1, 0, ADRP_BY(7)},
    {"offset of a slot", GOT_PAGEOFF12, false, LDR, "far", 0, 1, 0, LDR},
    {"page of a descriptor's slot", TLVP_PAGE21, true, ADRP, "data", 0, 0, 0, ADRP_BY(7)},
    {"offset of a descriptor's slot", TLVP_PAGEOFF12, false, LDR, "data", 0, 0, 0, LDR},
    {"distance of a slot", POINTER_TO_GOT, true, 0xffffff58, "far", 0, 1, 0, 0x7000 - FIELD},
    {"last distance of a slot", POINTER_TO_GOT, true, 1, "far", 0, 1, 0, 0x7ffffff8 - FIELD, 0x7ffffff8},
    {"distance behind it", POINTER_TO_GOT, true, 1, "far", 0, 1, TN_ERANGE, 0, 0x80000018},
    {"first distance of a slot", POINTER_TO_GOT, true, 1, "far", 0, 1, 0, 0x80000000, FIELD - 0x80000000LL},
    {"distance before it", POINTER_TO_GOT, true, 1, "far", 0, 1, TN_ERANGE, 0, FIELD - 0x80000008LL},
    {"last page of a slot", GOT_PAGE21, true, ADRP, "far", 0, 1, 0, ADRP_BY(0xfffff), 0xfffff000},
    {"page behind it (a slot)", GOT_PAGE21, true, ADRP, "far", 0, 1, TN_ERANGE, 0, 0x100000000},
    {"first page of a slot", GOT_PAGE21, true, ADRP, "far", 0, 1, 0, ADRP_BY(0x100000), -0x100000000},
    {"page before it (a slot)", GOT_PAGE21, true, ADRP, "far", 0, 1, TN_ERANGE, 0, -0x100001000},
    {"last page of a descriptor's slot", TLVP_PAGE21, true, ADRP, "data", 0, 1, 0, ADRP_BY(0xfffff), 0xfffff000},
    {"page behind it (a descriptor's slot)", TLVP_PAGE21, true, ADRP, "data", 0, 1, TN_ERANGE, 0, 0x100000000},
    {"first page of a descriptor's slot", TLVP_PAGE21, true, ADRP, "data", 0, 1, 0, ADRP_BY(0x100000), -0x100000000},
    {"page before it (a descriptor's slot)", TLVP_PAGE21, true, ADRP, "data", 0, 1, TN_ERANGE, 0, -0x100001000},
};

static void note_limits(unsigned type, bool relative, int64_t distance)
{
    refused[1][TN__MACHO_ROW(type, 2, relative)][distance < 0 ? BELOW : ABOVE] = true;
}

static void check_instruction(void **state)
{
    const struct instruction *row = *state;
    const struct one one = {row->type, 2, row->relative, row->symbol, row->addend, row->far};
    struct tn_error err;
    format = &tn_format_macho_aarch64;
    other_got = row->got;
    int code = link_one(&one, row->before, &err);
    other_got = 0;
    if (row->code) {
        assert_error(code, row->code, &err, row->why ? row->why : "is out of range", "ARM64_RELOC_");
        note_limits(row->type, row->relative, row->got ? row->got : (int64_t)(row->far - BASE));
        return;
    }
    assert_ok(code, &err);
    if (stored(2) != row->after)
        fail_msg("%#llx is stored for %#x", (unsigned long long)stored(2), row->after);
}

static void test_aarch64_data(void **state)
{
    (void)state;
    struct tn_error err;
    format = &tn_format_macho_aarch64;
    assert_ok(link_one(&(struct one){UNSIGNED, 3, false, "far", -3, 0x7000222233334444}, 0, &err), &err);
    assert_true(stored(3) == 0x7000222233334441);
    assert_ok(link_one(&(struct one){POINTER_TO_GOT, 3, false, "far", 0, 1}, 0xeeeeeeee, &err), &err);
    assert_true(stored(3) == BASE + GOT);
    assert_error(link_one(&(struct one){SIGNED_POINTER, 3, false, "far", 0, 1}, 0, &err), TN_ENOTSUP, &err,
                 "ARM64_RELOC_AUTHENTICATED_POINTER");
    struct one one = {UNSIGNED, 2, false, "far", 0, UINT32_MAX};
    assert_ok(link_one(&one, 0, &err), &err);
    assert_true(stored(2) == UINT32_MAX);
    one.far++;
    assert_error(link_one(&one, 0, &err), TN_ERANGE, &err, "ARM64_RELOC_UNSIGNED");
    one.far = 0;
    assert_ok(link_one(&one, 0, &err), &err);
    assert_true(stored(2) == 0);
    one.addend = -1;
    assert_error(link_one(&one, 0, &err), TN_ERANGE, &err, "ARM64_RELOC_UNSIGNED");
    memset(refused[1][TN__MACHO_ROW(UNSIGNED, 2, 0)], true, sizeof refused[1][0]);
    seen[1][TN__MACHO_ROW(SIGNED_POINTER, 3, 0)] = true;
}

static void test_bad_addends(void **state)
{
    (void)state;
    static struct macho macho;
    static const uint32_t text[2] = {BL, BL};
    struct tn_error err;
    format = &tn_format_macho_aarch64;
    static const struct {
        unsigned address, type; /* of the record after the one with the addend; type 0: none follows */
    } rows[] = {{0, 0}, {4, BRANCH26}, {0, 10}, {0, 1}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        memset(&macho, 0, sizeof macho);
        macho.machine = TN__MACHO_ARM64;
        macho_code(&macho, text, sizeof text);
        unsigned symbol = macho_function(&macho, "_text", TEXT, 0);
        macho_reloc(&macho, TEXT, 0, 8, 10, 2, false, false);
        if (rows[i].type)
            macho_reloc(&macho, TEXT, rows[i].address, symbol, rows[i].type, 2, true, true);
        struct bytes object = macho_finish(&macho);
        struct tn__object_data data = {.name = "bad.o", .bytes = object.at, .size = object.size};
        int code = tn__object_read(&data, (const struct tn_format *const[]){format, NULL}, &err);
        assert_error(code, TN_EFORMAT, &err, "no other one that it belongs to follows");
        tn__arena_free(&data.arena);
        free(object.at);
    }
}

static void test_arm64e(void **state)
{
    (void)state;
    static struct macho macho;
    struct tn_error err;
    macho.machine = TN__MACHO_ARM64;
    struct bytes object = macho_finish(&macho);
    tn__put32(object.at + TN__MACHO_SUBTYPE, 0x80000002);
    struct tn__object_data data = {.name = "bad.o", .bytes = object.at, .size = object.size};
    int code = tn__object_read(&data, (const struct tn_format *const[]){&tn_format_macho_aarch64, NULL}, &err);
    assert_error(code, TN_ENOTSUP, &err, "arm64e", "compile it for arm64");
    tn__arena_free(&data.arena);
    free(object.at);
}

/* ---- none is left out ---- */

/* What may go through a stub never fails; the reader's own distances are inside an object (test_differences). */
static bool is_limited(const struct tn__row *row, uint32_t type)
{
    return row->flags & (TN__R_SIGNED | TN__R_UNSIGNED) && !(row->flags & TN__R_STUB) && type != TN__MACHO_PC32;
}

static void test_all_rows(void **state)
{
    (void)state;
    static const struct tn_format *const both[] = {&tn_format_macho_x86_64, &tn_format_macho_aarch64};
    seen[0][TN__MACHO_TLS_OFFSET] = seen[1][TN__MACHO_TLS_OFFSET] = true; /* macho.c, macho_bad.c */
    for (size_t i = 0; i < COUNT(both); i++)
        for (uint32_t type = 0; type < both[i]->row_count; type++)
            if (both[i]->rows[type].value != TN__V_UNKNOWN && !seen[i][type])
                fail_msg("%s: no case for row %u (%s)", both[i]->name, type, both[i]->rows[type].name);
            else if (is_limited(&both[i]->rows[type], type) && !(refused[i][type][BELOW] && refused[i][type][ABOVE]))
                fail_msg("%s: no case beyond a limit of row %u (%s)", both[i]->name, type, both[i]->rows[type].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_displacements),  cmocka_unit_test(test_slots),
        cmocka_unit_test(test_branch_by_stub), cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_differences),    cmocka_unit_test(test_labels),
        cmocka_unit_test(test_bad_pairs),      cmocka_unit_test(test_aarch64_data),
        cmocka_unit_test(test_bad_addends),    cmocka_unit_test(test_arm64e),
        cmocka_unit_test(test_all_rows),
    };
    return RUN_ROWS("link/macho_rows", instructions, check_instruction) +
           cmocka_run_group_tests_name("link/macho_rows", tests, NULL, NULL);
}
