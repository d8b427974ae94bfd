/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which definition a name means (gABI, "Symbol Table"; GNU ld where the gABI is silent), and what is said when there is
 * none or more than one. */

#include "elf_builder.h"

#include <stdlib.h>

/* ---- small objects ---- */

enum kind { END, STRONG, WEAK, COMMON, UNDEFINED, WEAK_UNDEFINED, HIDDEN };

struct part {
    enum kind kind;
    const char *name;
    uint32_t value;     /* the word it holds; COMMON: size */
    uint32_t alignment; /* COMMON */
};

enum { PARTS = 8 };

/* Every definition is a word of .data, every reference an address in .data.rel named "ref_" + name. */
static struct bytes object_of(const struct part *parts)
{
    static struct elf elf;
    static uint32_t words[PARTS];
    static uint64_t references[PARTS];
    memset(&elf, 0, sizeof elf);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
    unsigned refs = elf_section(&elf, ".data.rel", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, references, sizeof references);
    for (unsigned i = 0; i < PARTS && parts[i].kind; i++) {
        const struct part *part = &parts[i];
        bool weak = part->kind == WEAK || part->kind == WEAK_UNDEFINED;
        bool defined = part->kind == STRONG || part->kind == WEAK || part->kind == HIDDEN;
        words[i] = part->value;
        unsigned symbol = elf_symbol(&elf, part->name, weak ? STB_WEAK : STB_GLOBAL, STT_OBJECT,
                                     defined                ? data
                                     : part->kind == COMMON ? SHN_COMMON
                                                            : SHN_UNDEF,
                                     defined                ? i * sizeof *words
                                     : part->kind == COMMON ? part->alignment
                                                            : 0,
                                     part->kind == COMMON ? part->value : sizeof *words);
        if (part->kind == HIDDEN)
            elf.symbols[symbol].st_other = STV_HIDDEN;
        if (part->kind == UNDEFINED || part->kind == WEAK_UNDEFINED) {
            char name[64];
            snprintf(name, sizeof name, "ref_%s", part->name);
            elf_symbol(&elf, name, STB_WEAK, STT_OBJECT, refs, i * sizeof *references, 8); /* many may refer to one */
            elf_reloc(&elf, refs, i * sizeof *references, symbol, R_X86_64_64, 0);
        }
    }
    return elf_finish(&elf);
}

static int try_add(const struct fixture *f, const char *name, const struct part *parts, struct tn_error *err)
{
    struct bytes object = object_of(parts);
    struct tn_input input = {.size = sizeof input, .name = name, .bytes = object.at, .length = object.size};
    int code = tn_add_object(f->library, &input, err);
    /* The bytes are borrowed until the link: left to the end of the program, where LeakSanitizer finds them reachable. */
    static struct bytes kept[4096];
    static size_t count;
    assert_true(count < COUNT(kept));
    kept[count++] = object;
    return code;
}

static void add(const struct fixture *f, const char *name, const struct part *parts)
{
    struct tn_error err;
    assert_ok(try_add(f, name, parts, &err), &err);
}

#define OBJECT(...) ((const struct part[PARTS]){__VA_ARGS__})

static uint32_t word_at(const struct fixture *f, const char *name)
{
    return *(const uint32_t *)lookup(f, name);
}

/* ---- which definition wins ---- */

struct winner {
    const char *name;
    struct part first, second;
    int code; /* of adding the second */
    uint32_t word;
};

static const struct winner winners[] = {
    {"strong, weak", {STRONG, "x", 1}, {WEAK, "x", 2}, 0, 1},
    {"weak, strong", {WEAK, "x", 1}, {STRONG, "x", 2}, 0, 2},
    {"weak, weak", {WEAK, "x", 1}, {WEAK, "x", 2}, 0, 1},
    {"strong, strong", {STRONG, "x", 1}, {STRONG, "x", 2}, TN_EDUP, 1},
    {"common, strong", {COMMON, "x", 4, 4}, {STRONG, "x", 2}, 0, 2},
    {"strong, common", {STRONG, "x", 1}, {COMMON, "x", 4, 4}, 0, 1},
    {"common, weak", {COMMON, "x", 4, 4}, {WEAK, "x", 2}, 0, 0},
    {"weak, common", {WEAK, "x", 1}, {COMMON, "x", 4, 4}, 0, 0},
    {"common, common", {COMMON, "x", 4, 4}, {COMMON, "x", 4, 4}, 0, 0},
    {"hidden, strong", {HIDDEN, "x", 1}, {STRONG, "x", 2}, TN_EDUP, 1},
    {"undefined, strong", {UNDEFINED, "x"}, {STRONG, "x", 2}, 0, 2},
    {"strong, undefined", {STRONG, "x", 1}, {UNDEFINED, "x"}, 0, 1},
    {"weak undefined, weak", {WEAK_UNDEFINED, "x"}, {WEAK, "x", 2}, 0, 2},
};

