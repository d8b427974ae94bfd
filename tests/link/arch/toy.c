/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A new architecture needs rows, encoders and a stub, and nothing else: here is one, linked without a change in src.
 * Its instructions have 32 bits, with fields that other machines have: a page number, the low bits of a pair, a
 * branch. */

#include <stdlib.h>

#include "link/passes/steps.h"
#include "link/file/detached.h"
#include "link/session/contents.h"
#include "elf_builder.h"

/* ---- the architecture ---- */

enum { EM_TOY = 0x7000, HI = 1, LO, CALL, PAGE, ADD32, SUB32 };

static void put_bits(uint8_t *at, uint64_t value, uint32_t mask)
{
    tn__put32(at, (tn__get32(at) & ~mask) | ((uint32_t)value & mask));
}

static bool put_high(uint8_t *at, uint64_t value)
{
    put_bits(at, value, 0xfffff000);
    return true;
}

static bool put_low(uint8_t *at, uint64_t value)
{
    put_bits(at, value << 20, 0xfff00000);
    return true;
}

static bool put_branch(uint8_t *at, uint64_t value)
{
    put_bits(at, value >> 2, 0x00ffffff);
    return true;
}

static const struct tn__encoder encoders[] = {{"high20", put_high}, {"low12", put_low}, {"branch24", put_branch}};
enum { HIGH20 = TN__FIELDS, LOW12, BRANCH24 };

#define ROW(name, value, field, bits, flags) TN__ROW("TOY_" name, TN__V_##value, field, 4, bits, flags, 0, 0)
static const struct tn__row rows[] = {
    ROW("NONE", NONE, TN__F_LE8, 0, 0),
    [HI] = ROW("HI", S_A_P, HIGH20, 32, TN__R_SIGNED),
    [LO] = ROW("LO", AT_S, LOW12, 32, TN__R_SIGNED),
    [CALL] = ROW("CALL", S_A_P, BRANCH24, 26, TN__R_SIGNED | TN__R_STUB),
    [PAGE] = ROW("PAGE", PAGE_S_A_P, HIGH20, 32, TN__R_SIGNED),
    [ADD32] = ROW("ADD32", F_S_A, TN__F_LE32, 32, 0),
    [SUB32] = ROW("SUB32", F_MINUS, TN__F_LE32, 32, 0),
};

/* "Jump through", and the distance of the pointer. */
static void write_stub(uint8_t *out, uint64_t address, uint64_t slot)
{
    tn__put32(out, 0x1a15ea4e);
    tn__put32(out + 4, (uint32_t)(slot - address));
}

static const struct tn__arch toy = {
    .name = "toy", .elf_machine = EM_TOY, .encoders = encoders, .stub_size = 8, .write_stub = write_stub};

static const struct tn_format elf_toy = {.name = "elf-toy",
                                         .reader = &tn__reader_elf,
                                         .arch = &toy,
                                         .machine = EM_TOY,
                                         .rows = rows,
                                         .row_count = TN_COUNT(rows),
                                         .steps = &tn__steps_pairs};

/* ---- the test ---- */

#define NOWHERE 0x123400000000ULL
static const uint64_t FAR_AWAY = 0x7654321076543210;

static uint8_t linked[64], got[8], stub[8];

static const struct tn_session_options options = {.size = sizeof options,
                                                  .formats = (const struct tn_format *const[]){&elf_toy, NULL}};

static int on_linked(struct tn__link *link)
{
    const struct tn__object *object = link->objects[0];
    memcpy(linked, object->data->sections[1].write, sizeof linked);
    memcpy(got, object->plan->got_write, sizeof got);
    memcpy(stub, object->plan->stub_write, sizeof stub);
    assert_int_equal(object->plan->stub_count, 1);
    assert_int_equal(object->plan->stub_address, NOWHERE + sizeof linked);
    return 0;
}

static const uint8_t code[64] = {[0] = 0xab, [4] = 0xab, [11] = 0xbb, [15] = 0xbb, [28] = 0x03};

static struct bytes make_object(void)
{
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned label = elf_function(&elf, "label", text, 0), target = elf_function(&elf, "target", text, 40);
    elf_reloc(&elf, text, 0, target, HI, 0x12345000);
    elf_reloc(&elf, text, 4, label, LO, 0); /* of the instruction at its symbol */
    elf_reloc(&elf, text, 8, target, CALL, 0);
    elf_reloc(&elf, text, 12, elf_undefined(&elf, "far"), CALL, 0);
    elf_reloc(&elf, text, 16, target, PAGE, 0x5000);
    elf_reloc(&elf, text, 28, target, ADD32, 0);
    elf_reloc(&elf, text, 28, label, SUB32, 0);
    struct bytes file = elf_finish(&elf);
    elf_header(file)->e_machine = EM_TOY;
    return file;
}

static void test_links(void **state)
{
    (void)state;
    struct tn__detached where = {.address = NOWHERE, .size = 1 << 20, .page_size = 4096, .finish = on_linked};
    struct tn_error err;
    struct fixture f;
    struct bytes object = make_object();
    assert_ok(tn__session_create_detached(&options, &where, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "library", &f.library, &err), &err);
    define(&f, "far", (const void *)(uintptr_t)FAR_AWAY);
    add_bytes(&f, "toy.o", object.at, object.size);
    link_all(&f);
    assert_int_equal(tn__get32(linked), 0x123450ab); /* 40 + 0x12345000 - 0, its low bits left to the pair */
    assert_int_equal(tn__get32(linked + 4), (uint32_t)40 << 20 | 0xab);
    assert_int_equal(tn__get32(linked + 8), 0xbb000000 | (40 - 8) / 4);
    assert_int_equal(tn__get32(linked + 12), 0xbb000000 | (64 - 12) / 4); /* by the stub */
    assert_int_equal(tn__get32(linked + 16), 0x5000);
    assert_int_equal(tn__get32(linked + 28), 3 + 40);
    assert_int_equal(tn__get32(stub), 0x1a15ea4e);
    assert_int_equal(tn__get64(got), FAR_AWAY);
    close_fixture(&f);
    free(object.at);
}

static void test_names_it(void **state)
{
    (void)state;
    struct tn__detached where = {.address = NOWHERE, .size = 1 << 20, .page_size = 4096};
    struct tn_error err;
    struct fixture f;
    struct bytes object = make_object();
    elf_rela_entry(object, 2)->r_info = ELF64_R_INFO(1, 77);
    assert_ok(tn__session_create_detached(&options, &where, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "library", &f.library, &err), &err);
    define(&f, "far", (const void *)(uintptr_t)FAR_AWAY);
    add_bytes(&f, "toy.o", object.at, object.size);
    assert_error(tn_link(f.library, &err), TN_EFORMAT, &err, "type 77 does not exist on toy");
    elf_header(object)->e_machine = EM_X86_64; /* which the session does not read */
    assert_error(
        tn_add_object(f.library,
                      &(struct tn_input){
                          .size = sizeof(struct tn_input), .name = "x86.o", .bytes = object.at, .length = object.size},
                      &err),
        TN_ENOTSUP, &err, "made for x86-64; this session links code for toy");
    close_fixture(&f);
    free(object.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_links), cmocka_unit_test(test_names_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
