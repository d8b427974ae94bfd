/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The stub of each architecture: a jump through the pointer at an address. The words are llvm-mc's encodings of the
 * instructions in the comments. */

#include "support.h"

#include "link/arch/reloc.h"

static const struct row {
    const struct tn__arch *arch;
    uint64_t address, slot;
    uint32_t words[4];
} rows[] = {
    /* jmp *slot(%rip); int3; int3 */
    {&tn__arch_x86_64, 0x10000, 0x1000e, {0x000825ff, 0xcccc0000}},
    {&tn__arch_x86_64, 0x10000, 0xfff8, {0xfff225ff, 0xccccffff}},
    /* adrp x16, 0x12345000; ldr x16, [x16, #0xff8]; br x16; udf #0 */
    {&tn__arch_aarch64, 0x40000ff8, 0x52345ff8, {0xb0091a30, 0xf947fe10, 0xd61f0200, 0}},
    {&tn__arch_aarch64, 0x40000000, 0x40000ff8, {0x90000010, 0xf947fe10, 0xd61f0200, 0}},
    /* adrp x16, -0x1000; ldr x16, [x16]; br x16; udf #0 */
    {&tn__arch_aarch64, 0x40000ff8, 0x3ffff000, {0xf0fffff0, 0xf9400210, 0xd61f0200, 0}},
    /* auipc t3, 0; ld t3, 2040(t3); jr t3 */
    {&tn__arch_riscv64, 0x40000008, 0x40000800, {0x00000e17, 0x7f8e3e03, 0x000e0067, 0}},
    /* auipc t3, 0x12346; ld t3, -2048(t3); jr t3: the low part is signed */
    {&tn__arch_riscv64, 0x40000008, 0x52345808, {0x12346e17, 0x800e3e03, 0x000e0067, 0}},
    /* auipc t3, 0xfffff; ld t3, 8(t3); jr t3 */
    {&tn__arch_riscv64, 0x40000000, 0x3ffff008, {0xfffffe17, 0x008e3e03, 0x000e0067, 0}},
};

static void test_stubs(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        const struct row *row = &rows[i];
        uint8_t stub[sizeof row->words] = {0};
        assert_true(row->arch->stub_size <= sizeof stub);
        row->arch->write_stub(stub, row->address, row->slot);
        for (size_t word = 0; word < TN_COUNT(row->words); word++)
            if (tn__get32(stub + 4 * word) != row->words[word])
                fail_msg("%s, row %zu: word %zu is %#x", row->arch->name, i, word, tn__get32(stub + 4 * word));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stubs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