static void the_stronger_definition_wins(void **state)
{
    const struct winner *row = *state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    add(&f, "first.o", OBJECT(row->first));
    add(&f, "reader.o", OBJECT({UNDEFINED, "x"}));
    int code = try_add(&f, "second.o", OBJECT(row->second), &err);
    if (row->code)
        assert_error(code, row->code, &err, "'x'", "first.o", "second.o");
    else
        assert_ok(code, &err);
    const uint32_t *seen = *(const uint32_t *const *)lookup(&f, "ref_x");
    assert_int_equal(*seen, row->word);
    if (row->first.kind != HIDDEN)
        assert_ptr_equal(seen, lookup(&f, "x"));
    link_all(&f);
    check_still_works(&f);
    close_fixture(&f);
}

/* ---- common ---- */

struct merge {
    const char *name;
    uint32_t size[3], alignment[3];
};

static const struct merge merges[] = {
    {"equal", {4, 4, 4}, {4, 4, 4}},
    {"growing", {1, 100, 5000}, {1, 8, 64}},
    {"shrinking", {5000, 100, 1}, {4096, 8, 1}},
    {"size and alignment of different ones", {8, 3000, 8}, {2048, 1, 16}},
};

static void commons_share_the_largest_size_and_alignment(void **state)
{
    const struct merge *row = *state;
    struct fixture f = open_fixture(NULL);
    uint32_t size = 0, alignment = 0;
    for (int i = 0; i < 3; i++) {
        char before[16], after[16];
        snprintf(before, sizeof before, "before%d", i);
        snprintf(after, sizeof after, "after%d", i);
        add(&f, "common.o",
            OBJECT({COMMON, before, 4, 4}, {COMMON, "x", row->size[i], row->alignment[i]}, {COMMON, after, 4, 4}));
        size = row->size[i] > size ? row->size[i] : size;
        alignment = row->alignment[i] > alignment ? row->alignment[i] : alignment;
    }
    link_all(&f);
    char *x = lookup(&f, "x");
    assert_int_equal((uintptr_t)x % alignment, 0);
    for (uint32_t i = 0; i < size; i++)
        assert_int_equal(x[i], 0);
    memset(x, 0xff, size);
    static const char *const neighbours[] = {"before0", "before1", "before2", "after0", "after1", "after2"};
    for (size_t i = 0; i < COUNT(neighbours); i++)
        assert_int_equal(word_at(&f, neighbours[i]), 0);
    close_fixture(&f);
}

static void a_common_that_is_linked_cannot_grow(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    add(&f, "first.o", OBJECT({COMMON, "x", 16, 8}));
    link_all(&f);
    static const struct {
        uint32_t size, alignment;
        int code;
    } rows[] = {{16, 8, 0}, {1, 1, 0}, {17, 8, TN_EDUP}, {16, 16, TN_EDUP}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        int code = try_add(&f, "second.o", OBJECT({COMMON, "x", rows[i].size, rows[i].alignment}), &err);
        if (rows[i].code)
            assert_error(code, rows[i].code, &err, "'x'", "first.o", "second.o");
        else
            assert_ok(code, &err);
    }
    link_all(&f);
    close_fixture(&f);
}

