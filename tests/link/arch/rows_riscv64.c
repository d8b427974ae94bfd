/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Every row of RISC-V's relocation table: values with their encodings, which are llvm-mc's (of data: written down), the
 * last values that fit and the first that do not. Sections have chosen addresses, and the addend makes the value. */

#include <stdlib.h>

#include "elf_builder.h"
#include "link/file/detached.h"

enum { FIELD = 8, SECTION = 32, PLACE = 0x20000000, TARGET = 0x30000000, GOT = 0x40000000, WINDOW = 0x10000000 };

/* clang-format off */

/* The values at the ends of the upper 20 bits, of an instruction whose first byte is `op`. */
#define UPPER(name, op)                              \
    {name, op "1b3254", 0x7ff, op "0b0000"},         \
    {name, op "1b3254", 0x800, op "1b0000"},         \
    {name, op "1b3254", -0x80000800LL, op "0b0080"}, \
    {name, op "1b3254", 0x7ffff7ff, op "fbff7f"},    \
    {name, op "1b3254", -0x80000801LL, NULL},        \
    {name, op "1b3254", 0x7ffff800, NULL}

/* The lower 12 bits, in an instruction that begins with the bytes `op`. */
#define LOWER_I(name, op)                    \
    {name, op "a92a", 0, op "0900"},         \
    {name, op "a92a", 0x7ff, op "f97f"},     \
    {name, op "a92a", 0x800, op "0980"},     \
    {name, op "a92a", -1, op "f9ff"},        \
    {name, op "a92a", -0x800, op "0980"},    \
    {name, op "a92a", 0x12345678, op "8967"}

/* The same in two pieces: the lowest bit of the five is the highest of the first byte, which is `even` or `odd`.
 * `width` is one half of the second byte. */
#define LOWER_S(name, even, odd, width)                        \
    {name, even width "5a92a", 0, even width "0a900"},         \
    {name, even width "5a92a", 0x7ff, odd width "fa97e"},      \
    {name, even width "5a92a", 0x800, even width "0a980"},     \
    {name, even width "5a92a", -1, odd width "fa9fe"},         \
    {name, even width "5a92a", -0x800, even width "0a980"},    \
    {name, even width "5a92a", 0x12345678, even width "ca966"}

/* auipc and jalr. */
#define CALL(name)                                                 \
    {name, "97103254e7803012", 0, "97000000e7800000"},             \
    {name, "97103254e7803012", 0x7fe, "97000000e780e07f"},         \
    {name, "97103254e7803012", 0x800, "97100000e7800080"},         \
    {name, "97103254e7803012", -0x800, "97000000e7800080"},        \
    {name, "97103254e7803012", -0x802, "97f0ffffe780e07f"},        \
    {name, "97103254e7803012", -0x80000800LL, "97000080e7800080"}, \
    {name, "97103254e7803012", 0x7ffff7fe, "97f0ff7fe780e07f"},    \
    {name, "97103254e7803012", -0x80000802LL, NULL},               \
    {name, "97103254e7803012", 0x7ffff800, NULL}

/* 32 bits with a sign. */
#define DISTANCE(name)                             \
    {name, "eeeeeeee", -0x80000000LL, "00000080"}, \
    {name, "eeeeeeee", 0x7fffffff, "ffffff7f"},    \
    {name, "eeeeeeee", -0x80000001LL, NULL},       \
    {name, "eeeeeeee", 0x80000000, NULL}
/* clang-format on */

