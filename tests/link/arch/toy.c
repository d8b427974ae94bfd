/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A new architecture needs rows, encoders, a stub and a place in the list, and nothing else: here is one, linked without a change in
 * src. Its instructions have 32 bits, with fields that other machines have: a page number, the low bits of a pair, a branch. */

#include <stdlib.h>

#include "link/file/detached.h"
#include "link/session/contents.h"
#include "elf_builder.h"

/* ---- the architecture ---- */

enum { EM_TOY = 0x7000, HI = 1, LO, CALL, PAGE, ADD32, SUB32 };

static void put_bits(uint8_t *at, uint64_t value, uint32_t mask)
{
    tn__put32(at, (tn__get32(at) & ~mask) | ((uint32_t)value & mask));
}

static void put_high(uint8_t *at, uint64_t value)
{
    put_bits(at, value, 0xfffff000);
}

static void put_low(uint8_t *at, uint64_t value)
{
    put_bits(at, value << 20, 0xfff00000);
}

static void put_branch(uint8_t *at, uint64_t value)
{
    put_bits(at, value >> 2, 0x00ffffff);
}

static const struct tn__encoder encoders[] = {{"high20", put_high}, {"low12", put_low}, {"branch24", put_branch}};
enum { HIGH20 = TN__FIELDS, LOW12, BRANCH24 };

static const struct tn__row toy_rows[] = {
    {"TOY_NONE", TN__V_NONE, TN__F_LE8, 0, 0, 0, 1, false, false},
    [HI] = {"TOY_HI", TN__V_S_A_P, HIGH20, 32, TN__R_SIGNED, 0, 4, true, false},
    [LO] = {"TOY_LO", TN__V_AT_S, LOW12, 32, TN__R_SIGNED, 0, 4, true, false},
    [CALL] = {"TOY_CALL", TN__V_S_A_P, BRANCH24, 26, TN__R_SIGNED | TN__R_STUB, 0, 4, true, false},
    [PAGE] = {"TOY_PAGE", TN__V_PAGE_S_A_P, HIGH20, 32, TN__R_SIGNED, 0, 4, true, false},
    [ADD32] = {"TOY_ADD32", TN__V_F_S_A, TN__F_LE32, 32, 0, 0, 4, true, false},
    [SUB32] = {"TOY_SUB32", TN__V_F_MINUS, TN__F_LE32, 32, 0, 0, 4, true, false},
};

/* "Jump through", and the distance of the pointer. */
static void write_stub(uint8_t *out, uint64_t address, uint64_t slot)
{
    tn__put32(out, 0x1a15ea4e);
    tn__put32(out + 4, (uint32_t)(slot - address));
}

static const struct tn__arch toy = {.name = "toy",
                                    .elf_machine = EM_TOY,
                                    .rows = toy_rows,
                                    .row_count = TN_COUNT(toy_rows),
                                    .encoders = encoders,
                                    .stub_size = 8,
                                    .write_stub = write_stub};

const struct tn__arch *const tn__architectures[] = {&toy, NULL};

/* ---- the test ---- */

#define NOWHERE 0x123400000000ULL
static const uint64_t FAR_AWAY = 0x7654321076543210;

static uint8_t linked[64], got[8], stub[8];

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
    assert_ok(tn__session_create_detached(NULL, &where, &f.session, &err), &err);
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
    assert_ok(tn__session_create_detached(NULL, &where, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "library", &f.library, &err), &err);
    define(&f, "far", (const void *)(uintptr_t)FAR_AWAY);
    add_bytes(&f, "toy.o", object.at, object.size);
    assert_error(tn_link(f.library, &err), TN_EFORMAT, &err, "type 77 does not exist on toy");
    elf_header(object)->e_machine = EM_X86_64; /* which is not in this program's list */
    assert_error(
        tn_add_object(f.library,
                      &(struct tn_input){
                          .size = sizeof(struct tn_input), .name = "x86.o", .bytes = object.at, .length = object.size},
                      &err),
        TN_EFORMAT, &err, "x86-64");
    close_fixture(&f);
    free(object.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_links), cmocka_unit_test(test_names_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