static void data_that_is_reused_is_zero_again(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    /* Fails after its data was placed, so that the range is free again; whatever was written there must not show. */
    add(&f, "dirty.o", OBJECT({STRONG, "dirty", 0xffffffff}, {STRONG, "dirty2", 0xffffffff}, {UNDEFINED, "far"}));
    assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'far'");
    define(&f, "far", &f);
    struct fixture other = {.session = f.session};
    assert_ok(tn_library_create(f.session, "other", &other.library, &err), &err);
    add(&other, "common.o", OBJECT({COMMON, "x", 4000, 8}));
    link_all(&other);
    const char *x = lookup(&other, "x");
    for (int i = 0; i < 4000; i++)
        assert_int_equal(x[i], 0);
    link_all(&f);
    assert_int_equal(word_at(&f, "dirty2"), 0xffffffff);
    close_fixture(&f);
}

/* ---- after linking ---- */

static void what_is_linked_is_not_overridden(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    add(&f, "weak.o", OBJECT({WEAK, "x", 1}));
    link_all(&f);
    assert_error(try_add(&f, "strong.o", OBJECT({STRONG, "x", 2}, {STRONG, "y", 3}), &err), TN_EDUP, &err, "'x'",
                 "weak.o", "strong.o", "linked already");
    assert_error(tn_define(f.library, "x", &f, &err), TN_EDUP, &err, "'x'", "weak.o");
    void *address;
    assert_error(tn_lookup(f.library, "y", &address, &err), TN_EUNDEF, &err, "'y'", "not defined", "main");
    add(&f, "weak2.o", OBJECT({WEAK, "x", 5}, {STRONG, "y", 3}));
    assert_int_equal(word_at(&f, "x"), 1);
    assert_int_equal(word_at(&f, "y"), 3);
    close_fixture(&f);
}

/* ---- undefined ---- */

struct heard {
    int count;
    char last_symbol[64], last_place[128];
};

static void hear(void *context, const char *symbol, const char *needed_by)
{
    struct heard *heard = context;
    heard->count++;
    snprintf(heard->last_symbol, sizeof heard->last_symbol, "%s", symbol);
    snprintf(heard->last_place, sizeof heard->last_place, "%s", needed_by);
}

static void all_undefined_symbols_are_named_with_who_needs_them(void **state)
{
    (void)state;
    struct heard heard = {0};
    const struct tn_session_options options = {.size = sizeof options, .on_undefined = hear, .context = &heard};
    struct fixture f = open_fixture(&options);
    struct tn_stats before = stats_of(&f);
    struct tn_error err;
    add(&f, "a.o", OBJECT({UNDEFINED, "missing_1"}, {STRONG, "there", 7}, {UNDEFINED, "missing_2"}));
    add(&f, "b.o", OBJECT({UNDEFINED, "missing_2"}, {UNDEFINED, "there"}, {WEAK_UNDEFINED, "optional"}));
    for (int i = 1; i <= 2; i++) {
        assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'missing_1' needed by a.o(.data.rel+0x0)",
                     "'missing_2' needed by a.o(.data.rel+0x10)", "'missing_2' needed by b.o(.data.rel+0x0)");
        assert_null(strstr(err.text, "there"));
        assert_null(strstr(err.text, "optional"));
        assert_int_equal(heard.count, 3 * i);
    }
    assert_string_equal(heard.last_symbol, "missing_2");
    assert_string_equal(heard.last_place, "b.o(.data.rel+0x0)");
    struct tn_stats after = stats_of(&f);
    assert_same_memory(&before, &after);
    check_still_works(&f);
    /* What was missing may come later. */
    define(&f, "missing_1", &f);
    add(&f, "c.o", OBJECT({STRONG, "missing_2", 9}));
    link_all(&f);
    assert_int_equal(**(const uint32_t *const *)lookup(&f, "ref_missing_2"), 9);
    assert_ptr_equal(*(const void *const *)lookup(&f, "ref_optional"), NULL);
    close_fixture(&f);
}

static void a_thousand_undefined_symbols(void **state)
{
    (void)state;
    struct heard heard = {0};
    const struct tn_session_options options = {.size = sizeof options, .on_undefined = hear, .context = &heard};
    struct fixture f = open_fixture(&options);
    struct tn_error err;
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof name, "missing_%d", i);
        add(&f, "many.o", OBJECT({UNDEFINED, name}));
    }
    assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'missing_0'", "...");
    assert_int_equal(strlen(err.text), sizeof err.text - 1);
    assert_int_equal(heard.count, 1000);
    close_fixture(&f);
}