static const struct row {
    const char *name; /* without R_RISCV_ */
    const char *before;
    int64_t value;
    const char *after; /* NULL: it does not fit */
} rows[] = {
    {"BRANCH", "6305652a", -0x1000, "63006580"},
    {"BRANCH", "6305652a", 0xffe, "e30f657e"},
    {"BRANCH", "6305652a", 0, "63006500"},
    {"BRANCH", "6305652a", 0x554, "630a6554"},
    {"BRANCH", "6305652a", -0x1002, NULL},
    {"BRANCH", "6305652a", 0x1000, NULL},
    {"BRANCH", "6305652a", 1, NULL},
    {"JAL", "efa4b22a", -0x100000, "ef040080"},
    {"JAL", "efa4b22a", 0xffffe, "eff4ff7f"},
    {"JAL", "efa4b22a", 0, "ef040000"},
    {"JAL", "efa4b22a", 0x554, "ef044055"},
    {"JAL", "efa4b22a", -0x100002, NULL},
    {"JAL", "efa4b22a", 0x100000, NULL},
    {"JAL", "efa4b22a", 1, NULL},
    {"RVC_BRANCH", "8dc7", -0x100, "81d3"},
    {"RVC_BRANCH", "8dc7", 0xfe, "fdcf"},
    {"RVC_BRANCH", "8dc7", 0, "81c3"},
    {"RVC_BRANCH", "8dc7", 0x54, "b1cb"},
    {"RVC_BRANCH", "8dc7", -0x102, NULL},
    {"RVC_BRANCH", "8dc7", 0x100, NULL},
    {"RVC_BRANCH", "8dc7", 1, NULL},
    {"RVC_JUMP", "6da4", -0x800, "01b0"},
    {"RVC_JUMP", "6da4", 0x7fe, "fdaf"},
    {"RVC_JUMP", "6da4", 0, "01a0"},
    {"RVC_JUMP", "6da4", 0x54, "91a8"},
    {"RVC_JUMP", "6da4", -0x802, NULL},
    {"RVC_JUMP", "6da4", 0x800, NULL},
    {"RVC_JUMP", "6da4", 1, NULL},
    {"PCREL_HI20", "971b3254", 0, "970b0000"},
    {"PCREL_HI20", "971b3254", 0x7ff, "970b0000"},
    {"PCREL_HI20", "971b3254", 0x800, "971b0000"},
    {"PCREL_HI20", "971b3254", 0xfff, "971b0000"},
    {"PCREL_HI20", "971b3254", -0x800, "970b0000"},
    {"PCREL_HI20", "971b3254", -0x801, "97fbffff"},
    {"PCREL_HI20", "971b3254", 0x12345678, "975b3412"},
    {"PCREL_HI20", "971b3254", -0x80000800LL, "970b0080"},
    {"PCREL_HI20", "971b3254", 0x7ffff7ff, "97fbff7f"},
    {"PCREL_HI20", "b71b3254", -0x80000801LL, NULL},
    {"PCREL_HI20", "b71b3254", 0x7ffff800, NULL},
    {"HI20", "b71b3254", 0, "b70b0000"},
    {"HI20", "b71b3254", 0x7ff, "b70b0000"},
    {"HI20", "b71b3254", 0x800, "b71b0000"},
    {"HI20", "b71b3254", 0xfff, "b71b0000"},
    {"HI20", "b71b3254", -0x800, "b70b0000"},
    {"HI20", "b71b3254", -0x801, "b7fbffff"},
    {"HI20", "b71b3254", 0x12345678, "b75b3412"},
    {"HI20", "b71b3254", -0x80000800LL, "b70b0080"},
    {"HI20", "b71b3254", 0x7ffff7ff, "b7fbff7f"},
    {"HI20", "b71b3254", -0x80000801LL, NULL},
    {"HI20", "b71b3254", 0x7ffff800, NULL},
    UPPER("GOT_HI20", "97"),
    UPPER("TPREL_HI20", "b7"),
    UPPER("TLS_GOT_HI20", "97"),
    UPPER("TLS_GD_HI20", "97"),
    UPPER("TLSDESC_HI20", "97"),
    CALL("CALL"),
    CALL("CALL_PLT"),
    LOWER_I("LO12_I", "03a5"),
    LOWER_S("LO12_S", "23", "a3", "a"),
    LOWER_I("TPREL_LO12_I", "03b5"),
    LOWER_S("TPREL_LO12_S", "23", "a3", "b"),
    {"TLS_DTPREL32", "eeeeeeee", 0, "00f8ffff"},
    {"TLS_DTPREL32", "eeeeeeee", 0x800, "00000000"},
    {"TLS_DTPREL32", "eeeeeeee", 0x7fffffff, "fff7ff7f"},
    {"TLS_DTPREL64", "eeeeeeeeeeeeeeee", 0, "00f8ffffffffffff"},
    {"TLS_DTPREL64", "eeeeeeeeeeeeeeee", 0x800, "0000000000000000"},
    {"TLS_DTPREL64", "eeeeeeeeeeeeeeee", 0x123456789abcdef0, "f0d6bc9a78563412"},
    LOWER_I("PCREL_LO12_I", "1385"),
    LOWER_S("PCREL_LO12_S", "27", "a7", "b"),
    LOWER_I("TLSDESC_LOAD_LO12", "03b5"),
    LOWER_I("TLSDESC_ADD_LO12", "1385"),
    {"32", "eeeeeeee", -0x80000000LL, "00000080"},
    {"32", "eeeeeeee", 0xffffffff, "ffffffff"},
    {"32", "eeeeeeee", -0x80000001LL, NULL},
    {"32", "eeeeeeee", 0x100000000, NULL},
    DISTANCE("32_PCREL"),
    DISTANCE("PLT32"),
    DISTANCE("GOT32_PCREL"),
    {"64", "eeeeeeeeeeeeeeee", 0, "0000000000000000"},
    {"64", "eeeeeeeeeeeeeeee", INT64_MIN, "0000000000000080"},
    {"64", "eeeeeeeeeeeeeeee", INT64_MAX, "ffffffffffffff7f"},
    {"ADD8", "88", 1, "89"},
    {"SUB8", "88", 1, "87"},
    {"ADD8", "88", 0x7f, "07"},
    {"SUB8", "88", 0x7f, "09"},
    {"ADD8", "88", -1, "87"},
    {"SUB8", "88", -1, "89"},
    {"ADD8", "88", 0x1234567890abcdef, "77"},
    {"SUB8", "88", 0x1234567890abcdef, "99"},
    {"ADD16", "8887", 1, "8987"},
    {"SUB16", "8887", 1, "8787"},
    {"ADD16", "8887", 0x7f, "0788"},
    {"SUB16", "8887", 0x7f, "0987"},
    {"ADD16", "8887", -1, "8787"},
    {"SUB16", "8887", -1, "8987"},
    {"ADD16", "8887", 0x1234567890abcdef, "7755"},
    {"SUB16", "8887", 0x1234567890abcdef, "99b9"},
    {"ADD32", "88878685", 1, "89878685"},
    {"SUB32", "88878685", 1, "87878685"},
    {"ADD32", "88878685", 0x7f, "07888685"},
    {"SUB32", "88878685", 0x7f, "09878685"},
    {"ADD32", "88878685", -1, "87878685"},
    {"SUB32", "88878685", -1, "89878685"},
    {"ADD32", "88878685", 0x1234567890abcdef, "77553216"},
    {"SUB32", "88878685", 0x1234567890abcdef, "99b9daf4"},
    {"ADD64", "8887868584838281", 1, "8987868584838281"},
    {"SUB64", "8887868584838281", 1, "8787868584838281"},
    {"ADD64", "8887868584838281", 0x7f, "0788868584838281"},
    {"SUB64", "8887868584838281", 0x7f, "0987868584838281"},
    {"ADD64", "8887868584838281", -1, "8787868584838281"},
    {"SUB64", "8887868584838281", -1, "8987868584838281"},
    {"ADD64", "8887868584838281", 0x1234567890abcdef, "77553216fdd9b693"},
    {"SUB64", "8887868584838281", 0x1234567890abcdef, "99b9daf40b2d4e6f"},
    {"SET8", "ee", 0, "00"},
    {"SET8", "ee", -1, "ff"},
    {"SET8", "ee", 0x123456789a, "9a"},
    {"SET16", "eeee", 0, "0000"},
    {"SET16", "eeee", -1, "ffff"},
    {"SET16", "eeee", 0x123456789a, "9a78"},
    {"SET32", "eeeeeeee", 0, "00000000"},
    {"SET32", "eeeeeeee", -1, "ffffffff"},
    {"SET32", "eeeeeeee", 0x123456789a, "9a785634"},
    {"SET6", "aa", 0, "80"},
    {"SUB6", "aa", 0, "aa"},
    {"SET6", "aa", 0x3f, "bf"},
    {"SUB6", "aa", 0x3f, "ab"},
    {"SET6", "aa", 0x40, "80"},
    {"SUB6", "aa", 0x40, "aa"},
    {"SET6", "aa", -1, "bf"},
    {"SUB6", "aa", -1, "ab"},
    {"SUB_ULEB128", "7f", 0, "00"},
    {"SUB_ULEB128", "7f", 0x7f, "7f"},
    {"SUB_ULEB128", "7f", 0x80, NULL},
    {"SUB_ULEB128", "7f", -1, NULL},
    {"SUB_ULEB128", "ff7f", 0, "8000"},
    {"SUB_ULEB128", "ff7f", 0x3fff, "ff7f"},
    {"SUB_ULEB128", "ff7f", 0x4000, NULL},
    {"SUB_ULEB128", "ff7f", -1, NULL},
    {"SUB_ULEB128", "ffff7f", 0, "808000"},
    {"SUB_ULEB128", "ffff7f", 0x1fffff, "ffff7f"},
    {"SUB_ULEB128", "ffff7f", 0x200000, NULL},
    {"SUB_ULEB128", "ffff7f", -1, NULL},
    {"SUB_ULEB128", "ffffffff7f", 0, "8080808000"},
    {"SUB_ULEB128", "ffffffff7f", 0x7ffffffff, "ffffffff7f"},
    {"SUB_ULEB128", "ffffffff7f", 0x800000000, NULL},
    {"SUB_ULEB128", "ffffffff7f", -1, NULL},
    {"SUB_ULEB128", "ffffffffffffffffff01", -1, "ffffffffffffffffff01"},
};

