/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* AArch64: calls of what is missing or far, and what a file that may be loaded anywhere cannot hold. */

#include "elf_builder.h"

#include <stdlib.h>

#include "link/file/detached.h"
#include "link/file/output.h"

enum { WINDOW = 0x20000000, BL = 0x94000000, MOVK = 0xf2c00015 /* movk x21, #0, lsl #32 */ };

static const struct tn_format *const formats[] = {&tn_format_elf_aarch64, NULL};
static uint32_t words[4], stub[4];
static uint64_t stub_distance, slot;

static int finish(struct tn__link *link)
{
    const struct tn__object *object = link->objects[0];
    const struct tn__plan *plan = object->plan;
    for (unsigned i = 0; i < COUNT(words); i++)
        words[i] = tn__get32(object->data->sections[1].write + 4 * i);
    for (unsigned i = 0; i < COUNT(stub) && plan->stub_count; i++)
        stub[i] = tn__get32(plan->stub_write + 4 * i);
    stub_distance = plan->stub_address - object->data->sections[1].address;
    slot = plan->stub_count ? tn__get64(plan->got_write) : 0;
    return 0;
}

static struct bytes one_instruction(uint32_t instruction, uint32_t type, unsigned bind)
{
    static struct elf elf;
    const uint32_t text[4] = {0xd503201f, instruction, 0xd503201f, 0xd65f03c0};
    memset(&elf, 0, sizeof elf);
    unsigned section = elf_code(&elf, text, sizeof text);
    unsigned target = elf_symbol(&elf, "target", bind, STT_NOTYPE, bind == STB_LOCAL ? section : SHN_UNDEF, 0, 0);
    elf_reloc(&elf, section, 4, target, type, 0);
    struct bytes file = elf_finish(&elf);
    elf_header(file)->e_machine = EM_AARCH64;
    return file;
}

/* `target`: the address of the symbol; 0: it is not defined. */
static void link_call(unsigned bind, uint64_t target)
{
    const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    struct tn__detached where = {.address = WINDOW, .size = 1 << 20, .page_size = 4096, .finish = finish};
    struct bytes object = one_instruction(BL, R_AARCH64_CALL26, bind);
    struct tn_error err;
    struct fixture f;
    assert_ok(tn__session_create_detached(&options, &where, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "library", &f.library, &err), &err);
    if (target)
        define(&f, "target", (const void *)(uintptr_t)target);
    add_bytes(&f, "call.o", object.at, object.size);
    link_all(&f);
    close_fixture(&f);
    free(object.at);
}

/* AAELF64, "Weak references": the call does nothing. */
static void test_missing(void **state)
{
    (void)state;
    link_call(STB_WEAK, 0);
    assert_int_equal(words[1], BL | 1);
    assert_int_equal(words[0], 0xd503201f);
    assert_int_equal(words[2], 0xd503201f);
}

static void test_far(void **state)
{
    (void)state;
    const uint64_t far = 0x7fff12345678;
    link_call(STB_GLOBAL, WINDOW + 0x1000000); /* in reach */
    assert_int_equal(words[1] >> 26, BL >> 26);
    assert_int_equal(slot, 0);
    link_call(STB_GLOBAL, far);
    assert_int_equal(words[1], BL | ((stub_distance - 4) / 4));
    assert_int_equal(stub[0] & 0x9f00001f, 0x90000010); /* adrp x16 */
    assert_int_equal(stub[1] & 0xffc003ff, 0xf9400210); /* ldr x16, [x16 */
    assert_int_equal(stub[2], 0xd61f0200);              /* br x16 */
    assert_int_equal(slot, far);
}

/* Unchecked parts of an address, or of a distance to what another file defines. */
static void test_not_anywhere(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        unsigned bind;
        const char *why; /* NULL: it is good */
    } rows[] = {
        {R_AARCH64_MOVW_UABS_G2_NC, STB_LOCAL, "depends on where the file is loaded"},
        {R_AARCH64_MOVW_UABS_G3, STB_GLOBAL, "depends on where the file is loaded"},
        {R_AARCH64_MOVW_UABS_G2, STB_LOCAL, "depends on where the file is loaded"},
        {R_AARCH64_MOVW_UABS_G1, STB_LOCAL, "is out of range"},
        {R_AARCH64_MOVW_PREL_G2_NC, STB_GLOBAL, "lies outside of the file"},
        {R_AARCH64_MOVW_PREL_G2_NC, STB_LOCAL, NULL},
        {R_AARCH64_ADR_PREL_PG_HI21_NC, STB_GLOBAL, "lies outside of the file"},
        {R_AARCH64_ADD_ABS_LO12_NC, STB_LOCAL, NULL},
    };
    const struct tn__output_options options = {.name = "out", .formats = formats};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct bytes object = one_instruction(MOVK, rows[i].type, rows[i].bind);
        const struct tn_input input = {
            .size = sizeof input, .name = "object.o", .bytes = object.at, .length = object.size};
        struct tn__output *output;
        struct tn_error err;
        int code = tn__output_link(&options, &input, 1, &output, &err);
        if (rows[i].why)
            assert_error(code, TN_ERANGE, &err, "object.o(.text+0x4)", "'target'", rows[i].why);
        else
            assert_ok(code, &err);
        tn__output_free(output);
        free(object.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_not_anywhere),
    };
    return cmocka_run_group_tests_name("link/aarch64_calls", tests, NULL, NULL);
}