static void lookup_fails_for_what_cannot_be_linked_and_leaves_the_rest(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    add(&f, "bad.o", OBJECT({STRONG, "bad", 1}, {UNDEFINED, "missing"}));
    add(&f, "good.o", OBJECT({STRONG, "good", 2}));
    assert_error(tn_lookup(f.library, "bad", &address, &err), TN_EUNDEF, &err, "'missing'", "bad.o");
    assert_int_equal(word_at(&f, "good"), 2);
    assert_error(tn_lookup(f.library, "missing", &address, &err), TN_EUNDEF, &err, "'missing'");
    assert_error(tn_lookup(f.library, "nothing", &address, &err), TN_EUNDEF, &err, "'nothing'");
    close_fixture(&f);
}

/* ---- visibility ---- */

static void hidden_symbols_serve_their_library_only(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    add(&f, "a.o", OBJECT({HIDDEN, "secret", 5}));
    add(&f, "b.o", OBJECT({UNDEFINED, "secret"}));
    assert_int_equal(**(const uint32_t *const *)lookup(&f, "ref_secret"), 5);
    assert_error(tn_lookup(f.library, "secret", &address, &err), TN_EUNDEF, &err, "'secret' is hidden");
    assert_error(tn_lookup(f.library, "__dso_handle", &address, &err), TN_EUNDEF, &err, "hidden");
    close_fixture(&f);
}

/* ---- the client's symbols ---- */

static int asked[2];
static int first_answer, second_answer;

static void *first_resolver(void *context, const char *name)
{
    asked[0] += !strcmp(name, "both") || !strcmp(name, "second_only");
    return !strcmp(name, "both") || !strcmp(name, "own") ? context : NULL;
}

static void *second_resolver(void *context, const char *name)
{
    asked[1] += !strcmp(name, "both") || !strcmp(name, "second_only");
    return !strcmp(name, "both") || !strcmp(name, "second_only") ? context : NULL;
}

static void resolvers_are_asked_in_order_after_the_library(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    memset(asked, 0, sizeof asked);
    assert_ok(tn_add_resolver(f.library, first_resolver, &first_answer, &err), &err);
    assert_ok(tn_add_resolver(f.library, second_resolver, &second_answer, &err), &err);
    define(&f, "defined", &f);
    add(&f, "a.o",
        OBJECT({STRONG, "own", 3}, {UNDEFINED, "both"}, {UNDEFINED, "second_only"}, {UNDEFINED, "own"},
               {UNDEFINED, "defined"}, {WEAK_UNDEFINED, "nobody"}));
    add(&f, "b.o", OBJECT({UNDEFINED, "both"}));
    link_all(&f);
    assert_ptr_equal(*(void **)lookup(&f, "ref_both"), &first_answer);
    assert_ptr_equal(*(void **)lookup(&f, "ref_second_only"), &second_answer);
    assert_ptr_equal(*(void **)lookup(&f, "ref_own"), lookup(&f, "own"));
    assert_ptr_equal(*(void **)lookup(&f, "ref_defined"), &f);
    assert_ptr_equal(*(void **)lookup(&f, "ref_nobody"), NULL);
    assert_ptr_equal(lookup(&f, "both"), &first_answer);
    assert_int_equal(asked[0], 2);
    assert_int_equal(asked[1], 1);
    close_fixture(&f);
}

static void the_clients_definitions_are_strong(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    define(&f, "x", &first_answer);
    assert_error(tn_define(f.library, "x", &f, &err), TN_EDUP, &err, "'x'", "the client");
    assert_error(try_add(&f, "a.o", OBJECT({STRONG, "x", 1}), &err), TN_EDUP, &err, "'x'", "the client", "a.o");
    add(&f, "weak.o", OBJECT({WEAK, "x", 1}, {UNDEFINED, "x"}, {WEAK, "y", 1}));
    define(&f, "y", &second_answer);
    link_all(&f);
    assert_ptr_equal(*(void **)lookup(&f, "ref_x"), &first_answer);
    assert_ptr_equal(lookup(&f, "y"), &second_answer);
    assert_error(tn_define(f.library, "", &f, &err), TN_EINVAL, &err, "name");
    close_fixture(&f);
}