/* ---- one object with one relocation, or a pair ---- */

static uint32_t type_of(const char *name)
{
    for (uint32_t i = 0; i < tn_format_elf_riscv64.row_count; i++)
        if (tn_format_elf_riscv64.rows[i].name &&
            !strcmp(tn_format_elf_riscv64.rows[i].name + strlen("R_RISCV_"), name))
            return i;
    fail_msg("there is no R_RISCV_%s", name);
    return 0;
}

static const struct tn__row *row_of(uint32_t type)
{
    return &tn_format_elf_riscv64.rows[type];
}

/* What the formula of the row gives for an addend of 0. */
static uint64_t base_of(const struct tn__row *row)
{
    uint64_t S = row->flags & TN__R_TLS ? 0 : TARGET, P = PLACE + FIELD;
    switch (row->value) {
    case TN__V_S_A_P:
        return S - P;
    case TN__V_G_A_P:
        return GOT - P;
    default:
        return S;
    }
}

static struct bytes object_with(uint32_t type, const uint8_t *contents, uint64_t offset, uint64_t value)
{
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    const struct tn__row *row = row_of(type);
    unsigned text = elf_section(&elf, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, contents, SECTION);
    unsigned data = elf_section(&elf, ".target", SHT_PROGBITS, SHF_ALLOC, contents, 1);
    unsigned tls = elf_section(&elf, ".tdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, contents, 1);
    unsigned label = elf_symbol(&elf, "label", STB_LOCAL, STT_NOTYPE, text, 0, 0);
    unsigned target = row->flags & TN__R_TLS ? elf_symbol(&elf, "target", STB_GLOBAL, STT_TLS, tls, 0, 1)
                                             : elf_symbol(&elf, "target", STB_GLOBAL, STT_OBJECT, data, 0, 1);
    if (row->value == TN__V_AT_S) {
        elf_reloc(&elf, text, 0, target, type_of("PCREL_HI20"), (int64_t)(value - TARGET + PLACE));
        elf_reloc(&elf, text, offset, label, type, 0);
    } else if (row->value == TN__V_SUBTRACT) {
        elf_reloc(&elf, text, offset, target, type_of("SET_ULEB128"), (int64_t)value);
        elf_reloc(&elf, text, offset, target, type, 0);
    } else {
        elf_reloc(&elf, text, offset, target, type, (int64_t)(value - base_of(row)));
    }
    struct bytes file = elf_finish(&elf);
    elf_header(file)->e_machine = EM_RISCV;
    return file;
}

/* ---- linking it ---- */

static uint8_t linked[SECTION];
static int (*pin)(struct tn__link *link);

/* As a file that is loaded: only there are descriptors allowed. */
static int arrange(struct tn__link *link)
{
    link->objects[0]->plan->tls_apart = true;
    return pin(link);
}

static int on_linked(struct tn__link *link)
{
    memcpy(linked, link->objects[0]->data->sections[1].write, SECTION);
    return 0;
}

static int link_object(struct bytes object, struct tn_error *err)
{
    static const struct tn__pin pins[] = {
        {"rows.o", ".text", PLACE}, {"rows.o", ".target", TARGET}, {"rows.o", ".got", GOT}};
    static const struct tn_format *const formats[] = {&tn_format_elf_riscv64, NULL};
    static const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    struct tn__detached where = {.address = WINDOW,
                                 .size = 1 << 20,
                                 .page_size = 4096,
                                 .pins = pins,
                                 .pin_count = COUNT(pins),
                                 .finish = on_linked};
    struct fixture f;
    assert_ok(tn__session_create_detached(&options, &where, &f.session, err), err);
    pin = where.arrange;
    where.arrange = arrange;
    assert_ok(tn_library_create(f.session, "library", &f.library, err), err);
    int code = try_add_bytes(&f, "rows.o", object.at, object.size, err);
    if (!code)
        code = tn_link(f.library, err);
    close_fixture(&f);
    free(object.at);
    return code;
}

static unsigned from_hex(const char *text, uint8_t *bytes)
{
    unsigned count = (unsigned)strlen(text) / 2;
    for (unsigned i = 0; i < count; i++) {
        unsigned byte;
        assert_int_equal(sscanf(text + i * 2, "%2x", &byte), 1);
        bytes[i] = (uint8_t)byte;
    }
    return count;
}

static void values(void **state)
{
    const struct row *row = *state;
    uint32_t type = type_of(row->name);
    uint8_t contents[SECTION], wanted[SECTION];
    struct tn_error err;
    memset(contents, 0xee, sizeof contents);
    unsigned size = from_hex(row->before, contents + FIELD);
    memcpy(wanted, contents, sizeof wanted);
    int code = link_object(object_with(type, contents, FIELD, (uint64_t)row->value), &err);
    if (!row->after) {
        assert_error(code, TN_ERANGE, &err, "rows.o(.text+0x8): R_RISCV_", row->name, " against 'target'");
        return;
    }
    assert_ok(code, &err);
    assert_int_equal(from_hex(row->after, wanted + FIELD), size);
    unsigned before = row_of(type)->value == TN__V_AT_S ? 4 : 0; /* the other instruction */
    assert_memory_equal(linked + before, wanted + before, SECTION - before);
}

/* ---- the whole table ---- */

static bool has_values(const char *name)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!strcmp(rows[i].name, name))
            return true;
    return false;
}

