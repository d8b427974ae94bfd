/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* RISC-V: calls, jumps and distances of functions that lie far away go through a stub. Words are llvm-mc's. */

#include "elf_builder.h"

#include <stdlib.h>

#include "base/base.h"
#include "link/passes/link.h"
#include "link/file/detached.h"

enum { WINDOW = 0x20000000, FIELD = 8, SECTION = 32, STUB_WORDS = 3 };
static const uint64_t FAR = 0x7fff12345678, NEAR = WINDOW + 0x10000;

static uint8_t linked[SECTION];
static uint32_t stub[STUB_WORDS];
static uint64_t place, stub_at, slot;

static int finish(struct tn__link *link)
{
    const struct tn__object *object = link->objects[0];
    const struct tn__plan *plan = object->plan;
    memcpy(linked, object->data->sections[1].write, sizeof linked);
    place = object->data->sections[1].address + FIELD;
    stub_at = plan->stub_count == 1 ? plan->stub_address : 0;
    for (unsigned i = 0; i < STUB_WORDS && stub_at; i++)
        stub[i] = tn__get32(plan->stub_write + 4 * i);
    slot = stub_at ? tn__get64(plan->got_write) : 0;
    return 0;
}

static int link_field(uint32_t type, uint64_t instruction, uint64_t target, struct tn_error *err)
{
    static const struct tn_format *const formats[] = {&tn_format_elf_riscv64, NULL};
    static const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    static struct elf elf;
    static uint8_t contents[SECTION];
    struct tn__detached where = {.address = WINDOW, .size = 1 << 24, .page_size = 4096, .finish = finish};
    struct fixture f;
    memset(&elf, 0, sizeof elf);
    memset(contents, 0xee, sizeof contents);
    tn__put64(contents + FIELD, instruction);
    unsigned text = elf_code(&elf, contents, sizeof contents);
    elf_reloc(&elf, text, FIELD, elf_symbol(&elf, "target", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0), type, 0);
    struct bytes object = elf_finish(&elf);
    elf_header(object)->e_machine = EM_RISCV;
    assert_ok(tn__session_create_detached(&options, &where, &f.session, err), err);
    assert_ok(tn_library_create(f.session, "library", &f.library, err), err);
    define(&f, "target", (const void *)(uintptr_t)target);
    add_bytes(&f, "call.o", object.at, object.size);
    int code = tn_link(f.library, err);
    close_fixture(&f);
    free(object.at);
    return code;
}

/* Where `auipc; jalr`, or `jal`, or a distance leads. */
static uint64_t call_target(void)
{
    int64_t high = (int32_t)(tn__get32(linked + FIELD) & 0xfffff000);
    return place + (uint64_t)high + (uint64_t)(int64_t)((int32_t)tn__get32(linked + FIELD + 4) >> 20);
}

static uint64_t jal_target(void)
{
    uint32_t bits = tn__get32(linked + FIELD);
    int32_t distance =
        (int32_t)((bits >> 31) << 20 | (bits >> 12 & 0xff) << 12 | (bits >> 20 & 1) << 11 | (bits >> 21 & 0x3ff) << 1);
    return place + (uint64_t)(int64_t)((int32_t)((uint32_t)distance << 11) >> 11);
}

static uint64_t distance_target(void)
{
    return place + (uint64_t)(int64_t)(int32_t)tn__get32(linked + FIELD);
}

static const struct row {
    const char *name;
    uint32_t type;
    uint64_t instruction;
    uint64_t (*target)(void);
    uint64_t reach; /* of the last place behind the field; less 2, if it counts in halves: */
    uint64_t back;  /* and before it */
} rows[] = {
    {"CALL", R_RISCV_CALL, 0x000080e700000097, call_target, 0x7ffff7fe, 0x80000800},         /* auipc ra; jalr ra, ra */
    {"CALL_PLT", R_RISCV_CALL_PLT, 0x0003006700000317, call_target, 0x7ffff7fe, 0x80000800}, /* auipc t1; jr t1 */
    {"JAL", R_RISCV_JAL, 0xeeeeeeee000000ef, jal_target, 0xffffe, 0x100000},                 /* jal ra, 0 */
    {"PLT32", 59, 0xeeeeeeee00000000, distance_target, 0x7fffffff, 0x80000000},
};

static void check_direct(const struct row *row, uint64_t target)
{
    struct tn_error err;
    assert_ok(link_field(row->type, row->instruction, target, &err), &err);
    assert_true(row->target() == target);
}

static void check_by_stub(const struct row *row, uint64_t target)
{
    struct tn_error err;
    assert_ok(link_field(row->type, row->instruction, target, &err), &err);
    assert_true(stub_at && row->target() == stub_at);
    assert_true(slot == target);
    assert_int_equal(stub[0] & 0xfff, 0xe17);     /* auipc t3 */
    assert_int_equal(stub[1] & 0xfffff, 0xe3e03); /* ld t3, (t3) */
    assert_int_equal(stub[2], 0xe0067);           /* jr t3 */
}

static void calls(void **state)
{
    const struct row *row = *state;
    check_direct(row, NEAR);
    check_by_stub(row, FAR);
    uint64_t field = place; /* the same in each link */
    check_direct(row, field + row->reach);
    check_by_stub(row, field + row->reach + 2);
    if (field >= row->back + 2) {
        check_direct(row, field - row->back);
        check_by_stub(row, field - row->back - 2);
    }
    for (unsigned i = 0; i < SECTION; i++)
        if (i < FIELD || i >= FIELD + 8)
            assert_int_equal(linked[i], 0xee);
}

int main(void)
{
    return RUN_ROWS("link/riscv64_calls", rows, calls);
}