/* ---- COMDAT groups (data/comdat_1.s, comdat_2.s) ---- */

static void the_first_copy_of_a_group_is_kept(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        struct fixture f = open_fixture(NULL);
        add_file(&f, swapped ? "comdat_2.o" : "comdat_1.o");
        add_file(&f, swapped ? "comdat_1.o" : "comdat_2.o");
        int kept = swapped ? 2 : 1;
        assert_int_equal(call(&f, "call_1"), kept);
        assert_int_equal(call(&f, "call_2"), kept);
        assert_int_equal(call(&f, "data_1"), kept);
        assert_int_equal(call(&f, "data_2"), kept);
        assert_int_equal(call(&f, "inlined"), kept);
        close_fixture(&f);
    }
}

static void a_group_whose_owner_could_not_be_added_is_free_again(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    define(&f, "call_1", &f);
    assert_error(tn_add_file(f.library, data_file("comdat_1.o"), &err), TN_EDUP, &err, "'call_1'", "comdat_1.o");
    add_file(&f, "comdat_2.o");
    assert_int_equal(call(&f, "call_2"), 2);
    close_fixture(&f);
}

/* A group of the same name that lacks one of the symbols: what refers to it must not be left with a null address. */
static struct bytes object_with_group(uint32_t word, bool with_second)
{
    static struct elf elf;
    static uint32_t words[2][2], group[2][2];
    static uint64_t reference[2];
    memset(&elf, 0, sizeof elf);
    words[with_second][0] = words[with_second][1] = word;
    group[with_second][0] = GRP_COMDAT;
    group[with_second][1] = 1;
    unsigned data =
        elf_section(&elf, ".data.g", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_GROUP, words[with_second], 8);
    unsigned grp = elf_section(&elf, ".group", SHT_GROUP, 0, group[with_second], sizeof group[0]);
    elf.sections[grp].header.sh_info = elf_symbol(&elf, "signature", STB_WEAK, STT_OBJECT, data, 0, 4);
    if (with_second) {
        unsigned second = elf_symbol(&elf, "second", STB_WEAK, STT_OBJECT, data, 4, 4);
        unsigned refs = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, reference, sizeof reference);
        elf_reloc(&elf, refs, 0, second, R_X86_64_64, 0);
    }
    return elf_finish(&elf);
}

static void a_symbol_that_was_discarded_with_its_group_is_undefined(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct bytes kept = object_with_group(1, false), discarded = object_with_group(2, true);
    add_bytes(&f, "kept.o", kept.at, kept.size);
    add_bytes(&f, "discarded.o", discarded.at, discarded.size);
    assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'second'", "discarded.o(.data+0x0)");
    assert_int_equal(word_at(&f, "signature"), 1);
    close_fixture(&f);
    free(kept.at);
    free(discarded.at);
}

/* ---- odd places ---- */

/* An object whose .data refers by R_X86_64_64 to `name`, which is defined in the section `what`. */
static int link_reference_into(struct fixture *f, Elf64_Shdr section, unsigned bind, const char *name, uint32_t type,
                               struct tn_error *err)
{
    static struct elf elf;
    static uint64_t reference[2], contents[2];
    memset(&elf, 0, sizeof elf);
    memset(reference, 0, sizeof reference);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, reference, sizeof reference);
    unsigned odd = elf_section(&elf, ".odd", section.sh_type, section.sh_flags, contents, section.sh_size);
    unsigned symbol = elf_symbol(&elf, name, bind, STT_OBJECT, odd, 0, 0);
    elf_symbol(&elf, "reference", STB_GLOBAL, STT_OBJECT, data, 0, 8);
    elf_reloc(&elf, data, 0, symbol, type, 0);
    struct bytes object = elf_finish(&elf);
    add_bytes(f, "odd.o", object.at, object.size);
    int code = tn_link(f->library, err);
    static uint8_t *waiting; /* borrowed until the session ends, if it was not linked */
    free(waiting);
    waiting = object.at;
    return code;
}

struct odd {
    const char *name;
    Elf64_Shdr section;
    unsigned bind;
    uint32_t type;
    int code;
};

#define ALLOC_DATA (SHF_ALLOC | SHF_WRITE)