/* A field that is checked has values that do not fit right before the least one that does and right behind the greatest
 * one. */
static void check_limits(const struct tn__row *row, const char *name)
{
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    bool before = false, behind = false;
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!strcmp(rows[i].name, name) && rows[i].after) {
            least = rows[i].value < least ? rows[i].value : least;
            greatest = rows[i].value > greatest ? rows[i].value : greatest;
        }
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!strcmp(rows[i].name, name) && !rows[i].after) {
            before |= rows[i].value < least && least - rows[i].value <= 2;
            behind |= rows[i].value > greatest && rows[i].value - greatest <= 2;
        }
    if (row->flags & (TN__R_SIGNED | TN__R_UNSIGNED) && !(before && behind))
        fail_msg("%s has no value beyond a limit", row->name);
}

static const uint8_t zeros[SECTION];

static void check_places(uint32_t type)
{
    struct tn_error err;
    const uint64_t outside[] = {SECTION - row_of(type)->size + 1, SECTION, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < COUNT(outside); i++)
        assert_error(link_object(object_with(type, zeros, outside[i], 0), &err), TN_EFORMAT, &err, "rows.o(.text+0x",
                     "outside the section's 32 bytes");
    assert_ok(link_object(object_with(type, zeros, SECTION - row_of(type)->size, 0), &err), &err);
}