static const struct odd odds[] = {
    {"local in debug data", {.sh_type = SHT_PROGBITS, .sh_size = 8}, STB_LOCAL, R_X86_64_64, TN_EFORMAT},
    {"global in debug data", {.sh_type = SHT_PROGBITS, .sh_size = 8}, STB_GLOBAL, R_X86_64_64, TN_EUNDEF},
    {"weak in debug data", {.sh_type = SHT_PROGBITS, .sh_size = 8}, STB_WEAK, R_X86_64_64, TN_EUNDEF},
    {"global in a note",
     {.sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC, .sh_size = 8},
     STB_GLOBAL,
     R_X86_64_64,
     TN_EUNDEF},
    {"empty data", {.sh_type = SHT_PROGBITS, .sh_flags = ALLOC_DATA}, STB_GLOBAL, R_X86_64_PC32, 0},
    {"empty code", {.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR}, STB_GLOBAL, R_X86_64_PC32, 0},
    {"empty constants", {.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC}, STB_LOCAL, R_X86_64_PC32, 0},
    {"empty zeros", {.sh_type = SHT_NOBITS, .sh_flags = ALLOC_DATA}, STB_GLOBAL, R_X86_64_PC32, 0},
    {"zeros", {.sh_type = SHT_NOBITS, .sh_flags = ALLOC_DATA, .sh_size = 8}, STB_GLOBAL, R_X86_64_PC32, 0},
};

static void a_symbol_in_an_odd_place(void **state)
{
    const struct odd *row = *state;
    struct fixture f = open_fixture(NULL);
    struct tn_stats before = stats_of(&f);
    struct tn_error err;
    int code = link_reference_into(&f, row->section, row->bind, "odd_symbol", row->type, &err);
    if (row->code) {
        assert_error(code, row->code, &err, "odd.o(.data+0x0)", "'odd_symbol'",
                     row->code == TN_EFORMAT ? "not loaded" : "undefined");
        struct tn_stats after = stats_of(&f);
        assert_same_memory(&before, &after);
        check_still_works(&f);
    } else {
        assert_ok(code, &err);
        assert_non_null(lookup(&f, "reference"));
    }
    close_fixture(&f);
}

static void an_object_without_symbols(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    static const uint8_t code[] = {0xc3};
    struct elf elf = {0};
    elf_code(&elf, code, sizeof code);
    struct bytes object = elf_finish(&elf);
    elf_section_of_type(object, SHT_SYMTAB)->sh_type = SHT_PROGBITS;
    add_bytes(&f, "stripped.o", object.at, object.size);
    link_all(&f);
    assert_int_equal(stats_of(&f).objects, 1);
    close_fixture(&f);
    free(object.at);
}

/* An object that defines the symbol `target` at an absolute address, and calls it. */
static void a_branch_to_a_far_absolute_symbol_goes_through_a_stub(void **state)
{
    (void)state;
    for (int same = 0; same < 2; same++) {
        static const uint8_t code[] = {0xe9, 0, 0, 0, 0}; /* jmp target */
        static struct elf elf, other;
        memset(&elf, 0, sizeof elf);
        memset(&other, 0, sizeof other);
        unsigned text = elf_code(&elf, code, sizeof code);
        elf_function(&elf, "f", text, 0);
        uint64_t address = (uintptr_t)abs; /* of the C library, far from this program */
        unsigned target = same ? elf_symbol(&elf, "target", STB_GLOBAL, STT_FUNC, SHN_ABS, address, 0)
                               : elf_undefined(&elf, "target");
        elf_symbol(&other, "target", STB_GLOBAL, STT_FUNC, SHN_ABS, address, 0);
        elf_reloc(&elf, text, 1, target, R_X86_64_PLT32, -4);
        struct bytes object = elf_finish(&elf), second = elf_finish(&other);
        struct fixture f = open_fixture(NULL);
        add_bytes(&f, "jump.o", object.at, object.size);
        if (!same)
            add_bytes(&f, "absolute.o", second.at, second.size);
        void *found = lookup(&f, "f");
        int (*function)(int);
        memcpy(&function, &found, sizeof function);
        assert_int_equal(function(-5), 5);
        close_fixture(&f);
        free(object.at);
        free(second.at);
    }
}

/* The size of a symbol is known where it is defined. */
static void the_size_of_another_objects_symbol_is_not_taken_for_zero(void **state)
{
    (void)state;
    static struct elf elf;
    static uint64_t words[2];
    memset(&elf, 0, sizeof elf);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
    unsigned x = elf_undefined(&elf, "x");
    elf_symbol(&elf, "size", STB_GLOBAL, STT_OBJECT, data, 0, 8);
    elf_reloc(&elf, data, 0, x, R_X86_64_SIZE64, 0);
    struct bytes object = elf_finish(&elf);
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    add_bytes(&f, "size.o", object.at, object.size);
    add(&f, "x.o", OBJECT({STRONG, "x", 1}));
    int code = tn_link(f.library, &err);
    if (code)
        assert_error(code, TN_ENOTSUP, &err, "size.o(.data+0x0)", "R_X86_64_SIZE64", "'x'");
    else
        assert_int_equal(*(const uint64_t *)lookup(&f, "size"), 4);
    close_fixture(&f);
    free(object.at);
}

/* ---- arguments ---- */

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    void *address;
    struct tn_input input = {.size = sizeof input, .name = "x.o", .bytes = "", .length = 0};
    const struct tn_session_options wrong = {.size = sizeof wrong - 1};
    struct tn_session *session;
    assert_error(tn_session_create(&wrong, &session, &err), TN_EINVAL, &err, "tn_session_options");
    assert_error(tn_session_create(NULL, NULL, &err), TN_EINVAL, &err, "session");
    assert_error(tn_library_create(NULL, "x", &f.library, &err), TN_EINVAL, &err, "session");
    assert_error(tn_add_object(f.library, NULL, &err), TN_EINVAL, &err, "input");
    assert_error(tn_add_object(NULL, &input, &err), TN_EINVAL, &err, "library");
    input.size--;
    assert_error(tn_add_object(f.library, &input, &err), TN_EINVAL, &err, "tn_input");
    input = (struct tn_input){.size = sizeof input, .name = "x.o", .bytes = NULL, .length = 1};
    assert_error(tn_add_object(f.library, &input, &err), TN_EINVAL, &err, "bytes");
    assert_error(tn_add_file(f.library, NULL, &err), TN_EINVAL, &err, "path");
    assert_error(tn_lookup(f.library, NULL, &address, &err), TN_EINVAL, &err, "name");
    assert_error(tn_link(NULL, &err), TN_EINVAL, &err, "library");
    assert_error(tn_add_resolver(f.library, NULL, NULL, &err), TN_EINVAL, &err, "resolver");
    assert_int_equal(tn_link(NULL, NULL), TN_EINVAL);
    tn_session_destroy(NULL);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_common_that_is_linked_cannot_grow),
        cmocka_unit_test(data_that_is_reused_is_zero_again),
        cmocka_unit_test(what_is_linked_is_not_overridden),
        cmocka_unit_test(all_undefined_symbols_are_named_with_who_needs_them),
        cmocka_unit_test(a_thousand_undefined_symbols),
        cmocka_unit_test(lookup_fails_for_what_cannot_be_linked_and_leaves_the_rest),
        cmocka_unit_test(hidden_symbols_serve_their_library_only),
        cmocka_unit_test(resolvers_are_asked_in_order_after_the_library),
        cmocka_unit_test(the_clients_definitions_are_strong),
        cmocka_unit_test(the_first_copy_of_a_group_is_kept),
        cmocka_unit_test(a_group_whose_owner_could_not_be_added_is_free_again),
        cmocka_unit_test(a_symbol_that_was_discarded_with_its_group_is_undefined),
        cmocka_unit_test(an_object_without_symbols),
        cmocka_unit_test(a_branch_to_a_far_absolute_symbol_goes_through_a_stub),
        cmocka_unit_test(the_size_of_another_objects_symbol_is_not_taken_for_zero),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    int failed = cmocka_run_group_tests_name("link/symbols", tests, NULL, NULL);
    failed += RUN_ROWS("definitions", winners, the_stronger_definition_wins);
    failed += RUN_ROWS("commons", merges, commons_share_the_largest_size_and_alignment);
    return failed + RUN_ROWS("odd places", odds, a_symbol_in_an_odd_place);
}