static void every_row_is_tested_or_refused_by_name(void **state)
{
    (void)state;
    struct tn_error err;
    for (uint32_t type = 0; type < tn_format_elf_riscv64.row_count; type++) {
        const struct tn__row *row = row_of(type);
        if (row->value == TN__V_UNKNOWN)
            assert_error(link_object(object_with(type, zeros, FIELD, 0), &err), TN_EFORMAT, &err, "does not exist");
        else if (row->value == TN__V_UNSUPPORTED)
            assert_error(link_object(object_with(type, zeros, FIELD, 0), &err), TN_ENOTSUP, &err, row->name);
        else if (row->value != TN__V_NONE && row->value != TN__V_MINUEND && !has_values(row->name + strlen("R_RISCV_")))
            fail_msg("%s has no test", row->name);
        else if (row->value != TN__V_NONE && row->value != TN__V_MINUEND) {
            check_places(type);
            check_limits(row, row->name + strlen("R_RISCV_"));
        }
    }
}

/* Halves of pairs. */
static void pairs(void **state)
{
    (void)state;
    static const uint8_t bytes[SECTION] = {0x80, 0x80, 0x00};
    static const struct {
        const char *first, *second;
        uint64_t at, second_at;
        int64_t label;
        const char *error;
    } cases[] = {
        {"PCREL_HI20", "PCREL_LO12_I", 0, 4, 0, NULL},
        {"PCREL_HI20", "PCREL_LO12_I", 0, 4, 4, "half of a pair"},
        {"GOT_HI20", "PCREL_LO12_S", 16, 4, 16, NULL},
        {"BRANCH", "PCREL_LO12_I", 0, 4, 0, NULL},
        {"RELAX", "PCREL_LO12_I", 0, 4, 0, "half of a pair"},
        {"PCREL_LO12_I", "PCREL_LO12_I", 0, 4, 0, "half of a pair"},
        {"SET_ULEB128", "SUB_ULEB128", 0, 0, 0, NULL},
        {"SET_ULEB128", "SUB_ULEB128", 0, 1, 0, "half of a pair"},
        {"SET_ULEB128", "RELAX", 0, 0, 0, "half of a pair"},
        {"SUB_ULEB128", "RELAX", 0, 0, 0, "half of a pair"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        static struct elf elf;
        struct tn_error err;
        memset(&elf, 0, sizeof elf);
        unsigned text = elf_code(&elf, bytes, SECTION);
        unsigned label = elf_symbol(&elf, "label", STB_LOCAL, STT_NOTYPE, text, (uint64_t)cases[i].label, 0);
        unsigned other =
            strcmp(cases[i].first, "PCREL_LO12_I") ? elf_symbol(&elf, "", STB_LOCAL, 0, text, 0, 0) : label;
        elf_reloc(&elf, text, cases[i].at, other, type_of(cases[i].first), 0);
        elf_reloc(&elf, text, cases[i].second_at, label, type_of(cases[i].second), 0);
        struct bytes file = elf_finish(&elf);
        elf_header(file)->e_machine = EM_RISCV;
        int code = link_object(file, &err);
        if (cases[i].error)
            assert_error(code, TN_EFORMAT, &err, cases[i].error);
        else
            assert_ok(code, &err);
    }
}

/* A ULEB128 that the section's end cuts off. */
static void unfinished_uleb(void **state)
{
    (void)state;
    uint8_t contents[SECTION];
    struct tn_error err;
    memset(contents, 0x80, sizeof contents);
    assert_error(link_object(object_with(type_of("SUB_ULEB128"), contents, SECTION - 2, 0), &err), TN_ERANGE, &err,
                 "R_RISCV_SUB_ULEB128");
    assert_error(link_object(object_with(type_of("SUB_ULEB128"), contents, 0, 0), &err), TN_ERANGE, &err,
                 "R_RISCV_SUB_ULEB128");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_tested_or_refused_by_name),
        cmocka_unit_test(pairs),
        cmocka_unit_test(unfinished_uleb),
    };
    int failed = cmocka_run_group_tests_name("link/rows_riscv64", tests, NULL, NULL);
    return failed + RUN_ROWS("values", rows, values);
}
